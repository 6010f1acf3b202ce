"""Families of attacks: what they make, and that nobody can doubt what the right verdict is."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.datasets.augmentation import KINDS
from bert_judge.datasets.augmentation.answers import AnswerPool, LabelledAnswer, contains_reference
from bert_judge.evaluation.attacks import FAMILIES, THEMES, Subject, content_free, suite
from bert_judge.evaluation.attacks.families import Family, attack
from bert_judge.plan import ATTACKS
from bert_judge.runtime.keyed_random import KeyedRandom

NAME = Subject("Who wrote Wuthering Heights?", ("Emily Brontë", "Bronte"), ("Marie Curie", "Isaac Newton", "Ada Lovelace", "Plato"))
DATE = Subject("When did it end?", ("8 March 1945",), ("3 June 1912", "1 July 1867", "4 March 1800", "1066"))
AMOUNT = Subject("How far is it?", ("12,500 km",), ("40 miles", "3 km", "77", "8 hours"))
COUNT = Subject("How many?", ("42",), ("17", "99", "3", "8"))
WAR = Subject("Which war?", ("World War II",), ("the Crimean War", "Boer War", "Peloponnesian War", "War of Roses"))
PLACE = Subject("Where?", ("Constantinople",), ("Rome", "Gaul"))
FIRM = Subject("Which firm?", ("Procter and Gamble",), ("Ford", "Siemens", "Sony Group", "Volvo Cars"))
CHOICE = Subject("Which?\n(A) cat\n(B) dog\n(C) cow", ("B",), ("A", "C"), {"A": "cat", "B": "dog", "C": "cow"})
SUBJECTS = (NAME, DATE, AMOUNT, COUNT, WAR, PLACE, FIRM, CHOICE)


def made(family: str, subject: Subject, draws: int = 60) -> set[str]:
    return {text for seed in range(draws) for text in FAMILIES[family].make(subject, KeyedRandom((seed, family)))}


def test_there_are_enough_families_and_each_says_what_it_is() -> None:
    kinds = [family.kind for family in FAMILIES.values()]
    assert kinds.count("attack") >= 45
    assert kinds.count("benign_perturbation") >= 25
    for name, family in FAMILIES.items():
        assert family.theme in THEMES
        assert family.says.endswith(".")
        assert re.search(r"arXiv \d{4}\.\d{5}|\(.+ \d{4}\)", family.source), name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_fits_some_question_and_draws_the_same_again(family: str) -> None:
    found = [made(family, subject, 20) for subject in SUBJECTS]
    assert any(found)
    assert found == [made(family, subject, 20) for subject in SUBJECTS]


def test_the_documentation_lists_every_family() -> None:
    lines = Path(__file__).parents[4].joinpath("docs", "attacks.md").read_text("utf-8").splitlines()
    listed = [line for line in lines if line.startswith("| ") and " | `" in line]
    assert set(listed) == {f"| {f.theme} | `{f.name}` | {f.says} | {f.source} |" for f in FAMILIES.values()}
    assert len(listed) == len(FAMILIES)


def test_two_families_cannot_share_a_name() -> None:
    def html(subject: Subject, rng: KeyedRandom) -> list[str]:
        """Another one."""
        return []

    with pytest.raises(ValueError, match="a family html stands in markup already"):
        attack("arXiv 0000.00000")(html)
    assert FAMILIES["html"].theme == "markup"


@pytest.mark.parametrize(
    ("family", "subject", "expected"),
    [
        ("empty", NAME, {""}),
        ("key_english", NAME, set(content_free.ENGLISH)),
        ("near_number", COUNT, {"41", "43", "32", "52"}),
        ("near_number", NAME, set()),
        ("wrong_magnitude", COUNT, {"420", "4,200", "4.2"}),
        ("wrong_sign", COUNT, {"-42", "The result is -42."}),
        ("wrong_sign", Subject("?", ("-3",)), {"3", "The result is 3."}),
        ("wrong_unit", AMOUNT, {"12,500 miles"}),
        ("wrong_unit", COUNT, set()),
        ("every_option", CHOICE, None),
        ("every_option", NAME, set()),
        ("near_name", NAME, None),
        ("number_grouped_otherwise", AMOUNT, {"12500 km", "12 500 km"}),
        ("number_with_idle_zeros", COUNT, {"42.0", "42.00"}),
        ("date_written_otherwise", DATE, {"March 8th, 1945", "the 8th of March 1945", "1945-03-08", "8. Mar 1945"}),
        ("unit_written_otherwise", AMOUNT, {"12,500 kilometres"}),
        ("unit_written_otherwise", Subject("?", ("$12",)), {"12 dollars"}),
        ("unit_written_otherwise", Subject("?", ("$12 million",)), set()),
        ("unit_written_otherwise", Subject("?", ("5%",)), {"5 percent"}),
        ("roman_numeral", WAR, {"World War 2"}),
        ("sign_for_a_word", FIRM, {"Procter & Gamble"}),
        ("without_accents", NAME, {"Emily Bronte"}),
        ("upper_case", NAME, {"EMILY BRONTË"}),
        ("lower_case", CHOICE, set()),
        ("full_width", COUNT, {"４２"}),
        ("option_with_its_text", CHOICE, {"(B) dog", "B. dog", "Option B: dog", "**B) dog**"}),
        ("denied", Subject("Is it?", ("Yes",)), set()),
        ("wrong_month", DATE, None),
    ],
)
def test_what_a_family_makes(family: str, subject: Subject, expected: set[str] | None) -> None:
    found = made(family, subject)
    if expected is None:
        assert found
        assert not found & set(subject.references)
    else:
        assert found == expected


def test_a_taken_back_answer_stands_before_the_other_and_a_corrected_one_behind() -> None:
    for family in ("retracted", "denied_for_another"):
        assert all("Emily Brontë" in text and "Marie Curie" in text for text in made(family, NAME))
    assert all(text.index("Emily Brontë") < text.index("Marie Curie") for text in made("retracted", NAME))
    assert all(text.index("Marie Curie") < text.index("Emily Brontë") for text in made("after_a_mistake", NAME))


def test_disguises_are_read_as_the_same_by_people() -> None:
    assert {re.sub("[^A-Za-zë ]", "", text) for text in made("invisible_characters", NAME)} == {"Emily Brontë"}
    [lookalike] = made("homoglyphs", NAME)
    assert lookalike != "Emily Brontë"
    assert len(lookalike) == len("Emily Brontë")
    assert all("Marie Curie" not in text for text in made("wrong_with_invisible_characters", NAME))


TEXTS = st.text(max_size=40)


# The first call is slow on a busy machine.
@given(TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=4), st.booleans())
def test_any_text_is_survived_and_no_attack_holds_a_reference_by_chance(
    question: str, references: list[str], others: list[str], choice: bool
) -> None:
    options = {"A": "one", "B": "two"} if choice else {}
    subject = Subject(question, tuple(references), tuple(others), options)
    for family, text in suite.answers_to(subject, 0, "id"):
        assert isinstance(text, str)
        if family.kind == "attack" and not family.quotes:
            assert not contains_reference(text, references)


# These families change a reference or borrow one: their texts may coincide with training's, their words around them do not exist.
BORROWED = {"other_question", "near_number", "near_name", "wrong_month", "wrong_unit", "wrong_magnitude", "wrong_sign", "question"}


def test_no_text_of_an_attack_is_trained_on() -> None:
    others = AnswerPool([(text,) for text in NAME.others])
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
                    assert not trained & {text.strip() for text in made(name, subject, 100)} - {""}, name


FIRST = ["Anna", "Bertha", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivo", "Jana", "Karl", "Lotte"]
LAST = ["Adler", "Bach", "Cranach", "Dürer", "Eyck", "Fontane", "Goethe", "Heine", "Ibsen", "Jung", "Kant", "Liszt"]


def questions(count: int) -> pd.DataFrame:
    rows = [(f"Who was number {i}?", [f"{FIRST[i]} {LAST[i]}", str(1000 + 7 * i)]) for i in range(count)]
    frame = pd.DataFrame(rows, columns=["question", "references"])
    frame["sample_id"] = [tables.sample_id("t", *row) for row in rows]
    return frame.assign(choices=None, answer_kind="text")


def test_the_suite_is_an_ordinary_table_of_answers(tmp_path: Path) -> None:
    tables.write(questions(12), tmp_path / "t.parquet", tables.TASK, {"task": "t"})
    spec = {"task": "t", "rows": 5, "seed": 0}
    suite.write_attacks(spec, tmp_path / "t.parquet", tmp_path / "c.parquet", tmp_path / "a.parquet")
    answers, families = tables.read(tmp_path / "c.parquet", tables.CANDIDATES), tables.read(tmp_path / "a.parquet", tables.ATTACKS)
    assert answers["sample_id"].nunique() == 5
    assert set(answers["model"]) == {ATTACKS}
    assert answers[["sample_id", "attempt"]].equals(families[["sample_id", "attempt"]])
    assert (answers["candidate"].str.strip() == "").equals(answers["status"] == "empty")
    assert families["family"].nunique() > 55


def test_a_draw_depends_on_each_question_alone() -> None:
    whole, _ = suite.attacked(questions(12), 5, 3)
    turned, _ = suite.attacked(questions(12)[::-1], 5, 3)
    assert set(whole["candidate"]) == set(turned["candidate"])
    assert set(suite.attacked(questions(12), 5, 4)[0]["sample_id"]) != set(whole["sample_id"])
    assert set(suite.attacked(questions(12), 100, 3)[0]["sample_id"]) == set(questions(12)["sample_id"])


def test_a_task_without_questions_gives_an_empty_suite(tmp_path: Path) -> None:
    answers, families = suite.attacked(tables.empty(tables.TASK), 10, 0)
    tables.write(answers, tmp_path / "c.parquet", tables.CANDIDATES, {})
    tables.write(families, tmp_path / "a.parquet", tables.ATTACKS, {})
    assert tables.read(tmp_path / "c.parquet", tables.CANDIDATES).empty


def test_wrong_answers_are_wrong() -> None:
    others = AnswerPool([("Paris",), ("Paris, France", "Paris"), ("Rome",), ("Lyon",)])
    subject = suite.subject_of("Capital of France?", ("Paris",), others, KeyedRandom((0,)))
    assert set(subject.others) == {"Rome", "Lyon"}
    subject = suite.subject_of(CHOICE.question, ("B",), others, KeyedRandom((0,)))
    assert set(subject.others) == {"A", "C"}
    # Whoever does not say which option is right cannot be told a wrong one.
    assert suite.subject_of(CHOICE.question, ("dogs and such",), others, KeyedRandom((0,))).others == ()


def test_a_family_knows_its_right_verdict() -> None:
    verdicts = {family.kind: family.right_verdict for family in FAMILIES.values()}
    assert verdicts == {"attack": "incorrect", "benign_perturbation": "correct"}
    assert isinstance(FAMILIES["html"], Family)
