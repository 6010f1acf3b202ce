"""OpenAI's batch interface: the file of requests, the file of responses, joined by `custom_id`.

Neither holds right answers: these come from a third file with the column `custom_id`, or from the requests' own
`metadata: {reference: …}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record, part, repeated
from bert_judge.tables.readers import values
from bert_judge.tables.readers.disk_map import OnDisk
from bert_judge.tables.readers.streams import open_rows

KEYS = frozenset({"custom_id", "response"})
CHUNK_ROWS = 1024


def asked(path: Path) -> Mapping[str, Record]:
    """Id → `question`, and as `references` the right answers of the metadata.

    Raises:
        InputError: a request cannot be read, or an id is there twice.
    """
    return OnDisk(path, "custom_id", _requests(path))


def _requests(path: Path) -> Iterator[tuple[str, str, Record]]:
    for chunk in open_rows(path).chunks(CHUNK_ROWS):
        for place, record in zip(chunk.places, chunk.records, strict=True):
            body = record.get("body")
            identity = values.parse_cell(path, place, "custom_id", values.parse_text, record.get("custom_id"))
            told = part(body, "metadata", "reference")
            said = {
                "question": values.parse_cell(path, place, "body", _question, body),
                "references": values.parse_cell(path, place, "body.metadata.reference", values.parse_texts, told),
            }
            yield place, identity, said


class Reader:
    """Reads the lines of one file of responses.

    Args:
        requests: as `asked` gives them; empty where there are none.
        references: custom_id → right answers.
    """

    def __init__(self, path: Path, requests: Mapping[str, Record], references: Mapping[str, list[str]]) -> None:
        self.task = path.stem
        self.requests = requests
        self.references = references

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.parse_text(record.get("custom_id"))
        body = part(record, "response", "body")
        if part(record, "response", "status_code") not in (None, 200) or not body:
            fault = part(record, "error", "message") or part(body, "error", "message") or "no response"
            raise values.UnreadableCell(f"the request failed: {fault}")
        request = self.requests.get(identity, {})
        right = self.references.get(identity) or request.get("references")
        if not right:
            raise values.UnreadableCell("no reference; give a file with custom_id and references with --references")
        model = values.parse_text(part(body, "model"))
        return repeated(right, list(_said(body)), question=request.get("question", ""), model=model, task=self.task, id=identity)


def _question(body: Any) -> str:
    """The last thing that the user said: the last question of the conversation."""
    messages = part(body, "messages") or part(body, "input") or part(body, "prompt")
    if isinstance(messages, str):
        return messages
    asked = [part(message, "content") for message in _members(messages) if part(message, "role") == "user"]
    return _text(asked[-1]) if asked else ""


def _said(body: Any) -> Iterator[str]:
    """The texts of a chat completion, an older completion, or a response of the newer interface."""
    for choice in _members(part(body, "choices")):
        message = part(choice, "message")
        yield _text(part(choice, "text") if message is None else part(message, "content"))
    for output in _members(part(body, "output")):
        if part(output, "type") == "message":
            yield _text(part(output, "content"))


def _members(value: Any) -> list[Any]:
    """The list itself; none of what is no list."""
    return value if isinstance(value, list) else []


def _text(content: Any) -> str:
    """A content that is a text, or a list of parts some of which are texts."""
    if isinstance(content, list):
        return "".join(values.parse_text(part(piece, "text")) for piece in content)
    return values.parse_text(content)
