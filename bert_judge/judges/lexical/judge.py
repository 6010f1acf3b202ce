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
from bert_judge.judges.lexical.equality import MAX_RAW, compare_plain, describe_equality, lists_all
from bert_judge.judges.protocol import Label, Row, decided, empty_answer, invalid, unfinished
from bert_judge.text import choices, extraction
from bert_judge.text.answer_text import read_answer, read_references
from bert_judge.text.evidence import compare_words, format_share, quote
from bert_judge.text.extraction import is_same_text, names_another_unit, unwrap
from bert_judge.text.formula_notation import PAIR, write_numbers
from bert_judge.text.latex import find_boxes
from bert_judge.text.latex_forms import (
    find_expression,
    has_formulas,
    is_formula,
    remove_asides,
    strip_short_word,
)
from bert_judge.text.math_worker import MathResult, MathVerifier
from bert_judge.text.normalization import drop_percent, join_scales, normalize_words, split_words
from bert_judge.text.options import match_option, name_option, write_letters
from bert_judge.text.reading import Task, Text, read_task
from bert_judge.text.rules.code import decide_code
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.members import decide_members, parse_members
from bert_judge.text.rules.number import decide_number, mentions_quantity
from bert_judge.text.rules.structure import compare_structures, is_same_structure
from bert_judge.text.stemming import rouge_stems, rouge_tokenizer
from bert_judge.text.visible_text import UNFINISHED, is_blank_answer
from bert_judge.text.word_metrics import MAX_SHORT_REFERENCE, WORD_METRICS, contains, has_distinctions, stands_alone

_EXTRACTORS: Mapping[str, Callable[[str], str | None]] = {
    "final_answer": extraction.extract_final_answer,
    "boxed": extraction.boxed,
    "last_number": extraction.extract_last_number,
    "full_text": lambda text: text.strip() or None,
}
# "42 (confidence 80%)", but not "5 (mod 7)".
_REMARK = re.compile(r"(?<=\S)\s+\((?!mod\b|base\b)[a-z]{3,}\s[^()]*\)\Z", re.IGNORECASE)
# The end of a sentence, but not of 0.333...
_NUMBER = re.compile(r"[-−+]?\d[\d.,]*")
_FULL_STOP = re.compile(r"(?<!\.)\.\Z")
# One of two names may have it: a middle initial, or a hyphen (Spider-Man, e-mail, COVID-19, F-16), which is no minus there.
_OPTIONAL = re.compile(
    r"(?<=[^\W\d_]{2}) [A-Z]\.?(?= [A-Z][^\W\d_])"
    r"|(?<=[^\W\d_]{3})-(?=[A-Z]|[a-z]{3}|\d\d)|(?<=[A-Z][a-z])-(?=[A-Z][a-z])|-(?<=\b[ETXetx]-)(?=[a-z]{3})|(?<=\b[A-Z])-(?=\d\d)"
)
IDENTICAL = "identical to a reference"
# Characters of a text that Math-Verify reads besides its extracted answer.
_MAX_TAIL = 2_000

_Pair = tuple[tuple[str, ...], str]


