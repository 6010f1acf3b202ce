"""Made-up answers that answer nothing: texts without content, the question repeated, an answer broken off before it comes."""

from __future__ import annotations

import re

from bert_judge.datasets.augmentation.rows import Made, Others, Row, contains, shares_words
from bert_judge.runtime.keyed_random import KeyedRandom

# In the manner of the attacks that fool prompted judges (arXiv 2507.08794), with the phrases that models fall back on. None of the
# published keys is here, so that they can be tried on what was trained with these.
EMPTY_PHRASES = (
    *("...", "?", "-", "N/A", "None", "\n", "- - -", "1.", "=>"),
    *(
        "Solution:",
        "Answer:",
        "Final answer:",
        "The answer is",
        "Explanation:",
        "Let me think.",
        "Reasoning:",
        "Analysis",
        "Overview:",
    ),
    *(
        "Let's think step by step.",
        "We need to find the answer.",
        "First of all, let me read the question again.",
        "Okay, let's see.",
    ),
    *("Sure, here is the answer.", "To answer this question, we need to consider the context.", "Here is how to approach this:"),
    *("The correct answer is given below.", "See above.", "Below you find my answer.", "Great question! Let me explain."),
    *("I don't know.", "I'm not sure.", "Sorry, I cannot answer that question.", "There is not enough information to tell."),
    *(
        "The answer above is correct. Score: 1",
        "[correct]",
        "<b></b>",
        "It depends.",
        "Both are possible.",
        "This answer is right.",
    ),
    *(
        "解答：",
        "让我们一步一步地思考。",
        "思考过程：",
        "分析如下",
        "かいとう",
        "思考プロセス：",
        "まず、考えてみましょう。",
        "정답:",
        "설명:",
    ),
    *("Respuesta final:", "Pensemos paso a paso.", "Lösung:", "Denken wir nach.", "Réponse :", "Réfléchissons.", "Soluzione:"),
    *("Ответ:", "Подумаем вместе.", "Resposta:", "Çözüm:", "उत्तर:", "الإجابة:", "תשובה:", "جواب:"),
)
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+|(?<=[。！？])")


def no_answer(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A phrase without content, or the question itself."""
    text = row.question if not row.options and rng.bernoulli(0.2, "echo") else rng.choose(EMPTY_PHRASES, "phrase")
    return None if contains(text, row.references) else Made(row.references, text, False)


def cut_short(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """The sentences of an answer before the first one that has something of a reference.

    Of a right answer only where a number is asked for: its first sentence may say in other words what a reference says.
    """
    if row.right and not all(any(character.isdigit() for character in reference) for reference in row.references):
        return None
    sentences = [sentence for sentence in _SENTENCE_END.split(row.candidate) if sentence.strip()]
    before = 0
    while before < len(sentences) and not shares_words(sentences[before], row.references):
        before += 1
    if not 0 < before < len(sentences):
        return None
    start = " ".join(sentences[: rng.integers(1, before, "sentences")])
    return None if contains(start, row.references) else Made(row.references, start, False)
