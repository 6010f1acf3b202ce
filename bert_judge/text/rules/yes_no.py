"""The reference is yes or no, or true or false; the answer may say so by its verb: "It does not."."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import strip_markup
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision

# A longer answer weighs more than one thing.
MAX_CHARACTERS = 250
_NEGATIVE_QUESTION = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|will|would|has|have|had|should)(?:n['’]t| \w+ not| not)\b|.*(?:不|没|沒|ない|않"
    r"|nicht|n'est-ce pas)",
    re.IGNORECASE,
)
# What follows "no" and denies nothing itself.
_ADDITION = re.compile(r"no,\s(?!.*(?:\b(?:not?|never|none|nobody|neither|cannot)\b|n['’]t\b)).*", re.IGNORECASE | re.DOTALL)
# The answer takes back or restricts what it said first.
_RESTRICTION = re.compile(
    r"\b(?:but|however|although|though|except|unless|depends|partly|partially|sometimes|not necessarily|or|maybe|aber"
    r"|jedoch|mais|pero|ma|mas|но)\b|但|不过",
    re.IGNORECASE,
)


@cache
def _phrases() -> Mapping[str, list[str]]:
    phrases: Mapping[str, list[str]] = read_yaml(Path(__file__).parents[1] / "yes_no.yaml")
    return phrases


@cache
def _words(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_phrases()[name])})", re.IGNORECASE)


@cache
def _first_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_phrases()[name])})(?=[\s]*(?:[,.;:!—–-]|[，。；！]|$))", re.IGNORECASE)


@cache
def _sentence() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(_phrases()['sentence'])})(?=\s*(?:[,.;!]|$))", re.IGNORECASE)


def is_yes_or_no(reference: str) -> bool:
    return polarity_of_word(reference) is not None


def decide_yes_no(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is a word for yes or no and a short answer affirms or denies."""
    expected = polarity_of_word(reference)
    if expected is None or len(answer) > MAX_CHARACTERS:
        return None
    actual = read_polarity(answer)
    if actual is expected is False and _ADDITION.fullmatch(answer):
        # "No, most of them are Buddhists." may be wrong about these.
        return None
    if actual is None or (_NEGATIVE_QUESTION.match(task.question) and polarity_of_word(answer) is None):
        return None
    if "doubt" in task.question and "doubt" in answer.lower():
        return None
    return Decision(actual == expected, "yes_no", f"says {'yes' if actual else 'no'}")


@view
def polarity_of_word(text: str) -> bool | None:
    text = strip_markup(text[:40]).rstrip("!") if len(text) <= 40 else ""
    return True if _words("yes").fullmatch(text) else False if _words("no").fullmatch(text) else None


def read_polarity(answer: str) -> bool | None:
    """Return whether an answer says yes; None if it says neither."""
    if (polarity := polarity_of_word(answer)) is not None:
        return polarity
    text = strip_markup(answer).replace("’", "'")
    if _RESTRICTION.search(text):
        return None
    says_no, says_yes = _first_word("no").match(text), _first_word("yes").match(text)
    if says_no or says_yes:
        first = says_no or says_yes
        rest = re.sub(r"^[\s,.;:!，。；！—–-]+", "", text[first.end() :])  # type: ignore[union-attr]
        second = _sentence_polarity(rest)
        # "No, it does." contradicts itself, and "Yes, in 1950." says more, which may be wrong.
        is_contradiction = second is not None and second == bool(says_no)
        return None if is_contradiction or (says_yes and rest and second is None) else not says_no
    return _sentence_polarity(text)


def _sentence_polarity(text: str) -> bool | None:
    match = _sentence().match(text)
    return match and not any(value is not None for value in match.groupdict().values())
