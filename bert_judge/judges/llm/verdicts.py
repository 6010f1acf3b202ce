"""What a language model's text says about an answer: correct, incorrect, or no verdict and why.

1. Make the text plain: compatibility characters folded, invisible characters, markdown and formatting tags removed.
2. Take out what is not the judge's own word: the candidate inside its fence, a repeated candidate, quotations, reasoning.
3. Look at the places where a verdict may stand, from the end: a line `Verdict: …`, a member `"verdict": "…"` of a JSON object. The
   last one decides. Without any, the bare word counts as last line, or as first line of an explanation that does not turn round.

A verdict that hedges or takes itself back ("Verdict: correct, but…", "Verdict: unclear") is none, and no earlier one stands in
for it: who is asked again is asked for one word. Talk about verdicts inside a sentence does not count. Every pattern looks at a
bounded stretch of text, so that the time grows with the length of the text and not faster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from bert_judge.candidates.generators.reasoning import split_reasoning, start_marker

POSITIVE, NEGATIVE = "correct", "incorrect"

# What decided.
LINE, JSON, WORD = "verdict line", "verdict in JSON", "bare verdict"
# Why there is no verdict.
SAYS_NOTHING = "the judge said nothing of its own"
NO_VERDICT = "no verdict in the judge's text"
UNDECIDED = "the judge's last verdict is neither correct nor incorrect"
CUT_OFF = "the judge's text was cut off"
REASONING_CUT_OFF = "the judge's reasoning was cut off"


class Parsed(NamedTuple):
    """A reading of a judge's text.

    Attributes:
        verdict: correct, incorrect, or None.
        reason: what decided, or why there is no verdict.
    """

    verdict: str | None
    reason: str


# Soft hyphens, fillers, zero-width and direction marks, joiners, variation selectors, byte-order mark, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
_FORMATTING = re.compile(
    r"(?im)\\?[*_`~]|^[ \t]{0,3}#{1,6}(?=[ \t])|</?(?:b|i|u|em|strong|span|code|pre|p|div|br|h[1-6])(?:\s[^<>\n]{0,80})?/?>"
)
_QUOTED_LINES = re.compile(r"(?m)^[ \t]{0,3}>.*$")
_REASONING_ENDS = ("</think>", "</thinking>", "</thought>", "</reasoning>", "[/THINK]")

# How far around a marker we look, in characters; a verdict is shorter.
_BEFORE, _AFTER = 80, 160
# How many markers we look at, from the end; a text with more of them repeats itself.
_PLACES = 1000
_MARKER = re.compile(r"(?i)(?<![\w-])(?:verdict|judge?ment)(?![\w-])")
_OPENING = r"""[\s"'“”‘’«»„「『【(\[{<|$•·-]|\\(?:boxed|text|textbf|mathbf|mathrm)\b"""
_CLOSING = "\"'“”‘’«»」』】)]}>$ \t"
_LEAD = r"(?:so|thus|therefore|hence|finally|in conclusion|conclusion|overall|my|the|our|final|and|\d{1,2}[.)])[,:]?\s{1,3}"
# Before the marker: the start of the line, or the end of a sentence on it. Quotation marks at the start of the line only.
_STARTS = re.compile(rf"(?i)(?:^(?:{_OPENING}){{0,20}}|[.!?;。)\]}}—–→|]\s{{0,3}}[(\[{{<]?)(?:{_LEAD}){{0,4}}$")
_SEPARATOR = re.compile(rf"(?i)^[{re.escape(_CLOSING)}]{{0,10}}(?:[:=∶꞉։׃˸|>→】]|-{{1,2}}>?|[–—]|is\s{{0,3}}[:=]?(?=[\s\"'“]))")
_HEADING = re.compile(rf"^[{re.escape(_CLOSING)}:=∶꞉]{{0,10}}$")
_VALUE = re.compile(
    rf"(?i)^(?:{_OPENING}){{0,12}}(?P<not>(?:is\s{{1,3}})?not\s{{1,3}}|isn['’]t\s{{1,3}})?(?P<word>(?:in)?correct)(?![\w-])"
)
_IN_JSON = re.compile(r"""(?:^|[{,])\s{0,20}["']$""")
_JSON_VALUE = re.compile(
    r"""(?i)^["']\s{0,20}:\s{0,20}["']\s{0,3}(?P<not>not\s{1,3})?(?P<word>(?:in)?correct)\s{0,3}[.!]?["']\s{0,20}(?:,|[}\s\])]*$)"""
)
_NO_WORD = re.compile(r"^[\W_]*$")
_TAG_END = re.compile(r"</\s{0,3}\w{1,20}\s{0,3}>")
# What follows the word: the other choice, as in the instructions; more of a sentence that merely quotes it; a reason; a retreat.
_ECHO = re.compile(r"(?i)^\s{0,3}(?:/|\||,?\s{0,3}or\b|,)[\s\"'“”<]{0,6}(?:in)?correct\b")
_QUOTATION = re.compile(r"""^["'”’»」』][\s)\]}>,]{0,5}(?!\s)(?!because\b|since\b|as\b)\w""")
_BECAUSE = re.compile(r"(?i)^[\s\"'”’»]{1,3}(?:because|since|as|for|given|due)\b")
_TAKEN_BACK = re.compile(
    r"(?i)^[\s\"'(\[:,;.!—–-]{0,8}(?:but|or|if|unless|except|however|although|though|yet|partial\w*|partly|mostly|almost|maybe|perhaps|"
    r"possibly|probably|likely|wait|actually|no|hmm|sorry|only|not|(?:in)?correct)\b"
)
_NOTHING_ELSE = re.compile(
    r"(?i)^\W*(?:my\s+|the\s+)?(?:final\s+)?(?:verdict|judge?ment)\W*(?:is\W+)?(?:not\s+)?(?:in)?correct\W*$"
)
_TURN = re.compile(r"(?i)\b(?:however|wait|actually)\b")
_DENIAL = re.compile(r"(?i)\b(?:incorrect|not correct|wrong)\b")


def parse(text: str, code: str = "", candidate: str = "", finished: bool = True) -> Parsed:
    """Read a judge's text.

    Args:
        text: what the judge wrote.
        code: of the fence around the candidate, see `prompting`; what the judge repeats inside such a fence is left out.
        candidate: as the judge saw it; one that holds a verdict line is left out even where it is repeated without its fence.
        finished: False when the text stopped at a limit: its last verdict never came.
    """
    own = own_words(plain(text), code, plain(candidate).strip())
    if own is None:
        return Parsed(None, REASONING_CUT_OFF)
    if not finished:
        return Parsed(None, CUT_OFF)
    if not own.strip():
        return Parsed(None, SAYS_NOTHING)
    return _marked(own) or _bare(own) or Parsed(None, NO_VERDICT)


def claims(candidate: str) -> set[str]:
    """The verdicts that a candidate gives on itself, in any form that would count in a judge's text."""
    text = plain(candidate)
    words = (_word(line, WORD) for line in text.splitlines())
    return {found.verdict for found in (*_places(text), *words) if found and found.verdict}


def plain(text: str) -> str:
    """The text without what makes equal words unequal: widths, invisible characters, formatting, kinds of line ends."""
    return _FORMATTING.sub("", visible(text))


def visible(text: str) -> str:
    """The text without invisible characters, in usual widths and line ends; its formatting stays."""
    return "\n".join(_INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).splitlines())


