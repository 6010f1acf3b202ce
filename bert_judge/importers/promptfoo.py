"""The results of promptfoo: a JSON document, a line per result, or a table with a column of answers per provider and prompt.

References are in the assertions or variables of a test; a table has the variables alone.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, make_answers, make_column_reader, parse_question
from bert_judge.importers.column_names import detect_columns
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.containers import sniff
from bert_judge.tables.readers.name_words import has_role_words, has_usual_name, is_ambiguous
from bert_judge.tables.readers.rows import LocatedRecord, Record, open_rows
from bert_judge.tables.readers.values import get_path

RESULT_KEYS = frozenset({"vars", "response", "provider"})
# Where a document has its results, by version.
RESULTS = ("results.results", "results")
# Assertions whose value is the whole answer, one of several, or a part; a rubric or a program is no reference.
EQUAL_TO = ("equals", "similar", "factuality", "model-graded-factuality")
ANY_OF = ("contains-any", "icontains-any")
CONTAINING = ("contains", "icontains", "starts-with", "contains-all", "icontains-all")
_VARIABLE = re.compile(r"\{\{\s*(?:vars\.)?(\w+)\s*\}\}")
# The header of answers in a table, "[provider] prompt", and the columns that promptfoo 0.123 writes behind each.
_HEADER = re.compile(r"\[([^\]]+)\] ?(.*)", re.DOTALL)
GRADE_COLUMNS = ("Status", "Score", "Named Scores", "Grader Reason", "Comment")
STATUS = {"PASS": 1.0, "FAIL": 0.0}
_ANSWER = "\0"
# A pattern that is nothing but words, or a choice of them.
_WORDS = re.compile(r"(?:\(\?i\))?\^?(?:\\b)?\(?(?:\?:)?([\w ]+(?:\|[\w ]+)*)\)?(?:\\b)?\$?")


def has_results(path: Path) -> bool:
    """Return whether a JSON document has results of promptfoo."""
    return _find_results(path) is not None


def read_results(path: Path) -> Iterator[LocatedRecord]:
    """Yield location and content of each result."""
    key = _find_results(path) if sniff(path).format == "json" else None
    return open_rows(path).records() if key is None else json_documents.iterate_list(path, key)


def _find_results(path: Path) -> str | None:
    def is_result(value: Any) -> bool:
        return isinstance(value, Mapping) and value.keys() >= RESULT_KEYS

    return next((key for key in RESULTS if is_result(get_path(json_documents.read_member(path, key), 0))), None)


def read_result(record: Record) -> list[Answer]:
    """Return the answer of a result. Raises values.UnreadableCell: the request failed, or the test has no reference."""
    if get_path(record, "response", "output") is None:
        raise values.UnreadableCell(f"the request failed: {get_path(record, 'response', 'error') or record.get('error')}"[:200])
    variables = record["vars"] if isinstance(record["vars"], Mapping) else {}
    assertions = list(
        _flatten(get_path(record, "testCase", "assert") or get_path(record, "gradingResult", "componentResults") or [])
    )
    question = next((value for name, value in variables.items() if has_usual_name(name, "question")), None)
    provider = record["provider"]
    return make_answers(
        _find_references(assertions, variables) or _expected_variables(variables),
        [_text(record["response"]["output"])],
        question=parse_question(question or get_path(record, "prompt", "raw")),
        model=provider if isinstance(provider, str) else str(get_path(provider, "label") or get_path(provider, "id") or ""),
        label=values.parse_label(record.get("success")),
    )


def _flatten(assertions: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the assertions, also those in sets and in the results of assertions."""
    for assertion in assertions:
        if isinstance(members := get_path(assertion, "assert"), list):
            yield from _flatten(members)
        elif isinstance(assertion, Mapping):
            yield assertion["assertion"] if isinstance(assertion.get("assertion"), Mapping) else assertion


def _find_references(assertions: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> list[str]:
    equal_texts: list[str] = []
    alternatives: list[str] = []
    listed_texts: list[str] = []
    for assertion in assertions:
        kind, value = assertion.get("type"), assertion.get("value")
        if kind == "regex" and (words := _WORDS.fullmatch(str(value))):
            kind, value = "contains-any", words[1].split("|")
        if isinstance(value, str) and kind in ANY_OF:
            value = value.split(",")
        texts = [_render(member, variables) for member in (value if isinstance(value, list) and kind not in EQUAL_TO else [value])]
        # A template that is unknown here, or a file.
        texts = [text for text in texts if text and "{{" not in text and not text.startswith("file://")]
        group = equal_texts if kind in EQUAL_TO else alternatives if kind in ANY_OF else listed_texts if kind in CONTAINING else []
        group += texts
    return equal_texts or alternatives or ([", ".join(listed_texts)] if listed_texts else [])


def _render(value: Any, variables: Mapping[str, Any]) -> str:
    return _VARIABLE.sub(lambda match: _text(variables.get(match[1], match[0])), _text(value)).strip()


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list) else values.parse_text(value)


def _expected_variables(variables: Mapping[str, Any]) -> Any:
    names = [name for name in variables if has_usual_name(name, "references") or has_role_words(name, "references")]
    names += filter(is_ambiguous, variables)
    return variables[names[0]] if names else []


def is_table(columns: Sequence[str]) -> bool:
    """Return whether the columns are those of a table of results."""
    return bool(_answer_places(columns))


def _answer_places(columns: Sequence[str]) -> list[int]:
    size = len(GRADE_COLUMNS)
    return [position - 1 for position in range(1, len(columns)) if tuple(columns[position : position + size]) == GRADE_COLUMNS]


def read_table(path: Path) -> Iterator[LocatedRecord]:
    """Yield location, and variables, answer and its grade, of each answer in a table, whose columns repeat for each provider."""
    for chunk in open_rows(path, allow_duplicates=True).chunks():
        positions = _answer_places(chunk.header)
        for location, cells in zip(chunk.locations, chunk.raw, strict=True):
            row = [*zip(chunk.header, cells, strict=True)]
            for position in positions:
                yield location, dict(row[: positions[0]]) | dict(row[position : position + len(GRADE_COLUMNS) + 1])


class TableReader:
    """Reader of the answers of `read_table`. Raises InputError: no variable holds references."""

    def __init__(self, path: Path) -> None:
        source = open_rows(path, allow_duplicates=True)
        self.variables = source.columns[: _answer_places(source.columns)[0]]
        columns = detect_columns(path, self.variables, {}, ("references",), sample=source.sample)
        self.has_question = "question" in columns
        self.read_row = make_column_reader(columns | {"candidate": _ANSWER}, True, source.sample)

    def __call__(self, record: Record) -> list[Answer]:
        header, answer = list(record.items())[len(self.variables)]
        if record["Status"] not in STATUS:
            raise values.UnreadableCell(f"the request failed: {record['Grader Reason'] or record['Status']}"[:200])
        match = _HEADER.match(header)
        model, prompt = match.groups() if match else ("", header)
        answers = [replace(row, model=model, label=STATUS[record["Status"]]) for row in self.read_row({**record, _ANSWER: answer})]
        return answers if self.has_question else [replace(row, question=_render(prompt, record)) for row in answers]
