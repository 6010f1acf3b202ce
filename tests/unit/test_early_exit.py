"""Answers that the encoder need not read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_models
from typer.testing import CliRunner, Result

from bert_judge import plan
from bert_judge.cli import app
from bert_judge.config import Training
from bert_judge.errors import InputError
from bert_judge.judges.bert import UNREAD, BERTJudge
from bert_judge.judges.early_exit import BEYOND, LEAST_ROWS, learn_reach, reach
from bert_judge.judges.protocol import Row

CITIES = ["Köln", "Paris", "東京", "Lima", "Oslo", "Cairo", "Quito", "Minsk", "Accra", "Hanoi"]
RUN = {
    "models": {"sim": {"generator": "simulated", "knowledge": 0.5}},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "datasets": {"d": {"teacher": "truth", "tasks": ["facts_train"]}},
    "score_with": ["bert"],
}


def rows(number: int) -> tuple[list[str], list[list[str]], list[str], list[float]]:
    """Right and wrong answers in turn."""
    cities = [CITIES[i % len(CITIES)] for i in range(number)]
    said = [city if i // len(CITIES) % 2 == 0 else CITIES[(i + 3) % len(CITIES)] for i, city in enumerate(cities)]
    candidates = [f"It is {city}, I believe, {i}." for i, city in enumerate(said)]
    labels = [float(one == other) for one, other in zip(cities, said, strict=True)]
    return [f"Which city, {i}?" for i in range(number)], [[city] for city in cities], candidates, labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained judge; its encoder is tiny and knows next to nothing, so its trees know all."""
    path = tmp_path_factory.mktemp("early_exit")
    judge = BERTJudge(tiny_models.encoder(path / "backbone"))
    *texts, labels = rows(240)
    judge.fit(*texts, labels, training=Training(epochs=1), work_folder=path / "work")
    *texts, labels = rows(2 * LEAST_ROWS)
    judge.calibrate(*texts, labels)
    judge.save(path / "judge")
    return path / "judge"


def with_reach(folder: Path, into: Path, encoder: tuple[float, float, float]) -> Path:
    """The same judge, whose encoder is said to lie between two logits whatever the trees say."""
    into.mkdir()
    for path in folder.iterdir():
        (into / path.name).write_bytes(path.read_bytes())
    card = json.loads((into / "judge.json").read_text("utf-8"))
    low, mean, high = ([value] for value in encoder)
    (into / "judge.json").write_text(json.dumps(card | {"reach": {"trees": [0.0], "low": low, "mean": mean, "high": high}}))
    return into


def test_the_reach_holds_nearly_all_rows_and_follows_the_trees() -> None:
    draw = np.random.default_rng(0)
    trees = draw.normal(0, 4, 5000)
    encoder = np.tanh(trees) + draw.normal(0, 1 + (trees > 0), 5000)
    known = reach(learn_reach(encoder, trees))
    assert known is not None and np.all(np.diff(known.trees) > 0)
    low, mean, high = known.at(trees)
    assert low.shape == (5000,) and (low < mean).all() and (mean < high).all()
    for beyond in (encoder < low, encoder > high):
        assert beyond.mean() == pytest.approx(BEYOND, abs=BEYOND / 2)
    # Where the encoder varies more, it reaches farther; beyond the rows as far as at their ends.
    assert np.ptp(known.at(np.array([6.0]))) > 1.5 * np.ptp(known.at(np.array([-6.0])))
    assert np.array_equal(known.at(np.array([-99.0]))[0], [known.low[0]])


def test_too_few_rows_tell_no_reach() -> None:
    assert learn_reach(np.zeros(LEAST_ROWS - 1), np.zeros(LEAST_ROWS - 1)) == {}
    assert learn_reach([], []) == {} and reach({}) is None
    assert len(learn_reach(np.zeros(LEAST_ROWS), np.zeros(LEAST_ROWS))["mean"]) == 1


def test_what_it_leaves_out_changes_no_verdict(folder: Path) -> None:
    *texts, _ = rows(120)
    whole, quick = BERTJudge(folder), BERTJudge(folder, early_exit=True)
    read, left_out = whole.explain(*texts), quick.explain(*texts)
    unread = np.isnan(left_out.raw)
    assert unread.mean() > 0.9, "trees that know all leave the encoder nothing"
    assert np.array_equal(left_out.scores >= 0.5, read.scores >= 0.5)
    assert (left_out.tokens[unread] == 0).all() and not left_out.truncated[unread].any()
    assert (np.abs(left_out.scores - read.scores) < 0.05).all()


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.95])
def test_it_reads_all_that_could_be_turned(folder: Path, tmp_path: Path, threshold: float) -> None:
    far = with_reach(folder, tmp_path / "far", (-1e9, 0.0, 1e9))
    *texts, _ = rows(30)
    whole, quick = (BERTJudge(far, threshold=threshold, early_exit=early) for early in (False, True))
    expected, found = whole.explain(*texts), quick.explain(*texts)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
    np.testing.assert_array_equal(found.tokens, expected.tokens)


