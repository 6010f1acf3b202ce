"""The corrected accuracies of a run: each model and all together, each judge, each method."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation import ppi, standings
from bert_judge.evaluation.audit import draw, labels
from bert_judge.evaluation.matrix import MODEL, TASK

# A column beside those of the judges, whose names have no parentheses.
SAID = "(said)"
log = logging.getLogger(__name__)


def build_corrected(spec: Mapping[str, Any], scores: Sequence[Path], sheet: Path | None, output: Path) -> None:
    """Write the table of corrected accuracies.

    Args:
        spec: as `Plan.corrected_spec` makes it.
        scores: the score tables, in any order.
        sheet: what people filled; None to take the verdicts of the judge `labels_from` on the drawn answers.
        output: where the table goes.

    Raises:
        InputError: the sheet is not what it should be (`labels.read`), or a file is no score table.
    """
    gold = spec["labels_from"]
    verdicts = standings.load_verdicts(scores, [*spec["judges"], *([gold] if gold else [])])
    if sheet is not None:
        said = labels.of_answers(verdicts, scores, labels.read(sheet), sheet)
    else:
        said = labels.of_gold(verdicts, draw.drawn(verdicts, spec["judge"], spec["size"], spec["seed"]), gold)
    tables.write(corrected_table(verdicts, said, spec), output, tables.CORRECTED_ACCURACY, spec, standings.revisions(scores))
    log.info("%s: %d labels on %d answers", output, int((said >= 0).sum()), len(verdicts))


def corrected_table(verdicts: pd.DataFrame, said: NDArray[np.float64], spec: Mapping[str, Any]) -> pd.DataFrame:
    """One row per group, judge and method, in the schema `tables.CORRECTED_ACCURACY`.

    The group of all models holds those only that have labels enough, since the others' answers are not spoken for.

    Args:
        verdicts: as `standings.load_verdicts` gives it.
        said: per row 1, 0, NaN (could not tell) or `labels.UNSEEN`.
        spec: `judge`, whose scores ordered the draw, and `judges`.
    """
    frame = verdicts.assign(**{SAID: said})
    enough = (frame[SAID] >= 0).groupby(frame[MODEL]).transform("sum") >= ppi.FEWEST
    groups = [("all", "all", frame[enough]), *(("model", str(name), part) for name, part in frame.groupby(MODEL, sort=True))]
    rows = [
        {"level": level, "model": model, "judge": judge, **row}
        for level, model, part in groups
        for judge in spec["judges"]
        for row in _rows(part, judge, spec["judge"])
    ]
    return pd.DataFrame(rows, columns=tables.CORRECTED_ACCURACY.names)


def _rows(answers: pd.DataFrame, judge: str, ordered_by: str) -> Iterator[dict[str, Any]]:
    """The estimates of every method for these answers."""
    said = answers[SAID].to_numpy(float)
    truth = np.where(said >= 0, said, np.nan)
    raw = standings.accuracy(answers, judge)
    counts = {
        "answers": len(answers),
        "questions": raw["questions"],
        "labels": int((said >= 0).sum()),
        "unclear": int(np.isnan(said).sum()),
        "invalid": raw["invalid"],
    }
    yield {**counts, "method": "judge", "accuracy": raw["accuracy"], "low": raw["low"], "high": raw["high"]}
    model = answers[MODEL].astype(str).to_numpy()
    question = (answers[TASK].astype(str) + " " + answers["sample_id"].astype(str)).to_numpy()
    strata = draw.strata(model, answers[ordered_by], ~np.isnan(truth))
    predicted = ppi.predictions(answers[judge], model)
    called = (answers[f"{judge}_verdict"] == "correct").to_numpy(float)
    found = {
        "human_labels": ppi.prediction_powered(predicted, truth, question, model, power=0.0),
        "ppi": ppi.prediction_powered(predicted, truth, question, strata),
        "rogan_gladen": ppi.rogan_gladen(called, truth, question, strata),
    }
    for method, interval in found.items():
        yield {**counts, "method": method, "accuracy": interval.value, "low": interval.low, "high": interval.high}
