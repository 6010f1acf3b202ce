"""Questions written for this project, so that everything runs offline: short facts, word problems, multiple choice.

They are generated from fact tables and templates (`data/`). Training and test questions differ in their *facts*: each fact occurs
in one split only, in every form of question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import yaml

from bert_judge.runtime.keyed_random import KeyedRandom, shuffled
from bert_judge.tasks.demo.facts import Split, forms, rows, split_of, usual, values
from bert_judge.tasks.registry import Sample, task

if TYPE_CHECKING:
    from bert_judge.config import Family

NAMES = ("Ada", "Amir", "Anna", "Ben", "Chen", "Clara", "Elif", "Emma", "Farid", "Grace", "Hana", "Ivan", "Julia", "Kofi", "Lena")
# Questions per template.
VARIANTS = 24
LETTERS = "ABCD"


def short_facts(split: Split) -> Iterator[Sample]:
    """Yield questions whose answer is a name, a word or a number."""
    for table, key, question, references, kind in _short_facts():
        if split_of(table, key) == split:
            yield Sample(question, references, kind)


def _short_facts() -> Iterator[tuple[str, str, str, tuple[str, ...], str]]:
    """Yield (table, key of the fact, question, references, answer kind)."""
    for row in rows("countries"):
        country = usual(row["country"])
        named = f"{row['article']} {country}".strip()
        yield "countries", country, f"What is the capital of {named}?", forms(row["capital"]), "span"
    for row in rows("elements"):
        element = usual(row["element"])
        question = f"Which chemical element has the symbol {row['symbol']}?"
        yield "elements", element, question, forms(row["element"]), "span"
    for row in rows("works"):
        yield "works", row["work"], f"Who {row['verb']} {row['work']}?", forms(row["person"]), "span"
    for row in rows("events"):
        yield "events", row["event"], f"In which year {row['event']}?", (row["year"],), "number"
    for row in rows("counts"):
        question = f"How many {row['things']} does {row['whole']} have?"
        yield "counts", f"{row['things']} of {row['whole']}", question, (row["number"],), "number"
    for row in rows("young"):
        yield "young", row["animal"], f"What is a young {row['animal']} called?", forms(row["young"]), "span"


def multiple_choice(split: Split) -> Iterator[Sample]:
    """Yield questions with four options, one of them correct."""
    for table, key, stem, correct, pool in _choice_facts():
        if split_of(table, key) == split:
            yield _with_options(stem, correct, pool)


def _with_options(stem: str, correct: str, pool: Sequence[str]) -> Sample:
    distractors = shuffled([value for value in pool if value != correct], "distractors", stem)[: len(LETTERS) - 1]
    options = shuffled([correct, *distractors], "places", stem)
    lines = "\n".join(f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=True))
    return Sample(f"{stem}\n{lines}", (LETTERS[options.index(correct)], correct), "choice", tuple(options))


def _choice_facts() -> Iterator[tuple[str, str, str, str, Sequence[str]]]:
    """Yield (table, key of the fact, stem, correct option, all values that can be options)."""
    for row in rows("countries"):
        country = usual(row["country"])
        named = f"{row['article']} {country}".strip()
        continents = values("countries", "continent")
        yield "countries", country, f"On which continent does the capital of {named} lie?", row["continent"], continents
        stem = f"Which country has {usual(row['capital'])} as its capital?"
        yield "countries", country, stem, country, values("countries", "country")
    for row in rows("elements"):
        element = usual(row["element"])
        stem = f"Which of these elements has the atomic number {row['number']}?"
        yield "elements", element, stem, element, values("elements", "element")
    for row in rows("animals"):
        stem = f"To which class of animals does the {row['animal']} belong?"
        yield "animals", row["animal"], stem, row["class"], values("animals", "class")
    for row in rows("kinds"):
        yield "kinds", row["thing"], f"What kind of thing is {row['thing']}?", row["kind"], values("kinds", "kind")
    for row in rows("units"):
        yield "units", row["unit"], f"Which quantity has the unit {row['unit']}?", row["quantity"], values("units", "quantity")


def word_problems(split: Split) -> Iterator[Sample]:
    """Yield stories with a few numbers whose answer is one number; the splits differ in people and numbers."""
    questions: set[str] = set()
    for number, template in enumerate(templates()):
        for variant in range(VARIANTS):
            rng = KeyedRandom(("word problem", number, variant))
            numbers = {
                name: rng.integers(low, high, f"number {i}") for i, (name, (low, high)) in enumerate(template["numbers"].items())
            }
            question = template["question"].format(name=rng.choose(NAMES, "name"), **numbers)
            if question not in questions and split_of("word problems", question) == split:
                yield Sample(question, answer_forms(template, numbers), "number")
            questions.add(question)


@cache
def templates() -> Sequence[dict[str, Any]]:
    """Return the word problems, with their numbers left open."""
    text = resources.files("bert_judge.tasks.demo").joinpath("data", "word_problems.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def answer_forms(template: dict[str, Any], numbers: dict[str, int]) -> tuple[str, ...]:
    """Return the accepted forms of an answer; those of a sum of money are 12.50 and 12.5, or 13.00 and 13."""
    # The expressions are part of this package.
    value = eval(template.get("answer") or template["cents"], {}, dict(numbers))
    if "answer" in template:
        return (str(value),)
    dollars = (Decimal(value) / 100).quantize(Decimal("0.01"))
    return tuple(dict.fromkeys((str(dollars), format(dollars.normalize(), "f"))))


def _register(name: str, family: Family, samples: Callable[[Split], Iterator[Sample]]) -> None:
    @task(f"{name}_train", family)
    def train() -> Iterator[Sample]:
        return samples("train")

    @task(f"{name}_test", family)
    def test() -> Iterator[Sample]:
        return samples("test")


_register("facts", "short_answer", short_facts)
_register("word_problems", "math", word_problems)
_register("multiple_choice", "multiple_choice", multiple_choice)
