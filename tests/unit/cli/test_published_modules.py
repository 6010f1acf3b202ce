"""The published commands `python -m bert_judge.cli.generate` and `….train` name the command that replaces them."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["generate", "train"])
def test_a_published_module_names_its_replacement(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", f"bert_judge.cli.{name}", "--anything", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"use bert-judge {name} " in done.stderr
