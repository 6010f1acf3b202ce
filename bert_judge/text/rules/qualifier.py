"""The reference is a quantity with words that qualify it: 20 years ago, 5 mg twice daily, rose by 5%, 5 km north of the town."""

from __future__ import annotations

from bert_judge.text.reading import Task
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import HEDGE, compare, is_year, read_range
from bert_judge.text.rules.quantity_phrase import read_phrase, spell
from bert_judge.text.rules.wording import ASKS_WORDING, are_opposites, compare_bounds

_MAX_FREE_WORDS = 2


def has_qualifier(reference: str) -> bool:
    """Return whether a reference is a quantity with words beside it."""
    phrase = read_phrase(reference)
    return phrase is not None and bool(phrase.stems)


def decide_qualifier(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if both are one quantity with other words: the same words, opposite ones, or one other word behind the same unit."""
    expected, actual = read_phrase(reference), read_phrase(answer)
    if expected is None or actual is None or not expected.words or read_range(reference):
        return None
    if is_year(expected.quantity) or ASKS_WORDING.search(task.question):
        return None
    words = {**expected.spellings, **actual.spellings}
    missing, extra = expected.words - actual.words, actual.words - expected.words
    if contrast := next(((one, two) for two in missing for one in extra if are_opposites(words[one], words[two])), None):
        return Decision(False, "qualifier", f"{words[contrast[0]]}, not {words[contrast[1]]}")
    equal = compare(task.question, expected.quantity, actual.quantity)
    if equal is None or (HEDGE.search(spell(answer)) and not HEDGE.search(reference)):
        return None
    reason, is_same = equal
    texts = f"{actual.quantity.text}, {expected.quantity.text}"
    if not missing and not extra and is_same and len(expected.stems) > _MAX_FREE_WORDS and expected.stems != actual.stems:
        # In another order, the same words may say something else.
        return None
    if not missing and not extra:
        return Decision(is_same, "qualifier", f"{reason} and the same words: {texts}")
    if not is_same and not extra and expected.quantity.kind:
        return Decision(False, "qualifier", f"{reason}: {texts}")
    # "At least 80%" and "80% minimum" are left to the module of opposites.
    if (
        is_same
        and missing.total() == extra.total() == 1
        and expected.quantity.kind
        and not compare_bounds(task.question, reference, answer)
    ):
        (one,), (two,) = extra, missing
        return Decision(False, "qualifier", f"{words[one]}, not {words[two]}")
    return None
