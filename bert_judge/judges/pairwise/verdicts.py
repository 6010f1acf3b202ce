"""What a model's text says about two answers: A, B, tie, or nothing and why.

Strict: a line that holds a verdict and nothing else counts (`Verdict: A`, `**Verdict:** [[B]]`), and the last of them decides. A
text without such a line counts when all of it is the bare word. Letters count in capitals only, for "a" is a word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bert_judge.candidates.generators.reasoning import split_reasoning, start_marker
from bert_judge.judges.llm.verdicts import CUT_OFF, LINE, NO_VERDICT, REASONING_CUT_OFF, SAYS_NOTHING, WORD, plain

REASONING_ENDS = ("</think>", "</thinking>", "</reasoning>", "[/THINK]")
# A line longer than this is no verdict; so the time grows with the text and not faster.
LONGEST_LINE = 80

_WORD = r"(?:(?i:(?:answer|assistant|response)\s)?(?P<letter>[AB])|(?i:a\s)?(?P<tie>(?i:tie)))"
_WRAP = r"[\s\[\](){}\"'`*_<>|$]{0,8}"
_VERDICT = re.compile(
    rf"^[\W_]{{0,8}}(?i:(?:my |the )?(?:final )?verdict)[\s*_]{{0,4}}[:=][\s*_]{{0,4}}{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$"
)
_BARE = re.compile(rf"^{_WRAP}{_WORD}{_WRAP}[.!]?{_WRAP}$")


_SCORES = re.compile(r"^[\s*_`\[(]{0,6}(\d{1,2}(?:\.\d{1,2})?)[\s,;/|]{1,4}(\d{1,2}(?:\.\d{1,2})?)[\s*_`\])]{0,6}$")
FIRST_LINE, NO_SCORES = "scores in the first line", "no two scores from 1 to 10 in the first line"


class Parsed(NamedTuple):
    """A reading of a text: A, B, tie or None; and what decided, or why there is no verdict."""

    verdict: str | None
    reason: str


def parse(text: str, fences: tuple[str, ...] = (), finished: bool = True) -> Parsed:
    """Read a model's text.

    Args:
        fences: names of the tags around the answers; what the model repeats inside them is not its own word.
        finished: False when the text stopped at a limit: its last verdict never came.
    """
    own = plain(text)
    for end in REASONING_ENDS:
        if end in own or own.lstrip().startswith(str(start_marker(end))):
            parts = split_reasoning(own, end)
            if not parts.finished:
                return Parsed(None, REASONING_CUT_OFF)
            own = parts.answer
    for fence in fences:
        own = re.sub(rf"<{re.escape(fence)}>.*?(?:</{re.escape(fence)}>|\Z)", "\n", own, flags=re.DOTALL)
    if not finished:
        return Parsed(None, CUT_OFF)
    if not own.strip():
        return Parsed(None, SAYS_NOTHING)
    said = lines(own)
    if said:
        return Parsed(said[-1], LINE)
    bare = _BARE.match(own.strip()) if len(own.strip()) <= LONGEST_LINE else None
    return Parsed(_meant(bare), WORD) if bare else Parsed(None, NO_VERDICT)


def scores(text: str) -> tuple[float, float] | None:
    """The scores of A and of B, each from 1 to 10, in the first line that is not empty; None when it holds anything else.

    Two numbers at the start are all that is needed, so a text may stop behind them.
    """
    own = plain(text)
    for end in REASONING_ENDS:
        if end in own:
            own = split_reasoning(own, end).answer
    first = next((line for line in own.splitlines() if line.strip()), "")
    found = _SCORES.match(first) if len(first) <= LONGEST_LINE else None
    if found is None:
        return None
    both = float(found[1]), float(found[2])
    return both if all(1 <= score <= 10 for score in both) else None


def lines(text: str) -> list[str]:
    """The verdicts of the lines that hold one and nothing else, from the top."""
    found = (_VERDICT.match(line) for line in text.splitlines() if len(line) <= LONGEST_LINE)
    return [_meant(match) for match in found if match]


def _meant(match: re.Match[str]) -> str:
    return match["letter"] or "tie"
