"""The stage that writes tables of pairs: two models' answers to the same questions, or the pairs of an imported file."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.candidates.importers import pair_rows
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

KEY = ["sample_id", "attempt"]


def import_pairs(spec: Mapping[str, Any], source: str | Path, output: str | Path) -> None:
    """Write the table of a set that comes from a file.

    Args:
        spec: `Plan.pairs_spec`.

    Raises:
        InputError: the file cannot be read, or no pair is in the set's part of the questions.
    """
    frame = pair_rows.of_set(spec, source)
    if frame.empty:
        raise InputError(f"{source}: no pair falls between {spec['question_split']}; widen pairs.{spec['set']}.question_split")
    tables.write(frame, output, tables.PAIRS, spec)
    log.info("%s: %d pairs, %d with a label", spec["set"], len(frame), int(frame["label"].notna().sum()))


def build_pairs(
    spec: Mapping[str, Any],
    answers: Sequence[Sequence[str | Path]],
    gold: Sequence[Sequence[str | Path]],
    output: str | Path,
) -> None:
    """Write the pairs of two models: their answers to the same question and attempt, in places that are drawn for each.

    Args:
        spec: `Plan.pairs_spec`.
        answers: of either model, the candidates tables in the order of the spec's tasks.
        gold: of either model, the gold judge's tables of verdicts in the same order; empty without a gold judge.

    Raises:
        InputError: a table cannot be read.
    """
    one, other = (_answers(spec["tasks"], paths, gold[side] if gold else ()) for side, paths in enumerate(answers))
    both = one.merge(other.drop(columns=["task", "question", "references"]), on=KEY, suffixes=("_1", "_2"), validate="one_to_one")
    seed, (first, second) = spec["seed"], spec["models"]
    if spec["rows"] is not None:
        chosen = sorted(set(both["sample_id"]), key=lambda sample: keyed_random.fraction("rows", seed, first, second, sample))
        both = both[both["sample_id"].isin(chosen[: spec["rows"]])]
    rows = [
        _pair(row, keyed_random.fraction("place", seed, first, second, row["sample_id"]) < 0.5) for row in both.to_dict("records")
    ]
    frame = pd.DataFrame(rows, columns=tables.PAIRS.names)
    # Several attempts may have brought the same two answers.
    frame = frame.drop_duplicates("pair_id")
    tables.write(frame, output, tables.PAIRS, spec)
    log.info("%s: %d pairs of %s and %s", spec["set"], len(frame), first, second)


def _answers(tasks: Iterable[str], paths: Sequence[str | Path], gold: Sequence[str | Path]) -> pd.DataFrame:
    """A model's answers to all tasks with the task's name and gold's verdict, None where there is none."""
    frames = []
    for place, (task, path) in enumerate(zip(tasks, paths, strict=True)):
        frame = tables.read(path, tables.CANDIDATES).assign(task=task)
        if gold:
            verdicts = tables.read(gold[place], tables.LABELS)[[*KEY, "verdict"]]
            frame = frame.merge(verdicts, on=KEY, how="left", validate="one_to_one")
        else:
            frame["verdict"] = None
        frames.append(frame)
    columns = [*KEY, "task", "question", "references", "model", "candidate", "status", "verdict"]
    return pd.concat(frames, ignore_index=True)[columns]


def _pair(row: Mapping[Any, Any], turned: bool) -> dict[str, Any]:
    """A row of the table of pairs.

    Args:
        turned: the second model's answer is A.
    """
    a, b = ("2", "1") if turned else ("1", "2")
    models = row[f"model_{a}"], row[f"model_{b}"]
    answers = row[f"candidate_{a}"], row[f"candidate_{b}"]
    return {
        "pair_id": tables.pair_id(row["sample_id"], *models, *answers),
        "sample_id": row["sample_id"],
        "task": row["task"],
        "question": row["question"],
        "references": row["references"],
        "answer_a": answers[0],
        "answer_b": answers[1],
        "model_a": models[0],
        "model_b": models[1],
        "status_a": row[f"status_{a}"],
        "status_b": row[f"status_{b}"],
        "label": preferred(row[f"verdict_{a}"], row[f"verdict_{b}"]),
        "votes": None,
    }


def preferred(verdict_a: str | None, verdict_b: str | None) -> str | None:
    """Which answer is better by a judge of single answers; None where it decided on one only, or on none."""
    if verdict_a not in ("correct", "incorrect") or verdict_b not in ("correct", "incorrect"):
        return None
    if verdict_a == verdict_b:
        return "tie"
    return "A" if verdict_a == "correct" else "B"
