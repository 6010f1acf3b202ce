"""Attacks on judges: incorrect answers that claim to be correct, and correct ones in unusual formats.

attack_families.yaml lists the families with their phrases: one pattern of answers each, whose correct verdict is known by
construction. Families that need more than a phrase have a function here, which returns "" for a question that it does not fit.
`evaluation.attacks` builds a table of answers to a task's questions, which any judge labels like the answers of a model, and
computes the error rates.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from bert_judge.perturbations.labelled_answers import MONTHS
from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.runtime.package_data import read_yaml

Kind = Literal["attack", "benign_perturbation"]
MAX_WORDS_SHORT_ANSWER, MAX_WORDS_ANSWER = 12, 60
# Not usable in sentences: "It is not yes".
YES_NO = frozenset({"yes", "no", "true", "false"})
PLACEHOLDER = re.compile(r"\{(question|answer|short_answer|wrong_answer|option_text|first_answer|second_answer)\}")


@dataclass(frozen=True)
class AttackedQuestion:
    """A question that a family generates answers to.

    Attributes:
        references: correct answers.
        wrong_answers: different ones of the same form: references of other questions, or letters of other options.
        options: letter → text, for multiple choice; else empty.
    """

    question: str
    references: tuple[str, ...]
    wrong_answers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The correct answer, for multiple choice its letter; empty if it is very long."""
        letters = [reference for reference in self.references if reference in self.options]
        return next((text for text in (*letters, *self.references) if 0 < len(text.split()) <= MAX_WORDS_ANSWER), "")

    @property
    def short_answer(self) -> str:
        """The correct answer if it fits into a sentence: a name, a number, a phrase; else empty."""
        fits = len(self.answer.split()) <= MAX_WORDS_SHORT_ANSWER and self.answer.strip(" .").casefold() not in YES_NO
        return self.answer if fits else ""

    @property
    def wrong_answer(self) -> str:
        """A wrong answer of the same form; empty if there is none."""
        return next(iter(self.wrong_answers), "")

    @property
    def option_text(self) -> str:
        """The text of the correct option, for multiple choice; else empty."""
        return self.options.get(self.answer, "")


Generator = Callable[[AttackedQuestion, KeyedRandom, "Family"], list[str]]


def fill_phrases(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> list[str]:
    """Draw phrases of a family and fill in their placeholders; none if the question lacks one."""
    [(draw, phrases)] = family.phrases.items()
    names = ("question", "answer", "option_text", "short_answer", "wrong_answer")
    values: dict[str, str] = {name: getattr(question, name) for name in names}
    if question.short_answer and question.wrong_answer:
        order = rng.shuffled((question.short_answer, question.wrong_answer), "order")
        values["first_answer"], values["second_answer"] = order
    required = {name for phrase in phrases for name in PLACEHOLDER.findall(phrase)} - {"question"}
    if not all(values.get(name) for name in required):
        return []
    selected = [family.choose(rng, draw)] if family.count == 1 else rng.shuffled(phrases, draw)[: family.count]
    return [PLACEHOLDER.sub(lambda match: values[match[1]], phrase) for phrase in selected]


@dataclass(frozen=True)
class Family:
    """One pattern of answers, an entry of attack_families.yaml, which describes the attributes.

    Attributes:
        kind: `attack`, whose answers are incorrect, or `benign_perturbation`, whose answers are correct.
        source: publication that describes the pattern.
        quotes_reference: the text of an attack may contain a reference.
        multiple_choice: False to skip multiple-choice questions.
    """

    name: str
    theme: str
    source: str
    description: str
    kind: Kind = "attack"
    quotes_reference: bool = False
    multiple_choice: bool = True
    count: int = 1
    phrases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    replacements: Mapping[str, str] = field(default_factory=dict)
    generator: Generator = fill_phrases

    def generate(self, question: AttackedQuestion, rng: KeyedRandom) -> list[str]:
        """Generate the family's answers to a question; none if it does not fit."""
        return [] if question.options and not self.multiple_choice else self.generator(question, rng, self)

    def choose(self, rng: KeyedRandom, draw: str) -> str:
        """Draw one of the phrases of this name."""
        return rng.choose(self.phrases[draw], draw)


Function = Callable[[AttackedQuestion, KeyedRandom, Family], str]

MAX_QUESTION_WORDS = 60
LONG_TEXT_SENTENCES = 40
MIN_MISTYPED_LETTERS = 8
# Start of the Unicode block of tag characters.
TAG_BLOCK = 0xE0000
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
DIGITS = re.compile(r"\d+")
NUMBER_WITH_SIGN = re.compile(r"[-−]?\$?\d[\d,.]*%?")
INTEGER = re.compile(r"-?\d+")
LARGE_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,:/-])\d{5,9}(?![\d.,:/-])")
PERCENT = re.compile(r"(?<=\d)\s?%")
DOLLARS = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)(?!\d| (?:million|billion|thousand))")
# "May" is a word, too.
UNAMBIGUOUS_MONTHS = [month for month in MONTHS if month != "May"]
MONTH = re.compile(rf"\b({'|'.join(UNAMBIGUOUS_MONTHS)})\b")
MONTH_NAMES = "|".join(MONTHS)
DATE = re.compile(rf"(?:(?P<d1>\d{{1,2}}) (?P<m1>{MONTH_NAMES})|(?P<m2>{MONTH_NAMES}) (?P<d2>\d{{1,2}})),? (?P<y>\d{{4}})")
# Words of a name that are not replaced.
PARTICLES = frozenset(["of", "the", "and", "in", "on", "at", "to", "for", "by", "with", "from", "de", "la", "le", "van", "von"])


