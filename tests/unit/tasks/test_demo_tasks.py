import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from bert_judge import tables
from bert_judge.candidates.generators.simulated_answers import numbers_in
from bert_judge.tasks import Sample, demo, find
from bert_judge.tasks.demo import facts

KINDS = ("facts", "word_problems", "multiple_choice")
PARTS = {"facts": "short_answer", "word_problems": "math", "multiple_choice": "multiple_choice"}


def samples(name: str) -> list[Sample]:
    return list(find(name).samples())


def stem(sample: Sample) -> str:
    return sample.question.split("\n(A)")[0].casefold()


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_enough_questions(kind: str) -> None:
    assert len(samples(f"{kind}_train")) >= 300
    assert len(samples(f"{kind}_test")) >= 150
    assert find(f"{kind}_train").family == find(f"{kind}_test").family == PARTS[kind]


def test_no_stem_occurs_twice_in_any_task() -> None:
    stems = Counter(stem(s) for kind in KINDS for part in ("train", "test") for s in samples(f"{kind}_{part}"))
    assert [s for s, count in stems.items() if count > 1] == []


def test_every_sample_fits_the_task_table() -> None:
    for kind in KINDS:
        for sample in samples(f"{kind}_train") + samples(f"{kind}_test"):
            assert sample.answer_kind in tables.ANSWER_KINDS
            assert sample.references
            assert len(set(sample.references)) == len(sample.references)
            assert all(text == text.strip() != "" for text in (sample.question, *sample.references))


def test_a_country_is_on_one_side_in_every_kind_of_question() -> None:
    sides = {
        part: " ".join(s.question.split("\n(A)")[0] for kind in ("facts", "multiple_choice") for s in samples(f"{kind}_{part}"))
        for part in ("train", "test")
    }
    for row in facts.rows("countries"):
        named = f"{row['article']} {facts.usual(row['country'])}".strip()
        stems = (f"capital of {named}?", f"has {facts.usual(row['capital'])} as its capital", f"capital of {named} lie?")
        asked = [part for part, text in sides.items() for stem in stems if stem in text]
        assert len(asked) == 3
        assert len(set(asked)) == 1


def test_multiple_choice_has_four_options_and_the_right_one_is_named_twice() -> None:
    letters = Counter()
    for sample in samples("multiple_choice_train") + samples("multiple_choice_test"):
        assert sample.choices is not None
        assert len(set(sample.choices)) == 4
        letter, text = sample.references
        assert sample.question.count(f"\n({letter}) {text}") == 1
        assert sample.choices["ABCD".index(letter)] == text
        letters[letter] += 1
    # No letter is a good guess.
    assert max(letters.values()) < 1.3 * min(letters.values())


@pytest.mark.parametrize("name", ["word_problems_train", "word_problems_test"])
def test_word_problems_have_numbers_as_answers(name: str) -> None:
    for sample in samples(name):
        assert re.fullmatch(r"\d+(\.\d\d?)?", sample.references[0])
        assert len(numbers_in(sample.question)) >= 1
        assert "{" not in sample.question


@pytest.mark.parametrize(
    ("story", "numbers", "answer"),
    [
        ("A bus carries", (40, 12, 5), 33),
        ("buys", (4, 6, 5), 26),
        ("What is its perimeter", (10, 4), 28),
        ("shares", (7, 5), 7),
        ("coat", (12, 3), 84),
        ("One ticket", (3, 3), "10.50"),
        ("coins of 50 cents", (3, 5), "2.50"),
        ("doubled", (1, 2, 3), 12),
    ],
)
def test_answers_are_computed_right(story: str, numbers: tuple[int, ...], answer: object) -> None:
    [template] = [t for t in demo.templates() if story in t["question"]]
    assert demo.answer_forms(template, dict(zip("abc", numbers, strict=False)))[0] == str(answer)


def test_sums_of_money_have_both_forms() -> None:
    references = {s.references for s in samples("word_problems_train")}
    assert any(len(r) == 2 and r[0].endswith("0") for r in references)


@pytest.mark.parametrize(
    ("question", "references"),
    [
        ("What is the capital of Ukraine?", ("Kyiv", "Kiev")),
        ("Which chemical element has the symbol Au?", ("gold",)),
        ("Who wrote the play Hamlet?", ("William Shakespeare",)),
        ("In which year did people first walk on the Moon?", ("1969",)),
        ("What is a young dog called?", ("puppy", "pup")),
        ("How many legs does a spider have?", ("8",)),
    ],
)
def test_known_facts(question: str, references: tuple[str, ...]) -> None:
    known = {s.question: s.references for s in samples("facts_train") + samples("facts_test")}
    assert known[question] == references


def test_fact_tables_have_no_empty_cell_and_no_repeated_subject() -> None:
    for table, key in [
        ("countries", "country"),
        ("elements", "symbol"),
        ("works", "work"),
        ("events", "event"),
        ("young", "animal"),
        ("animals", "animal"),
        ("kinds", "thing"),
        ("units", "unit"),
    ]:
        rows = facts.rows(table)
        assert len({row[key] for row in rows}) == len(rows)
        assert all(value for row in rows for column, value in row.items() if column != "article")


def digest() -> str:
    content = [[s.question, s.references, s.choices] for kind in KINDS for p in ("train", "test") for s in samples(f"{kind}_{p}")]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def test_questions_do_not_depend_on_the_process() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_demo_tasks as t; print(t.digest())"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code, os.path.dirname(__file__)],  # noqa: PTH120
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == digest()
