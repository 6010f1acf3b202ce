"""The common form of imported answers, helpers to build them from the records of a file, and warnings about suspicious input."""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.importers import options as option_lists
from bert_judge.importers.column_names import ALIASES, MARK, OPTION, are_marked, reference_separator
from bert_judge.importers.label_columns import GRADE_LETTERS, are_grade_letters
from bert_judge.tables import question_stem
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record

log = logging.getLogger(__name__)

T = TypeVar("T")
# Below, chance explains equal references; above, a reference is longer than an answer usually is.
MIN_ROWS, MIN_SOLUTION_CHARACTERS = 10, 300
# Words on both sides, unlike in |x|.
_SEPARATED = re.compile(r"\w\s*(?:;|\|{1,2})\s*\w")
# As of LongMemEval's questions on preferences.
_RUBRIC = re.compile(r"(?:The|A) (?:user|response|answer|reply) (?:would|should|must|might|may|is expected)\b")


def _is_list_as_text(question: str, reference: str) -> bool:
    return bool(re.match(r"\s*\[\s*['\"]", reference)) and isinstance(values.parse_literal(reference), list)


# Whether a question and its reference are suspicious, how, and what to do; the first is for files of rows only.
_CHECKS: tuple[tuple[Callable[[str, str], bool], str, str], ...] = (
    (_is_list_as_text, "look like lists written as texts", "write several references as a list"),
    (
        lambda _, text: "####" in text or "\\boxed" in text or len(text) > MIN_SOLUTION_CHARACTERS,
        "look like whole solutions",
        "give the final answers alone if verdicts seem wrong",
    ),
    (
        lambda question, text: bool(re.fullmatch(r"\d", text)) and question_stem(question) != question,
        "are numbers, and the options of their questions have letters",
        "give the letter or text of the correct option",
    ),
    (
        lambda _, text: bool(_RUBRIC.match(text)),
        "look like rubrics, which say how an answer should be",
        "leave these rows out, or use an LLM judge",
    ),
)
NO_REFERENCE = "no reference"
# The reason of a mark, behind the answer.
_MARK_REASON = re.compile(r"\n\s*\n(?:Pass|Fail) Reason: .*", re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """A model's answer to a question.

    Attributes:
        candidate: the raw answer, before any filter of the framework.
        model, task: names; empty if the file does not contain them.
        label: verdict of the file, 0 to 1; None if there is none.
        id: of the question in the file; empty if there is none.
        attempt: 0 for the first answer of the record, 1 for the second, …
    """

    question: str
    references: tuple[str, ...]
    candidate: str
    model: str = ""
    task: str = ""
    label: float | None = None
    id: str = ""
    attempt: int = 0


# Returns the answers of a record, at least one. Raises `values.SkippedRecord`, or `UnreadableCell` for an invalid record.
RecordReader = Callable[[Record], Sequence[Answer]]


def make_column_reader(
    columns: Mapping[str, str],
    is_csv: bool = False,
    sample: Sequence[Record] = (),
    *,
    needs_references: bool = True,
    is_conversation: bool = False,
) -> RecordReader:
    """Return a reader for rows with the answers to one question each.

    A question, model, task or label that cannot be read is empty; without references or an answer the row is unreadable.

    Args:
        columns: `references` and `candidate`, and if known the other roles of `column_names.detect_columns` → column of the file.
        is_csv: a cell of references in brackets is a list.
        sample: rows of the file, to tell indices of options from their texts.
        needs_references: a row without references is unreadable.
        is_conversation: a question begins with the turns before it, see `values.parse_conversation`.
    """
    labels = {role.removeprefix(OPTION): column for role, column in columns.items() if role.startswith(OPTION)}
    roles_of_aliases = [role for role in columns if role.startswith(ALIASES)]

    def cells_of(role: str) -> list[Any]:
        return [cell for record in sample if (cell := values.get_cell(record, columns.get(role, ""))) is not None]

    encoded = {role for role in columns if is_csv and _are_json_texts(cells_of(role))}

    def cell_of(record: Record, role: str) -> Any:
        cell = values.get_cell(record, columns[role]) if role in columns else None
        return _optional(_parse_json, cell, cell) if role in encoded else cell

    def options_of(record: Record) -> option_lists.Options | None:
        if labels:
            return option_lists.parse_option_cell({label: record.get(column) for label, column in labels.items()})
        return option_lists.parse_option_cell(cell_of(record, "choices"))

    cells = [cell for cell in cells_of("references") if not (isinstance(cell, str) and not cell.strip())]
    literals = [cell for cell in cells if _is_literal(cell) and _is_decoded(cell)]
    are_literals = len(literals) == len(cells) > 0
    # PopQA's are lists spelled as JSON. Among other texts, a list may also be the answer to a question about code.
    if literals and not is_csv and (are_literals or not any(map(_is_literal, cells_of("candidate")))):
        is_csv = True
        share = "all" if are_literals else f"{len(literals):,} of the first {len(cells):,}"
        log.warning("%s references are lists written as texts, e.g. %.60s; each member is read as a reference", share, literals[0])
    # Exports of traces write both as objects.
    are_literals = are_literals and all(map(_is_literal, cells_of("candidate")))
    # Where answers are objects among others, so are references.
    keeps_objects = not are_literals and any(map(_is_object, cells_of("candidate")))
    has_marks = are_marked(cells_of("candidate"))
    has_grade_letters = are_grade_letters(columns.get("label", ""), cells_of("label"))
    separator = reference_separator(columns.get("references", ""), sample)
    index_base = option_lists.find_index_base([(cell_of(record, "references"), options_of(record)) for record in sample], is_csv)

    def read_answers(record: Record) -> list[Answer]:
        references, question = cell_of(record, "references"), parse_question(cell_of(record, "question"), is_conversation)
        if text := parse_question(cell_of(record, "input")).strip():
            question = f"{question}\n{text}"
        if options := options_of(record):
            question, references = option_lists.apply_options(question, references, options, index_base)
        if separator and isinstance(values.parse_literal(references), str):
            references = references.split(separator)
        candidate, label = cell_of(record, "candidate"), cell_of(record, "label")
        label = GRADE_LETTERS.get(label) if has_grade_letters else _optional(values.parse_label, label, None)
        if has_marks and (mark := MARK.match(str(candidate))):
            candidate = _MARK_REASON.sub("", candidate[mark.end() :])
            label = {"PASS": 1.0, "FAIL": 0.0}.get(mark[1]) if label is None else label
        texts = values.parse_texts(references, is_csv and not (keeps_objects and _is_object(references)))
        for role in roles_of_aliases:
            texts += _optional(lambda cell: values.parse_texts(cell, is_csv=True), cell_of(record, role), [])
        return make_answers(
            texts,
            values.parse_answers(_unwrap(candidate) if are_literals else candidate),
            needs_references=needs_references,
            question=question,
            model=_optional(values.parse_text, cell_of(record, "model"), "").strip(),
            task=_optional(values.parse_text, cell_of(record, "task"), "").strip(),
            label=label,
        )

    return read_answers


def _is_literal(cell: Any) -> bool:
    """Return whether a cell is a list or object written as a text."""
    return isinstance(cell, str) and values.parse_alternatives(cell) != cell


def _is_object(cell: Any) -> bool:
    return isinstance(cell, str) and isinstance(values.parse_literal(cell), Mapping)


def _is_decoded(cell: str) -> bool:
    """Return whether a text in brackets holds references, unlike the call of a tool."""
    return values.parse_texts(cell, is_csv=True) != values.parse_texts(cell)


def _unwrap(cell: Any) -> Any:
    """Return the answer in an object or a list of one member that is written as a text; other texts stay as they are."""
    literal = values.parse_literal(cell)
    is_wrapped = isinstance(literal, Mapping) or (isinstance(literal, list) and len(literal) == 1)
    return _optional(lambda value: values.parse_message(value, values.ASSISTANT), literal, cell) if is_wrapped else cell


def _are_json_texts(cells: Sequence[Any]) -> bool:
    """Return whether all cells are JSON, and some of them texts in quotes, as Langfuse writes them."""
    try:
        return any(isinstance(value, str) for value in map(_parse_json, cells))
    except values.UnreadableCell:
        return False


def _parse_json(cell: Any) -> Any:
    try:
        return json.loads(cell)
    except (TypeError, ValueError, RecursionError) as error:
        raise values.UnreadableCell("is not JSON") from error


def parse_question(value: Any, is_conversation: bool = False) -> str:
    """Return the text of a question, see `values.parse_message`, after the turns before it if it is asked for these; empty if it
    cannot be read, which costs no answer."""
    return _optional(
        values.parse_conversation if is_conversation else lambda cell: values.parse_message(cell, values.USER), value, ""
    )


def _optional(parse: Callable[[Any], T], value: Any, default: T) -> T:
    try:
        return parse(value)
    except values.UnreadableCell:
        return default


def make_answers(references: Any, candidates: Sequence[Any], *, needs_references: bool = True, **common: Any) -> list[Answer]:
    """Return several answers to one question. Raises values.UnreadableCell: no reference, no answer, or one that is not a text."""
    texts = tuple(values.parse_texts(references))
    if needs_references and not texts:
        raise values.UnreadableCell(NO_REFERENCE)
    if not candidates:
        raise values.UnreadableCell("no answer")
    parsed = [values.parse_message(candidate, values.ASSISTANT) for candidate in candidates]
    return [Answer(references=texts, candidate=text, attempt=attempt, **common) for attempt, text in enumerate(parsed)]


def no_reference_error(path: Path) -> values.UnreadableCell:
    """Return the error for a record whose reference is in a second file."""
    return values.UnreadableCell(
        f"no reference; import it with its references: bert-judge import {path.name} --references FILE -o answers.jsonl"
    )


def find_suspicious_input(records: Sequence[Record], reader: RecordReader, *, is_framework: bool = False) -> list[str]:
    """Return one line per kind of suspicious input, with the number of rows and an example.

    The reader of a framework's files has decided by their documents which texts are lists.
    """
    answers, several = [], 0
    for record in records:
        try:
            of_record = reader(record)
        except (values.UnreadableCell, values.SkippedRecord):
            continue
        if of_record[0].references:
            answers.append(of_record[0])
        several += len(of_record) > 1 and of_record[0].model == of_record[1].model
    lines = [
        f"{len(matching):,} of the first {len(answers):,} references {description}, e.g. {_shorten(matching[0])}; {advice}"
        for is_suspicious, description, advice in _CHECKS[is_framework:]
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
