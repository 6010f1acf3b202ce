"""Commands that write refuse a read-only folder in one line, before they do anything."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = "from bert_judge.cli import app; app()"
# Root may write everywhere; without this capability, it may not.
DROP_CAPABILITY = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
pytestmark = pytest.mark.skipif(not os.getuid() and not shutil.which("setpriv"), reason="root needs setpriv to give up its rights")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "answers.csv").write_text("question,reference,answer,label\nCapital of France?,Paris,Paris.,1\n", "utf-8")
    tmp_path.chmod(0o555)
    yield tmp_path
    tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "answers.csv", "--judge", "contains"),
        ("import", "answers.csv", "-o", "imported.parquet"),
        ("train", "answers.csv", "-o", "mine"),
        ("run", "config.yaml"),
        ("run", "config.yaml", "--directory", "runs/mine"),
        ("audit", "config.yaml"),
        ("audit", "answers.csv", "--judge", "contains"),
    ],
)
def test_read_only_folder_is_one_line(folder: Path, arguments: tuple[str, ...]) -> None:
    rights = () if os.getuid() else DROP_CAPABILITY
    completed = subprocess.run([*rights, sys.executable, "-c", COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    assert completed.returncode == 1 and completed.stdout == ""
    assert "read-only" in completed.stderr.splitlines()[-1] and "Traceback" not in completed.stderr
    assert [path.name for path in folder.iterdir()] == ["answers.csv"]
