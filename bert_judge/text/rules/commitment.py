"""An answer that names the reference without standing by it: it takes it back, denies it, asks for it, or leaves it open."""

import re
from collections.abc import Sequence
from functools import cache

from bert_judge.text.extraction import extract_final_answer, phrase_pattern, unwrap
from bert_judge.text.reading import Task
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.whole_answer import unfinished_pattern
from bert_judge.text.rules.yes_no import polarity_of_word

# A longer text argues, and its last sentences may speak about something else.
MAX_CHARACTERS = 300
MAX_REFERENCE_CHARACTERS = 80
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n+")
# Before a phrase that takes back what precedes it. With other words, it rejects what they name: "Some say Nice, but that is wrong."
_FILLER = re.compile(
    r"\W*(?:(?:wait|hmm+|no|oh|oops|sorry|edit|update|correction|actually|but|and|which|well|though|i|it|that)\b\W*)*",
    re.IGNORECASE,
)
# "Which of these cannot be a perimeter?"
_ASKS_FOR_DENIAL = re.compile(r"\b(?:not?|never|cannot|except|incorrect|wrong|false|unlikely|least)\b|n['’]t\b", re.IGNORECASE)


def decide_commitment(task: Task, text: str) -> Decision | None:
    """Decide against a short text in which no mention of the reference is a statement.

    References that say such a thing themselves ("It depends on the year"), words for yes and no, and letters are left to others.
    """
    expected = [stripped for reference in task.references if (stripped := unwrap(reference).strip(" ."))]
    if len(text) > MAX_CHARACTERS or not expected or max(map(len, expected)) > MAX_REFERENCE_CHARACTERS:
        return None
    if any((len(reference) == 1 and reference.isalpha()) or polarity_of_word(reference) is not None for reference in expected):
        return None
    if not _has_signal(text) or any(map(_has_signal, expected)):
        return None
    mentions = list(_mention_pattern(tuple(expected)).finditer(text))
    if not mentions:
        return None
    denies = not _ASKS_FOR_DENIAL.search(task.question) and _deny(text, mentions)
    if reason := denies or _take_back(text, mentions) or _leave_open(text, mentions):
        return Decision(False, "commitment", reason)
    return None


@cache
def _pattern(*names: str) -> re.Pattern[str]:
    return re.compile(phrase_pattern(*names), re.IGNORECASE)


@cache
def _signals() -> re.Pattern[str]:
    # For texts in lower case: where it ignores case, Python takes three times as long.
    return re.compile(
        phrase_pattern("taken_back", "first_thought", "denied_before", "denied_behind", "unresolved", "inquiry", "asks")
    )


def _has_signal(text: str) -> bool:
    return _signals().search(text.lower()) is not None


def _mention_pattern(references: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(reference) for reference in sorted(references, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)


def _take_back(text: str, mentions: Sequence[re.Match[str]]) -> str | None:
    """Return a reason if the last mention is corrected behind it."""
    before, behind = text[: mentions[-1].start()], text[mentions[-1].end() :]
    match = _pattern("taken_back").search(behind)
    if match and _FILLER.fullmatch(_SENTENCE_END.split(behind[: match.start()])[-1]):
        return f"takes it back: {match[0]}"
    sentence = _SENTENCE_END.split(before)[-1]
    thought = _pattern("first_thought").search(sentence)
    if thought and not _pattern("turn").search(sentence, thought.end()) and (turn := _pattern("turn").search(behind)):
        return f"takes it back: {thought[0]} … {turn[0]}"
    return None


def _deny(text: str, mentions: Sequence[re.Match[str]]) -> str | None:
    """Return a reason if all mentions are denied."""
    denials = [_denial(text, mention) for mention in mentions]
    return f"denies it: {denials[0]}" if all(denials) else None


def _denial(text: str, mention: re.Match[str]) -> str | None:
    before, behind = text[: mention.start()], text[mention.end() :]
    match = re.search(rf"{phrase_pattern('denied_before')}[\s\"'*(:]*\Z", before, re.IGNORECASE) or re.match(
        rf"[\s\"'*)]*{phrase_pattern('denied_behind')}", behind, re.IGNORECASE
    )
    return match[0].strip() if match else None


def _leave_open(text: str, mentions: Sequence[re.Match[str]]) -> str | None:
    """Return a reason if the text names other answers too and chooses none, or stops before it does."""
    if extract_final_answer(text) is not None or _pattern("decides").search(text):
        return None
    unresolved = _pattern("unresolved").search(text)
    if unresolved and _pattern("other_branch").search(text):
        return f"leaves it open: {unresolved[0]}"
    if not unfinished_pattern().search(text[-30:]):
        return None
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    for mention in mentions:
        position = next(index for index in range(len(starts) - 1) if starts[index] <= mention.start() < starts[index + 1])
        sentence = text[starts[position] : starts[position + 1]].strip()
        is_asked = sentence.endswith("?") and _pattern("asks").match(sentence)
        if not is_asked and not _pattern("inquiry").search(text[starts[position] : mention.start()]):
            return None
    return "stops before it decides"
