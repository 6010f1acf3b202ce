"""Parsing of an LLM judge's reply: correct, incorrect, or no verdict and why.

1. Normalize the text: fold compatibility characters, remove invisible characters, Markdown and formatting tags.
2. Remove quotations and reasoning of the judge: the fenced candidate, a repeated candidate, quoted lines, reasoning.
3. Search the places where a verdict may stand, from the end: a line `Verdict: …`, a member `"verdict": "…"` of a JSON object. The
   last one decides. Without any, a bare word counts as the last line, or as the first line of an explanation that does not
   contradict it.

A verdict that is hedged or retracted ("Verdict: correct, but…", "Verdict: unclear") does not count, and no earlier one replaces it:
the judge is asked again for a single word. Talk about verdicts inside a sentence does not count. Every pattern searches a bounded
stretch of text, so the time is linear in the length of the text.
"""

import re
from collections.abc import Iterator, Sequence

from bert_judge.judges.prompted import BARE_VERDICT, VERDICT_JSON, VERDICT_LINE, ParsedVerdict, normalize, parse_reply

POSITIVE, NEGATIVE = "correct", "incorrect"

# Why a verdict does not count.
UNDECIDED = "the judge's last verdict is neither correct nor incorrect"


# Characters searched before and after a marker; a verdict is shorter.
_BEFORE, _AFTER = 80, 160
# Markers searched, from the end; a text with more of them repeats itself.
_MAX_MARKERS = 1000
_MARKER = re.compile(r"(?i)(?<![\w-])(?:verdict|judge?ment)(?![\w-])")
_OPENING = r"""[\s"'“”‘’«»„「『【(\[{<|$•·-]|\\(?:boxed|text|textbf|mathbf|mathrm)\b"""
_CLOSING = "\"'“”‘’«»」』】)]}>$ \t"
_LEAD = r"(?:so|thus|therefore|hence|finally|in conclusion|conclusion|overall|my|the|our|final|and|\d{1,2}[.)])[,:]?\s{1,3}"
# Before the marker: the start of the line, or the end of a sentence. Quotation marks only at the start of the line.
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
# After the word: the other choice, as in the instructions; the rest of a sentence that quotes it; a reason; a retraction.
_ECHO = re.compile(r"(?i)^\s{0,3}(?:/|\||,?\s{0,3}or\b|,)[\s\"'“”<]{0,6}(?:in)?correct\b")
_QUOTATION = re.compile(r"""^["'”’»」』][\s)\]}>,]{0,5}(?!\s)(?!because\b|since\b|as\b)\w""")
_BECAUSE = re.compile(r"(?i)^[\s\"'”’»]{1,3}(?:because|since|as|for|given|due)\b")
_RETRACTION = re.compile(
    r"(?i)^[\s\"'(\[:,;.!—–-]{0,8}(?:but|or|if|unless|except|however|although|though|yet|partial\w*|partly|mostly|almost|maybe|perhaps|"
    r"possibly|probably|likely|wait|actually|no|hmm|sorry|only|not|(?:in)?correct)\b"
)
_VERDICT_ONLY = re.compile(
    r"(?i)^\W*(?:my\s+|the\s+)?(?:final\s+)?(?:verdict|judge?ment)\W*(?:is\W+)?(?:not\s+)?(?:in)?correct\W*$"
)
_REVERSAL = re.compile(r"(?i)\b(?:however|wait|actually)\b")
_DENIAL = re.compile(r"(?i)\b(?:incorrect|not correct|wrong)\b")


def parse(reply: str, codes: Sequence[str] = (), candidate: str = "", finished: bool = True) -> ParsedVerdict:
    """Parse a judge's reply; see `prompted.parse_reply`.

    Args:
        candidate: as shown to the judge; one that contains a verdict line is removed even where it is repeated without its fence.
    """
    text = normalize(candidate).strip()
    # A candidate that is only a verdict looks like the judge's own and must not remove it.
    is_planted = _marked_verdict(text) and not (len(text) <= _BEFORE and _VERDICT_ONLY.match(text))
    return parse_reply(reply, _find_verdict, codes, text if is_planted else "", finished)


def self_verdicts(candidate: str) -> set[str]:
    """Return the verdicts that a candidate gives itself, in any form that would count in a judge's reply."""
    text = normalize(candidate)
    bare = (_bare_verdict(line, BARE_VERDICT) for line in text.splitlines())
    return {parsed.verdict for parsed in (*_marked_verdicts(text), *bare) if parsed and parsed.verdict}


