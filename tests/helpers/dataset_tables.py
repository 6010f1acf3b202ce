"""Tables of labelled answers, and the datasets that are merged from them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.datasets.merge import build_dataset

NO_MIX: dict[str, Any] = {"per_task": {}, "per_model": {}, "total": None}


def spec_of(pairs: list[tuple[str, str]], **settings: Any) -> dict[str, Any]:
    defaults = {
        "dataset": "d",
        "teacher": "t",
        "mix": NO_MIX,
        "validation_fraction": 0.3,
        "balance": False,
        "seed": 0,
        "augment": [],
    }
    return {**defaults, "tables": [list(pair) for pair in pairs], **settings}


def write_pair(folder: Path, model: str, task: str, rows: list[tuple[str, str, str, float | None]]) -> tuple[Path, Path]:
    """Candidate and label tables of (question, reference, candidate, label)."""
    frame = pd.DataFrame(rows, columns=["question", "reference", "candidate", "label"])
    frame["references"] = frame["reference"].map(lambda reference: [reference])
    frame["sample_id"] = [tables.sample_id(task, q, r) for q, r in zip(frame["question"], frame["references"], strict=True)]
    frame["attempt"] = frame.groupby("sample_id").cumcount()
    frame = frame.assign(model=model, status="ok", reasoning=None, prompt_tokens=None, completion_tokens=None, judge="t", raw=None)
    frame["score"] = frame["label"].astype(float)
    frame["verdict"] = frame["score"].map(lambda s: "invalid" if pd.isna(s) else "correct" if s >= 0.5 else "incorrect")
    paths = folder / f"{model}-{task}-candidates.parquet", folder / f"{model}-{task}-labels.parquet"
    tables.write(frame.assign(reason="of the answer"), paths[0], tables.CANDIDATES, {})
    frame["outcome"] = frame["verdict"]
    frame["reason"] = frame["verdict"].map({"invalid": "unsure"})
    frame = frame.assign(truncated=False, aspects=None, decided_by=None, certain=None, flags=None)
    # In another order, since tables are joined by id.
    tables.write(frame.iloc[::-1], paths[1], tables.LABELS, {})
    return paths


def build(folder: Path, spec: dict[str, Any], paths: list[tuple[Path, Path]]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    out = [folder / f"{name}.parquet" for name in ("train", "validation", "weak")]
    outputs = {"validation": out[1], "validation_weak": out[2], "summary": folder / "summary.json"}
    build_dataset(spec, [c for c, _ in paths], [label for _, label in paths], out[0], **outputs)
    assert "weak_teacher" in spec or tables.read(out[2], tables.DATASET).empty
    return (
        tables.read(out[0], tables.DATASET),
        tables.read(out[1], tables.DATASET),
        json.loads((folder / "summary.json").read_text()),
    )


def rows_of(count: int, start: int = 0) -> list[tuple[str, str, str, float | None]]:
    return [
        (f"Frage {i}?", f"Größe {i}", f"{'Größe' if i % 3 else 'nein'} {i}", float(bool(i % 3)))
        for i in range(start, start + count)
    ]
