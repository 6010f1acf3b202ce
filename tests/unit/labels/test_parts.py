"""Jobs that label shards of a table in advance: the table of one job, whatever the number of shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.judges.registry import JudgeKind, LoadContext
from bert_judge.labels.stage import label_job, label_table, prelabel_job, prelabel_tables
from bert_judge.runtime import resume
from bert_judge.runtime.resume import Batch

SPEC = {"judge": "j", "model": "m", "task": "t", "settings": {"kind": "bert"}}


class Lengths:
    """Longer candidates score higher; counts the rows that it labels."""

    def __init__(self) -> None:
        self.revisions = {"encoder": "c0ffee"}
        self.rows: list[Row] = []

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.rows += rows
        return [decided(min(len(row.candidate), 10) / 10) for row in rows]


def candidates(path: Path, rows: int) -> Path:
    frame = pd.DataFrame({"candidate": ["ä" * (number % 11 + 1) for number in range(rows)]})
    frame = frame.assign(sample_id=[f"{n:016x}" for n in range(rows)], attempt=0, question="Wer?", references=[["r"]] * rows)
    frame = frame.assign(model="m", reasoning=None, reason=None, prompt_tokens=None, completion_tokens=None)
    frame["status"] = ["error" if number % 5 == 4 else "ok" for number in range(rows)]
    tables.write(frame, path, tables.CANDIDATES, {"model": "m"})
    return path


def prelabel(folder: Path, shard: str, spec: dict[str, Any] = SPEC) -> Lengths:
    """Label a shard of `c.parquet` in advance; returns the judge."""
    judge = Lengths()
    batch = Batch({"t": {"verdicts": spec, "shard": shard}}, {"answers t": str(folder / "c.parquet")})
    prelabel_tables(batch, folder / f"{shard}.json", judge, lambda task: folder / "work")
    return judge


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(0, 40), count=st.integers(1, 6), batch=st.sampled_from([3, 16_384]))
def test_shards_give_the_table_of_one_job(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, rows: int, count: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    monkeypatch.setattr("bert_judge.labels.stage.BATCH_ROWS", batch)
    answers = candidates(folder / "c.parquet", rows)
    label_table(SPEC, answers, folder / "whole.parquet", Lengths())
    labelled = [len(prelabel(folder, f"{number}-of-{count}").rows) for number in range(1, count + 1)]
    judge = Lengths()
    label_table(SPEC, answers, folder / "joined.parquet", judge, work_folder=folder / "work")
    # Every answer that was generated is labelled once, and none by the job that writes the table.
    assert (sum(labelled), judge.rows) == (rows - rows // 5, [])
    assert not (folder / "work").exists()
    whole, joined = (tables.read(folder / f"{name}.parquet", tables.LABELS) for name in ("whole", "joined"))
    pd.testing.assert_frame_equal(joined, whole)
    origins = [tables.provenance(folder / f"{name}.parquet") | {"time": ""} for name in ("whole", "joined")]
    assert origins[0] == origins[1]


def test_a_shard_has_its_own_rows_only(tmp_path: Path) -> None:
    candidates(tmp_path / "c.parquet", 10)
    # One of the rows 3, 4 and 5 failed to be generated.
    assert [row.sample_id for row in prelabel(tmp_path, "2-of-3").rows] == [f"{n:016x}" for n in (3, 5)]


@pytest.mark.parametrize(
    ("settings", "rows", "labelled"),
    [
        (SPEC["settings"], 6, 0),
        ({"kind": "bert", "threshold": 0.9}, 6, 5),
        # New answers: rows that no shard has.
        (SPEC["settings"], 8, 2),
    ],
)
def test_labels_of_other_settings_or_missing_rows_are_computed(
    tmp_path: Path, settings: dict[str, Any], rows: int, labelled: int
) -> None:
    candidates(tmp_path / "c.parquet", 6)
    for shard in ("1-of-2", "2-of-2"):
        prelabel(tmp_path, shard)
    judge = Lengths()
    answers = candidates(tmp_path / "c.parquet", rows)
    label_table({**SPEC, "settings": settings}, answers, tmp_path / "joined.parquet", judge, work_folder=tmp_path / "work")
    assert len(judge.rows) == labelled
    assert tables.count(tmp_path / "joined.parquet") == rows


def test_a_selection_is_labelled_where_its_job_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kind(JudgeKind):
        keeps_progress = True

        def load(self, context: LoadContext) -> Lengths:
            return judge

    def find(name: str) -> JudgeKind:
        return Kind()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bert_judge.judges.registry.find", find)
    judge = Lengths()
    answers = "results/candidates/m@both@j/t.parquet"
    candidates(Path(answers), 6)
    spec = {**SPEC, "selection": "m@both@j"}
    inputs = {"answers t": answers}
    prelabel_job({"t": {"verdicts": spec}}, inputs, "results/label_batches/j/m@both@j/0.json", {}, check_device=lambda: None)
    assert resume.work_folder("results/labels/j/m@both@j/t.parquet").is_dir()
    label_job(spec, {"candidates": answers}, "results/labels/j/m@both@j/t.parquet", {}, check_device=lambda: None)
    assert len(judge.rows) == 5
