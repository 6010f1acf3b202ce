"""The reference names several things: all of them count, and their order where the question or the notation makes it count."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_judge.text.extraction import strip_fence, strip_markup, unwrap
from bert_judge.text.normalization import normalize
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import HEDGE

MAX_CHARACTERS = 400
MAX_MEMBER_WORDS = 6
_ITEM = re.compile(r"^[^\S\n]*(?:[-*•–+]|\(?\d{1,2}[.):]|\(?[a-z]\))[^\S\n]+", re.MULTILINE)
_ARROW = re.compile(r"\s*(?:→|->|=>|⇒|»|>|<)\s*")
# Not inside a number.
_COMMA = re.compile(r"\s*,\s+|(?<!\d),(?!\d)|(?<=\d),(?=\d(?!\d\d(?!\d)))|\s*[、，]\s*")
_AND = re.compile(r"(?:,\s*)?\s(?:and|&|und|et|y|e|и|en|och|og)\s|\s*(?:以及|和|与|及)\s*", re.IGNORECASE)
_ORDER_WORDS = re.compile(
    r"^(?:(?:and|then|next|first(?:ly)?|second(?:ly)?|third(?:ly)?|last(?:ly)?|finally|afterwards|after that|followed by"
    r"|zuerst|dann|danach|zuletzt"
    r"|puis|ensuite|enfin|d'abord|luego|después|finalmente|primero)\b,?\s*)+",
    re.IGNORECASE,
)
_ASKS_ORDER = re.compile(
    r"\b(?:order(?:ed|ing)?|sequence|rank(?:ed|ing)?|sort(?:ed)?(?! of)|chronolog\w*|arrange|revers\w+|backwards?|ascending"
    r"|descending|alphabetical\w*|outwards|steps"
    r"|reihenfolge|sortiere?|ordre|triez|orden|ordena\w*|ordine)\b|顺序|排序",
    re.IGNORECASE,
)
_ASKS_SEVERAL = re.compile(
    r"\bhow many\b.*\bhow many\b"
    r"|\b(?:two|three|four|five|six|seven|both|all|list|names|name the|which (?:\w+ )?(?!(?:is|was|has|does"
    r"|this|its|as)\b)\w+s\b|what (?:are|were)"
    r"|who (?:are|were)|what (?!(?:is|was|has|does|this|its)\b)\w+s\b|who wrote|who founded"
    r"|who invented|companies|countries|parties|welche \w+n|quel(?:le)?s|cuáles|quali)\b",
    re.IGNORECASE,
)
# Their order does not count, though some may be equal.
_ASKS_SOLUTIONS = re.compile(
    r"\b(?:eigenvalues?|roots?|zero(?:e?s)|solutions?|factors?|multiplicit(?:y|ies)|solve)\b", re.IGNORECASE
)
_RATIO = re.compile(r"\(?(\d{1,3})\s*(?P<sign>[:–—-]|to)\s*(\d{1,3})\)?")
_ASKS_RATIO = re.compile(r"\b(?:ratio|proportion|odds|scale)\b", re.IGNORECASE)
_RATIOS = re.compile(r"(?<![\d.,:–—-])(\d{1,3})\s?(?:[:–—-]|to)\s?(\d{1,3})(?![\d:–—-]|[.,]\d)")
# LaTeX, signs of logic, points and intervals beside each other, half-open intervals, and bounds are no lists of members.
_MATHEMATICS = re.compile(
    r"\\[a-zA-Z]|[∧∨¬↔⊕]|[)\]]\s*(?:,|and|or|∪)\s*[(\[]|\A\([^()]*\]\Z|\A\[[^\[\]]*\)\Z|\A[-−]?[\d.]+\s*[<>≤≥]=?[^<>≤≥]*[<>≤≥]=?\s*[-−]?[\d.]+\Z"
)
_ASSIGNMENT = re.compile(r"\W*([^\W_][\w ]{0,20}?)\s*(?:=|:|→|[-=]>|[-–])\s*([^=:,;→>]{1,30}?)\s*")
# 1. Paris 2. 1889 3. Gustave Eiffel
_INLINE_ITEM = re.compile(r"(?:(?<=\s)|\A)\(?([1-9]\d?)[.)]\s+(?=\S)")
_BLANK = re.compile("_{2,}")
SENTENCE_WORD = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|will|because|which|that|not|or|either|neither|but)\b|n't\b", re.IGNORECASE
)
_NAMES = re.compile(r"(?:[\W_]*(?:\d\S*|[A-Z][^\s,;]*|and|the|of|&))+[\W_]*")
_RELATION = re.compile("[<>]")
# What many names have in common.
GENERIC = frozenset(
    {"company", "inc", "corp", "corporation", "ltd", "llc", "university", "river", "lake", "city", "county", "of", "group"}
)
MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE)


class Members(NamedTuple):
    """The members of a list, normalised; `is_ordered`: its notation gives an order; `is_marked`: it is a list by its notation;
    `has_names`: names are joined by "and"; `is_descending`: the greater stands first."""

    texts: tuple[str, ...]
    is_ordered: bool
    is_marked: bool
    has_names: bool = False
    is_descending: bool = False


@view
def asks_several(question: str) -> bool:
    """Return whether a question asks for more than one thing."""
    return bool(_ASKS_SEVERAL.search(question))


@view
def _asks_order(question: str) -> bool:
    return bool(_ASKS_ORDER.search(question))


def decide_members(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is a list, and a short answer is one too or one of its members."""
    if len(reference) > MAX_CHARACTERS or len(answer) > MAX_CHARACTERS:
        return None
    decision = (
        _compare_ratios(task, reference, answer) or _compare_assignments(reference, answer) or _compare_symbols(reference, answer)
    )
    if decision:
        return decision
    asks_order = _asks_order(task.question)
    if asks_order and (decision := _compare_words(task, reference, answer)):
        return decision
    expected = parse_members(reference)
    if expected is None or len(expected.texts) < 2:
        return None
    is_asked_for_several = asks_several(task.question)
    if len(_BLANK.findall(task.question)) == len(expected.texts):
        asks_order = True
        if filled := _fill_blanks(task.question, answer):
            return _compare(expected.texts, filled, is_ordered=True)
    is_list = expected.is_marked or expected.has_names or len(expected.texts) > 2 or asks_order or is_asked_for_several
    actual = parse_members(answer) if is_list else None
    if actual is None:
        return None
    if all(len(text) == 1 for text in expected.texts) and [*actual.texts] == ["".join(expected.texts)]:
        return Decision(True, "list", "the same letters")
    texts = _share_last_names(actual.texts, expected.texts)
    if expected.is_descending != actual.is_descending and _RELATION.search(answer) and _RELATION.search(reference):
        texts = texts[::-1]
    has_repeats = len(set(expected.texts)) < len(expected.texts) and not _ASKS_SOLUTIONS.search(task.question)
    decision = _compare(expected.texts, texts, is_ordered=asks_order or has_repeats or expected.is_ordered)
    if decision and decision.correct and _have_other_signs(reference, answer):
        return None
    if decision is None or decision.correct or expected.is_marked or asks_order:
        return decision
    # Common nouns are often one thing, wages and salaries, or paraphrases; and one of two singers may do.
    are_several = (";" not in reference and len(expected.texts) > 2) or all(re.search(r"\d", text) for text in expected.texts)
    is_asked = is_asked_for_several and (are_several or _NAMES.fullmatch(unwrap(reference)))
    return decision if is_asked else None


