"""The wording of a short reference: the same words, a part of them, or one word, prefix or sign that means the opposite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import is_same_text, last_sentence, strip_markup, unwrap
from bert_judge.text.languages import function_words
from bert_judge.text.normalization import normalize, normalize_words, read_number_words, word_list
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.members import GENERIC
from bert_judge.text.stemming import stem_words

# Only letters: symbols and digits have rules of their own.
_ONLY_WORDS = re.compile(r"[^\W\d_]{2,}(?:[\s_.'’-]+[^\W\d_]+){0,9}")
ASKS_WORDING = re.compile(r"\b(?:exact|literal|verbatim|word for word|wording|wortlaut|textuel)", re.IGNORECASE)


def decide_identical(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if both texts are the same up to white space, wrapping and, of words, case and articles: **the female** and Female."""
    if is_same_text(reference, answer):
        return Decision(True, "identical", "repeats the reference")
    if len(answer) > 2 * len(reference) + 10 or ASKS_WORDING.search(task.question):
        return None
    texts = [strip_markup(text) for text in (reference, answer)]
    if all(map(_ONLY_WORDS.fullmatch, texts)) and _fold(texts[0]) == _fold(texts[1]):
        return Decision(True, "identical", "the same words")
    return None


def _fold(text: str) -> str:
    return normalize(text.replace("_", " "))


_VOCABULARY: Mapping[str, Any] = read_yaml(Path(__file__).parents[1] / "parts.yaml")
_ASKS = {name: re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE) for name, words in _VOCABULARY.items()}
_LOCATION = re.compile(r"[A-ZÀ-Þ][\w.'’ -]+,\s(?:[A-ZÀ-Þ][\w.'’ -]+)")
_NAME = re.compile(r"[A-ZÀ-Þ][\w.'’-]+(?:\s[A-ZÀ-Þ][\w.'’-]*){1,3}")
MAX_PART_CHARACTERS = 60


