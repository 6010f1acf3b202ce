"""The pairwise encoder: exact symmetry, input, training, and the tie model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tiny_models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_judge.config import Training
from bert_judge.encoder.backend import LOGIT_ERRORS, BackendChoice
from bert_judge.encoder.encoding import EncodedRow, fair_lengths
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.pairwise.encoder import DavidsonTieModel, PairEncoderJudge, fit_tie_model
from bert_judge.judges.protocol import SWAPPED_VERDICTS, Pair
from bert_judge.runtime.errors import InputError

texts = st.text(max_size=40)
pairs = st.builds(Pair, texts, texts, texts, st.lists(texts, max_size=2).map(tuple))
EXAMPLES = [Pair(f"Pick {n}", f"good word {n}", f"bad thing {n}") for n in range(8)]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.encoder(tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="module")
def judge(backbone: Path) -> PairEncoderJudge:
    """A judge with random weights: symmetry does not depend on training."""
    made = PairEncoderJudge(backbone, max_length=48)
    made.checkpoint.trained = True
    made.checkpoint.update(pairwise={"log_nu": -0.5})
    return made


@given(listed=st.lists(pairs, min_size=1, max_size=4))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_swapping_the_answers_swaps_the_verdict_exactly(judge: PairEncoderJudge, listed: list[Pair]) -> None:
    one = judge.compare(listed)
    other = judge.compare([pair.swapped for pair in listed])
    for straight, turned in zip(one, other, strict=True):
        assert turned.verdict == SWAPPED_VERDICTS.get(straight.verdict, straight.verdict)
        assert straight.score is not None
        assert turned.score == pytest.approx(1 - straight.score, abs=1e-12)
        assert straight.consistent
        assert json.loads(str(turned.raw))["difference"] == -json.loads(str(straight.raw))["difference"]


def test_pairs_do_not_influence_each_other(judge: PairEncoderJudge) -> None:
    together = judge.compare(EXAMPLES)
    alone = [judge.compare([pair])[0] for pair in EXAMPLES]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-5)
    assert judge.compare([]) == []


def test_rounding_changes_no_verdict(judge: PairEncoderJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("Pick one", f"answer {n}", f"{n} answers", ()) for n in range(30)]
    exact_logits = judge.engine.logits

    def verdicts(precision: str, shift: float) -> list[str]:
        def rounded_logits(rows: Sequence[EncodedRow], *, exact: bool = False) -> np.ndarray:
            signs = np.array([(-1) ** row.ids[1] for row in rows])
            return exact_logits(rows, exact=True) + (0.0 if exact else shift) * signs

        monkeypatch.setattr(judge.engine, "choice", BackendChoice("torch", precision, "test"))
        monkeypatch.setattr(judge.engine, "logits", rounded_logits)
        return [preference.verdict for preference in judge.compare(pairs)]

    shift = 0.99 * LOGIT_ERRORS["bfloat16"]
    assert verdicts("bfloat16", shift) == verdicts("float32", 0.0)


def test_equal_answers_tie_and_a_long_one_is_truncated(judge: PairEncoderJudge) -> None:
    same, long = judge.compare([Pair("q", "word", "word"), Pair("q", "word " * 500, "x")])
    assert (same.verdict, same.score, same.truncated) == ("tie", 0.5, False)
    assert long.truncated


def test_special_token_inside_an_answer_stays_text(judge: PairEncoderJudge) -> None:
    separator = judge.checkpoint.tokenizer.separator_id
    counts = {sum(i == separator for i in judge.encode([Pair("q", text, "x")])[0][0].ids) for text in ("a", "a [SEP] b [SEP]")}
    assert len(counts) == 1


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(0, 100))
def test_fair_lengths(lengths: list[int], room: int) -> None:
    kept = fair_lengths(lengths, room)
    assert all(0 <= some <= length for some, length in zip(kept, lengths, strict=True))
    assert sum(kept) <= max(room, 0)
    cut = [some for some, length in zip(kept, lengths, strict=True) if some < length]
    assert len(set(cut)) <= 1
    # No part keeps more than the truncated ones, and no token is wasted.
    assert not cut or max(kept) == cut[0]
    assert not cut or room - sum(kept) < len(cut)


def test_fit_save_and_load(backbone: Path, tmp_path: Path) -> None:
    examples = [pair if n % 2 else pair.swapped for n, pair in enumerate(EXAMPLES * 4)]
    labels = [float(n % 2) for n in range(len(examples))]
    judge = PairEncoderJudge(backbone, max_length=48)
    judge.fit(examples, labels, Training(epochs=12, batch_size=8, learning_rate=3e-3), tmp_path / "work")
    judge.calibrate(examples, labels)
    verdicts = [preference.verdict for preference in judge.compare(examples)]
    assert verdicts == ["A" if label else "B" for label in labels]
    judge.save(tmp_path / "judge")
    again = PairEncoderJudge(tmp_path / "judge")
    assert [one.score for one in again.compare(examples)] == pytest.approx([one.score for one in judge.compare(examples)])
    with pytest.raises(InputError, match="a pairwise judge"):
        BERTJudge(tmp_path / "judge")


def test_a_difference_that_is_not_a_number_is_invalid(judge: PairEncoderJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge.engine, "logits", lambda rows, exact=False: np.full(len(rows), np.nan))
    [preference] = judge.compare([Pair("Why?", "Because.", "No.")])
    assert (preference.verdict, preference.score) == ("invalid", None)
    assert preference.reason == "the judge's score is not a number"


def test_untrained_backbone_and_pointwise_judge_are_rejected(backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an untrained backbone"):
        PairEncoderJudge(backbone).compare(EXAMPLES)
    single = BERTJudge(backbone)
    single.save(tmp_path / "single")
    with pytest.raises(InputError, match="a judge of single answers"):
        PairEncoderJudge(tmp_path / "single")


# --- ties ---


@given(st.floats(-1e6, 1e6), st.floats(0.1, 10), st.floats(-6, 6))
def test_tie_model_is_exactly_symmetric(difference: float, temperature: float, log_nu: float) -> None:
    [one, other] = DavidsonTieModel(temperature, log_nu).probabilities([difference, -difference])
    assert one.tolist() == other[::-1].tolist()
    assert one.sum() == pytest.approx(1)


def test_tie_model_recovers_its_parameters() -> None:
    draw = np.random.default_rng(0)
    truth = DavidsonTieModel(2.0, 0.3)
    differences = draw.normal(0, 4, 4000)
    outcomes = [draw.choice([1, 0.5, 0], p=chances) for chances in truth.probabilities(differences)]
    fitted = fit_tie_model(differences, outcomes)
    assert fitted.temperature == pytest.approx(2.0, rel=0.15)
    assert fitted.log_nu == pytest.approx(0.3, abs=0.15)


@pytest.mark.parametrize(
    ("differences", "labels", "said"),
    [([], [], None), ([1.0, -1.0], [1.0, 0.0], "never"), ([1.0, -1.0], [0.5, 0.5], "always")],
)
def test_tie_model_on_few_pairs(differences: list[float], labels: list[float], said: Any) -> None:
    fitted = fit_tie_model(differences, labels)
    assert np.isfinite(fitted).all()
    if said:
        likely = fitted.probabilities(differences)
        assert (likely.argmax(axis=1) == 1).all() == (said == "always")
