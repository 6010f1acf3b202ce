"""A table judged in parts is the table that one job writes, whatever the number of parts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_judge import plan, tables
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.labels import table_shards
from bert_judge.labels.stage import label_table
from bert_judge.runtime.errors import InputError

SPEC = {"judge": "j", "model": "m", "task": "t", "settings": {"kind": "bert"}}


class Lengths:
    """Long is right; it counts the rows that it is shown."""

    def __init__(self) -> None:
        self.revisions = {"encoder": "c0ffee"}
        self.rows = 0

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.rows += len(rows)
        return [decided(min(len(row.candidate), 10) / 10) for row in rows]


def candidates(path: Path, rows: int) -> Path:
    frame = pd.DataFrame({"candidate": ["ä" * (number % 11 + 1) for number in range(rows)]})
    frame = frame.assign(sample_id=[f"{n:016x}" for n in range(rows)], attempt=0, question="Wer?", references=[["r"]] * rows)
    frame = frame.assign(model="m", reasoning=None, reason=None, prompt_tokens=None, completion_tokens=None)
    frame["status"] = ["error" if number % 5 == 4 else "ok" for number in range(rows)]
    tables.write(frame, path, tables.CANDIDATES, {"model": "m"})
    return path


def judged_in(folder: Path, count: int, spec: dict[str, Any] = SPEC) -> list[str]:
    """Write the parts; returns their paths."""
    paths = table_shards.shard_paths(folder / "parts", folder / "none.parquet", count)
    for path in paths:
        table_shards.label_shard(spec, folder / "c.parquet", path, Lengths(), Path(path).stem)
    return paths


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(0, 40), count=st.integers(2, 6), batch=st.sampled_from([3, 16_384]))
def test_joined_parts_are_the_table_of_one_job(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, rows: int, count: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    monkeypatch.setattr("bert_judge.labels.stage.BATCH_ROWS", batch)
    answers = candidates(folder / "c.parquet", rows)
    label_table(SPEC, answers, folder / "whole.parquet", Lengths())
    table_shards.join_shards(SPEC, answers, judged_in(folder, count), folder / "joined.parquet")
    whole, joined = (tables.read(folder / f"{name}.parquet", tables.LABELS) for name in ("whole", "joined"))
    pd.testing.assert_frame_equal(joined, whole)
    told = [tables.provenance(folder / f"{name}.parquet") for name in ("whole", "joined")]
    assert told[0] | {"time": ""} == told[1] | {"time": ""}


def test_a_part_judges_its_own_rows_only(tmp_path: Path) -> None:
    answers = candidates(tmp_path / "c.parquet", 10)
    judge = Lengths()
    table_shards.label_shard(SPEC, answers, tmp_path / "p.parquet", judge, "2-of-3", tmp_path / "work")
    found = tables.read(tmp_path / "p.parquet", tables.LABELS)
    assert found["sample_id"].tolist() == [f"{n:016x}" for n in (3, 4, 5)]
    # One of them failed to be generated.
    assert judge.rows == 2


@pytest.mark.parametrize(
    ("there", "finished", "wanted", "names"),
    [
        ([], False, 1, []),
        ([], False, 2, ["1-of-2", "2-of-2"]),
        # Judged whole: another number leaves it alone.
        ([], True, 2, []),
        # Joined from three, or on the way to it: so it stays.
        (["1-of-3", "2-of-3", "3-of-3"], True, 1, ["1-of-3", "2-of-3", "3-of-3"]),
        (["2-of-3"], False, 5, ["1-of-3", "2-of-3", "3-of-3"]),
    ],
)
def test_what_is_there_decides_before_what_is_wanted(
    tmp_path: Path, there: list[str], finished: bool, wanted: int, names: list[str]
) -> None:
    table = tmp_path / "table.parquet"
    for path in [*(tmp_path / f"{name}.parquet" for name in there), *([table] if finished else [])]:
        path.touch()
    assert [Path(path).stem for path in table_shards.shard_paths(tmp_path, table, wanted)] == names


def test_parts_of_other_settings_are_refused(tmp_path: Path) -> None:
    answers = candidates(tmp_path / "c.parquet", 6)
    made = judged_in(tmp_path, 2, SPEC | {"settings": {"kind": "bert", "threshold": 0.9}})
    with pytest.raises(InputError, match=r"1-of-2\.parquet: made with other settings .* delete it"):
        table_shards.join_shards(SPEC, answers, made, tmp_path / "joined.parquet")
    assert not (tmp_path / "joined.parquet").exists()


def test_parts_that_lack_rows_are_refused(tmp_path: Path) -> None:
    candidates(tmp_path / "c.parquet", 6)
    made = judged_in(tmp_path, 2)
    more = candidates(tmp_path / "more.parquet", 7)
    with pytest.raises(InputError, match="hold 6 labels of the 7 answers"):
        table_shards.join_shards(SPEC, more, made, tmp_path / "joined.parquet")


def test_the_number_of_parts_is_in_no_spec() -> None:
    raw = {
        "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
        "datasets": {"d": {"teacher": "t", "tasks": ["facts_train"]}},
        "judges": {"t": {"kind": "simulated"}, "j": {"kind": "bert", "dataset": "d"}},
        "scorers": ["j"],
    }
    one, four = (
        plan.make({**raw, "judges": {**raw["judges"], "j": {**raw["judges"]["j"], **more}}}) for more in ({}, {"num_shards": 4})
    )
    assert isinstance(four.config.judges["j"], BertJudgeConfig) and four.config.judges["j"].num_shards == 4
    assert one.judge_spec("j") == four.judge_spec("j")
    assert one.labels_spec("j", "m", "facts_test") == four.labels_spec("j", "m", "facts_test")
