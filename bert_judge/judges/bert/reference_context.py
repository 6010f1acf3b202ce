"""How a reference stands in an answer: alone or in a list, kept or taken back, in a whole sentence or in one that breaks off."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from bert_judge.judges.lexical.normalization import words

# What makes an answer one of several, what takes it back, what puts another aside, and what takes its own words back.
ALTERNATIVES = frozenset(words("or either versus vs alternatively perhaps maybe possibly"))
RETRACTIONS = frozenset(
    words(
        "not no never isn't wasn't wrong incorrect false mistake mistaken error actually wait sorry rather instead correction "
        "scratch forget disregard untrue exclude excluded myth fact turns"
    )
)
REJECTING = frozenset(words("not than never unlike against"))
CORRECTING = frozenset(words("no sorry wait hmm correction correct oops wrong mistake mistaken error actually reflection thoughts"))
# Who divides an answer into cases does not give it.
DIVIDING = frozenset(
    words(
        "one other others another some either neither both first second third case cases reading sense candidate candidates "
        "option options between among disagree differ decide choose depends depending if whether might could"
    )
)
# No sentence ends with these, so an answer that does has broken off.
OPEN_ENDS = frozenset(
    words(
        "a an the of to in on at by for with from as and or but so that which who whether if because since is are was were be been "
        "has have had would could should might will can i we you they he she it's next then now first let's my our your its their "
        "this these not more most about into than also do does did"
    )
)
NEAR, SHORT = 5, 6
_PARTS = re.compile(r"[,;/|\n]|\s(?:or|and|vs\.?|versus)\s")

NAMES = (
    *("alternative_near", "denied_before", "denied_behind"),
    *("retractions_before", "retractions_behind", "words_before", "words_behind"),
    *("rejected_behind", "corrected_behind", "divided", "parts_beside", "unfinished"),
)


def standing(wanted: frozenset[str], answer: Sequence[str], text: str) -> tuple[float, ...]:
    """The features `NAMES`; zeros where the reference does not occur.

    Args:
        wanted: words of the reference that carry its content.
        answer: words of the answer.
        text: the answer as written.
    """
    places = [place for place, word in enumerate(answer) if word in wanted]
    if not places:
        return (0.0,) * len(NAMES)
    before, behind = answer[: places[0]], answer[places[-1] + 1 :]
    inside = answer[places[0] : places[-1]]
    near = [*before[-NEAR:], *behind[:NEAR]]
    return (
        float(any(word in ALTERNATIVES for word in near)),
        float(any(word in RETRACTIONS for word in before[-NEAR:])),
        float(any(word in RETRACTIONS for word in behind[:NEAR])),
        _count(before, RETRACTIONS),
        _count([*inside, *behind], RETRACTIONS),
        math.log1p(len(before)),
        math.log1p(len(behind)),
        float(any(word in REJECTING for word in behind[:3])),
        _count(behind[: 2 * NEAR], CORRECTING),
        _count([*before, *inside, *behind], DIVIDING),
        _parts_beside(wanted, text),
        float(answer[-1] in OPEN_ENDS),
    )


def _count(found: Sequence[str], among: frozenset[str]) -> float:
    return min(3.0, sum(word in among for word in found))


def _parts_beside(wanted: frozenset[str], text: str) -> float:
    """How many short parts of a list stand beside the one that holds the reference, at most 6."""
    parts = [words(part) for part in _PARTS.split(text)]
    return min(6.0, sum(0 < len(part) <= SHORT and wanted.isdisjoint(part) for part in parts))
