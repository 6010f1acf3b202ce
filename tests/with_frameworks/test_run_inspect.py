"""inspect_ai itself: the logs it wrote and writes, a judge as its scorer, and its log rescored with our verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from framework_files import FIXTURES, document, read
from programs import ROOT, run
from typer.testing import CliRunner

from bert_judge.candidates.importers import frameworks
from bert_judge.cli import app
from bert_judge.runtime.errors import InputError

pytestmark = pytest.mark.framework("inspect_ai")


def test_logs_that_inspect_wrote_itself() -> None:
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
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, "inspect")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def long_log(path: Path, rows: int, missing: int = 0) -> Path:
    """A log as inspect writes it, of samples that differ in their ids; the last ones are in its list alone."""
    log = json.loads((FIXTURES / "inspect" / "capitals.json").read_text("utf-8"))
    sample = log.pop("samples")[0] | {"epoch": 1}
    log["eval"]["dataset"]["sample_ids"] = [f"q{number}" for number in range(rows)]
    log["eval"]["config"]["epochs"] = 1
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for number in range(rows - missing):
            archive.writestr(f"samples/q{number}_epoch_1.json", json.dumps(sample | {"id": f"q{number}"}))
    return path


def test_samples_that_were_not_run_are_no_fault(tmp_path: Path) -> None:
    answers, found = read(long_log(tmp_path / "a.eval", 600, missing=100), "inspect")
    assert [answer.id for answer in answers] == [f"q{number}" for number in range(500)] and not found.unreadable


def test_a_json_log_without_a_list_of_its_samples_is_read(tmp_path: Path) -> None:
    log = json.loads((FIXTURES / "inspect" / "capitals.json").read_text("utf-8"))
    del log["eval"]["dataset"]["sample_ids"]
    answers = read(FIXTURES / "inspect" / "capitals.json", "inspect")[0]
    assert sorted(read(document(tmp_path / "a.json", log), "inspect")[0], key=str) == sorted(answers, key=str)


IMPORT = """
import sys
from bert_judge.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    print(end.code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    peaks = []
    for rows in (500, 4_500):
        log = long_log(tmp_path / f"{rows}.eval", rows)
        *_, code, peak = run("-c", IMPORT, "import", log, "-o", tmp_path / f"{rows}.jsonl", folder=tmp_path).split()
        assert code == "0" and len((tmp_path / f"{rows}.jsonl").read_bytes().splitlines()) == rows
        peaks.append(int(peak))
    # Kilobytes; four thousand more samples would take 180,000 in memory, as those of a .json log do.
    assert peaks[1] - peaks[0] < 8_000, peaks


def test_inspect_runs_and_its_log_is_imported(tmp_path: Path) -> None:
    script = FIXTURES / "inspect" / "capitals.py"
    subprocess.run([sys.executable, str(script), "logs", "eval"], cwd=tmp_path, capture_output=True, check=True)
    logs = sorted((tmp_path / "logs").glob("*.eval"))
    assert sorted(len(read(path, "inspect")[0]) for path in logs) == [1, 4]


def test_inspect_scores_with_a_judge(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.path[:0] = sys.argv[1:3]\nimport capitals as told\n"
        "from inspect_task import capitals\nfrom inspect_ai import eval\n"
        "[log] = eval(capitals('contains'), model='told/answers', log_dir=sys.argv[3], display='none')\n"
        "print(log.status, log.results.scores[0].name, log.results.scores[0].metrics['accuracy'].value)"
    )
    done = run("-c", code, ROOT / "examples", FIXTURES / "inspect", tmp_path / "logs", folder=tmp_path)
    assert done.splitlines()[-1] == "success bert_judge 0.5"


def test_inspect_takes_the_verdicts_on_its_own_log(tmp_path: Path) -> None:
    """Round trip: a log, our verdicts on it, and the log rescored with them by inspect."""
    log, scored, scores = FIXTURES / "inspect" / "capitals.eval", tmp_path / "scored.jsonl", tmp_path / "scores.jsonl"
    for command in (["score", log, "-o", scored, "--judge", "contains"], ["export", scored, "--to", "inspect", "-o", scores]):
        result = CliRunner().invoke(app, [str(word) for word in command])
        assert result.exit_code == 0, result.output
    code = (
        # The log names its model, which inspect must know.
        "import sys\nsys.path.insert(0, sys.argv[3])\nimport capitals\n"
        "from inspect_ai import score\nfrom inspect_ai.log import read_eval_log\n"
        "from inspect_ai.scorer import precomputed_scores\n"
        "log = score(read_eval_log(sys.argv[1]), precomputed_scores(sys.argv[2], on_missing='error'), action='overwrite')\n"
        "print(sorted((s.id, s.epoch, s.scores['precomputed_scores'].value) for s in log.samples))\n"
        "print(log.results.scores[0].metrics['accuracy'].value)"
    )
    told, accuracy = run("-c", code, log, scores, log.parent, folder=tmp_path).splitlines()[-2:]
    assert told == "[('austria', 1, 'I'), ('austria', 2, 'I'), ('france', 1, 'C'), ('france', 2, 'C')]" and accuracy == "0.5"
