"""Made-up training rows: their labels are certain, they say what they are, and they stay out of validation."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_dataset import build, rows_of, spec_of, write_pair

from bert_judge import config
from bert_judge.datasets.augmentation import KINDS, augment
from bert_judge.datasets.augmentation.rows import Made, Others, Row, contains
from bert_judge.runtime.keyed_random import KeyedRandom

CHOICE = "Which is a fruit?\n(A) stone\n(B) apple\n(C) chair"
RIGHT = {"restated", "reformatted", "shortened", "stated", "paraphrased", "settled", "surrounded", "mistyped"}
# Their reference is another answer.
COMPARED = {"paraphrased", "contradicted"}
# Wrong ones that hold the reference, and say that it is not the answer.
QUOTING = {"denied", "undecided", "taken_back"}
OTHERS = Others(
    [["Lyon"], ["Angela Merkel"], ["1912"], ["12 May 1900"], ["Bodensee"]],
    [
        Row("Who led Germany?", ("Merkel",), "For sixteen years Merkel led it.", True),
        Row("When?", ("12 May 1900",), "They say that 12 May 1900 was the day.", True),
        Row("どこ?", ("東京",), "it is 東京, I think", True),
    ],
)


def lenders(rows: list[Row]) -> Others:
    return Others([row.references for row in rows], rows)


def made(kind: str, row: Row, seeds: int = 40) -> set[Made]:
    """Everything a kind makes of a row over many seeds; empty when it does not fit."""
    results = [KINDS[kind](row, KeyedRandom((seed,)), OTHERS) for seed in range(seeds)]
    return {Made(tuple(result.references), result.candidate, result.right) for result in results if result}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "row",
    [
        Row("Who led Germany?", ("Angela Dorothea Merkel", "Merkel"), "It was Merkel. She led it.", True),
        Row("When?", ("12 May 1900",), "First, look. It happened on 3 May 1900.", False),
        Row("Wo?", ("Zürich",), "In Zürich.", True),
        Row("どこ?", ("東京",), "東京です。", True),
        Row(CHOICE, ("B", "apple"), "The answer is (B).", True),
        Row("How many?", ("3,200",), "Well. So 3,200.", True),
        Row("", ("",), "", False),
        Row("Why?", ("because " * 40,), "x" * 5000, True),
    ],
)
def test_right_is_right_and_wrong_has_no_reference(kind: str, row: Row) -> None:
    for result in made(kind, row):
        assert result.right == (kind in RIGHT)
        assert result.references
        if kind == "restated":
            assert contains(result.candidate, row.references) or result.candidate.casefold() in map(str.casefold, row.references)
        elif kind in COMPARED:
            assert contains(result.references[0], row.references) and result.references[0] != row.candidate
            assert result.right or not contains(result.candidate, row.references)
        elif kind not in RIGHT | QUOTING and not row.options:
            assert not contains(result.candidate, [text for text in result.references if text])


@pytest.mark.parametrize(
    ("kind", "row", "expected"),
    [
        ("reformatted", Row("When?", ("12 May 1900",), "", True), {"May 12, 1900"}),
        ("reformatted", Row("When?", ("May 12, 1900",), "", True), {"12 May 1900"}),
        ("reformatted", Row("When?", ("10–12 May 1900",), "", True), set()),
        ("reformatted", Row("How many?", ("7",), "", True), {"seven"}),
        ("reformatted", Row("How many?", ("Seven dwarfs",), "", True), {"7 dwarfs"}),
        ("reformatted", Row("What did he say?", ("one small step for a man",), "", True), set()),
        ("reformatted", Row("How many?", ("3,200",), "", True), {"3200"}),
        ("reformatted", Row("Who?", ("John Paul Smith",), "", True), {"John P. Smith"}),
        ("reformatted", Row("Which firm?", ("Data Center Group",), "", True), set()),
        ("shortened", Row("When?", ("12 May 1900",), "", True), {"May 1900", "1900"}),
        ("shortened", Row("When?", ("May 12, 1900",), "", True), {"May 1900", "1900"}),
        ("shortened", Row("Which day?", ("12 May 1900",), "", True), set()),
        ("shortened", Row("Who?", ("Claire Rhiannon Holt",), "", True), {"Claire Holt"}),
        ("shortened", Row("When were the games of 1900?", ("12 May 1900",), "", True), {"May 1900"}),
        ("shortened", Row("Who?", ("Bank of America",), "", True), set()),
        ("shortened", Row("Who?", ("New Jersey Devils",), "", True), set()),
        ("shortened", Row("Which firm?", ("Data Center Group",), "", True), set()),
        ("shortened", Row("Who?", ("Dr. Éva Nagy",), "", True), {"Éva Nagy"}),
        ("shortened", Row("What?", ("total cost (TC)",), "", True), {"total cost"}),
        ("shortened", Row("Which layer?", ("physical layer or layer 1",), "", True), {"physical layer", "layer 1"}),
        ("shortened", Row("Where?", ("in the north",), "", True), {"the north"}),
        ("shortened", Row("Which?\n(A) the one\n(B) the other", ("A", "the one"), "", True), set()),
        ("restated", Row(CHOICE, ("B", "apple"), "", True), {"B", "apple", "(B) apple"}),
        ("other_answer", Row(CHOICE, ("B", "apple"), "", True), {"A", "stone", "(A) stone", "C", "chair", "(C) chair"}),
        ("near_miss", Row("?", ("Paris",), "", True), set()),
        ("swapped_reference", Row("?", ("Paris",), "No idea", False), set()),
        ("cut_short", Row("?", ("Public",), "It is publicly traded. So it is public.", True), set()),
        ("cut_short", Row("?", ("42",), "We compute. So 42.", True), {"We compute."}),
        ("cut_short", Row("?", ("Paris",), "It is Rome. Paris is far.", False), {"It is Rome."}),
        ("undecided", Row(CHOICE, ("B", "apple"), "", True), set()),
        ("undecided", Row("Is it?", ("Yes",), "", True), set()),
        ("taken_back", Row("Is it?", ("no",), "", True), set()),
        ("mistyped", Row("Where?", ("Paris",), "", True), set()),
        ("no_answer", Row("Is it so?", ("See above",), "", True), None),
    ],
)
def test_what_is_made(kind: str, row: Row, expected: set[str] | None) -> None:
    bare = {result.candidate for result in made(kind, row, 300)}
    if expected is None:
        assert bare and "See above." not in bare
    elif expected:
        # Bare or in a phrase around it.
        assert expected <= bare and all(any(text in candidate for text in expected) for candidate in bare)
    else:
        assert not bare


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("who is the author of Emma?", "Jane Austen", "The author of Emma is Jane Austen."),
        ("Who wrote Emma?", "Jane Austen", "Jane Austen wrote Emma."),
        ("What band made the album?", "Abba", "Abba made the album."),
        ("Where was it first held?", "Rome", "It first was held in Rome."),
        ("when did it come out", "May 12, 1900", "It come out on May 12, 1900."),
        ("How many states are there in the union?", "fifty", "Fifty states in the union."),
    ],
)
def test_a_question_becomes_a_sentence(question: str, answer: str, sentence: str) -> None:
    texts = {result.candidate for result in made("stated", Row(question, (answer,), "", True), 300)}
    assert any(text.startswith(sentence) for text in texts)
    # Or a shorter form of it: of a day at least its year.
    assert all(answer.split()[-1].lower() in text.lower() for text in texts)


def test_sentences_state_whole_references_and_shorter_ones() -> None:
    row = Row("Who founded the firm?", ("Dr. Éva Nagy",), "", True)
    texts = {result.candidate for result in made("stated", row, 300)}
    whole = {text for text in texts if "Dr. Éva Nagy" in text}
    assert whole and texts - whole and all("Éva Nagy" in text for text in texts)


def test_the_same_sentence_is_made_of_another_answer() -> None:
    found = {result.candidate for result in made("misstated", Row("Who wrote Emma?", ("Jane Austen",), "", True), 300)}
    assert found and not any("Austen" in text for text in found)
    assert any(" wrote Emma." in text for text in found)
    # A sentence that holds the reference anyway is no wrong answer.
    assert not made("misstated", Row("Who is older, Ann or Eve?", ("Ann",), "", True), 300)


ANSWERS = [
    Row("Who wrote Emma?", ("Jane Austen",), "Jane Austen.", True),
    Row("Who wrote Emma?", ("Jane Austen",), "The novel is by Jane Austen.", True),
    Row("Who wrote Emma?", ("Jane Austen",), "Charlotte Brontë wrote Emma.", False),
    # No sentence, no reference in it, wrong, another question.
    Row("Who wrote Emma?", ("Jane Austen",), "Austen, " * 60 + "Jane Austen.", True),
    Row("Who wrote Emma?", ("Jane Austen",), "I have no comment on that.", True),
    Row("Who wrote Emma?", ("Jane Austen",), "Not Jane Austen, I am sure.", False),
    Row("Who wrote Ulysses?", ("James Joyce",), "It was James Joyce who did.", True),
]


@pytest.mark.parametrize(
    ("kind", "row", "expected"),
    [
        ("paraphrased", ANSWERS[0], {("The novel is by Jane Austen.", "Jane Austen.")}),
        ("paraphrased", ANSWERS[1], set()),  # the only sentence itself
        ("paraphrased", ANSWERS[2], set()),
        ("contradicted", ANSWERS[2], {("The novel is by Jane Austen.", "Charlotte Brontë wrote Emma.")}),
        ("contradicted", ANSWERS[0], {("The novel is by Jane Austen.", "James Joyce.")}),
        ("contradicted", ANSWERS[6], set()),
    ],
)
def test_an_answer_stands_in_for_the_reference(kind: str, row: Row, expected: set[tuple[str, str]]) -> None:
    results = [KINDS[kind](row, KeyedRandom((seed,)), lenders(ANSWERS)) for seed in range(100)]
    assert {(*result.references, result.candidate) for result in results if result} == expected


def test_a_question_with_options_needs_no_other_answer() -> None:
    rows = [Row(CHOICE, ("B", "apple"), f"The answer is (B), the apple, {n}.", True) for n in range(3)]
    assert lenders(rows).right_answers(CHOICE)
    assert not any(KINDS[kind](rows[0], KeyedRandom((seed,)), lenders(rows)) for kind in COMPARED for seed in range(50))


def test_borrowed_answers_do_not_depend_on_the_order_of_rows() -> None:
    rows = frame([("Who?", ["Ann Lee"], f"It was Ann Lee, number {n}.", 1.0) for n in range(9)])
    once, again = (augment(some, {"paraphrased": 1.0}, 1) for some in (rows, rows[::-1]))
    assert len(once) == 9
    pairs = [{(c, *r) for c, r in zip(made["candidate"], made["references"], strict=True)} for made in (once, again)]
    assert pairs[0] == pairs[1]


NAMED = Row("Who wrote it?", ("Emily Bronte",), "It was Emily Bronte.", True)


def test_the_order_of_a_right_and_a_wrong_answer_makes_the_label() -> None:
    """The same frame says both, so that no word of it gives the label away."""
    for kind, last in (("taken_back", False), ("settled", True)):
        texts = {result.candidate for result in made(kind, NAMED, 300) if "I'd say " in result.candidate}
        assert texts
        assert all(text.startswith("I'd say Emily") != last for text in texts)
        assert all(text.rstrip(".").endswith("Bronte") == last for text in texts)


def test_talk_is_the_same_around_a_right_and_a_wrong_answer_and_around_none() -> None:
    right, wrong = made("surrounded", NAMED, 300), made("talk", NAMED, 300)
    assert max(len(result.candidate) for result in right) > 1500
    assert max(len(result.candidate) for result in wrong) > 1500
    assert any("Full marks" in result.candidate for result in right)
    assert any("Full marks" in result.candidate for result in wrong)
    assert all("Bronte" in result.candidate for result in right)


def test_a_slip_changes_one_letter() -> None:
    for result in made("mistyped", Row("Where?", ("Constantinople",), "", True)):
        assert abs(len(result.candidate) - len("Constantinople")) == 1
        assert result.candidate[0] == "C"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("12 May 1900", "12 March 1900"),
        ("$5 million", "$5 billion"),
        ("42", "-42"),
        ("42", "420"),
        ("-3", "3"),
        ("$1.5", "$15"),
        ("7%", "-7%"),
    ],
)
def test_a_near_miss_of_a_value(reference: str, expected: str) -> None:
    candidates = {result.candidate for result in made("near_miss", Row("?", (reference,), "", True), 300)}
    assert any(expected in candidate for candidate in candidates)


def test_a_near_miss_takes_the_place_of_the_answer() -> None:
    row = Row("When?", ("1945",), "The war ended in 1945, in May.", True)
    candidates = {result.candidate for result in made("near_miss", row, 100)}
    assert any(candidate.startswith("The war ended in 19") and candidate.endswith(", in May.") for candidate in candidates)


def frame(rows: list[tuple[str, list[str], str, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["question", "references", "candidate", "label"])
    return table.assign(sample_id=[f"{i:016x}" for i in range(len(table))], attempt=0, task="t", model="m")


def test_the_same_seed_makes_the_same_rows_and_says_what_they_are() -> None:
    rows = frame([(f"Question {i}?", [f"Answer {i}"], f"It is {i}.", float(i % 2)) for i in range(80)])
    once, again = augment(rows, {"near_miss": 0.5, "restated": 0.3}, 1), augment(rows[::-1], {"near_miss": 0.5, "restated": 0.3}, 1)
    key = ["sample_id", "attempt", "model"]
    assert set(once["model"]) == {"synthetic-near_miss", "synthetic-restated"}
    assert set(map(tuple, once[key].to_numpy())) == set(map(tuple, again[key].to_numpy()))
    assert not once.duplicated(key).any()
    assert 25 <= (once["model"] == "synthetic-near_miss").sum() <= 55
    assert augment(rows, {"near_miss": 0.0}, 1).empty and list(augment(rows.head(0), {"restated": 1.0}, 1).columns) == list(
        rows.columns
    )


def test_every_kind_has_its_key() -> None:
    assert set(config.Dataset(teacher="t", tasks=["a"]).augment.model_dump()) == set(KINDS)


def test_made_up_rows_are_trained_on_and_never_validated_on(tmp_path: Any) -> None:
    paths = [write_pair(tmp_path, "m", "a", rows_of(90))]
    shares: Mapping[str, float] = {"restated": 1.0, "no_answer": 0.5}
    train, validation, summary = build(tmp_path, spec_of([("m", "a")], augment=shares, balance=True), paths)
    synthetic = train[train["model"].str.startswith("synthetic-")]
    assert summary["synthetic"] == synthetic["model"].value_counts().to_dict() and len(synthetic) > 60
    assert set(validation["model"]) == {"m"}
    right = train["label"] >= 0.5
    assert train.loc[right, "weight"].sum() == pytest.approx(train.loc[~right, "weight"].sum())
    assert not set(train["question"]) & set(validation["question"])


@given(st.text(max_size=60), st.lists(st.text(max_size=30), min_size=1, max_size=3), st.text(max_size=80), st.booleans())
def test_any_text_is_survived(question: str, references: list[str], candidate: str, right: bool) -> None:
    row = Row(question, tuple(references), candidate, right)
    for kind in KINDS:
        result = KINDS[kind](row, KeyedRandom((kind,)), OTHERS)
        assert result is None or isinstance(result.candidate, str)


def test_a_borrowed_answer_resembles_the_right_one() -> None:
    borrowed = [OTHERS.like("1913", KeyedRandom((seed,))) for seed in range(100)]
    assert sum(texts in (("1912",), ("12 May 1900",)) for texts in borrowed) > 80
    assert Others([]).like("1913", KeyedRandom((0,))) == () == Others([]).right_answers("When?")
