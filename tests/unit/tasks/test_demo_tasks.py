import re
from collections import Counter

import pytest

from bert_judge import tables
from bert_judge.perturbations.simulated_answers import numbers_in
from bert_judge.tasks import Sample, find
from bert_judge.tasks.demo import is_person, similar_answers

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
    countries = re.findall(r"What is the capital of (.+?)\?", " ".join(sides.values()))
    assert len(countries) > 90
    for country in countries:
        stems = (f"capital of {country}?", f"capital of {country} lie?")
        asked = [part for part, text in sides.items() for stem in stems if stem in text]
        assert len(asked) == 2 and len(set(asked)) == 1


def test_similar_answers() -> None:
    assert {"Paris", "Vienna"} <= set(similar_answers("PARIS")) and "France" in similar_answers("Austria")
    assert similar_answers("Kiev") == similar_answers("Kyiv") and "Kiev" not in similar_answers("Kyiv")
    assert is_person("Leonardo da Vinci") and not is_person("Paris") and similar_answers("unknown") == ()


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
