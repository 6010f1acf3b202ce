"""inspect_ai itself: the logs it wrote and writes, a judge as its scorer, and its log rescored with our verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import fmean

import pytest
from helpers.framework_files import FIXTURES, document, read
from helpers.program_accuracy import own_accuracy, scored
from programs import ROOT, run
from typer.testing import CliRunner

from bert_judge.cli import app

pytestmark = pytest.mark.framework("inspect_ai")


def test_a_json_log_without_a_list_of_its_samples_is_read(tmp_path: Path) -> None:
    log = json.loads((FIXTURES / "inspect" / "capitals.json").read_text("utf-8"))
    del log["eval"]["dataset"]["sample_ids"]
    answers = read(FIXTURES / "inspect" / "capitals.json", "inspect")[0]
    assert sorted(read(document(tmp_path / "a.json", log), "inspect")[0], key=str) == sorted(answers, key=str)


def test_inspect_runs_and_its_log_is_imported(tmp_path: Path) -> None:
    script = FIXTURES / "inspect" / "capitals.py"
    subprocess.run([sys.executable, str(script), "logs", "eval"], cwd=tmp_path, capture_output=True, check=True)
    logs = sorted((tmp_path / "logs").glob("*.eval"))
    assert sorted(len(read(path, "inspect")[0]) for path in logs) == [1, 4]


def test_our_accuracy_is_that_of_inspect(tmp_path: Path) -> None:
    run(FIXTURES / "inspect" / "choices.py", "logs", folder=tmp_path)
    logs = [path for path in sorted((tmp_path / "logs").glob("*.eval")) if "_reasoning_" not in path.name]
    assert len(logs) == 3
    for path in logs:
        rows = scored(path, tmp_path)
        for shares in ([row["verdict"] == "correct" for row in rows], [row["label"] for row in rows]):
            assert fmean(shares) == pytest.approx(own_accuracy(path)), path.name


def test_inspect_scores_with_a_judge(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.path[:0] = sys.argv[1:3]\nimport capitals as told\n"
        "from inspect_task import capitals\nfrom inspect_ai import eval\n"
        "[log] = eval(capitals('contains'), model='told/answers', log_dir=sys.argv[3], display='none')\n"
        "print(log.status, log.results.scores[0].name, log.results.scores[0].metrics['accuracy'].value)"
    )
    done = run("-c", code, ROOT / "examples", FIXTURES / "inspect", tmp_path / "logs", folder=tmp_path)
    assert done.splitlines()[-1] == "success bert_judge 0.5"


def test_inspect_finds_the_scorer_by_its_name(tmp_path: Path) -> None:
    """With the entry point of pyproject.toml, also where this project was installed before it had one."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    # Python looks for packages in the current folder first.
    metadata = tmp_path / "entry_points-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: entry-points\nVersion: 1\n", "utf-8")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items()) for group, names in entry_points.items()
    ]
    (metadata / "entry_points.txt").write_text("".join(lines), "utf-8")
    log = FIXTURES / "inspect" / "capitals.eval"
    options = "--scorer bert_judge/reference -S judge=contains --output-file scored.eval --action overwrite"
    code = (
        "import sys\nsys.path.insert(0, sys.argv.pop(1))\nimport capitals\nfrom inspect_ai._cli.main import main\n"
        "from inspect_ai.log import read_eval_log\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "[score] = read_eval_log('scored.eval').results.scores\nprint(score.name, score.metrics['accuracy'].value)"
    )
    # With the repository on the path, the metadata that setuptools leaves there would hide that it is installed.
    done = run("-c", code, log.parent, "score", log, *options.split(), folder=tmp_path, PYTHONPATH="")
    assert done.splitlines()[-1] == "reference 0.5"


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
