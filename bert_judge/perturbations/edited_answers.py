"""Synthetic answers that repeat a long reference but for a few words: edits that change what it says, and edits that do not.

Overlap cannot tell these apart, and files of short references never show them.
"""

import itertools
import re
from collections.abc import Callable, Mapping

from bert_judge.perturbations.labelled_answers import PHRASES, AnswerPool, AugmentedRow, LabelledAnswer, contains_reference
from bert_judge.perturbations.synthetic_answers import WORD, change_number, keep_capital, oppose, spell_out_number
from bert_judge.runtime.keyed_random import KeyedRandom

# Words of a reference that is edited.
EDITED_WORDS = range(8, 121)
MAX_EDITS = 3
# Fewest letters of a word that is replaced, and of the ending that both words share.
MIN_LETTERS, ENDING_LETTERS = 5, 2
# Words before another end, and of this end.
MIN_START_WORDS = 4
END_WORDS = range(4, 16)

_VERB = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|may|might|does|do|did|has|have|had)\b(?! not?\b|n?['’]t)")
_NEGATED = re.compile(r"\b(?:(?<=is )|(?<=are )|(?<=was )|(?<=were )|(?<=can )|(?<=will )|(?<=do )|(?<=does )|(?<=did ))not ")
_NAME = re.compile(r"(?<=[a-z,;] )[A-ZÀ-Þ][\w’'-]+(?: [A-ZÀ-Þ][\w’'-]+)*")
_JOINT = re.compile(r"(?:,| because| which| that| when| so| and| but| while| where) ")
_BOTH = re.compile(r"\b([a-z]{3,}) (and|or) ([a-z]{3,})\b(?=[.,;]|$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_SYMMETRIC = re.compile(r",|\b(?:and|or|with|between|both)\b")


def edited(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A long reference with another number, name, word or end, an opposite, a negation, or two names exchanged."""
    reference = _draw_long_reference(answer, rng)
    text = _apply(_CHANGES, reference, rng, pool) if reference else None
    # Another reference may be a part of the text.
    return AugmentedRow(answer.references, text, False) if text and not contains_reference(text, answer.references) else None


def reworded(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A long reference with synonyms, contractions, another order of two words or an opening phrase."""
    reference = _draw_long_reference(answer, rng)
    text = _apply(_REWORDINGS, reference, rng, pool) if reference else None
    return AugmentedRow(answer.references, text, True) if text else None


Edit = Callable[[str, KeyedRandom, AnswerPool], str | None]


def _draw_long_reference(answer: LabelledAnswer, rng: KeyedRandom) -> str | None:
    references = [text for text in answer.references if len(text.split()) in EDITED_WORDS]
    return rng.choose(references, "reference") if references and not answer.options else None


def _apply(edits: Mapping[str, Edit], text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Apply one to three edits, each of another kind; None if none fits."""
    number, done, edited_text = rng.integers(1, MAX_EDITS, "edits"), 0, text
    for name in rng.shuffled(list(edits), "order"):
        changed = edits[name](edited_text, KeyedRandom((*rng.key, name)), pool)
        if changed and changed != edited_text:
            edited_text, done = changed, done + 1
        if done == number:
            break
    return edited_text if edited_text != text else None


def _replace(text: str, match: re.Match[str], replacement: str) -> str:
    return text[: match.start()] + replacement + text[match.end() :]


def _change_number(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    return change_number(text, rng)


def _reverse(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Add or remove "not", or replace a word by its opposite; both together might cancel each other."""
    first, second = rng.shuffled((negate, oppose), "way")
    return first(text, rng) or second(text, rng)


def negate(text: str, rng: KeyedRandom) -> str | None:
    """Add or remove "not"; None without a verb that takes it."""
    if match := _NEGATED.search(text):
        return _replace(text, match, "")
    matches = list(_VERB.finditer(text))
    if not matches:
        return None
    match = rng.choose(matches, "verb")
    return _replace(text, match, f"{match[0]} not")


def _rename(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    matches = list(_NAME.finditer(text))
    others = [name for other in pool.draw_long_references(rng) for name in _NAME.findall(other) if name not in text]
    if not matches or not others:
        return None
    name = rng.choose(matches, "name")[0]
    return text.replace(name, rng.choose(others, "other name"))


def _replace_word(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Replace a word by one of another text with the same ending."""
    words: dict[str, list[str]] = {}
    for other in pool.draw_long_references(rng):
        for word in WORD.findall(other):
            if len(word) >= MIN_LETTERS and word.islower() and word not in text:
                words.setdefault(word[-ENDING_LETTERS:], []).append(word)
    matches = [match for match in WORD.finditer(text) if match[0].islower() and len(match[0]) >= MIN_LETTERS]
    matches = [match for match in matches if match[0][-ENDING_LETTERS:] in words and match[0] not in _SYNONYMS]
    if not matches:
        return None
    match = rng.choose(matches, "word")
    return _replace(text, match, rng.choose(words[match[0][-ENDING_LETTERS:]], "other word"))


def _exchange_names(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Exchange two names with other words than "and" between them."""
    names = list(_NAME.finditer(text))
    pairs = [
        (first, second)
        for first, second in itertools.pairwise(names)
        if first[0] not in second[0] and second[0] not in first[0] and not _SYMMETRIC.search(text[first.end() : second.start()])
    ]
    if not pairs:
        return None
    first, second = rng.choose(pairs, "pair")
    return text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]


def _change_end(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Keep a right start, and go on as another text does."""
    joints = [match for match in _JOINT.finditer(text) if len(text[: match.start()].split()) >= MIN_START_WORDS]
    ends = [
        _SENTENCE_END.split(other[match.end() :])[0] for other in pool.draw_long_references(rng) for match in _JOINT.finditer(other)
    ]
    ends = [end for end in ends if len(end.split()) in END_WORDS]
    if not joints or not ends:
        return None
    return text[: rng.choose(joints, "joint").end()] + rng.choose(ends, "end")


def _use_synonym(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    matches = list(_SYNONYM.finditer(text))
    if not matches:
        return None
    match = rng.choose(matches, "phrase")
    return _replace(text, match, keep_capital(match[0], rng.choose(_SYNONYMS[match[0].casefold()], "synonym")))


def _spell_number(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    return spell_out_number(text)


def _exchange_joined(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    return _BOTH.sub(r"\3 \2 \1", text, count=1)


def _write_otherwise(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Leave out the last full stop or begin with a small letter."""
    return rng.choose((text.removesuffix("."), text if text[1:2].isupper() else text[:1].lower() + text[1:]), "form")


def _add_opening(text: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    return rng.choose(PHRASES["sentence_openings"], "opening").format(text)


_SYNONYMS: Mapping[str, list[str]] = {
    word.casefold(): [other for other in words if other != word] for words in PHRASES["synonyms"] for word in words
}
_SYNONYM = re.compile(
    rf"(?<![\w'’-])(?:{'|'.join(sorted(map(re.escape, _SYNONYMS), key=len, reverse=True))})(?![\w'’-])", re.IGNORECASE
)
_CHANGES: Mapping[str, Edit] = {
    edit.__name__: edit for edit in (_change_number, _reverse, _rename, _replace_word, _exchange_names, _change_end)
}
_REWORDINGS: Mapping[str, Edit] = {
    **{f"synonym {n}": _use_synonym for n in range(3)},
    **{edit.__name__: edit for edit in (_spell_number, _exchange_joined, _write_otherwise, _add_opening)},
}
