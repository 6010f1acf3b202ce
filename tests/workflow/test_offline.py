"""The jobs of these tests cannot reach a network, so a run that succeeds needed none."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow

CONNECT = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
LOOK_UP = "import urllib.request; urllib.request.urlopen('http://huggingface.co', timeout=1)"


@pytest.mark.parametrize("program", [CONNECT, LOOK_UP], ids=["connect", "look up"])
def test_processes_of_a_run_have_no_network(finished: Workspace, program: str) -> None:
    ended = subprocess.run([sys.executable, "-c", program], env=finished.environment(), capture_output=True, text=True)
    assert ended.returncode != 0
    assert "NetworkBlocked" in ended.stderr


def test_a_model_that_is_not_here_is_told_in_one_line(run: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else the block itself would be the error, and no advice could follow.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    config = run.config
    config["judges"]["far"] = {"kind": "bert", "checkpoint": "nobody/nothing-here"}
    run.configure(config)
    before = run.contents()
    result = run.run("prepare")
    assert result.code != 0
    told = result.told("error: ")
    assert len(told) == 1, result.text
    assert "nobody/nothing-here" in told.pop()
    assert "Traceback" not in result.text
    assert run.contents() == before
