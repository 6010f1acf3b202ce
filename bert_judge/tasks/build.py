"""The stage that writes a task's table: questions and references, out of a task function, a data set or an imported file."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.importers import task_rows
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import from_source, registry
from bert_judge.tasks.families import NUMBER
from bert_judge.tasks.registry import Sample

log = logging.getLogger(__name__)

LETTER = re.compile(r"[A-Z]")


def build_task(
    spec: Mapping[str, Any], output: str | Path, source: str | Path | None = None, manifest: str | Path | None = None
) -> None:
    """Write the task table.

    Args:
        spec: `Plan.task_spec`; with an `import` or a `source`, the questions come from a file or a data set.
        source: that file, or the Python file that defines the task; None for a built-in task and for a data set of the hub.
        manifest: of a prepared data set.

    Raises:
        InputError: the file cannot be read, there is no such task, a sample is not sound, or there is none.
    """
    revisions: dict[str, str] = {}
    if "import" in spec:
        assert source is not None
        samples = _imported(spec, source)
    elif "source" in spec:
        files = [Path(source)] if source is not None else []
        if manifest is not None:
            prepared = load_manifest(manifest)
            files = [prepared.path / file.name for file in prepared.files]
            revisions = {prepared.repository: prepared.revision}
        samples = from_source.samples(spec["task"], spec["source"], files)
    else:
        if source is not None:
            registry.load_files([source])
        samples = _defined(spec["task"])
    distinct = _distinct(spec["task"], samples, spec.get("limit"), folds="import" not in spec)
    if not distinct:
        raise InputError(_nothing(spec, source))
    frame = pd.DataFrame(
        {
            "sample_id": list(distinct),
            "question": [sample.question for sample in distinct.values()],
            "references": [list(sample.references) for sample in distinct.values()],
            "choices": [None if sample.choices is None else list(sample.choices) for sample in distinct.values()],
            "answer_kind": [sample.answer_kind for sample in distinct.values()],
        }
    )
    tables.write(frame, output, tables.TASK, spec, revisions)
    log.info("%s: %d questions", spec["task"], len(frame))


def _distinct(task: str, samples: Iterable[Sample], limit: int | None, folds: bool) -> dict[str, Sample]:
    """Sample id → sample, each once, in the order of the source.

    With a limit, those with the smallest ids are kept. An id is a hash of the sample's content, so the choice looks like a draw, is
    the same in every run, and a higher limit keeps what a lower one chose.
    """
    found: dict[str, Sample] = {}
    count = 0
    for count, sample in enumerate(samples, 1):  # noqa: B007
        found.setdefault(tables.sample_id(task, sample.question, sample.references), sample)
    if folds and len(found) < count:
        log.info("%s: %d samples repeat another and are folded", task, count - len(found))
    if limit is None or limit >= len(found):
        return found
    log.info("%s: limited to %d of %d questions", task, limit, len(found))
    chosen = set(sorted(found)[:limit])
    return {name: sample for name, sample in found.items() if name in chosen}


def _nothing(spec: Mapping[str, Any], source: str | Path | None) -> str:
    if "import" in spec:
        return (
            f"{source}: no question of task {spec['task']!r} falls between {spec['part']['question_split']}; "
            f"widen tasks.imported.{spec['task']}.question_split"
        )
    return f"task {spec['task']!r}: its function yields no sample; let it yield at least one"


def answer_kind(question: str, references: Sequence[str], choices: Sequence[str] | None = None) -> str:
    """What a right answer of an imported question looks like: `choice`, `number` or `text`."""
    has_options = choices is not None or tables.question_stem(question) != question
    if has_options and LETTER.fullmatch(references[0]):
        return "choice"
    return "number" if all(NUMBER.fullmatch(reference) for reference in references) else "text"


def _imported(spec: Mapping[str, Any], source: str | Path) -> Iterator[Sample]:
    """One sample per distinct question with its references."""
    needs = [] if spec["import"]["columns"]["choices"] is None else ["choices"]
    rows = task_rows.of_task(spec, source, needs).drop_duplicates("sample_id")
    choices: Iterable[list[str] | None] = rows["choices"] if needs else [None] * len(rows)
    for question, references, options in zip(rows["question"], rows["references"], choices, strict=True):
        kind = answer_kind(question, references, options)
        yield Sample(question, tuple(references), kind, None if options is None else tuple(options))


def _defined(name: str) -> Iterator[Sample]:
    """The samples of a task function, each checked."""
    samples: Any = registry.find(name).samples()
    if not isinstance(samples, Iterable):
        raise InputError(f"task {name!r}: its function gives a {type(samples).__name__}; let it yield samples")
    for number, sample in enumerate(samples, 1):
        if fault := _fault(sample):
            raise InputError(f"task {name!r}: sample {number}: {fault}")
        yield sample


def _fault(sample: object) -> str | None:
    """What is wrong with what a task function yielded."""
    if not isinstance(sample, Sample):
        return f"it is a {type(sample).__name__}; yield bert_judge.tasks.Sample objects"
    if not _is_filled(sample.question):
        return f"its question is {sample.question!r:.80}; give a text that is not empty"
    # A bare text is a sequence of texts too, its letters.
    if not _are_filled(sample.references) or not sample.references:
        return f"its references are {sample.references!r:.80}; give a tuple of at least one text, none empty"
    if sample.choices is not None and not _are_filled(sample.choices):
        return f"its choices are {sample.choices!r:.80}; give None or a tuple of texts, none empty"
    if any(tables.storable(text) != text for text in (sample.question, *sample.references, *(sample.choices or ()))):
        return "it has half a character (a lone surrogate), which no file can hold; remove it"
    if sample.answer_kind not in tables.ANSWER_KINDS:
        return f"its answer_kind is {sample.answer_kind!r}; give one of {', '.join(tables.ANSWER_KINDS)}"
    return None


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_filled(values: object) -> bool:
    return isinstance(values, list | tuple) and all(map(_is_filled, values))