def own_words(text: str, code: str, candidate: str) -> str | None:
    """The judge's own words outside its reasoning; None when the reasoning has no end."""
    text = _without_fenced(text, code) if code else text
    # A candidate that is nothing but a verdict looks like the judge's own, and must not swallow it.
    if _marked(candidate) and not (len(candidate) <= _BEFORE and _NOTHING_ELSE.match(candidate)):
        text = text.replace(candidate, "\n")
    for end in _REASONING_ENDS:
        if end in text or text.lstrip().startswith(str(start_marker(end))):
            parts = split_reasoning(text, end)
            if not parts.finished:
                return None
            text = parts.answer
    return _QUOTED_LINES.sub("", text)


def _without_fenced(text: str, code: str) -> str:
    """The text outside the fence. What was opened and not closed goes to the end; what was only closed began with the text."""
    kept: list[str] = []
    inside, at = False, 0
    for tag in re.finditer(rf"(?i)<\s{{0,3}}(/?)\s{{0,3}}candidate-{re.escape(code)}\s{{0,3}}>", text):
        closes = bool(tag[1])
        if closes and not inside:
            kept.clear()
        elif not inside:
            kept.append(text[at : tag.start()])
        inside, at = not closes, tag.end()
    # A line end in its place, so that what follows is no part of the sentence before.
    return "\n".join(kept if inside else [*kept, text[at:]])


