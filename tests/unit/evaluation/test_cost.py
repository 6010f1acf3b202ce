"""What verdicts cost: hand-made label tables with known sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bert_judge import tables
from bert_judge.cli import app
from bert_judge.config import Price
from bert_judge.evaluation import cost
from bert_judge.runtime.errors import InputError


def labels(path: Path, judge: str, tokens: list[tuple[int | None, int | None]], seconds: object = None) -> Path:
    """A table below results/labels, with a benchmark file when `seconds` is given."""
    verdicts = ["correct", *["invalid"] * (len(tokens) - 1)]
    frame = pd.DataFrame(tokens, columns=cost.TOKENS)
    frame = frame.assign(
        sample_id=[f"{n:016x}" for n in range(len(tokens))], attempt=0, model="m", judge=judge, reason=None, raw=None
    )
    frame = frame.assign(verdict=verdicts[: len(tokens)], truncated=False, score=None, aspects=None)
    table = path / "results" / "labels" / judge / "m" / "t.parquet"
    table = table if not table.exists() else table.with_name("u.parquet")
    tables.write(frame, table, tables.LABELS, {"judge": judge})
    if seconds is not None:
        measured = path / "results" / "benchmarks" / "labels" / judge / "m" / f"{table.stem}.tsv"
        measured.parent.mkdir(parents=True, exist_ok=True)
        measured.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:01\t-\n")
    return table


def test_costs_per_thousand_verdicts(tmp_path: Path) -> None:
    paths = [
        labels(tmp_path, "teacher", [(400, 10), (600, 30)], seconds=1.5),
        labels(tmp_path, "teacher", [(1000, 20), (None, None)], seconds=0.5),
        labels(tmp_path, "bert", [(50, None)]),
        labels(tmp_path, "lexical", [(None, None)], seconds="NA"),
    ]
    costs = cost.judge_costs(paths, {"teacher": Price(prompt=2.0, completion=10.0), "lexical": Price(prompt=1, completion=1)})
    rows = {row["judge"]: row for row in costs.to_dict("records")}
    teacher = rows["teacher"]
    assert [teacher[name] for name in ("verdicts", "invalid", "prompt_tokens", "completion_tokens")] == [4, 0.5, 500_000, 15_000]
    # 0.5 million tokens at 2 and 0.015 million at 10.
    assert teacher["cost"] == pytest.approx(1.15)
    assert teacher["seconds"] == pytest.approx(500.0)
    assert (rows["bert"]["prompt_tokens"], rows["bert"]["verdicts"]) == (50_000, 1)
    missing = [rows["bert"][name] for name in ("completion_tokens", "cost", "seconds")]
    missing += [rows["lexical"][name] for name in ("prompt_tokens", "cost", "seconds")]
    assert pd.isna(missing).all()


def test_seconds_need_the_times_of_all_tables(tmp_path: Path) -> None:
    paths = [labels(tmp_path, "teacher", [(1, 1)], seconds=1.0), labels(tmp_path, "teacher", [(1, 1)])]
    assert pd.isna(cost.judge_costs(paths)["seconds"]).all()


def test_an_empty_table_costs_nothing(tmp_path: Path) -> None:
    paths = [labels(tmp_path, "teacher", [], seconds=1.0), labels(tmp_path, "teacher", [(100, 1)], seconds=2.0)]
    assert cost.judge_costs(paths)[["verdicts", "prompt_tokens", "seconds"]].to_numpy().tolist() == [[1, 100_000, 2000.0]]


@pytest.mark.parametrize("content", ["", "no header here", "a\tb\n1\t2\n"])
def test_malformed_benchmark_files_are_ignored(tmp_path: Path, content: str) -> None:
    path = labels(tmp_path, "teacher", [(1, 1)], seconds=1.0)
    (tmp_path / "results/benchmarks/labels/teacher/m/t.tsv").write_text(content)
    assert pd.isna(cost.judge_costs([path])["seconds"]).all()


def test_no_table_is_an_error() -> None:
    with pytest.raises(InputError, match="no label tables; name files or folders"):
        cost.judge_costs([])


# --- the command ---


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["cost", *map(str, arguments)])


def with_price(path: Path) -> Path:
    model = {"generator": "hf", "model": "owner/name"}
    raw = {
        "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"test": ["facts_test"]},
        "judges": {"teacher": {"kind": "llm", "model": {**model, "price": {"prompt": 1, "completion": 2}}}},
        "scorers": ["teacher"],
    }
    path.write_text(yaml.safe_dump(raw))
    return path


def test_the_command(tmp_path: Path) -> None:
    labels(tmp_path, "teacher", [(1000, 10), (3000, 30)], seconds=4.0)
    shown = run(tmp_path / "results/labels", "--configfile", with_price(tmp_path / "c.yaml"))
    assert shown.exit_code == 0
    for text in ("teacher", "50.0%", "2,000,000", "20,000", "2.0400", "2,000.0"):
        assert text in shown.output
    assert "2.0400" not in run(tmp_path / "results/labels").output


def test_bad_input_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.parquet").write_text("no table")
    bad_config = with_price(tmp_path / "c.yaml")
    bad_config.write_text(bad_config.read_text().replace("prompt: 1", "prompt: -1"))
    good = labels(tmp_path, "teacher", [(1, 1)])
    for arguments, message in [
        ([tmp_path / "empty"], "holds no label tables"),
        ([tmp_path / "missing.parquet"], "no such file"),
        ([tmp_path / "no.parquet"], "not a readable parquet file"),
        ([good, "--configfile", bad_config], "judges.teacher.model.price.prompt: needs number at least 0; got -1"),
        ([good, "--configfile", tmp_path / "missing.yaml"], "missing.yaml"),
    ]:
        result = run(*arguments)
        assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1), result.stderr
        assert message in result.stderr


def test_batch_jobs_are_shared_by_rows(tmp_path: Path) -> None:
    paths = [labels(tmp_path, "encoder", [(1, 1)] * 3, seconds=1.0), labels(tmp_path, "encoder", [(1, 1)], seconds=2.0)]
    results = tmp_path / "results"
    (results / "label_batches/encoder/m").mkdir(parents=True)
    (results / "label_batches/encoder/m/0123.json").write_text(json.dumps({"specs": {"t": {}, "u": {}}, "inputs": {}}))
    # Of a job that was not measured, nobody knows what its tables took.
    assert pd.isna(cost.judge_costs(paths)["seconds"]).all()
    (results / "benchmarks/label_batches/encoder/m").mkdir(parents=True)
    (results / "benchmarks/label_batches/encoder/m/0123.tsv").write_text("s\th:m:s\tmax_rss\n8.0\t0:00:08\t-\n")
    assert cost.judge_costs(paths)["seconds"].tolist() == pytest.approx([(1 + 2 + 8) / 4 * cost.VERDICTS])
    assert cost.judge_costs(paths[:1])["seconds"].tolist() == pytest.approx([(1 + 6) / 3 * cost.VERDICTS])
