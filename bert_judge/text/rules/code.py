"""The reference is written in a notation in which every sign counts: a key, a move, a formula, a sequence, a provision, a program.

`codes.yaml` describes the notations that patterns can read; chemical formulas, positions, and statements of programs are read here.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import strip_fence, unwrap
from bert_judge.text.reading import Task
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import HEDGE

_MAX_CHARACTERS, _MAX_STATEMENT = 200, 1_000


class _Code(NamedTuple):
    """A notation, see `codes.yaml`."""

    name: str
    asks: re.Pattern[str]
    pattern: re.Pattern[str]
    rewrite: Sequence[tuple[re.Pattern[str], str]]
    tokens: re.Pattern[str] | None
    fold: bool
    search: bool

    def read(self, text: str) -> str | None:
        """Return the one form of a text that is written in this notation."""
        if not self.pattern.fullmatch(text):
            return None
        for pattern, replacement in self.rewrite:
            text = pattern.sub(replacement, text)
        text = " ".join(self.tokens.findall(text)) if self.tokens else text
        return text.casefold() if self.fold else text

    def find(self, text: str) -> str | None:
        """Return the form of the only one in a sentence."""
        if not self.search or HEDGE.search(text):
            return None
        forms = {self.read(match[0]) for match in self.pattern.finditer(text)}
        return forms.pop() if len(forms) == 1 else None


@cache
def _codes() -> Sequence[_Code]:
    entries: Mapping[str, Any] = read_yaml(Path(__file__).parents[1] / "codes.yaml")
    return [
        _Code(
            name,
            re.compile(entry.get("asks", "")),
            re.compile(entry["pattern"]),
            [(re.compile(pattern), replacement) for pattern, replacement in entry.get("rewrite", ())],
            re.compile(entry["tokens"]) if "tokens" in entry else None,
            entry.get("fold", False),
            entry.get("search", False),
        )
        for name, entry in entries.items()
    ]


def decide_code(task: Task, reference: str, answer: str, *, is_whole: bool = False) -> Decision | None:
    """Decide if the reference is in a notation and the answer is too, or, without `is_whole`, has one such text."""
    if len(reference) > _MAX_STATEMENT or len(answer) > _MAX_STATEMENT:
        return None
    expected_text, given_text = unwrap(strip_fence(reference)), unwrap(strip_fence(answer))
    if decision := _compare_formulas(task.question, expected_text, given_text) or _compare_statements(expected_text, given_text):
        return decision
    if decision := _compare_positions(expected_text, given_text):
        return decision
    if len(reference) > _MAX_CHARACTERS or len(answer) > _MAX_CHARACTERS:
        return None
    for code in _codes():
        expected = code.read(expected_text)
        if not expected or not code.asks.search(task.question):
            continue
        actual = code.read(given_text) or (None if is_whole else code.find(answer))
        if actual and code.name == "variant" and not (" " in expected and " " in actual):
            # The gene of a variant may be left out: V600E of BRAF V600E.
            expected, actual = expected.split()[-1], actual.split()[-1]
        is_same = expected == actual
        if actual and (is_same or code.name not in _MAY_MEAN_THE_SAME or _MAY_MEAN_THE_SAME[code.name](expected, actual)):
            return Decision(is_same, "code", f"{'same' if is_same else 'another'} {code.name}: {actual}, {expected}")
    return None


# A name of a program has one of these; other words may be synonyms.
_NAME_MARK = re.compile(r"\w_\w|\A-|[/\\]|\w(?:\.|::)[a-z]\w|\A[a-z]+[A-Z]")


def _are_names(expected: str, actual: str) -> bool:
    """Return whether two different words are names of a program: split_data and merge_data, fit and fit_transform."""
    is_spelling = re.sub(r"\W|_", "", expected).casefold() == re.sub(r"\W|_", "", actual).casefold()
    return bool(_NAME_MARK.search(expected) or _NAME_MARK.search(actual)) and (not is_spelling or "/" in expected)


def _are_structures(expected: str, actual: str) -> bool:
    """Return whether two SMILES have other atoms, or the same in the same order; in another order, they may be one molecule."""
    atoms = [re.findall("[A-Za-z]", text) for text in (expected, actual)]
    return atoms[0] == atoms[1] or sorted(map(str.upper, atoms[0])) != sorted(map(str.upper, atoms[1]))


def _are_times(expected: str, actual: str) -> bool:
    """Return whether two times differ; in two zones, other figures may be the same moment."""
    (clock, zone), (other_clock, other_zone) = (re.findall(r"[\d:]+|[^\d:]+\Z", text) for text in (expected, actual))
    return bool(zone == other_zone or clock == other_clock)


def _differ_in_case(expected: str, actual: str) -> bool:
    r"""Return whether two regular expressions differ in case only, \d and \D; others may match the same texts."""
    return expected.casefold() == actual.casefold()


# A telephone number with and without the code of its country: +49 30 123456 and 030 123456.
_SAME_TELEPHONE = re.compile(r"\+\d{1,3}(\d{6,}) 0\1|0(\d{6,}) \+\d{1,3}\2")


# Whether two different texts in a notation mean different things, where that is not certain.
_MAY_MEAN_THE_SAME = {
    "regular expression": _differ_in_case,
    "name in a program": _are_names,
    "structure in SMILES": _are_structures,
    "time in a zone": _are_times,
    "telephone number": lambda expected, actual: not _SAME_TELEPHONE.fullmatch(f"{expected} {actual}"),
}


# --- chemical formulas and reactions: \ce{SO4^2-}, 2H2 + O2 -> 2H2O ---

_ASKS_SUBSTANCE = re.compile(
    r"\bgas|formula|oxide|\bions?\b|compound|molecul|element|symbol|\bsalt|\bacid|chemical|substance|catalyst|react|precipit|\bmetal"
    r"|equation|balance",
    re.IGNORECASE,
)
_ASKS_ELEMENT = re.compile(r"\belement|\bsymbol|\batom", re.IGNORECASE)
_ASKS_REACTION = re.compile(r"\b(?:react|balanc|chemical)", re.IGNORECASE)
_ELEMENT = (
    "(?:A[cglmrstu]|B[aehikr]?|C[adeflmnorsu]?|D[bsy]|E[rsu]|F[elmr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[airuv]|M[cdgnot]|N[abdehiop]?|Os?"
    "|P[abdmortu]?|R[abefghnu]|S[bcegimnr]?|T[abcehilm]|U|V|W|Xe|Yb?|Z[nr])"
)
_ATOMS = re.compile(rf"({_ELEMENT})(\d*)")
_GROUP = re.compile(r"[(\[]([^()\[\]]*)[)\]](\d*)")
_FORMULA = re.compile(rf"(?:[(\[]*{_ELEMENT}\d*(?:[)\]]\d*)*)+(?:\d*[+-])?")
_COMMAND, _MARKUP = re.compile(r"\\(?:ce|mathrm|text|mathsf|rm)\s?"), re.compile(r"[${}_^\\\s]|\((?:s|l|g|aq)\)")
_PLUS = re.compile(r"\s\+\s|(?<=[\w)])\+(?=[\w(])")
_REACTION_ARROW = re.compile(r"\s*(?:<?-+>|→|⟶|⇌|<=>|\\(?:right|left)*arrow|=)\s*")


def _compare_formulas(question: str, expected: str, actual: str) -> Decision | None:
    first, second = (_COMMAND.sub("", unicodedata.normalize("NFKC", text)) for text in (expected, actual))
    if "+" in first and ("=" not in first or _ASKS_REACTION.search(question)):
        sides = [[_read_side(side) for side in _REACTION_ARROW.split(text)] for text in (first, second)]
        if len(sides[0]) == len(sides[1]) == 2 and all(all(terms) for terms in sides):
            is_same = sides[0] == sides[1]
            return Decision(is_same, "code", f"{'the same' if is_same else 'another'} reaction")
    first, second = (_MARKUP.sub("", text) for text in (first, second))
    is_marked = any(map(str.isdigit, first)) and any(map(str.isalpha, first))
    if not (_FORMULA.fullmatch(first) and _FORMULA.fullmatch(second) and (is_marked or _ASKS_SUBSTANCE.search(question))):
        return None
    if first == second:
        return Decision(True, "code", f"the same formula: {first}") if is_marked or first == expected else None
    # The same atoms may be written in another order: C2H5OH and CH3CH2OH.
    is_other = _ASKS_SUBSTANCE.search(question) and _count_atoms(first) != _count_atoms(second)
    if len(first) == 1 < len(second) and not _ASKS_ELEMENT.search(question):
        # The letter of an option, whose text is a formula: B, CO2.
        return None
    return Decision(False, "code", f"another formula: {second}, {first}") if is_other else None


def _read_side(text: str) -> Counter[str] | None:
    """Return the terms of one side of a reaction with their coefficients."""
    terms = [_MARKUP.sub("", term) for term in _PLUS.split(text)]
    return Counter(terms) if all(_FORMULA.fullmatch(term.lstrip("0123456789")) for term in terms) else None


def _count_atoms(formula: str) -> Counter[str]:
    """Count the atoms of a formula; its charge counts as one of them."""
    while group := _GROUP.search(formula):
        formula = formula[: group.start()] + group[1] * min(int(group[2] or 1), 50) + formula[group.end() :]
    atoms: Counter[str] = Counter({f"charge {formula[-1]}": 1} if formula[-1] in "+-" else {})
    for element, number in _ATOMS.findall(formula):
        atoms[element] += int(number or 1)
    return atoms


# --- positions: 48.8566, 2.3522 or 40°26′46″N 79°58′56″W ---

_DEGREES = re.compile(
    r"(?P<degrees>[-−]?\d{1,3}(?:\.\d{2,})?)\s?(?:°\s?(?:(?P<minutes>\d{1,2})\s?['′’]\s?(?:(?P<seconds>\d{1,2}(?:\.\d+)?)\s?[\"″”]\s?)?)?)?"
    r"(?P<half>[NSEW])?"
)
# Degrees between two readings of one place.
_NEAR = 0.01


def _compare_positions(expected: str, actual: str) -> Decision | None:
    """Compare latitude and longitude, in this order, in decimals or with minutes and seconds."""
    if not all(("°" in text or text.count(".") > 1) and not _DEGREES.sub("", text).strip(" ,;/()") for text in (expected, actual)):
        return None
    first, second = ([_read_degrees(match) for match in _DEGREES.finditer(text)] for text in (expected, actual))
    if len(first) != 2 or len(second) != 2:
        return None
    is_same = all(abs(one - two) <= _NEAR for one, two in zip(first, second, strict=True))
    return Decision(is_same, "code", f"{'the same' if is_same else 'another'} position")


def _read_degrees(match: re.Match[str]) -> float:
    value = float(match["degrees"].replace("−", "-")) + float(match["minutes"] or 0) / 60 + float(match["seconds"] or 0) / 3600
    return -value if match["half"] in ("S", "W") else value


# --- statements of programs: queries and commands ---

_QUERY = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\s", re.IGNORECASE)
# A command has an option; otherwise, words are prose.
_COMMAND_LINE = re.compile(r"(?:\$ )?[a-z][a-z\d_.-]+(?: \S+)*? (?:--?[A-Za-z]|\+[a-z])\S*(?: \S+)*")
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[\w.]+|[<>=!]+|\S")
_UNBROKEN = re.compile(r"\S+")
_MAX_TOKENS = 120


def _compare_statements(expected: str, actual: str) -> Decision | None:
    """Compare two queries or commands by their tokens; more than one of them apart, both may do the same."""
    is_query = bool(_QUERY.match(expected) and _QUERY.match(actual))
    if not is_query and not (_COMMAND_LINE.fullmatch(expected) and "\n" not in expected + actual and len(actual.split()) > 1):
        return None
    pattern = _TOKEN if is_query else _UNBROKEN
    first, second = (pattern.findall(text.strip().removeprefix("$ ").rstrip("; ")) for text in (expected, actual))
    if is_query:
        first, second = ([token if token[0] in "'\"" else token.upper() for token in tokens] for tokens in (first, second))
    if first == second:
        return Decision(True, "code", "the same statement")
    if max(len(first), len(second)) > _MAX_TOKENS:
        return None
    differing = [(one, two) for one, two in zip(first, second, strict=False) if one != two]
    if len(first) == len(second) and len(differing) == 1:
        return Decision(False, "code", f"{differing[0][1]} instead of {differing[0][0]}")
    missing, extra = Counter(first) - Counter(second), Counter(second) - Counter(first)
    if not is_query and missing.total() + extra.total() == 1:
        return Decision(False, "code", f"{'without' if missing else 'with'} {next(iter(missing or extra))}")
    return None