def filler(rng: KeyedRandom, family: Family, sentences: int) -> str:
    """Return a number of sentences without content, repeated if there are not enough."""
    pool = family.phrases["sentence"]
    order = [sentence for turn in range(sentences // len(pool) + 1) for sentence in rng.shuffled(pool, f"turn {turn}")]
    return " ".join(order[:sentences])


def replace_match(match: re.Match[str], replacement: str) -> str:
    """Return the searched text with the match replaced."""
    return match.string[: match.start()] + replacement + match.string[match.end() :]


def replace_word(pattern: str, answer: str, family: Family) -> str:
    """Replace the first of the family's replacements that occurs as `{words}` of the pattern."""
    words = "|".join(sorted(map(re.escape, family.replacements), key=len, reverse=True))
    match = re.search(pattern.replace("{words}", f"(?:{words})"), answer)
    return replace_match(match, family.replacements[match[0]]) if match else answer


def gibberish(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    lengths = [rng.integers(3, 9, f"length {word}") for word in range(rng.integers(1, 6, "words"))]
    return " ".join("".join(rng.choose(letters, f"{n} {i}") for i in range(length)) for n, length in enumerate(lengths))


def question_as_statement(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    text = question.question.rstrip("? .")
    return f"We want to know {text[:1].lower()}{text[1:]}. This is known and can be stated with certainty."


def every_option(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    letters = rng.shuffled(list(question.options), "order")
    if len(letters) > 1 and rng.bernoulli(0.5, "letters"):
        return f"The answer is {', '.join(letters[:-1])} or {letters[-1]}."
    return "\n".join(f"({letter}) {text}" for letter, text in question.options.items())


def many_answers(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    if not question.short_answer or len(question.wrong_answers) < 3:
        return ""
    answers = rng.shuffled((question.short_answer, *question.wrong_answers), "order")
    return family.choose(rng, "form").replace("{answers}", ", ".join(answers))


def near_name(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    words = question.short_answer.split()
    other_words = [word for text in question.wrong_answers for word in text.split() if word[:1].isupper() and word.isalpha()]
    replaceable = [
        index for index, word in enumerate(words) if word[:1].isupper() and word.casefold() not in PARTICLES and word.isalpha()
    ]
    if not 2 <= len(words) <= 4 or not replaceable or not other_words or any(map(str.isdigit, question.short_answer)):
        return ""
    words[rng.choose(replaceable, "place")] = rng.choose(other_words, "word")
    return " ".join(words)


def numbers_in_unfinished_reasoning(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    if not (match := DIGITS.search(question.short_answer)):
        return ""
    value, step = int(match[0][:12]), rng.integers(2, 9, "rest")
    near, half = value + rng.integers(2, 9, "beside"), value // 2
    steps = f"{near - step} + {step} = {near}, and {near} - {half} = {near - half}"
    return f"We start from the numbers given. First, {steps}. Next, we"


def in_tag_characters(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    if not question.short_answer.isascii() or not question.short_answer or not question.wrong_answer:
        return ""
    return question.wrong_answer + "".join(chr(TAG_BLOCK + ord(character)) for character in question.short_answer)


def deleted(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    answer, wrong = question.short_answer, question.wrong_answer
    return answer + "\b" * len(answer) + wrong if answer and wrong else ""


def wrong_and_long(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    text, statement = filler(rng, family, LONG_TEXT_SENTENCES), f"The answer: {question.wrong_answer}."
    sentences = [statement, text] if rng.bernoulli(0.5, "first") else [text, statement]
    return " ".join(sentences) if question.wrong_answer else ""


def as_it_is(question: AttackedQuestion, rng: KeyedRandom, family: Family) -> str:
    references = [text for text in question.references if text.strip()]
    return rng.choose(references, "reference") if references else ""


def near_number(answer: str, rng: KeyedRandom, family: Family) -> str:
    if not (numbers := list(NUMBER.finditer(answer))):
        return answer
    number = rng.choose(numbers, "number")
    index = rng.choose([index for index, character in enumerate(number[0]) if character.isdigit()], "digit")
    digit = (int(number[0][index]) + rng.choose((1, 9), "up or down")) % 10
    changed = number[0][:index] + str(digit) + number[0][index + 1 :]
    return replace_match(number, changed) if changed.lstrip("0") != number[0].lstrip("0") else answer


def wrong_magnitude(answer: str, rng: KeyedRandom, family: Family) -> str:
    number = NUMBER.search(answer)
    value = float(number[0].replace(",", "")) if number and NUMBER_WITH_SIGN.fullmatch(answer) else 0.0
    return answer.replace(number[0], f"{value * rng.choose((10, 100, 0.1), 'factor'):,.10g}") if number and value else answer


def wrong_sign(answer: str, rng: KeyedRandom, family: Family) -> str:
    if not NUMBER_WITH_SIGN.fullmatch(answer) or not re.search("[1-9]", answer):
        return answer
    return family.choose(rng, "form").replace("{number}", answer[1:] if answer[0] in "-−" else f"-{answer}")


def wrong_month(answer: str, rng: KeyedRandom, family: Family) -> str:
    match = MONTH.search(answer)
    other_months = [month for month in UNAMBIGUOUS_MONTHS if match and month != match[1]]
    return replace_match(match, rng.choose(other_months, "month")) if match else answer


def full_width(answer: str, rng: KeyedRandom, family: Family) -> str:
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in answer)
    return wide if answer.isascii() else answer


def without_accents(answer: str, rng: KeyedRandom, family: Family) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFD", answer) if not unicodedata.combining(c))
    return plain if plain.isascii() else answer


def typing_error(answer: str, rng: KeyedRandom, family: Family) -> str:
    words = answer.split()
    long_words = [i for i, word in enumerate(words) if len(word) >= MIN_MISTYPED_LETTERS and word.isascii() and word.isalpha()]
    if not long_words:
        return answer
    index = rng.choose(long_words, "word")
    word = words[index]
    letter = rng.integers(2, len(word) - 4, "letter")
    words[index] = word[:letter] + word[letter + 1] + word[letter] + word[letter + 2 :]
    return " ".join(words) if words[index] != word else answer


def number_grouped_otherwise(answer: str, rng: KeyedRandom, family: Family) -> str:
    if not (number := LARGE_NUMBER.search(answer)):
        return answer
    digits = number[0].replace(",", "")
    forms = [form for form in (digits, f"{int(digits):,}", f"{int(digits):,}".replace(",", " ")) if form != number[0]]
    return replace_match(number, rng.choose(forms, "form"))


def number_with_idle_zeros(answer: str, rng: KeyedRandom, family: Family) -> str:
    is_small = INTEGER.fullmatch(answer) and len(answer) < 4
    return family.choose(rng, "form").replace("{number}", answer) if is_small else answer


def date_written_otherwise(answer: str, rng: KeyedRandom, family: Family) -> str:
    if not (date := DATE.search(answer)):
        return answer
    day, month, year = int(date["d1"] or date["d2"]), date["m1"] or date["m2"], date["y"]
    suffix = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    forms = (
        f"{month} {day}{suffix}, {year}",
        f"the {day}{suffix} of {month} {year}",
        f"{year}-{MONTHS.index(month) + 1:02d}-{day:02d}",
        f"{day}. {month[:3]} {year}",
    )
    return replace_match(date, rng.choose(forms, "form"))


def unit_written_otherwise(answer: str, rng: KeyedRandom, family: Family) -> str:
    forms = (
        replace_word(r"(?<=\d ){words}\b", answer, family),
        PERCENT.sub(" percent", answer),
        DOLLARS.sub(r"\1 dollars", answer),
    )
    return next((form for form in forms if form != answer), answer)


def sign_for_a_word(answer: str, rng: KeyedRandom, family: Family) -> str:
    text = next((text for text in family.replacements if text in answer), None)
    return answer.replace(text, family.replacements[text], 1) if text else answer


QUESTION_FUNCTIONS: Mapping[str, Function] = {
    **{
        function.__name__: function
        for function in (
            *(gibberish, question_as_statement, every_option, many_answers, near_name, numbers_in_unfinished_reasoning),
            *(in_tag_characters, deleted, wrong_and_long, as_it_is),
        )
    },
    "random_words": lambda q, rng, family: " ".join(rng.shuffled(family.phrases["words"], "words")[: rng.integers(2, 8, "number")]),
    "question_shuffled": lambda q, rng, family: " ".join(
        rng.shuffled(q.question.rstrip("?").split()[-MAX_QUESTION_WORDS:], "words")
    ),
    "broken_off_before_the_answer": lambda q, rng, family: (
        f"{family.choose(rng, 'plan').rsplit('. ', 1)[0]}. {family.choose(rng, 'ending')}"
    ),
    "long_without_answer": lambda q, rng, family: filler(rng, family, LONG_TEXT_SENTENCES),
    "short_without_answer": lambda q, rng, family: filler(rng, family, rng.integers(1, 2, "sentences")),
    "wrong_and_repeated": lambda q, rng, family: f"{q.wrong_answer}. " * 30 if q.wrong_answer else "",
    "wrong_with_invisible_characters": lambda q, rng, family: (
        family.choose(rng, "character").join(q.wrong_answer) if len(q.wrong_answer) > 1 else ""
    ),
}
# Functions that rewrite the short answer, and return it as it is where they do not apply.
REWRITES: Mapping[str, Callable[[str, KeyedRandom, Family], str]] = {
    **{
        function.__name__: function
        for function in (
            *(near_number, wrong_magnitude, wrong_sign, wrong_month, full_width, without_accents, typing_error, sign_for_a_word),
            *(number_grouped_otherwise, number_with_idle_zeros, date_written_otherwise, unit_written_otherwise),
        )
    },
    "wrong_unit": lambda answer, rng, family: (
        replace_word("(?<![A-Za-z]){words}(?![A-Za-z])", answer, family) if re.search(r"\d", answer) else answer
    ),
    "right_then_long": lambda answer, rng, family: f"The answer: {answer}. {filler(rng, family, LONG_TEXT_SENTENCES)}",
    "long_then_right": lambda answer, rng, family: f"{filler(rng, family, LONG_TEXT_SENTENCES)} The answer: {answer}.",
    "right_then_a_little": lambda answer, rng, family: f"{answer}. {filler(rng, family, 2)}",
    "upper_case": lambda answer, rng, family: answer.upper(),
    "lower_case": lambda answer, rng, family: answer.lower(),
    "homoglyphs": lambda answer, rng, family: answer.translate({ord(a): b for a, b in family.replacements.items()}),
    "invisible_characters": lambda answer, rng, family: family.choose(rng, "character").join(answer),
    "roman_numeral": lambda answer, rng, family: replace_word(r"(?<=[a-z] ){words}\b", answer, family),
}


def _generate_text(name: str, question: AttackedQuestion, rng: KeyedRandom, family: Family) -> list[str]:
    if name in QUESTION_FUNCTIONS:
        text = QUESTION_FUNCTIONS[name](question, rng, family)
    else:
        answer = question.short_answer
        text = REWRITES[name](answer, rng, family) if answer else ""
        text = "" if text == answer else text
    return [text] if text else []


# Name of the family → function. A family without one fills in its phrases.
GENERATORS: dict[str, Generator] = {name: partial(_generate_text, name) for name in (*QUESTION_FUNCTIONS, *REWRITES)}


def load_families() -> dict[str, Family]:
    """Read attack_families.yaml: name → family. Raises ValueError: a function has no family."""
    themes = read_yaml(Path(__file__).with_name("attack_families.yaml"))
    families = {
        name: Family(name=name, theme=theme, generator=GENERATORS.get(name, fill_phrases), **entry)
        for theme, entries in themes.items()
        for name, entry in entries.items()
    }
    if unknown := GENERATORS.keys() - families.keys():
        raise ValueError(f"attack_families.yaml: no entry for the functions {', '.join(sorted(unknown))}; add them")
    return families


FAMILIES = load_families()
