"""Rules on words: exact match, containment, token F1, ROUGE-L and Math-Verify, each over an extraction step.

A rule is strict or lenient by its extraction: `final_answer` alone finds nothing where the format was ignored (invalid, not wrong),
a chain that ends in `whole` always finds something. Of several references the best one counts. For multiple choice the letter of
the chosen option decides where one is recognised, so that neither "B" against "A bee" nor "b) Paris" against "B" goes astray.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from bert_judge.judges.lexical import choices, extraction, stemming
from bert_judge.judges.lexical.config import LexicalJudgeConfig
from bert_judge.judges.lexical.math_worker import MathVerifier, Outcome
from bert_judge.judges.lexical.normalization import words
from bert_judge.judges.protocol import Label, Row, decided, invalid

Words = list[str]

_EXTRACTORS: Mapping[str, Callable[[str], str | None]] = {
    "final_answer": extraction.final_answer,
    "boxed": extraction.boxed,
    "last_number": extraction.last_number,
    "full_text": extraction.full_text,
}
_INTEGER = re.compile(r"-?\d+")
# Options that a letter may name when the question does not list them.
_UNLISTED = dict.fromkeys("ABCDEFGHIJ", "")
_SHOWN = 300
MOST_REFERENCE_WORDS, MOST_SHARED_WORDS = 1_000, 5_000


class LexicalJudge:
    """Judges by a rule on words.

    Args:
        settings: the fields of `LexicalJudgeConfig`.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = LexicalJudgeConfig.model_validate({"kind": "lexical", **settings})
        self.revisions: dict[str, str] = {}
        self._verifier = MathVerifier(self.settings.timeout)

    def __enter__(self) -> LexicalJudge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process of Math-Verify, if there is one."""
        self._verifier.close()

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """One label per row, in their order. `raw` is the extracted answer, `reason` names the extraction or the fault."""
        labels: list[Label | None] = []
        waiting: list[tuple[int, Sequence[str], str, str]] = []
        for row in rows:
            answer, how = self._extract(row)
            label = invalid(how) if answer is None else self._quick(row, answer, how)
            if label is None and answer is not None:
                waiting.append((len(labels), row.references, answer, how))
            labels.append(label)
        pairs = {(tuple(references), answer): None for _, references, answer, _ in waiting}
        outcomes = dict(zip(pairs, self._verifier.verify(list(pairs)), strict=True)) if pairs else {}
        for place, references, answer, how in waiting:
            labels[place] = _math_label(outcomes[tuple(references), answer], answer, how)
        return [label for label in labels if label is not None]

    def _extract(self, row: Row) -> tuple[str | None, str]:
        """The answer and the extraction that found it; or None and the reason."""
        text = extraction.without_reasoning(row.candidate)
        if text is None:
            return None, "unfinished reasoning"
        if not text.strip():
            return None, "empty answer"
        for how in self.settings.extract:
            found = choices.chosen_option(text, _options(row)) if how == "choice" else _EXTRACTORS[how](text)
            if found is not None:
                return found, how
        return None, f"no answer found by {', '.join(self.settings.extract)}"

    def _quick(self, row: Row, answer: str, how: str) -> Label | None:
        """The label of a row that needs no mathematics; None for one that does."""
        settings = self.settings
        details: dict[str, Any] = {"reason": how, "raw": answer[:_SHOWN]}
        options = _options(row) if settings.normalize else {}
        # An exact match is the option and nothing else; the other metrics look for it in the text.
        chosen = (choices.option_named if settings.metric == "exact_match" else choices.chosen_option)(answer, options)
        if chosen is not None:
            return decided(float(_is_right(chosen, options, row.references)), **details)
        # A letter is no word: without its option there is nothing to compare it with.
        references = [r for r in row.references if r not in options]
        if settings.metric == "math_verify":
            if any(_same(r, answer) for r in references):
                return decided(1.0, **details)
            integers = all(_is_integer(text) for text in (answer, *references))
            return decided(0.0, **details) if integers else None
        split = words if settings.normalize else str.split
        if settings.stem and settings.metric in _STEMMED:
            return self._scored([_stems(split(r)) for r in references], _stems(split(answer)), details)
        return self._scored([split(r) for r in references], split(answer), details)

    def _scored(self, references: Sequence[Words], answer: Words, details: Mapping[str, Any]) -> Label:
        metric, exact = _METRICS[self.settings.metric]
        score = max((metric(reference, answer) for reference in references if reference), default=0.0)
        return decided(score, 1.0 if exact else self.settings.threshold, **details)


def exact_match(reference: Words, answer: Words) -> float:
    """1 when the words are the same."""
    return float(reference == answer)


def contains(reference: Words, answer: Words) -> float:
    """1 when the reference's words occur in the answer, next to each other and whole."""
    return float(f" {' '.join(reference)} " in f" {' '.join(answer)} ")


