"""The modules that read all references: an answer that abstains, that chooses an option, or that only mentions the reference."""

import re
from collections.abc import Mapping
from functools import cache

from bert_judge.text.abstention import declines, find_decline, is_none, states_no_answer
from bert_judge.text.choices import extract_choice, find_repeated_options, marks_all_options
from bert_judge.text.extraction import extract_final_answer, is_announcement, phrase_pattern, phrases, strip_markup
from bert_judge.text.latex import boxed
from bert_judge.text.options import UNLISTED, match_option, write_letters
from bert_judge.text.quantities import find_quantities, is_quantity
from bert_judge.text.reading import Task
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import read_reference

# A longer text may explain why there is no answer, in other words.
MAX_ANSWER_WORDS, MAX_ANSWER_CHARACTERS = 12, 400
# What somebody says of himself is not about the source: "I have no comment".
_FIRST_PERSON = re.compile(r"\W*(?:i\b|i['’]|ich\b|je\b|j['’]|我)", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:no|not|none|never|nobody|nothing|without|neither|nor|cannot|zero|nil|0|un\w+)\b"
    r"|n['’]t\b|[?]|没|不|無|无|kein|nicht|ne |no ",
    re.IGNORECASE,
)


def decide_no_answer(task: Task, text: str) -> Decision | None:
    """Decide correct if the answer abstains too, incorrect if it is a short text that names something."""
    if _ASKS_NUMBER.search(task.question):
        quantities = map(read_reference, task.references)
        if any(quantity and not quantity.value for quantity in quantities) and _says_zero(task.question, text):
            return Decision(True, "no_answer", "none is 0")
        number = is_quantity(text)
        if number and not number.value and any(_says_zero(task.question, reference) for reference in task.references):
            return Decision(True, "no_answer", "0 is none")
    # Among several references, one that declines may be the exception.
    if 2 * sum(map(states_no_answer, task.references)) < max(len(task.references), 1):
        return None
    if any(map(is_none, task.references)):
        # "None" may be the name of a quantity or of nobody, and is no statement about the source.
        if is_none(text):
            return Decision(True, "no_answer", "both say none")
    elif len(text) <= MAX_ANSWER_CHARACTERS and declines(text) and text.strip():
        return Decision(True, "no_answer", "both say that there is no answer")
    is_known = all(states_no_answer(reference) and not _FIRST_PERSON.match(reference) for reference in task.references)
    # "It is NA." may be the code of Namibia.
    is_stated = any(re.search(rf"\b{re.escape(reference)}\b", text, re.IGNORECASE) for reference in task.references)
    if is_known and not is_stated and 0 < len(text.split()) <= MAX_ANSWER_WORDS and not _denies(text):
        return Decision(False, "no_answer", "names something where there is no answer")
    return None


# A longer denial says more.
MAX_ZERO_CHARACTERS = 60
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|often)\b|\bnumber of\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"\W*(?:(?:there|he|she|it|they|we|i)\s\w+\s)?(?:none|nil|zero|nobody|nothing|never|no\s\w+|not a single)\b.{0,40}",
    re.IGNORECASE,
)
_DENIED_VERB = re.compile(r"\b(?:do|does|did|has|have|had|was|were)(?: not|n['’]t) (\w+)\W*\Z", re.IGNORECASE)


def _says_zero(question: str, answer: str) -> bool:
    """Return whether a short answer to a question about a number denies what is counted: none, no goals, he did not score."""
    if len(answer) > MAX_ZERO_CHARACTERS or find_quantities(answer) or declines(answer):
        return False
    verb = _DENIED_VERB.search(answer)
    return bool(_NOTHING.fullmatch(answer) or (verb and verb[1].lower() in question.lower()))


def _denies(text: str) -> bool:
    return bool(_DENIAL.search(text)) or find_decline(text) is not None or is_none(text) or declines(text)


