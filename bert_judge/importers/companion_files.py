"""Companion files: references, questions and requests that a framework's own file lacks; and the answers that need them.

BERT-as-a-Judge writes `{folder}/{task}/{model}/candidates.json`, a list of answers in the order of the questions. Questions and
references come from a second file in the same order; a judge's `scores.json`, a list in the same order, becomes the column `label`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.importers import column_names
from bert_judge.importers.answers import Answer, make_answers, make_column_reader, no_reference_error, parse_question
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.json_documents import iterate_list
from bert_judge.tables.readers.rows import LocatedRecord, Record, RowFile, open_rows
from bert_judge.tables.readers.values import get_path

T = TypeVar("T")
ID_COLUMNS = ("custom_id", "question_id", "sample_id", "example_id", "instance_id", "id", "qid", "uid")
# Words of other names of ids: `problem_id`, `idx`.
_KEY_WORDS = frozenset({"id", "ids", "uid", "uuid", "idx", "index", "key", "number", "no"})
# No column of a file.
_NO_ANSWER = "\0"


@dataclass(frozen=True)
class CompanionFiles:
    """The files that a user names in addition to the imported one; references and scores are by id, or in the answers' order.

    `is_conversation`: of a conversation, each question begins with the turns before it.
    """

    references: Path | None = None
    requests: Path | None = None
    scores: Path | None = None
    is_conversation: bool = False


def references_by_id(path: Path | None) -> Mapping[str, list[str]]:
    """Return id → references. Raises InputError: no column of ids or references, an invalid cell, or a duplicate id."""
    if path is None:
        return {}
    source = open_rows(path)
    id_column = next(iter(_find_ids(source.columns).values()), None)
    if id_column is None:
        raise InputError(f"{path}: no column of ids; add one of {', '.join(ID_COLUMNS)}")
    return {identity: row["references"] for identity, row in _rows_by_key(source, id_column).items()}


class JoiningReader:
    """Reader of rows whose references are in a second file, under the same ids or else the same questions.

    Args:
        columns: role → column, as named by the user; see `column_names.detect_columns`.
        with_column: column of the second file that `find_companion` returns too.
        is_conversation: the question is the whole conversation of a row, see `values.parse_conversation`.

    Raises:
        InputError: the files share neither, or one is invalid.
    """

    def __init__(
        self,
        source: RowFile,
        references: Path,
        columns: Mapping[str, str] | None = None,
        with_column: str | None = None,
        *,
        is_conversation: bool = False,
    ) -> None:
        self.is_conversation = is_conversation
        path, sample, remedy = source.path, source.sample, column_names.RENAME
        self.columns = column_names.detect_columns(
            path, source.columns, columns or {}, ("candidate",), sample=sample, remedy=remedy
        )
        self.references, companion = references, open_rows(references)
        reference_columns = _detect_reference_columns(companion)
        keys = _find_keys(source, companion, {*self.columns.values(), *reference_columns.values()})
        key, other_key = keys or (self.columns.get("question"), reference_columns.get("question"))
        if key is None or other_key is None:
            raise InputError(f"{path}: shares neither ids nor questions with {references}; add a column `id` to both")
        self.key, self.other_key = key, other_key
        self.companion_columns = companion.columns
        self.rows = _rows_by_key(companion, other_key, with_column)
        self._read_row = make_column_reader(self.columns | {"question": "question", "references": "references"})
        joined = [(self._question_of(record), self.find_companion(record)) for record in sample]
        questions = [(text, row["question"].partition("\n")[0]) for text, row in joined if text and row and row["question"]]
        # A prompt contains the question.
        if questions and not any(first in second or second in first for first, second in questions):
            raise InputError(
                f"{references}: has other questions under the ids of {path}, e.g. {questions[0][1]!r:.80}; give their file"
            )

    def __call__(self, record: Record) -> Sequence[Answer]:
        row = self.find_companion(record)
        if row is None:
            raise values.UnreadableCell(f"{self.references} has no {self.other_key} like this row's {self.key}")
        own_question = self._question_of(record, self.is_conversation)
        row = {**record, **row, "question": own_question if self.is_conversation else row["question"] or own_question}
        return [replace(answer, id=self._key_of(record)) for answer in self._read_row(row)]

    def find_companion(self, record: Record) -> Record | None:
        """Return `question`, `references` and the further column of the second file for a row; None if it has no such row."""
        return self.rows.get(self._key_of(record))

    def _key_of(self, record: Record) -> str:
        return _parse_key(values.get_cell(record, self.key))

    def _question_of(self, record: Record, is_conversation: bool = False) -> str:
        return parse_question(values.get_cell(record, self.columns.get("question", "")), is_conversation)


def _find_ids(columns: Sequence[str]) -> dict[str, str]:
    """Return usual name → column for the columns of ids."""
    names = {column_names.normalize(name): name for name in reversed(columns)}
    return {name: names[name] for name in ID_COLUMNS if name in names}


def _find_keys(source: RowFile, companion: RowFile, with_role: Collection[str]) -> tuple[str, str] | None:
    """Return the columns of ids in both files, or None.

    First those with the same usual name, then the only column of both whose values are unique in the second file and name rows
    of it in the first, then usual names that differ.
    """
    own_ids, ids = _find_ids(source.columns), _find_ids(companion.columns)
    if shared := next(filter(ids.get, own_ids), None):
        return own_ids[shared], ids[shared]
    names = {column_names.normalize(name): name for name in companion.columns if name not in with_role}
    pairs = [(key, match) for key in source.columns if key not in with_role and (match := names.get(column_names.normalize(key)))]
    joining = [(key, match) for key, match in pairs if _are_keys(_keys_in(source, key), _keys_in(companion, match))]
    if named := [pair for pair in joining if _KEY_WORDS.intersection(column_names.normalize(pair[0]).split("_"))]:
        joining = named
    if len(joining) == 1:
        return joining[0]
    return (next(iter(own_ids.values())), next(iter(ids.values()))) if own_ids and ids else None


def _keys_in(source: RowFile, column: str) -> list[str]:
    cells = [values.get_cell(record, column) for record in source.sample]
    return [_parse_key(cell) for cell in cells] if all(isinstance(cell, str | int) for cell in cells) else []


def _are_keys(keys: Sequence[str], companion_keys: Sequence[str]) -> bool:
    return bool(keys) and len(set(companion_keys)) == len(companion_keys) and not set(keys).isdisjoint(companion_keys)


def _detect_reference_columns(source: RowFile) -> dict[str, str]:
    remedy = column_names.RENAME
    return column_names.detect_columns(source.path, source.columns, {}, ("references",), sample=source.sample, remedy=remedy)


def _parse_key(cell: Any) -> str:
    """Return the text of an id or question."""
    return values.parse_message(cell, values.USER).strip()


def _rows_by_key(source: RowFile, column: str, with_column: str | None = None) -> dict[str, Record]:
    rows = _parsed_rows(source, column, with_column)
    return by_id(source.path, column, ((location, row["key"], row) for location, row in rows))


def by_id(path: Path, id_column: str, entries: Iterable[tuple[str, str, T]]) -> dict[str, T]:
    """Return id → value of entries of location, id and value. Raises InputError: a duplicate id."""
    values_by_id: dict[str, T] = {}
    for location, identity, value in entries:
        if identity in values_by_id:
            raise InputError(f"{path}: {location}: duplicate {id_column} {identity!r}; make the ids unique")
        values_by_id[identity] = value
    return values_by_id


def _parsed_rows(source: RowFile, key: str | None = None, with_column: str | None = None) -> Iterator[LocatedRecord]:
    """Yield location, and `question`, `references`, (if its column is named) `key`, and a further column of each row."""
    path, columns = source.path, _detect_reference_columns(source)
    read_answers = make_column_reader(columns | {"candidate": _NO_ANSWER}, source.holds_texts, source.sample)

    def parse(record: Record) -> Record:
        if not values.parse_texts(values.get_cell(record, columns["references"])):
            return {"question": "", "references": []}
        answer = read_answers({**record, _NO_ANSWER: ""})[0]
        return {"question": answer.question, "references": list(answer.references)}

    for location, record in source.records():
        where = f"{path}: {location}: column"
        row = values.parse_cell(f"{where} {columns['references']!r}", parse, record)
        if key is not None:
            row = {**row, "key": values.parse_cell(f"{where} {key!r}", _parse_key, values.get_cell(record, key))}
        if with_column is not None:
            row = {**row, with_column: values.get_cell(record, with_column)}
        yield location, row


def read_candidates(path: Path, companions: CompanionFiles) -> Iterator[LocatedRecord]:
    """Yield the answers with their questions as plain rows. Raises InputError: no references, or lists of different lengths."""
    if companions.references is None:
        raise InputError(f"{path}: contains answers only; name the file of questions and references with --references")
    questions, scores = (row for _, row in _parsed_rows(open_rows(companions.references))), companions.scores
    # Published as {task}/{model}/candidates.json.
    task, model = path.resolve().parts[-3:-1] if path.name == "candidates.json" else ("", "")
    lists = (questions, iterate_list(path), iterate_list(scores) if scores else iter(()))
    for count, (row, member, score) in enumerate(zip_longest(*lists)):
        if row is None and member is None:
            raise InputError(f"{scores}: has more scores than there are answers ({count}); give the scores of these answers")
        if row is None or member is None:
            # The remaining questions are counted for the message only.
            total = count if row is None else count + 1 + sum(1 for _ in questions)
            raise InputError(
                f"{path}: has {'more' if row is None else 'fewer'} answers than the references have questions ({total}); "
                "give the questions of these answers, in their order"
            )
        location, candidate = member
        if not isinstance(candidate, str | None):
            raise InputError(f"{path}: {location} is {str(candidate)[:60]!r}; candidates.json is a list of texts")
        if scores and score is None:
            raise InputError(f"{scores}: has fewer scores ({count}) than there are answers; give the scores of these answers")
        label = values.parse_label(score[1]) if score else None
        yield location, {**row, "candidate": candidate, "model": model, "task": task, "label": label}


def _parse_requests(path: Path) -> Iterator[tuple[str, str, Record]]:
    """Yield location, id and, as a row, `question` and from the metadata `references`."""
    for location, record in open_rows(path).records():
        body = record.get("body") or record.get("params")
        where = f"{path}: {location}: column"
        identity = values.parse_cell(f"{where} 'custom_id'", values.parse_text, record.get("custom_id"))
        references = get_path(body, "metadata", "reference")
        request = {
            "question": parse_question(get_path(body, "messages") or get_path(body, "input") or get_path(body, "prompt")),
            "references": values.parse_cell(f"{where} 'body.metadata.reference'", values.parse_texts, references),
        }
        yield location, identity, request


class BatchReader:
    """Reader of the responses of the batch interfaces of OpenAI and Anthropic, which `custom_id` joins to their requests.

    Neither contains references: these come from a third file with the column `custom_id`, or from the requests' own
    `metadata: {reference: …}`.
    """

    def __init__(self, path: Path, companions: CompanionFiles) -> None:
        self.path = path
        requests = companions.requests
        self.requests = {} if requests is None else by_id(requests, "custom_id", _parse_requests(requests))
        self.references = references_by_id(companions.references)

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.parse_text(record.get("custom_id"))
        response, result = record.get("response"), record.get("result")
        body = get_path(response, "body") or get_path(result, "message")
        if get_path(response, "status_code") not in (None, 200) or not body:
            error_sources = ((record, "error"), (body, "error"), (result, "error"), (get_path(result, "error"), "error"))
            errors = (get_path(value, key, "message") for value, key in error_sources)
            raise values.UnreadableCell(
                f"the request failed: {next(filter(None, errors), get_path(result, 'type') or 'no response')}"
            )
        request = self.requests.get(identity, {})
        references = self.references.get(identity) or request.get("references")
        if not references:
            raise no_reference_error(self.path)
        question, model = request.get("question", ""), values.parse_text(get_path(body, "model"))
        return make_answers(
            references, list(_response_texts(body)), question=question, model=model, task=self.path.stem, id=identity
        )


def _response_texts(body: Any) -> Iterator[str]:
    """Yield the texts of a chat completion, a legacy completion, a response of the Responses API, or an Anthropic message."""
    for choice in _as_list(get_path(body, "choices")):
        yield values.parse_message(choice, values.ASSISTANT)
    for output in _as_list(get_path(body, "output")):
        if get_path(output, "type") == "message":
            yield _join_text(get_path(output, "content"))
    if get_path(body, "content") is not None:
        yield _join_text(get_path(body, "content"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _join_text(content: Any) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if isinstance(content, list):
        return "".join(values.parse_text(get_path(content_part, "text")) for content_part in content)
    return values.parse_text(content)
