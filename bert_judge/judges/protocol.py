"""What a judge takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from bert_judge import tables


@dataclass(frozen=True)
class Row:
    """One candidate with what it is judged by.

    Attributes:
        sample_id, attempt, model: identity of the candidate.
        references: right answers; any one of them is right.
    """

    sample_id: str
    attempt: int
    model: str
    question: str
    references: tuple[str, ...]
    candidate: str


@dataclass(frozen=True)
class Label:
    """One verdict.

    Attributes:
        verdict: one of `tables.VERDICTS`.
        score: how right, 0 to 1; None when invalid.
        reason: why a verdict is invalid, or what decided it.
        raw: the judge's own words or uncalibrated score.
        truncated: the judge did not see the whole row.
        aspects: aspect → value on its own scale, of a judge of aspects; one that it could not tell is left out.
    """

    verdict: str
    score: float | None
    reason: str | None = None
    raw: str | None = None
    truncated: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    aspects: Mapping[str, float] | None = None

    def kept(self) -> dict[str, Any]:
        """The label as values that a shard can hold."""
        aspects = None if self.aspects is None else [{"aspect": name, "value": value} for name, value in self.aspects.items()]
        return asdict(self) | {"reason": tables.storable(self.reason), "raw": tables.storable(self.raw), "aspects": aspects}


def restored(kept: Mapping[str, Any]) -> Label:
    """The label that `Label.kept` made these values of; a shard of an older program has no aspects."""
    aspects = kept.get("aspects")
    return Label(**{**kept, "aspects": None if aspects is None else {pair["aspect"]: pair["value"] for pair in aspects}})


def invalid(reason: str, raw: str | None = None) -> Label:
    """A verdict that could not be reached."""
    return Label("invalid", None, reason, raw)


def decided(score: float, threshold: float = 0.5, **details: object) -> Label:
    """The verdict of a score: correct from `threshold` on."""
    return Label("correct" if score >= threshold else "incorrect", score, **details)  # type: ignore[arg-type]


class Judge(Protocol):
    """Decides on candidates."""

    # Model name → revision, for the provenance of what it wrote.
    revisions: dict[str, str]

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """One label per row, in their order; the verdict on a row does not depend on the other rows."""
        ...


@runtime_checkable
class CalibratedJudge(Protocol):
    """A judge that can calibrate its scores on rows whose base rate it keeps.

    Attributes:
        threshold: lowest score that counts as correct.
        calibrated: the scores are calibrated.
    """

    threshold: float
    calibrated: bool

    def calibration_base_rate(self) -> float:
        """Return the base rate of the rows that the judge was calibrated on.

        Raises:
            InputError: it is unknown.
        """
        ...
