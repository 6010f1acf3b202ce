"""The policies `strict` and `lenient`: what a partly correct answer counts as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tiny_models
from scipy.special import expit, logit
from test_early_exit import rows, with_bounds

from bert_judge.config import Training
from bert_judge.encoder.checkpoint import JudgeMetadata
from bert_judge.judges.bert import stacker
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.text_steps import RULE_SCORE
from bert_judge.judges.model_card import render
from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading
from bert_judge.runtime.errors import InputError

OFFSET = 1.5


def graded(number: int) -> tuple[list[str], list[list[str]], list[str], list[float]]:
    """Every fifth answer is partly correct."""
    *texts, labels = rows(number)
    return (*texts, [0.5 if at % 5 == 4 else label for at, label in enumerate(labels)])  # type: ignore[return-value]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge that was calibrated on partial credit."""
    path = tmp_path_factory.mktemp("policy")
    judge = BERTJudge(tiny_models.encoder(path / "backbone"))
    *texts, labels = rows(240)
    judge.fit(*texts, labels, training=Training(epochs=1), work_folder=path / "work")
    *texts, labels = graded(2 * stacker.MIN_ROWS)
    judge.calibrate(*texts, labels)
    judge.save(path / "judge")
    return path / "judge"


def with_offset(folder: Path, into: Path, offset: float | None) -> Path:
    """Copy a judge, with logit bounds that leave some rows to the encoder, and set its offset."""
    copied = with_bounds(folder, into, (-2.0, 0.0, 2.0))
    card = json.loads((copied / "judge.json").read_text("utf-8"))
    (copied / "judge.json").write_text(json.dumps(card | {"partial_offset": offset}))
    return copied


def test_the_offset_is_that_of_the_likelihood() -> None:
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 2, 20_000)
    labels = draw.random(20_000) < expit(logits + OFFSET)
    assert stacker.fit_partial_offset(logits, labels) == pytest.approx(OFFSET, abs=0.1)
    # Never negative, so that no answer is more likely fully than at least partly correct.
    assert 0 <= stacker.fit_partial_offset(logits, logits > 2) < 1e-3
    assert stacker.fit_partial_offset(logits, np.ones(20_000)) == pytest.approx(stacker.MAX_PARTIAL_OFFSET, abs=1e-3)
    first = np.arange(20_000) < 10_000
    changed = np.where(first, labels, 0)
    assert stacker.fit_partial_offset(logits, changed, first) == pytest.approx(
        stacker.fit_partial_offset(logits[first], labels[first])
    )


@pytest.mark.parametrize(
    ("labels", "lenient"),
    [
        ([0.0, 1.0, *[0.5] * 20], [0, 1, *[1] * 20]),
        ([0.0, 1.0, *[0.25, 0.75] * 10], [0, 1, *[1] * 20]),
        # Duplicates that were labelled twice, a teacher's probabilities, and no incorrect answer.
        ([0.0, 1.0, *[0.5] * 19], None),
        ([0.0, 1.0, *np.linspace(0.1, 0.9, 40)], None),
        ([1.0, *[0.5] * 20], None),
        ([0.0, 1.0], None),
    ],
)
def test_labels_of_few_values_are_partial_credit(labels: list[float], lenient: list[float] | None) -> None:
    found = stacker.find_lenient_labels(labels)
    assert (None if found is None else found.tolist()) == lenient


def test_calibration_fits_the_offset_and_new_training_forgets_it(folder: Path, tmp_path: Path) -> None:
    judge = BERTJudge(folder)
    before = judge.checkpoint.metadata.partial_offset
    assert before is not None and 0 < before < stacker.MAX_PARTIAL_OFFSET
    *texts, labels = graded(2 * stacker.MIN_ROWS)
    offset = judge.fit_partial_offset(*texts, np.array(labels) > 0)
    assert offset == judge.checkpoint.metadata.partial_offset == pytest.approx(before, abs=0.02), "those of the calibration"
    slope = judge.recalibrate(*texts, [float(label > 0.7) for label in labels])["slope"]
    assert judge.checkpoint.metadata.partial_offset == pytest.approx(slope * offset)
    judge.recalibrate(*texts, labels)
    assert judge.checkpoint.metadata.partial_offset != pytest.approx(slope * offset)
    judge.calibrate(*texts, [float(label > 0.7) for label in labels])
    assert judge.checkpoint.metadata.partial_offset is None
    judge.checkpoint.update(partial_offset=OFFSET)
    judge.fit(*texts, labels, training=Training(epochs=0.1), work_folder=tmp_path / "work")
    assert judge.checkpoint.metadata.partial_offset is None