def _fill_blanks(question: str, answer: str) -> list[str] | None:
    """Return what an answer writes into the blanks of a sentence; None for any other answer."""
    sentence = re.split(r"[:?]\s", question)[-1].strip().rstrip(".")
    pieces = [r"\s+".join(map(re.escape, piece.split())) for piece in _BLANK.split(sentence)]
    match = re.fullmatch(r"\s*(.{1,60}?)\s*".join(pieces), answer.strip().rstrip("."), re.IGNORECASE)
    return [normalize(strip_markup(text)) for text in match.groups()] if match else None


def _have_other_signs(reference: str, answer: str) -> bool:
    """Return whether the same members are joined by other signs: a < b and a → b, (1, 4) and [1, 4]."""
    signs = [{sign.strip() for sign in _ARROW.findall(text)} for text in (reference, answer)]
    if all(signs) and signs[0] != signs[1] and (signs[0] | signs[1]) & {"<", ">"} and not all(sign <= {"<", ">"} for sign in signs):
        return True
    ends = [text[:1] + text[-1:] for text in (reference.strip(), answer.strip())]
    return ends[0] != ends[1] and set(ends) <= {"()", "[]"} and any(map(str.isdigit, reference))


def _compare_words(task: Task, reference: str, answer: str) -> Decision | None:
    """Compare words of the question that are to be put in order, without marks between them."""
    expected, actual = normalize(reference).split(), normalize(answer).split()
    if len(expected) < 3 or sorted(expected) != sorted(actual) or not set(expected) <= set(normalize(task.question).split()):
        return None
    return Decision(expected == actual, "list", "the same order" if expected == actual else "another order")


