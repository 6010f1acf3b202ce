"""Language models fine-tuned on pairs: augmentation, training and loading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import tiny_models
from helpers.pair_files import pair_rows

from bert_judge import tables
from bert_judge.assets.prepare import prepare
from bert_judge.config.models import JudgeTuning
from bert_judge.judges.pairwise.fine_tuned import DEFAULTS, FineTunedPairJudge, augment, swap, swap_names
from bert_judge.judges.protocol import Pair
from bert_judge.judges.registry import TrainingContext, train_judge

ROWS = pair_rows(
    "ABtA" * 10,
    question=[f"Q{n}?" for n in range(40)],
    references=[["x"]] * 40,
    answer_a=[f"good {n}" if n % 4 in (0, 3) else f"bad {n}" for n in range(40)],
    answer_b=[f"good {n}" if n % 4 == 1 else f"bad {n}" for n in range(40)],
    grade_a=[9.0, 2.0, 5.0, 8.0] * 10,
    grade_b=[1.0, 7.0, 5.0, 3.0] * 10,
    rationale=["Assistant 1 beats Assistant 2.", None, "Answer A and answer B agree.", "1 is fine, model 2 is not."] * 10,
)


def test_swapping_swaps_everything_and_twice_is_nothing() -> None:
    swapped = swap(ROWS)
    first = swapped.iloc[0]
    assert (first["answer_a"], first["answer_b"], first["label"]) == ("bad 0", "good 0", "B")
    assert (first["grade_a"], first["grade_b"], first["rationale"]) == (1.0, 9.0, "Assistant 2 beats Assistant 1.")
    pd.testing.assert_frame_equal(swap(swap(swapped)), swapped)
    assert swap(swapped)["answer_a"].tolist() == ROWS["answer_a"].tolist()


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("Answer A is better than answer B.", "Answer B is better than answer A."),
        ("assistant 2 names 2 reasons", "assistant 1 names 2 reasons"),
        ("A good answer, a B-side.", "A good answer, a B-side."),
        ("response\t1", "response\t2"),
    ],
)
def test_only_names_of_answers_are_swapped(text: str, swapped: str) -> None:
    assert swap_names(text) == swapped


def tuning(**changes: Any) -> JudgeTuning:
    return JudgeTuning.model_validate({"epochs": 2.0, "batch_size": 8, "learning_rate": 5e-3, "max_length": 256, **changes})


def test_each_epoch_draws_again() -> None:
    rows = augment(ROWS, tuning(epochs=2.5))
    assert 80 < len(rows) < 120
    assert rows["pair_id"].value_counts().between(2, 3).all()
    first, second = rows.iloc[:40], rows.iloc[40:80]
    assert first["answer_a"].tolist() != second["answer_a"].tolist()
    assert 0.3 < rows["references"].isna().mean() < 0.7
    whole = augment(ROWS, tuning(epochs=1.0, swap_ratio=0.0, reference_drop_ratio=0.0))
    columns = ["answer_a", "references", "label"]
    assert whole[columns].values.tolist() == ROWS[columns].values.tolist()
    reversed_rows = augment(ROWS, tuning(epochs=1.0, swap_ratio=1.0, reference_drop_ratio=1.0))
    assert reversed_rows["answer_a"].tolist() == ROWS["answer_b"].tolist() and reversed_rows["references"].isna().all()


def spec(settings: JudgeTuning) -> dict[str, Any]:
    training = settings.model_dump(mode="json", exclude={*settings.run_time})
    return {"judge": "mine", "kind": "pairwise", "pairs": ["set"], "base": "tiny", "validation_fraction": 0.3, "training": training}


def test_a_judge_of_pairs_explains_if_its_data_did(tmp_path: Path) -> None:
    base = tiny_models.causal_lm(tmp_path / "base")
    prepare({"repository": str(base), "revision": None, "remote_code": False}, tmp_path / "b.json")
    tables.write(ROWS[tables.PAIRS.names], tmp_path / "pairs.parquet", tables.PAIRS, {})
    inputs = {"pairs": [tmp_path / "pairs.parquet"], "backbone": tmp_path / "b.json"}
    train_judge(TrainingContext(spec(tuning()), inputs, tmp_path / "mine", tmp_path / "work"))
    result = json.loads((tmp_path / "mine" / "metrics.json").read_text())["validation"]
    assert result["n"] >= 5 and 0 <= result["consistency"] <= 1
    pairs = [Pair("Q?", "good 1", "bad 1"), Pair("Q?", "same", "same"), Pair("Q?", "bad 2", "good 2", ("x",))]
    fast = FineTunedPairJudge.load(tmp_path / "mine", "mine", DEFAULTS).compare(pairs)
    assert [preference.forward.completion_tokens for preference in fast] == [1, None, 1]
    assert fast[1].verdict == "tie" and all(0 < (preference.score or 0) < 1 for preference in fast)
    explained = FineTunedPairJudge.load(tmp_path / "mine", "mine", DEFAULTS | {"reasoning": True}).compare(pairs)
    assert [preference.score for preference in explained] == [preference.score for preference in fast]
    assert (explained[0].forward.completion_tokens or 0) > 1


@pytest.mark.slow
def test_swap_augmentation_makes_a_judge_consistent(tmp_path: Path) -> None:
    """In every training pair the first answer is the better one. Without swaps the position is all there is to learn."""
    rows = pair_rows(
        "A" * 120,
        question=[f"Q{n}?" for n in range(120)],
        answer_a=[f"Paris {n % 10}" for n in range(120)],
        answer_b=[f"zebra {n % 10}" for n in range(120)],
    )
    prepare(
        {"repository": str(tiny_models.causal_lm(tmp_path / "base")), "revision": None, "remote_code": False}, tmp_path / "b.json"
    )
    tables.write(rows[tables.PAIRS.names], tmp_path / "pairs.parquet", tables.PAIRS, {})
    consistency = {}
    # The first is untrained: it takes one step that changes nothing.
    for name, swap_ratio, training in (
        ("untrained", 0.5, {"epochs": 0.01, "learning_rate": 1e-12}),
        ("without swaps", 0.0, {"epochs": 8.0, "learning_rate": 1e-2}),
        ("with swaps", 0.5, {"epochs": 8.0, "learning_rate": 1e-2}),
    ):
        settings = tuning(swap_ratio=swap_ratio, max_length=128, **training)
        inputs = {"pairs": [tmp_path / "pairs.parquet"], "backbone": tmp_path / "b.json"}
        train_judge(TrainingContext(spec(settings), inputs, tmp_path / "mine", tmp_path / "work"))
        result = json.loads((tmp_path / "mine" / "metrics.json").read_text())["validation"]
        consistency[name] = result["consistency"]
    assert consistency["with swaps"] > 0.8 > consistency["without swaps"] + 0.3
    assert consistency["with swaps"] > consistency["untrained"] + 0.3
