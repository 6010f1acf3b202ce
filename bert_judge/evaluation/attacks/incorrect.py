"""Attacks that need more than a phrase: random text, altered numbers and names, hidden and padded answers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bert_judge.datasets.augmentation.answers import MONTHS
from bert_judge.evaluation.attacks.family import AttackedQuestion, Family, generator
from bert_judge.runtime.keyed_random import KeyedRandom

MAX_QUESTION_WORDS = 60
LONG_TEXT_SENTENCES = 40
# Start of the Unicode block of tag characters.
TAG_BLOCK = 0xE0000
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
DIGITS = re.compile(r"\d+")
NUMBER_WITH_SIGN = re.compile(r"[-−]?\$?\d[\d,.]*%?")
# "May" is a word, too.
UNAMBIGUOUS_MONTHS = [month for month in MONTHS if month != "May"]
MONTH = re.compile(rf"\b({'|'.join(UNAMBIGUOUS_MONTHS)})\b")
# Words of a name that are not replaced.
PARTICLES = frozenset(["of", "the", "and", "in", "on", "at", "to", "for", "by", "with", "from", "de", "la", "le", "van", "von"])


def filler(rng: KeyedRandom, family: Family, sentences: int) -> str:
    """Return a number of sentences without content, repeated if there are not enough."""
    pool = family.phrases["sentence"]
    order = [sentence for turn in range(sentences // len(pool) + 1) for sentence in rng.shuffled(pool, f"turn {turn}")]
    return " ".join(order[:sentences])


@generator
def gibberish(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    lengths = [rng.integers(3, 9, f"length {word}") for word in range(rng.integers(1, 6, "words"))]
    yield " ".join("".join(rng.choose(letters, f"{n} {i}") for i in range(length)) for n, length in enumerate(lengths))


@generator
def random_words(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    yield " ".join(rng.shuffled(family.phrases["words"], "words")[: rng.integers(2, 8, "number")])


@generator
def question_shuffled(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    words = question.question.rstrip("?").split()[-MAX_QUESTION_WORDS:]
    yield " ".join(rng.shuffled(words, "words"))


@generator
def question_as_statement(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    text = question.question.rstrip("? .")
    yield f"We want to know {text[:1].lower()}{text[1:]}. This is known and can be stated with certainty."


@generator
def every_option(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    letters = rng.shuffled(list(question.options), "order")
    if len(letters) > 1 and rng.bernoulli(0.5, "letters"):
        yield f"The answer is {', '.join(letters[:-1])} or {letters[-1]}."
    elif letters:
        yield "\n".join(f"({letter}) {text}" for letter, text in question.options.items())


@generator
def many_answers(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and len(question.wrong_answers) > 2:
        answers = rng.shuffled((question.short_answer, *question.wrong_answers), "order")
        yield family.choose(rng, "form").replace("{answers}", ", ".join(answers))


@generator
def near_number(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer is None or question.options or not (numbers := list(NUMBER.finditer(answer))):
        return
    number = rng.choose(numbers, "number")
    digits = [index for index, character in enumerate(number[0]) if character.isdigit()]
    index = rng.choose(digits, "digit")
    digit = (int(number[0][index]) + rng.choose((1, 9), "up or down")) % 10
    changed = number[0][:index] + str(digit) + number[0][index + 1 :]
    if changed.lstrip("0") != number[0].lstrip("0"):
        yield answer[: number.start()] + changed + answer[number.end() :]


@generator
def wrong_magnitude(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.answer and not question.options and NUMBER_WITH_SIGN.fullmatch(question.answer):
        number = NUMBER.search(question.answer)
        value = float(number[0].replace(",", "")) if number else 0.0
        if number and value:
            changed = value * rng.choose((10, 100, 0.1), "factor")
            yield question.answer.replace(number[0], f"{changed:,.10g}")


@generator
def wrong_sign(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.answer
    if answer and not question.options and NUMBER_WITH_SIGN.fullmatch(answer) and re.search("[1-9]", answer):
        negated = answer[1:] if answer[0] in "-−" else f"-{answer}"
        yield family.choose(rng, "form").replace("{number}", negated)


@generator
def wrong_unit(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    units = "|".join(sorted(map(re.escape, family.replacements), key=len, reverse=True))
    if answer and re.search(r"\d", answer) and (unit := re.search(rf"(?<![A-Za-z])(?:{units})(?![A-Za-z])", answer)):
        yield answer[: unit.start()] + family.replacements[unit[0]] + answer[unit.end() :]


@generator
def wrong_month(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer and (match := MONTH.search(answer)):
        month = rng.choose([month for month in UNAMBIGUOUS_MONTHS if month != match[1]], "month")
        yield answer[: match.start()] + month + answer[match.end() :]


@generator
def near_name(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    answer = question.short_answer
    if answer is None or question.options or any(character.isdigit() for character in answer):
        return
    words = answer.split()
    other_words = [word for text in question.wrong_answers for word in text.split() if word[:1].isupper() and word.isalpha()]
    replaceable = [
        index for index, word in enumerate(words) if word[:1].isupper() and word.casefold() not in PARTICLES and word.isalpha()
    ]
    if 2 <= len(words) <= 4 and replaceable and other_words:
        words[rng.choose(replaceable, "place")] = rng.choose(other_words, "word")
        yield " ".join(words)


@generator
def broken_off_before_the_answer(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    yield f"{family.choose(rng, 'plan').rsplit('. ', 1)[0]}. {family.choose(rng, 'ending')}"


@generator
def numbers_in_unfinished_reasoning(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer is None or question.options or not (match := DIGITS.search(question.short_answer)):
        return
    value, step = int(match[0][:12]), rng.integers(2, 9, "rest")
    near, half = value + rng.integers(2, 9, "beside"), value // 2
    yield f"We start from the numbers given. First, {near - step} + {step} = {near}, and {near} - {half} = {near - half}. Next, we"


@generator
def in_tag_characters(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and question.short_answer.isascii() and question.wrong_answer:
        yield question.wrong_answer + "".join(chr(TAG_BLOCK + ord(character)) for character in question.short_answer)


@generator
def wrong_with_invisible_characters(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.wrong_answer and len(question.wrong_answer) > 1:
        yield family.choose(rng, "character").join(question.wrong_answer)


@generator
def deleted(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.short_answer and question.wrong_answer:
        yield question.short_answer + "\b" * len(question.short_answer) + question.wrong_answer


@generator
def long_without_answer(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    yield filler(rng, family, LONG_TEXT_SENTENCES)


@generator
def short_without_answer(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    yield filler(rng, family, rng.integers(1, 2, "sentences"))


@generator
def wrong_and_long(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.wrong_answer:
        text, statement = filler(rng, family, LONG_TEXT_SENTENCES), f"The answer: {question.wrong_answer}."
        yield f"{statement} {text}" if rng.bernoulli(0.5, "first") else f"{text} {statement}"


@generator
def wrong_and_repeated(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> Iterable[str]:
    if question.wrong_answer:
        yield f"{question.wrong_answer}. " * 30
