"""Which framework wrote a file, and its answers, one at a time whatever the file's size."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bert_judge.candidates.importers import (
    bert_as_a_judge,
    companion_files,
    helm,
    inspect_logs,
    judgelm,
    lighteval,
    lm_eval,
    mm_vet,
    openai_batch,
    representation_judge,
)
from bert_judge.candidates.importers.answers import Answer, Reader, Record, Skipped, of_columns
from bert_judge.candidates.importers.companion_files import Beside
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats, json_items, values
from bert_judge.tables.readers.streams import open_rows

log = logging.getLogger(__name__)

# Name → what it is, for messages. Those in ROWS are files of rows, which can be written again with more columns.
NAMES = {
    "lm_eval": "samples of lm-evaluation-harness",
    "lighteval": "details of lighteval",
    "inspect": "a log of inspect_ai",
    "helm": "a scenario state of HELM",
    "openai_batch": "responses of OpenAI's batch interface",
    "judgelm": "samples of JudgeLM",
    "mm_vet": "answers to MM-Vet",
    "representation_judge": "results of Representation-as-a-Judge",
    "bert_as_a_judge": "candidates of BERT-as-a-Judge",
}
ROWS = frozenset({"lm_eval", "lighteval"})
CHUNK_ROWS = 1024
PLAIN = {name: name for name in ("question", "references", "candidate", "model", "task", "label")}


def detect(path: Path) -> str | None:
    """The framework that wrote the file; None for plain rows, and for what nobody knows.

    Raises:
        InputError: the file cannot be read.
    """
    ending = path.suffix.lower()
    if ending in inspect_logs.ENDINGS:
        return "inspect"
    if ending == ".json":
        return _document(json_items.top_keys(path))
    if formats.ENDINGS.get(ending) in ("jsonl", "parquet"):
        columns = set(open_rows(path).columns)
        by_keys = {"lm_eval": lm_eval.KEYS, "judgelm": judgelm.KEYS, "mm_vet": mm_vet.SAMPLE_KEYS}
        by_keys |= {"openai_batch": openai_batch.KEYS}
        found = next((name for name, keys in by_keys.items() if columns >= keys), None)
        return found or ("lighteval" if lighteval.recognises(columns) else None)
    return None


def _document(keys: list[str]) -> str | None:
    if set(keys) >= helm.KEYS:
        return "helm"
    if set(keys) >= {"eval", "plan"}:
        return "inspect"
    if mm_vet.recognises(keys):
        return "mm_vet"
    if keys == [json_items.LIST, json_items.TEXT]:
        return "bert_as_a_judge"
    return "representation_judge" if set(keys) >= {json_items.LIST, *representation_judge.KEYS} else None


def reader(path: Path, framework: str, second: Beside = Beside()) -> Reader:  # noqa: B008
    """What makes answers of the records that `records` gives.

    Raises:
        InputError: a second file cannot be read.
    """
    references = companion_files.by_id(second.references) if second.references and framework in ("judgelm", "openai_batch") else {}
    match framework:
        case "lm_eval":
            return lm_eval.Reader(path)
        case "lighteval":
            return lighteval.Reader(path)
        case "inspect":
            return inspect_logs.read
        case "helm":
            return helm.Reader(path)
        case "judgelm":
            return judgelm.Reader(path, references)
        case "mm_vet":
            return mm_vet.Reader(path)
        case "openai_batch":
            return openai_batch.Reader(path, openai_batch.asked(second.requests) if second.requests else {}, references)
        case "representation_judge":
            return representation_judge.Reader(path)
        case _:
            return of_columns(PLAIN)


def records(path: Path, framework: str, second: Beside = Beside()) -> Iterator[tuple[str, Record]]:  # noqa: B008
    """Place and content of each record, one at a time.

    Raises:
        InputError: the file is damaged or of another form.
    """
    match framework:
        case "inspect":
            yield from inspect_logs.records(path)
        case "helm":
            yield from _objects(path, helm.LIST)
        case "representation_judge":
            yield from _objects(path, representation_judge.LIST)
        case "mm_vet":
            yield from mm_vet.records(path, second.references)
        case "bert_as_a_judge":
            if second.references is None:
                raise InputError(f"{path}: holds answers alone; name the file of questions and references with --references")
            yield from bert_as_a_judge.records(path, companion_files.in_order(second.references), second.scores)
        case _:
            for chunk in open_rows(path).chunks(CHUNK_ROWS):
                yield from zip(chunk.places, chunk.records, strict=True)


def _objects(path: Path, prefix: str) -> Iterator[tuple[str, Record]]:
    for place, value in json_items.items(path, prefix):
        if not isinstance(value, dict):
            raise InputError(f"{path}: {place} is no object; this is not the file it seems to be")
        yield place, value


@dataclass
class Found:
    """How many records gave answers, and why others did not."""

    answers: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        """What became of the others, for a person."""
        kinds = (("left out", self.skipped), ("not readable", self.unreadable))
        return [f"{count:,} {kind}: {why}" for kind, counts in kinds for why, count in counts.most_common(3)]


def answers(read: Reader, source: Iterator[tuple[str, Record]], found: Found) -> Iterator[tuple[str, Answer]]:
    """Place and answer, for all records that hold one; the others are counted in `found`."""
    for place, record in source:
        try:
            given = read(record)
        except Skipped as why:
            found.skipped[str(why)] += 1
            continue
        except values.UnreadableCell as why:
            found.unreadable[str(why)] += 1
            continue
        for answer in given:
            found.answers += 1
            yield place, answer


def no_answer(path: Path, found: Found) -> InputError:
    """The fault of a file without an answer."""
    return InputError(f"{path}: {'; '.join(found.lines()) or 'the file has no rows'}; there is no answer to import")


def columns(path: Path, framework: str, names: list[str]) -> formats.Columns:
    """A framework's file as plain columns under this program's names, all in memory.

    Raises:
        InputError: the file is damaged, or holds no answer.
    """
    found = Found()
    told = list(answers(reader(path, framework), records(path, framework), found))
    if not told:
        raise no_answer(path, found)
    for line in found.lines():
        log.warning("%s: %s", path, line)
    table = {
        name: [list(value) if isinstance(value := getattr(answer, name), tuple) else value for _, answer in told]
        for name in Answer.__dataclass_fields__
    }
    kept = {name: table[name] for name in names if name in table}
    return formats.Columns(path, framework, list(table), kept, [place for place, _ in told])
