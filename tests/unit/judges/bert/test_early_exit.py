"""Early exit: rows that skip the encoder."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import tiny_models

from bert_judge import plan
from bert_judge.config import Training
from bert_judge.encoder.checkpoint import LogitBounds
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.stacker import MIN_ROWS, TAIL, fit_logit_bounds
from bert_judge.judges.bert.text_steps import FEATURES, RULE_SCORE
from bert_judge.judges.protocol import Row
from bert_judge.report import hub_folder
from bert_judge.runtime.errors import InputError

CITIES = ["Köln", "Paris", "東京", "Lima", "Oslo", "Cairo", "Quito", "Minsk", "Accra", "Hanoi"]
RUN = {
    "models": {"sim": {"generator": "simulated", "p_correct": 0.5}},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "datasets": {"d": {"teacher": "truth", "tasks": ["facts_train"]}},
    "scorers": ["bert"],
}


def rows(number: int) -> tuple[list[str], list[list[str]], list[str], list[float]]:
    """Alternate blocks of correct and incorrect answers."""
    cities = [CITIES[i % len(CITIES)] for i in range(number)]
    said = [city if i // len(CITIES) % 2 == 0 else CITIES[(i + 3) % len(CITIES)] for i, city in enumerate(cities)]
    candidates = [f"It is {city}, I believe, {i}." for i, city in enumerate(said)]
    labels = [float(one == other) for one, other in zip(cities, said, strict=True)]
    return [f"Which city, {i}?" for i in range(number)], [[city] for city in cities], candidates, labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained judge with a tiny, inaccurate encoder and accurate trees."""
    path = tmp_path_factory.mktemp("early_exit")
    judge = BERTJudge(tiny_models.encoder(path / "backbone"))
    *texts, labels = rows(240)
    judge.fit(*texts, labels, training=Training(epochs=1), work_folder=path / "work")
    *texts, labels = rows(2 * MIN_ROWS)
    judge.calibrate(*texts, labels)
    judge.save(path / "judge")
    return path / "judge"


def with_bounds(folder: Path, into: Path, encoder: tuple[float, float, float]) -> Path:
    """Copy a judge and set constant logit bounds."""
    into.mkdir()
    for path in folder.iterdir():
        (into / path.name).write_bytes(path.read_bytes())
    card = json.loads((into / "judge.json").read_text("utf-8"))
    low, mean, high = ([value] for value in encoder)
    (into / "judge.json").write_text(json.dumps(card | {"logit_bounds": {"trees": [0.0], "low": low, "mean": mean, "high": high}}))
    return into


def test_logit_bounds_contain_nearly_all_rows_and_follow_the_trees() -> None:
    draw = np.random.default_rng(0)
    trees = draw.normal(0, 4, 5000)
    encoder = np.tanh(trees) + draw.normal(0, 1 + (trees > 0), 5000)
    bounds = fit_logit_bounds(encoder, trees)
    assert bounds is not None and np.all(np.diff(bounds.trees) > 0)
    low, mean, high = bounds.interpolate(trees)
    assert low.shape == (5000,) and (low < mean).all() and (mean < high).all()
    for outside in (encoder < low, encoder > high):
        assert outside.mean() == pytest.approx(TAIL, abs=TAIL / 2)
    # Wider where the encoder varies more; constant beyond the first and last bin.
    assert np.ptp(bounds.interpolate(np.array([6.0]))) > 1.5 * np.ptp(bounds.interpolate(np.array([-6.0])))
    assert np.array_equal(bounds.interpolate(np.array([-99.0]))[0], [bounds.low[0]])


def test_too_few_rows_give_no_bounds() -> None:
    assert fit_logit_bounds(np.zeros(MIN_ROWS - 1), np.zeros(MIN_ROWS - 1)) is None
    assert fit_logit_bounds([], []) is None
    assert fit_logit_bounds(np.zeros(MIN_ROWS), np.zeros(MIN_ROWS)) == LogitBounds([0.0], [0.0], [0.0], [0.0])


