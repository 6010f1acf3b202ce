"""The answers of the report with every judge's verdict: which ones, in which order, and packed into the page.

The page holds them as compressed JSON, a list per column; each question stands there once however many models answered it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.score_tables import ANSWER_LENGTH, MODEL, STATUS, TASK
from bert_judge.report.truncate import HEAD, TAIL, room, shown

# Most answers of a report, and most characters of all of them together: what a browser still opens at once.
ROWS, CHARACTERS = 100_000, 60_000_000


@dataclass(frozen=True)
class Rows:
    """What the page needs: `packed` is base64 of gzipped JSON; `total` counts all answers, `shown` those that are in it."""

    packed: str
    shown: int
    total: int


def ordered(verdicts: pd.DataFrame, judges: Sequence[str], gold: str | None, trained: Sequence[str]) -> pd.DataFrame:
    """All rows in reading order, with a column `errs`: a trained judge misses a valid gold verdict.

    First those that one judge calls correct and another incorrect. Of them the first row of every combination of verdicts comes
    before the second of any; combinations in which a trained judge errs come first, then the most divided. Within a combination a
    hash of the row decides, so that no task or model is preferred and the order never changes. The hash orders the others too.
    """
    said = np.stack([verdicts[f"{judge}_verdict"].to_numpy(dtype=str) for judge in judges], axis=1)
    split = np.minimum((said == "correct").sum(1), (said == "incorrect").sum(1))
    errs = np.zeros(len(verdicts), dtype=bool)
    if gold is not None:
        truth = said[:, list(judges).index(gold)]
        for judge in trained:
            errs |= (truth != "invalid") & (said[:, list(judges).index(judge)] != truth)
    combination = pd.factorize(np.array([" ".join(row) for row in said], dtype=object), sort=True)[0]
    rows = verdicts.assign(errs=errs, split=split, agreed=split == 0, combination=combination)
    rows = rows.assign(draw=pd.util.hash_pandas_object(rows[[TASK, MODEL, *score_tables.KEY]].astype(str), index=False))
    rows = rows.sort_values(["combination", "draw"])
    rows = rows.assign(turn=rows.groupby("combination").cumcount())
    rows.loc[rows["agreed"], ["turn", "combination"]] = 0
    order = ["agreed", "turn", "errs", "split", "combination", "draw"]
    return rows.sort_values(order, ascending=[True, True, False, False, True, True])


def pack(chosen: pd.DataFrame, judges: Sequence[str], files: Mapping[tuple[str, str], Path]) -> Rows:
    """The first `ROWS` rows with their texts, which are read from the score tables.

    Args:
        chosen: as `ordered` gives it, with (status) and (characters).
        judges: whose verdicts are shown, in this order.
        files: (model, task) → score table.
    """
    part = chosen.head(ROWS)
    size = room(part[ANSWER_LENGTH].tolist(), CHARACTERS)
    tail = size * TAIL // (HEAD + TAIL)
    texts: dict[tuple[str, str, str, int], str] = {}
    questions: dict[str, tuple[int, str, list[str]]] = {}
    for (task, model), rows in part.groupby([TASK, MODEL], sort=True):
        wanted = set(zip(rows["sample_id"], rows["attempt"], strict=True))
        for (sample, attempt), row in score_tables.read_texts(files[str(model), str(task)], wanted):
            texts[str(task), str(model), sample, attempt] = shown(row["candidate"], size - tail, tail)
            if sample not in questions:
                references = [shown(reference) for reference in row["references"]]
                questions[sample] = (len(questions), shown(row["question"]), references)
    (task_of, tasks), (model_of, models), (status_of, statuses) = (_coded(part[name]) for name in (TASK, MODEL, STATUS))
    keys = list(zip(part[TASK], part[MODEL], part["sample_id"], part["attempt"], strict=True))
    content = {
        "judges": list(judges),
        "questions": [[question, references] for _, question, references in questions.values()],
        "names": {"task": tasks, "model": models, "status": statuses},
        "task": task_of,
        "model": model_of,
        "status": status_of,
        "question": [questions[sample][0] for _, _, sample, _ in keys],
        "attempt": [int(attempt) for attempt in part["attempt"]],
        "answer": [texts[key] for key in keys],
        "errs": part["errs"].astype(int).tolist(),
        "verdicts": [_verdicts(part, judge) for judge in judges],
        "scores": [_scores(part[judge]) for judge in judges],
    }
    packed = gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), 6, mtime=0)
    return Rows(base64.b64encode(packed).decode(), len(part), len(chosen))


def _coded(column: pd.Series) -> tuple[list[int], list[str]]:
    """The number of each row's text, and the texts."""
    code, names = pd.factorize(column.astype(str), sort=True)
    return code.tolist(), [str(name) for name in names]


def _verdicts(rows: pd.DataFrame, judge: str) -> str:
    """One letter per row: the verdict's number in `tables.VERDICTS`."""
    return "".join(map(str, pd.Categorical(rows[f"{judge}_verdict"], categories=tables.VERDICTS).codes))


def _scores(column: pd.Series) -> list[int | None]:
    """In thousandths; a judge that only says yes or no has none worth showing."""
    values = column.to_numpy(dtype=float)
    known = values[~np.isnan(values)]
    if np.isin(known, (0.0, 1.0)).all():
        return []
    return [None if np.isnan(value) else round(1000 * value) for value in values]
