"""Stems, and ROUGE-L compared with the scorer of `rouge-score`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize

from bert_judge.text.stemming import rouge_stems, stem_words
from bert_judge.text.word_metrics import rouge_l_f, rouge_l_recall

ROWS = [json.loads(line) for line in Path("tests/golden/rows.jsonl").read_text("utf-8").splitlines()]
# Longer texts take the package seconds.
MAX_CHARACTERS = 1_000


def test_rouge_equals_the_package() -> None:
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = {(reference, answer) for _, references, answer in ROWS for reference in references}
    pairs = {pair for pair in pairs if all(tokenize(text, None) and len(text) <= MAX_CHARACTERS for text in pair)}
    assert len(pairs) > 1_000
    for pair in pairs:
        reference, answer = (rouge_stems(tokenize(text, None)) for text in pair)
        expected = scorer.score(*pair)["rougeL"]
        assert rouge_l_recall(reference, answer) == pytest.approx(expected.recall)
        assert rouge_l_f(reference, answer) == pytest.approx(expected.fmeasure)


def test_rouge_leaves_other_scripts_and_signs_unchanged() -> None:
    words = ["ponies", "Enjoyment", "naïvely", "ran", "Sky", "13.5", "Well-being"]
    assert rouge_stems(words) == ["poni", "enjoy", "naïvely", "ran", "Sky", "13.5", "well-being"]


def test_rules_strip_one_suffix() -> None:
    assert stem_words(["citizens", "taking", "quickly", "bus", "2.5"]) == ["citizen", "tak", "quick", "bus", "2.5"]
