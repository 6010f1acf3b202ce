"""Recognise texts that give no answer: refusals, "I don't know", "the passage does not say", in many languages (`abstention.yaml`).

An answer is not attempted if it declines and states nothing else. References may say themselves that there is no answer, and then
abstaining is an answer like any other.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.choices import extract_choice
from bert_judge.text.extraction import extract_final_answer, strip_markup
from bert_judge.text.latex import boxed
from bert_judge.text.options import parse_options
from bert_judge.text.reading import view
from bert_judge.text.visible_text import is_blank, strip_reasoning

# Characters at the start and at the end of an answer that are searched.
MAX_HEAD, MAX_TAIL = 1_200, 400
# A longer text is no phrase such as "unknown".
MAX_BARE = 80
# A first sentence of so few words is an answer, whatever follows: "Paris. I do not know more about it."
MAX_ANSWER_WORDS = 5
# In an answer of more sentences, those between the edges report what some source does not say: "Session 3: no mention of it".
MAX_SENTENCES, EDGE = 6, 3
# A longer reference explains more than that there is no answer.
MAX_REFERENCE = 500
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”)*]*\s+(?=\S)|(?<=[。！？])|\s*\n+\s*")
MAX_SUBJECT = 8
_SPACELESS = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_SPACES = re.compile(r"\s+")
# After a statement of no answer: "No answer: the United States never had a king."
_EXPLANATION = re.compile(r"\s*[:;—–]\s")
# "But" and the like, before an attempt or an offer: within a sentence, and at its start.
_TURN = (
    r"(?:but|however|though|although|nevertheless|nonetheless|that said|aber|jedoch|allerdings|mais|cependant|toutefois|pero"
    r"|sin embargo|ma|però|tuttavia|mas|porém|no entanto|maar|echter|ale|avšak|nicméně|jednak|men|fakat|ama|ancak|tetapi|tapi|namun"
    r"|nhưng|tuy nhiên|но|однако|але|проте)\b,?\s*|(?:但是?|不过|不過|然而|しかし|ただし|하지만|그러나)[，,、]?\s*|لكن\s*"
)
_INNER_TURN = re.compile(rf"(?:[,;.–—-]|(?<=\w))\s+(?:{_TURN})|[，,。](?=[但不然し])(?:{_TURN})", re.IGNORECASE)
_FIRST_TURN = re.compile(_TURN, re.IGNORECASE)
# No text ends with one of these.
_UNFINISHED = re.compile(r"[,:;=+/(\[{–-]\s*\Z")


class _Language(NamedTuple):
    """The patterns of a language, and texts of which every match contains one."""

    cues: Sequence[str]
    pattern: re.Pattern[str]


@cache
def _content() -> Mapping[str, Any]:
    content: Mapping[str, Any] = read_yaml(Path(__file__).with_name("abstention.yaml"))
    return content


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(
        _Language(entry["cues"], _compile(entry["patterns"], spaceless=name.endswith("_without_spaces")))
        for name, entry in _content()["decline"].items()
    )


def _compile(patterns: Sequence[str], *, spaceless: bool = False) -> re.Pattern[str]:
    start = "" if spaceless else r"(?<![^\W\d_])"
    return re.compile(f"{start}(?:{'|'.join(patterns)})", re.IGNORECASE)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return _compile(_content()[name])


def is_attempted(question: str, references: Sequence[str], answer: str, *, is_truncated: bool = False) -> bool:
    """Return whether an answer attempts the question.

    It does not if it declines, is blank, or was cut before it answers. Where a reference says that there is no answer, or the
    question offers that as an option, declining is an attempt. `is_truncated`: the generation stopped at its limit.
    """
    if not (declines(answer) or _is_cut(answer, is_truncated=is_truncated)):
        return True
    if any(map(states_no_answer, references)):
        return bool(answer.strip())
    options = parse_options(question)
    return bool(options and extract_choice(answer, options))


@view
def declines(answer: str) -> bool:
    """Return whether a text refuses, says that it does not know, is blank or unfinished reasoning, and states nothing else.

    A guess is an attempt ("I don't know, but I think it is Paris"), and so is a final answer or box.
    """
    text = strip_reasoning(answer)
    if text is None or is_blank(text) or is_bare(text):
        return True
    if len(text) > MAX_HEAD + MAX_TAIL:
        text = f"{text[:MAX_HEAD]}\n{text[-MAX_TAIL:]}"
    if find_decline(text) is None and not _pattern("unsure").match(_simplify(text)):
        return False
    stated = boxed(text) or extract_final_answer(text)
    return is_bare(stated) or _declines_in_sentences(stated) if stated else _declines_in_sentences(text)


@view
def states_no_answer(reference: str) -> bool:
    """Return whether a reference says that there is no answer, or is a refusal: "Not mentioned", "I can't help with that"."""
    if is_bare(reference) or is_none(reference) or is_bare(_EXPLANATION.split(reference, maxsplit=1)[0]):
        return True
    match = find_decline(_first_sentence(reference)) if len(reference) <= MAX_REFERENCE else None
    # In scripts without spaces, a verb further on has another subject.
    is_early = match is not None and (match[0].isascii() or not _SPACELESS.search(match[0]) or match.start() <= MAX_SUBJECT)
    return is_early and declines(reference)


def is_bare(text: str) -> bool:
    """Return whether a whole text is a phrase such as "unknown", "N/A" or "I don't know"."""
    if len(text) > MAX_BARE:
        return False
    plain = _simplify(strip_markup(text)).rstrip(".!。！ ")
    # Sodium; a missing answer is NA, na or N/A.
    return plain != "Na" and bool(_pattern("bare").fullmatch(plain))


@view
def is_none(text: str) -> bool:
    """Return whether a whole text says that nothing is the answer: "None", "Nobody did."."""
    return len(text) <= MAX_BARE and bool(_pattern("none").fullmatch(_simplify(strip_markup(text)).rstrip(".!。！ ")))


def find_decline(text: str) -> re.Match[str] | None:
    """Return the first part of a text, in one of the languages, that declines or says that a source has no answer."""
    text = _simplify(text)
    folded = text.casefold()
    matches = (_find_own(language.pattern, text) for language in _languages() if any(cue in folded for cue in language.cues))
    return min(filter(None, matches), key=lambda match: match.start(), default=None)


def _find_own(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match that does not open a quotation within the text: he said "I cannot tell a lie"."""
    quoted = (match for match in pattern.finditer(text) if match.start() < 2 or text[match.start() - 1] not in "\"“„«'‘")
    return next(quoted, None)


