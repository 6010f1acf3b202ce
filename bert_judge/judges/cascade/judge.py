"""Several judges in a row: a cheap one decides where it is sure, and leaves the rest to the next."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_judge.judges.protocol import Judge, Label, Row
from bert_judge.runtime.errors import InputError

# The file of a fitted cascade, in its folder below results/judges/.
FILE = "cascade.json"


@dataclass(frozen=True)
class Cuts:
    """Where a judge is sure: of "incorrect" up to `low`, of "correct" from `high` on; None: never."""

    low: float | None
    high: float | None

    def sure(self, verdicts: ArrayLike, scores: ArrayLike | Sequence[float | None]) -> NDArray[np.bool_]:
        """Of which verdicts the judge is sure; never of an invalid one.

        Args:
            verdicts: texts out of `tables.VERDICTS`, shape (n,).
            scores: in [0, 1], NaN or None for an invalid verdict, shape (n,).
        """
        said, score = np.asarray(verdicts, dtype=object), np.asarray(scores, dtype=float)
        low, high = (math.nan if cut is None else cut for cut in (self.low, self.high))
        # A comparison with NaN is false.
        return np.asarray(((said == "incorrect") & (score <= low)) | ((said == "correct") & (score >= high)), dtype=bool)


class CascadeJudge:
    """Implements `judges.protocol.Judge` on other judges, each of which sees only what those before it left.

    Args:
        judges: name → judge, the cheapest first; the last one decides all that is left.
        cuts: name → where that judge is sure, for all but the last.
    """

    def __init__(self, judges: Mapping[str, Judge], cuts: Mapping[str, Cuts]) -> None:
        if missing := [name for name in list(judges)[:-1] if name not in cuts]:
            raise InputError(f"cascade: no cuts for {missing[0]!r}; fit the cascade on these judges")
        self.judges, self.cuts = dict(judges), dict(cuts)
        self.revisions = {name: revision for judge in judges.values() for name, revision in judge.revisions.items()}

    @classmethod
    def load(cls, path: str | Path, judges: Mapping[str, Judge]) -> CascadeJudge:
        """A cascade that the workflow fitted.

        Args:
            path: its cascade.json.
            judges: as above, under the names in that file and in its order.

        Raises:
            InputError: no such file, or it is about other judges.
        """
        names = fitted_judges(path)
        if list(judges) != names:
            raise InputError(f"{path}: its judges are {', '.join(names)}; give these, in this order")
        return cls(judges, load_cuts(path))

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. The tokens of a label are those of all judges that looked at the row."""
        found: list[Label | None] = [None] * len(rows)
        spent: list[Label | None] = [None] * len(rows)
        left = list(range(len(rows)))
        for name, judge in self.judges.items():
            labels = judge.judge([rows[place] for place in left]) if left else []
            cuts = self.cuts.get(name)
            sure = cuts.sure([label.verdict for label in labels], [label.score for label in labels]) if cuts else [True] * len(left)
            for place, label in zip(left, labels, strict=True):
                spent[place] = with_tokens(label, spent[place])
            decided = [place for place, done in zip(left, sure, strict=True) if done]
            for place in decided:
                found[place] = attributed(spent[place], name)
            left = sorted({*left} - {*decided})
        return [label for label in found if label is not None]


def attributed(label: Label | None, judge: str) -> Label:
    """A label of a cascade: the member's own, with its name in the reason."""
    assert label is not None
    return replace(label, reason=f"{decider(judge)}: {label.reason}" if label.reason else decider(judge))


def decider(judge: str) -> str:
    """How the reason of a cascade's label begins when this judge decided."""
    return f"decided by {judge}"


def who_decided(reason: str | None, judges: Sequence[str]) -> str | None:
    """The judge that a cascade's label says has decided; None when it says none of these."""
    told = (reason or "").split(":")[0]
    return next((judge for judge in judges if told == decider(judge)), None)


def with_tokens(label: Label, before: Label | None) -> Label:
    """The label with the tokens of the judge before it on top."""
    if before is None:
        return label
    return replace(
        label,
        prompt_tokens=_sum(label.prompt_tokens, before.prompt_tokens),
        completion_tokens=_sum(label.completion_tokens, before.completion_tokens),
    )


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def fitted_judges(path: str | Path) -> list[str]:
    """The judges of a fitted cascade, the cheapest first."""
    return [*_read(path)["cuts"], _read(path)["last"]]


def load_cuts(path: str | Path) -> dict[str, Cuts]:
    """Judge → its cuts, for all but the last judge of a fitted cascade.

    Raises:
        InputError: no such file, or it is not the one of a cascade.
    """
    return {name: Cuts(**cuts) for name, cuts in _read(path)["cuts"].items()}


def described(cuts: Mapping[str, Cuts], last: str) -> dict[str, Any]:
    """What `load_cuts` reads."""
    return {"cuts": {name: asdict(entry) for name, entry in cuts.items()}, "last": last}


def _read(path: str | Path) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        return {"cuts": {str(name): dict(cuts) for name, cuts in found["cuts"].items()}, "last": str(found["last"])}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); fit the cascade first") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the file of a fitted cascade; delete it and run again") from error
