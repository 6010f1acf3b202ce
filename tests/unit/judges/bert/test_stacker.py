"""Trees on lexical features, the stacker, and temperature scaling."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from bert_judge.encoder.checkpoint import StackerWeights
from bert_judge.encoder.judge_folder import TREES_FILE
from bert_judge.judges.bert import stacker
from bert_judge.runtime.errors import InputError
from bert_judge.text.features import CONTEXT_FEATURES, FEATURE_NAMES, feature_table


def labelled_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    candidates = ["It is Paris." if i % 2 else "It is Lyon." for i in range(count)]
    return feature_table(["Capital?"] * count, [["Paris"]] * count, candidates), np.arange(count) % 2.0


def test_trees_fit_save_and_load(tmp_path: Path) -> None:
    table, labels = labelled_features(400)
    trees = stacker.fit_trees(table, labels, np.ones(400), seed=0)
    logits = stacker.predict_tree_logits(trees, table)
    assert ((logits > 0) == (labels > 0.5)).all()
    trees.save(tmp_path / TREES_FILE)
    np.testing.assert_array_equal(stacker.predict_tree_logits(stacker.load_trees(tmp_path), table), logits)
    np.testing.assert_array_equal(
        stacker.predict_tree_logits(stacker.fit_trees(table, labels, np.ones(400), seed=0), table), logits
    )


def test_trees_are_added_to_given_ones() -> None:
    table, labels = labelled_features(400)
    start = stacker.fit_trees(table, labels, np.ones(400), seed=0)
    few = slice(0, 200)
    trees = stacker.fit_trees(table[few], 1 - labels[few], np.ones(200), seed=0, start=start)
    assert (len(start.num_leaves), len(trees.num_leaves)) == (
        stacker.BOOSTING_ROUNDS,
        stacker.BOOSTING_ROUNDS + stacker.ADDED_ROUNDS,
    )
    before, after = (stacker.predict_tree_logits(grown, table) for grown in (start, trees))
    assert (np.abs(after) < np.abs(before)).all(), "the new labels contradict the old ones"


@pytest.mark.parametrize(("feature", "sign"), [("recall", 1), ("changed_numbers", -1)])
def test_trees_are_monotone(feature: str, sign: int) -> None:
    """Even if the training rows say otherwise."""
    table = np.random.default_rng(0).uniform(0, 1, (2000, len(FEATURE_NAMES)))
    constrained, length = FEATURE_NAMES.index(feature), FEATURE_NAMES.index("answer_length")
    labels = (sign * (table[:, constrained] - 0.5) + 0.1 * table[:, length] < 0.05).astype(float)
    trees = stacker.fit_trees(table, labels, np.ones(len(table)), seed=0)
    less, more = table.copy(), table.copy()
    less[:, constrained], more[:, constrained] = 0.1, 0.9
    assert (sign * (stacker.predict_tree_logits(trees, more) - stacker.predict_tree_logits(trees, less)) >= 0).all()
    less[:, length], more[:, length] = 0.1, 0.9
    assert (stacker.predict_tree_logits(trees, more) < stacker.predict_tree_logits(trees, less)).any(), "length is not constrained"


def test_monotone_features_exist() -> None:
    assert set(FEATURE_NAMES) >= stacker.INCREASING_FEATURES | stacker.DECREASING_FEATURES


def test_trees_of_fewer_features_still_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, labels = labelled_features(400)
    fewer = [name for name in FEATURE_NAMES if name not in CONTEXT_FEATURES]
    monkeypatch.setattr(stacker, "FEATURE_NAMES", tuple(fewer))
    subset = table[:, [FEATURE_NAMES.index(name) for name in fewer]]
    trees = stacker.fit_trees(subset, labels, np.ones(400), seed=0)
    logits = stacker.predict_tree_logits(trees, subset)
    trees.save(tmp_path / TREES_FILE)
    monkeypatch.setattr(stacker, "FEATURE_NAMES", FEATURE_NAMES)
    np.testing.assert_array_equal(stacker.predict_tree_logits(stacker.load_trees(tmp_path), table), logits)
    monkeypatch.setattr(stacker, "FEATURE_NAMES", FEATURE_NAMES[1:])
    with pytest.raises(InputError, match="uses features that this version does not compute"):
        stacker.load_trees(tmp_path)


def test_broken_trees_give_one_line(tmp_path: Path) -> None:
    for content in ("", "no trees"):
        (tmp_path / TREES_FILE).write_text(content)
        with pytest.raises(InputError, match=r"trees\.safetensors: not readable: .*retrain the judge"):
            stacker.load_trees(tmp_path)


def test_stacker_weights_the_accurate_model() -> None:
    random = np.random.default_rng(0)
    labels = random.random(2000) < 0.5
    good, noise = np.where(labels, 2.0, -2.0) + random.normal(0, 1, 2000), random.normal(0, 2, 2000)
    weights = stacker.fit_stacker(noise, good, labels.astype(float).tolist())
    assert weights.features > 1 and abs(weights.encoder) < 0.2


def test_synthetic_rows_change_weights_but_not_calibration() -> None:
    random = np.random.default_rng(0)
    labels = (random.random(3000) < 0.8).astype(float)
    both = np.where(labels > 0.5, 1.0, -1.0) + random.normal(0, 1, 3000)
    # On the synthetic rows, all incorrect, the trees are wrong.
    encoder, trees = np.append(both, np.full(1000, -2.0)), np.append(both, np.full(1000, 2.0))
    weights = stacker.fit_stacker(encoder, trees, [*labels, *np.zeros(1000)], num_real=3000)
    alone = stacker.fit_stacker(both, both, labels.tolist())
    assert weights.encoder > 2 * abs(weights.features)
    assert weights.encoder + weights.features == pytest.approx(alone.encoder + alone.features, rel=0.05)
    assert weights.bias == pytest.approx(alone.bias, abs=0.05)


def test_a_row_of_weight_3_counts_as_3_rows() -> None:
    random = np.random.default_rng(0)
    encoder, trees, labels = random.normal(0, 2, 300), random.normal(0, 2, 300), random.random(300)
    repeated = [np.concatenate([part, np.repeat(part[200:], 2)]) for part in (encoder, trees, labels)]
    weighted = stacker.fit_stacker(encoder, trees, labels.tolist(), weights=[1.0] * 200 + [3.0] * 100)
    expected = stacker.fit_stacker(repeated[0], repeated[1], repeated[2].tolist())
    assert astuple(weighted) == pytest.approx(astuple(expected), abs=1e-3)


def test_stacker_fits_soft_labels() -> None:
    z = np.linspace(-4, 4, 4000)
    weights = stacker.fit_stacker(z, np.zeros(4000), (1 / (1 + np.exp(-z / 2))).tolist())
    assert weights.encoder == pytest.approx(0.5, abs=0.02) and weights.bias == pytest.approx(0, abs=0.02)


def test_one_class_gives_equal_weights() -> None:
    assert stacker.fit_stacker(np.ones(3), np.ones(3), [1.0, 1.0, 1.0]) == StackerWeights(0.5, 0.5, 0.0)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_fit_temperature_recovers_the_temperature_of_the_labels(temperature: float) -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 4, 20_000)
    labels = random.random(20_000) < expit(logits / temperature)
    assert stacker.fit_temperature(logits, labels) == pytest.approx(temperature, rel=0.08)


def test_fit_temperature_of_soft_labels_is_exact() -> None:
    logits = np.linspace(-3, 3, 50)
    assert stacker.fit_temperature(logits, expit(logits / 2.5)) == pytest.approx(2.5, rel=1e-3)


def test_fit_temperature_of_no_rows_and_of_perfect_rows_stays_in_bounds() -> None:
    assert stacker.fit_temperature([], []) == 1.0
    assert 0.1 <= stacker.fit_temperature([5.0, -5.0], [1, 0]) < 0.2


def test_recalibration_follows_labels_as_far_as_the_priors_let_it() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, 4000)
    labels = (random.random(4000) < expit(0.5 * logits + 1.0)).astype(float)
    assert stacker.fit_recalibration([], []) == (1.0, 0.0)
    assert stacker.fit_recalibration(logits, labels) == pytest.approx((0.5, 1.0), abs=0.1)
    # Without priors, equal labels would have an infinite offset; and reversed labels do not reverse the order.
    assert 0 < stacker.fit_recalibration(logits[:20], np.ones(20))[1] < 3
    assert stacker.fit_recalibration(logits, 1 - (logits > 0))[0] == pytest.approx(stacker.MIN_SLOPE)


def test_cross_validation_scores_no_row_by_its_own_question() -> None:
    questions, logits = np.repeat(np.arange(20), 3), np.tile([-1.0, 0.5, 2.0], 20)
    labels = (logits > 0).astype(float)
    scores = stacker.cross_validate_recalibration(logits, labels, questions)
    changed = np.where(questions == 7, 1 - labels, labels)
    rescored = stacker.cross_validate_recalibration(logits, changed, questions)
    assert (rescored[questions == 7] == scores[questions == 7]).all() and (rescored[questions == 8] != scores[questions == 8]).all()
