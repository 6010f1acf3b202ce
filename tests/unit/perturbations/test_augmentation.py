"""Data augmentation: labels are certain, rows name their kind, and none is used for validation."""

from typing import Any, get_args

import pandas as pd
import pytest
from helpers.dataset_tables import build, rows_of, spec_of, write_pair
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.config.datasets import Augmentation, Dataset
from bert_judge.perturbations.augmentation import KINDS, augment
from bert_judge.perturbations.labelled_answers import AnswerPool, AugmentedRow, LabelledAnswer, contains_reference
from bert_judge.runtime.keyed_random import KeyedRandom

CHOICE = "Which is a fruit?\n(A) stone\n(B) apple\n(C) chair"
CORRECT_KINDS = {
    "restated",
    "reformatted",
    "shortened",
    "stated",
    "paraphrased",
    "self_corrected",
    "padded",
    "misspelled",
    "reworded",
}
# Kinds whose reference is another answer.
NEW_REFERENCE_KINDS = {"paraphrased", "contradicted"}
# Incorrect kinds whose text contains the reference.
QUOTING_KINDS = {"denied", "undecided", "retracted"}
POOL = AnswerPool(
    [["Lyon"], ["Angela Merkel"], ["1912"], ["12 May 1900"], ["Bodensee"]],
    [
        LabelledAnswer("Who led Germany?", ("Merkel",), "For sixteen years Merkel led it.", True),
        LabelledAnswer("When?", ("12 May 1900",), "They say that 12 May 1900 was the day.", True),
        LabelledAnswer("どこ?", ("東京",), "it is 東京, I think", True),
    ],
)


def pool_of(rows: list[LabelledAnswer]) -> AnswerPool:
    return AnswerPool([row.references for row in rows], rows)