def test_early_exit_changes_no_verdict(folder: Path) -> None:
    *texts, _ = rows(120)
    whole, quick = BERTJudge(folder, early_exit=False), BERTJudge(folder)
    read, left_out = whole.explain(*texts), quick.explain(*texts)
    unread = np.isnan(left_out.raw_scores)
    assert unread.mean() > 0.9, "accurate trees leave nothing to the encoder"
    assert np.array_equal(left_out.scores >= 0.5, read.scores >= 0.5)
    assert (left_out.tokens[unread] == 0).all() and not left_out.truncated[unread].any()
    assert (np.abs(left_out.scores - read.scores) < 0.05).all()


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.95])
def test_the_encoder_reads_every_row_it_could_flip(folder: Path, tmp_path: Path, threshold: float) -> None:
    far = with_bounds(folder, tmp_path / "far", (-1e9, 0.0, 1e9))
    *texts, _ = rows(30)
    whole, quick = (BERTJudge(far, threshold=threshold, early_exit=early) for early in (False, True))
    expected, found = whole.explain(*texts), quick.explain(*texts)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
    np.testing.assert_array_equal(found.tokens, expected.tokens)


def test_early_exit_depends_on_the_threshold(folder: Path, tmp_path: Path) -> None:
    # The same bounds for all rows, and trees that separate the classes.
    fixed = with_bounds(folder, tmp_path / "fixed", (-0.1, 0.0, 0.1))
    *texts, labels = rows(40)
    scores = BERTJudge(fixed).explain(*texts).scores
    assert ((scores >= 0.5) == labels).all()
    between = float(scores[0])
    read = BERTJudge(fixed, threshold=between).explain(*texts).tokens > 0
    assert read[0] and not read[np.abs(scores - between) > 0.2].any()


def test_reasons_say_what_compared_the_words(folder: Path, tmp_path: Path) -> None:
    *texts, _ = rows(4)
    asked = [Row(str(i), 0, "m", q, tuple(r), c) for i, (q, r, c) in enumerate(zip(*texts, strict=True))]
    asked.append(Row("empty", 0, "m", "Which city?", ("Köln",), " "))
    *labels, empty = BERTJudge(folder).judge(asked)
    assert {(label.raw, label.prompt_tokens, label.truncated) for label in labels} == {(None, 0, False)}
    assert labels[0].reason == 'by words: has all words of "Köln"; adds i, believe'
    assert empty.reason == "empty answer"
    far = with_bounds(folder, tmp_path / "far", (-1e9, 0.0, 1e9))
    read = BERTJudge(far).judge(asked)[:-1]
    assert all(label.raw for label in read) and read[0].reason == 'by meaning: has all words of "Köln"; adds i, believe'


def test_rule_modules_decide_first_where_the_judge_lets_them(folder: Path) -> None:
    judge = BERTJudge(folder)
    texts = ["How many?"] * 4, [["1000"], ["1000"], ["1000"], ["Köln"]], ["1,000", "It is 900.", "many", "It is Köln, I believe."]
    judge.checkpoint.update(rules={"number": ["correct"]})
    asked = [Row(str(i), 0, "m", q, tuple(r), c) for i, (q, r, c) in enumerate(zip(*texts, strict=True))]
    right, wrong, *others = judge.judge(asked)
    assert right.score == RULE_SCORE and right.reason is not None and right.reason.startswith("number: ")
    assert right.prompt_tokens == 0 and not right.truncated
    # The module rejects the second answer, but this judge does not let it.
    assert wrong.score != 1 - RULE_SCORE and (wrong.reason or "").startswith('by words: has no word of "1000"')
    assert [label.decided_by for label in others] == [FEATURES] * 2
    judge.checkpoint.update(rules={"number": ["correct", "incorrect"]})
    assert judge.judge(asked)[1].score == pytest.approx(1 - RULE_SCORE)
    # The encoder alone.
    judge.calibrated = False
    assert not judge.explain(*texts).reasons.any()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (("x" * 99 + " ") * 39 + "x" * 100, False),
        ("x " + ("x" * 99 + " ") * 39 + "x" * 100, True),
        ("fox " * 500, False),
        ("fox " * 501, True),
        ("東" * 500, False),
        ("東" * 501, True),
    ],
)
def test_truncation_by_the_features_is_reported(folder: Path, text: str, cut: bool) -> None:
    judge = BERTJudge(folder)
    for row in ((["Köln"], text), ([text], "Köln")):
        found = judge.explain(["Which city?"], [row[0]], [row[1]])
        assert found.tokens[0] == 0 and found.truncated[0] == cut


