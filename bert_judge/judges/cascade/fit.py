"""The stage that fits a cascade: decision thresholds of its judges, from validation rows.

The confidence in a verdict is the accuracy of that judge on rows with similar scores: an isotonic function of the score, separate
for "correct" and "incorrect", fitted on the rows that the previous judges escalate. One minimum confidence for all judges yields
the thresholds; lowering it trades agreement for cost.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from bert_judge import tables
from bert_judge.judges.cascade.escalation import DecisionThresholds, with_unique_attempts
from bert_judge.judges.model_card import markdown_table, write_model_card
from bert_judge.judges.protocol import join_labels
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

MIN_BIN_ROWS = 20
# Finer where it matters; above 1 only the last judge decides, at 0 the first decides everything with a valid verdict.
CONFIDENCE_GRID = np.unique(np.concatenate([[0.0], np.linspace(0.5, 0.98, 49), np.linspace(0.98, 1.0, 21), [2.0]]))

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class JudgeOutputs:
    """Verdicts, out of `tables.VERDICTS`, and scores in [0, 1] (NaN where invalid) of a judge on n validation rows."""

    verdicts: NDArray[np.object_]
    scores: Floats

    def agrees(self, correct: Bools) -> Bools:
        """Return where the verdict equals the true one, shape (n,)."""
        return np.asarray(self.verdicts == np.where(correct, "correct", "incorrect"), dtype=bool)


@dataclass(frozen=True)
class OperatingPoint:
    """Thresholds for one minimum confidence, and their outcome on the validation rows.

    Attributes:
        confidence: minimum confidence with which a judge decides.
        row_shares: judge → share of the rows that it labels.
        agreement: share of the rows with the true verdict.
    """

    confidence: float
    thresholds: Mapping[str, DecisionThresholds]
    row_shares: Mapping[str, float]
    agreement: float

    @property
    def escalation_rate(self) -> float:
        """Share of the rows that the last judge labels."""
        return list(self.row_shares.values())[-1]

    def to_json(self) -> dict[str, Any]:
        return {"confidence": self.confidence, "row_shares": dict(self.row_shares), "agreement": self.agreement}


def fit_cascade(spec: Mapping[str, Any], validation: str | Path, labels: Mapping[str, str | Path], output: str | Path) -> None:
    """Choose the decision thresholds of a cascade on the validation rows of its dataset, and write its judge.json.

    `labels`: judge → its labels of these rows, except for the dataset's teacher. Raises InputError: a label table does not fit the
    rows, or no thresholds reach the configured accuracy or budget.
    """
    rows = with_unique_attempts(tables.read(validation, tables.DATASET))
    correct = (rows["label"] >= 0.5).to_numpy()
    judges = {}
    for name in spec["judges"]:
        if name == spec["teacher"]:
            judges[name] = JudgeOutputs(np.where(correct, "correct", "incorrect").astype(object), correct.astype(float))
        else:
            table = join_labels(rows, labels[name])
            judges[name] = JudgeOutputs(table["verdict"].to_numpy(dtype=object), table["score"].to_numpy(dtype=float))
    points = operating_points(judges, correct)
    try:
        operating_point = choose_point(points, spec["accuracy"], spec["budget"])
    except InputError as error:
        raise InputError(f"judges.{spec['judge']}.{error}") from None
    single_judges = {name: float(outputs.agrees(correct).mean()) for name, outputs in judges.items()}
    description = {
        "kind": "cascade",
        "thresholds": {name: asdict(thresholds) for name, thresholds in operating_point.thresholds.items()},
        "last": spec["judges"][-1],
        "fitted_on": {"dataset": spec["dataset"], "rows": len(rows), "questions": int(rows["question"].nunique())},
        "operating_point": operating_point.to_json(),
        "single_judges": single_judges,
        "trade_off": [point.to_json() for point in points],
    }
    tables.write_json(output, description)
    shares = ", ".join(f"{name} labels {share:.1%}" for name, share in operating_point.row_shares.items())
    log.info("%s: agreement %.1f%% on %d validation rows; %s", spec["judge"], 100 * operating_point.agreement, len(rows), shares)


def evaluate_cascade(spec: Mapping[str, Any], folder: Path) -> None:
    """Write metrics.json and README.md into the folder of a fitted cascade."""
    fitted = json.loads((folder / "judge.json").read_text("utf-8"))
    point, single_judges, rows = fitted["operating_point"], fitted["single_judges"], fitted["fitted_on"]
    tables.write_json(folder / "metrics.json", {"validation": {"n": rows["rows"], "agreement": point["agreement"]}})
    cells = [(name, f"{share:.1%}", f"{single_judges[name]:.1%}") for name, share in point["row_shares"].items()]
    header = ("judge", "share of the rows that it labels", "agreement with the labels on its own")
    write_model_card(
        folder,
        title=spec["judge"],
        introduction=f"A cascade of judges, fitted on {rows['rows']} validation rows of the dataset `{rows['dataset']}`. "
        f"On these it agrees with the labels on {point['agreement']:.1%}.\n\n{markdown_table(header, cells)}",
        tags=["cascade"],
        spec=spec,
    )


def operating_points(judges: Mapping[str, JudgeOutputs], correct: Bools) -> list[OperatingPoint]:
    """Compute the distinct outcomes of a cascade, the cheapest judge first, for each minimum confidence, the strictest first."""
    if not len(correct):
        raise InputError("no rows to fit a cascade on; raise the dataset's share of validation questions")
    points = [_operating_point(float(confidence), judges, correct) for confidence in CONFIDENCE_GRID[::-1]]
    distinct = {(point.agreement, *point.row_shares.values()): point for point in reversed(points)}
    return [point for point in points if distinct[(point.agreement, *point.row_shares.values())] is point]


def choose_point(points: Sequence[OperatingPoint], accuracy: float | None, budget: float | None) -> OperatingPoint:
    """Return the cheapest point with an agreement of at least `accuracy`, or the best one within the maximum escalation rate.

    The cheapest point escalates least to the last judge, then to the one before. Raises InputError: no point satisfies the
    requirement.
    """
    if accuracy is not None:
        accurate = [point for point in points if point.agreement >= accuracy]
        if not accurate:
            best = max(point.agreement for point in points)
            raise InputError(f"accuracy: {accuracy} is not reached, the maximum is {best:.3f}; lower it or use a better last judge")
        return min(accurate, key=lambda point: (list(point.row_shares.values())[::-1], -point.agreement))
    affordable = [point for point in points if budget is None or point.escalation_rate <= budget]
    if not affordable:
        least = min(point.escalation_rate for point in points)
        last = list(points[0].row_shares)[-1]
        raise InputError(f"budget: {budget} is exceeded, {last!r} labels at least {least:.3f} of the rows; raise it")
    return max(affordable, key=lambda point: (point.agreement, -point.escalation_rate))


def _operating_point(confidence: float, judges: Mapping[str, JudgeOutputs], correct: Bools) -> OperatingPoint:
    undecided = np.ones(len(correct), dtype=bool)
    agrees = np.zeros(len(correct), dtype=bool)
    thresholds: dict[str, DecisionThresholds] = {}
    row_shares: dict[str, float] = {}
    *early, last = judges
    for name in early:
        outputs = judges[name]
        hits = outputs.agrees(correct)
        row_shares[name] = float(undecided.mean())
        thresholds[name] = DecisionThresholds(
            low=_threshold(outputs, undecided & (outputs.verdicts == "incorrect"), hits, confidence, descending=True),
            high=_threshold(outputs, undecided & (outputs.verdicts == "correct"), hits, confidence, descending=False),
        )
        decided = undecided & thresholds[name].is_confident(outputs.verdicts, outputs.scores)
        agrees |= decided & hits
        undecided &= ~decided
    row_shares[last] = float(undecided.mean())
    agrees |= undecided & judges[last].agrees(correct)
    return OperatingPoint(confidence, thresholds, row_shares, float(agrees.mean()))


def _threshold(outputs: JudgeOutputs, rows: Bools, hits: Bools, confidence: float, descending: bool) -> float | None:
    """Find the least confident score of some rows that reaches the confidence; None if none does.

    `descending`: the confidence increases as the score falls.
    """
    if not rows.any():
        return None
    scores, inverse, sizes = np.unique(outputs.scores[rows], return_inverse=True, return_counts=True)
    hit_counts = np.bincount(inverse, hits[rows])
    if descending:
        scores, sizes, hit_counts = scores[::-1], sizes[::-1], hit_counts[::-1]
    # Equal scores share a bin; a bin below the minimum size joins the next, the last one the previous.
    bin_of_score = np.minimum((sizes.cumsum() - 1) // MIN_BIN_ROWS, max(sizes.sum() // MIN_BIN_ROWS - 1, 0))
    bins, starts = np.unique(bin_of_score, return_index=True)
    sizes, hit_counts = (np.add.reduceat(counts, starts) for counts in (sizes, hit_counts))
    # Half a row of each kind is added, so that a small bin without errors does not count as certain.
    accuracy = IsotonicRegression().fit_transform(bins, (hit_counts + 0.5) / (sizes + 1), sample_weight=sizes)
    reached = np.flatnonzero(accuracy >= confidence)
    return float(scores[starts[reached[0]]]) if len(reached) else None