def augmented_rows(kind: str, answer: LabelledAnswer, seeds: int = 40) -> set[AugmentedRow]:
    """Collect the rows of a kind over many seeds; empty if it does not fit the answer."""
    results = [KINDS[kind](answer, KeyedRandom((seed,)), POOL) for seed in range(seeds)]
    return {AugmentedRow(tuple(result.references), result.candidate, result.correct) for result in results if result}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        LabelledAnswer("Who led Germany?", ("Angela Dorothea Merkel", "Merkel"), "It was Merkel. She led it.", True),
        LabelledAnswer("When?", ("12 May 1900",), "First, look. It happened on 3 May 1900.", False),
        LabelledAnswer("Wo?", ("Zürich",), "In Zürich.", True),
        LabelledAnswer("どこ?", ("東京",), "東京です。", True),
        LabelledAnswer(CHOICE, ("B", "apple"), "The answer is (B).", True),
        LabelledAnswer("How many?", ("3,200",), "Well. So 3,200.", True),
        LabelledAnswer("", ("",), "", False),
        LabelledAnswer("Why?", ("because " * 40,), "x" * 5000, True),
    ],
)
def test_label_is_certain(kind: str, answer: LabelledAnswer) -> None:
    for result in augmented_rows(kind, answer):
        assert result.correct == (kind in CORRECT_KINDS)
        assert result.references
        if kind == "restated":
            assert contains_reference(result.candidate, answer.references) or result.candidate.casefold() in map(
                str.casefold, answer.references
            )
        elif kind in NEW_REFERENCE_KINDS:
            assert contains_reference(result.references[0], answer.references) and result.references[0] != answer.candidate
            assert result.correct or not contains_reference(result.candidate, answer.references)
        elif kind not in CORRECT_KINDS | QUOTING_KINDS and not answer.options:
            assert not contains_reference(result.candidate, [text for text in result.references if text])


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("reformatted", LabelledAnswer("When?", ("12 May 1900",), "", True), {"May 12, 1900"}),
        ("reformatted", LabelledAnswer("When?", ("May 12, 1900",), "", True), {"12 May 1900"}),
        ("reformatted", LabelledAnswer("When?", ("10–12 May 1900",), "", True), set()),
        ("reformatted", LabelledAnswer("How many?", ("7",), "", True), {"seven"}),
        ("reformatted", LabelledAnswer("How many?", ("Seven dwarfs",), "", True), {"7 dwarfs"}),
        ("reformatted", LabelledAnswer("What did he say?", ("one small step for a man",), "", True), set()),
        ("reformatted", LabelledAnswer("How many?", ("3,200",), "", True), {"3200"}),
        ("reformatted", LabelledAnswer("Who?", ("John Paul Smith",), "", True), {"John P. Smith"}),
        ("reformatted", LabelledAnswer("Which firm?", ("Data Center Group",), "", True), set()),
        ("shortened", LabelledAnswer("When?", ("12 May 1900",), "", True), {"May 1900", "1900"}),
        ("shortened", LabelledAnswer("When?", ("May 12, 1900",), "", True), {"May 1900", "1900"}),
        ("shortened", LabelledAnswer("Which day?", ("12 May 1900",), "", True), set()),
        ("shortened", LabelledAnswer("Who?", ("Claire Rhiannon Holt",), "", True), {"Claire Holt"}),
        ("shortened", LabelledAnswer("When were the games of 1900?", ("12 May 1900",), "", True), {"May 1900"}),
        ("shortened", LabelledAnswer("Who?", ("Bank of America",), "", True), set()),
        ("shortened", LabelledAnswer("Who?", ("New Jersey Devils",), "", True), set()),
        ("shortened", LabelledAnswer("Which firm?", ("Data Center Group",), "", True), set()),
        ("shortened", LabelledAnswer("Who?", ("Dr. Éva Nagy",), "", True), {"Éva Nagy"}),
        ("shortened", LabelledAnswer("What?", ("total cost (TC)",), "", True), {"total cost"}),
        ("shortened", LabelledAnswer("Which layer?", ("physical layer or layer 1",), "", True), {"physical layer", "layer 1"}),
        ("shortened", LabelledAnswer("Where?", ("in the north",), "", True), {"the north"}),
        ("shortened", LabelledAnswer("Which?\n(A) the one\n(B) the other", ("A", "the one"), "", True), set()),
        ("restated", LabelledAnswer(CHOICE, ("B", "apple"), "", True), {"B", "apple", "(B) apple"}),
        ("other_answer", LabelledAnswer(CHOICE, ("B", "apple"), "", True), {"A", "stone", "(A) stone", "C", "chair", "(C) chair"}),
        ("near_miss", LabelledAnswer("?", ("Paris",), "", True), set()),
        ("swapped_reference", LabelledAnswer("?", ("Paris",), "No idea", False), set()),
        ("truncated", LabelledAnswer("?", ("Public",), "It is publicly traded. So it is public.", True), set()),
        ("truncated", LabelledAnswer("?", ("42",), "We compute. So 42.", True), {"We compute."}),
        ("truncated", LabelledAnswer("?", ("Paris",), "It is Rome. Paris is far.", False), {"It is Rome."}),
        ("undecided", LabelledAnswer(CHOICE, ("B", "apple"), "", True), set()),
        ("undecided", LabelledAnswer("Is it?", ("Yes",), "", True), set()),
        ("retracted", LabelledAnswer("Is it?", ("no",), "", True), set()),
        ("misspelled", LabelledAnswer("Where?", ("Paris",), "", True), set()),
        ("no_answer", LabelledAnswer("Is it so?", ("See above",), "", True), None),
    ],
)
def test_candidates_of_a_kind(kind: str, answer: LabelledAnswer, expected: set[str] | None) -> None:
    candidates = {result.candidate for result in augmented_rows(kind, answer, 300)}
    if expected is None:
        assert candidates and "See above." not in candidates
    elif expected:
        assert expected <= candidates and all(any(text in candidate for text in expected) for candidate in candidates)
    else:
        assert not candidates


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("who is the author of Emma?", "Jane Austen", "The author of Emma is Jane Austen."),
        ("Who wrote Emma?", "Jane Austen", "Jane Austen wrote Emma."),
        ("What band augmented_rows the album?", "Abba", "Abba augmented_rows the album."),
        ("Where was it first held?", "Rome", "It first was held in Rome."),
        ("when did it come out", "May 12, 1900", "It come out on May 12, 1900."),
        ("How many states are there in the union?", "fifty", "Fifty states in the union."),
    ],
)
def test_question_becomes_a_statement(question: str, answer: str, sentence: str) -> None:
    texts = {result.candidate for result in augmented_rows("stated", LabelledAnswer(question, (answer,), "", True), 300)}
    assert any(text.startswith(sentence) for text in texts)
    # Or a shorter form, such as the year of a date.
    assert all(answer.split()[-1].lower() in text.lower() for text in texts)