def _compare(expected: Sequence[str], actual: Sequence[str], *, is_ordered: bool) -> Decision | None:
    if list(expected) == list(actual):
        return Decision(True, "list", "the same members")
    missing, extra = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    if not missing and not extra:
        return Decision(not is_ordered, "list", "another order" if is_ordered else "the same members")
    if not extra:
        return Decision(False, "list", f"without {next(iter(missing))}"[:80])
    if not missing:
        return Decision(False, "list", f"{next(iter(extra))} is too many"[:80])
    # Where the others are the same, the one that differs is another name, unless it is spelled or said in another way.
    shared = (Counter(expected) & Counter(actual)).total()
    if shared and missing.total() == extra.total() == 1:
        (first,), (second,) = missing, extra
        shared_words = set(first.split()) & set(second.split()) - GENERIC
        if first.isdecimal() and second.isdecimal() and int(first) != int(second):
            return Decision(False, "list", f"{second} instead of {first}"[:80])
        if not shared_words and first[:2] != second[:2] and f"{first}{second}".replace(" ", "").isalpha():
            return Decision(False, "list", f"{second} instead of {first}"[:80])
    return None


@view
def parse_members(text: str) -> Members | None:
    """Return the members of a text that is a list, one name being a list of one; None for a sentence or a date."""
    text = strip_fence(text).strip()
    stripped = unwrap(text) if "\n" not in text else text
    if _MATHEMATICS.search(stripped):
        return None
    brackets = len(stripped) > 2 and stripped[0] + stripped[-1] in ("[]", "{}", "()")
    is_tuple = brackets and stripped[0] == "("
    body = stripped[1:-1] if brackets else stripped
    if "\n" in body.strip():
        lines = [line for line in body.strip().splitlines() if line.strip()]
        texts = [_ITEM.sub("", line) for line in lines]
        if not brackets and not all(_ITEM.match(line) or len(line.split()) <= MAX_MEMBER_WORDS for line in lines):
            return None
        return _members(texts, is_ordered=False, is_marked=True)
    numbers = [int(number) for number in _INLINE_ITEM.findall(body)]
    if len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]:
        return _members([part.strip(" ,;") for part in _INLINE_ITEM.split(body)[2::2]], is_ordered=True, is_marked=True)
    if SENTENCE_WORD.search(body) or body.rstrip().endswith("?"):
        return None
    if len(texts := _ARROW.split(body)) > 1 and all(texts):
        signs = {sign.strip() for sign in _ARROW.findall(body)}
        members = _members(texts, is_ordered=True, is_marked=True) if len(signs) == 1 else None
        return members and members._replace(is_descending=signs == {">"})
    if ";" in body:
        # Between two it may be a paraphrase: "in a cross manner; angrily".
        return _members(body.split(";"), is_ordered=is_tuple, is_marked=brackets)
    texts = [part for piece in _COMMA.split(body) for part in _AND.split(f" {piece} ")]
    if MONTH.search(body) and re.search(r"\d", body):
        return None
    has_words = " and " in f" {body} " or " und " in body or "&" in body
    has_names = has_words and len(texts) > 1 and all(part.strip()[:1].isupper() for part in texts)
    members = _members(texts, is_ordered=is_tuple, is_marked=brackets)
    return members and members._replace(has_names=has_names)


