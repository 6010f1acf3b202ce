"""What the lexical features see, and the head that weighs them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.judges.bert import reference_context, stacker
from bert_judge.judges.bert.features import NAMES, feature_table, features
from bert_judge.runtime.errors import InputError

CHOICE = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus"


def seen(question: str, references: list[str], candidate: str) -> dict[str, float]:
    return dict(zip(NAMES, features(question, references, candidate), strict=True))


@pytest.mark.parametrize(
    ("question", "references", "candidate", "name", "expected"),
    [
        ("Capital?", ["Paris"], "It is Paris.", "contained", 1),
        ("Capital?", ["Paris"], "It is Parisian.", "contained", 0),
        ("Capital?", ["Paris"], "Paris", "same", 1),
        ("Who?", ["Beyoncé Knowles"], "beyonce", "contained_in", 1),
        ("Who?", ["Mac Donald"], "MacDonald", "run_together", 1),
        ("Who?", ["Tchaikovsky"], "It was Tchaikovski", "recall", pytest.approx(0.9)),
        ("Who?", ["Brahms"], "It was Liszt", "recall", 0),
        ("When?", ["12 May 1999"], "in May 1999, the 12th", "years", 1),
        ("When?", ["1999"], "in 1998", "years", -1),
        ("When?", ["1999"], "long ago", "years", -0.5),
        ("How many?", ["12"], "There are twelve.", "numbers", 1),
        ("How many?", ["12"], "Final answer: 13", "last_number", -1),
        ("How many?", ["1,200"], "so 3 * 400 = 1200", "last_number", 1),
        ("Who?", ["Brahms"], "7", "last_number", 0),
        ("Capital?", ["Paris"], "Lyon? No.\nFinal answer: Paris", "final_answer", 1),
        ("Capital?", ["Paris"], "Paris? No.\nFinal answer: Lyon", "final_answer", -1),
        ("Capital?", ["Paris"], "Paris", "final_answer", 0),
        (CHOICE, ["B", "Jupiter"], "The answer is (B).", "choice", 1),
        (CHOICE, ["B", "Jupiter"], "The answer is (C).", "choice", -1),
        (CHOICE, ["B", "Jupiter"], "Mars, Jupiter and Venus", "options_mentioned", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "negations", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "hedges", 1),
        ("Capital?", ["Paris", "City of Light"], "x", "references", pytest.approx(np.log(2))),
        ("Capital?", ["Paris"], "Paris or Rome", "alternative_near", 1),
        ("Capital?", ["Paris"], "Paris it is", "alternative_near", 0),
        ("Capital?", ["Paris"], "It is not Paris", "denied_before", 1),
        ("Capital?", ["Paris"], "Paris? That is wrong.", "denied_behind", 1),
        ("Capital?", ["Paris"], "Paris. No, sorry, it is Rome.", "retractions_behind", 2),
        ("Capital?", ["Paris"], "Rome? No, that is wrong. Paris.", "retractions_before", 2),
        ("Capital?", ["Paris"], "Rome", "words_before", 0),
        ("Capital?", ["Paris"], "It is surely Paris", "words_before", pytest.approx(np.log(4))),
        ("Capital?", ["Paris"], "Paris, not Rome", "rejected_behind", 1),
        ("Capital?", ["Paris"], "Paris. In Rome there is not one.", "rejected_behind", 0),
        ("Capital?", ["Paris"], "Paris – no, sorry, Rome", "corrected_behind", 2),
        ("Capital?", ["Paris"], "Some say Paris, others Rome", "divided", 2),
        ("Capital?", ["Paris"], "Rome, Oslo, Paris or Bonn", "parts_beside", 3),
        ("Capital?", ["Paris"], "Rome/Paris", "parts_beside", 1),
        ("Capital?", ["Paris"], "Paris", "parts_beside", 0),
        ("Capital?", ["Paris"], "Paris\n" + "Rome\n" * 40, "parts_beside", 6),
        ("Capital?", ["Paris"], "Let us see whether Paris is the", "unfinished", 1),
        ("Capital?", ["Paris"], "I see that it is Paris.", "unfinished", 0),
        ("Capital?", ["Paris"], "Rome, Oslo, or the", "unfinished", 0),
        ("Capital?", ["Paris"], "Paris" + " and so on" * 600, "contained", 1),
        ("首都は?", ["東京"], "答えは東京です", "contained", 1),
        ("Capital?", ["Paris"], "<think>Paris</think>Lyon", "contained", 0),
    ],
)
def test_features(question: str, references: list[str], candidate: str, name: str, expected: float) -> None:
    assert seen(question, references, candidate)[name] == expected


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3), st.text(max_size=80))
def test_any_text_has_finite_features(question: str, references: list[str], candidate: str) -> None:
    row = features(question, references, candidate)
    assert len(row) == len(NAMES) and np.isfinite(row).all()


def test_a_huge_answer_costs_no_more_than_its_end() -> None:
    assert seen("Capital?", ["Paris"], "x " * 500_000 + "Paris")["contained"] == 1


def test_no_rows_are_a_table() -> None:
    assert feature_table([], [], []).shape == (0, len(NAMES))


def rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    candidates = ["It is Paris." if i % 2 else "It is Lyon." for i in range(count)]
    return feature_table(["Capital?"] * count, [["Paris"]] * count, candidates), np.arange(count) % 2.0


def test_trees_learn_save_and_load(tmp_path: Path) -> None:
    table, labels = rows(400)
    trees = stacker.fit_trees(table, labels, np.ones(400), seed=0)
    logits = stacker.tree_logits(trees, table)
    assert ((logits > 0) == (labels > 0.5)).all()
    stacker.save_trees(trees, tmp_path)
    np.testing.assert_array_equal(stacker.tree_logits(stacker.load_trees(tmp_path), table), logits)
    np.testing.assert_array_equal(stacker.tree_logits(stacker.fit_trees(table, labels, np.ones(400), seed=0), table), logits)


def test_more_of_the_reference_never_counts_against_an_answer() -> None:
    """Not even where the rows of the training say so."""
    drawn = np.random.default_rng(0).uniform(0, 1, (2000, len(NAMES)))
    recall, length = NAMES.index("recall"), NAMES.index("answer_length")
    labels = (drawn[:, recall] + 0.1 * drawn[:, length] < 0.55).astype(float)
    trees = stacker.fit_trees(drawn, labels, np.ones(len(drawn)), seed=0)
    less, more = drawn.copy(), drawn.copy()
    less[:, recall], more[:, recall] = 0.1, 0.9
    assert (stacker.tree_logits(trees, more) >= stacker.tree_logits(trees, less)).all()
    less[:, length], more[:, length] = 0.1, 0.9
    assert (stacker.tree_logits(trees, more) < stacker.tree_logits(trees, less)).any(), "only what RISING names is bound"


def test_what_may_only_help_are_features() -> None:
    assert set(NAMES) >= stacker.RISING


def test_trees_of_fewer_features_are_still_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, labels = rows(400)
    known = [name for name in NAMES if name not in reference_context.NAMES]
    monkeypatch.setattr(stacker, "NAMES", tuple(known))
    older = table[:, [NAMES.index(name) for name in known]]
    trees = stacker.fit_trees(older, labels, np.ones(400), seed=0)
    logits = stacker.tree_logits(trees, older)
    stacker.save_trees(trees, tmp_path)
    monkeypatch.setattr(stacker, "NAMES", NAMES)
    np.testing.assert_array_equal(stacker.tree_logits(stacker.load_trees(tmp_path), table), logits)
    monkeypatch.setattr(stacker, "NAMES", NAMES[1:])
    with pytest.raises(InputError, match="made with other features than this version computes"):
        stacker.load_trees(tmp_path)


def test_broken_trees_are_one_line(tmp_path: Path) -> None:
    for content in ("", "no trees"):
        (tmp_path / stacker.FILE).write_text(content)
        with pytest.raises(InputError, match=r"features\.txt"):
            stacker.load_trees(tmp_path)


def test_the_stack_trusts_what_is_right() -> None:
    random = np.random.default_rng(0)
    labels = random.random(2000) < 0.5
    good, noise = np.where(labels, 2.0, -2.0) + random.normal(0, 1, 2000), random.normal(0, 2, 2000)
    stack = stacker.fit_stack(noise, good, labels.astype(float).tolist())
    assert stack["features"] > 1 and abs(stack["encoder"]) < 0.2


def test_made_up_rows_weigh_and_do_not_calibrate() -> None:
    random = np.random.default_rng(0)
    labels = (random.random(3000) < 0.8).astype(float)
    both = np.where(labels > 0.5, 1.0, -1.0) + random.normal(0, 1, 3000)
    # On the made-up rows, all wrong, the second is blind.
    encoder, trees = np.append(both, np.full(1000, -2.0)), np.append(both, np.full(1000, 2.0))
    stack = stacker.fit_stack(encoder, trees, [*labels, *np.zeros(1000)], real=3000)
    alone = stacker.fit_stack(both, both, labels.tolist())
    assert stack["encoder"] > 2 * abs(stack["features"])
    assert stack["encoder"] + stack["features"] == pytest.approx(alone["encoder"] + alone["features"], rel=0.05)
    assert stack["bias"] == pytest.approx(alone["bias"], abs=0.05)


def test_weights_count_rows_as_often() -> None:
    random = np.random.default_rng(0)
    encoder, trees, labels = random.normal(0, 2, 300), random.normal(0, 2, 300), random.random(300)
    often = [np.concatenate([part, np.repeat(part[200:], 2)]) for part in (encoder, trees, labels)]
    weighted = stacker.fit_stack(encoder, trees, labels.tolist(), weights=[1.0] * 200 + [3.0] * 100)
    assert weighted == pytest.approx(stacker.fit_stack(often[0], often[1], often[2].tolist()), abs=1e-3)


def test_soft_labels_calibrate_the_stack() -> None:
    z = np.linspace(-4, 4, 4000)
    stack = stacker.fit_stack(z, np.zeros(4000), (1 / (1 + np.exp(-z / 2))).tolist())
    assert stack["encoder"] == pytest.approx(0.5, abs=0.02) and stack["bias"] == pytest.approx(0, abs=0.02)


def test_one_class_weighs_nothing() -> None:
    assert stacker.fit_stack(np.ones(3), np.ones(3), [1.0, 1.0, 1.0]) == {"encoder": 0.5, "features": 0.5, "bias": 0.0}
