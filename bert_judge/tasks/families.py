"""The four families: how a row of a data set becomes a question with its references.

A family knows what a question looks like (options, a text above it) and what is right; the source says in which columns it all
stands. A row that no question can be made of raises `Unusable`; a mapping that does not fit the data set, `InputError`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import shuffled
from bert_judge.tables.readers.values import to_float
from bert_judge.tasks import cells, gold
from bert_judge.tasks.cells import Row, Unusable
from bert_judge.tasks.registry import Sample

# A source's spec: `config.TaskSource` as plain values.
Source = Mapping[str, Any]

LETTERS = string.ascii_uppercase
# What fills up rows with too few options.
PADDING = ("", "N/A")
# 18, -3.5, 1,234.50, .5, 2e10, $18 or 12%.
NUMBER = re.compile(r"[-+]?\s?[$€£]?\s?((\d{1,3}(,\d{3})+|\d+)(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?", re.IGNORECASE)


def samples(source: Source, row: Row) -> list[Sample]:
    """The questions of a row: one, or one per turn of a dialogue.

    Raises:
        Unusable: the row has no question, no right answer, or a blank option.
        InputError: a column is missing or holds something else than the source says.
    """
    return list(_FAMILIES[source["family"]](source, row))


def _multiple_choice(source: Source, row: Row) -> Iterator[Sample]:
    stem = _question(source, row)
    options, labels = _options(source, row)
    right = _right_option(source, row, options, labels)
    while len(options) > right + 1 and options[-1] in PADDING:
        options = options[:-1]
    if "" in options:
        raise Unusable("a blank option")
    if not 2 <= len(options) <= len(LETTERS):
        raise Unusable(f"{len(options)} options")
    order = list(range(len(options)))
    if source["shuffle"]:
        order = shuffled(order, "options", stem)
    lines = "\n".join(f"({letter}) {options[at]}" for letter, at in zip(LETTERS, order, strict=False))
    references = (LETTERS[order.index(right)], options[right])
    yield Sample(f"{stem}\n{lines}", references, "choice", tuple(options[at] for at in order))


def _options(source: Source, row: Row) -> tuple[list[str], list[str]]:
    """The options' texts and labels, in the data set's order."""
    names = source["columns"]["choices"]
    given = [cells.cell(row, name) for name in names]
    listed = cells.whole_list(given[0], "list of options") if len(names) == 1 else given
    options = [cells.maybe_text(option, "option") for option in listed]
    if source["columns"]["labels"] is None:
        return options, list(LETTERS[: len(options)])
    labels = cells.whole_list(cells.cell(row, source["columns"]["labels"]), "list of labels")
    if len(labels) != len(options):
        raise Unusable(f"{len(options)} options with {len(labels)} labels")
    return options, [cells.maybe_text(label, "label") for label in labels]


def _right_option(source: Source, row: Row, options: Sequence[str], labels: Sequence[str]) -> int:
    """The place of the right option, from 0."""
    answer = cells.cell(row, source["columns"]["answer"][0])
    match source["answer_form"]:
        case "flags":
            right = [at for at, flag in enumerate(cells.whole_list(answer, "list of flags")) if flag]
            if len(right) != 1 or right[0] >= len(options):
                raise Unusable(f"{len(right)} right options")
            return right[0]
        case "index":
            place = to_float(cells.text(answer, "right option"))
            if place == -1:
                raise Unusable("a hidden answer (-1)")
            if place not in range(len(options)):
                raise InputError(f"the right option is {answer!r}, and the options count from 0 to {len(options) - 1}")
            return int(place)
        case _:
            said = cells.text(answer, "right option")
            for known in (labels, options):
                if said in known:
                    return list(known).index(said)
            raise InputError(
                f"the right option is {said!r:.60}, which is no label and no option; set answer_form or columns.labels"
            )


def _reading(source: Source, row: Row) -> Iterator[Sample]:
    context = _context(source, row)
    question = cells.cell(row, source["columns"]["question"][0])
    if isinstance(question, list):
        yield from _dialogue(source, row, context, question)
        return
    references = _references(source, row)
    yield Sample(f"{context}\n\nQuestion: {_question(source, row)}", references, _kind(references, context))


def _dialogue(source: Source, row: Row, context: str, questions: Sequence[Any]) -> Iterator[Sample]:
    """One sample per turn: the text, what was asked and answered before, and the question."""
    answers = [cells.whole_list(cells.cell(row, name), "list of answers") for name in source["columns"]["answer"]]
    said: list[str] = []
    for turn, asked in enumerate(questions):
        question = cells.text(asked, "question")
        # A person who answered fewer questions, or none, has a shorter list.
        given = [answer for people in answers if turn < len(people) for answer in cells.texts(people[turn], "answer")]
        references = tuple(dict.fromkeys(given))
        if not references:
            raise Unusable("a turn without an answer")
        before = "\n".join(["Conversation so far:", *said]) + "\n\n" if said else ""
        yield Sample(f"{context}\n\n{before}Question: {question}", references, _kind(references, context))
        said += [f"Q: {question}", f"A: {references[0]}"]


def _math(source: Source, row: Row) -> Iterator[Sample]:
    references = _references(source, row)
    # The first form of an answer is the plain one.
    yield Sample(_question(source, row), references, "number" if NUMBER.fullmatch(references[0]) else "math")


def _short_answer(source: Source, row: Row) -> Iterator[Sample]:
    context = f"{_context(source, row)}\n\n" if source["columns"]["context"] else ""
    references = _references(source, row)
    yield Sample(f"{context}{_question(source, row)}", references, _kind(references))


_FAMILIES: Mapping[str, Callable[[Source, Row], Iterator[Sample]]] = {
    "multiple_choice": _multiple_choice,
    "reading": _reading,
    "math": _math,
    "short_answer": _short_answer,
}

_GOLD: Mapping[str, Callable[[str], list[str]]] = {
    "after_hashes": gold.after_hashes,
    "boxed": gold.last_box,
    "with_unit": gold.without_unit,
}


def _question(source: Source, row: Row) -> str:
    parts = [part for name in source["columns"]["question"] for part in cells.texts(cells.cell(row, name), "question")]
    return cells.text(" ".join(parts), "question")


def _context(source: Source, row: Row) -> str:
    """The text above the question; of several columns, the members belong together: title and paragraph."""
    columns = [cells.cell(row, name) for name in source["columns"]["context"]]
    if len(columns) == 1:
        paragraphs = [_paragraph(part) for part in (columns[0] if isinstance(columns[0], list) else columns)]
    else:
        members = [column if isinstance(column, list) else [column] for column in columns]
        if len({len(column) for column in members}) > 1:
            raise Unusable("titles and paragraphs that do not match")
        paragraphs = ["\n".join(filter(None, map(_paragraph, parts))) for parts in zip(*members, strict=True)]
    return cells.text("\n\n".join(filter(None, paragraphs)), "text to read")


def _paragraph(value: Any) -> str:
    """A text, or a list of sentences as one."""
    return " ".join(cells.texts(value, "text to read"))


def _references(source: Source, row: Row) -> tuple[str, ...]:
    """All right answers, each once, the first column's first."""
    found: list[str] = []
    for name in source["columns"]["answer"]:
        value = cells.cell(row, name)
        if source["answer_form"] == "drop":
            found += gold.drop_answers(value)
        elif make := _GOLD.get(source["answer_form"]):
            found += make(cells.text(value, "right answer"))
        else:
            forms = gold.number_forms if source["family"] == "math" else lambda answer: [answer]
            found += [form for answer in cells.texts(value, "right answer") for form in forms(answer)]
    if not found:
        raise Unusable("no right answer")
    return tuple(dict.fromkeys(found))


def _kind(references: Sequence[str], context: str = "") -> str:
    """`number`, `span` when the text contains every reference, or `text` (yes, no, free words)."""
    if _are_numbers(references):
        return "number"
    read = context.casefold()
    return "span" if read and all(reference.casefold() in read for reference in references) else "text"


def _are_numbers(references: Sequence[str]) -> bool:
    return all(NUMBER.fullmatch(reference) for reference in references)
