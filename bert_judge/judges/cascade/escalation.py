"""A cascade of judges: each decides where it is confident and escalates the rest to the next, more expensive judge."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_judge import tables
from bert_judge.judges.protocol import KEY, LABEL_COLUMNS, Judge, Label, Row, join_labels
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

TOKENS = ["prompt_tokens", "completion_tokens"]
# (judge, label table).
JudgeLabels = tuple[str, str | Path]


@dataclass(frozen=True)
class DecisionThresholds:
    """Scores at which a judge decides: "incorrect" up to `low`, "correct" from `high`; None: never."""

    low: float | None
    high: float | None

    def is_confident(self, verdicts: ArrayLike, scores: ArrayLike | Sequence[float | None]) -> NDArray[np.bool_]:
        """Return which verdicts, with their scores in [0, 1], are decisions; an invalid one never is."""
        verdict, score = np.asarray(verdicts, dtype=object), np.asarray(scores, dtype=float)
        low, high = (math.nan if threshold is None else threshold for threshold in (self.low, self.high))
        # Comparisons with NaN are false.
        confident = ((verdict == "incorrect") & (score <= low)) | ((verdict == "correct") & (score >= high))
        return np.asarray(confident, dtype=bool)


def load_thresholds(path: str | Path) -> tuple[dict[str, DecisionThresholds], str]:
    """Return judge → thresholds of all but the last judge of a fitted cascade, and the last judge."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        return {name: DecisionThresholds(**values) for name, values in content["thresholds"].items()}, content["last"]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); fit the cascade first") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the file of a fitted cascade; delete it and run again") from error


# From which a verdict of a judge that does not say itself whether it is certain is taken, where the next judge was not measured.
DEFAULT_CONFIDENCE = 0.9


def is_certain(label: Label, confidence: float | None) -> bool:
    """Return whether a verdict stands without the next judge.

    Args:
        confidence: the least score, or 1 − score for incorrect, which must be a probability; None: whether the judge is certain
            by its own measurement, if it has one.
    """
    if label.score is None:
        return False
    if confidence is None:
        if label.certain is not None:
            return label.certain
        confidence = DEFAULT_CONFIDENCE
    return (label.score if label.verdict == "correct" else 1 - label.score) >= confidence


def combine(label: Label, next_label: Label, name: str) -> Label:
    """Return the label of a row that was escalated to the judge `name`: the earlier verdict stays if that judge has none."""
    if next_label.verdict != "invalid" or label.verdict == "invalid":
        return replace(next_label, decided_by=name, reason=next_label.reason and f"{name}: {next_label.reason}")
    failure = f"{name}: {next_label.reason}"
    return replace(label, reason=f"{label.reason}; {failure}" if label.reason else failure)


