"""JudgeLM's judge samples and judgements: JSONL with several answers to a question in a line, `answer1_body`, `answer2_body`, ….

Its references stand in the line (a judgement made with references) or in a second file, a line per question with
`question_id` and `reference: {text: …}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bert_judge.candidates.importers.answers import Answer, Record, part
from bert_judge.tables.readers import values

KEYS = frozenset({"question_body", "answer1_body"})


class Reader:
    """Reads the lines of one file.

    Args:
        references: question_id → reference, from the second file.
        needed: refuse a line without a reference.
    """

    def __init__(self, path: Path, references: Mapping[str, list[str]] | None = None, needed: bool = True) -> None:
        self.task = path.stem
        self.needed = needed
        self.references = references or {}

    def __call__(self, record: Record) -> list[Answer]:
        identity = values.parse_text(record.get("question_id"))
        told = record.get("reference")
        right = values.parse_texts(part(told, "text") if isinstance(told, Mapping) else told) or self.references.get(identity, [])
        if not right and self.needed:
            raise values.UnreadableCell("no reference; give the reference file with --references")
        found: list[Answer] = []
        while (said := record.get(f"answer{len(found) + 1}_body")) is not None:
            number = len(found) + 1
            model = values.parse_text(record.get(f"answer{number}_model_id")) or f"answer{number}"
            found.append(
                Answer(
                    values.parse_text(record["question_body"]),
                    tuple(right),
                    values.parse_text(said),
                    model,
                    self.task,
                    None,
                    identity,
                )
            )
        if not found:
            raise values.UnreadableCell("no answer1_body")
        return found