def _marked(text: str) -> Parsed | None:
    """What the last place with a marker says; None when there is no such place, or none that says anything."""
    return next(_places(text), None)


def _places(text: str) -> Iterator[Parsed]:
    """What the places with a marker say, from the end."""
    for marker in reversed(list(_MARKER.finditer(text))[-_PLACES:]):
        before, after, below = _around(text, *marker.span())
        if value := _JSON_VALUE.match(after) if _IN_JSON.search(before) else None:
            yield _decision(value, JSON)
        elif _STARTS.search(before) and (found := _line(after, below)):
            yield found


def _around(text: str, start: int, end: int) -> tuple[str, str, str]:
    """What stands before and after a place on its line, and what stands below that line; each as far as we look."""
    lowest = max(0, start - _BEFORE)
    line_start = text.rfind("\n", lowest, start) + 1
    hidden = line_start == 0 and lowest > 0
    # A letter in place of what is out of sight, so that the middle of a line does not look like its start.
    before = "x" + text[lowest:start] if hidden else text[line_start:start]
    line_end = text.find("\n", end, end + _AFTER)
    if line_end < 0:
        return before, text[end : end + _AFTER], ""
    return before, text[end:line_end], text[line_end : line_end + _AFTER]


def _line(after: str, below: str) -> Parsed | None:
    """What a marker says: a verdict, an attempt at one, or nothing that counts.

    Args:
        after: the rest of its line.
        below: what follows that line.
    """
    if _HEADING.match(after):
        # A heading: the verdict is the next line, if that is the bare word.
        return _word(below.lstrip().split("\n", 1)[0], LINE)
    separator = _SEPARATOR.match(after)
    if separator is None:
        return None
    said = after[separator.end() :]
    value = _VALUE.match(said)
    if value is None:
        # "The verdict is based on …" is no verdict; "Verdict: unclear" is one that decides nothing.
        is_sentence = separator[0].strip().lower() == "is"
        return None if is_sentence or _NO_WORD.match(said) else Parsed(None, UNDECIDED)
    rest = said[value.end() :]
    if _ECHO.match(rest) or _QUOTATION.match(rest):
        return None
    return _decision(value, LINE) if _stands(rest) else Parsed(None, UNDECIDED)


def _decision(value: re.Match[str], reason: str) -> Parsed:
    word = value["word"].lower()
    if not value["not"]:
        return Parsed(word, reason)
    # "Not incorrect" is less than correct.
    return Parsed(NEGATIVE, reason) if word == POSITIVE else Parsed(None, UNDECIDED)


def _stands(rest: str) -> bool:
    """Whether what follows the word on its line leaves the verdict as it is."""
    rest = _TAG_END.sub("", rest)
    if _NO_WORD.match(rest):
        return "?" not in rest
    if _BECAUSE.match(rest):
        return True
    rest = rest.lstrip(_CLOSING)
    return rest.startswith((".", "!", ";", "。", ",", ":", "(", "—", "–", "-")) and not _TAKEN_BACK.match(rest)


def _bare(text: str) -> Parsed | None:
    """The verdict of a text without a marker."""
    lines = [line for line in text.splitlines() if not _NO_WORD.match(line[:_AFTER])]
    if not lines:
        return None
    if found := _word(lines[-1], WORD):
        return found
    found = _word(lines[0], WORD)
    rest = "\n".join(lines[1:])
    turns = _TURN.search(rest) or (found is not None and found.verdict == POSITIVE and _DENIAL.search(rest))
    return None if turns else found


def _word(line: str, reason: str) -> Parsed | None:
    """The verdict of a line that holds one word and at most "not"."""
    value = _VALUE.match(line) if len(line) <= _BEFORE else None
    if value is None:
        return None
    rest = _TAG_END.sub("", line[value.end() :])
    return _decision(value, reason) if _NO_WORD.match(rest) and "?" not in rest else None
