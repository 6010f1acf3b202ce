"""A cascade of judges: each decides where it is confident and escalates the rest to the next, more expensive judge."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bert_judge import tables
from bert_judge.judges.protocol import Judge, Label, Row, sum_known
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

_REASON_PREFIX = "decided by "
KEY = list(tables.CANDIDATES.key)
LABEL_FIELDS = [field.name for field in fields(Label)]
# (judge, label table).
JudgeLabels = tuple[str, str | Path]


@dataclass(frozen=True)
class DecisionThresholds:
    """Scores at which a judge decides: "incorrect" up to `low`, "correct" from `high`; None: never."""

    low: float | None
    high: float | None

    def is_confident(self, verdicts: ArrayLike, scores: ArrayLike | Sequence[float | None]) -> NDArray[np.bool_]:
        """Return which verdicts are decisions; an invalid verdict never is.

        Args:
            verdicts: texts out of `tables.VERDICTS`, shape (n,).
            scores: in [0, 1], NaN or None for an invalid verdict, shape (n,).
        """
        verdict, score = np.asarray(verdicts, dtype=object), np.asarray(scores, dtype=float)
        low, high = (math.nan if threshold is None else threshold for threshold in (self.low, self.high))
        # Comparisons with NaN are false.
        confident = ((verdict == "incorrect") & (score <= low)) | ((verdict == "correct") & (score >= high))
        return np.asarray(confident, dtype=bool)


class CascadeJudge:
    """Implements `judges.protocol.Judge` on other judges, each of which labels only the rows escalated to it.

    Args:
        judges: name → judge, the cheapest first; the last one decides all remaining rows.
        thresholds: name → decision thresholds, for all but the last judge.
    """

    def __init__(self, judges: Mapping[str, Judge], thresholds: Mapping[str, DecisionThresholds]) -> None:
        if missing := [name for name in list(judges)[:-1] if name not in thresholds]:
            raise InputError(f"cascade: no thresholds for {missing[0]!r}; fit the cascade on these judges")
        self.judges, self.thresholds = dict(judges), dict(thresholds)
        self.revisions = {name: revision for judge in judges.values() for name, revision in judge.revisions.items()}

    @classmethod
    def load(cls, path: str | Path, judges: Mapping[str, Judge]) -> CascadeJudge:
        """Load a fitted cascade from its cascade.json; the judges have the names and the order of that file.

        Raises:
            InputError: the file is missing or describes other judges.
        """
        names = fitted_judges(path)
        if list(judges) != names:
            raise InputError(f"{path}: its judges are {', '.join(names)}; pass these, in this order")
        return cls(judges, load_thresholds(path))

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. The tokens of a label are the sum over all judges that labelled the row."""

        def label_rows(name: str, positions: list[int]) -> list[Label]:
            return self.judges[name].judge([rows[position] for position in positions])

        labels = run_cascade(self.judges, self.thresholds, len(rows), label_rows)
        return [labels[position] for position in range(len(rows))]


def run_cascade(
    judges: Iterable[str],
    thresholds: Mapping[str, DecisionThresholds],
    num_rows: int,
    label_rows: Callable[[str, list[int]], Iterable[Label]],
    not_escalated: Collection[int] = (),
) -> dict[int, Label]:
    """Label rows judge by judge, until a judge is confident.

    Args:
        judges: names, the cheapest first.
        thresholds: judge → decision thresholds; a judge without any decides all remaining rows.
        label_rows: labels the rows at these positions with this judge.
        not_escalated: positions of rows on which the first judge decides in any case.

    Returns:
        Row position → label, for the rows that a judge decided; the reason names that judge.
    """
    decided: dict[int, Label] = {}
    latest: dict[int, Label] = {}
    for judge in judges:
        positions = [position for position in range(num_rows) if position not in decided]
        if not positions:
            break
        labels = list(label_rows(judge, positions))
        confident: Sequence[bool] | NDArray[np.bool_] = [True] * len(labels)
        if judge in thresholds:
            confident = thresholds[judge].is_confident([label.verdict for label in labels], [label.score for label in labels])
        for position, label, is_confident in zip(positions, labels, confident, strict=True):
            latest[position] = _add_tokens(label, latest.get(position))
            if is_confident or position in not_escalated:
                decided[position] = replace(latest[position], reason=format_reason(judge, label.reason))
    return decided


def format_reason(judge: str, reason: str | None = None) -> str:
    """Build the reason of a cascade's label: the judge that decided, and that judge's own reason."""
    return f"{_REASON_PREFIX}{judge}: {reason}" if reason else f"{_REASON_PREFIX}{judge}"


def deciding_judge(reason: str | None, judges: Iterable[str]) -> str | None:
    """Return the judge that `format_reason` named in a label's reason; None if it names none of them."""
    prefix = (reason or "").split(":")[0]
    return next((judge for judge in judges if prefix == format_reason(judge)), None)


def _add_tokens(label: Label, previous: Label | None) -> Label:
    if previous is None:
        return label
    return replace(
        label,
        prompt_tokens=sum_known([label.prompt_tokens, previous.prompt_tokens]),
        completion_tokens=sum_known([label.completion_tokens, previous.completion_tokens]),
    )


def fitted_judges(path: str | Path) -> list[str]:
    """Return the judges of a fitted cascade, the cheapest first."""
    description = _read_json(path)
    return [*description["thresholds"], description["last"]]


