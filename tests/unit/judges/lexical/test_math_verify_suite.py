"""The rule `math_verify` on the test cases of the library Math-Verify that use its default settings, beside the library."""

from __future__ import annotations

from pathlib import Path

import yaml
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import RULES

# Reference, answer, and whether it is right.
CASES: list[tuple[str, str, bool]] = yaml.safe_load(Path(__file__).with_name("math_verify_suite.yaml").read_text("utf-8"))
TARGETS = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]
# The library refuses white space between the dollars and the number, which the rule ignores, and a reference in which the t of
# \text was read as a tab, which the rule restores.
ACCEPTED_BY_THE_RULE = {"Answer $ \n 9 \n $", "Answer \\( \n 9 \n \\)", "$13$"}


def library_verdict(reference: str, answer: str) -> bool:
    return bool(verify(*(parse(text, TARGETS, parsing_timeout=None) for text in (reference, answer)), timeout_seconds=None))


def test_the_rule_is_never_below_the_library() -> None:
    rows = [Row(str(i), 0, "model", "", (reference,), answer) for i, (reference, answer, _) in enumerate(CASES)]
    with LexicalJudge(RULES["math_verify"]) as judge:
        rule = [label.verdict == "correct" for label in judge.judge(rows)]
    wrong = [answer for (_, answer, is_correct), verdict in zip(CASES, rule, strict=True) if verdict != is_correct]
    assert set(wrong) <= ACCEPTED_BY_THE_RULE, wrong
    assert len(wrong) <= sum(library_verdict(reference, answer) != is_correct for reference, answer, is_correct in CASES)