def test_statements_use_whole_and_shortened_references() -> None:
    row = LabelledAnswer("Who founded the firm?", ("Dr. Éva Nagy",), "", True)
    texts = {result.candidate for result in augmented_rows("stated", row, 300)}
    whole = {text for text in texts if "Dr. Éva Nagy" in text}
    assert whole and texts - whole and all("Éva Nagy" in text for text in texts)


def test_misstatement_uses_another_answer() -> None:
    texts = {
        result.candidate
        for result in augmented_rows("misstated", LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "", True), 300)
    }
    assert texts and not any("Austen" in text for text in texts)
    assert any(" wrote Emma." in text for text in texts)
    # A sentence that contains the reference anyway may be correct.
    assert not augmented_rows("misstated", LabelledAnswer("Who is older, Ann or Eve?", ("Ann",), "", True), 300)


ANSWERS = [
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "Jane Austen.", True),
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "The novel is by Jane Austen.", True),
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "Charlotte Brontë wrote Emma.", False),
    # Too long, without the reference, incorrect, another question.
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "Austen, " * 60 + "Jane Austen.", True),
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "I have no comment on that.", True),
    LabelledAnswer("Who wrote Emma?", ("Jane Austen",), "Not Jane Austen, I am sure.", False),
    LabelledAnswer("Who wrote Ulysses?", ("James Joyce",), "It was James Joyce who did.", True),
]


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("paraphrased", ANSWERS[0], {("The novel is by Jane Austen.", "Jane Austen.")}),
        ("paraphrased", ANSWERS[1], set()),  # the only sentence itself
        ("paraphrased", ANSWERS[2], set()),
        ("contradicted", ANSWERS[2], {("The novel is by Jane Austen.", "Charlotte Brontë wrote Emma.")}),
        ("contradicted", ANSWERS[0], {("The novel is by Jane Austen.", "James Joyce.")}),
        ("contradicted", ANSWERS[6], set()),
    ],
)
def test_correct_answer_becomes_the_reference(kind: str, answer: LabelledAnswer, expected: set[tuple[str, str]]) -> None:
    results = [KINDS[kind](answer, KeyedRandom((seed,)), pool_of(ANSWERS)) for seed in range(100)]
    assert {(*result.references, result.candidate) for result in results if result} == expected


def test_multiple_choice_keeps_its_references() -> None:
    rows = [LabelledAnswer(CHOICE, ("B", "apple"), f"The answer is (B), the apple, {n}.", True) for n in range(3)]
    assert pool_of(rows).correct_answers(CHOICE)
    assert not any(KINDS[kind](rows[0], KeyedRandom((seed,)), pool_of(rows)) for kind in NEW_REFERENCE_KINDS for seed in range(50))


