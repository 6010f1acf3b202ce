"""A probe from its training to its verdicts: the folder, the label table, and grading from Python."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from tiny_models import causal_lm

from bert_judge import tables
from bert_judge.integrations.samples import evaluate_samples
from bert_judge.judges.probe.extraction import Reader
from bert_judge.judges.probe.features import feature_table
from bert_judge.judges.probe.judge import EMPTY, Probe, Stored
from bert_judge.judges.probe.training.labels import values_of
from bert_judge.judges.probe.training.measure import measure_probe
from bert_judge.judges.probe.training.train import PREDICTIONS, SELECTION, train_probe
from bert_judge.judges.protocol import Row
from bert_judge.labels.stage import label_table
from bert_judge.runtime.errors import InputError

ROWS, TRAIN = 48, 36
NOTE = {
    "rows": 30,
    "held_out_rows": 6,
    "weights": 1234,
    "steps": 9,
    "num_evals": 3,
    "best_step": 6,
    "held_out_f1": 0.5,
    "seconds": 1.0,
    "predicted_classes": {"correctness": [0, 1], "tone": [4]},
}
ASPECTS = {
    "correctness": {"head": "binary", "range": [0, 1], "positive_from": None, "features": "f"},
    "tone": {"head": "ordinal", "range": [1, 4], "positive_from": None, "features": "f"},
}


class Run(NamedTuple):
    """A trained probe with all that it was made of."""

    folder: Path
    spec: dict[str, Any]
    rows: pd.DataFrame

    def train(self, folder: Path, **changes: Any) -> None:
        parts = self.folder / "train.parquet", self.folder / "validation.parquet"
        states = [self.folder / "f" / "m" / "t.parquet"]
        train_probe({**self.spec, **changes}, *parts, {"f": states}, {"tiny": "rev"}, folder)

    def measure(self, baselines: list[str], others: dict[str, pd.DataFrame], notes: dict[str, Any], folder: Path) -> dict[str, Any]:
        """metrics.json of the probe beside these baselines."""
        for name, told in others.items():
            tables.write(told, folder / f"{name}.parquet", tables.PREDICTIONS, {})
        for name, note in notes.items():
            (folder / f"{name}.json").write_text(json.dumps(note), "utf-8")
        told = [self.probe / PREDICTIONS, *(folder / f"{name}.parquet" for name in others)]
        spec = {**self.spec, "baselines": baselines}
        measure_probe(spec, self.probe / SELECTION, told, [folder / f"{name}.json" for name in notes], folder)
        return json.loads((folder / "metrics.json").read_text("utf-8"))

    @property
    def probe(self) -> Path:
        return self.folder / "probe"

    def asked(self) -> list[Row]:
        return [Row(r.sample_id, r.attempt, "m", r.question, (), r.candidate) for r in self.rows.itertuples()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    model = causal_lm(folder / "model", "llama")
    poolings = {"poolings": ["mean", "last"], "max_length": 48, "precision": "float32", "storage_dtype": "float32"}
    features = {"backbone": str(model), "revision": None, "prompt": "{question} {candidate}", **poolings}
    rows = pd.DataFrame({"question": [f"question {n // 2}?" for n in range(ROWS)], "attempt": [n % 2 for n in range(ROWS)]})
    right = np.arange(ROWS) % 3 > 0
    rows = rows.assign(candidate=np.where(right, "yes indeed, all of it", "no"), model="m", references=[["r"]] * ROWS)
    rows["sample_id"] = [tables.sample_id("t", question, ["r"]) for question in rows["question"]]
    more = dict.fromkeys(["reasoning", "reason", "prompt_tokens", "completion_tokens"])
    tables.write(rows.assign(status="ok", **more), folder / "c.parquet", tables.CANDIDATES, {})
    spec = {"features": "f", "model": "m", "task": "t", **features}
    feature_table(spec, folder / "c.parquet", folder / "f" / "m" / "t.parquet", Reader(model, features), "rev", folder / "work")
    labelled = rows.assign(task="t", label=right.astype(float), weight=1.0)
    labelled["aspects"] = pd.Series([{"tone": 4.0 if good else 1.0} for good in right], dtype=object)
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
    made = Run(folder, {"judge": "p", "dataset": "d", **settings, "aspects": ASPECTS, "features": {"f": features}}, rows)
    made.spec["tables"] = [["m", "t"]]
    made.train(made.probe)
    return made


def test_figures_and_card_say_what_the_probe_is_worth(run: Run, tmp_path: Path) -> None:
    metrics = run.measure(["majority", "length"], {}, {}, tmp_path)["aspects"]
    assert set(metrics) == set(ASPECTS)
    tone = metrics["tone"]
    assert tone["classes"] == {"train": {"1": 12, "4": 24}, "test": {"1": 4, "4": 8}}
    assert tone["test"]["probe"]["macro_f1"][0] > tone["test"]["majority"]["macro_f1"][0]
    better = tone["test"]["probe"]["macro_f1"][0] - tone["test"]["majority"]["macro_f1"][0]
    assert tone["differences"]["majority"]["macro_f1"][0] == pytest.approx(better)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "| tone | ordinal, 1 to 4 |" in card and "test part, never trained on" in card
    assert "tone: the probe is better than majority" in card


def test_other_baselines_stand_beside_the_probe(run: Run, tmp_path: Path) -> None:
    test = tables.read(run.probe / PREDICTIONS, tables.PREDICTIONS).query("split == 'test' and predictor == 'probe'")
    perfect = test.assign(predictor="lora", prediction=test["truth"])
    notes = {"lora": NOTE, "prompted": {"absent": "it is an encoder"}}
    asked = {"lora": perfect, "prompted": tables.empty(tables.PREDICTIONS)}
    metrics = run.measure(["lora", "prompted"], asked, notes, tmp_path)
    for figures in metrics["aspects"].values():
        assert set(figures["test"]) == {"probe", "lora"} and set(figures["cross_validation"]) == {"probe"}
        assert figures["test"]["lora"]["macro_f1"][0] == 1
        assert figures["differences"]["lora"]["macro_f1"][2] <= 0
    assert metrics["baselines"] == notes
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "prompted is absent: it is an encoder." in card
    assert "It tells one class only of tone." in card


def test_a_baseline_that_tells_other_rows_is_refused(run: Run, tmp_path: Path) -> None:
    test = (
        tables.read(run.probe / PREDICTIONS, tables.PREDICTIONS)
        .query("split == 'test' and predictor == 'probe'")
        .assign(predictor="lora")
    )
    with pytest.raises(InputError, match="lora tells other rows than the probe"):
        run.measure(["lora"], {"lora": test[1:]}, {"lora": NOTE}, tmp_path)
    with pytest.raises(InputError, match=r"gone\.json: not readable"):
        measure_probe(
            {**run.spec, "baselines": []}, run.probe / SELECTION, [run.probe / PREDICTIONS], [tmp_path / "gone.json"], tmp_path
        )
    assert not (tmp_path / "metrics.json").exists()


def test_training_twice_gives_the_same_probe(run: Run, tmp_path: Path) -> None:
    run.train(tmp_path / "again")
    first, second = (Probe(folder, eyes=stored(run)).judge(run.asked()) for folder in (run.probe, tmp_path / "again"))
    assert first == second


def stored(run: Run) -> Stored:
    return Stored({"f": run.folder / "f" / "m" / "t.parquet"})


def test_stored_and_live_states_give_the_same_labels(run: Run) -> None:
    one, other = Probe(run.probe, eyes=stored(run)).judge(run.asked()), Probe(run.probe).judge(run.asked())
    assert [label.score for label in one] == pytest.approx([label.score for label in other], abs=1e-4)
    assert [label.prompt_tokens for label in one] == [label.prompt_tokens for label in other]


def test_the_label_table_has_the_aspects_and_their_mean(run: Run) -> None:
    spec = {"judge": "p", "model": "m", "task": "t"}
    label_table(spec, run.folder / "c.parquet", run.folder / "l.parquet", Probe(run.probe, eyes=stored(run)))
    for row in tables.read(run.folder / "l.parquet", tables.LABELS).to_dict("records"):
        aspects = row["aspects"]
        assert row["score"] == pytest.approx((aspects["correctness"] + (aspects["tone"] - 1) / 3) / 2)
        assert row["verdict"] == ("correct" if row["score"] >= 0.5 else "incorrect")


@pytest.mark.parametrize("candidate", ["", " \n\t"])
def test_an_empty_answer_has_the_lowest_values(run: Run, candidate: str) -> None:
    label = Probe(run.probe).judge([Row("s", 0, "m", "q", (), candidate)])[0]
    assert (label.verdict, label.score, label.reason) == ("incorrect", 0.0, EMPTY)
    assert label.aspects == {"correctness": 0.0, "tone": 1.0}


def test_a_second_aspect_costs_no_second_pass(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    plain = Reader.read
    monkeypatch.setattr(Reader, "read", lambda self, q, c: read.append(len(q)) or plain(self, q, c))
    labels = Probe(run.probe).judge(run.asked()[:6])
    assert read == [6]
    assert all(set(label.aspects or {}) == set(ASPECTS) for label in labels)


def test_samples_are_graded_sorted_and_cut(run: Run) -> None:
    texts = ["no", "yes indeed, all of it", ""]
    samples = [{"question": "question 1?", "prediction": text, "id": number} for number, text in enumerate(texts)]
    graded = evaluate_samples(samples, run.probe)
    assert [sample["id"] for sample in graded] == [1, 0, 2]
    assert graded[0]["total_score"] == pytest.approx(sum(graded[0]["aspects"].values()))
    assert [sample["id"] for sample in evaluate_samples(samples, run.probe, top_percent=50)] == [1, 0]
    assert [sample["id"] for sample in evaluate_samples(samples, run.probe, top_percent=1)] == [1]
    assert evaluate_samples([], run.probe) == []


@pytest.mark.parametrize(
    ("samples", "share", "says"),
    [
        ([{"question": "q"}], 100, "sample 1: 'prediction' is missing or no text"),
        ([{"question": "q", "prediction": "p"}, {"question": 7, "prediction": "p"}], 100, "sample 2: 'question'"),
        ([], 0, "top_percent: 0 is outside 0 to 100"),
        ([], 101, "top_percent: 101 is outside 0 to 100"),
    ],
)
def test_samples_of_no_use_are_refused(run: Run, samples: list[dict[str, Any]], share: float, says: str) -> None:
    with pytest.raises(InputError, match=says):
        evaluate_samples(samples, run.probe, share)


def test_an_answer_without_states_is_told(run: Run) -> None:
    with pytest.raises(InputError, match="no hidden states of"):
        Probe(run.probe, eyes=stored(run)).judge([Row("unknown", 0, "m", "q", (), "a")])


def copied(run: Run, folder: Path) -> Path:
    folder.mkdir()
    for path in run.probe.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.parametrize("broken", ["card", "gone", "pickle", "none"])
def test_a_broken_folder_is_refused(run: Run, tmp_path: Path, broken: str) -> None:
    folder = copied(run, tmp_path / "probe")
    match broken:
        case "card":
            (folder / "probe.json").write_text("{")
        case "gone":
            (folder / "tone.skops").unlink()
        case "pickle":
            (folder / "tone.skops").write_bytes(pickle.dumps({"a": 1}))
        case "none":
            (folder / "probe.json").unlink()
    with pytest.raises(InputError, match="train the probe anew"):
        Probe(folder)


def test_an_aspect_that_the_teacher_does_not_give_is_told(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"aspects\.style: the teacher gives no such aspect; there are: tone"):
        run.train(tmp_path / "p", aspects={"style": ASPECTS["tone"]})
    assert not (tmp_path / "p").exists()


def test_correctness_is_the_verdict_of_a_teacher_without_such_an_aspect() -> None:
    rows = pd.DataFrame({"label": [1.0, 0.0], "aspects": pd.Series([{"correctness": 0.25}, None], dtype=object)})
    assert values_of("correctness", rows)[0] == 0.25
    assert values_of("correctness", rows.assign(aspects=None)).tolist() == [1.0, 0.0]
