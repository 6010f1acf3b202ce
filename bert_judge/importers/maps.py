"""Readers of the frameworks in `maps.yaml`, whose rows are described by the paths of their parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.importers.answers import NO_REFERENCE, Answer, make_answers, parse_question
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_path

MAPS: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("maps.yaml"))


class MapReader:
    """Reader of rows by the paths of a map."""

    def __init__(self, name: str) -> None:
        self.map = MAPS[name]

    def __call__(self, record: Record) -> list[Answer]:
        references = self._find(record, "references")
        if references is None:
            raise values.UnreadableCell(self.map.get("no_reference", NO_REFERENCE))
        return make_answers(
            references,
            values.parse_answers(self._find(record, "candidate")),
            question=parse_question(self._find(record, "question")),
            model=values.parse_text(self._find(record, "model")),
            task=values.parse_text(self._find(record, "task")),
            label=values.parse_label(self._find(record, "label")),
        )

    def _find(self, record: Record, role: str) -> Any:
        paths = ([int(step) if step.isdecimal() else step for step in path.split(".")] for path in self.map.get(role, ()))
        return next((value for path in paths if (value := get_path(record, *path)) is not None), None)