# A program whose output is the answer: each branch names another option.
_PROGRAM = re.compile(r"^\s*(?:print\(|return\b|def \w+\()", re.MULTILINE)


def decide_option(task: Task, text: str) -> Decision | None:
    """Decide by the letters of the options that a text chooses; several options that are one answer must be chosen together."""
    expected = task.choice
    if expected is None or expected.options is UNLISTED or _PROGRAM.search(text):
        return None
    lettered = write_letters(text, expected.labels)
    if choice := extract_choice(lettered, expected.options):
        correct = choice in expected.correct
        contrast = "" if correct else f", not {' or '.join(sorted(expected.correct))}"
        return Decision(correct, "option", f"option {choice}{contrast}")
    if letter := _choose_all_or_none(text, expected.options):
        correct = letter in expected.correct
        return Decision(correct, "option", f"says what option {letter} says")
    if find_repeated_options(lettered, expected.options) or marks_all_options(lettered, expected.options):
        return Decision(False, "option", "repeats all options and chooses none")
    return None


_ALL_OR_NONE = [
    re.compile(rf"\W*(?:{words})\b(?!.*\b(?:but|except|other|unless)\b)[^.;\n]{{0,80}}\W*", re.IGNORECASE)
    for words in (
        "all (?:of )?(?:them|these|those|the (?:above|options|answers|statements)|two|three|four|five)|each of (?:them|these)",
        "none (?:of (?:them|these|those|the (?:above|options|answers|statements)))|neither",
    )
]


def _choose_all_or_none(text: str, options: Mapping[str, str]) -> str | None:
    """Return the option "all of the above" or "none of the above" if a text says so: all three, neither A nor B."""
    for pattern in _ALL_OR_NONE:
        letters = [letter for letter, option in options.items() if pattern.fullmatch(option)]
        if len(letters) == 1 and pattern.fullmatch(text.strip()):
            return letters[0]
    return None


def is_option(task: Task, text: str) -> bool:
    """Return whether the whole text is one of the options that the references choose from."""
    expected = task.choice
    return expected is not None and match_option(write_letters(text, expected.labels), expected.options) is not None


_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def decide_mention(task: Task, text: str) -> Decision | None:
    """Decide against an answer that is only an announcement, that is cut within its plan, or that has the word in another sense."""
    if is_announcement(text):
        return Decision(False, "mention", "announces an answer and gives none")
    if stops_early(text):
        return Decision(False, "mention", "stops before it answers")
    if all(_is_other_word(strip_markup(reference), text) for reference in task.references):
        return Decision(False, "mention", f"the word, but not the name {strip_markup(task.references[0])}")
    return None


def stops_early(text: str) -> bool:
    """Return whether a text that states no answer is cut within a calculation: "6 * 7 = 42. Next we subtract the"."""
    if not unfinished_pattern().search(text[-30:]):
        return False
    *before, last = _SENTENCE_END.split(text)
    is_step = _plan_pattern().match(text) or (before and _next_step_pattern().match(last))
    return bool(is_step) and extract_final_answer(text) is None and boxed(text) is None


def _is_other_word(reference: str, text: str) -> bool:
    """Return whether a text has a name that is also a common word (May, US), only in another case."""
    if reference.casefold() not in phrases()["common_word"] or reference.islower() or text.islower():
        return False
    words = _WORD.findall(text)
    return len(words) > 2 and reference not in words and reference.casefold() in map(str.casefold, words)


@cache
def unfinished_pattern() -> re.Pattern[str]:
    return re.compile(rf"{phrase_pattern('unfinished')}\s*\Z|[,(]\s*\Z", re.IGNORECASE)


@cache
def _next_step_pattern() -> re.Pattern[str]:
    return re.compile(rf"\W*{phrase_pattern('next_step')}", re.IGNORECASE)


@cache
def _plan_pattern() -> re.Pattern[str]:
    return re.compile(rf"\W*{phrase_pattern('plan', 'plan_without_spaces')}", re.IGNORECASE)
