"""Correct and wrong answers of simulated models, and the forms in which they may be written."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks import Sample
from bert_judge.tasks.demo import PEOPLE, answers_of_kind, is_person, similar_answers
from bert_judge.text.normalization import TENS, UNITS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Zero to twenty.
# Wrong words for answers that have no similar ones.
WRONG_WORDS = ("copper", "harbour", "seventh", "northern", "velvet", "orchard", "silent", "granite", "autumn", "lantern")


class Answer(NamedTuple):
    """An answer in its usual form, before it is put into words, and the letter of an option of a multiple-choice question."""

    text: str
    letter: str | None = None


def propose_answers(sample: Sample, rng: KeyedRandom) -> tuple[Answer, tuple[Answer, ...]]:
    """Return a correct answer and three distinct plausible wrong ones (fewer if a question has fewer options)."""
    correct = _correct_option(sample)
    if correct is not None and sample.choices is not None and len(sample.choices) > 1:
        options = [Answer(text, letter) for text, letter in zip(sample.choices, LETTERS, strict=False)]
        wrong = rng.shuffled([option for index, option in enumerate(options) if index != correct], "wrong options")
        return options[correct], tuple(wrong[:3])
    use_first = rng.bernoulli(0.75, "usual form")
    text = sample.references[0] if use_first else rng.choose(sample.references, "reference")
    return Answer(text), tuple(Answer(wrong_text) for wrong_text in _wrong_texts(sample, rng))


def format_answer(answer: Answer, sample: Sample, rng: KeyedRandom, draw: str) -> str:
    """Write the answer as in running text; correct and wrong answers vary alike. `draw` names the draw."""
    text, letter = answer
    if letter is not None:
        return rng.choose((text, f"({letter}) {text}", f"({letter})", f"{letter}) {text}", f"option {letter}", text), draw)
    if (number := _to_number(text)) is not None:
        return rng.choose(_number_forms(text, number, sample.question), draw)
    if is_person(text) and rng.bernoulli(0.25, f"{draw}: surname"):
        return surname(text)
    return text.lower() if rng.bernoulli(0.12, f"{draw}: lower") else text


def format_marked(answer: Answer, sample: Sample, rng: KeyedRandom) -> str:
    """Write the answer as after "Final answer:"; of an option mostly the letter alone."""
    text, letter = answer
    if letter is None:
        return format_answer(answer, sample, rng, "marked")
    return rng.choose((letter,) * 8 + (f"({letter})", f"{letter}) {text}"), "marked")


def surname(person: str) -> str:
    """Return the last part of a name with its particle: Leonardo da Vinci is da Vinci, Johann Strauss II is Strauss."""
    words = [word for word in person.split() if word != "II"]
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    return " ".join(words[start:])


def in_words(number: int) -> str:
    """Spell an integer from 0 to 99 in English."""
    if number < 20:
        return UNITS[number]
    tens, units = divmod(number, 10)
    return TENS[tens] + (f"-{UNITS[units]}" if units else "")


def numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


def _correct_option(sample: Sample) -> int | None:
    references = {reference.casefold().strip() for reference in sample.references}
    for index, (text, letter) in enumerate(zip(sample.choices or (), LETTERS, strict=False)):
        if text.casefold().strip() in references or letter.casefold() in references:
            return index
    return None


def _to_number(text: str) -> Decimal | None:
    return Decimal(text.replace(",", "")) if re.fullmatch(r"-?[\d,]*\d(\.\d+)?", text) else None


def _number_forms(text: str, number: Decimal, question: str) -> list[str]:
    forms = [text] * 7
    is_year = "year" in question.lower()
    if number == number.to_integral_value():
        if 0 <= number < 100:
            forms.append(in_words(int(number)))
        if number >= 1000 and not is_year:
            forms.append(f"{int(number):,}")
        if not is_year:
            forms.append(f"{int(number)}.0")
    if "$" in question or "dollars" in question:
        forms += [f"${text}"] * 2
    return forms


def _wrong_texts(sample: Sample, rng: KeyedRandom) -> list[str]:
    used = {_normalize(reference) for reference in sample.references}
    wrong: list[str] = []
    for text in _proposals(sample, rng):
        if _normalize(text) not in used:
            used.add(_normalize(text))
            wrong.append(text)
        if len(wrong) == 3:
            break
    return wrong


def _normalize(text: str) -> str:
    number = _to_number(text.strip())
    return str(number.normalize()) if number is not None else " ".join(text.casefold().split())


def _proposals(sample: Sample, rng: KeyedRandom) -> Iterator[str]:
    """Yield wrong answers endlessly: plausible ones first, then altered ones."""
    reference = sample.references[0]
    if (number := _to_number(reference)) is not None:
        yield from _near_misses(number, sample, rng)
    else:
        yield from rng.shuffled(similar_answers(reference) or _similar_names(reference), "siblings")
    turn = 0
    while True:
        turn += 1
        yield str(number + 10 + turn) if number is not None else _altered(reference, rng, turn)


def _near_misses(number: Decimal, sample: Sample, rng: KeyedRandom) -> list[str]:
    """Return numbers off by one, two or ten, doubled, with swapped digits, or from the question, with as many decimals."""
    digits = str(number)
    misses = [number + 1, number - 1, number + 2, number - 2, number + 10, number - 10]
    if "year" not in sample.question.lower():
        misses += [number * 2, *(Decimal(n).quantize(number) for n in numbers_in(sample.question))]
    if digits.isdigit() and len(digits) > 1 and digits[-2] != "0":
        misses.append(Decimal(digits[:-2] + digits[-1] + digits[-2]))
    return [str(miss) for miss in rng.shuffled(misses, "near misses") if number < 0 or miss >= 0]


def _similar_names(text: str) -> Sequence[str]:
    """Return names for a text that looks like a name; nothing for other texts."""
    words = text.split()
    if not all(word[:1].isupper() for word in words):
        return ()
    return answers_of_kind("capitals" if len(words) == 1 else PEOPLE) if len(words) <= 3 else ()


def _altered(text: str, rng: KeyedRandom, turn: int) -> str:
    """Replace about a third of the words, and at least one; every turn gives another text."""
    words = text.split() or [text]
    for index in rng.shuffled(range(len(words)), f"altered {turn}")[: max(1, len(words) // 3)]:
        words[index] = rng.choose(WRONG_WORDS, f"word {turn} {index}")
    # After as many turns as there are words, a number keeps the texts distinct.
    return " ".join(words) + (f" {turn}" if turn > len(WRONG_WORDS) else "")
