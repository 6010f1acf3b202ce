"""The answers on which the judges disagree most, chosen so that each way of disagreeing is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge.evaluation import scores as score_tables
from bert_judge.evaluation.grid import MODEL, TASK
from bert_judge.report.sections import records

# Longer texts are shown by their beginning and end: the verdict often hangs on the last sentence.
HEAD, TAIL = 3000, 1500
# Characters that HTML forbids or hides, as their visible pictures.
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}


@dataclass(frozen=True)
class Disagreement:
    """One answer with what each judge said: `said` holds (judge, verdict, score or NaN)."""

    task: str
    model: str
    question: str
    references: list[str]
    candidate: str
    status: str
    said: list[tuple[str, str, float]]
    trained_errs: bool


def choose(verdicts: pd.DataFrame, judges: Sequence[str], gold: str | None, trained: Sequence[str], limit: int) -> pd.DataFrame:
    """The rows to show, in their order, with a column `trained_errs`.

    A row counts when one judge says correct and another incorrect. The first row of every combination of verdicts comes before
    the second of any; combinations in which a trained judge misses a valid gold verdict come first, then the most divided.
    Within a combination a hash of the row decides, so that no task or model is preferred and the choice never changes.
    """
    said = np.stack([verdicts[f"{judge}_verdict"].to_numpy(dtype=str) for judge in judges], axis=1)
    split = np.minimum((said == "correct").sum(1), (said == "incorrect").sum(1))
    errs = np.zeros(len(verdicts), dtype=bool)
    if gold is not None:
        truth = said[:, list(judges).index(gold)]
        for judge in trained:
            errs |= (truth != "invalid") & (said[:, list(judges).index(judge)] != truth)
    combination = pd.factorize(np.array([" ".join(row) for row in said], dtype=object), sort=True)[0]
    rows = verdicts.assign(trained_errs=errs, split=split, combination=combination)
    rows = rows[rows["split"] > 0]
    rows = rows.assign(draw=pd.util.hash_pandas_object(rows[[TASK, MODEL, *score_tables.KEY]].astype(str), index=False))
    rows = rows.sort_values(["combination", "draw"])
    rows = rows.assign(turn=rows.groupby("combination").cumcount())
    order = ["turn", "trained_errs", "split", "combination"]
    return rows.sort_values(order, ascending=[True, False, False, True]).head(limit)


def load(chosen: pd.DataFrame, judges: Sequence[str], files: Mapping[tuple[str, str], Path]) -> list[Disagreement]:
    """The chosen rows with their texts, which are read from the score tables.

    Args:
        chosen: as `choose` gives it.
        judges: whose verdicts are shown, in this order.
        files: (model, task) → score table.
    """
    texts: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for (task, model), part in chosen.groupby([TASK, MODEL], sort=False):
        wanted = set(zip(part["sample_id"], part["attempt"], strict=True))
        for key, row in score_tables.read_texts(files[str(model), str(task)], wanted):
            texts[str(task), str(model), *key] = row
    found = []
    for row in records(chosen):
        text = texts[row[TASK], row[MODEL], row["sample_id"], row["attempt"]]
        found.append(
            Disagreement(
                row[TASK],
                row[MODEL],
                shown(text["question"]),
                [shown(reference) for reference in text["references"]],
                shown(text["candidate"]),
                text["status"],
                [(judge, str(row[f"{judge}_verdict"]), row[judge]) for judge in judges],
                bool(row["trained_errs"]),
            )
        )
    return found


def shown(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """A text of any length and content as it can stand on a page: long ones lose their middle, controls become visible."""
    if len(text) > head + tail:
        text = f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"
    return text.translate(CONTROLS)
