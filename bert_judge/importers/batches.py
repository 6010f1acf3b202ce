"""The batch interfaces of OpenAI and Anthropic: a file of requests and a file of responses, joined by `custom_id`.

Neither contains references: these come from a third file with the column `custom_id`, or from the requests' own
`metadata: {reference: …}`.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import Answer, make_answers, no_reference_error, parse_question
from bert_judge.importers.companion_files import by_id
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, open_rows
from bert_judge.tables.readers.values import get_path


def has_columns(columns: Collection[str]) -> bool:
    """Return whether a file with these columns contains responses."""
    return "custom_id" in columns and ("response" in columns or "result" in columns)


def requests_by_id(path: Path | None) -> Mapping[str, Record]:
    """Return id → `question` and, from the metadata, `references`. Raises InputError: an invalid request, or a duplicate id."""
    return {} if path is None else by_id(path, "custom_id", _parse_requests(path))


def _parse_requests(path: Path) -> Iterator[tuple[str, str, Record]]:
    for location, record in open_rows(path).records():
        body = record.get("body") or record.get("params")
        identity = values.parse_cell(path, location, "custom_id", values.parse_text, record.get("custom_id"))
        references = get_path(body, "metadata", "reference")
        request = {
            "question": parse_question(get_path(body, "messages") or get_path(body, "input") or get_path(body, "prompt")),
            "references": values.parse_cell(path, location, "body.metadata.reference", values.parse_texts, references),
        }
        yield location, identity, request


class BatchReader:
    """Reader of the lines of a file of responses, with `requests_by_id` and custom_id → references."""

    def __init__(self, path: Path, requests: Mapping[str, Record], references: Mapping[str, list[str]]) -> None:
        self.path, self.requests, self.references = path, requests, references

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
