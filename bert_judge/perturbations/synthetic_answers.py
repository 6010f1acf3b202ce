"""Synthetic answers made by rules: a reference in other words, another answer, or the same answer with another reference.

Files with short references never pair two whole sentences. Where several models answer a question, the correct answers express one
fact in many ways, and the incorrect ones repeat most of these words: such answers serve as references, too.
"""

import re
from collections.abc import Callable
from functools import partial

from bert_judge.perturbations.labelled_answers import (
    ASKS_FOR_PERSON,
    MAX_SHORT_WORDS,
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
from bert_judge.text.normalization import NUMBER_WORDS
from bert_judge.text.rules.wording import list_opposites

_WORD_OF_NUMBER = {digits: word for word, digits in NUMBER_WORDS.items()}
# After a dash the day belongs to a range.
_DAY_FIRST = re.compile(rf"(?<![\w–-])(\d{{1,2}}) ({'|'.join(MONTHS)}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}),? (\d{{4}})\b")
_SMALL_NUMBER = re.compile(r"(?<![\w.,/:-])(\d{1,2})(?![\w.,/:%-])")
_NUMBER_WORD = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}),(\d{3})(?![\d.,])")
_FULL_NAME = re.compile(r"([A-Z][a-z]+) ([A-Z])[a-z]+ ([A-Z][a-z]+)")
# In a longer text a digit instead of a number word may change the meaning: "one small step".
MAX_WORDS_WITH_NUMBER = 4
# One letter may turn a shorter word into another.
MIN_MISSPELLED_LETTERS = 6

_ASKS_FOR_DATE = re.compile(r"\bwhen\b", re.IGNORECASE)
_MONTH_NAMES = "|".join(MONTHS)
_DATE = re.compile(rf"(?:\d{{1,2}} (?P<month>{_MONTH_NAMES})|(?P<first>{_MONTH_NAMES}) \d{{1,2}}),? (?P<year>\d{{4}})")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|President)\.? (?=[^\W\d_])")
_ARTICLE = re.compile(r"^(?:the|an?|in|on|at|by|from) (?=\w)", re.IGNORECASE)
# Capitalised words only, and no names whose parts belong together: "Bank of America", "New Jersey Devils".
_NAME = re.compile(
    r"(?!(?:New|North|South|Vice|United|Great|San|Los) )(?P<first>[^\W\d_]+) (?:[A-Z][\w'’.-]* )+(?P<last>[A-Z][\w'’-]+)(?<!s)"
)


