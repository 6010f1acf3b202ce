"""Short facts: the answer is a name, a word or a number."""

from __future__ import annotations

from collections.abc import Iterator

from bert_judge.tasks.demo.facts import Split, forms, rows, split_of, usual
from bert_judge.tasks.registry import Sample, task


@task("facts_train", family="short_answer")
def facts_train() -> Iterator[Sample]:
    """Short facts for training."""
    return _samples("train")


@task("facts_test", family="short_answer")
def facts_test() -> Iterator[Sample]:
    """Short facts that no training question touches."""
    return _samples("test")


def _samples(split: Split) -> Iterator[Sample]:
    for table, key, question, references, kind in _facts():
        if split_of(table, key) == split:
            yield Sample(question, references, kind)


def _facts() -> Iterator[tuple[str, str, str, tuple[str, ...], str]]:
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
