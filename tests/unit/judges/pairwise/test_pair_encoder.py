"""The pairwise encoder: exactly mirrored under a swap, what it reads, what it learns, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_judge.config import Training
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.pairwise import Pair, swapped, tie_model
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.pairwise.encoding import shares
from bert_judge.judges.pairwise.protocol import MIRRORED
from bert_judge.runtime.errors import InputError

texts = st.text(max_size=40)
pairs = st.builds(Pair, texts, texts, texts, st.lists(texts, max_size=2).map(tuple))
EXAMPLES = [Pair(f"Pick {n}", f"good word {n}", f"bad thing {n}") for n in range(8)]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.encoder(tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="module")
def judges(backbone: Path) -> dict[str, PairEncoderJudge]:
    """One per way of reading, with random weights: symmetry is no matter of training."""
    made = {compare: PairEncoderJudge(backbone, compare, max_length=48) for compare in ("symmetric", "pointwise", "single_order")}
    for judge in made.values():
        judge.checkpoint.trained = True
        judge.checkpoint.metadata.pairwise["log_nu"] = -0.5
    return made


@pytest.mark.parametrize("compare", ["symmetric", "pointwise"])
@given(listed=st.lists(pairs, min_size=1, max_size=4))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_swap_mirrors_the_verdict_exactly(judges: dict[str, PairEncoderJudge], compare: str, listed: list[Pair]) -> None:
    one = judges[compare].compare(listed)
    other = judges[compare].compare([swapped(pair) for pair in listed])
    for straight, turned in zip(one, other, strict=True):
        assert turned.verdict == MIRRORED.get(straight.verdict, straight.verdict)
        assert straight.score is not None
        assert turned.score == pytest.approx(1 - straight.score, abs=1e-12)
        assert straight.consistent
        assert json.loads(str(turned.raw))["difference"] == -json.loads(str(straight.raw))["difference"]


def test_a_judge_that_reads_one_order_at_a_time_may_contradict_itself(judges: dict[str, PairEncoderJudge]) -> None:
    judge = judges["single_order"]
    both = judge.differences(EXAMPLES), judge.differences([swapped(pair) for pair in EXAMPLES])
    assert not np.allclose(both[0], -both[1])
    found = judge.compare(EXAMPLES)
    assert all(one.consistent == (one.forward.verdict == one.backward.verdict) for one in found)


@pytest.mark.parametrize("compare", ["symmetric", "pointwise", "single_order"])
def test_a_verdict_does_not_depend_on_the_other_pairs(judges: dict[str, PairEncoderJudge], compare: str) -> None:
    together = judges[compare].compare(EXAMPLES)
    alone = [judges[compare].compare([pair])[0] for pair in EXAMPLES]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-5)
    assert judges[compare].compare([]) == []


def test_equal_answers_tie_and_a_long_one_is_cut(judges: dict[str, PairEncoderJudge]) -> None:
    same, long = judges["symmetric"].compare([Pair("q", "word", "word"), Pair("q", "word " * 500, "x")])
    assert (same.verdict, same.score, same.truncated) == ("tie", 0.5, False)
    assert long.truncated


def test_a_mark_inside_an_answer_stays_text(judges: dict[str, PairEncoderJudge]) -> None:
    judge = judges["symmetric"]
    separator = judge.checkpoint.tokenizer.sep_token_id
    counts = {sum(i == separator for i in judge.examples([Pair("q", text, "x")])[0][0].ids) for text in ("a", "a [SEP] b [SEP]")}
    assert len(counts) == 1


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(0, 100))
def test_what_is_too_long_loses_alike(lengths: list[int], room: int) -> None:
    kept = shares(lengths, room)
    assert all(0 <= some <= length for some, length in zip(kept, lengths, strict=True))
    assert sum(kept) <= max(room, 0)
    cut = [some for some, length in zip(kept, lengths, strict=True) if some < length]
    assert len(set(cut)) <= 1
    # Nobody else keeps more than those that were cut, and no token is given away.
    assert not cut or max(kept) == cut[0]
    assert not cut or room - sum(kept) < len(cut)


def test_it_learns_which_answer_is_better_and_goes_on_after_a_kill(backbone: Path, tmp_path: Path) -> None:
    examples = [pair if n % 2 else swapped(pair) for n, pair in enumerate(EXAMPLES * 4)]
    labels = [float(n % 2) for n in range(len(examples))]
    judge = PairEncoderJudge(backbone, "symmetric", max_length=48)
    judge.fit(examples, labels, Training(epochs=12, batch_size=8, learning_rate=3e-3), tmp_path / "work")
    judge.calibrate(examples, labels)
    said = [one.verdict for one in judge.compare(examples)]
    assert said == ["A" if label else "B" for label in labels]
    judge.save(tmp_path / "judge")
    again = PairEncoderJudge(tmp_path / "judge")
    assert [one.score for one in again.compare(examples)] == pytest.approx([one.score for one in judge.compare(examples)])
    with pytest.raises(InputError, match="a judge of two answers"):
        BERTJudge(tmp_path / "judge")


def test_a_backbone_and_a_judge_of_single_answers_are_refused(backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="never trained to compare"):
        PairEncoderJudge(backbone).compare(EXAMPLES)
    single = BERTJudge(backbone)
    single.save(tmp_path / "single")
    with pytest.raises(InputError, match="a judge of single answers"):
        PairEncoderJudge(tmp_path / "single")


# --- ties ---


@given(st.floats(-1e6, 1e6), st.floats(0.1, 10), st.floats(-6, 6))
def test_probabilities_are_mirrored_to_the_last_bit(difference: float, temperature: float, log_nu: float) -> None:
    [one, other] = tie_model.probabilities([difference, -difference], tie_model.Ties(temperature, log_nu))
    assert one.tolist() == other[::-1].tolist()
    assert one.sum() == pytest.approx(1)


def test_the_weight_of_a_tie_is_learnt() -> None:
    draw = np.random.default_rng(0)
    truth = tie_model.Ties(2.0, 0.3)
    differences = draw.normal(0, 4, 4000)
    outcomes = [draw.choice([1, 0.5, 0], p=chances) for chances in tie_model.probabilities(differences, truth)]
    found = tie_model.fit(differences, outcomes)
    assert found.temperature == pytest.approx(2.0, rel=0.15)
    assert found.log_nu == pytest.approx(0.3, abs=0.15)


@pytest.mark.parametrize(
    ("differences", "labels", "said"),
    [([], [], None), ([1.0, -1.0], [1.0, 0.0], "never"), ([1.0, -1.0], [0.5, 0.5], "always")],
)
def test_few_pairs_give_sound_numbers(differences: list[float], labels: list[float], said: Any) -> None:
    found = tie_model.fit(differences, labels)
    assert np.isfinite(found).all()
    if said:
        likely = tie_model.probabilities(differences, found)
        assert (likely.argmax(axis=1) == 1).all() == (said == "always")
