"""The stage that writes a task's table: questions and references, out of a task function or an imported file."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.errors import InputError
from bert_judge.importers import task_rows
from bert_judge.tasks import registry
from bert_judge.tasks.registry import Sample

log = logging.getLogger(__name__)

# 18, -3.5, 1,234.50, .5, 2e10, $18 or 12%.
NUMBER = re.compile(r"[-+]?\s?[$€£]?\s?((\d{1,3}(,\d{3})+|\d+)(\.\d*)?|\.\d+)(e[-+]?\d+)?\s?%?", re.IGNORECASE)
LETTER = re.compile(r"[A-Z]")


def build_task(spec: Mapping[str, Any], output: str | Path, source: str | Path | None = None) -> None:
    """Write the task table.

    Args:
        spec: `Plan.task_spec`; with an `import`, the questions come from a file.
        source: that file, or the Python file that defines the task; None for a built-in task.

    Raises:
        InputError: the file cannot be read, there is no such task, a sample is not sound, or there is none.
    """
    if "import" in spec:
        assert source is not None
        samples = list(_imported(spec, source))
        if not samples:
            raise InputError(
                f"{source}: no question of task {spec['task']!r} falls between {spec['part']['questions']}; "
                f"widen tasks.imported.{spec['task']}.questions"
            )
    else:
        if source is not None:
            registry.load_files([source])
        samples = list(_defined(spec["task"]))
        if not samples:
            raise InputError(f"task {spec['task']!r}: its function yields no sample; let it yield at least one")
    frame = pd.DataFrame(
        {
            "sample_id": [tables.sample_id(spec["task"], sample.question, sample.references) for sample in samples],
            "question": [sample.question for sample in samples],
            "references": [list(sample.references) for sample in samples],
            "choices": [None if sample.choices is None else list(sample.choices) for sample in samples],
            "answer_kind": [sample.answer_kind for sample in samples],
        }
    )
    distinct = frame.drop_duplicates("sample_id")
    if len(distinct) < len(frame) and "import" not in spec:
        log.info("%s: %d samples repeat another and are folded", spec["task"], len(frame) - len(distinct))
    tables.write(distinct, output, tables.TASK, spec)
    log.info("%s: %d questions", spec["task"], len(distinct))


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
