"""Multiple choice: four options, one of them correct."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bert_judge.runtime.keyed_random import shuffled
from bert_judge.tasks.demo.facts import Split, rows, split_of, usual, values
from bert_judge.tasks.registry import Sample, task

LETTERS = "ABCD"


@task("multiple_choice_train", family="multiple_choice")
def multiple_choice_train() -> Iterator[Sample]:
    """Multiple choice for training."""
    return _samples("train")


@task("multiple_choice_test", family="multiple_choice")
def multiple_choice_test() -> Iterator[Sample]:
    """Multiple choice about facts that no training question touches."""
    return _samples("test")


def _samples(split: Split) -> Iterator[Sample]:
    for table, key, stem, correct, pool in _facts():
        if split_of(table, key) == split:
            yield _with_options(stem, correct, pool)


def _with_options(stem: str, correct: str, pool: Sequence[str]) -> Sample:
    distractors = shuffled([value for value in pool if value != correct], "distractors", stem)[: len(LETTERS) - 1]
    options = shuffled([correct, *distractors], "places", stem)
    lines = "\n".join(f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=True))
    return Sample(f"{stem}\n{lines}", (LETTERS[options.index(correct)], correct), "choice", tuple(options))


def _facts() -> Iterator[tuple[str, str, str, str, Sequence[str]]]:
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
