"""Parsing of a pairwise LLM judge's reply: A, B, tie, or no verdict and why; or the scores of A and B.

The reply is prepared as for the pointwise judge (`judges.llm.verdicts.parse`). Parsing is strict: only a line that consists of a
verdict counts (`Verdict: A`, `**Verdict:** [[B]]`), and the last one decides. A reply without such a line counts if it is a single
bare word. Letters count only as capitals, since "a" is a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bert_judge.judges.llm import verdicts
from bert_judge.judges.llm.verdicts import BARE_VERDICT, VERDICT_LINE, ParsedVerdict

FIRST_LINE, NO_SCORES = "scores in the first line", "no two scores from 1 to 10 in the first line"
# A longer line is no verdict; so the time is linear in the length of the text.
MAX_LINE_LENGTH = 80

_WORD = r"(?:(?i:(?:answer|assistant|response)\s)?(?P<letter>[AB])|(?i:a\s)?(?P<tie>(?i:tie)))"
_WRAP = r"[\s\[\](){}\"'`*_<>|$]{0,8}"
_VERDICT = re.compile(
    rf"^[\W_]{{0,8}}(?i:(?:my |the )?(?:final )?verdict)[\s*_]{{0,4}}[:=][\s*_]{{0,4}}{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$"
)
_BARE = re.compile(rf"^{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$")
_SCORES = re.compile(r"^[\s*_`\[(]{0,6}(\d{1,2}(?:\.\d{1,2})?)[\s,;/|]{1,4}(\d{1,2}(?:\.\d{1,2})?)[\s*_`\])]{0,6}$")


def parse(reply: str, codes: Sequence[str] = (), finished: bool = True) -> ParsedVerdict:
    """Parse a reply.

    Args:
        codes: signatures of the fences around the answers; repeated fenced text is removed.
        finished: False if the reply stopped at a limit, so that its last verdict is missing.
    """
    return verdicts.parse(reply, codes, finished=finished, find=_find_verdict)


def parse_scores(reply: str, codes: Sequence[str] = ()) -> tuple[float, float] | None:
    """Return the scores of A and B, each from 1 to 10, in the first non-empty line; None if it contains anything else.

    The reply may be truncated after that line.
    """
    text = verdicts.strip_quotes(verdicts.normalize(reply), codes) or ""
    first = next((line for line in text.splitlines() if line.strip()), "")
    match = _SCORES.match(first) if len(first) <= MAX_LINE_LENGTH else None
    if match is None:
        return None
    scores = float(match[1]), float(match[2])
    return scores if all(1 <= score <= 10 for score in scores) else None


def verdict_lines(text: str) -> list[str]:
    """Return the verdicts of the lines that consist of one, from the top."""
    matches = (_VERDICT.match(line) for line in text.splitlines() if len(line) <= MAX_LINE_LENGTH)
    return [_to_verdict(match) for match in matches if match]


def _find_verdict(text: str) -> ParsedVerdict | None:
    if lines := verdict_lines(text):
        return ParsedVerdict(lines[-1], VERDICT_LINE)
    bare = _BARE.match(text.strip()) if len(text.strip()) <= MAX_LINE_LENGTH else None
    return ParsedVerdict(_to_verdict(bare), BARE_VERDICT) if bare else None


def _to_verdict(match: re.Match[str]) -> str:
    return match["letter"] or "tie"
