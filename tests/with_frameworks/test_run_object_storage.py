"""Scoring files, and folders with partitions, on servers that speak the protocols of S3 and of Google Cloud Storage."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from helpers.ports import free_port
from programs import ROOT
from typer.testing import CliRunner, Result

from bert_judge.cli import app, score

ROWS = pd.DataFrame({"question": ["Capital of France?"] * 2, "reference": ["Paris"] * 2, "candidate": ["It is Paris.", "Lyon"]})
LOGIN = {"s3": {"key": "test", "secret": "test"}, "gs": {"token": "anon"}}


@pytest.fixture(
    params=[
        pytest.param("s3", marks=pytest.mark.framework("s3fs", "moto")),
        pytest.param("gs", marks=pytest.mark.framework("gcsfs", "gcp_storage_emulator")),
    ]
)
def protocol(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The protocol of a server with a table, `answers/day/a.parquet`."""
    protocol, port = request.param, free_port()
    if protocol == "s3":
        server = importlib.import_module("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=port)
    else:
        server = importlib.import_module("gcp_storage_emulator.server").create_server("127.0.0.1", port, in_memory=True)
    server.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # gcsfs asks Google what kind of bucket it is.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    monkeypatch.setitem(fsspec.config.conf, protocol, {**LOGIN[protocol], "endpoint_url": f"http://127.0.0.1:{port}"})
    connect(protocol).mkdir("answers")
    connect(protocol).pipe("answers/day/a.parquet", ROWS.to_parquet())
    yield protocol
    # Two servers of moto share their files.
    connect(protocol).rm("answers", recursive=True)
    server.stop()


def connect(protocol: str) -> Any:
    """Connect as another process would, without what this one knows of the files."""
    fsspec.get_filesystem_class(protocol).clear_instance_cache()
    return fsspec.filesystem(protocol)


def score_table(protocol: str) -> Result:
    connect(protocol)
    command = ["score", f"{protocol}://answers/day/a.parquet", "-o", f"{protocol}://answers/day/scored.parquet"]
    return CliRunner().invoke(app, [*command, "--judge", "contains"])


def verdicts(protocol: str) -> list[str]:
    return pd.read_parquet(io.BytesIO(connect(protocol).cat("answers/day/scored.parquet")))["verdict"].tolist()


def test_a_table_is_scored_from_bucket_to_bucket(protocol: str) -> None:
    result = score_table(protocol)
    assert result.exit_code == 0, result.output
    assert verdicts(protocol) == ["correct", "incorrect"]
    again = score_table(protocol)
    assert again.exit_code == 1 and f"{protocol}://answers/day/scored.parquet: exists" in again.output


def test_an_interrupted_call_continues(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise OSError("the network is down")

    with monkeypatch.context() as patch:
        patch.setattr(fsspec.get_filesystem_class(protocol), "_put_file", fail)
        interrupted = score_table(protocol)
    assert interrupted.exit_code == 1 and f"{protocol}://answers/day/scored.parquet: the network is down" in interrupted.output
    # The verdicts are there.
    monkeypatch.setattr(score, "judge_file", fail)
    result = score_table(protocol)
    assert result.exit_code == 0, result.output
    assert verdicts(protocol) == ["correct", "incorrect"]


def test_a_missing_file_is_one_line(protocol: str) -> None:
    connect(protocol).rm("answers/day/a.parquet")
    result = score_table(protocol)
    assert result.exit_code == 1 and f"error: {protocol}://answers/day/a.parquet" in result.output


# --- a folder with partitions ---

PARTS = {
    "run/date=2026-11-01/model=org%2Fa/part-0.parquet": ["It is Paris.", "Lyon"],
    "run/date=2026-11-01/model=org%2Fb/part-0.parquet": ["Lyon"],
    "run/date=2026-11-02/model=org%2Fa/part-0.parquet": ["Paris!", "Nice", "It is Paris."],
}


@pytest.fixture
def example(protocol: str) -> ModuleType:
    """The example; the bucket has the folder `run`."""
    for path, candidates in PARTS.items():
        columns = {"question": "Capital of France?", "references": [["Paris"]] * len(candidates), "candidate": candidates}
        connect(protocol).pipe(f"answers/{path}", pd.DataFrame(columns).to_parquet())
    spec = importlib.util.spec_from_file_location("partitioned_scores", ROOT / "examples" / "partitioned_scores.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score_parts(example: ModuleType, protocol: str) -> list[str]:
    """Score the folder; return the files that are there."""
    connect(protocol)
    example.main(f"{protocol}://answers/run/", f"{protocol}://answers/scored/", "contains")
    return list_parts(protocol)


def list_parts(protocol: str) -> list[str]:
    return [path.removeprefix("answers/") for path in sorted(connect(protocol).find("answers/scored"))]


def test_partitions_are_kept(example: ModuleType, protocol: str) -> None:
    assert score_parts(example, protocol) == [path.replace("run", "scored") for path in PARTS]
    table = ds.dataset("answers/scored", filesystem=connect(protocol), format="parquet", partitioning="hive").to_table()
    assert table.column_names[-3:] == ["reason", "date", "model"]
    rows = table.select(["date", "model", "candidate", "verdict"]).to_pylist()
    assert sorted(map(tuple, map(dict.values, rows))) == [
        ("2026-11-01", "org/a", "It is Paris.", "correct"),
        ("2026-11-01", "org/a", "Lyon", "incorrect"),
        ("2026-11-01", "org/b", "Lyon", "incorrect"),
        ("2026-11-02", "org/a", "It is Paris.", "correct"),
        ("2026-11-02", "org/a", "Nice", "incorrect"),
        ("2026-11-02", "org/a", "Paris!", "correct"),
    ]


def test_an_interrupted_folder_continues(example: ModuleType, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []

    def write(table: pa.Table, file: Any) -> None:
        """Fail in the middle of the second file."""
        scored.extend(table["candidate"].to_pylist())
        file.write(b"PAR1")
        if len(scored) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(example.pyarrow.parquet, "write_table", write)
        score_parts(example, protocol)
    assert list_parts(protocol) == ["scored/date=2026-11-01/model=org%2Fa/part-0.parquet"]
    assert len(score_parts(example, protocol)) == 3
    # The first file is still what was written before.
    assert connect(protocol).cat("answers/scored/date=2026-11-01/model=org%2Fa/part-0.parquet") == b"PAR1"
