"""`bert-judge score` on a server that speaks S3's protocol."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from bert_judge.cli import app

pytestmark = [pytest.mark.framework("s3fs"), pytest.mark.framework("moto")]


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    server = importlib.import_module("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    client = importlib.import_module("boto3").client("s3")
    client.create_bucket(Bucket="answers")
    yield client
    server.stop()


def test_a_table_is_scored_from_bucket_to_bucket(storage: object, tmp_path: Path) -> None:
    rows = pd.DataFrame({"question": ["Capital of France?"] * 2, "reference": ["Paris"] * 2, "candidate": ["It is Paris.", "Lyon"]})
    storage.put_object(Bucket="answers", Key="day/a.parquet", Body=rows.to_parquet())  # type: ignore[attr-defined]
    command = ["score", "s3://answers/day/a.parquet", "-o", "s3://answers/day/scored.parquet", "--judge", "contains"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    body = storage.get_object(Bucket="answers", Key="day/scored.parquet")["Body"].read()  # type: ignore[attr-defined]
    assert pd.read_parquet(io.BytesIO(body))["verdict"].tolist() == ["correct", "incorrect"]
    assert CliRunner().invoke(app, command).exit_code != 0