def test_borrowed_answers_do_not_depend_on_row_order() -> None:
    rows = frame([("Who?", ["Ann Lee"], f"It was Ann Lee, number {n}.", 1.0) for n in range(9)])
    once, again = (augment(some, entries(paraphrased=1.0), 1) for some in (rows, rows[::-1]))
    assert len(once) == 9
    pairs = [{(c, *r) for c, r in zip(table["candidate"], table["references"], strict=True)} for table in (once, again)]
    assert pairs[0] == pairs[1]


NAMED = LabelledAnswer("Who wrote it?", ("Emily Bronte",), "It was Emily Bronte.", True)


def test_order_of_the_answers_determines_the_label() -> None:
    """Both kinds use the same phrases, so that no phrase reveals the label."""
    for kind, last in (("retracted", False), ("self_corrected", True)):
        texts = {result.candidate for result in augmented_rows(kind, NAMED, 300) if "I'd say " in result.candidate}
        assert texts
        assert all(text.startswith("I'd say Emily") != last for text in texts)
        assert all(text.rstrip(".").endswith("Bronte") == last for text in texts)


def test_padding_is_the_same_for_both_labels() -> None:
    correct, incorrect = augmented_rows("padded", NAMED, 300), augmented_rows("verbose", NAMED, 300)
    assert max(len(result.candidate) for result in correct) > 1500
    assert max(len(result.candidate) for result in incorrect) > 1500
    assert any("Full marks" in result.candidate for result in correct)
    assert any("Full marks" in result.candidate for result in incorrect)
    assert all("Bronte" in result.candidate for result in correct)


def test_misspelling_changes_one_letter() -> None:
    for result in augmented_rows("misspelled", LabelledAnswer("Where?", ("Constantinople",), "", True)):
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
        ("5 km", "5 miles"),
        ("about 20 °F", "about 20 °C"),
        ("the left hand", "the right hand"),
        ("Monday", "Tuesday"),
        ("Red", "Blue"),
    ],
)
def test_near_miss_of_a_value(reference: str, expected: str) -> None:
    candidates = {result.candidate for result in augmented_rows("near_miss", LabelledAnswer("?", (reference,), "", True), 300)}
    assert any(expected in candidate for candidate in candidates)


def test_near_miss_inside_a_correct_answer() -> None:
    row = LabelledAnswer("When?", ("1945",), "The war ended in 1945, in May.", True)
    candidates = {result.candidate for result in augmented_rows("near_miss", row, 100)}
    assert any(candidate.startswith("The war ended in 19") and candidate.endswith(", in May.") for candidate in candidates)


LONG = LabelledAnswer(
    "What happened?",
    ("In 1969 the young Neil Armstrong was the first man who met Edwin Aldrin, because it is not far.",),
    "They met.",
    True,
)
LONG_POOL = AnswerPool(
    [LONG.references, ["The big house in Berlin was sold by Anna Seghers, because the winter had become too cold for her."]]
)


def edited_texts(kind: str) -> set[str]:
    results = [KINDS[kind](LONG, KeyedRandom((seed,)), LONG_POOL) for seed in range(400)]
    assert all(result.references == LONG.references for result in results if result)
    return {result.candidate for result in results if result}


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("edited", "1968"),
        ("edited", "was not the first"),
        ("edited", "it is far"),
        ("edited", "the old Neil"),
        ("edited", "the young Anna Seghers was"),
        ("edited", "Edwin Aldrin was the first man who met Neil Armstrong"),
        ("edited", "Edwin Aldrin, because the winter had become too cold for her."),
        ("reworded", "it's not far"),
        ("reworded", "since it"),
        ("reworded", "in 1969"),
        ("reworded", "In short: In 1969"),
        ("reworded", "far"),
    ],
)
def test_edits_of_a_long_reference(kind: str, part: str) -> None:
    texts = edited_texts(kind)
    assert any(part in text for text in texts)
    assert LONG.references[0] not in texts


