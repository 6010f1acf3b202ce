"""The frameworks themselves: what they wrote, and what they write when they are run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from framework_files import FIXTURES, read

from bert_judge.errors import InputError
from bert_judge.importers import frameworks


def test_logs_that_inspect_wrote_itself() -> None:
    pytest.importorskip("inspect_ai")
    answers, _ = read(FIXTURES / "inspect" / "capitals.eval", "inspect")
    told = {(a.id, a.attempt): (a.question, a.references, a.candidate) for a in answers}
    assert told == {("france", n): ("What is the capital of France?", ("Paris",), "It is Paris") for n in (0, 1)} | {
        ("austria", n): ("Hauptstadt von Österreich?", ("Wien", "Vienna"), "Graz, glaube ich") for n in (0, 1)
    }
    assert {(a.model, a.task) for a in answers} == {("told/answers", "capitals")}
    assert frameworks.detect(FIXTURES / "inspect" / "capitals.json") == "inspect"
    assert sorted(read(FIXTURES / "inspect" / "capitals.json", "inspect")[0], key=str) == sorted(answers, key=str)
    [planet], _ = read(FIXTURES / "inspect" / "planets.eval", "inspect")
    assert (planet.question, planet.references) == ("Which planet is the largest?\n(A) Mars\n(B) Jupiter", ("B", "Jupiter"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"{}"])
def test_what_is_no_log_of_inspect(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("inspect_ai")
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, "inspect")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_without_inspect_its_logs_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(InputError, match="needs inspect_ai; pip install inspect_ai"):
        read(tmp_path / "a.eval", "inspect")


def test_inspect_runs_and_its_log_is_imported(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    script = FIXTURES / "inspect" / "capitals.py"
    subprocess.run([sys.executable, str(script), "logs", "eval"], cwd=tmp_path, capture_output=True, check=True)
    logs = sorted((tmp_path / "logs").glob("*.eval"))
    assert sorted(len(read(path, "inspect")[0]) for path in logs) == [1, 4]


def test_the_harness_runs_and_its_samples_are_imported(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    folder = FIXTURES / "lm_eval"
    command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "gsm8k_sums,planets,capitals"]
    command += ["--include_path", str(folder), "--log_samples", "--output_path", str(tmp_path / "out")]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    subprocess.run(command, cwd=folder, env=offline, capture_output=True, check=True)
    counts = {}
    for path in (tmp_path / "out").rglob("samples_*.jsonl"):
        assert frameworks.detect(path) == "lm_eval"
        counts[path.name.split("_2")[0]] = len(read(path, "lm_eval")[0])
    assert counts == {"samples_gsm8k_sums": 3, "samples_planets": 0, "samples_capitals": 2}
