"""Warnings about input that is readable but probably not what it seems, from the first rows of a file."""

import re
from collections.abc import Callable, Sequence

from bert_judge.importers.answers import Answer, RecordReader, SkippedRecord
from bert_judge.tables import question_stem
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

# Below, chance explains equal references; above, a reference is longer than an answer usually is.
MIN_ROWS, MIN_SOLUTION_CHARACTERS = 10, 300

# Words on both sides, unlike in |x|.
_SEPARATED = re.compile(r"\w\s*(?:;|\|{1,2})\s*\w")

# Whether a question and its reference are suspicious, how, and what to do.
_CHECKS: tuple[tuple[Callable[[str, str], bool], str, str], ...] = (
    (
        lambda _, text: "####" in text or "\\boxed" in text or len(text) > MIN_SOLUTION_CHARACTERS,
        "look like whole solutions",
        "give the final answers alone if verdicts seem wrong",
    ),
    (
        lambda _, text: bool(re.match(r"\s*[\[{]\s*['\"]", text)) and not isinstance(values.parse_literal(text), str),
        "look like lists written as texts",
        "write several references as a list",
    ),
    (
        lambda question, text: bool(re.fullmatch(r"\d", text)) and question_stem(question) != question,
        "are numbers, and the options of their questions have letters",
        "give the letter or text of the correct option",
    ),
)


def find_suspicious_input(records: Sequence[Record], reader: RecordReader) -> list[str]:
    """Return one line per kind of suspicious input, with the number of rows and an example."""
    answers, several = [], 0
    for record in records:
        try:
            of_record = reader(record)
        except (values.UnreadableCell, SkippedRecord):
            continue
        answers.append(of_record[0])
        several += len(of_record) > 1 and of_record[0].model == of_record[1].model
    lines = [
        f"{len(matching):,} of the first {len(answers):,} references {description}, e.g. {_shorten(matching[0])}; {advice}"
        for is_suspicious, description, advice in _CHECKS
        if (matching := [answer.references[0] for answer in answers if is_suspicious(answer.question, answer.references[0])])
    ]
    if len(answers) >= MIN_ROWS and len(distinct := {answer.references for answer in answers}) == 1:
        lines.append(
            f"the first {len(answers):,} rows all have the reference {_shorten(next(iter(distinct))[0])}; check the column"
        )
    elif len(answers) >= MIN_ROWS and _are_indices(answers):
        example = _shorten(answers[0].references[0])
        lines.append(f"the first {len(answers):,} references look like option indices, e.g. {example}; add a column of choices")
    separated = [
        answer.references[0] for answer in answers if len(answer.references) == 1 and _SEPARATED.search(answer.references[0])
    ]
    if len(separated) > max(1, len(answers) / 2):
        lines.append(
            f"{len(separated):,} of the first {len(answers):,} references look like several separated by ; or |, "
            f"e.g. {_shorten(separated[0])}; write several references as a list"
        )
    if several:
        lines.append(f"{several:,} of the first {len(answers):,} rows have several answers; score judges the first")
    return lines


def _are_indices(answers: Sequence[Answer]) -> bool:
    """Return whether all references are small numbers, of which most answers contain none."""
    numbers = {answer.references[0] for answer in answers}
    with_digit = sum(any(letter.isdigit() for letter in answer.candidate) for answer in answers)
    return numbers <= set("01234") and len(numbers) > 1 and 2 * with_digit < len(answers)


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}…")