class _Reading:
    """What a judge reads in a row; each part is read when the first step needs it."""

    def __init__(self, row: Row, settings: LexicalJudgeConfig) -> None:
        self.row, self.settings = row, settings
        self.task = read_task(row.question, tuple(row.references))
        self.expected = self.task.choice
        # If several references name an option, one may be its text, and this text may be the letter of another option.
        is_letter = self.expected is not None and self.expected.by_letter
        self.may_be_identical = settings.is_lenient and not (is_letter and len(row.references) > 1)

    @cached_property
    def visible(self) -> str | None:
        """The answer without reasoning; None if it ends in it."""
        return read_answer(self.task.question, self.task.references, self.row.candidate)

    @cached_property
    def text(self) -> Text:
        return Text(extraction.QUOTATION.sub("", self.visible or ""))

    @cached_property
    def references(self) -> Sequence[str]:
        return read_references(self.task.references, self.text)

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
        return {"raw": (self.answer or "")[:MAX_RAW]}

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
        if self.settings.stem and self.settings.metric in ("token_f1", "rouge_l_recall", "rouge_l_f"):
            # A missing package is reported before any row is read.
            rouge_tokenizer()

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
            return decided(1.0, reason=IDENTICAL, raw=row.candidate[:MAX_RAW])
        return None

    def _reject_unfinished(self, reading: _Reading) -> Label | None:
        """Leave "<think>It is" undecided: nothing has been answered yet."""
        return invalid(UNFINISHED, is_attempted=False) if reading.visible is None else None

    def _accept_identical_text(self, reading: _Reading) -> Label | None:
        """Accept "<think>Hm.</think>Paris." for "Paris"."""
        if reading.may_be_identical and any(
            is_same_text(reference, reading.text) for reference in (*reading.row.references, *reading.references)
        ):
            return decided(1.0, reason=IDENTICAL, raw=reading.text[:MAX_RAW])
        return None

    def _reject_blank(self, reading: _Reading) -> Label | None:
        """Call "-" no answer; a reference "-" has been accepted by now."""
        return empty_answer() if is_blank_answer(reading.text, reading.references) else None

    def _judge_content(self, reading: _Reading) -> Label | None:
        """Compare {"a": 1} and lists of names in the whole text, as an extraction would cut them."""
        if not (self.settings.normalize and self.settings.is_lenient):
            return None
        decision = self._decide_by_content(reading.task, reading.references, reading.text)
        if decision is None:
            return None
        return decided(
            float(bool(decision.correct)),
            reason=f"{decision.module}: {decision.reason}",
            raw=reading.text[:MAX_RAW],
            decided_by=decision.module,
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
            reason = f"chooses {choice}; the reference is {' or '.join(sorted(reading.expected.correct))}"
            return decided(float(choice in reading.expected.correct), reason=reason, **reading.details)
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
            return self._compare_mathematics(reading.task, references, reading.text, answer, reading.extractor)
        match = self._compare_words(references, answer)
        if match.score < match.threshold and is_letter and not reading.stated_choice:
            return invalid("no option recognised", reading.details["raw"])
        reason = self._describe_match(match, answer, reading.extractor)
        return decided(match.score, match.threshold, reason=reason, **reading.details)

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

    def _decide_by_content(self, task: Task, references: Sequence[str], text: str) -> Decision | None:
        """Compare objects, calls of tools and lists by their content; exact match wants nothing else in the answer."""
        if self.settings.metric == "exact_match":
            if any(is_same_structure(reference, text) for reference in references):
                return Decision(True, "json", "same content")
        elif self.settings.metric == "contains":
            structure = compare_structures(references, text)
            if structure and structure.correct:
                return structure
        else:
            return None
        is_exact = self.settings.metric == "exact_match"
        codes = [decide_code(task, reference, text, is_whole=is_exact) for reference in references]
        if any(codes):
            return next((decision for decision in codes if decision and decision.correct), codes[0] if all(codes) else None)
        decisions = [decide_members(task, reference, text) for reference in references]
        if correct := next((decision for decision in decisions if decision and decision.correct), None):
            return correct if is_exact or parse_members(text) else None
        return decisions[0] if decisions and all(decisions) else None

    def _compare_words(self, references: Sequence[str], answer: str) -> _WordMatch:
        """Return the score of the reference that matches best, and what a reason is made of."""
        metric = WORD_METRICS[self.settings.metric]
        answer_words = self._split(answer)
        answer_terms = answer_words if metric.is_binary else self._stem(self._select_words(answer_words))
        score, closest = 0.0, next(iter(references), "")
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
                if not similarity and len(answer) <= MAX_RAW and (shorter := _OPTIONAL.sub("", answer)) != answer:
                    similarity = metric.compute(words, self._split(shorter))
                if not similarity and bare_words:
                    similarity = metric.compute(words, bare_words)
            elif has_distinctions(words, answer_words):
                similarity = metric.compute(self._stem(self._select_words(words)), answer_terms)
            if metric.is_binary and self.settings.normalize:
                is_exact = self.settings.metric == "exact_match"
                mention = mentions_quantity(reference, answer, is_whole=is_exact)
                similarity = similarity if mention is None else float(mention)
                if similarity and not (is_exact or mention or stands_alone(reference, answer)):
                    similarity = 0.0
            is_name = metric.is_binary or len(words) <= MAX_SHORT_REFERENCE
            if similarity > score and not (is_name and names_another_unit(reference, answer)):
                score, closest = similarity, reference
        return _WordMatch(score, 1.0 if metric.is_binary else self.settings.threshold, closest, answer_terms)

    def _describe_match(self, match: _WordMatch, answer: str, extractor: str) -> str:
        """Say what the metric compared: `contains: found "Paris"`, `token_f1 .316 ≥ .3: has april, 15; lacks 1912 of …`."""
        metric, is_match, reference = self.settings.metric, match.score >= match.threshold, match.reference
        if metric == "exact_match":
            return f"{metric}: {describe_equality(answer, [reference], extractor, is_equal=is_match)}"
        location = "" if extractor == "full_text" else f" in the {extractor.replace('_', ' ')} {quote(answer)}"
        words = self._split(reference)
        if metric == "contains":
            is_within = not is_match and words and contains(words, match.answer_terms)
            verb = "found" if is_match else "found within another number, unit or word:" if is_within else "did not find"
            return f"{metric}: {verb} {quote(reference)}{location}"
        words, terms = self._select_words(words), set(match.answer_terms)
        present = [word for word, stem in zip(words, self._stem(words), strict=True) if stem in terms]
        # Words in common do not count then.
        distinction = "another number, formula, negation or unit; " if present and not match.score else ""
        comparison = f"{format_share(match.score)} {'≥' if is_match else '<'} {format_share(match.threshold)}"
        size = location or f"; words of the answer: {len(match.answer_terms)}"
        return f"{metric} {comparison}: {distinction}{compare_words(words, present)} of {quote(reference)}{size}"

    def _split(self, text: str) -> list[str]:
        """Return the words of a text, without percent signs and words: as in SQuAD and Math-Verify, 5% is 5."""
        if not self.settings.normalize:
            return split_words(text)
        return drop_percent(normalize_words((extraction.strip_markup(text) or text) if "\\" in text else unwrap(text)))

    def _select_words(self, words: list[str]) -> list[str]:
        """Leave out symbols, which alone are not words, as in ROUGE."""
        return ([word for word in words if len(word) > 1 or word.isalnum()] or words) if self.settings.normalize else words

    def _stem(self, words: list[str]) -> list[str]:
        return rouge_stems(words) if self.settings.stem else words

    def _compare_mathematics(
        self, task: Task, references: Sequence[str], text: str, answer: str, extractor: str
    ) -> Label | _Undecided:
        """Return the label where identity, quantities or integers decide; otherwise Math-Verify does."""
        references = [write_numbers(task.question, reference) for reference in references]
        text, answer = (write_numbers(task.question, side) for side in (text, answer))
        if len(references) > 1 and lists_all(references, extraction.extract_final_answer(text) or text):
            return decided(1.0, reason="math_verify: the answers of all references", raw=text[:MAX_RAW])
        if extractor in ("last_number", "full_text"):
            # Without a marker: the text itself if it is a formula, else its last list or formula, and only then its last number.
            if is_formula(unwrap(text)):
                answer, extractor = _FULL_STOP.sub("", text.strip()), "full_text"
            elif expression := find_expression(text, references):
                answer, extractor = expression, "last_number" if _NUMBER.fullmatch(expression) else "last_formula"
            elif extractor == "last_number":
                number = extraction.extract_last_number(remove_asides(text))
                answer, extractor = (number, extractor) if number else (text, "full_text")
        elif extractor == "boxed" and "final_answer" in self.settings.extract:
            # A box of an intermediate result, and an answer stated after it.
            later = extraction.extract_final_answer(text[find_boxes(text)[-1].end :])
            if later and is_formula(later) and re.search(r"\d", later):
                answer, extractor = later, "final_answer"
        stated = answer if extractor in ("final_answer", "boxed") else text
        # `references` has the last of several boxes, as in "\boxed{1} papers and \boxed{2} bins"; and 2,3 may be two numbers.
        is_list = any(len(find_boxes(reference)) > 1 or PAIR.fullmatch(reference) for reference in task.references)
        decisions = [
            decide_code(task, reference, stated) or decide_number(task, reference, stated)
            for reference in (() if is_list else references)
        ]
        if decisions and (any(decision and decision.correct for decision in decisions) or all(decisions)):
            decision = next((decision for decision in decisions if decision and decision.correct), decisions[0])
            assert decision is not None
            reason = f"{decision.module}: {decision.reason}"
            return decided(float(bool(decision.correct)), reason=reason, raw=stated[:MAX_RAW])
        answer = strip_short_word(_REMARK.sub("", answer))
        is_equal = compare_plain(references, answer, stated, answer if len(text) > MAX_RAW else text)
        if is_equal is not None:
            reason = f"math_verify: {describe_equality(answer, references, extractor, is_equal=is_equal)}"
            return decided(float(is_equal), reason=reason, raw=answer[:MAX_RAW])
        tail = (task.references, text[-_MAX_TAIL:]) if self.settings.is_lenient and has_formulas(text[-_MAX_TAIL:]) else None
        return _Undecided((tuple(references), answer), tail, extractor)


class _WordMatch(NamedTuple):
    """Score and threshold of the reference that matches best; that reference, the first if none matches; terms of the answer."""

    score: float
    threshold: float
    reference: str
    answer_terms: list[str]


class _Undecided(NamedTuple):
    """A row for Math-Verify: references and extracted answer, and references and end of the text if it has formulas."""

    pair: _Pair
    tail: _Pair | None
    extractor: str


def _math_label(results: Mapping[_Pair, MathResult], tails: Mapping[_Pair, MathResult], row: _Undecided) -> Label:
    result, raw = results[row.pair], row.pair[1][:MAX_RAW]
    tail = tails.get(row.tail) if row.tail else None
    if tail and (tail.equal or not tail.is_finished):
        result = tail
    if not result.is_finished:
        return unfinished(result.reason or "", raw)
    if result.equal is None:
        return invalid(result.reason or "undecided", raw)
    equality = describe_equality(row.pair[1], row.pair[0], row.extractor, is_equal=result.equal)
    if result is tail:
        equality = f"a formula of the text = {' or '.join(map(quote, row.pair[0]))}"
    if result.equal:
        equality += ", by Math-Verify"
    return decided(float(result.equal), reason="; ".join(filter(None, [f"math_verify: {equality}", result.reason])), raw=raw)
