"""The program itself: streams that cannot be written, other encodings, and Ctrl-C while it loads."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PREDICT = [sys.executable, "-m", "bert_judge", "predict", "Größe 東京", "--reference", "Größe 東京", "--judge", "exact_match"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [PREDICT, [*PREDICT[:3], "--version"], [*PREDICT[:3], "--help"]])
def test_a_full_disk_behind_stdout_gives_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "error: the output cannot be written: No space left on device\n")


def test_an_encoding_without_the_characters_of_an_answer_gives_their_codes() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(PREDICT, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, "Traceback" in result.stderr) == (0, False), result.stderr
    assert "correct" in result.stdout


# Interrupts itself when the commands are imported.
INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "bert_judge.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from bert_judge.__main__ import main
main()
"""


def test_an_interrupt_while_the_program_loads_gives_no_traceback() -> None:
    result = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (-signal.SIGINT, "")
