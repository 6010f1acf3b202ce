"""The rule `math_verify` against the library Math-Verify alone, on cases where both can be wrong.

    BERT_JUDGE_DATA=… python benchmarks/math_rule.py [--golds 100] [--mutants 200]

Cases: the test cases of the library's own test suite that use its default settings. Golds: answers in the style of MATH, from the
data and from a list here, each bare and in `$…$`: repeated word for word (must be correct), and with one symbol changed (must not
be). Golds of the data and mutants are seeded samples, because a comparison takes a tenth of a second. Prints the
number of right verdicts of both, and the cases that the rule decides wrongly.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import RULES

SUITE = Path(__file__).parents[1] / "tests/unit/judges/lexical/math_verify_suite.yaml"
# Separated by two spaces.
GOLDS = r"""
\frac{1}{2}  -\frac{3}{4}  1-\frac{1}{e}  x^2+1  2x-3  (2,5)  [2,5]  (2,5]  [-1,3)  -\infty  (-\infty,3)  2^{n}+1
2^{n+1}  n!  (n+1)!  \sqrt{2}  3\sqrt{5}-2  \pi  \frac{\pi}{2}  2\pi r  x<3  x\ge 2  -1\le x\le 4  \{1,2,3\}  (1,-2,3)  x=5
y=2x+1  a^2-b^2  (a+b)^2  \sin x  \cos 2x  \tan\frac{\pi}{8}  \log_2 3  e^{-x}  \frac{x+1}{x-1}  \frac{a}{b+c}  5!
\binom{7}{3}  1+2i  3-4i  -i  \begin{pmatrix}1&2\\3&4\end{pmatrix}  (-\infty,2)\cup(3,\infty)  [0,1]\cap[1,2]  60^\circ
0.25  -0.5  1.6\times 10^{-19}  3\times 10^8  12,345  16  -7  100  3:4  25\%  \sqrt[3]{7}  x^3-3x+2  \frac{1}{1+x^2}
2+\sqrt{3}  \pm 3  -\sqrt{3}  \frac{-1+\sqrt{5}}{2}  t^2-4t+4  4xy-3  x^2y-xy^2  (x-1)(x+2)  2(x+3)
\frac{n(n+1)}{2}  |x-2|
"""
# Each symbol and what a wrong answer may have instead.
CHANGES = (
    ("+", "-"),
    ("-", "+"),
    ("-", ""),
    ("<", ">"),
    (r"\le", r"\ge"),
    (r"\ge", r"\le"),
    (r"\cup", r"\cap"),
    (r"\cap", r"\cup"),
    (r"\sin", r"\cos"),
    (r"\cos", r"\sin"),
    (r"\tan", r"\cot"),
    (r"\infty", "0"),
    ("!", ""),
    ("^", ""),
    ("e^", "2^"),
    (r"\pi", "3"),
    (r"\sqrt", ""),
    ("i", "j"),
)
_BRACKETED = re.compile(r"^([(\[])(-?\d+|-\\infty),(-?\d+|\\infty)([)\]])$")
_DIGIT = re.compile(r"\d")


class Case(NamedTuple):
    """A reference, an answer, and whether it is right."""

    reference: str
    answer: str
    is_correct: bool


def read_suite() -> list[Case]:
    """Read the cases of the library's test suite, with golds, answers and expected results."""
    return [Case(*row) for row in yaml.safe_load(SUITE.read_text("utf-8"))]


