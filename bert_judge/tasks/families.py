"""The four task families: how a dataset row becomes a question with its references.

A family defines the form of a question (options, a text above it) and what is correct; the source names the columns.
"""

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from bert_judge.importers.answer_forms import after_hashes, last_box, number_forms, without_unit
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import shuffled
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import SkippedRecord, require_cell
from bert_judge.tasks.registry import Sample

T = TypeVar("T")
# The spec of a source: `config.TaskSource` as plain values.
Source = Mapping[str, Any]

LETTERS = string.ascii_uppercase
# Values that pad rows with too few options.
PADDING = ("", "N/A")
# 18, -3.5, 1,234.50, .5, 2e10, $18 or 12%.
NUMBER = re.compile(r"[-+]?\s?[$€£]?\s?((\d{1,3}(,\d{3})+|\d+)(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?", re.IGNORECASE)


def make_samples(source: Source, row: Record) -> list[Sample]:
    """Return the questions of a row: one, or one per turn of a dialogue.

    Raises:
        SkippedRecord: no question, no correct answer, or a blank option.
        InputError: a column is missing or does not hold what the source declares.
    """
    return list(_FAMILIES[source["family"]](source, row))


def _parse(parse: Callable[[Any], T], value: Any, content: str) -> T:
    return values.parse_cell(f"the {content}", parse, value)


def _texts(value: Any, content: str) -> list[str]:
    return _parse(values.parse_text_list, value, content)


def _text(value: Any, content: str) -> str:
    """Return a stripped text that is not blank."""
    if not (text := _parse(values.parse_text, value, content).strip()):
        raise SkippedRecord(f"no {content}")
    return text


def _multiple_choice(source: Source, row: Record) -> Iterator[Sample]:
    stem = _question(source, row)
    options, labels = _options(source, row)
    correct = _correct_option(source, row, options, labels)
    while len(options) > correct + 1 and options[-1] in PADDING:
        options = options[:-1]
    if "" in options:
        raise SkippedRecord("a blank option")
    if not 2 <= len(options) <= len(LETTERS):
        raise SkippedRecord(f"{len(options)} options")
    order = list(range(len(options)))
    if source["shuffle"]:
        order = shuffled(order, "options", stem)
    lines = "\n".join(f"({letter}) {options[index]}" for letter, index in zip(LETTERS, order, strict=False))
    references = (LETTERS[order.index(correct)], options[correct])
    yield Sample(f"{stem}\n{lines}", references, "choice", tuple(options[index] for index in order))


def _options(source: Source, row: Record) -> tuple[list[str], list[str]]:
    columns = [require_cell(row, name) for name in source["columns"]["choices"]]
    members = _parse(values.parse_list, columns[0], "list of options") if len(columns) == 1 else columns
    options = [_parse(values.parse_text, option, "option").strip() for option in members]
    if source["columns"]["labels"] is None:
        return options, list(LETTERS[: len(options)])
    labels = _parse(values.parse_list, require_cell(row, source["columns"]["labels"]), "list of labels")
    if len(labels) != len(options):
        raise SkippedRecord(f"{len(options)} options with {len(labels)} labels")
    return options, [_parse(values.parse_text, label, "label").strip() for label in labels]


def _correct_option(source: Source, row: Record, options: Sequence[str], labels: Sequence[str]) -> int:
    answer = require_cell(row, source["columns"]["answer"][0])
    match source["answer_form"]:
        case "flags":
            correct = [index for index, flag in enumerate(_parse(values.parse_list, answer, "list of flags")) if flag]
            if len(correct) != 1 or correct[0] >= len(options):
                raise SkippedRecord(f"{len(correct)} correct options")
            return correct[0]
        case "index":
            index = values.to_float(_text(answer, "correct option"))
            if index == -1:
                raise SkippedRecord("a hidden answer (-1)")
            if index not in range(len(options)):
                raise InputError(f"the correct option is {answer!r}, and the options count from 0 to {len(options) - 1}")
            return int(index)
        case _:
            name = _text(answer, "correct option")
            for names in (labels, options):
                if name in names:
                    return list(names).index(name)
            raise InputError(
                f"the correct option is {name!r:.60}, which is no label and no option; set answer_form or columns.labels"
            )


def _reading(source: Source, row: Record) -> Iterator[Sample]:
    context = _context(source, row)
    question = require_cell(row, source["columns"]["question"][0])
    if isinstance(question, list):
        yield from _dialogue(source, row, context, question)
        return
    references = _references(source, row)
    yield Sample(f"{context}\n\nQuestion: {_question(source, row)}", references, _answer_kind(references, context))


