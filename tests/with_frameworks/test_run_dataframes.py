"""Spark (local mode), Ray Data and Daft themselves: their examples give every row the verdict of `bert-judge score`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from programs import ROOT, run

QUESTIONS = ["Capital of France?", "Größe?", "What is 6 times 7?", "Who wrote Faust?"]
REFERENCES = [["Paris", "Paname"], ["東京"], ["42"], ["Goethe"]]
CANDIDATES = ["It is Paris.", "東京!", "<think>hm", "It was Schiller, not Goethe."]
COMMAND = "from bert_judge.cli import app; app()"


def compare(folder: Path, engine: str, **variables: str) -> None:
    rows = 60
    table = pd.DataFrame(
        {
            "id": range(rows),
            "question": QUESTIONS * (rows // 4),
            "references": REFERENCES * (rows // 4),
            # Each answer occurs several times, in other company.
            "candidate": [f"{'So. ' * (i % 7)}{CANDIDATES[i % 4]}" for i in range(rows)],
        }
    )
    table.to_parquet(folder / "answers.parquet", row_group_size=25)
    run("-c", COMMAND, "score", "answers.parquet", "--judge", "general", "-o", "expected.parquet", folder=folder)
    run(ROOT / "examples" / f"{engine}_scores.py", "answers.parquet", "scored", "general", folder=folder, **variables)
    expected = pd.read_parquet(folder / "expected.parquet")
    scored = pd.read_parquet(folder / "scored").sort_values("id", ignore_index=True)
    assert list(scored.columns) == [*table.columns, "verdict", "outcome", "score", "certain", "reason"]
    assert scored["id"].tolist() == table["id"].tolist() and scored["candidate"].tolist() == table["candidate"].tolist()
    assert scored["verdict"].tolist() == expected["verdict"].tolist()
    assert set(scored["verdict"]) == {"correct", "incorrect", "invalid"}
    np.testing.assert_allclose(scored["score"], expected["score"], atol=1e-5)


@pytest.mark.framework("pyspark")
def test_spark(tmp_path: Path) -> None:
    if not shutil.which("java"):
        pytest.skip("Spark needs Java")
    compare(tmp_path, "spark", SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)


@pytest.mark.framework("ray")
def test_ray_data(tmp_path: Path) -> None:
    compare(tmp_path, "ray")


@pytest.mark.framework("daft")
def test_daft(tmp_path: Path) -> None:
    compare(tmp_path, "daft")