def change_symbol(gold: str) -> list[str]:
    """Return the gold with one symbol changed at a time; every result is another answer."""
    mutants = []
    for symbol, other in CHANGES:
        if symbol == "i" and not re.fullmatch(r"[-\d+i]+", gold):
            continue
        for match in re.finditer(rf"{re.escape(symbol)}(?![a-z])" if symbol.startswith("\\") else re.escape(symbol), gold):
            mutants.append(gold[: match.start()] + other + gold[match.end() :])
    if bracket := _BRACKETED.match(gold):
        mutants.append({"(": "[", "[": "("}[bracket[1]] + gold[1:])
        mutants.append(gold[:-1] + {")": "]", "]": ")"}[bracket[4]])
    for digit in _DIGIT.finditer(gold):
        # The binomial coefficients 7 over 3 and 7 over 4 are equal.
        if not (gold.startswith("\\binom") and mutants):
            mutants.append(gold[: digit.start()] + str((int(digit[0]) + 1) % 10) + gold[digit.end() :])
    return [mutant for mutant in dict.fromkeys(mutants) if mutant.strip() and mutant != gold]


def golds_of_data(number: int, generator: random.Random) -> list[str]:
    folder = os.environ.get("BERT_JUDGE_DATA")
    if folder is None:
        return []
    references = pd.read_parquet(Path(folder, "math_l5_43_models.parquet"), columns=["references"])["references"]
    return sample(sorted({str(text) for texts in references for text in texts}), number, generator)


def sample(items: list[Any], number: int, generator: random.Random) -> list[Any]:
    return generator.sample(items, number) if number < len(items) else items


def library_says(cases: Sequence[Case]) -> list[bool]:
    """Return the verdicts of the library with the settings of its tests; a gold without dollars gets them, so that it parses."""
    targets = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]
    verdicts = []
    for case in track(cases, "library"):
        gold, answer = (parse(text, targets, parsing_timeout=None) for text in case[:2])
        verdicts.append(bool(verify(gold, answer, timeout_seconds=None)))
    return verdicts


def rule_says(cases: Sequence[Case]) -> list[bool]:
    rows = [Row(str(i), 0, "model", "", (case.reference,), case.answer) for i, case in enumerate(cases)]
    with LexicalJudge(RULES["math_verify"]) as judge:
        return [label.verdict == "correct" for row in track(rows, "rule") for label in judge.judge([row])]


def track(items: Sequence[Any], name: str) -> Iterator[Any]:
    """Yield the items, and print the progress to stderr every 10 seconds."""
    printed = time.monotonic()
    for done, item in enumerate(items):
        if time.monotonic() - printed > 10:
            printed = time.monotonic()
            print(f"{name}: {done} of {len(items)}", file=sys.stderr, flush=True)
        yield item


def show(name: str, cases: Sequence[Case], for_library: Sequence[Case]) -> None:
    library, rule = library_says(for_library), rule_says(cases)
    right = [sum(said == case.is_correct for said, case in zip(verdicts, cases, strict=True)) for verdicts in (library, rule)]
    print(f"{name:28s}{len(cases):7d}{right[0]:10d}{right[1]:8d}", flush=True)
    for case, said in zip(cases, rule, strict=True):
        if said != case.is_correct:
            print(f"    {'accepted' if said else 'refused'}: {case.answer[-80:]!r} for {case.reference[-80:]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golds", type=int, default=100, help="golds from the data (default: %(default)s)")
    parser.add_argument("--mutants", type=int, default=200, help="mutants, bare and again in dollars (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    print(f"{'':28s}{'cases':>7s}{'library':>10s}{'rule':>8s}")
    suite = read_suite()
    show("Math-Verify's test suite", suite, suite)
    golds = [*re.split(r"\s{2,}|\n", GOLDS.strip()), *golds_of_data(options.golds, generator)]
    identical = [(gold, gold) for gold in golds]
    changed = sample([(gold, mutant) for gold in golds for mutant in change_symbol(gold)], options.mutants, generator)
    for name, wrap in (("bare", "{}"), ("in dollars", "${}$")):
        for kind, pairs, is_correct in (("identical", identical, True), ("one symbol changed", changed, False)):
            cases = [Case(gold, wrap.format(text), is_correct) for gold, text in pairs]
            # Without dollars LaTeX does not parse.
            show(f"{kind}, {name}", cases, [Case(f"${gold}$", f"${text}$", is_correct) for gold, text in pairs])


if __name__ == "__main__":
    main()