def test_the_threshold_says_what_is_clear(folder: Path, tmp_path: Path) -> None:
    # Of all rows the same is expected of the encoder, and the trees' right and wrong answers lie apart.
    fixed = with_reach(folder, tmp_path / "fixed", (-0.1, 0.0, 0.1))
    *texts, labels = rows(40)
    scores = BERTJudge(fixed, early_exit=True).predict(*texts)
    assert ((scores >= 0.5) == labels).all()
    between = float(scores[0])
    read = BERTJudge(fixed, threshold=between, early_exit=True).explain(*texts).tokens > 0
    assert read[0] and not read[np.abs(scores - between) > 0.2].any()


def test_labels_say_what_was_not_read(folder: Path, tmp_path: Path) -> None:
    *texts, _ = rows(4)
    asked = [Row(str(i), 0, "m", q, tuple(r), c) for i, (q, r, c) in enumerate(zip(*texts, strict=True))]
    asked.append(Row("empty", 0, "m", "Which city?", ("Köln",), " "))
    *labels, empty = BERTJudge(folder, early_exit=True).judge(asked)
    assert {(label.reason, label.raw, label.prompt_tokens, label.truncated) for label in labels} == {(UNREAD, None, 0, False)}
    assert empty.reason == "empty answer"
    far = with_reach(folder, tmp_path / "far", (-1e9, 0.0, 1e9))
    assert all(label.raw and label.reason is None for label in BERTJudge(far, early_exit=True).judge(asked)[:-1])


def test_a_verdict_does_not_depend_on_other_rows(folder: Path) -> None:
    *texts, _ = rows(12)
    judge = BERTJudge(folder, early_exit=True)
    alone = [judge.predict(*([column[i]] for column in texts))[0] for i in range(12)]
    np.testing.assert_allclose(judge.predict(*texts), alone, atol=1e-6)
    assert judge.predict([], [], []).shape == (0,)


def test_a_judge_that_knows_no_reach_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="early_exit goes by the features, which calibrated: false leaves out"):
        BERTJudge(folder, calibrated=False, early_exit=True)
    *texts, labels = rows(20)
    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone"))
    judge.fit(*texts, labels, training=Training(epochs=1), work_folder=tmp_path / "work")
    judge.calibrate(*texts, labels)
    judge.save(tmp_path / "judge")
    with pytest.raises(InputError, match="trained with fewer than 100 rows held out") as caught:
        BERTJudge(tmp_path / "judge", early_exit=True)
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


def run(**settings: object) -> dict[str, object]:
    bert = {"kind": "bert", "dataset": "d", **settings}
    return RUN | {"judges": {"truth": {"kind": "simulated"}, "bert": bert}}


@pytest.mark.parametrize("off", ["features", "calibrated"])
def test_it_needs_features_in_the_configuration(off: str) -> None:
    with pytest.raises(InputError, match=r"judges\.bert.*early_exit goes by the features"):
        plan.make(run(early_exit=True, **{off: False}))


def test_it_changes_verdicts_and_no_training() -> None:
    without, with_it = plan.make(run()), plan.make(run(early_exit=True))
    assert without.judge_spec("bert") == with_it.judge_spec("bert")
    # Tables that were written before there was an early exit are still what they were.
    specs = [made.labels_spec("bert", "sim", "facts_test")["settings"] for made in (without, with_it)]
    assert "early_exit" not in specs[0] and specs[1] == specs[0] | {"early_exit": True}


def scored(folder: Path, *options: str) -> Result:
    *texts, _ = rows(6)
    lines = [{"question": q, "references": r, "candidate": c} for q, r, c in zip(*texts, strict=True)]
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return CliRunner().invoke(app, ["score", str(path), "--force", *options])


def test_a_file_is_scored_with_it(folder: Path, tmp_path: Path) -> None:
    assert scored(tmp_path, "--judge", str(folder)).exit_code == 0
    whole = pd.read_json(tmp_path / "answers.scored.jsonl", lines=True)
    assert scored(tmp_path, "--judge", str(folder), "--early-exit", "--judge", "contains").exit_code == 0
    early = pd.read_json(tmp_path / "answers.scored.jsonl", lines=True)
    assert whole["verdict"].tolist() == early["judge_verdict"].tolist() and whole["reason"].isna().all()
    assert set(early["judge_reason"]) == {UNREAD}


@pytest.mark.parametrize("judge", ["contains", "settings.yaml:rule"])
def test_what_has_no_encoder_cannot_exit_early(tmp_path: Path, judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("judges: {rule: {kind: lexical, metric: contains}}")
    refused = scored(tmp_path, "--judge", judge, "--early-exit")
    assert refused.exit_code == 1
    assert f"--early-exit: {judge.rpartition(':')[2]} cannot do so; name a trained judge" in refused.output
    assert not (tmp_path / "answers.scored.jsonl").exists()
