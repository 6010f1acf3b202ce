"""Times of jobs, from hand-made label tables with their benchmark files."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.evaluation import cost


def labels(path: Path, judge: str, tokens: list[tuple[int | None, int | None]], seconds: object = None) -> Path:
    """A table below results/labels, with a benchmark file when `seconds` is given."""
    verdicts = ["correct", *["invalid"] * (len(tokens) - 1)]
    frame = pd.DataFrame(tokens, columns=cost.TOKENS)
    frame = frame.assign(
        sample_id=[f"{n:016x}" for n in range(len(tokens))], attempt=0, model="m", judge=judge, reason=None, raw=None
    )
    frame = frame.assign(
        verdict=verdicts[: len(tokens)],
        outcome=verdicts[: len(tokens)],
        truncated=False,
        score=None,
        aspects=None,
        decided_by=None,
        certain=None,
        flags=None,
    )
    table = path / "results" / "labels" / judge / "m" / "t.parquet"
    table = table if not table.exists() else table.with_name("u.parquet")
    tables.write(frame, table, tables.LABELS, {"judge": judge})
    if seconds is not None:
        measured = path / "results" / "benchmarks" / "labels" / judge / "m" / f"{table.stem}.tsv"
        measured.parent.mkdir(parents=True, exist_ok=True)
        measured.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:01\t-\n")
    return table


@pytest.mark.parametrize("content", ["", "no header here", "a\tb\n1\t2\n"])
def test_malformed_benchmark_files_are_ignored(tmp_path: Path, content: str) -> None:
    path = labels(tmp_path, "teacher", [(1, 1)], seconds=1.0)
    (tmp_path / "results/benchmarks/labels/teacher/m/t.tsv").write_text(content)
    assert cost.measure_usage([path]).seconds is None


def test_batch_jobs_are_shared_by_rows(tmp_path: Path) -> None:
    paths = [labels(tmp_path, "encoder", [(1, 1)] * 3, seconds=1.0), labels(tmp_path, "encoder", [(1, 1)], seconds=2.0)]
    results = tmp_path / "results"
    (results / "label_batches/encoder/m").mkdir(parents=True)
    (results / "label_batches/encoder/m/0123.json").write_text(json.dumps({"specs": {"t": {}, "u": {}}, "inputs": {}}))
    # Of a job that was not measured, nobody knows what its tables took.
    assert cost.measure_usage(paths).seconds is None
    (results / "benchmarks/label_batches/encoder/m").mkdir(parents=True)
    (results / "benchmarks/label_batches/encoder/m/0123.tsv").write_text("s\th:m:s\tmax_rss\n8.0\t0:00:08\t-\n")
    assert cost.measure_usage(paths).seconds == pytest.approx(1 + 2 + 8)
    assert cost.measure_usage(paths[:1]).seconds == pytest.approx(1 + 6)