def _find_verdict(text: str) -> ParsedVerdict | None:
    return _marked_verdict(text) or _unmarked_verdict(text)


def _marked_verdict(text: str) -> ParsedVerdict | None:
    return next(_marked_verdicts(text), None)


def _marked_verdicts(text: str) -> Iterator[ParsedVerdict]:
    for marker in reversed(list(_MARKER.finditer(text))[-_MAX_MARKERS:]):
        before, after, below = _context(text, *marker.span())
        if match := _JSON_VALUE.match(after) if _IN_JSON.search(before) else None:
            yield _to_verdict(match, VERDICT_JSON)
        elif _STARTS.search(before) and (parsed := _verdict_after_marker(after, below)):
            yield parsed


def _context(text: str, start: int, end: int) -> tuple[str, str, str]:
    """Return the text before and after a span on its line, and the text below that line, each up to the search limit."""
    lowest = max(0, start - _BEFORE)
    line_start = text.rfind("\n", lowest, start) + 1
    is_clipped = line_start == 0 and lowest > 0
    # A letter in place of the clipped text, so that the middle of a line does not look like its start.
    before = "x" + text[lowest:start] if is_clipped else text[line_start:start]
    line_end = text.find("\n", end, end + _AFTER)
    if line_end < 0:
        return before, text[end : end + _AFTER], ""
    return before, text[end:line_end], text[line_end : line_end + _AFTER]


def _verdict_after_marker(after: str, below: str) -> ParsedVerdict | None:
    """Parse the rest of a marker's line, and the text below it; None for text that does not count."""
    if _HEADING.match(after):
        # A heading: the next line is the verdict, if it is a bare word.
        return _bare_verdict(below.lstrip().split("\n", 1)[0], VERDICT_LINE)
    separator = _SEPARATOR.match(after)
    if separator is None:
        return None
    value = after[separator.end() :]
    match = _VALUE.match(value)
    if match is None:
        # "The verdict is based on …" is no verdict; "Verdict: unclear" is an undecided one.
        is_sentence = separator[0].strip().lower() == "is"
        return None if is_sentence or _NO_WORD.match(value) else ParsedVerdict(None, UNDECIDED)
    rest = value[match.end() :]
    if _ECHO.match(rest) or _QUOTATION.match(rest):
        return None
    return _to_verdict(match, VERDICT_LINE) if _is_unretracted(rest) else ParsedVerdict(None, UNDECIDED)


def _to_verdict(match: re.Match[str], reason: str) -> ParsedVerdict:
    word = match["word"].lower()
    if not match["not"]:
        return ParsedVerdict(word, reason)
    # "Not incorrect" is less than correct.
    return ParsedVerdict(NEGATIVE, reason) if word == POSITIVE else ParsedVerdict(None, UNDECIDED)


def _is_unretracted(rest: str) -> bool:
    """Return whether the rest of the line after the word leaves the verdict unchanged."""
    rest = _TAG_END.sub("", rest)
    if _NO_WORD.match(rest):
        return "?" not in rest
    if _BECAUSE.match(rest):
        return True
    rest = rest.lstrip(_CLOSING)
    return rest.startswith((".", "!", ";", "。", ",", ":", "(", "—", "–", "-")) and not _RETRACTION.match(rest)


def _unmarked_verdict(text: str) -> ParsedVerdict | None:
    """Return the verdict of a text without a marker: its last line, or its first one if the rest does not contradict it."""
    lines = [line for line in text.splitlines() if not _NO_WORD.match(line[:_AFTER])]
    if not lines:
        return None
    if last := _bare_verdict(lines[-1], BARE_VERDICT):
        return last
    first = _bare_verdict(lines[0], BARE_VERDICT)
    rest = "\n".join(lines[1:])
    contradicted = _REVERSAL.search(rest) or (first is not None and first.verdict == POSITIVE and _DENIAL.search(rest))
    return None if contradicted else first


def _bare_verdict(line: str, reason: str) -> ParsedVerdict | None:
    """Return the verdict of a line that consists of one word and optionally "not"."""
    match = _VALUE.match(line) if len(line) <= _BEFORE else None
    if match is None:
        return None
    rest = _TAG_END.sub("", line[match.end() :])
    return _to_verdict(match, reason) if _NO_WORD.match(rest) and "?" not in rest else None