def test_an_answer_is_never_more_likely_fully_than_partly_correct(folder: Path, tmp_path: Path) -> None:
    *texts, _ = rows(60)
    known = with_offset(folder, tmp_path / "judge", OFFSET)
    grades = BERTJudge(known).predict_grades(*texts)
    assert grades.shape == (60, 2) and (grades[:, 1] > grades[:, 0]).all()
    for column, policy in enumerate(("strict", "lenient")):
        scores = BERTJudge(known, early_exit=False, policy=policy).predict(*texts)
        np.testing.assert_allclose(grades[:, column], scores, atol=1e-9)
    np.testing.assert_allclose(logit(grades[:, 1]) - logit(grades[:, 0]), OFFSET, atol=1e-6)
    same = BERTJudge(with_offset(folder, tmp_path / "zero", 0.0)).predict_grades(*texts)
    np.testing.assert_array_equal(same[:, 0], same[:, 1])


@pytest.mark.parametrize("policy", ["strict", "lenient"])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("offset", [0.7, 4.0])
def test_early_exit_is_as_safe_under_either_policy(
    folder: Path, tmp_path: Path, policy: str, threshold: float, offset: float
) -> None:
    """Rows whose encoder logit is within the bounds have the verdict of the whole judge, and the encoder reads those in doubt."""
    known = with_offset(folder, tmp_path / "judge", offset)
    *texts, _ = rows(120)
    quick, whole = (BERTJudge(known, threshold, early_exit=early, policy=policy) for early in (True, False))
    found, expected = quick.explain(*texts), whole.explain(*texts)
    within = np.abs(logit(expected.raw_scores)) <= 2
    assert within.mean() > 0.9
    np.testing.assert_array_equal((found.scores >= threshold)[within], (expected.scores >= threshold)[within])
    # In doubt are the rows on whose verdict the ends of the bounds differ, by the threshold on the strict logit.
    metadata = quick.checkpoint.metadata
    assert metadata.stacker is not None
    shifted = logit(threshold) - (offset if policy == "lenient" else 0)
    trees = logit(expected.scores) - (offset if policy == "lenient" else 0) - metadata.stacker.encoder * logit(expected.raw_scores)
    reach = 2 * metadata.stacker.encoder
    np.testing.assert_array_equal(found.tokens > 0, (trees - reach < shifted) & (trees + reach >= shifted))


def test_a_rule_module_and_a_blank_answer(folder: Path, tmp_path: Path) -> None:
    judge = BERTJudge(with_offset(folder, tmp_path / "judge", OFFSET), policy="lenient")
    judge.checkpoint.update(rules={"number": ["correct", "incorrect"]})
    asked = [Row("", 0, "m", "How many?", ("1000",), text) for text in ("1,000", "It is 900.", " ")]
    right, wrong, blank = judge.judge(asked)
    assert right.score == pytest.approx(expit(logit(RULE_SCORE) + OFFSET)) and right.verdict == "correct"
    assert wrong.score == pytest.approx(expit(OFFSET - logit(RULE_SCORE))) and wrong.verdict == "incorrect"
    assert right.reason and wrong.reason and wrong.reason.startswith("number: ")
    assert (blank.score, blank.verdict) == (0.0, "incorrect")
    assert judge.predict(["Which city?"], [["Köln"]], [" "]) == [0.0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "was not fitted to partial credit, so it has no policy lenient; use policy strict, or recalibrate it with labels"),
        ({"calibrated": False}, "policy lenient needs calibrated scores; remove calibrated: false"),
    ],
)
def test_a_judge_without_the_policy_says_so_in_one_line(folder: Path, tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    unknown = with_offset(folder, tmp_path / "judge", None)
    with pytest.raises(InputError, match=says) as caught:
        BERTJudge(unknown, policy="lenient", **settings).predict(["q"], [["a"]], ["a"])
    assert "\n" not in str(caught.value) and str(unknown) in str(caught.value)
    with pytest.raises(InputError, match="policy: unknown value 'mild'; choose one of strict, lenient"):
        BERTJudge(unknown, policy="mild")


def test_the_policy_of_a_loaded_judge(folder: Path, tmp_path: Path) -> None:
    known, unknown = (with_offset(folder, tmp_path / name, offset) for name, offset in (("known", OFFSET), ("unknown", None)))
    strict, lenient = (judge_loading.load_judges([str(known)], policy=policy)[0] for policy in ("strict", "lenient"))
    assert (strict.judge.policy, lenient.judge.policy) == ("strict", "lenient")
    # Verdicts of the one are not taken for those of the other.
    assert strict.origin != lenient.origin and strict.origin == judge_loading.load_judges([str(known)])[0].origin
    with pytest.raises(InputError, match="was not fitted to partial credit"):
        judge_loading.load_judges([str(unknown)], policy="lenient")
    with pytest.raises(InputError, match="--policy lenient: the judge contains cannot tell partly correct answers"):
        judge_loading.load_judges(["contains"], policy="lenient")
    assert judge_loading.load_judges(["contains"], policy="strict")[0].name == "contains"


def test_the_card_states_the_policy() -> None:
    known, unknown = (render("bert/policy.md.jinja", judge=JudgeMetadata(partial_offset=offset)) for offset in (OFFSET, None))
    assert "`lenient`: 1.500 is added to the logit" in known and "has no policy `lenient`" in unknown
    for card in (known, unknown):
        assert "less specific than the reference" in card and "attempts\nnothing is incorrect" in card
