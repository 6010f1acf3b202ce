"""Lexical judges: a metric on the words of an extracted answer.

A judge is strict or lenient by its extraction: `final_answer` alone finds nothing where the format was ignored (invalid, not
incorrect), a list that ends in `full_text` always finds something. The best of several references counts. In multiple choice the
letter of the chosen option decides where one is recognised, so that neither "B" against "A bee" nor "b) Paris" against "B" is
misjudged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from bert_judge.judges.lexical import LexicalJudgeConfig
from bert_judge.judges.protocol import Label, Row, decided, empty_answer, invalid, unfinished
from bert_judge.text import choices, extraction
from bert_judge.text.answer_text import read_answer, read_references
from bert_judge.text.extraction import is_same_text, names_another_unit, unwrap
from bert_judge.text.formula_notation import write_ratios
from bert_judge.text.latex import find_boxes
from bert_judge.text.latex_forms import (
    PAIR,
    find_expression,
    has_formulas,
    is_formula,
    remove_asides,
    rewrite_notation,
    states_in_words,
    strip_short_word,
)
from bert_judge.text.math_worker import MathResult, MathVerifier
from bert_judge.text.normalization import drop_percent, join_scales, normalize_words, split_words
from bert_judge.text.options import expected_choice, match_option, name_option, write_letters
from bert_judge.text.rules.code import decide_code
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.members import decide_members, parse_members
from bert_judge.text.rules.number import decide_number, mentions_quantity
from bert_judge.text.rules.structure import decide_structure, is_same_structure
from bert_judge.text.stemming import stem_words
from bert_judge.text.visible_text import UNFINISHED, is_blank_answer
from bert_judge.text.word_metrics import MAX_SHORT_REFERENCE, WORD_METRICS, has_distinctions, stands_alone

_EXTRACTORS: Mapping[str, Callable[[str], str | None]] = {
    "final_answer": extraction.extract_final_answer,
    "boxed": extraction.boxed,
    "last_number": extraction.extract_last_number,
    "full_text": lambda text: text.strip() or None,
}
# The digits of every script.
_INTEGER = re.compile(r"-?(?:\d+|\d{1,3}(?:,\d{3})+)")
_PHRASE = re.compile(r"(?:[Aa] )?[^\W\d_]{2,}(?:[\s,.'’-]+[^\W\d_]+)*[\s.!]*")
# "42 (confidence 80%)", but not "5 (mod 7)".
_REMARK = re.compile(r"(?<=\S)\s+\((?!mod\b|base\b)[a-z]{3,}\s[^()]*\)\Z", re.IGNORECASE)
# The end of a sentence, but not of 0.333...
_FULL_STOP = re.compile(r"(?<!\.)\.\Z")
_IDLE_SPACE = re.compile(r"\s+(?!\w)|(?<!\w)\s+")
# One of two names may have it: a middle initial, or a hyphen (Spider-Man, e-mail, COVID-19, F-16), which is no minus there.
_OPTIONAL = re.compile(
    r"(?<=[^\W\d_]{2}) [A-Z]\.?(?= [A-Z][^\W\d_])"
    r"|(?<=[^\W\d_]{3})-(?=[A-Z]|[a-z]{3}|\d\d)|(?<=[A-Z][a-z])-(?=[A-Z][a-z])|-(?<=\b[ETXetx]-)(?=[a-z]{3})|(?<=\b[A-Z])-(?=\d\d)"
)
# Characters of an extracted answer in a label.
_MAX_RAW = 300
# Characters of a text that Math-Verify reads besides its extracted answer.
_MAX_TAIL = 2_000

_Pair = tuple[tuple[str, ...], str]


class _Reading:
    """What a judge reads in a row; each part is read when the first step needs it."""

    def __init__(self, row: Row, settings: LexicalJudgeConfig) -> None:
        self.row, self.settings = row, settings
        self.expected = expected_choice(row.question, tuple(row.references))
        # If several references name an option, one may be its text, and this text may be the letter of another option.
        is_letter = self.expected is not None and self.expected.by_letter
        self.may_be_identical = settings.is_lenient and not (is_letter and len(row.references) > 1)

    @cached_property
    def visible(self) -> str | None:
        """The answer without reasoning; None if it ends in it."""
        return read_answer(self.row.question, self.row.references, self.row.candidate)

    @cached_property
    def text(self) -> str:
        return extraction.QUOTATION.sub("", self.visible or "")

    @cached_property
    def references(self) -> Sequence[str]:
        return read_references(self.row.references, self.text)

    @cached_property
    def _extracted(self) -> tuple[str | None, str]:
        for name in self.settings.extract:
            if name == "choice":
                expected = self.expected
                answer = choices.extract_choice(write_letters(self.text, expected.labels), expected.options) if expected else None
            else:
                answer = _EXTRACTORS[name](self.text)
            if answer is not None:
                return answer, name
        return None, f"no answer found by {', '.join(self.settings.extract)}"

    @property
    def answer(self) -> str | None:
        return self._extracted[0]

    @property
    def extractor(self) -> str:
        """The name of the extractor that found the answer, or the reason why none did."""
        return self._extracted[1]

    @property
    def details(self) -> dict[str, Any]:
        return {"reason": self.extractor, "raw": (self.answer or "")[:_MAX_RAW]}

    @cached_property
    def lettered(self) -> str:
        """The extracted answer with the labels of its options as letters."""
        return write_letters(self.answer or "", self.expected.labels) if self.expected else ""

    @cached_property
    def choice(self) -> str | None:
        """The option that the extracted answer is."""
        if not self.expected:
            return None
        return self.answer if self.extractor == "choice" else match_option(self.lettered, self.expected.options)

    @cached_property
    def stated_choice(self) -> str | None:
        """The option that the extracted answer states somewhere."""
        if not self.expected or not self.settings.normalize:
            return None
        is_marked = self.extractor in ("final_answer", "boxed")
        return self.choice or choices.extract_choice(self.lettered, self.expected.options, is_marked)


class LexicalJudge:
    """Judges by a metric on words; `settings` are the fields of `LexicalJudgeConfig`."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = LexicalJudgeConfig.model_validate({"kind": "lexical", **settings})
        self.revisions: dict[str, str] = {}
        self._verifier = MathVerifier()

    def __enter__(self) -> LexicalJudge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process of Math-Verify, if there is one."""
        self._verifier.close()

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """Return one label per row, in order. `raw` is the extracted answer, `reason` the extraction or the error."""
        labels = [self._judge_row(row) for row in rows]
        results = self._verify([label.pair for label in labels if isinstance(label, _Undecided)])
        # Math-Verify joins boxes and formulas in its own way, so it reads the end of the text too.
        rest = [label.tail for label in labels if isinstance(label, _Undecided) and label.tail and not results[label.pair].equal]
        tails = self._verify(rest)
        return [_math_label(results, tails, label) if isinstance(label, _Undecided) else label for label in labels]

    def _verify(self, pairs: Sequence[_Pair]) -> dict[_Pair, MathResult]:
        different = list(dict.fromkeys(pairs))
        return dict(zip(different, self._verifier.verify(different), strict=True))

    def _judge_row(self, row: Row) -> Label | _Undecided:
        reading = _Reading(row, self.settings)
        return next(label for step in self._steps if (label := step(self, reading)) is not None)

    def _accept_identical_row(self, reading: _Reading) -> Label | None:
        """Accept "(Paris)" for the reference "(Paris)", before the text is read in any way."""
        row = reading.row
        if reading.may_be_identical and row.candidate.split() in [reference.split() for reference in row.references]:
            return decided(1.0, reason="identical", raw=row.candidate[:_MAX_RAW])
        return None

    def _reject_unfinished(self, reading: _Reading) -> Label | None:
        """Leave "<think>It is" undecided: nothing has been answered yet."""
        return invalid(UNFINISHED, is_attempted=False) if reading.visible is None else None

    def _accept_identical_text(self, reading: _Reading) -> Label | None:
        """Accept "<think>Hm.</think>Paris." for "Paris"."""
        if reading.may_be_identical and any(
            is_same_text(reference, reading.text) for reference in (*reading.row.references, *reading.references)
        ):
            return decided(1.0, reason="identical", raw=reading.text[:_MAX_RAW])
        return None

    def _reject_blank(self, reading: _Reading) -> Label | None:
        """Call "-" no answer; a reference "-" has been accepted by now."""
        return empty_answer() if is_blank_answer(reading.text, reading.references) else None

    def _judge_content(self, reading: _Reading) -> Label | None:
        """Compare {"a": 1} and lists of names in the whole text, as an extraction would cut them."""
        if not (self.settings.normalize and self.settings.is_lenient):
            return None
        decision = self._decide_by_content(reading.row.question, reading.references, reading.text)
        if decision is None:
            return None
        return decided(
            float(bool(decision.correct)), reason=decision.reason, raw=reading.text[:_MAX_RAW], decided_by=decision.module
        )

    def _reject_missing_answer(self, reading: _Reading) -> Label | None:
        """Leave "Let me see." undecided where a format is required; the steps behind this one compare what was extracted."""
        return None if reading.answer is not None else invalid(reading.extractor)

    def _judge_choice(self, reading: _Reading) -> Label | None:
        """Compare the options of "b) Paris" and "B", before their words."""
        if not reading.expected or not self.settings.normalize:
            return None
        # Exact match needs the option and nothing else; the other metrics look for it in the text.
        if choice := reading.choice if self.settings.metric == "exact_match" else reading.stated_choice:
            return decided(float(choice in reading.expected.correct), **reading.details)
        if not reading.stated_choice and choices.find_repeated_options(reading.lettered, reading.expected.options):
            return invalid("no option chosen of all that are repeated", reading.details["raw"])
        return None

    def _compare(self, reading: _Reading) -> Label | _Undecided:
        """Compare formulas or words: the last step, which always has a result."""
        is_letter = bool(reading.expected and reading.expected.by_letter and self.settings.normalize)
        references, answer = reading.references, reading.answer or ""
        if reading.expected and is_letter:
            # Without its option a letter is not a word to compare with.
            references = [reference for reference in references if not name_option(reference, reading.expected.options)]
        if self.settings.metric == "math_verify":
            return self._compare_mathematics(reading.row, references, reading.text, answer, reading.extractor)
        score, threshold = self._compare_words(references, answer)
        if score < threshold and is_letter and not reading.stated_choice:
            return invalid("no option recognised", reading.details["raw"])
        return decided(score, threshold, **reading.details)

    # The first step with a result decides. The whole answer comes first: a reference repeated word for word is correct, whatever it
    # looks like; then what any extraction would have to see; then the extracted answer.
    _steps: tuple[Callable[[LexicalJudge, _Reading], Label | _Undecided | None], ...] = (
        _accept_identical_row,
        _reject_unfinished,
        _accept_identical_text,
        _reject_blank,
        _judge_content,
        _reject_missing_answer,
        _judge_choice,
        _compare,
    )

    def _decide_by_content(self, question: str, references: Sequence[str], text: str) -> Decision | None:
        """Compare objects, calls of tools and lists by their content; exact match wants nothing else in the answer."""
        if self.settings.metric == "exact_match":
            if any(is_same_structure(reference, text) for reference in references):
                return Decision(True, "json", "same content")
        elif self.settings.metric == "contains":
            structure = decide_structure(question, references, text)
            if structure and structure.correct:
                return structure
        else:
            return None
        is_exact = self.settings.metric == "exact_match"
        codes = [decide_code(question, reference, text, is_whole=is_exact) for reference in references]
        if any(codes):
            return next((decision for decision in codes if decision and decision.correct), codes[0] if all(codes) else None)
        decisions = [decide_members(question, reference, text) for reference in references]
        if correct := next((decision for decision in decisions if decision and decision.correct), None):
            return correct if is_exact or parse_members(text) else None
        return decisions[0] if decisions and all(decisions) else None

    def _compare_words(self, references: Sequence[str], answer: str) -> tuple[float, float]:
        """Return the score of the reference that matches best, and the threshold."""
        metric = WORD_METRICS[self.settings.metric]
        answer_words = self._split(answer)
        answer_terms = answer_words if metric.is_binary else self._select_terms(answer_words)
        score = 0.0
        bare = extraction.strip_wrappers(answer) if self.settings.metric == "exact_match" else answer
        bare_words = self._split(bare) if bare != answer else []
        for reference in references:
            words = self._split(reference)
            if not words or score == 1:
                continue
            similarity = 0.0
            if metric.is_binary:
                similarity = metric.compute(words, answer_words) or metric.compute(join_scales(words), join_scales(answer_words))
                if not similarity and (shorter := _OPTIONAL.sub("", reference)) != reference:
                    similarity = metric.compute(self._split(shorter), answer_words)
                if not similarity and len(answer) <= _MAX_RAW and (shorter := _OPTIONAL.sub("", answer)) != answer:
                    similarity = metric.compute(words, self._split(shorter))
                if not similarity and bare_words:
                    similarity = metric.compute(words, bare_words)
            elif has_distinctions(words, answer_words):
                similarity = metric.compute(self._select_terms(words), answer_terms)
            if metric.is_binary and self.settings.normalize:
                is_exact = self.settings.metric == "exact_match"
                mention = mentions_quantity(reference, answer, is_whole=is_exact)
                similarity = similarity if mention is None else float(mention)
                if similarity and not (is_exact or mention or stands_alone(reference, answer)):
                    similarity = 0.0
            is_name = metric.is_binary or len(words) <= MAX_SHORT_REFERENCE
            if similarity > score and not (is_name and names_another_unit(reference, answer)):
                score = similarity
        return score, 1.0 if metric.is_binary else self.settings.threshold

    def _split(self, text: str) -> list[str]:
        """Return the words of a text, without percent signs and words: as in SQuAD and Math-Verify, 5% is 5."""
        if not self.settings.normalize:
            return split_words(text)
        return drop_percent(normalize_words((extraction.strip_markup(text) or text) if "\\" in text else unwrap(text)))

    def _select_terms(self, words: list[str]) -> list[str]:
        """Return the stems of the words; as in ROUGE, symbols alone are not words."""
        if self.settings.normalize:
            words = [word for word in words if len(word) > 1 or word.isalnum()] or words
        return stem_words(words) if self.settings.stem else words

    def _compare_mathematics(
        self, row: Row, references: Sequence[str], text: str, answer: str, extractor: str
    ) -> Label | _Undecided:
        """Return the label where identity, quantities or integers decide; otherwise Math-Verify does."""
        references = [write_ratios(row.question, reference) for reference in references]
        text, answer = (write_ratios(row.question, part) for part in (text, answer))
        if len(references) > 1 and _lists_all(references, extraction.extract_final_answer(text) or text):
            return decided(1.0, reason=extractor, raw=text[:_MAX_RAW])
        if extractor in ("last_number", "full_text"):
            # Without a marker: the text itself if it is a formula, else its last list or formula, and only then its last number.
            if extractor == "last_number":
                answer = extraction.extract_last_number(remove_asides(text)) or text
            answer = _FULL_STOP.sub("", text.strip()) if is_formula(unwrap(text)) else find_expression(text, references) or answer
        elif extractor == "boxed" and "final_answer" in self.settings.extract:
            # A box of an intermediate result, and an answer stated after it.
            later = extraction.extract_final_answer(text[find_boxes(text)[-1].end :])
            if later and is_formula(later) and re.search(r"\d", later):
                answer, extractor = later, "final_answer"
        stated = answer if extractor in ("final_answer", "boxed") else text
        # `references` has the last of several boxes, as in "\boxed{1} papers and \boxed{2} bins"; and 2,3 may be two numbers.
        is_list = any(len(find_boxes(reference)) > 1 or PAIR.fullmatch(reference) for reference in row.references)
        decisions = [
            decide_code(row.question, reference, stated) or decide_number(row.question, reference, stated)
            for reference in (() if is_list else references)
        ]
        if decisions and (any(decision and decision.correct for decision in decisions) or all(decisions)):
            is_correct = any(decision and decision.correct for decision in decisions)
            return decided(float(is_correct), reason=extractor, raw=stated[:_MAX_RAW])
        answer = strip_short_word(_REMARK.sub("", answer))
        details: dict[str, Any] = {"reason": extractor, "raw": answer[:_MAX_RAW]}
        if any(_is_same_formula(reference, answer) or _are_equal_phrases(reference, answer) for reference in references):
            return decided(1.0, **details)
        if any(states_in_words(reference, stated) for reference in references):
            return decided(1.0, **details)
        if references and all(names_another_unit(reference, answer if len(text) > _MAX_RAW else text) for reference in references):
            return decided(0.0, **details)
        if references and all(map(_is_prose, (answer, *references))):
            # Math-Verify would find no expression in the answer.
            return decided(0.0, **details)
        numbers = [_integer(value) for value in (answer, *references)]
        if None not in numbers:
            return decided(float(numbers[0] in numbers[1:]), **details)
        tail = (tuple(row.references), text[-_MAX_TAIL:]) if self.settings.is_lenient and has_formulas(text[-_MAX_TAIL:]) else None
        return _Undecided((tuple(references), answer), tail, extractor)


class _Undecided(NamedTuple):
    """A row for Math-Verify: references and extracted answer, and references and end of the text if it has formulas."""

    pair: _Pair
    tail: _Pair | None
    extractor: str


def _lists_all(references: Sequence[str], answer: str) -> bool:
    """Return whether the numbers of an answer are those of all references, of which one would do: "2019 and 2018"."""
    numbers = [extraction.extract_numbers(reference) for reference in references]
    if len(answer) > _MAX_RAW or any(len(of_reference) != 1 for of_reference in numbers):
        return False
    return sorted(extraction.extract_numbers(answer)) == sorted(of_reference[0] for of_reference in numbers)


def _is_same_formula(reference: str, answer: str) -> bool:
    """Return whether two texts are identical up to spaces between symbols: 1, 2 is the list 1,2, which alone may be a decimal."""
    first, second = (_IDLE_SPACE.sub("", " ".join(rewrite_notation(text).split())) for text in (reference, answer))
    return is_same_text(first, second) and not names_another_unit(reference, answer)


def _are_equal_phrases(reference: str, answer: str) -> bool:
    """Return whether two texts of letters alone have the same words: yes and Yes, but not x and X."""
    first, second = extraction.strip_markup(reference), extraction.strip_markup(answer)
    return bool(_PHRASE.fullmatch(first) and _PHRASE.fullmatch(second)) and normalize_words(first) == normalize_words(second)


def _is_prose(text: str) -> bool:
    """Return whether a text is of words only, and no formula: Tuesday, but not xy."""
    return bool(_PHRASE.fullmatch(extraction.strip_markup(text))) and not is_formula(extraction.strip_markup(text))


def _integer(text: str) -> int | None:
    text = unwrap(text).replace("−", "-")
    return int(text.replace(",", "")) if len(text) < 100 and _INTEGER.fullmatch(text) else None


def _math_label(results: Mapping[_Pair, MathResult], tails: Mapping[_Pair, MathResult], row: _Undecided) -> Label:
    result, raw = results[row.pair], row.pair[1][:_MAX_RAW]
    tail = tails.get(row.tail) if row.tail else None
    if tail and (tail.equal or not tail.is_finished):
        result = tail
    if not result.is_finished:
        return unfinished(result.reason or "", raw)
    if result.equal is None:
        return invalid(result.reason or "undecided", raw)
    return decided(float(result.equal), reason=result.reason or row.extractor, raw=raw)