def decide_part(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the answer is a part of a place (Paris, France) or of a name, or a single character of a longer reference."""
    if not reference or len(reference) > MAX_PART_CHARACTERS or len(answer) > MAX_PART_CHARACTERS:
        return None
    expected, actual = unwrap(reference), normalize_words(unwrap(answer))
    letter = "".join(actual)
    is_letter = len(letter) == 1 and letter.isalpha() and not expected.lower().endswith(letter)
    if is_letter and len(expected) > 3 and not task.options:
        return Decision(False, "part", f"a single character: {answer.strip()}")
    question = last_sentence(task.question)
    if _LOCATION.fullmatch(expected):
        return _decide_place(question, expected, actual)
    if _NAME.fullmatch(expected):
        return _decide_name(question, expected, actual)
    return None


def _decide_place(question: str, expected: str, actual: list[str]) -> Decision | None:
    first, last = (normalize_words(piece) for piece in (expected.split(",")[0], expected.split(",")[-1]))
    for small, large, answer_form, reverse in (("town", "land", first, last), ("land", "town", last, first)):
        if _ASKS[small].search(question) and not _ASKS[large].search(question):
            if actual == answer_form:
                return Decision(True, "part", f"the part that was asked for: {' '.join(actual)}")
            if actual == reverse and small == "town":
                return Decision(False, "part", f"less than was asked for: {' '.join(actual)} of {expected}")
    return None


def _decide_name(question: str, expected: str, actual: list[str]) -> Decision | None:
    words = normalize_words(expected)
    for name_form, word in (("last_name", words[-1:]), ("first_name", words[:1])):
        if _ASKS[name_form].search(question) and not _ASKS["full_name"].search(question):
            return Decision(True, "part", f"the part that was asked for: {word[0]}") if actual == word else None
    if _ASKS["full_name"].search(question) and actual and set(actual) < set(words):
        return Decision(False, "part", f"less than was asked for: {' '.join(actual)} of {expected}")
    return None


GENERATIONS = {"the", "jr", "sr"}
# From so many letters on, two neighbours that change places seldom make another word, besides these.
MIN_MISSPELLED_LETTERS = 7
_ANAGRAMS = frozenset({"calvary", "cavalry", "marital", "martial", "conversation", "conservation"})
MAX_NAME_SIMILARITY = 50


def decide_name(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide incorrect if one word of a name is another one, and correct if two letters of a long word are exchanged.

    Words have several spellings, so the words must be unlike each other. A short form (Bill for William) or a title (President
    Lincoln) may stand in the place of a first name. "Inc" and "Corporation" are no part of a name.
    """
    expected, actual = unwrap(reference), unwrap(answer).strip(" .")
    if len(expected) > MAX_PART_CHARACTERS or len(actual) > MAX_PART_CHARACTERS:
        return None
    words, answer_words = split_words(expected), split_words(actual)
    if _are_initials(actual, words) or _are_initials(expected, answer_words):
        return Decision(True, "name", f"initials: {actual}, {expected}")
    pairs = [pair for pair in zip(words, answer_words, strict=False) if pair[0] != pair[1]]
    if len(words) != len(answer_words) or len(pairs) != 1 or not "".join(pairs[0]).isalpha():
        return None
    first, second = pairs[0]
    if _is_misspelled(first, second):
        return Decision(True, "name", f"{second} is {first} with two letters exchanged")
    # In lower case, only a title says that a name follows: "cardiac attack" is another word for Heart Attack.
    is_titled = words[0] in word_list("titles") and words[0] == answer_words[0]
    is_name = _NAME.fullmatch(expected) and (_NAME.fullmatch(actual) or is_titled)
    is_alike = first in second or second in first or first[0] == second[0] or not GENERIC.isdisjoint(pairs[0])
    # "Fue Faraday." is a sentence.
    is_same_person = first == words[0] and (
        second in function_words() or not (word_list("titles") | word_list("short_names")).isdisjoint(pairs[0])
    )
    if is_name and not (is_alike or is_same_person) and fuzz.ratio(first, second) < MAX_NAME_SIMILARITY:
        return Decision(False, "name", f"{second}, not {first}")
    return None


_INITIALS = re.compile(r"[A-Z]{3,6}|(?:[A-Z]\.){3,6}")


def _are_initials(text: str, words: Sequence[str]) -> bool:
    """Return whether a text is the initials of a name of three words or more: WHO, M.L.K."""
    initials = [word[0] for word in words if word not in word_list("function_words") | GENERATIONS]
    return bool(_INITIALS.fullmatch(text)) and text.replace(".", "").casefold() == "".join(initials)


def _is_misspelled(first: str, second: str) -> bool:
    is_long = min(len(first), len(second)) >= MIN_MISSPELLED_LETTERS
    return (
        is_long and _ANAGRAMS.isdisjoint({first, second}) and sorted(first) == sorted(second) and OSA.distance(first, second) == 1
    )


MAX_REFERENCE_WORDS, MAX_ANSWER_WORDS = 5, 12
MAX_CHARACTERS, MAX_BOUND_CHARACTERS = 120, 60
_PERCENT = re.compile(r"(?<=\d) ?(?:%|(?:per cent|pct)(?!\w))")
_RELATIONS = re.compile(r"!=|<=|>=|==|=<|[<>=≠≤≥≈∈∉⊂⊆]")
_RELATION_NAMES = {"!=": "≠", "<=": "≤", "=<": "≤", ">=": "≥", "==": "="}
_NUMBER = re.compile(r"(?:(?<![\w)])[-−–])?\d[\d.,]*")
_AGE = re.compile(r"\b(?:aged?|old|older|younger)\b", re.IGNORECASE)
_NEGATION_WORDS = frozenset({"not", "no", "non", "never", "nicht", "kein", "keine", "pas", "nie", "ne", "не"})
_FREE_ARTICLES = re.compile(r"^(?:the|a|an|it is|it's|it was|they are|this is)\s+", re.IGNORECASE)
# The "no" of a number is no negation.
_NUMBERED = re.compile(r"\b(?:no|nr|number)\b\.?\s(?=\d)|#(?=\d)", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not|no|never|neither|nor|rather|instead|unlike|than|either|or|both|between|if|but|cannot)\b|n['’]t\b", re.IGNORECASE
)
_LABEL = re.compile(r"[a-z]|[ivx]{1,5}|\d{1,3}")
_CODE = re.compile(r"(?=[^\W_]*\d)(?=[^\W_]*[^\W\d_])[^\W_]{2,12}")
_CLAUSE = re.compile(r"[,;:.(–—]\s|\b(?:since|because|as|while|whereas|where|when|which)\b", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\b((?:not |non-?)?[\w-]+)(?:,? or |, )((?:not |non-?)?[\w-]+)\s*\?", re.IGNORECASE)


@cache
def _content() -> Mapping[str, Any]:
    content: Mapping[str, Any] = read_yaml(Path(__file__).parents[1] / "opposites.yaml")
    return content


@cache
def _sets_by_word() -> Mapping[str, frozenset[int]]:
    """Return word → numbers of the sets that it is in."""
    numbers: dict[str, set[int]] = {}
    for number, words in enumerate(_content()["exclusive"]):
        for word in words:
            numbers.setdefault(word, set()).add(number)
    return {word: frozenset(values) for word, values in numbers.items()}


@cache
def _bounds() -> re.Pattern[str]:
    phrases = sorted(_bound_names(), key=len, reverse=True)
    return re.compile("|".join(rf"(?<![^\W_]){re.escape(phrase)}(?![a-z])" for phrase in phrases), re.IGNORECASE)


@cache
def _bound_names() -> Mapping[str, str]:
    return {phrase: name for name, phrases in _content()["bounds"].items() for phrase in phrases}


def decide_opposite(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide incorrect if a short answer is the reference but for one opposite, and correct if it takes the same side."""
    if len(reference) > MAX_CHARACTERS or len(answer) > MAX_CHARACTERS:
        return None
    expected_text, given_text = unwrap(reference), unwrap(answer)
    decision = _compare_relations(expected_text, given_text) or compare_bounds(task.question, expected_text, given_text)
    if decision:
        return decision
    expected, actual = split_words(expected_text), split_words(given_text)
    if not expected or not actual or len(expected) > MAX_REFERENCE_WORDS or len(actual) > MAX_ANSWER_WORDS or expected == actual:
        return None
    if difference := _difference(expected, actual):
        return Decision(False, "opposite", f"{difference[0]} is not {difference[1]}")
    return _choose_alternative(task.question, expected, given_text)


@view
def split_words(text: str) -> Sequence[str]:
    """Split a short text into words in small letters, without a leading article; hyphens stay."""
    text = _NUMBERED.sub("", _FREE_ARTICLES.sub("", strip_markup(text).replace("’", "'")))
    return re.findall(r"[^\W_]+(?:['-][^\W_]+)*", text.casefold().replace("grey", "gray").replace("gray", "grey"))


def list_opposites(word: str) -> list[str]:
    """List the words that exclude a word, in small letters; empty for most words."""
    numbers = sorted(_sets_by_word().get(word, ()))
    return [word_of_number for number in numbers for word_of_number in _content()["exclusive"][number] if word_of_number != word]


def are_opposites(first: str, second: str) -> bool:
    """Return whether two words exclude each other: up and down, hypothyroidism and hyperthyroidism, legal and illegal."""
    if first == second:
        return False
    sets = _sets_by_word()
    if sets.get(first, frozenset()) & sets.get(second, frozenset()):
        return True
    return _differ_in_prefix(first, second) or _is_negated(first, second) or _is_negated(second, first)


@lru_cache(maxsize=4096)
def _differ_in_prefix(first: str, second: str) -> bool:
    for prefixes in _content()["prefixes"]:
        stems = [[word.removeprefix(prefix) for prefix in prefixes if word.startswith(prefix)] for word in (first, second)]
        if any(len(stem) >= 4 and stem in stems[1] for stem in stems[0]):
            return True
    return False


def _is_negated(negated: str, word: str) -> bool:
    if len(word) < 4 or not negated.endswith(word) or negated in _content()["same"]:
        return False
    prefix = negated[: -len(word)]
    return prefix in _content()["negations"] and (len(prefix) > 1 or len(word) > 5)


def _difference(expected: Sequence[str], actual: Sequence[str]) -> tuple[str, str] | None:
    """Return the parts of the answer and of the reference that exclude each other, if nothing else differs."""
    if len(expected) == len(actual):
        pairs = [(second, first) for first, second in zip(expected, actual, strict=True) if first != second]
        if len(pairs) == 1 and (are_opposites(*pairs[0]) or _are_other_codes(*pairs[0])):
            return pairs[0]
        # Hepatitis A and B, Charles I and II, sin(x) and sin(y).
        is_label = len(expected) > 1 and expected[-2].isalpha() and expected[-1] != actual[-1]
        if len(pairs) == 1 and is_label and all(map(_LABEL.fullmatch, pairs[0])):
            return pairs[0]
        return None
    longer, shorter = (expected, actual) if len(expected) > len(actual) else (actual, expected)
    extra = _extra_words(longer, shorter)
    if extra is None:
        return None
    is_denied = set(extra) <= _NEGATION_WORDS
    is_label = len(extra) == 1 and longer[-1] == extra[0] and bool(re.fullmatch(r"[a-z]|\d{1,3}", extra[0])) and longer is expected
    is_label = is_label and longer[-2].isalpha()
    # The lower leg is a leg, and North Korea not Korea.
    is_detail = longer is actual and set(extra) <= {"upper", "lower"}
    is_other_name = set(extra) <= set(_content()["distinguishing"]) and longer[0] == extra[0] and not is_detail
    if is_denied or is_label or is_other_name:
        return " ".join(actual), " ".join(expected)
    return None


def _extra_words(longer: Sequence[str], shorter: Sequence[str]) -> list[str] | None:
    """Return the words of the longer list that the shorter one, a subsequence of it, lacks."""
    extra, position = [], 0
    for word in longer:
        if position < len(shorter) and shorter[position] == word:
            position += 1
        else:
            extra.append(word)
    return extra if position == len(shorter) else None


def _are_other_codes(first: str, second: str) -> bool:
    """Return whether both are codes of letters and digits: B12 and B21."""
    return bool(_CODE.fullmatch(first) and _CODE.fullmatch(second)) and normalize_words(first) != normalize_words(second)


def _compare_relations(expected: str, actual: str) -> Decision | None:
    """Compare two formulas that are equal but for their relations: x > 5 and x < 5."""
    first, second = _RELATIONS.findall(expected), _RELATIONS.findall(actual)
    if len(first) != 1 or len(second) != 1 or len(expected) > 40:
        return None
    first, second = ([_RELATION_NAMES.get(sign, sign) for sign in signs] for signs in (first, second))
    rest = ["".join(_RELATIONS.sub(" # ", text).split()).casefold() for text in (expected, actual)]
    if rest[0] == rest[1] and rest[0] != "#" and first != second:
        return Decision(False, "opposite", f"{second[0]} is not {first[0]}")
    return None


def compare_bounds(question: str, expected: str, actual: str) -> Decision | None:
    """Compare two bounds of the same number: "at least 18" and "under 18"; "more than 100" and "over 100"."""
    if len(actual) > MAX_BOUND_CHARACTERS:
        return None
    texts = [_PERCENT.sub(" percent", " ".join(read_number_words(text.lower().split(), {}))) for text in (expected, actual)]
    numbers, others = map(_NUMBER.findall, texts)
    if len(numbers) != 1:
        return None
    bounds = [[_bound_names().get(match, "") for match in _bounds().findall(text)] for text in texts]
    if len(others) != 1 or [len(names) for names in bounds] != [1, 1] or numbers[0].rstrip(".,") != others[0].rstrip(".,"):
        return None
    rest = [_words_around_bound(_bounds().sub(" ", _NUMBER.sub(" ", text))) for text in texts]
    if rest[0] != rest[1]:
        return None
    first, second = bounds[0][0], bounds[1][0]
    if first.rstrip("=") == second.rstrip("=") and first != second and _AGE.search(" ".join([question, *texts])):
        # People say "over 18" for 18 and more.
        return None
    if first == second:
        return Decision(True, "opposite", f"the same bound: {actual[:40]}")
    return Decision(False, "opposite", f"another bound: {actual[:40]}")


def _words_around_bound(text: str) -> list[str]:
    """Return the stems of the other words, in order, without those that do not change the meaning: none for "aged 18 or over"."""
    return stem_words([word for word in normalize_words(text) if word not in _content()["around_bounds"]])


def _choose_alternative(question: str, expected: Sequence[str], text: str) -> Decision | None:
    """Decide where the question offers two alternatives, of which the reference is one and a short sentence names one."""
    match = _ALTERNATIVES.search(question)
    if not match or _DENIAL.search(text):
        return None
    alternatives = [split_words(alternative) for alternative in match.groups()]
    if list(expected) not in alternatives or any(len(alternative) != 1 for alternative in alternatives):
        return None
    # "Petrol, since hydrogen is a gas." names an alternative beside its answer.
    head = split_words(_CLAUSE.split(text)[0])
    named = {alternative[0] for alternative in alternatives if alternative[0] in head}
    if len(named) != 1:
        return None
    is_correct = named == {expected[0]}
    return Decision(is_correct, "opposite", f"chooses {next(iter(named))}")