def _dialogue(source: Source, row: Record, context: str, turns: Sequence[Any]) -> Iterator[Sample]:
    annotators = [_parse(values.parse_list, require_cell(row, name), "list of answers") for name in source["columns"]["answer"]]
    history: list[str] = []
    for turn, cell in enumerate(turns):
        question = _text(cell, "question")
        # An annotator who answered fewer questions, or none, has a shorter list.
        answers = [text for turns in annotators if turn < len(turns) for text in _texts(turns[turn], "answer")]
        references = tuple(dict.fromkeys(answers))
        if not references:
            raise SkippedRecord("a turn without an answer")
        conversation = "\n".join(["Conversation so far:", *history]) + "\n\n" if history else ""
        yield Sample(f"{context}\n\n{conversation}Question: {question}", references, _answer_kind(references, context))
        history += [f"Q: {question}", f"A: {references[0]}"]


def _math(source: Source, row: Record) -> Iterator[Sample]:
    references = _references(source, row)
    # The first form of an answer is the plain one.
    yield Sample(_question(source, row), references, "number" if NUMBER.fullmatch(references[0]) else "math")


def _short_answer(source: Source, row: Record) -> Iterator[Sample]:
    context = f"{_context(source, row)}\n\n" if source["columns"]["context"] else ""
    references = _references(source, row)
    yield Sample(f"{context}{_question(source, row)}", references, _answer_kind(references))


_FAMILIES: Mapping[str, Callable[[Source, Record], Iterator[Sample]]] = {
    "multiple_choice": _multiple_choice,
    "reading": _reading,
    "math": _math,
    "short_answer": _short_answer,
}

_ANSWER_FORMS: Mapping[str, Callable[[str], list[str]]] = {
    "after_hashes": after_hashes,
    "boxed": last_box,
    "with_unit": without_unit,
}


def _question(source: Source, row: Record) -> str:
    texts = [text for name in source["columns"]["question"] for text in _texts(require_cell(row, name), "question")]
    return _text(" ".join(texts), "question")


def _context(source: Source, row: Record) -> str:
    """Return the text above the question; members of several columns are joined pairwise: title and paragraph."""
    columns = [require_cell(row, name) for name in source["columns"]["context"]]
    if len(columns) == 1:
        paragraphs = [_paragraph(text) for text in (columns[0] if isinstance(columns[0], list) else columns)]
    else:
        members = [column if isinstance(column, list) else [column] for column in columns]
        if len({len(column) for column in members}) > 1:
            raise SkippedRecord("titles and paragraphs that do not match")
        paragraphs = ["\n".join(filter(None, map(_paragraph, texts))) for texts in zip(*members, strict=True)]
    return _text("\n\n".join(filter(None, paragraphs)), "text to read")


def _paragraph(value: Any) -> str:
    return " ".join(_texts(value, "text to read"))


def _references(source: Source, row: Record) -> tuple[str, ...]:
    references: list[str] = []
    for name in source["columns"]["answer"]:
        value = require_cell(row, name)
        if source["answer_form"] == "drop":
            references += _drop_answers(value)
        elif parse := _ANSWER_FORMS.get(source["answer_form"]):
            references += parse(_text(value, "correct answer"))
        else:
            forms = number_forms if source["family"] == "math" else lambda answer: [answer]
            references += [form for answer in _texts(value, "correct answer") for form in forms(answer)]
    if not references:
        raise SkippedRecord("no correct answer")
    return tuple(dict.fromkeys(references))


def _drop_answers(cell: Any) -> Iterator[str]:
    """Yield the text of each answer of a cell with one or several annotators' answers (DROP); a list of spans is one answer."""
    for answer in _split_answers(cell):
        number, date = require_cell(answer, "number"), require_cell(answer, "date") or {}
        spans = _texts(require_cell(answer, "spans") or [], "list of spans")
        if number not in (None, ""):
            yield from number_forms(_text(number, "number"))
        elif spans:
            yield ", ".join(spans)
        elif date_parts := [date[unit].strip() for unit in ("day", "month", "year") if date.get(unit)]:
            yield " ".join(date_parts)


def _split_answers(cell: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the answers of a list of structures, or of a structure of lists, as older versions of `datasets` store it."""
    if isinstance(cell, list):
        yield from cell
    elif isinstance(number := require_cell(cell or {}, "number") if cell else None, list):
        for index in range(len(number)):
            yield {key: _get_item(cell[key], index) for key in ("number", "date", "spans")}
    elif cell:
        yield cell


def _get_item(column: Any, index: int) -> Any:
    if isinstance(column, Mapping):
        return {key: members[index] for key, members in column.items()}
    return column[index] if column else None


def _answer_kind(references: Sequence[str], context: str = "") -> str:
    """Return `number`, `span` if the context contains every reference, or `text` (yes, no, free words)."""
    if all(NUMBER.fullmatch(reference) for reference in references):
        return "number"
    context = context.casefold()
    return "span" if context and all(reference.casefold() in context for reference in references) else "text"