def _members(parts: Sequence[str], *, is_ordered: bool, is_marked: bool) -> Members | None:
    texts = [_ORDER_WORDS.sub("", part.strip().strip("'\"")).strip() for part in parts]
    names = [normalize(strip_markup(text)) for text in texts if text]
    if not names or not all(names) or any(len(name.split()) > MAX_MEMBER_WORDS for name in names):
        return None
    return Members(tuple(names), is_ordered, is_marked)


def _share_last_names(actual: Sequence[str], expected: Sequence[str]) -> Sequence[str]:
    """Return the members with the last word of the last one where that makes them members of the reference: ben and ada smith."""
    last_words = actual[-1].split()
    if len(actual) < 2 or len(last_words) < 2:
        return actual
    completed = [f"{name} {last_words[-1]}" for name in actual]
    return [full if full in expected and name not in expected else name for name, full in zip(actual, completed, strict=True)]


def _compare_ratios(task: Task, reference: str, answer: str) -> Decision | None:
    """Compare ratios and scores: 3:4 is not 4:3, and as a ratio it is 6:8."""
    expected = _RATIO.fullmatch(unwrap(reference))
    is_ratio = bool(_ASKS_RATIO.search(task.question))
    if not expected or (expected["sign"] == "to" and not is_ratio) or (expected["sign"] == ":" and len(expected[3]) == 2):
        # A time of the day, rather.
        return None
    matches = set(_RATIOS.findall(answer))
    if len(matches) != 1 or HEDGE.search(answer):
        return None
    [actual] = matches
    if actual == expected.group(1, 3) or (is_ratio and int(actual[0]) * int(expected[3]) == int(actual[1]) * int(expected[1]) > 0):
        return Decision(True, "list", "the same ratio or score")
    # Within a sentence the other side may come first.
    return Decision(False, "list", "another ratio or score") if _RATIO.fullmatch(unwrap(answer)) else None


def _compare_assignments(reference: str, answer: str) -> Decision | None:
    """Compare values by name: x = 1, y = 2."""
    expected = _parse_assignments(reference)
    if len(expected) < 2:
        return None
    actual = _parse_assignments(answer) or _find_assignments(expected, answer)
    if expected == actual:
        return Decision(True, "list", "the same values")
    if expected.keys() == actual.keys() and sorted(expected.values()) == sorted(actual.values()):
        return Decision(False, "list", "values exchanged")
    return None


def _parse_assignments(text: str) -> dict[str, str]:
    pieces = re.split(r"[,;\n]|\band\b", unwrap(text))
    matches = [_ASSIGNMENT.fullmatch(piece) for piece in pieces if piece.strip()]
    return {normalize(match[1]): normalize(match[2]) for match in matches if match} if matches and all(matches) else {}


def _find_assignments(expected: Mapping[str, str], answer: str) -> dict[str, str]:
    """Return the values that follow the names in a sentence or a table; empty if names and values do not alternate."""
    words = normalize(answer)
    names = sorted({*expected, *expected.values()}, key=len, reverse=True)
    mentions = re.findall(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", words)
    pairs = dict(zip(mentions[::2], mentions[1::2], strict=False))
    is_complete = len(mentions) == 2 * len(expected) and pairs.keys() == expected.keys()
    return pairs if is_complete and expected.keys().isdisjoint(expected.values()) else {}


def _compare_symbols(reference: str, answer: str) -> Decision | None:
    """Compare texts without letters and digits, such as brackets to close."""
    if any(map(str.isalnum, reference)) or any(map(str.isalnum, answer)) or len(reference.split()) < 2:
        return None
    is_same = "".join(reference.split()) == "".join(answer.split())
    return Decision(is_same, "list", "the same symbols" if is_same else "other symbols")
