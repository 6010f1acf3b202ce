"""Test `bert-judge push`: the published folder reproduces the judge's scores with transformers alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pandas as pd
import pytest
from helpers import tiny_models
from helpers.commands import run
from huggingface_hub import errors
from transformers import pipeline

from bert_judge import tables
from bert_judge.config import Input, Training
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.report import hub_folder

ROWS = (["Capital of France?", "Größe?", "q"], ["Paris", "東京", "b"], ["It is Paris.", "naïve Ω", "a fox"])


def trained(folder: Path, architecture: str = "bert", features: bool = False, **settings: Any) -> BERTJudge:
    judge = BERTJudge(tiny_models.encoder(folder / "backbone", architecture), input=Input.model_validate(settings))
    rows = [list(part) for part in ROWS]
    judge.fit(*rows, [1.0, 0.0, 0.3], training=Training(epochs=1), features=features, work_folder=folder / "work")
    judge.calibrate(*rows, [1.0, 0.0, 0.0])
    judge.save(folder / "judge")
    return judge


@pytest.fixture(autouse=True)
def in_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
@pytest.mark.parametrize(
    "settings", [{"format": "pair"}, {"format": "pair", "question": False}, {"format": "tags"}], ids=["pair", "without", "tags"]
)
def test_transformers_gives_the_raw_scores(tmp_path: Path, architecture: str, settings: dict[str, Any]) -> None:
    judge = trained(tmp_path, architecture, **settings)
    result = run("push", "judge", "-o", "published")
    assert result.exit_code == 0, result.output
    shown = [hub_folder.tokenizer_inputs(judge, *row) for row in zip(*ROWS, strict=True)]
    found = hub_folder.plain_scores(tmp_path / "published", shown)
    expected = BERTJudge(tmp_path / "judge", precision="float32").explain(*map(list, ROWS)).raw_scores
    np.testing.assert_allclose(found, expected, atol=1e-5)
    scores = [BERTJudge(tmp_path / folder).predict(*map(list, ROWS)) for folder in ("published", "judge")]
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_the_general_judge_becomes_a_standard_folder(tmp_path: Path) -> None:
    assert run("push", "general", "-o", "published").exit_code == 0
    judge = BERTJudge(precision="float32", early_exit=False)
    pairs = [hub_folder.tokenizer_inputs(judge, *row) for row in zip(*ROWS, strict=True)]
    expected = judge.explain(*map(list, ROWS)).raw_scores
    np.testing.assert_allclose(hub_folder.plain_scores(tmp_path / "published", pairs), expected, atol=1e-5)
    sentence_transformers = pytest.importorskip("sentence_transformers")
    encoder = sentence_transformers.CrossEncoder(str(tmp_path / "published"), device="cpu")
    np.testing.assert_allclose(encoder.predict(pairs, apply_softmax=True)[:, 1], expected, atol=1e-5)


def test_code_in_the_card_runs(tmp_path: Path) -> None:
    trained(tmp_path)
    judge = BERTJudge(tmp_path / "judge", precision="float32")
    assert run("push", "judge", "-o", "published").exit_code == 0
    card = (tmp_path / "published" / "README.md").read_text("utf-8")
    code = next(block for block in card.split("```python\n")[1:] if "AutoTokenizer" in block).split("```")[0]
    names: dict[str, Any] = {"q": "Capital?", "r": "Paris", "c": "It is Paris."}
    exec(code, names)
    assert math.isclose(names["score"].item(), judge.explain(["Capital?"], ["Paris"], ["It is Paris."]).raw_scores[0], abs_tol=1e-5)
    classify = pipeline("text-classification", str(tmp_path / "published"), device="cpu")
    assert classify({"text": "Paris", "text_pair": "It is Paris.[SEP]Capital?"})["label"] in ("correct", "incorrect")


def test_judge_of_the_run_by_name(tmp_path: Path) -> None:
    trained(tmp_path)
    (tmp_path / "results" / "judges").mkdir(parents=True)
    (tmp_path / "judge").rename(tmp_path / "results" / "judges" / "mine")
    (tmp_path / "results" / "judges" / "mine" / "README.md").write_text('# mine\n\nBERTJudge("path/to/this/folder")\n', "utf-8")
    result = run("push", "mine")
    assert result.exit_code == 0 and "results/hub/mine: " in result.stdout and "largest difference" in result.stdout
    folder = tmp_path / "results" / "hub" / "mine"
    card = (folder / "README.md").read_text("utf-8")
    assert card.startswith('# mine\n\nBERTJudge("mine")') and "CrossEncoder" in card
    assert {"config.json", "model.safetensors", "tokenizer.json", "judge.json", "trees.safetensors"} <= {
        p.name for p in folder.iterdir()
    }
    assert json.loads((folder / "config.json").read_text("utf-8"))["id2label"] == {"0": "incorrect", "1": "correct"}


def test_attack_rates_are_in_the_card(tmp_path: Path) -> None:
    trained(tmp_path)
    common = {"judge": "judge", "theme": "hedging", "kind": "attack", "n": 40, "questions": 20, "invalid": 0.0}
    shares = {"error_rate": 0.125, "low": 0.05, "high": 0.25}
    rates = [
        {**common, **shares, "level": "family", "group": "either_or"},
        {**common, **shares, "level": "theme", "group": "hedging"},
        {**common, **shares, "level": "kind", "group": "attack", "theme": None},
    ]
    tables.write(pd.DataFrame(rates), tmp_path / "attacks" / "rates.parquet", tables.ATTACK_RATES, {})
    assert run("push", "judge", "-o", "published", "--attacks", "attacks/rates.parquet").exit_code == 0
    card = (tmp_path / "published" / "README.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in card.splitlines() if "12.5%" in line]
    assert [row[:2] for row in rows] == [["all", "40"], ["hedging", "40"]] and "either_or" not in card
    assert len(tables.read(tmp_path / "published" / "attacks.parquet", tables.ATTACK_RATES)) == 3
    (tmp_path / "judge").rename(tmp_path / "other")
    rejected = run("push", "other", "-o", "second", "--attacks", "attacks/rates.parquet")
    assert rejected.exit_code == 1 and "no attack rates of other; run bert-judge attack" in rejected.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "none: no such folder, and no trained judge of that name in results/judges; choose one of: general"),
        (["backbone"], "backbone: no judge.json in it"),
        (["judge", "-o", "work"], "work: already exists; remove it, or choose another folder with -o"),
        (["judge", "--to", "name"], "--to name: expected OWNER/NAME"),
    ],
)
def test_invalid_input_is_rejected(tmp_path: Path, arguments: list[str], message: str) -> None:
    trained(tmp_path)
    (tmp_path / "work").mkdir(exist_ok=True)
    before = sorted(path.name for path in tmp_path.iterdir())
    result = run("push", *arguments)
    assert result.exit_code == 1 and result.stderr.splitlines()[-1].startswith(f"error: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_different_scores_leave_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(tmp_path)
    monkeypatch.setattr(hub_folder, "plain_scores", lambda folder, inputs: np.full(len(inputs), 0.123))
    result = run("push", "judge", "-o", "published")
    assert result.exit_code == 1 and "transformers alone gives different scores" in result.stderr
    assert not list(tmp_path.glob("*published*"))


class Hub:
    """Replace the hub client."""

    calls: tuple[Any, ...] = ()

    def create_repo(self, name: str, private: bool, exist_ok: bool) -> None:
        if name == "owner/gone":
            raise ConnectionError("no route")
        Hub.calls = (name, private)

    def upload_folder(self, repo_id: str, folder_path: Path, commit_message: str) -> str:
        if repo_id == "owner/rejected":
            raise errors.HFValidationError("no")
        return f"https://hub/{repo_id} from {folder_path.name}"


def test_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(tmp_path)
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    result = run("push", "judge", "-o", "a", "--to", "owner/name", "--private")
    assert result.stdout.splitlines()[-1] == "https://hub/owner/name from a" and Hub.calls == ("owner/name", True)
    assert 'from_pretrained("owner/name")' in (tmp_path / "a" / "README.md").read_text("utf-8")
    for name, message in (("gone", "the hub cannot be reached"), ("rejected", "neither a folder nor a hub id")):
        result = run("push", "judge", "-o", name, "--to", f"owner/{name}")
        assert result.exit_code == 1 and message in result.stderr and f"{name} is complete" in result.stderr
        assert (tmp_path / name / "config.json").is_file()
