"""The log of a job: lines in a file, bad input as one line on the terminal."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.runtime.logs import job_log


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """job_log sets variables for good; here they end with the test."""
    for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS", "TQDM_DISABLE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_lines_carry_time_and_level(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "job.log"
    with job_log(path):
        logging.getLogger("bert_judge.runtime.resume").info("12/20 rows, é 漢")
        logging.getLogger("urllib3").info("chatter")
        logging.getLogger("urllib3").warning("trouble")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old function", stacklevel=1)
    text = path.read_text("utf-8")
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO bert_judge.runtime.resume: 12/20 rows, é 漢$", text, re.MULTILINE)
    assert "trouble" in text and "old function" in text and "chatter" not in text


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (InputError("a.csv: no column 'x'; add it"), ["a.csv: no column 'x'; add it"]),
        (ConfigError(["models: wrong", "gold: wrong"]), ["models: wrong", "gold: wrong"]),
    ],
)
def test_bad_input_is_a_line_and_exit_code_1(
    error: InputError, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught, job_log(tmp_path / "job.log"):
        raise error
    assert caught.value.code == 1
    assert capsys.readouterr().err.splitlines() == [f"error: {line}" for line in lines]
    log = (tmp_path / "job.log").read_text("utf-8")
    assert "Traceback" not in log
    assert all(line in log for line in lines)


def test_other_errors_pass_on_with_their_traceback_in_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), job_log(tmp_path / "job.log"):
        1 / 0  # noqa: B018
    log = (tmp_path / "job.log").read_text("utf-8")
    assert "Traceback" in log and "ZeroDivisionError: division by zero" in log
    assert capsys.readouterr().err == ""


def test_ctrl_c_is_one_line_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught, job_log(tmp_path / "job.log"):
        raise KeyboardInterrupt
    [line] = (tmp_path / "job.log").read_text("utf-8").splitlines()
    assert caught.value.code == 130 and line.endswith("interrupted; repeat the command to resume")


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    root, ours = logging.getLogger(), logging.getLogger("bert_judge")
    before = (list(root.handlers), root.level, ours.level, warnings.showwarning)
    with pytest.raises(SystemExit), job_log(tmp_path / "job.log"):
        raise InputError("x")
    assert (list(root.handlers), root.level, ours.level, warnings.showwarning) == before


def test_a_second_run_writes_the_log_anew(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with job_log(tmp_path / "job.log"):
            logging.getLogger("bert_judge").info(text)
    assert "first" not in (tmp_path / "job.log").read_text("utf-8")


@pytest.mark.parametrize(("offline", "set_before", "after"), [(True, None, "1"), (False, None, None), (True, "0", "0")])
def test_the_hub_is_offline_unless_said_otherwise(
    offline: bool, set_before: str | None, after: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if set_before is not None:
        monkeypatch.setenv("HF_HUB_OFFLINE", set_before)
    with job_log(tmp_path / "job.log", offline=offline):
        assert os.environ.get("HF_HUB_OFFLINE") == after
        assert os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] == "1"


def test_a_script_ends_with_one_line_and_no_traceback(tmp_path: Path) -> None:
    lines = ["from bert_judge.runtime import errors, logs", "with logs.job_log(None):", "    raise errors.InputError('x: y; z')"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: x: y; z\n")
