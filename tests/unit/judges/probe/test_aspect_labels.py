"""Labels with aspects survive shards and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.judges.protocol import decided, from_record, invalid
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

LABELS = [
    decided(0.5, aspects={"coherence": 3.0, "kohärent": 4.5}),
    decided(1.0, aspects={}),
    decided(0.0),
    invalid("no verdict", raw="\ud800"),
]


def label_frame(aspects: list[Any]) -> pd.DataFrame:
    rows = [
        {"sample_id": f"{n}", "attempt": 0, "model": "m", "judge": "j", **vars(decided(1.0)), "outcome": "correct"}
        for n in range(len(aspects))
    ]
    return pd.DataFrame(rows).assign(aspects=pd.Series(aspects, dtype=object))


def test_label_survives_a_shard(tmp_path: Path) -> None:
    keys = [str(n) for n in range(len(LABELS))]
    resume.save_shard(tmp_path, {key: label.to_record() for key, label in zip(keys, LABELS, strict=True)})
    found = resume.run_resumable(keys, keys, pytest.fail, tmp_path, shard_rows=10)
    assert [from_record(values) for values in found[:3]] == LABELS[:3]
    assert from_record(found[3]).raw == "\ufffd" * 3


def test_aspects_survive_a_table(tmp_path: Path) -> None:
    path, aspects = tmp_path / "l.parquet", [{"coherence": 3.0, "Stil": 1.5}, {}, None]
    tables.write(label_frame(aspects), path, tables.LABELS, {})
    assert tables.read(path, tables.LABELS)["aspects"].tolist() == aspects
    batches = list(tables.read_batches(path, tables.LABELS, 2))
    assert [value for batch in batches for value in batch["aspects"]] == aspects
    tables.write_parts(batches, tmp_path / "again.parquet", tables.LABELS, {}, revisions={})
    assert tables.read(tmp_path / "again.parquet", tables.LABELS)["aspects"].tolist() == aspects


@pytest.mark.parametrize("aspects", ["coherence", 3.0, {"coherence": "high"}, {7: 1.0}])
def test_invalid_aspects_are_an_error(tmp_path: Path, aspects: object) -> None:
    with pytest.raises(InputError, match="cannot be written as a labels table"):
        tables.write(label_frame([aspects]), tmp_path / "l.parquet", tables.LABELS, {})
    assert list(tmp_path.iterdir()) == []


def test_nan_means_no_aspects(tmp_path: Path) -> None:
    tables.write(label_frame([np.nan]), tmp_path / "l.parquet", tables.LABELS, {})
    assert tables.read(tmp_path / "l.parquet", tables.LABELS)["aspects"].tolist() == [None]