def test_a_verdict_does_not_depend_on_other_rows(folder: Path) -> None:
    *texts, _ = rows(12)
    judge = BERTJudge(folder)
    alone = [judge.predict(*([column[i]] for column in texts))[0] for i in range(12)]
    np.testing.assert_allclose(judge.predict(*texts), alone, atol=1e-6)
    assert judge.predict([], [], []) == []


@pytest.mark.parametrize("early_exit", [True, False])
def test_columns_of_a_data_frame_are_read_by_position(folder: Path, early_exit: bool) -> None:
    *texts, _ = rows(12)
    frame = pd.DataFrame(dict(zip("qrc", texts, strict=True))).iloc[::-1]
    judge = BERTJudge(folder, early_exit=early_exit)
    np.testing.assert_allclose(judge.predict(frame["q"], frame["r"], frame["c"]), judge.predict(*texts)[::-1], atol=1e-6)


def test_without_calibration_every_row_is_read(folder: Path) -> None:
    *texts, _ = rows(20)
    alone, whole = (BERTJudge(folder, **settings).explain(*texts) for settings in ({"calibrated": False}, {"early_exit": False}))
    np.testing.assert_allclose(alone.scores, whole.raw_scores, atol=1e-6)
    assert (alone.tokens > 0).all()


def test_few_validation_rows_or_no_trees_disable_early_exit(tmp_path: Path) -> None:
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
def test_broken_logit_bounds_give_one_line(folder: Path, tmp_path: Path, broken: object) -> None:
    card = with_bounds(folder, tmp_path / "broken", (0.0, 0.0, 0.0)) / "judge.json"
    card.write_text(json.dumps(json.loads(card.read_text("utf-8")) | {"logit_bounds": broken}))
    with pytest.raises(InputError, match="retrain the judge") as caught:
        BERTJudge(card.parent)
    assert "\n" not in str(caught.value) and str(card) in str(caught.value)


def run(**settings: object) -> dict[str, object]:
    bert = {"kind": "bert", "dataset": "d", **settings}
    return RUN | {"judges": {"truth": {"kind": "imported"}, "bert": bert}}


def test_early_exit_changes_no_training_spec() -> None:
    without, with_it = plan.build_plan(run(early_exit=False)), plan.build_plan(run())
    assert without.training_spec("bert") == with_it.training_spec("bert")
    specs = [made.labels_spec("bert", "sim", "facts_test")["settings"] for made in (without, with_it)]
    assert specs[1]["early_exit"] is True and specs[0] == specs[1] | {"early_exit": False}


def test_from_run_passes_early_exit(folder: Path) -> None:
    *texts, _ = rows(4)
    for made in (plan.build_plan(run()), plan.build_plan(run(early_exit=False))):
        settings = made.labels_spec("bert", "sim", "facts_test")["settings"]
        judge = BERTJudge.from_run(folder / "judge.json", settings, "bert")
        assert (judge.explain(*texts).tokens > 0).all() == (settings.get("early_exit") is False)


def test_a_published_judge_is_checked_by_its_encoder_scores(folder: Path, tmp_path: Path) -> None:
    assert hub_folder.write(folder, tmp_path / "published") < hub_folder.TOLERANCE
    card = (tmp_path / "published" / "judge.json").read_text("utf-8")
    assert json.loads(card)["logit_bounds"] == json.loads((folder / "judge.json").read_text("utf-8"))["logit_bounds"]
