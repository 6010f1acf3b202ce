"""The rule `math_verify` on the test cases of the library Math-Verify, read and judged as in `benchmarks/math_rule.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "math_rule.py"
# The library refuses white space between the dollars and the number, which the rule ignores, and a reference in which the t of
# \text was read as a tab, which the rule restores.
ACCEPTED_BY_THE_RULE = {"Answer $ \n 9 \n $", "Answer \\( \n 9 \n \\)", "$13$"}


def test_the_rule_is_never_below_the_library() -> None:
    spec = importlib.util.spec_from_file_location("math_rule", BENCHMARK)
    assert spec is not None and spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    cases = benchmark.read_suite()
    expected = [case.is_correct for case in cases]
    library, rule = benchmark.library_says(cases), benchmark.rule_says(cases)
    wrong = [case for case, verdict in zip(cases, rule, strict=True) if verdict != case.is_correct]
    assert {case.answer for case in wrong} <= ACCEPTED_BY_THE_RULE, wrong
    assert len(wrong) <= sum(verdict != right for verdict, right in zip(library, expected, strict=True))