def restated(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference, bare or in a phrase, sometimes in lower case; for multiple choice with its letter."""
    text = rng.choose(answer.references, "reference")
    if not text.strip():
        return None
    letter = next((letter for letter in answer.options if letter in answer.references), None)
    if letter and rng.bernoulli(0.5, "letter"):
        text = f"({letter}) {answer.options[letter]}"
    elif not answer.options and rng.bernoulli(0.2, "lower"):
        text = text.lower()
    return AugmentedRow(answer.references, vary_phrasing(text, rng), True)


def reformatted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference whose date, number or name is written in another format."""
    if answer.options:
        return None
    formats = (*_FORMATS, _abbreviate_middle_name) if ASKS_FOR_PERSON.search(answer.question) else _FORMATS
    forms = [form for text in answer.short_references for reformat in formats if (form := reformat(text)) != text]
    return AugmentedRow(answer.references, vary_phrasing(rng.choose(forms, "form"), rng), True) if forms else None


def spell_out_number(text: str) -> str:
    """Write the first small number as a word, unless the text has a date."""
    match = _SMALL_NUMBER.search(text)
    if not match or match[1] not in _WORD_OF_NUMBER or any(month in text for month in MONTHS):
        return text
    return text[: match.start()] + _WORD_OF_NUMBER[match[1]] + text[match.end() :]


def _write_digits(text: str) -> str:
    if len(text.split()) > MAX_WORDS_WITH_NUMBER:
        return text
    return _NUMBER_WORD.sub(lambda match: NUMBER_WORDS[match[1].lower()], text)


def _abbreviate_middle_name(text: str) -> str:
    name = _FULL_NAME.fullmatch(text)
    return f"{name[1]} {name[2]}. {name[3]}" if name else text


_FORMATS: tuple[Callable[[str], str], ...] = (
    partial(_DAY_FIRST.sub, r"\2 \1, \3"),
    partial(_MONTH_FIRST.sub, r"\2 \1 \3"),
    spell_out_number,
    _write_digits,
    partial(_THOUSANDS.sub, r"\1\2"),
)


def shortened(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference without the day of its date, a middle name, a title, a bracket, an article, or one of two alternatives.

    The annotators of NQ-open accepted 82% to 97% of the answers that contain a reference only in one of these forms. A surname
    alone, which they accepted in 74%, is not among them (docs/log.md).
    """
    if answer.options:
        return None
    forms = [form for reference in answer.short_references for form in shorten(reference, answer.question)]
    return AugmentedRow(answer.references, vary_phrasing(rng.choose(forms, "form"), rng), True) if forms else None


def shorten(reference: str, question: str) -> list[str]:
    """List the shorter forms of a reference that still answer the question, without the reference itself."""
    forms = [pattern.sub("", reference).strip() for pattern in (_BRACKETS, _ARTICLE)]
    alternatives = [alternative.strip() for alternative in reference.split(" or ")]
    forms += alternatives if len(alternatives) == 2 else []
    if _ASKS_FOR_DATE.search(question) and (date := _DATE.fullmatch(reference)):
        forms += [f"{date['month'] or date['first']} {date['year']}", date["year"]]
    if ASKS_FOR_PERSON.search(question):
        forms.append(_TITLE.sub("", reference))
        if (name := _NAME.fullmatch(forms[-1])) and name["first"][0].isupper():
            forms.append(f"{name['first']} {name['last']}")
    # A form that the question contains is no answer.
    return [form for form in forms if form and form != reference and form not in question]


def misspelled(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A reference with one letter of a long word left out or doubled."""
    if answer.options or not answer.short_references:
        return None
    tokens = rng.choose(answer.short_references, "reference").split()
    positions = [i for i, word in enumerate(tokens) if len(word) >= MIN_MISSPELLED_LETTERS and word.isalpha()]
    if not positions or len(tokens) > MAX_SHORT_WORDS:
        return None
    position = rng.choose(positions, "word")
    word = tokens[position]
    letter = rng.integers(1, len(word) - 2, "letter")
    tokens[position] = word[:letter] + rng.choose(("", word[letter] * 2), "slip") + word[letter + 1 :]
    return AugmentedRow(answer.references, " ".join(tokens), True)


_DIGITS = re.compile(r"\d+")
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b")
_VALUE = re.compile(r"(?P<sign>[-−]?)(?P<prefix>[$€£]?)(?P<number>\d[\d,]*(?:\.\d+)?)(?P<suffix>%?)")
_OTHER_SCALE = {"million": "billion", "billion": "million", "thousand": "million", "hundred": "thousand"}
_SCALE = re.compile(rf"(?<=\d )({'|'.join(_OTHER_SCALE)})\b")
_OTHER_UNIT = {first: second for pair in PHRASES["units"] for first, second in ((pair[0], pair[1]), (pair[1], pair[0]))}
_UNIT = re.compile(rf"(?<=\d )({'|'.join(map(re.escape, _OTHER_UNIT))})(?!\w)")
WORD = re.compile(r"(?<![\w'’-])[^\W\d_]+(?![\w'’-])")
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
    """A reference with one digit, year, month, sign, scale, unit, name or opposite changed: alone, or inside a correct answer."""
    if answer.options or not answer.short_references:
        return None
    reference = rng.choose(answer.short_references, "reference")
    changed = _change_value(reference, rng) if rng.bernoulli(0.35, "value") else None
    changed = changed or change_number(reference, rng) or _change_word(reference, rng, pool)
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
    """Change the month, scale or unit, a word into its opposite or a neighbour in a list (Monday, red, third), or the sign or power
    of ten of a bare number; None if none of these occurs."""
    if month := _MONTH.search(reference):
        replacement = rng.choose([name for name in MONTHS if name != month[1]], "month")
        return reference[: month.start()] + replacement + reference[month.end() :]
    if scale := _SCALE.search(reference):
        return reference[: scale.start()] + _OTHER_SCALE[scale[1]] + reference[scale.end() :]
    if unit := _UNIT.search(reference):
        return reference[: unit.start()] + _OTHER_UNIT[unit[1]] + reference[unit.end() :]
    if opposed := oppose(reference, rng):
        return opposed
    if not (value := _VALUE.fullmatch(reference.strip())) or not value["number"].strip("0.,"):
        return None
    sign, number = value["sign"], value["number"]
    if rng.bernoulli(0.5, "sign"):
        sign = "" if sign else "-"
    else:
        number = f"{number}0" if "." not in number else number.replace(".", "")
    return f"{sign}{value['prefix']}{number}{value['suffix']}"


def oppose(text: str, rng: KeyedRandom) -> str | None:
    """Replace one word of a text by its opposite or a neighbour in a list; None if no word has one."""
    matches = [match for match in WORD.finditer(text) if list_opposites(match[0].casefold())]
    if not matches:
        return None
    match = rng.choose(matches, "word")
    other = rng.choose(list_opposites(match[0].casefold()), "opposite")
    return text[: match.start()] + keep_capital(match[0], other) + text[match.end() :]


def keep_capital(word: str, replacement: str) -> str:
    """Write the replacement with a capital if the word has one."""
    return replacement[:1].upper() + replacement[1:] if word[:1].isupper() else replacement


def change_number(reference: str, rng: KeyedRandom) -> str | None:
    """Change a digit of one number of a text, or the year; None without a number."""
    numbers = list(_DIGITS.finditer(reference))
    if not numbers:
        return None
    number = rng.choose(numbers, "number")
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


# Share of the correct answers that become incorrect ones: two texts that differ only in the answer.
EXCHANGE_RATE = 0.3


def swapped_reference(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A correct answer with the references of another question."""
    if answer.options or not answer.correct or not answer.short_references:
        return None
    borrowed = pool.similar_references(answer.short_references[0], rng)
    if not borrowed or overlaps_reference(answer.candidate, borrowed):
        return None
    return AugmentedRow(borrowed, answer.candidate, False)


def paraphrased(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """A correct answer with another correct answer as reference."""
    reference = _other_correct_answer(answer, rng, pool) if answer.correct else None
    return AugmentedRow((reference,), answer.candidate, True) if reference else None


def contradicted(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> AugmentedRow | None:
    """An incorrect answer with a correct answer as reference, or a correct one in which the answer is exchanged."""
    reference = _other_correct_answer(answer, rng, pool)
    if not reference:
        return None
    if not answer.correct:
        return AugmentedRow((reference,), answer.candidate, False)
    candidate = _exchange_answer(answer, rng, pool) if rng.bernoulli(EXCHANGE_RATE, "exchanged") else None
    return AugmentedRow((reference,), candidate, False) if candidate else None


def _other_correct_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    answers = [] if answer.options else [text for text in pool.correct_answers(answer.question) if text != answer.candidate]
    return rng.choose(answers, "right answer") if answers else None


def _exchange_answer(answer: LabelledAnswer, rng: KeyedRandom, pool: AnswerPool) -> str | None:
    """Replace the reference inside the answer by another question's; None if it is not there verbatim."""
    reference = max((text for text in answer.short_references if text in answer.candidate), key=len, default="")
    if not reference or not (other := pool.draw_incorrect(reference, answer.references, rng)):
        return None
    candidate = answer.candidate.replace(reference, other)
    return None if contains_reference(candidate, answer.references) else candidate
