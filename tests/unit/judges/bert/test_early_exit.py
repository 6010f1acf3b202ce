"""Answers that the encoder need not read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny_models

from bert_judge import plan
from bert_judge.config import Training
from bert_judge.judges.bert import feature_pool
from bert_judge.judges.bert.early_exit import BEYOND, LEAST_ROWS, learn_reach, reach
from bert_judge.judges.bert.judge import EARLY_EXIT_REASON, BERTJudge
from bert_judge.judges.protocol import Row
from bert_judge.report.exporters import hub_folder
from bert_judge.runtime.errors import InputError

CITIES = ["Köln", "Paris", "東京", "Lima", "Oslo", "Cairo", "Quito", "Minsk", "Accra", "Hanoi"]
RUN = {
    "models": {"sim": {"generator": "simulated", "p_correct": 0.5}},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "datasets": {"d": {"teacher": "truth", "tasks": ["facts_train"]}},
    "scorers": ["bert"],
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
    (into / "judge.json").write_text(json.dumps(card | {"logit_bounds": {"trees": [0.0], "low": low, "mean": mean, "high": high}}))
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
    whole, quick = BERTJudge(folder, early_exit=False), BERTJudge(folder)
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
    scores = BERTJudge(fixed).predict(*texts)
    assert ((scores >= 0.5) == labels).all()
    between = float(scores[0])
    read = BERTJudge(fixed, threshold=between).explain(*texts).tokens > 0
    assert read[0] and not read[np.abs(scores - between) > 0.2].any()


def test_labels_say_what_was_not_read(folder: Path, tmp_path: Path) -> None:
    *texts, _ = rows(4)
    asked = [Row(str(i), 0, "m", q, tuple(r), c) for i, (q, r, c) in enumerate(zip(*texts, strict=True))]
    asked.append(Row("empty", 0, "m", "Which city?", ("Köln",), " "))
    *labels, empty = BERTJudge(folder).judge(asked)
    assert {(label.reason, label.raw, label.prompt_tokens, label.truncated) for label in labels} == {
        (EARLY_EXIT_REASON, None, 0, False)
    }
    assert empty.reason == "empty answer"
    far = with_reach(folder, tmp_path / "far", (-1e9, 0.0, 1e9))
    assert all(label.raw and label.reason is None for label in BERTJudge(far).judge(asked)[:-1])


@pytest.mark.parametrize(
    ("text", "cut"),
    [("x" * 4000, False), ("x" * 4001, True), ("fox " * 500, False), ("fox " * 501, True), ("東" * 500, False), ("東" * 501, True)],
)
def test_what_the_features_cut_says_so(folder: Path, text: str, cut: bool) -> None:
    judge = BERTJudge(folder)
    for row in ((["Köln"], text), ([text], "Köln")):
        found = judge.explain(["Which city?"], [row[0]], [row[1]])
        assert found.tokens[0] == 0 and found.truncated[0] == cut


def test_a_verdict_does_not_depend_on_other_rows(folder: Path) -> None:
    *texts, _ = rows(12)
    judge = BERTJudge(folder)
    alone = [judge.predict(*([column[i]] for column in texts))[0] for i in range(12)]
    np.testing.assert_allclose(judge.predict(*texts), alone, atol=1e-6)
    assert judge.predict([], [], []).shape == (0,)


def test_features_of_a_long_table_come_from_several_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = rows(120)[:3]
    alone = BERTJudge(folder).predict(*columns)
    monkeypatch.setattr(feature_pool, "ROWS_ALONE", 0)
    monkeypatch.setattr(feature_pool, "LEAST_ROWS", 1)
    judge = BERTJudge(folder)
    judge.features.processes = 2
    np.testing.assert_array_equal(judge.predict(*columns), alone)


@pytest.mark.parametrize("early_exit", [True, False])
def test_columns_of_a_data_frame_are_taken_in_their_order(folder: Path, early_exit: bool) -> None:
    *texts, _ = rows(12)
    frame = pd.DataFrame(dict(zip("qrc", texts, strict=True))).iloc[::-1]
    judge = BERTJudge(folder, early_exit=early_exit)
    np.testing.assert_allclose(judge.predict(frame["q"], frame["r"], frame["c"]), judge.predict(*texts)[::-1], atol=1e-6)


def test_without_calibration_every_row_is_read(folder: Path) -> None:
    *texts, _ = rows(20)
    alone, whole = (BERTJudge(folder, **settings).explain(*texts) for settings in ({"calibrated": False}, {"early_exit": False}))
    np.testing.assert_allclose(alone.scores, whole.raw, atol=1e-6)
    assert (alone.tokens > 0).all()


def test_few_rows_held_out_and_no_trees_leave_all_to_the_encoder(tmp_path: Path) -> None:
    *texts, labels = rows(20)
    for features in (True, False):
        judge = BERTJudge(tiny_models.encoder(tmp_path / f"backbone {features}"))
        judge.fit(*texts, labels, training=Training(epochs=1), features=features, work_folder=tmp_path / f"work {features}")
        metrics, _ = judge.calibrate(*texts, labels)
        assert metrics.get("share_read") == (1.0 if features else None)
        judge.save(tmp_path / "judge")
        assert (BERTJudge(tmp_path / "judge").explain(*texts).tokens > 0).all()


@pytest.mark.parametrize(
    "broken",
    [
        {"trees": [0.0]},
        {"trees": [0.0], "low": [0.0], "mean": [0.0], "high": [0.0, 1.0]},
        {"trees": ["x"], "low": ["x"], "mean": ["x"], "high": ["x"]},
        {"trees": [], "low": [], "mean": [], "high": []},
        dict.fromkeys(("trees", "low", "mean", "high"), 1.0),
        [1.0],
        5,
    ],
)
def test_a_broken_reach_gives_one_line(folder: Path, tmp_path: Path, broken: object) -> None:
    card = with_reach(folder, tmp_path / "broken", (0.0, 0.0, 0.0)) / "judge.json"
    card.write_text(json.dumps(json.loads(card.read_text("utf-8")) | {"logit_bounds": broken}))
    with pytest.raises(InputError, match="train the judge anew") as caught:
        BERTJudge(card.parent)
    assert "\n" not in str(caught.value) and str(card) in str(caught.value)


def run(**settings: object) -> dict[str, object]:
    bert = {"kind": "bert", "dataset": "d", **settings}
    return RUN | {"judges": {"truth": {"kind": "simulated"}, "bert": bert}}


def test_it_changes_no_training_and_tables_from_before_stay() -> None:
    without, with_it = plan.make(run(early_exit=False)), plan.make(run())
    assert without.judge_spec("bert") == with_it.judge_spec("bert")
    specs = [made.labels_spec("bert", "sim", "facts_test")["settings"] for made in (without, with_it)]
    assert "early_exit" not in specs[1] and specs[0] == specs[1] | {"early_exit": False}


def test_the_workflow_hands_the_setting_on(folder: Path) -> None:
    *texts, _ = rows(4)
    for made in (plan.make(run()), plan.make(run(early_exit=False))):
        settings = made.labels_spec("bert", "sim", "facts_test")["settings"]
        judge = BERTJudge.from_run(folder / "judge.json", settings, "bert")
        assert (judge.explain(*texts).tokens > 0).all() == (settings.get("early_exit") is False)


def test_a_published_judge_is_checked_by_what_its_encoder_says(folder: Path, tmp_path: Path) -> None:
    assert hub_folder.write(folder, tmp_path / "published") < hub_folder.TOLERANCE
    card = (tmp_path / "published" / "judge.json").read_text("utf-8")
    assert json.loads(card)["logit_bounds"] == json.loads((folder / "judge.json").read_text("utf-8"))["logit_bounds"]
