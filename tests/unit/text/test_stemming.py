"""Stems and ROUGE-L, compared with the package `rouge-score`, whose stemmer is NLTK's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize

from bert_judge.text.stemming import stem_words
from bert_judge.text.word_metrics import rouge_l_f, rouge_l_recall

ROWS = [json.loads(line) for line in Path("tests/golden/rows.jsonl").read_text("utf-8").splitlines()]
# Longer texts take the package seconds.
MAX_CHARACTERS = 1_000
ENDINGS = (
    "ies sses s ied eed ed ing y ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness "
    "ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent "
    "ion ou ism ate iti ous ive ize e ll sky dying innings"
)
STEMMER = PorterStemmer()


def test_rouge_equals_the_package() -> None:
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = {(reference, answer) for _, references, answer in ROWS for reference in references}
    pairs = {pair for pair in pairs if all(tokenize(text, None) and len(text) <= MAX_CHARACTERS for text in pair)}
    assert len(pairs) > 1_000
    for pair in pairs:
        reference, answer = (stem_words(tokenize(text, None)) for text in pair)
        expected = scorer.score(*pair)["rougeL"]
        assert rouge_l_recall(reference, answer) == pytest.approx(expected.recall)
        assert rouge_l_f(reference, answer) == pytest.approx(expected.fmeasure)


@given(st.text("aeiouylbstnwx1", min_size=1, max_size=7), st.lists(st.sampled_from(ENDINGS.split()), min_size=1, max_size=2))
def test_stems_equal_those_of_nltk(start: str, endings: list[str]) -> None:
    word = start + "".join(endings)
    assert stem_words([word]) == [STEMMER.stem(word) if len(word) > 3 else word]


def test_words_of_other_scripts_are_unchanged() -> None:
    assert stem_words(["ponies", "naïvely", "ran", "Sky"]) == ["poni", "naïvely", "ran", "Sky"]
