"""OpenAI's batch interface: the file of requests, the file of responses, joined by `custom_id`.

Neither holds right answers: these come from a third file with the column `custom_id`, or from the requests' own
`metadata: {reference: …}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bert_judge.importers import values
from bert_judge.importers.answers import Answer, Record, part, repeated
from bert_judge.importers.streams import open_rows

KEYS = frozenset({"custom_id", "response"})


class Asked:
    """What the requests say, by their id: the last question of the conversation, and the metadata's reference."""

    def __init__(self, path: Path) -> None:
        self.by_id: dict[str, tuple[str, list[str]]] = {}
        for chunk in open_rows(path).chunks(1024):
            for record in chunk.records:
                body = record.get("body")
                told = part(body, "metadata", "reference")
                self.by_id[str(record.get("custom_id"))] = (_question(body), values.texts(told))


class Reader:
    """Reads the lines of one file of responses.

    Args:
        asked: the requests; None: there are no questions.
        references: custom_id → right answers.
    """

    def __init__(self, path: Path, asked: Asked | None, references: Mapping[str, list[str]]) -> None:
        self.task = path.stem
        self.asked = asked.by_id if asked else {}
        self.references = references

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.text(record.get("custom_id"))
        body = part(record, "response", "body")
        if part(record, "response", "status_code") not in (None, 200) or not body:
            fault = part(record, "error", "message") or part(body, "error", "message") or "no response"
            raise values.Unreadable(f"the request failed: {fault}")
        question, told = self.asked.get(identity, ("", []))
        right = self.references.get(identity) or told
        if not right:
            raise values.Unreadable("no reference; give a file with custom_id and references with --references")
        model = values.text(part(body, "model"))
        return repeated(right, list(_said(body)), question=question, model=model, task=self.task, id=identity)


def _question(body: Any) -> str:
    """The last thing that the user said."""
    messages = part(body, "messages") or part(body, "input") or part(body, "prompt") or []
    if isinstance(messages, str):
        return messages
    asked = [part(message, "content") for message in messages if part(message, "role") == "user"]
    return _text(asked[-1]) if asked else ""


def _said(body: Any) -> Iterator[str]:
    """The texts of a chat completion, an older completion, or a response of the newer interface."""
    for choice in part(body, "choices") or []:
        yield _text(part(choice, "message", "content") if "message" in choice else part(choice, "text"))
    for output in part(body, "output") or []:
        if part(output, "type") == "message":
            yield _text(part(output, "content"))


def _text(content: Any) -> str:
    """A content that is a text, or a list of parts some of which are texts."""
    if isinstance(content, list):
        return "".join(part(piece, "text") or "" for piece in content)
    return values.text(content)
