"""Right and wrong answers to a question, and the forms in which a model may write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks import Sample
from bert_judge.tasks.demo import facts

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# Wrong words for answers that no fact table knows.
WORDS = ("copper", "harbour", "seventh", "northern", "velvet", "orchard", "silent", "granite", "autumn", "lantern")


@dataclass(frozen=True)
class Answer:
    """An answer before it is put into words.

    Attributes:
        text: its usual form.
        letter: its letter, for an option of a multiple-choice question.
    """

    text: str
    letter: str | None = None


@dataclass(frozen=True)
class Answers:
    """What can be said to one question.

    Attributes:
        right: a right answer.
        wrong: three wrong ones that differ from each other (fewer when a question has fewer options).
    """

    right: Answer
    wrong: tuple[Answer, ...]


def find(sample: Sample, rng: KeyedRandom) -> Answers:
    """A right answer and plausible wrong ones."""
    if (place := _right_option(sample)) is not None and sample.choices is not None and len(sample.choices) > 1:
        options = [Answer(text, letter) for text, letter in zip(sample.choices, LETTERS, strict=False)]
        wrong = rng.shuffled([option for i, option in enumerate(options) if i != place], "wrong options")
        return Answers(options[place], tuple(wrong[:3]))
    usual = rng.bernoulli(0.75, "usual form")
    right = sample.references[0] if usual else rng.choose(sample.references, "reference")
    return Answers(Answer(right), tuple(Answer(text) for text in _wrong_texts(sample, rng)))


def worded(answer: Answer, sample: Sample, rng: KeyedRandom, place: str) -> str:
    """The answer as a model writes it in running text; right and wrong answers vary alike.

    Args:
        place: names the draw, so that the same answer may look different elsewhere.
    """
    if answer.letter is not None:
        letter, text = answer.letter, answer.text
        return rng.choose((text, f"({letter}) {text}", f"({letter})", f"{letter}) {text}", f"option {letter}", text), place)
    if (number := _number(answer.text)) is not None:
        return _number_worded(answer.text, number, sample, rng, place)
    if facts.is_person(answer.text) and rng.bernoulli(0.25, f"{place}: surname"):
        return surname(answer.text)
    return answer.text.lower() if rng.bernoulli(0.12, f"{place}: lower") else answer.text


def marked(answer: Answer, sample: Sample, rng: KeyedRandom) -> str:
    """The answer as it stands after "Final answer:"; of an option mostly the letter alone."""
    if answer.letter is None:
        return worded(answer, sample, rng, "marked")
    return rng.choose((answer.letter,) * 8 + (f"({answer.letter})", f"{answer.letter}) {answer.text}"), "marked")


def surname(person: str) -> str:
    """The last part of a name, with its particle: Leonardo da Vinci is da Vinci, Johann Strauss II is Strauss."""
    words = [word for word in person.split() if word != "II"]
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    return " ".join(words[start:])


def in_words(number: int) -> str:
    """An integer from 0 to 99 in English words."""
    if number < 20:
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens] + (f"-{ONES[ones]}" if ones else "")


def numbers_in(text: str) -> list[str]:
    """The numbers that a text mentions."""
    return re.findall(r"\d+(?:\.\d+)?", text)


def _right_option(sample: Sample) -> int | None:
    references = {reference.casefold().strip() for reference in sample.references}
    for place, (text, letter) in enumerate(zip(sample.choices or (), LETTERS, strict=False)):
        if text.casefold().strip() in references or letter.casefold() in references:
            return place
    return None


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace(",", "")) if re.fullmatch(r"-?[\d,]*\d(\.\d+)?", text) else None
    except InvalidOperation:
        return None


def _number_worded(text: str, number: Decimal, sample: Sample, rng: KeyedRandom, place: str) -> str:
    forms = [text] * 7
    if number == number.to_integral_value():
        if 0 <= number < 100:
            forms += [in_words(int(number))]
        if number >= 1000 and "year" not in sample.question.lower():
            forms += [f"{int(number):,}"]
        if "year" not in sample.question.lower():
            forms += [f"{int(number)}.0"]
    if "$" in sample.question or "dollars" in sample.question:
        forms += [f"${text}"] * 2
    return rng.choose(forms, place)


def _wrong_texts(sample: Sample, rng: KeyedRandom) -> list[str]:
    """Three different texts that are none of the references."""
    taken = {_plain(reference) for reference in sample.references}
    wrong: list[str] = []
    for text in _proposals(sample, rng):
        if _plain(text) not in taken:
            taken.add(_plain(text))
            wrong.append(text)
        if len(wrong) == 3:
            break
    return wrong


def _plain(text: str) -> str:
    number = _number(text.strip())
    return str(number.normalize()) if number is not None else " ".join(text.casefold().split())


def _proposals(sample: Sample, rng: KeyedRandom) -> Iterator[str]:
    """Without end: plausible ones first, made-up ones when they run out."""
    usual = sample.references[0]
    if (number := _number(usual)) is not None:
        yield from _near_misses(number, sample, rng)
    else:
        yield from rng.shuffled(facts.siblings(usual) or _alike(usual), "siblings")
    extra = 0
    while True:
        extra += 1
        yield str(number + 10 + extra) if number is not None else _altered(usual, rng, extra)


def _near_misses(number: Decimal, sample: Sample, rng: KeyedRandom) -> list[str]:
    """Off by one or ten, doubled, digits swapped, or a number of the question; as many decimals as the right one."""
    digits = str(number)
    misses = [number + 1, number - 1, number + 2, number - 2, number + 10, number - 10]
    if "year" not in sample.question.lower():
        misses += [number * 2, *(Decimal(n).quantize(number) for n in numbers_in(sample.question))]
    if digits.isdigit() and len(digits) > 1 and digits[-2] != "0":
        misses.append(Decimal(digits[:-2] + digits[-1] + digits[-2]))
    return [str(miss) for miss in rng.shuffled(misses, "near misses") if number < 0 or miss >= 0]


def _alike(text: str) -> Sequence[str]:
    """Names for something that looks like a name; nothing for other texts."""
    words = text.split()
    if not all(word[:1].isupper() for word in words):
        return ()
    table, column = ("countries", "capital") if len(words) == 1 else facts.PEOPLE
    return facts.values(table, column) if len(words) <= 3 else ()


def _altered(text: str, rng: KeyedRandom, turn: int) -> str:
    """The text with about a third of its words, and at least one, replaced; every turn gives another text."""
    words = text.split() or [text]
    for i in rng.shuffled(range(len(words)), f"altered {turn}")[: max(1, len(words) // 3)]:
        words[i] = rng.choose(WORDS, f"word {turn} {i}")
    # After as many turns as there are words a number keeps the texts different.
    return " ".join(words) + (f" {turn}" if turn > len(WORDS) else "")
