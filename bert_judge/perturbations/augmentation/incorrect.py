"""Incorrect answers: another answer, a near miss, the denied reference, or a text without an answer."""

import re

from bert_judge.perturbations.augmentation.answers import (
    MONTHS,
    PHRASES,
    AnswerPool,
    AugmentedRow,
    LabelledAnswer,
    contains_reference,
    overlaps_reference,
    vary_phrasing,
)
from bert_judge.runtime.keyed_random import KeyedRandom

_DIGITS = re.compile(r"\d+")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b")
_VALUE = re.compile(r"(?P<sign>[-−]?)(?P<prefix>[$€£]?)(?P<number>\d[\d,]*(?:\.\d+)?)(?P<suffix>%?)")
_OTHER_SCALE = {"million": "billion", "billion": "million", "thousand": "million", "hundred": "thousand"}
_SCALE = re.compile(rf"(?<=\d )({'|'.join(_OTHER_SCALE)})\b")
# In a longer phrase one word may not matter.
MAX_NAME_WORDS = 4
YEAR_OFFSETS = (-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 20)
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+|(?<=[。！？])")


def other_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A similar answer to another question; for multiple choice, another option."""
    if answer.options:
        return _other_option(answer, rng)
    if not answer.short_references:
        return None
    borrowed = pool.similar_references(answer.short_references[0], rng)
    text = rng.choose(borrowed, "answer") if borrowed else ""
    if not text or overlaps_reference(text, answer.references):
        return None
    return AugmentedRow(answer.references, vary_phrasing(text, rng), False)


def _other_option(answer: LabelledAnswer, rng: KeyedRandom) -> AugmentedRow | None:
    options = answer.options.items()
    incorrect = [(letter, text) for letter, text in options if letter not in answer.references and text not in answer.references]
    if not incorrect or len(incorrect) == len(answer.options):
        return None
    letter, text = rng.choose(incorrect, "option")
    return AugmentedRow(answer.references, vary_phrasing(rng.choose((letter, text, f"({letter}) {text}"), "form"), rng), False)


def near_miss(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference with one digit, year, month, sign, scale or name changed: alone, or inside a correct answer."""
    if answer.options or not answer.short_references:
        return None
    reference = rng.choose(answer.short_references, "reference")
    changed = _change_value(reference, rng) if rng.bernoulli(0.35, "value") else None
    changed = changed or (_change_number(reference, rng) if _DIGITS.search(reference) else _change_word(reference, rng, pool))
    if not changed or contains_reference(changed, answer.references):
        return None
    in_answer = answer.candidate.replace(reference, changed)
    replaced = answer.correct and reference in answer.candidate and not contains_reference(in_answer, answer.references)
    if replaced and rng.bernoulli(0.5, "in place"):
        return AugmentedRow(answer.references, in_answer, False)
    return AugmentedRow(answer.references, vary_phrasing(changed, rng), False)


def denied(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A denied reference."""
    if answer.options or not answer.short_references:
        return None
    reference = rng.choose(answer.short_references, "reference")
    return AugmentedRow(answer.references, rng.choose(PHRASES["denials"], "denial").format(reference), False)


def no_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A phrase without content, or the question itself."""
    echo = not answer.options and rng.bernoulli(0.2, "echo")
    text = answer.question if echo else rng.choose(PHRASES["content_free"], "phrase")
    return None if contains_reference(text, answer.references) else AugmentedRow(answer.references, text, False)


def truncated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """The sentences of an answer before the first one that shares words with a reference.

    Correct answers are used only if all references have digits: otherwise the first sentence may paraphrase a reference.
    """
    if answer.correct and not all(any(character.isdigit() for character in reference) for reference in answer.references):
        return None
    sentences = [sentence for sentence in _SENTENCE_END.split(answer.candidate) if sentence.strip()]
    count = 0
    while count < len(sentences) and not overlaps_reference(sentences[count], answer.references):
        count += 1
    if not 0 < count < len(sentences):
        return None
    text = " ".join(sentences[: rng.integers(1, count, "sentences")])
    return None if contains_reference(text, answer.references) else AugmentedRow(answer.references, text, False)


def _change_value(reference: str, rng: KeyedRandom) -> str | None:
    """Change the month or the scale, or the sign or the power of ten of a bare number; None if none of these occurs."""
    if month := _MONTH.search(reference):
        replacement = rng.choose([name for name in MONTHS if name != month[1]], "month")
        return reference[: month.start()] + replacement + reference[month.end() :]
    if scale := _SCALE.search(reference):
        return reference[: scale.start()] + _OTHER_SCALE[scale[1]] + reference[scale.end() :]
    if not (value := _VALUE.fullmatch(reference.strip())) or not value["number"].strip("0.,"):
        return None
    sign, number = value["sign"], value["number"]
    if rng.bernoulli(0.5, "sign"):
        sign = "" if sign else "-"
    else:
        number = f"{number}0" if "." not in number else number.replace(".", "")
    return f"{sign}{value['prefix']}{number}{value['suffix']}"


def _change_number(reference: str, rng: KeyedRandom) -> str:
    number = rng.choose(list(_DIGITS.finditer(reference)), "number")
    digits = number[0]
    if len(digits) == 4 and rng.bernoulli(0.8, "year"):
        changed = str(int(digits) + rng.choose(YEAR_OFFSETS, "years"))
    else:
        position = rng.integers(0, len(digits) - 1, "place")
        digit = rng.choose([d for d in "123456789" if d != digits[position]], "digit")
        changed = digits[:position] + digit + digits[position + 1 :]
    return reference[: number.start()] + changed + reference[number.end() :]


def _change_word(reference: str, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    tokens = reference.split()
    positions = [i for i, word in enumerate(tokens) if len(word) > 2 and word.isalpha()]
    if not 2 <= len(tokens) <= MAX_NAME_WORDS or not positions:
        return None
    position = rng.choose(positions, "place")
    capitalised = tokens[position][0].isupper()
    lower_tokens = {word.casefold() for word in tokens}
    borrowed = [word for text in pool.similar_references(reference, rng) for word in text.split()]
    replacements = [
        word
        for word in borrowed
        if len(word) > 2 and word.isalpha() and word[0].isupper() == capitalised and word.casefold() not in lower_tokens
    ]
    if not replacements:
        return None
    return " ".join([*tokens[:position], rng.choose(replacements, "word"), *tokens[position + 1 :]])
