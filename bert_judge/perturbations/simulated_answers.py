"""Correct and wrong answers of simulated models, and the forms in which they may be written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from bert_judge.perturbations.edited_answers import negate
from bert_judge.perturbations.synthetic_answers import change_number, oppose
from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks import Sample
from bert_judge.tasks.demo import PEOPLE, answers_of_kind, is_person, similar_answers
from bert_judge.text.answer_kinds import answer_kind
from bert_judge.text.normalization import TENS, UNITS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Wrong answers of a question, answers to other questions that it gets, and changed numbers of its own.
NUM_WRONG, SIMILAR, CHANGED_NUMBERS = 3, 6, 3
# Wrong words for answers that have no similar ones.
WRONG_WORDS = ("copper", "harbour", "seventh", "northern", "velvet", "orchard", "silent", "granite", "autumn", "lantern")


class Answer(NamedTuple):
    """An answer in its usual form, before it is put into words, and the letter of an option of a multiple-choice question."""

    text: str
    letter: str | None = None


def find_similar_answers(samples: Mapping[str, Sample]) -> dict[str, tuple[str, ...]]:
    """Return sample_id → the references of up to `SIMILAR` other questions of a task, with answers of the same kind first.

    Those with the next ids, which are hashes, so that a further question changes few others.
    """
    members = sorted(sample_id for sample_id, sample in samples.items() if sample.references)
    groups: dict[str, list[str]] = {}
    for sample_id in members:
        groups.setdefault(_kind_of_answer(samples[sample_id].references[0]), []).append(sample_id)
    of_any_kind, of_same_kind = dict(_following(members)), dict(pair for group in groups.values() for pair in _following(group))
    similar = {}
    for sample_id in members:
        others = [*of_same_kind[sample_id], *of_any_kind[sample_id]]
        similar[sample_id] = tuple(dict.fromkeys(samples[other].references[0] for other in others))[:SIMILAR]
    return similar


def _following(members: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each member with those that follow it in a circle; more than are needed, because answers repeat each other."""
    circle = [*members, *members]
    for position, member in enumerate(members):
        yield member, circle[position + 1 : position + min(len(members), 3 * SIMILAR)]


def _kind_of_answer(text: str) -> str:
    """Return the kind of a reference; of one with a number the words beside it, so that a length is not answered by a weight."""
    shape = re.sub(r"\d+(?:[.,]\d+)*", "0", text.strip().casefold())
    return shape if "0" in shape else answer_kind("", [text], "")


def propose_answers(sample: Sample, rng: KeyedRandom, similar: Sequence[str] = ()) -> tuple[Answer, tuple[Answer, ...]]:
    """Return a correct answer and three distinct plausible wrong ones (fewer if a question has fewer options).

    `similar`: the question's value of `find_similar_answers`.
    """
    correct = _correct_option(sample)
    if correct is not None and sample.choices is not None and len(sample.choices) > 1:
        options = [Answer(text, letter) for text, letter in zip(sample.choices, LETTERS, strict=False)]
        wrong = rng.shuffled([option for index, option in enumerate(options) if index != correct], "wrong options")
        return options[correct], tuple(wrong[:3])
    use_first = rng.bernoulli(0.75, "usual form")
    text = sample.references[0] if use_first else rng.choose(sample.references, "reference")
    return Answer(text), tuple(Answer(wrong_text) for wrong_text in _wrong_texts(sample, rng, similar))


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


def _wrong_texts(sample: Sample, rng: KeyedRandom, similar: Sequence[str]) -> list[str]:
    used = {_normalize(reference) for reference in sample.references}
    wrong: list[str] = []
    for text in _proposals(sample, rng, similar):
        if _normalize(text) not in used:
            used.add(_normalize(text))
            wrong.append(text)
        if len(wrong) == NUM_WRONG:
            break
    return wrong


def _normalize(text: str) -> str:
    number = _to_number(text.strip())
    return str(number.normalize()) if number is not None else " ".join(text.casefold().split())


def _proposals(sample: Sample, rng: KeyedRandom, similar: Sequence[str]) -> Iterator[str]:
    """Yield wrong answers endlessly: plausible ones first, then altered ones."""
    reference = sample.references[0]
    if (number := _to_number(reference)) is not None:
        yield from _near_misses(number, sample, rng)
    elif siblings := similar_answers(reference):
        yield from rng.shuffled(siblings, "siblings")
    else:
        kind = _kind_of_answer(reference)
        same_kind = [text for text in similar if _kind_of_answer(text) == kind]
        yield from rng.shuffled([*same_kind, *_edits(reference, rng)], "similar")
        yield from rng.shuffled(_similar_names(reference), "siblings")
        yield from similar
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


def _edits(text: str, rng: KeyedRandom) -> Iterator[str]:
    """Yield a text with other numbers, with an opposite, and denied."""
    for number in range(CHANGED_NUMBERS):
        if changed := change_number(text, KeyedRandom((*rng.key, "number", number))):
            yield changed
    for edit in (oppose, negate):
        if changed := edit(text, KeyedRandom((*rng.key, edit.__name__))):
            yield changed


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