class CascadeJudge:
    """Implements `judges.protocol.Judge` on any answers: a judge decides where it is surer than the next one usually is right.

    Args:
        judges: name → judge, the cheapest first.
        confidences: of each judge but the last; see `is_certain`.
    """

    def __init__(self, judges: Mapping[str, Judge], confidences: Sequence[float | None]) -> None:
        self.judges, self.confidences = judges, confidences
        self.revisions = {name: revision for judge in judges.values() for name, revision in judge.revisions.items()}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`; `decided_by` is the name of the judge."""
        names, judges = list(self.judges), list(self.judges.values())
        labels = [replace(label, decided_by=names[0]) for label in judges[0].judge(rows)]
        for name, judge, confidence in zip(names[1:], judges[1:], self.confidences, strict=True):
            undecided = [row for row, label in enumerate(labels) if not is_certain(label, confidence)]
            for row, label in zip(undecided, judge.judge([rows[row] for row in undecided]), strict=True):
                labels[row] = combine(labels[row], label, name)
        return labels


def with_unique_attempts(rows: pd.DataFrame) -> pd.DataFrame:
    """Renumber the attempts of each question over all models, so that (sample_id, attempt) is a key."""
    return rows.assign(attempt=rows.groupby("sample_id", sort=False).cumcount().astype("int32"))


def held_out_answers(validation: str | Path, output: str | Path) -> None:
    """Write the validation rows of a dataset as a candidate table that any judge can label."""
    rows = with_unique_attempts(tables.read(validation, tables.DATASET))
    answers = rows.assign(reasoning=None, status="ok", reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(answers[tables.CANDIDATES.names], output, tables.CANDIDATES, {"held_out": Path(validation).parent.name})


def select_undecided(candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path | None, output: str | Path) -> None:
    """Write the answers that the judges of these label tables, the cheapest first, left undecided, for the next judge.

    `cascade`: file of a fitted cascade; None: the judges decide where they are certain.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    undecided = answers.drop(_decide(answers, labels, cascade, is_whole=False).index).reset_index(drop=True)
    spec = {"undecided_by": [judge for judge, _ in labels]}
    tables.write(undecided, output, tables.CANDIDATES, spec, revisions=tables.merge_revisions([candidates]))
    log.info("%d of %d answers are escalated", len(undecided), len(answers))


def label_cascade(
    spec: Mapping[str, Any], candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path | None, output: str | Path
) -> None:
    """Write the labels of a cascade: for each answer, the label of the judge that decided it.

    In a cascade that is not fitted, as in `CascadeJudge`, an uncertain verdict stays if no later judge has one.
    """
    import pandas as pd

    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decide(answers, labels, cascade, is_whole=True).sort_index()
    merged = pd.concat([answers[[*KEY, "model"]].assign(judge=spec["judge"]), decided], axis=1)
    tables.write(merged, output, tables.LABELS, spec, revisions=tables.merge_revisions([path for _, path in labels]))
    summary = ", ".join(f"{judge} decided {count}" for judge, count in decided["decided_by"].value_counts().items())
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], summary)


def _decide(answers: pd.DataFrame, labels: Sequence[JudgeLabels], cascade: str | Path | None, *, is_whole: bool) -> pd.DataFrame:
    """Return the labels of the answers that these judges decide, indexed as the answers; tokens are summed over all judges.

    `is_whole`: these are all judges of the cascade, so that the last one decides all answers that it sees.
    """
    import pandas as pd

    thresholds = {} if cascade is None else load_thresholds(cascade)[0]
    decided: list[pd.DataFrame] = []
    remaining, tokens = answers, pd.DataFrame(np.nan, answers.index, TOKENS)
    undecided: pd.DataFrame | None = None
    for number, (judge, path) in enumerate(labels, start=1):
        rows = join_labels(remaining, path).set_axis(remaining.index).assign(decided_by=judge)
        tokens = tokens.loc[remaining.index].add(rows[TOKENS].astype(float), fill_value=0)
        if cascade is None and undecided is not None:
            rows = _combine_rows(undecided, rows, judge)
        is_decided = np.ones(len(rows), dtype=bool)
        if not (is_whole and number == len(labels)):
            if cascade is None:
                is_decided = _are_certain(rows)
            elif judge in thresholds:
                is_decided = thresholds[judge].is_confident(rows["verdict"], rows["score"])
            else:
                raise InputError(f"{cascade}: has no thresholds for {judge!r}; delete it and run again")
            # An answer whose generation failed is not escalated.
            is_decided = is_decided | (remaining["status"] == "error").to_numpy()
        decided.append(rows.assign(**tokens.astype("Int64"))[is_decided][LABEL_COLUMNS])
        remaining, undecided = remaining[~is_decided], rows[~is_decided]
    return pd.concat(decided)


def _are_certain(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return for the rows of a label table whether `is_certain` without a confidence."""
    columns = (rows[name].astype(object).where(rows[name].notna(), None) for name in ("verdict", "score", "certain"))
    labels = (Label(verdict, score, certain=certain) for verdict, score, certain in zip(*columns, strict=True))
    return np.array([is_certain(label, None) for label in labels], dtype=bool)


def _combine_rows(rows: pd.DataFrame, next_rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of label tables as `combine` combines labels: `next_rows` are those of the judge `name`."""
    stays = (next_rows["verdict"] == "invalid") & (rows["verdict"] != "invalid")
    named = next_rows.assign(reason=name + ": " + next_rows["reason"].astype(object))
    reasons = rows["reason"].astype(object)
    earlier = rows.assign(reason=(reasons + "; " + named["reason"]).where(reasons.notna(), named["reason"]))
    return named.where(~stays, earlier)
