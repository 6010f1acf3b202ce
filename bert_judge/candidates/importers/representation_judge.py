"""Representation-as-a-Judge's `{model}_{dataset}_results.json`: a list of questions with gold answers and one prediction each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, Record, lettered, repeated
from bert_judge.tables.readers import values

LIST = "item"
KEYS = frozenset({"question", "prediction"})


class Reader:
    """Reads the members of one file."""

    def __init__(self, path: Path) -> None:
        name = path.stem.removesuffix("_results")
        self.model, _, self.task = name.rpartition("_") if "_" in name else (name, "", "")

    def __call__(self, record: Record) -> list[Answer]:
        question, final = values.parse_text(record.get("question")), record.get("final_answer")
        references: Sequence[Any] = (
            [final] if final is not None else self._from_solution(values.parse_text(record.get("gold_answer")))
        )
        options = record.get("options")
        listed = list(options.values()) if isinstance(options, Mapping) else options
        if isinstance(listed, list) and listed and all(isinstance(option, str) for option in listed):
            question, references = _of_options(question, listed, values.parse_text(final))
        said = [record["prediction"]] if record.get("prediction") is not None else []
        return repeated(
            references, said, question=question, model=self.model, task=self.task, id=values.parse_text(record.get("id"))
        )

    @staticmethod
    def _from_solution(solution: str) -> list[str]:
        """MATH has no final answer of its own there: the last box of its solution."""
        from bert_judge.tasks.cells import Unusable
        from bert_judge.tasks.gold import last_box

        try:
            return last_box(solution)
        except Unusable as fault:
            raise values.UnreadableCell(f"no final_answer, and {fault}") from fault


def _of_options(question: str, options: list[str], final: str) -> tuple[str, list[str]]:
    right = [at for at, option in enumerate(options) if final in (option, chr(ord("A") + at), f"({chr(ord('A') + at)})")]
    return lettered(question, options, right) if right else (question, [final])
