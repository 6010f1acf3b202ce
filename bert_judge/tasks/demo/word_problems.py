"""Word problems: a story, a few numbers, one number as the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks.demo.facts import Split, split_of
from bert_judge.tasks.registry import Sample, task

NAMES = ("Ada", "Amir", "Anna", "Ben", "Chen", "Clara", "Elif", "Emma", "Farid", "Grace", "Hana", "Ivan", "Julia", "Kofi", "Lena")
VARIANTS = 24


@dataclass(frozen=True)
class Template:
    """A story with numbers.

    Attributes:
        text: the question; `{name}` is a person, `{a}`, `{b}` and `{c}` are numbers.
        ranges: lowest and highest value of a, b, c.
        answer: the correct answer; a Decimal is a sum of money with cents.
    """

    text: str
    ranges: tuple[tuple[int, int], ...]
    answer: Callable[..., int | Decimal]


TEMPLATES = (
    Template(
        "{name} has {a} apples and picks {b} more. How many apples does {name} have now?", ((3, 80), (3, 80)), lambda a, b: a + b
    ),
    Template(
        "A bus carries {a} people. At a stop {b} get off and {c} get on. How many people are on the bus now?",
        ((30, 60), (2, 25), (2, 25)),
        lambda a, b, c: a - b + c,
    ),
    Template(
        "{name} buys {a} pens for ${b} each and pays with ${c}0. How many dollars does {name} get back?",
        ((2, 6), (2, 8), (5, 9)),
        lambda a, b, c: 10 * c - a * b,
    ),
    Template(
        "A box holds {a} eggs. How many eggs are in {b} full boxes?",
        ((6, 24), (3, 30)),
        lambda a, b: a * b,
    ),
    Template(
        "{name} reads {a} pages a day. How many pages does {name} read in {b} days?",
        ((8, 60), (3, 14)),
        lambda a, b: a * b,
    ),
    Template(
        "{name} cuts a rope into {a} pieces of {b} metres, and {c} metres are left. How many metres long was the rope?",
        ((3, 15), (3, 19), (1, 2)),
        lambda a, b, c: a * b + c,
    ),
    Template(
        "A rectangle is {a} cm long and {b} cm wide. What is its area in square centimetres?",
        ((4, 40), (3, 25)),
        lambda a, b: a * b,
    ),
    Template(
        "A rectangle is {a} cm long and {b} cm wide. What is its perimeter in centimetres?",
        ((4, 60), (3, 45)),
        lambda a, b: 2 * (a + b),
    ),
    Template(
        "{name} is {a} years old and has a brother who is {b} years older. How old will the brother be in {c} years?",
        ((5, 30), (2, 12), (2, 20)),
        lambda a, b, c: a + b + c,
    ),
    Template(
        "A train travels at {a} km/h. How many kilometres does it cover in {b} hours?",
        ((40, 180), (2, 9)),
        lambda a, b: a * b,
    ),
    Template(
        "A cinema has {a} rows of {b} seats, and {c} seats are taken. How many seats are free?",
        ((8, 25), (10, 24), (12, 75)),
        lambda a, b, c: a * b - c,
    ),
    Template(
        "{name} earns ${a} an hour and works {b} hours. After spending ${c}, how many dollars are left?",
        ((12, 35), (4, 40), (10, 45)),
        lambda a, b, c: a * b - c,
    ),
    Template(
        "{name} shares {a} bags of {b} sweets equally among {b} children. How many sweets does each child get?",
        ((3, 60), (3, 20)),
        lambda a, b: a,
    ),
    Template(
        "A school orders {a} packs of {b} pencils and gives away {c} pencils. How many pencils remain?",
        ((5, 30), (10, 50), (5, 48)),
        lambda a, b, c: a * b - c,
    ),
    Template(
        "{name} runs {a} km on Monday, {b} km on Tuesday and {c} km on Friday. How many kilometres is that in all?",
        ((3, 21), (3, 21), (3, 21)),
        lambda a, b, c: a + b + c,
    ),
    Template(
        "A tank holds {a}00 litres and loses {b} litres a day. How many litres are left after {c} days?",
        ((4, 9), (3, 30), (2, 12)),
        lambda a, b, c: 100 * a - b * c,
    ),
    Template(
        "{name} has {a} coins of 50 cents and {b} coins of 20 cents. How many dollars is that?",
        ((3, 29), (4, 39)),
        lambda a, b: (Decimal(50 * a + 20 * b) / 100).quantize(Decimal("0.01")),
    ),
    Template(
        "One ticket costs ${a}.50. How many dollars do {b} tickets cost?",
        ((3, 19), (2, 15)),
        lambda a, b: (Decimal(100 * a + 50) * b / 100).quantize(Decimal("0.01")),
    ),
    Template(
        "A farmer has {a} hens that lay {b} eggs each per week. How many eggs are there after {c} weeks?",
        ((5, 30), (3, 7), (2, 8)),
        lambda a, b, c: a * b * c,
    ),
    Template(
        "{name} had some stamps, gave away {a} and has {b} left. How many stamps did {name} have at first?",
        ((5, 90), (5, 90)),
        lambda a, b: a + b,
    ),
    Template(
        "A coat costs ${a}0 and is reduced by {b}0 percent. What is its new price in dollars?",
        ((6, 30), (1, 6)),
        lambda a, b: a * (10 - b),
    ),
    Template(
        "The numbers {a}, {b} and {c} are added, and the sum is doubled. What is the result?",
        ((2, 60), (2, 60), (2, 60)),
        lambda a, b, c: 2 * (a + b + c),
    ),
)


@task("word_problems_train", family="math")
def word_problems_train() -> Iterator[Sample]:
    """Word problems for training."""
    return _samples("train")


@task("word_problems_test", family="math")
def word_problems_test() -> Iterator[Sample]:
    """Word problems of the same kinds with other people and numbers."""
    return _samples("test")


def _samples(split: Split) -> Iterator[Sample]:
    return (sample for sample in _all() if split_of("word problems", sample.question) == split)


def _all() -> Iterator[Sample]:
    questions: set[str] = set()
    for number, template in enumerate(TEMPLATES):
        for variant in range(VARIANTS):
            rng = KeyedRandom(("word problem", number, variant))
            numbers = [rng.integers(low, high, f"number {i}") for i, (low, high) in enumerate(template.ranges)]
            question = template.text.format(name=rng.choose(NAMES, "name"), **dict(zip("abc", numbers, strict=False)))
            if question not in questions:
                questions.add(question)
                yield Sample(question, _references(template.answer(*numbers)), "number")


def _references(answer: int | Decimal) -> tuple[str, ...]:
    """Return the accepted forms of an answer: 12.50 and 12.5, 13.00 and 13."""
    if isinstance(answer, int):
        return (str(answer),)
    short = format(answer.normalize(), "f")
    return (str(answer), short) if short != str(answer) else (str(answer),)
