"""A sentence and an answer of the same words, in which the roles are the same or exchanged: who beats whom."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.reading import Task
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.wording import ASKS_WORDING

MIN_WORDS, MAX_WORDS = 3, 25
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’-][^\W_]+)*")
_FILLERS = frozenset({"the", "a", "an", "because", "that", "it", "so"})
_TABLES: Mapping[str, list[str]] = read_yaml(Path(__file__).parents[1] / "roles.yaml")
_SYMMETRIC, _SYMMETRIC_WORDS = (frozenset(_TABLES[name]) for name in ("symmetric", "symmetric_words"))
_CONVERSES = [tuple(pair.split("/")) for pair in _TABLES["converses"]]
_PREPOSITIONS = frozenset(
    {"in", "on", "at", "from", "to", "with", "for", "during", "after", "before", "into", "by", "of", "through"}
)
# The signs of a formula are no words.
_FORMULA = re.compile(r"[∧∨¬↔⊕→\\^=+<>]|\$[^$]+\$")
_PASSIVE = frozenset({"is", "are", "was", "were", "be", "been", "being"})
_CONVERSE_VERBS = {"beat": "lost", "beats": "loses", "defeated": "lost", "beaten": "lost"}


def decide_roles(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if both are sentences that have the same words in another order, or words with the converse meaning."""
    fillers = frozenset() if ASKS_WORDING.search(task.question) else _FILLERS
    expected, actual = ([word for word in _split(text) if word not in fillers] for text in (reference, answer))
    if not (MIN_WORDS <= len(expected) <= MAX_WORDS and MIN_WORDS <= len(actual) <= MAX_WORDS):
        return None
    if expected == actual:
        return Decision(True, "roles", "the same sentence")
    if Counter(expected) == Counter(actual):
        return Decision(False, "roles", "roles exchanged") if _are_exchanged(expected, actual) else None
    if number := _other_number(expected, actual):
        return Decision(False, "roles", f"another number: {number}")
    if (is_same := _compare_passive(expected, actual)) is not None:
        return Decision(is_same, "roles", "the same in the passive" if is_same else "roles exchanged")
    if (is_same := _compare_converse(expected, actual)) is not None:
        return Decision(is_same, "roles", "the same from the other side" if is_same else "the other way round")
    return None


def _split(text: str) -> list[str]:
    if len(text) > 300 or _FORMULA.search(text) or not any(map(str.isalpha, text)):
        return []
    return _WORD.findall(text.casefold().replace("’", "'"))


def _other_number(expected: Sequence[str], actual: Sequence[str]) -> str:
    """Return the number of the answer that differs, if it is all that differs."""
    if len(expected) != len(actual):
        return ""
    pairs = [(first, second) for first, second in zip(expected, actual, strict=True) if first != second]
    return pairs[0][1] if len(pairs) == 1 and all(word.isdigit() for word in pairs[0]) else ""


def _are_exchanged(expected: Sequence[str], actual: Sequence[str]) -> bool:
    """Return whether two parts of a sentence are exchanged around a part that tells them apart."""
    start = next(number for number, pair in enumerate(zip(expected, actual, strict=True)) if pair[0] != pair[1])
    end = len(expected) - next(
        n for n, pair in enumerate(zip(reversed(expected), reversed(actual), strict=True)) if pair[0] != pair[1]
    )
    first, second = list(expected[start:end]), list(actual[start:end])
    if not _SYMMETRIC_WORDS.isdisjoint(expected):
        return False
    if first[0] in _PREPOSITIONS and second[0] in _PREPOSITIONS:
        # Phrases that only stand in another order: to the cold body from the hot body.
        return False
    for left in range(1, len(first) - 1):
        for right in range(1, len(first) - left):
            middle = first[left : len(first) - right]
            if first[len(first) - right :] + middle + first[:left] == second:
                return not set(middle) <= _SYMMETRIC
    return False


def _compare_passive(expected: Sequence[str], actual: Sequence[str]) -> bool | None:
    """Compare "A defeated B" with "B was defeated by A" (True) and "A was defeated by B" (False); None for other sentences."""
    if "by" in expected and "by" not in actual:
        expected, actual = actual, expected
    if "by" not in actual or "by" in expected:
        return None
    position = actual.index("by")
    verb = next((number for number, word in enumerate(actual) if word in _PASSIVE and number < position), None)
    if verb is None or verb + 1 >= position or verb == 0:
        return None
    patient, participle, rest = actual[:verb], actual[verb + 1], list(actual[verb + 2 : position])
    behind = list(actual[position + 1 :])
    for length in range(1, len(behind) + 1):
        agent, tail = behind[:length], behind[length:]
        for order in ([*agent, "V", *patient, *rest, *tail], [*agent, "V", *patient, *tail, *rest]):
            if _matches(expected, order, participle):
                return True
        if _matches(expected, [*patient, "V", *agent, *rest, *tail], participle):
            return False
    return None


def _matches(sentence: Sequence[str], pattern: Sequence[str], participle: str) -> bool:
    if len(sentence) != len(pattern):
        return False
    pairs = zip(sentence, pattern, strict=True)
    return all(_is_form_of(word, participle) if expected == "V" else word == expected for word, expected in pairs)


def _is_form_of(word: str, participle: str) -> bool:
    stem = participle.removesuffix("ed").removesuffix("en")
    # transmit, transmitted
    stem = stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2:-1] else stem
    stem = stem[:-1] if stem.endswith(("i", "e")) else stem
    return word == participle or (len(stem) > 2 and word.startswith(stem) and len(word) <= len(participle) + 1)


def _compare_converse(expected: Sequence[str], actual: Sequence[str]) -> bool | None:
    """Compare "A is faster than B" with "B is slower than A" (True) and "A is slower than B" (False)."""
    if "than" in expected and "than" in actual:
        return _compare_comparatives(expected, actual)
    for verb, converse in _CONVERSE_VERBS.items():
        for first, second in ((expected, actual), (actual, expected)):
            if verb in first and converse in second:
                subject, patient = first[: first.index(verb)], first[first.index(verb) + 1 :]
                position = second.index(converse)
                other_subject, rest = second[:position], [word for word in second[position + 1 :] if word not in ("to", "against")]
                if (other_subject, rest) == (patient, subject):
                    return True
                if (other_subject, rest) == (subject, patient):
                    return False
    return None


def _compare_comparatives(expected: Sequence[str], actual: Sequence[str]) -> bool | None:
    sides = []
    for sentence in (expected, actual):
        position = sentence.index("than")
        before, after = list(sentence[:position]), list(sentence[position + 1 :])
        comparative = next((word for word in reversed(before) if any(word in pair for pair in _CONVERSES)), None)
        if comparative is None or not after:
            return None
        subject = before[: before.index(comparative)]
        subject = [word for word in subject if word not in _PASSIVE]
        # Of "more dense" and "less compact", the adjective.
        sides.append((subject, comparative, before[before.index(comparative) + 1 :], after))
    (first, comparative, adjective, second), (other_first, other_comparative, other_adjective, other_second) = sides
    are_converse = any({comparative, other_comparative} == set(pair) for pair in _CONVERSES)
    if not are_converse or not first or not other_first or adjective != other_adjective:
        return None
    # A verb may stand beside the subject: light travels.
    if other_first == second and first[: len(other_second)] == other_second:
        return True
    if other_second == second and first[: len(other_first)] == other_first:
        return False
    return None
