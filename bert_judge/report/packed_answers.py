"""Select, order and compress the answers that the report embeds, with the verdicts of every judge.

The page holds them as gzipped JSON with one list per column; each question is stored once, however many models answered it.
"""

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
from bert_judge.report.format import HEAD, TAIL, display_text, max_text_length

# Limits on the number of answers and on their total characters, so that a browser can open the page.
MAX_ANSWERS, MAX_CHARACTERS = 100_000, 60_000_000
_CODED_COLUMNS = {"task": TASK, "model": MODEL, "status": STATUS}


@dataclass(frozen=True)
class PackedAnswers:
    """Embedded answers: `data` is base64 of gzipped JSON, `included` of `total` answers are in it."""

    data: str
    included: int
    total: int


def order_answers(verdicts: pd.DataFrame, judges: Sequence[str], gold: str | None, trained: Sequence[str]) -> pd.DataFrame:
    """Return all rows in reading order, with a column `errs`: a trained judge contradicts a valid gold verdict.

    Rows on which judges disagree (one says correct, another incorrect) come first. Among them, each combination of verdicts appears
    once before any appears twice; combinations with an error of a trained judge come first, then the most divided. Within a
    combination, and among the remaining rows, a hash of the row decides, so that the order is stable and favours no task or model.
    """
    labels = np.stack([verdicts[f"{judge}_verdict"].to_numpy(dtype=str) for judge in judges], axis=1)
    minority = np.minimum((labels == "correct").sum(1), (labels == "incorrect").sum(1))
    errs = np.zeros(len(verdicts), dtype=bool)
    if gold is not None:
        gold_labels = labels[:, list(judges).index(gold)]
        for judge in trained:
            errs |= (gold_labels != "invalid") & (labels[:, list(judges).index(judge)] != gold_labels)
    combination = pd.factorize(np.array([" ".join(row) for row in labels], dtype=object), sort=True)[0]
    rows = verdicts.assign(errs=errs, minority=minority, unanimous=minority == 0, combination=combination)
    rows = rows.assign(hash=pd.util.hash_pandas_object(rows[[TASK, MODEL, *score_tables.KEY]].astype(str), index=False))
    rows = rows.sort_values(["combination", "hash"])
    rows = rows.assign(repeat=rows.groupby("combination").cumcount())
    rows.loc[rows["unanimous"], ["repeat", "combination"]] = 0
    order = ["unanimous", "repeat", "errs", "minority", "combination", "hash"]
    return rows.sort_values(order, ascending=[True, True, False, False, True, True])


def pack(answers: pd.DataFrame, judges: Sequence[str], files: Mapping[tuple[str, str], Path]) -> PackedAnswers:
    """Compress the first `MAX_ANSWERS` rows with their texts, which are read from the score tables.

    Args:
        files: (model, task) → score table.
    """
    included = answers.head(MAX_ANSWERS)
    size = max_text_length(included[ANSWER_LENGTH].tolist(), MAX_CHARACTERS)
    tail = size * TAIL // (HEAD + TAIL)
    texts: dict[tuple[str, str, str, int], str] = {}
    questions: dict[str, tuple[int, str, list[str]]] = {}
    for (task, model), rows in included.groupby([TASK, MODEL], sort=True):
        keys = set(zip(rows["sample_id"], rows["attempt"], strict=True))
        for (sample, attempt), row in score_tables.read_texts(files[str(model), str(task)], keys):
            texts[str(task), str(model), sample, attempt] = display_text(row["candidate"], size - tail, tail)
            if sample not in questions:
                references = [display_text(reference) for reference in row["references"]]
                questions[sample] = (len(questions), display_text(row["question"]), references)
    codes = {name: pd.factorize(included[column].astype(str), sort=True) for name, column in _CODED_COLUMNS.items()}
    content = {
        "judges": list(judges),
        "questions": [[question, references] for _, question, references in questions.values()],
        "names": {name: [str(value) for value in values] for name, (_, values) in codes.items()},
        **{name: indices.tolist() for name, (indices, _) in codes.items()},
        "question": [questions[sample][0] for sample in included["sample_id"]],
        "attempt": [int(attempt) for attempt in included["attempt"]],
        "answer": [texts[key] for key in zip(*(included[name] for name in (TASK, MODEL, "sample_id", "attempt")), strict=True)],
        "errs": included["errs"].astype(int).tolist(),
        # A digit per row: the verdict's index in `tables.VERDICTS`.
        "verdicts": [
            "".join(map(str, pd.Categorical(included[f"{judge}_verdict"], categories=tables.VERDICTS).codes)) for judge in judges
        ],
        "scores": [_encode_scores(included[judge]) for judge in judges],
    }
    packed = gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), 6, mtime=0)
    return PackedAnswers(base64.b64encode(packed).decode(), len(included), len(answers))


def _encode_scores(column: pd.Series) -> list[int | None]:
    """Return scores in thousandths; empty if the judge gives only 0 and 1, which the verdicts already show."""
    scores = column.to_numpy(dtype=float)
    if np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all():
        return []
    return [None if np.isnan(score) else round(1000 * score) for score in scores]
