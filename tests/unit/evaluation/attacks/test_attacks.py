"""Families of attacks: their answers, and the certainty of the right verdict."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.evaluation import attacks as suite
from bert_judge.perturbations.attacks import FAMILIES, GENERATORS, AttackedQuestion, load_families
from bert_judge.perturbations.augmentation import KINDS
from bert_judge.perturbations.labelled_answers import AnswerPool, LabelledAnswer, contains_reference
from bert_judge.plan import ATTACKS
from bert_judge.runtime.keyed_random import KeyedRandom

NAME = AttackedQuestion(
    "Who wrote Wuthering Heights?", ("Emily Brontë", "Bronte"), ("Marie Curie", "Isaac Newton", "Ada Lovelace", "Plato")
)
DATE = AttackedQuestion("When did it end?", ("8 March 1945",), ("3 June 1912", "1 July 1867", "4 March 1800", "1066"))
AMOUNT = AttackedQuestion("How far is it?", ("12,500 km",), ("40 miles", "3 km", "77", "8 hours"))
COUNT = AttackedQuestion("How many?", ("42",), ("17", "99", "3", "8"))
WAR = AttackedQuestion("Which war?", ("World War II",), ("the Crimean War", "Boer War", "Peloponnesian War", "War of Roses"))
PLACE = AttackedQuestion("Where?", ("Constantinople",), ("Rome", "Gaul"))
FIRM = AttackedQuestion("Which firm?", ("Procter and Gamble",), ("Ford", "Siemens", "Sony Group", "Volvo Cars"))
CHOICE = AttackedQuestion("Which?\n(A) cat\n(B) dog\n(C) cow", ("B",), ("A", "C"), {"A": "cat", "B": "dog", "C": "cow"})
SUBJECTS = (NAME, DATE, AMOUNT, COUNT, WAR, PLACE, FIRM, CHOICE)


def generated(family: str, subject: AttackedQuestion, draws: int = 60) -> set[str]:
    return {text for seed in range(draws) for text in FAMILIES[family].generate(subject, KeyedRandom((seed, family)))}


def test_families_have_a_description_and_a_source() -> None:
    kinds = [family.kind for family in FAMILIES.values()]
    assert kinds.count("attack") >= 45
    assert kinds.count("benign_perturbation") >= 25
    for name, family in FAMILIES.items():
        assert family.description.endswith(".")
        assert re.search(r"arXiv \d{4}\.\d{5}|\(.+ \d{4}\)", family.source), name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_fits_some_question_and_is_reproducible(family: str) -> None:
    answers = [generated(family, subject, 20) for subject in SUBJECTS]
    assert any(answers)
    assert answers == [generated(family, subject, 20) for subject in SUBJECTS]


def test_the_documentation_names_every_theme_and_counts_the_families() -> None:
    page = Path(__file__).parents[4].joinpath("docs", "attacks.md").read_text("utf-8")
    kinds = Counter(family.kind for family in FAMILIES.values())
    assert f"{kinds['attack']} attacks and {kinds['benign_perturbation']} benign perturbations" in page
    rows = [re.split(r" ?\| ?", line)[1:4] for line in page.partition("## The families")[2].splitlines() if line.startswith("| ")]
    listed = {(kind, theme) for theme, *cells in rows[1:] for kind, cell in zip(kinds, cells, strict=True) if cell}
    assert listed == {(family.kind, family.theme) for family in FAMILIES.values()}


def test_every_function_needs_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GENERATORS, "unlisted", GENERATORS["gibberish"])
    with pytest.raises(ValueError, match="no entry for the functions unlisted"):
        load_families()


@pytest.mark.parametrize(
    ("family", "subject", "expected"),
    [
        ("empty", NAME, {""}),
        ("key_english", NAME, set(FAMILIES["key_english"].phrases["keys"])),
        ("near_number", COUNT, {"41", "43", "32", "52"}),
        ("near_number", NAME, set()),
        ("wrong_magnitude", COUNT, {"420", "4,200", "4.2"}),
        ("wrong_sign", COUNT, {"-42", "The result is -42."}),
        ("wrong_sign", AttackedQuestion("?", ("-3",)), {"3", "The result is 3."}),
        ("wrong_unit", AMOUNT, {"12,500 miles"}),
        ("wrong_unit", COUNT, set()),
        ("every_option", CHOICE, None),
        ("every_option", NAME, set()),
        ("near_name", NAME, None),
        ("number_grouped_otherwise", AMOUNT, {"12500 km", "12 500 km"}),
        ("number_with_idle_zeros", COUNT, {"42.0", "42.00"}),
        ("date_written_otherwise", DATE, {"March 8th, 1945", "the 8th of March 1945", "1945-03-08", "8. Mar 1945"}),
        ("unit_written_otherwise", AMOUNT, {"12,500 kilometres"}),
        ("unit_written_otherwise", AttackedQuestion("?", ("$12",)), {"12 dollars"}),
        ("unit_written_otherwise", AttackedQuestion("?", ("$12 million",)), set()),
        ("unit_written_otherwise", AttackedQuestion("?", ("5%",)), {"5 percent"}),
        ("roman_numeral", WAR, {"World War 2"}),
        ("sign_for_a_word", FIRM, {"Procter & Gamble"}),
        ("without_accents", NAME, {"Emily Bronte"}),
        ("upper_case", NAME, {"EMILY BRONTË"}),
        ("lower_case", CHOICE, set()),
        ("full_width", COUNT, {"４２"}),
        ("option_with_its_text", CHOICE, {"(B) dog", "B. dog", "Option B: dog", "**B) dog**"}),
        ("denied", AttackedQuestion("Is it?", ("Yes",)), set()),
        ("wrong_month", DATE, None),
    ],
)
def test_answers_of_a_family(family: str, subject: AttackedQuestion, expected: set[str] | None) -> None:
    answers = generated(family, subject)
    if expected is None:
        assert answers
        assert not answers & set(subject.references)
    else:
        assert answers == expected


def test_retracted_answers_precede_and_corrected_ones_follow_the_other() -> None:
    for family in ("retracted", "denied_for_another"):
        assert all("Emily Brontë" in text and "Marie Curie" in text for text in generated(family, NAME))
    assert all(text.index("Emily Brontë") < text.index("Marie Curie") for text in generated("retracted", NAME))
    assert all(text.index("Marie Curie") < text.index("Emily Brontë") for text in generated("after_a_mistake", NAME))


def test_unusual_characters_look_the_same() -> None:
    assert {re.sub("[^A-Za-zë ]", "", text) for text in generated("invisible_characters", NAME)} == {"Emily Brontë"}
    [lookalike] = generated("homoglyphs", NAME)
    assert lookalike != "Emily Brontë"
    assert len(lookalike) == len("Emily Brontë")
    assert all("Marie Curie" not in text for text in generated("wrong_with_invisible_characters", NAME))


TEXTS = st.text(max_size=40)


# The first call is slow on a busy machine.
@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=4), st.booleans())
def test_attacks_of_any_question_contain_no_reference_by_chance(
    question: str, references: list[str], others: list[str], choice: bool
) -> None:
    options = {"A": "one", "B": "two"} if choice else {}
    subject = AttackedQuestion(question, tuple(references), tuple(others), options)
    for family, text in suite.generate_answers(subject, 0, "id"):
        assert isinstance(text, str)
        if family.kind == "attack" and not family.quotes_reference:
            assert not contains_reference(text, references)


# These families change a reference or borrow one: their texts may coincide with training's, their words around them do not exist.
BORROWED = {"other_question", "near_number", "near_name", "wrong_month", "wrong_unit", "wrong_magnitude", "wrong_sign", "question"}


def test_training_rows_contain_no_attack() -> None:
    others = AnswerPool([(text,) for text in NAME.wrong_answers])
    for subject in SUBJECTS:
        for candidate, right in ((subject.references[0], True), ("I think so. It is 5. Yes.", False)):
            row = LabelledAnswer(subject.question, subject.references, candidate, right)
            trained = {
                result.candidate.strip()
                for kind, make in KINDS.items()
                for seed in range(600)
                if (result := make(row, KeyedRandom((seed, kind)), others)) and not result.correct
            }
            for name, family in FAMILIES.items():
                if family.kind == "attack" and name not in BORROWED:
                    assert not trained & {text.strip() for text in generated(name, subject, 100)} - {""}, name


FIRST = ["Anna", "Bertha", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivo", "Jana", "Karl", "Lotte"]
LAST = ["Adler", "Bach", "Cranach", "Dürer", "Eyck", "Fontane", "Goethe", "Heine", "Ibsen", "Jung", "Kant", "Liszt"]


def questions(count: int) -> pd.DataFrame:
    rows = [(f"Who was number {i}?", [f"{FIRST[i]} {LAST[i]}", str(1000 + 7 * i)]) for i in range(count)]
    frame = pd.DataFrame(rows, columns=["question", "references"])
    frame["sample_id"] = [tables.sample_id("t", *row) for row in rows]
    return frame.assign(choices=None, answer_kind="text")


def test_suite_is_a_table_of_candidates(tmp_path: Path) -> None:
    tables.write(questions(12), tmp_path / "t.parquet", tables.TASK, {"task": "t"})
    spec = {"task": "t", "rows": 5, "seed": 0}
    suite.write_attacks(spec, tmp_path / "t.parquet", tmp_path / "c.parquet", tmp_path / "a.parquet")
    answers, families = tables.read(tmp_path / "c.parquet", tables.CANDIDATES), tables.read(tmp_path / "a.parquet", tables.ATTACKS)
    assert answers["sample_id"].nunique() == 5
    assert set(answers["model"]) == {ATTACKS}
    assert answers[["sample_id", "attempt"]].equals(families[["sample_id", "attempt"]])
    assert (answers["candidate"].str.strip() == "").equals(answers["status"] == "empty")
    assert families["family"].nunique() > 55


def test_sample_does_not_depend_on_the_order_of_questions() -> None:
    whole, _ = suite.generate_attacks(questions(12), 5, 3)
    turned, _ = suite.generate_attacks(questions(12)[::-1], 5, 3)
    assert set(whole["candidate"]) == set(turned["candidate"])
    assert set(suite.generate_attacks(questions(12), 5, 4)[0]["sample_id"]) != set(whole["sample_id"])
    assert set(suite.generate_attacks(questions(12), 100, 3)[0]["sample_id"]) == set(questions(12)["sample_id"])


def test_a_task_without_questions_gives_an_empty_suite(tmp_path: Path) -> None:
    answers, families = suite.generate_attacks(tables.empty(tables.TASK), 10, 0)
    tables.write(answers, tmp_path / "c.parquet", tables.CANDIDATES, {})
    tables.write(families, tmp_path / "a.parquet", tables.ATTACKS, {})
    assert tables.read(tmp_path / "c.parquet", tables.CANDIDATES).empty


def test_wrong_answers_are_wrong() -> None:
    others = AnswerPool([("Paris",), ("Paris, France", "Paris"), ("Rome",), ("Lyon",)])
    subject = suite.attacked_question("Capital of France?", ("Paris",), others, KeyedRandom((0,)))
    assert set(subject.wrong_answers) == {"Rome", "Lyon"}
    subject = suite.attacked_question(CHOICE.question, ("B",), others, KeyedRandom((0,)))
    assert set(subject.wrong_answers) == {"A", "C"}
    # Without a right option there is no wrong one.
    assert suite.attacked_question(CHOICE.question, ("dogs and such",), others, KeyedRandom((0,))).wrong_answers == ()
