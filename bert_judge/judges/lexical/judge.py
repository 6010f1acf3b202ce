"""Lexical judges: a metric on the words of an extracted answer.

A judge is strict or lenient by its extraction: `final_answer` alone finds nothing where the format was ignored (invalid, not
incorrect), a list that ends in `full_text` always finds something. The best of several references counts. In multiple choice the
letter of the chosen option decides where one is recognised, so that neither "B" against "A bee" nor "b) Paris" against "B" is
misjudged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_judge.judges.lexical import choices, extraction
from bert_judge.judges.lexical.config import LexicalJudgeConfig
from bert_judge.judges.lexical.math_worker import MathResult, MathVerifier
from bert_judge.judges.lexical.normalization import normalize_words
from bert_judge.judges.lexical.word_metrics import WORD_METRICS, stem_words
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.judges.visible_text import UNFINISHED, strip_reasoning

_EXTRACTORS: Mapping[str, Callable[[str], str | None]] = {
    "final_answer": extraction.extract_final_answer,
    "boxed": extraction.boxed,
    "last_number": extraction.extract_last_number,
    "full_text": extraction.extract_full_text,
}
_INTEGER = re.compile(r"-?\d+")
# Characters of an extracted answer in a label.
_MAX_RAW = 300


class LexicalJudge:
    """Judges by a metric on words.

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
        """Return one label per row, in order. `raw` is the extracted answer, `reason` the extraction or the error."""
        labels: list[Label | None] = []
        undecided: dict[int, tuple[tuple[str, ...], str, str]] = {}
        for position, row in enumerate(rows):
            answer, extractor = self._extract(row)
            label = invalid(extractor) if answer is None else self._judge_words(row, answer, extractor)
            if label is None and answer is not None:
                undecided[position] = (tuple(map(extraction.extract_reference, row.references)), answer, extractor)
            labels.append(label)
        pairs = list(dict.fromkeys((references, answer) for references, answer, _ in undecided.values()))
        results = dict(zip(pairs, self._verifier.verify(pairs), strict=True))
        for position, (references, answer, extractor) in undecided.items():
            labels[position] = _math_label(results[references, answer], answer, extractor)
        return [label for label in labels if label is not None]

    def _extract(self, row: Row) -> tuple[str | None, str]:
        """Return the answer and the name of the extractor that found it; or None and the reason."""
        text = strip_reasoning(row.candidate)
        if text is None:
            return None, UNFINISHED
        if not text.strip():
            return None, "empty answer"
        expected = choices.expected_choice(row.question, tuple(row.references))
        for name in self.settings.extract:
            if name == "choice":
                answer = choices.extract_choice(text, expected.options) if expected else None
            else:
                answer = _EXTRACTORS[name](text)
            if answer is not None:
                return answer, name
        return None, f"no answer found by {', '.join(self.settings.extract)}"

    def _judge_words(self, row: Row, answer: str, extractor: str) -> Label | None:
        """Return the label of a row that does not need Math-Verify; None for one that does."""
        settings = self.settings
        details: dict[str, Any] = {"reason": extractor, "raw": answer[:_MAX_RAW]}
        expected = choices.expected_choice(row.question, tuple(row.references)) if settings.normalize else None
        if expected:
            # Exact match needs the option and nothing else; the other metrics look for it in the text.
            choice = answer if extractor == "choice" else choices.match_option(answer, expected.options)
            stated = choice or choices.extract_choice(answer, expected.options, extractor in ("final_answer", "boxed"))
            if choice := choice if settings.metric == "exact_match" else stated:
                return decided(float(choice in expected.correct), **details)
        references = [extraction.extract_reference(reference) for reference in row.references]
        if expected and expected.by_letter:
            # Without its option a letter is not a word to compare with.
            references = [reference for reference in references if not choices.name_option(reference, expected.options)]
        if settings.metric == "math_verify":
            if any(_equal_words(reference, answer) for reference in references):
                return decided(1.0, **details)
            return decided(0.0, **details) if all(map(_is_integer, (answer, *references))) else None
        metric = WORD_METRICS[settings.metric]
        reference_words = [self._split(reference, metric.can_stem) for reference in references]
        answer_words = self._split(answer, metric.can_stem)
        score = max((metric.compute(reference, answer_words) for reference in reference_words if reference), default=0.0)
        threshold = 1.0 if metric.is_binary else settings.threshold
        if score < threshold and expected and expected.by_letter and not stated:
            return invalid("no option recognised", answer[:_MAX_RAW])
        return decided(score, threshold, **details)

    def _split(self, text: str, can_stem: bool) -> list[str]:
        words = normalize_words(extraction.strip_markup(text) or text) if self.settings.normalize else text.split()
        return stem_words(words) if self.settings.stem and can_stem else words


def _equal_words(first: str, second: str) -> bool:
    words = normalize_words(extraction.strip_markup(first))
    return bool(words) and words == normalize_words(extraction.strip_markup(second))


def _is_integer(text: str) -> bool:
    return len(text) < 100 and len(words := normalize_words(text)) == 1 and bool(_INTEGER.fullmatch(words[0]))


def _math_label(result: MathResult, answer: str, extractor: str) -> Label:
    if result.equal is None:
        return invalid(result.reason or "undecided", answer[:_MAX_RAW])
    return decided(float(result.equal), reason=result.reason or extractor, raw=answer[:_MAX_RAW])