def test_an_edit_that_leaves_another_reference_is_no_incorrect_answer() -> None:
    answer = LabelledAnswer("Who was it?", (*LONG.references, "Edwin Aldrin", "the young Neil Armstrong"), "", True)
    for text in {result.candidate for result in augmented_rows("edited", answer, 300)}:
        assert "Edwin Aldrin" not in text and "the young Neil Armstrong" not in text


def test_short_references_and_options_are_not_edited() -> None:
    for kind in ("edited", "reworded"):
        assert not augmented_rows(kind, LabelledAnswer("Who?", ("Neil Armstrong",), "", True))
        assert not augmented_rows(kind, LabelledAnswer(CHOICE, ("apple " * 9,), "", True))


def entries(**shares: float) -> list[dict[str, Any]]:
    """Build the dumped `augment` entries of a dataset."""
    return [{"kind": kind, "share": share} for kind, share in shares.items()]


def frame(rows: list[tuple[str, list[str], str, float]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["question", "references", "candidate", "label"])
    return table.assign(sample_id=[f"{i:016x}" for i in range(len(table))], attempt=0, task="t", model="m")


def test_rows_depend_on_the_seed_and_name_their_kind() -> None:
    rows = frame([(f"Question {i}?", [f"Answer {i}"], f"It is {i}.", float(i % 2)) for i in range(80)])
    augmentations = entries(near_miss=0.5, restated=0.3)
    once, again = augment(rows, augmentations, 1), augment(rows[::-1], augmentations, 1)
    key = ["sample_id", "attempt", "model"]
    assert set(once["model"]) == {"synthetic-near_miss", "synthetic-restated"}
    assert set(map(tuple, once[key].to_numpy())) == set(map(tuple, again[key].to_numpy()))
    assert not once.duplicated(key).any()
    assert 25 <= (once["model"] == "synthetic-near_miss").sum() <= 55
    assert augment(rows, entries(near_miss=0.0), 1).empty
    assert list(augment(rows.head(0), entries(restated=1.0), 1).columns) == list(rows.columns)


def test_configuration_and_registry_list_the_same_kinds() -> None:
    assert get_args(Augmentation.model_fields["kind"].annotation) == tuple(KINDS)
    default = Dataset.model_validate({"teacher": "human", "tasks": ["a"], "augment": "default"})
    assert [augmentation.kind for augmentation in default.augment] == list(KINDS)


def test_synthetic_rows_are_in_the_training_rows_only(tmp_path: Any) -> None:
    paths = [write_pair(tmp_path, "m", "a", rows_of(90))]
    train, validation, summary = build(
        tmp_path, spec_of([("m", "a")], augment=entries(restated=1.0, no_answer=0.5), balance=True), paths
    )
    synthetic = train[train["model"].str.startswith("synthetic-")]
    assert summary["synthetic"] == synthetic["model"].value_counts().to_dict() and len(synthetic) > 60
    assert set(validation["model"]) == {"m"}
    correct = train["label"] >= 0.5
    assert train.loc[correct, "weight"].sum() == pytest.approx(train.loc[~correct, "weight"].sum())
    assert not set(train["question"]) & set(validation["question"])


@given(st.text(max_size=60), st.lists(st.text(max_size=30), min_size=1, max_size=3), st.text(max_size=80), st.booleans())
def test_any_text_is_accepted(question: str, references: list[str], candidate: str, correct: bool) -> None:
    row = LabelledAnswer(question, tuple(references), candidate, correct)
    for kind in KINDS:
        result = KINDS[kind](row, KeyedRandom((kind,)), POOL)
        assert result is None or isinstance(result.candidate, str)


def test_borrowed_answer_resembles_the_reference() -> None:
    borrowed = [POOL.similar_references("1913", KeyedRandom((seed,))) for seed in range(100)]
    assert sum(texts in (("1912",), ("12 May 1900",)) for texts in borrowed) > 80
    assert AnswerPool([]).similar_references("1913", KeyedRandom((0,))) == () == AnswerPool([]).correct_answers("When?")
