"""A probe from training to labels: its folder, the label table, and grading from Python."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from helpers import commands
from helpers.tiny_models import causal_lm

from bert_judge import tables
from bert_judge.integrations.samples import evaluate_samples
from bert_judge.judges.probe.features import extract_features
from bert_judge.judges.probe.hidden_states import HiddenStateExtractor
from bert_judge.judges.probe.judge import CachedStates, Probe
from bert_judge.judges.probe.train import PREDICTIONS_FILE, SELECTION_FILE, aspect_values, evaluate_probe, train_probe
from bert_judge.judges.protocol import EMPTY_ANSWER, Row
from bert_judge.labels.stage import label_table
from bert_judge.runtime.errors import InputError

ROWS, TRAIN = 48, 36
ASPECTS = {
    "correctness": {"head": "binary", "range": [0, 1], "positive_from": None, "features": "f"},
    "tone": {"head": "ordinal", "range": [1, 4], "positive_from": None, "features": "f"},
}


class Run(NamedTuple):
    """A trained probe and its inputs."""

    folder: Path
    spec: dict[str, Any]
    rows: pd.DataFrame

    def train(self, folder: Path, **changes: Any) -> None:
        parts = self.folder / "train.parquet", self.folder / "validation.parquet"
        states = [self.folder / "f" / "m" / "t.parquet"]
        train_probe({**self.spec, **changes}, *parts, {"f": states}, {"tiny": "rev"}, folder)

    @property
    def probe(self) -> Path:
        return self.folder / "probe"

    def answers(self) -> list[Row]:
        return [Row(r.sample_id, r.attempt, "m", r.question, (), r.candidate) for r in self.rows.itertuples()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    model = causal_lm(folder / "model", "llama")
    poolings = {"poolings": ["mean", "last"], "max_length": 48, "precision": "float32", "storage_dtype": "float32"}
    features = {"backbone": str(model), "revision": None, "prompt": "{question} {candidate}", **poolings}
    rows = pd.DataFrame({"question": [f"question {n // 2}?" for n in range(ROWS)], "attempt": [n % 2 for n in range(ROWS)]})
    correct = np.arange(ROWS) % 3 > 0
    rows = rows.assign(candidate=np.where(correct, "yes indeed, all of it", "no"), model="m", references=[["r"]] * ROWS)
    rows["sample_id"] = [tables.sample_id("t", question, ["r"]) for question in rows["question"]]
    more = dict.fromkeys(["reasoning", "reason", "prompt_tokens", "completion_tokens"])
    tables.write(rows.assign(status="ok", **more), folder / "c.parquet", tables.CANDIDATES, {})
    spec = {"features": "f", "model": "m", "task": "t", **features}
    extractor = HiddenStateExtractor(model, features)
    extract_features(spec, folder / "c.parquet", folder / "f" / "m" / "t.parquet", extractor, "rev", folder / "work")
    labelled = rows.assign(task="t", label=correct.astype(float), weight=1.0, rationale=None)
    labelled["aspects"] = pd.Series([{"tone": 4.0 if good else 1.0} for good in correct], dtype=object)
    tables.write(labelled[:TRAIN], folder / "train.parquet", tables.DATASET, {})
    tables.write(labelled[TRAIN:], folder / "validation.parquet", tables.DATASET, {})
    settings = {
        "classifiers": ["logistic"],
        "pca_components": 5,
        "max_concat_layers": 1,
        "folds": 2,
        "seed": 0,
        "pooling": ["mean", "last"],
    }
    trained = Run(folder, {"judge": "p", "dataset": "d", **settings, "aspects": ASPECTS, "features": {"f": features}}, rows)
    trained.spec["tables"] = [["m", "t"]]
    trained.train(trained.probe)
    return trained


def test_metrics_and_card(run: Run, tmp_path: Path) -> None:
    evaluate_probe(run.spec, run.probe / SELECTION_FILE, run.probe / PREDICTIONS_FILE, tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text("utf-8"))["aspects"]
    assert set(metrics) == set(ASPECTS)
    tone = metrics["tone"]
    assert tone["classes"] == {"train": {"1": 12, "4": 24}, "test": {"1": 4, "4": 8}}
    assert tone["test"]["probe"]["macro_f1"][0] > tone["test"]["majority"]["macro_f1"][0]
    better = tone["test"]["probe"]["macro_f1"][0] - tone["test"]["majority"]["macro_f1"][0]
    assert tone["differences"]["majority"]["macro_f1"][0] == pytest.approx(better)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "| tone | ordinal, 1 to 4 |" in card and "test split, never trained on" in card


def test_broken_selection_is_an_error(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json: not readable"):
        evaluate_probe(run.spec, tmp_path / "gone.json", run.probe / PREDICTIONS_FILE, tmp_path)
    assert not (tmp_path / "metrics.json").exists()


def test_training_is_deterministic(run: Run, tmp_path: Path) -> None:
    run.train(tmp_path / "again")
    first, second = (Probe(folder, source=cached_states(run)).judge(run.answers()) for folder in (run.probe, tmp_path / "again"))
    assert first == second


def cached_states(run: Run) -> CachedStates:
    return CachedStates({"f": run.folder / "f" / "m" / "t.parquet"})


def test_cached_and_computed_states_give_the_same_labels(run: Run) -> None:
    cached, computed = (
        Probe(run.probe, source=cached_states(run)).judge(run.answers()),
        Probe(run.probe).judge(run.answers()),
    )
    assert [label.score for label in cached] == pytest.approx([label.score for label in computed], abs=1e-4)
    assert [label.prompt_tokens for label in cached] == [label.prompt_tokens for label in computed]


def test_label_table_contains_aspects_and_their_mean(run: Run) -> None:
    spec = {"judge": "p", "model": "m", "task": "t"}
    label_table(spec, run.folder / "c.parquet", run.folder / "l.parquet", Probe(run.probe, source=cached_states(run)))
    for row in tables.read(run.folder / "l.parquet", tables.LABELS).to_dict("records"):
        aspects = row["aspects"]
        assert row["score"] == pytest.approx((aspects["correctness"] + (aspects["tone"] - 1) / 3) / 2)
        assert row["verdict"] == ("correct" if row["score"] >= 0.5 else "incorrect")


@pytest.mark.parametrize("candidate", ["", " \n\t"])
def test_empty_answer_gets_the_lowest_values(run: Run, candidate: str) -> None:
    label = Probe(run.probe).judge([Row("s", 0, "m", "q", (), candidate)])[0]
    assert (label.verdict, label.score, label.reason) == ("incorrect", 0.0, EMPTY_ANSWER)
    assert label.aspects == {"correctness": 0.0, "tone": 1.0}


def test_aspects_share_a_forward_pass(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    extract = HiddenStateExtractor.extract
    monkeypatch.setattr(HiddenStateExtractor, "extract", lambda self, q, c: passes.append(len(q)) or extract(self, q, c))
    labels = Probe(run.probe).judge(run.answers()[:6])
    assert passes == [6]
    assert all(set(label.aspects or {}) == set(ASPECTS) for label in labels)


def test_samples_are_graded_sorted_and_filtered(run: Run) -> None:
    texts = ["no", "yes indeed, all of it", ""]
    samples = [{"question": "question 1?", "prediction": text, "id": number} for number, text in enumerate(texts)]
    graded = evaluate_samples(samples, run.probe)
    assert [sample["id"] for sample in graded] == [1, 0, 2]
    assert graded[0]["total_score"] == pytest.approx(sum(graded[0]["aspects"].values()))
    assert [sample["id"] for sample in evaluate_samples(samples, run.probe, top_percent=0.5)] == [1, 0]
    assert [sample["id"] for sample in evaluate_samples(samples, run.probe, top_percent=0.01)] == [1]
    assert evaluate_samples(samples, run.probe, top_percent=1.0) == graded
    assert evaluate_samples([], run.probe) == []


def test_the_best_answers_of_a_file_are_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["no", "yes indeed, all of it", "no", "yes indeed, all of it"]
    pd.DataFrame({"question": "question 1?", "answer": texts}).to_csv("a.csv", index=False)
    done = commands.run("score", "a.csv", "--judge", run.probe, "--top-share", 0.5)
    assert done.exit_code == 0, done.output
    best = pd.read_csv("a.scored.csv")
    assert best["answer"].tolist() == [texts[1]] * 2 and best["score"].between(0, 1).all()
    assert best["reason"].str.fullmatch(r"correctness [\d.]+, tone [\d.]+").all()


@pytest.mark.parametrize(
    ("samples", "top_percent", "message"),
    [
        ([{"question": "q"}], 1.0, "sample 1: 'prediction' is missing or not a text"),
        ([{"question": "q", "prediction": "p"}, {"question": 7, "prediction": "p"}], 1.0, "sample 2: 'question'"),
        ([], 0, "top_percent: 0 is outside 0 to 1"),
        ([], 50, "top_percent: 50 is outside 0 to 1; give the share"),
    ],
)
def test_invalid_samples_are_an_error(run: Run, samples: list[dict[str, Any]], top_percent: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_samples(samples, run.probe, top_percent)


def test_answer_without_cached_states_is_an_error(run: Run) -> None:
    with pytest.raises(InputError, match="no hidden states of"):
        Probe(run.probe, source=cached_states(run)).judge([Row("unknown", 0, "m", "q", (), "a")])


def copy_probe(run: Run, folder: Path) -> Path:
    folder.mkdir()
    for path in run.probe.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("broken", ["card", "gone", "pickle", "none"])
def test_broken_folder_is_an_error(run: Run, tmp_path: Path, broken: str) -> None:
    folder = copy_probe(run, tmp_path / "probe")
    match broken:
        case "card":
            (folder / "judge.json").write_text("{")
        case "gone":
            (folder / "tone.skops").unlink()
        case "pickle":
            (folder / "tone.skops").write_bytes(pickle.dumps({"a": 1}))
        case "none":
            (folder / "judge.json").unlink()
    with pytest.raises(InputError, match="train the probe again"):
        Probe(folder)


def test_unlabelled_aspect_is_an_error(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"aspects\.style: the teacher does not label it; labelled aspects: tone"):
        run.train(tmp_path / "p", aspects={"style": ASPECTS["tone"]})
    assert not (tmp_path / "p").exists()


def test_correctness_defaults_to_the_verdict() -> None:
    rows = pd.DataFrame({"label": [1.0, 0.0], "aspects": pd.Series([{"correctness": 0.25}, None], dtype=object)})
    assert aspect_values("correctness", rows)[0] == 0.25
    assert aspect_values("correctness", rows.assign(aspects=None)).tolist() == [1.0, 0.0]