def load_thresholds(path: str | Path) -> dict[str, DecisionThresholds]:
    """Return judge → thresholds, for all but the last judge of a fitted cascade.

    Raises:
        InputError: the file is missing or does not describe a cascade.
    """
    return {name: DecisionThresholds(**values) for name, values in _read_json(path)["thresholds"].items()}


def to_json(thresholds: Mapping[str, DecisionThresholds], last: str) -> dict[str, Any]:
    """Return the part of cascade.json that `load_thresholds` and `fitted_judges` read."""
    return {"thresholds": {name: asdict(values) for name, values in thresholds.items()}, "last": last}


def _read_json(path: str | Path) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        thresholds = {str(name): dict(values) for name, values in content["thresholds"].items()}
        return {"thresholds": thresholds, "last": str(content["last"])}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); fit the cascade first") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the file of a fitted cascade; delete it and run again") from error


def with_unique_attempts(rows: pd.DataFrame) -> pd.DataFrame:
    """Renumber the attempts of each question over all models, so that (sample_id, attempt) is a key."""
    return rows.assign(attempt=rows.groupby("sample_id", sort=False).cumcount().astype("int32"))


def held_out_answers(validation: str | Path, output: str | Path) -> None:
    """Write the validation rows of a dataset as a candidate table that any judge can label."""
    rows = with_unique_attempts(tables.read(validation, tables.DATASET))
    answers = rows.assign(reasoning=None, status="ok", reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(answers[tables.CANDIDATES.names], output, tables.CANDIDATES, {"held_out": Path(validation).parent.name})


def select_undecided(candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path, output: str | Path) -> None:
    """Write the answers that no judge of a cascade has decided yet, as a candidate table for the next judge.

    Args:
        labels: label tables of the previous judges, the cheapest first.
        cascade: cascade.json of the fitted cascade.

    Raises:
        InputError: a label table lacks an answer that was escalated to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decide(answers, labels, cascade)
    undecided = answers[[position not in decided for position in range(len(answers))]].reset_index(drop=True)
    tables.write(undecided, output, tables.CANDIDATES, {"undecided_by": [judge for judge, _ in labels]}, _revisions([candidates]))
    log.info("%d of %d answers are escalated", len(undecided), len(answers))


def label_cascade(
    spec: Mapping[str, Any], candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path, output: str | Path
) -> None:
    """Write the labels of a cascade: for each answer, the label of the judge that decided it.

    Args:
        spec: `Plan.labels_spec`.
        labels, cascade: as for `select_undecided`, with the label tables of all judges.

    Raises:
        InputError: a label table lacks an answer that was escalated to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decide(answers, labels, cascade)
    columns = pd.DataFrame([vars(decided[position]) for position in range(len(answers))], columns=LABEL_FIELDS)
    merged = pd.concat([answers[[*KEY, "model"]].assign(judge=spec["judge"]), columns], axis=1)
    tables.write(merged, output, tables.LABELS, spec, _revisions([path for _, path in labels]))
    judges = [judge for judge, _ in labels]
    counts = columns["reason"].map(lambda reason: deciding_judge(reason, judges)).value_counts()
    summary = ", ".join(f"{judge} decided {count}" for judge, count in counts.items())
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], summary)


def _decide(answers: pd.DataFrame, labels: Sequence[JudgeLabels], cascade: str | Path) -> dict[int, Label]:
    """Map the position of each answer that these judges decide to its label."""
    paths, thresholds, last = dict(labels), load_thresholds(cascade), fitted_judges(cascade)[-1]
    for judge in paths:
        if judge != last and judge not in thresholds:
            raise InputError(f"{cascade}: has no thresholds for {judge!r}; delete it and run again")

    def label_rows(judge: str, positions: list[int]) -> list[Label]:
        return [_to_label(row) for row in join_labels(answers.iloc[positions], paths[judge]).to_dict("records")]

    # An answer whose generation failed is not escalated.
    failed = {position for position, status in enumerate(answers["status"]) if status == "error"}
    return run_cascade(paths, thresholds, len(answers), label_rows, failed)


def join_labels(answers: pd.DataFrame, labels: str | Path) -> pd.DataFrame:
    """Read the labels of these answers, in their order; the table may hold more.

    Raises:
        InputError: an answer has no label.
    """
    # pandas 3 cannot merge two empty arrow-backed text columns.
    table = tables.read(labels, tables.LABELS)[[*KEY, *LABEL_FIELDS]].astype({"sample_id": object})
    merged = answers[KEY].astype({"sample_id": object}).merge(table, on=KEY, how="left", validate="one_to_one")
    if (missing := merged["verdict"].isna()).any():
        raise InputError(f"{labels}: no label for {merged.loc[missing, 'sample_id'].iloc[0]}; delete the file and run again")
    return merged


def _revisions(paths: Iterable[str | Path]) -> dict[str, str]:
    return {name: revision for path in paths for name, revision in tables.provenance(path).get("revisions", {}).items()}


def _to_label(row: Mapping[Any, Any]) -> Label:
    values: dict[str, Any] = {name: None if name != "aspects" and pd.isna(row[name]) else row[name] for name in LABEL_FIELDS}
    for name in ("prompt_tokens", "completion_tokens"):
        values[name] = None if values[name] is None else int(values[name])
    return Label(**values)