def token_f1(reference: Words, answer: Words) -> float:
    """SQuAD's F1: harmonic mean of the shares of common words."""
    common = (Counter(reference) & Counter(answer)).total()
    return 2 * common / (len(reference) + len(answer))


def rouge_l_recall(reference: Words, answer: Words) -> float:
    """Share of the reference's words in the longest common subsequence (Lin, 2004)."""
    return common_subsequence(reference, answer) / len(reference)


def rouge_l_f(reference: Words, answer: Words) -> float:
    """ROUGE-L's F-measure with equal weights, as in the package `rouge-score`."""
    return 2 * common_subsequence(reference, answer) / (len(reference) + len(answer))


def common_subsequence(reference: Words, answer: Words) -> float:
    """Length of the longest common subsequence, by the package `rouge-score`, in words that the caller has split.

    That package fills a table of both lengths. Words that the reference lacks cannot be in a common subsequence, so they are left
    out first; of what remains of an answer of a megabyte the end counts.
    """
    reference, known = reference[:MOST_REFERENCE_WORDS], set(reference)
    shared = [word for word in answer if word in known][-MOST_SHARED_WORDS:]
    return _rouge_scorer().score("\n".join(reference), "\n".join(shared))["rougeL"].recall * len(reference) if shared else 0


class _SplitAlready:
    """Stands in for the tokenizer of `rouge-score`, which keeps nothing but ASCII."""

    def tokenize(self, text: str) -> Words:
        return text.split("\n")


@lru_cache(maxsize=1)
def _rouge_scorer() -> Any:
    return stemming.rouge_l(_SplitAlready())


# Metric → (function of non-empty reference and answer words, whether it is 0 or 1 whatever the threshold).
_METRICS: Mapping[str, tuple[Callable[[Words, Words], float], bool]] = {
    "exact_match": (exact_match, True),
    "contains": (contains, True),
    "token_f1": (token_f1, False),
    "rouge_l_recall": (rouge_l_recall, False),
    "rouge_l_f": (rouge_l_f, False),
}
_STEMMED = frozenset({"token_f1", "rouge_l_recall", "rouge_l_f"})


def _stems(split: Words) -> Words:
    return [_stem(word) for word in split]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """Porter's stem, of words above three letters only, as in `rouge-score`."""
    return _stemmer().stem(word) if len(word) > 3 and word.isascii() else word


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    return stemming.porter()


def _options(row: Row) -> Mapping[str, str]:
    """The options of a multiple-choice row, lettered; empty for any other row."""
    listed = choices.options_of(row.question)
    if listed and (any(r in listed for r in row.references) or any(_same(r, o) for r in row.references for o in listed.values())):
        return listed
    return _UNLISTED if not listed and any(r in _UNLISTED for r in row.references) else {}


def _is_right(chosen: str, options: Mapping[str, str], references: Sequence[str]) -> bool:
    """Whether the chosen option is a reference: by its letter, or by its text when no reference is a letter."""
    letters = [r for r in references if r in options]
    if len(letters) == 2 and _same(options[letters[0]], letters[1]):
        # [letter, option text] of an option whose text is a letter too.
        letters = letters[:1]
    return chosen in letters if letters else any(_same(r, options[chosen]) for r in references)


def _same(one: str, other: str) -> bool:
    return bool(left := words(extraction.tidy(one))) and left == words(extraction.tidy(other))


def _is_integer(text: str) -> bool:
    return len(text) < 100 and len(found := words(text)) == 1 and bool(_INTEGER.fullmatch(found[0]))


def _math_label(outcome: Outcome, answer: str, how: str) -> Label:
    if outcome.equal is None:
        return invalid(outcome.reason or "undecided", answer[:_SHOWN])
    return decided(float(outcome.equal), reason=outcome.reason or how, raw=answer[:_SHOWN])
