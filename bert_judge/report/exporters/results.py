"""What there is to export: accuracies of models on tasks, from a run's standings or from a file that was scored."""

from __future__ import annotations

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bert_judge import tables
from bert_judge.candidates.importers import column_names
from bert_judge.evaluation.statistics import proportion
from bert_judge.labels.score_file.tally import hashed
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.streams import open_rows

VERDICTS = ("correct", "incorrect", "invalid")
ALL_ROWS = "answers"


@dataclass(frozen=True)
class Result:
    """The accuracy of a model on a task under a judge.

    Attributes:
        accuracy: share of correct among the valid verdicts; not a number without any.
        low, high: ends of its 95% interval, clustered by question.
        invalid: share of the verdicts that are invalid.
        n, questions: answers, and distinct questions among them.
    """

    model: str
    task: str
    judge: str
    accuracy: float
    low: float
    high: float
    invalid: float
    n: int
    questions: int


def load(path: Path, judge: str | None = None) -> list[Result]:
    """The accuracies of one judge, by model and task.

    Args:
        path: `standings.parquet` of a run, or a file that `bert-judge score` wrote.
        judge: its name; may be left out where there is one only.

    Raises:
        InputError: neither of these, no such judge, or several and none is named.
    """
    if path.suffix == ".parquet" and path.is_file() and tables.provenance(path).get("schema") == "standings":
        return _of_standings(path, judge)
    return _of_scored(path, judge)


def _of_standings(path: Path, judge: str | None) -> list[Result]:
    frame = tables.read(path, tables.STANDINGS)
    gold = json.loads(tables.provenance(path)["spec"]).get("gold")
    judges = [str(name) for name in frame["judge"].unique()]
    chosen = _chosen(path, judge, judges, [name for name in judges if name != gold])
    rows = frame[(frame["level"] == "task") & (frame["judge"] == chosen)].to_dict("records")
    return [Result(**{name: row[name] for name in Result.__dataclass_fields__}) for row in rows]


def _chosen(path: Path, judge: str | None, judges: list[str], likely: list[str]) -> str:
    if judge is not None:
        if judge not in judges:
            raise InputError(f"{path}: no judge {judge!r} in it; there are: {', '.join(judges)}")
        return judge
    if len(likely) == 1:
        return likely[0]
    raise InputError(f"{path}: has verdicts of {', '.join(judges)}; say --judge NAME")


def _of_scored(path: Path, judge: str | None) -> list[Result]:
    # Nine bytes a row, so that a file may be of any length.
    right: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
    asked: dict[tuple[str, str], array[int]] = defaultdict(lambda: array("Q"))
    invalid: dict[tuple[str, str], int] = defaultdict(int)
    name = judge or "judge"
    for row in scored_rows(path, judge):
        key = (row["model"], row["task"])
        if row["verdict"] == "invalid":
            invalid[key] += 1
        else:
            right[key].append(row["verdict"] == "correct")
            asked[key].append(hashed(row["question"]))
    found = []
    for key in sorted({*right, *invalid}):
        questions = np.frombuffer(asked[key], np.uint64)
        share = proportion(np.frombuffer(right[key], bool), questions)
        n = len(questions) + invalid[key]
        whole = (share.value, share.low, share.high, invalid[key] / n)
        found.append(Result(*key, name, *whole, n, len(np.unique(questions))))
    if not found:
        raise InputError(f"{path}: holds no verdict; score a file with answers")
    return found


def scored_rows(path: Path, judge: str | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a scored file that have a verdict, with `question`, `references`, `candidate`, `model`, `task`, `id`, `attempt`,
    `verdict`, `score` and `reason`, as far as the file tells; one at a time.

    Raises:
        InputError: the file has no column of verdicts, several and none is named, or a verdict that is none of ours.
    """
    source = open_rows(path)
    verdicts = [column for column in source.columns if column == "verdict" or column.endswith("_verdict")]
    if not verdicts:
        raise InputError(f"{path}: no column 'verdict'; name a file that bert-judge score wrote, or the standings of a run")
    names = {column.removesuffix("verdict").removesuffix("_"): column for column in verdicts}
    column = names[_chosen(path, judge if "" not in names else "", list(names), list(names))]
    parts = _parts(path, source.columns)
    for chunk in source.chunks(1024):
        for place, record in zip(chunk.places, chunk.records, strict=True):
            verdict = record.get(column)
            if verdict is None:
                continue
            if verdict not in VERDICTS:
                raise InputError(f"{path}: {place}: the verdict {verdict!r} is none of {', '.join(VERDICTS)}")
            yield _row(record, parts, column)


def _parts(path: Path, columns: list[str]) -> Mapping[str, str]:
    """Part → column, for those that are there."""
    own: dict[str, str] = {name: name for name in ("id", "attempt") if name in columns}
    ids = next((name for name in ("id", "sample_id", "doc_id", "custom_id", "question_id") if name in columns), None)
    return {**own, **({"id": ids} if ids else {}), **column_names.guess(path, columns, {}, needed=())}


def _row(record: Mapping[str, Any], parts: Mapping[str, str], verdict: str) -> dict[str, Any]:
    def told(part: str, default: Any) -> Any:
        value = record.get(parts[part]) if part in parts else None
        return default if value is None else value

    score = record.get(verdict.removesuffix("verdict") + "score")
    references = told("references", [])
    return {
        "question": str(told("question", "")),
        "references": list(references) if isinstance(references, list | tuple) else [str(references)],
        "candidate": str(told("candidate", "")),
        "model": str(told("model", "model")),
        "task": str(told("task", ALL_ROWS)),
        "id": str(told("id", "")),
        "attempt": int(told("attempt", 0)),
        "verdict": record[verdict],
        "score": None if score is None or score == "" or (isinstance(score, float) and math.isnan(score)) else float(score),
        "reason": record.get(verdict.removesuffix("verdict") + "reason"),
    }
