"""OpenAI's batch interface: a file of requests and a file of responses, joined by `custom_id`.

Neither contains references: these come from a third file with the column `custom_id`, or from the requests' own
`metadata: {reference: …}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, get_path, make_answers
from bert_judge.tables.readers import values
from bert_judge.tables.readers.disk_map import DiskMap
from bert_judge.tables.readers.rows import Record, open_rows

KEYS = frozenset({"custom_id", "response"})


def requests_by_id(path: Path | None) -> Mapping[str, Record]:
    """Return id → `question` and, from the metadata, `references`; nothing without a file.

    Raises:
        InputError: an invalid request, or a duplicate id.
    """
    return {} if path is None else DiskMap(path, "custom_id", _parse_requests(path))


def _parse_requests(path: Path) -> Iterator[tuple[str, str, Record]]:
    for location, record in open_rows(path).records():
        body = record.get("body")
        identity = values.parse_cell(path, location, "custom_id", values.parse_text, record.get("custom_id"))
        references = get_path(body, "metadata", "reference")
        request = {
            "question": values.parse_cell(path, location, "body", _parse_question, body),
            "references": values.parse_cell(path, location, "body.metadata.reference", values.parse_texts, references),
        }
        yield location, identity, request


class OpenAIBatchReader:
    """Reader of the lines of one file of responses.

    Args:
        requests: see `requests_by_id`.
        references: custom_id → references.
    """

    def __init__(self, path: Path, requests: Mapping[str, Record], references: Mapping[str, list[str]]) -> None:
        self.task, self.requests, self.references = path.stem, requests, references

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.parse_text(record.get("custom_id"))
        body = get_path(record, "response", "body")
        if get_path(record, "response", "status_code") not in (None, 200) or not body:
            error = get_path(record, "error", "message") or get_path(body, "error", "message") or "no response"
            raise values.UnreadableCell(f"the request failed: {error}")
        request = self.requests.get(identity, {})
        references = self.references.get(identity) or request.get("references")
        if not references:
            raise values.UnreadableCell("no reference; give a file with custom_id and references with --references")
        question, model = request.get("question", ""), values.parse_text(get_path(body, "model"))
        return make_answers(references, list(_response_texts(body)), question=question, model=model, task=self.task, id=identity)


def _parse_question(body: Any) -> str:
    """Return the last user message of a request."""
    messages = get_path(body, "messages") or get_path(body, "input") or get_path(body, "prompt")
    if isinstance(messages, str):
        return messages
    contents = [get_path(message, "content") for message in _as_list(messages) if get_path(message, "role") == "user"]
    return _join_text(contents[-1]) if contents else ""


def _response_texts(body: Any) -> Iterator[str]:
    """Yield the texts of a chat completion, a legacy completion, or a response of the Responses API."""
    for choice in _as_list(get_path(body, "choices")):
        message = get_path(choice, "message")
        yield _join_text(get_path(choice, "text") if message is None else get_path(message, "content"))
    for output in _as_list(get_path(body, "output")):
        if get_path(output, "type") == "message":
            yield _join_text(get_path(output, "content"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _join_text(content: Any) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if isinstance(content, list):
        return "".join(values.parse_text(get_path(content_part, "text")) for content_part in content)
    return values.parse_text(content)
