"""The report on a GPU, rehearsed on this machine with a few rows."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.workspace import PROJECT

SCRIPT = PROJECT / "benchmarks" / "gpu_report.py"


@pytest.fixture(scope="module")
def gpu_report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpu_report", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="needs the folder named by BERT_JUDGE_DATA")
def test_all_parts_run_with_a_few_rows(gpu_report: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--tiny", "--minutes", "60", "-o", str(tmp_path / "gpu.md")]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    # It would take minutes.
    environment.pop("BERT_JUDGE_VLLM_PYTHON", None)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    report = (tmp_path / "gpu.md").read_text("utf-8")
    assert done.returncode == 0, report
    assert "CrossEncoder" in report and "512 tokens a row" in report and "Trainer" in report
    assert report.count("vLLM is not installed") == 2
    assert report.count("| --- |") >= len(gpu_report.PARTS) - 2 and "Stopped" not in report


@pytest.mark.parametrize(
    ("code", "seconds", "status", "expected"),
    [
        ("print('a table')", 60, 0, "a table"),
        ("import time; print('half', flush=True); time.sleep(60)", 1, 0, "Stopped after its 1 s."),
        # A child that holds the pipes open.
        ("import os, time; os.fork(); print('half', flush=True); time.sleep(60)", 1, 0, "Stopped after its 1 s."),
        ("raise SystemExit('no torch')", 60, 1, "no torch"),
    ],
)
def test_a_part_that_fails_or_takes_too_long_says_so(
    gpu_report: ModuleType, tmp_path: Path, code: str, seconds: float, status: int, expected: str
) -> None:
    (tmp_path / "part.py").write_text(code)
    part = gpu_report.Part("title", str(tmp_path / "part.py"), "", "", 1.0)
    text, returned = gpu_report.run(part, seconds, tiny=False)
    assert expected in text and returned == status


def test_what_a_part_leaves_is_shared_by_the_others(gpu_report: ModuleType) -> None:
    seconds = [share for _, share in gpu_report.share_time(100)]
    assert seconds[-1] == pytest.approx(100, abs=1) and seconds == sorted(seconds)