def _declines_in_sentences(text: str) -> bool:
    """Return whether some sentence declines and none attempts an answer."""
    sentences = [_simplify(sentence) for sentence in _SENTENCE_END.split(text) if sentence.strip()]
    if _reasons(text) and len(sentences) > MAX_SENTENCES:
        # Its last sentence concludes.
        if _is_attempt(sentences[-1]):
            return False
        sentences = sentences[-EDGE:]
    has_declined = False
    for number, sentence in enumerate(sentences):
        is_edge = len(sentences) <= MAX_SENTENCES or number < EDGE or number >= len(sentences) - EDGE
        match = find_decline(sentence) if is_edge else None
        if match is None and number == 0:
            match = _pattern("unsure").search(sentence)
        before = sentence[: match.start()] if match else sentence
        if _pattern("attempt").search(before) or (not has_declined and _pattern("hedge").search(before)):
            return False
        turn = _INNER_TURN.search(sentence, match.end()) if match else _FIRST_TURN.match(sentence) if has_declined else None
        if turn and _is_attempt(sentence[turn.end() :]):
            return False
        is_short = number == 0 and len(sentence.split()) <= MAX_ANSWER_WORDS and sentence[-1] not in ":,!"
        if match is None and is_short and len(sentences) > 1 and not _pattern("apology").search(sentence):
            return False
        has_declined = has_declined or match is not None
    return has_declined


def _is_attempt(clause: str) -> bool:
    """Return whether a clause after "but" is an attempt: it neither declines again nor offers other help."""
    return not (find_decline(clause) or _pattern("referral").match(clause))


def _is_cut(text: str, *, is_truncated: bool) -> bool:
    """Return whether a text begins to reason, and ends before it states an answer."""
    if not _reasons(text):
        return False
    last_word = re.search(r"([^\W\d_]+)\s*\Z", text[-40:])
    is_unfinished = _UNFINISHED.search(text) or (last_word and last_word[1].casefold() in _content()["unfinished"])
    return bool(is_truncated or is_unfinished) and not (boxed(text) or extract_final_answer(text))


def _reasons(text: str) -> bool:
    return bool(_pattern("reasoning").match(text.lstrip(" \n*#>")))


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def _simplify(text: str) -> str:
    return _SPACES.sub(" ", text.replace("’", "'").replace("ʼ", "'")).strip()
