"""Labelled pairs as judges of any kind learn from them: read, parted by question, and what a judge is worth on those held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.pairwise.augmentation import Example
from bert_judge.judges.pairwise.protocol import Pair, PairJudge
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

TARGETS = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True)
class Lesson:
    """The labelled pairs of some sets.

    Attributes:
        train, held_out: they share no question.
        fingerprint: of all pairs, labelled or not.
    """

    train: list[Example]
    held_out: list[Example]
    fingerprint: str


def read(spec: Mapping[str, Any], pairs: Sequence[str | Path], seed: int) -> Lesson:
    """Read what a judge learns from.

    Args:
        spec: uses `judge`, `pairs` (names of the sets) and `validation_fraction`, the share of the questions that is held out.
        pairs: tables of pairs; those without a label are left out.
        seed: of the split.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on either side of the split.
    """
    frame = pd.concat([tables.read(path, tables.PAIRS) for path in pairs], ignore_index=True).drop_duplicates("pair_id")
    train, held_out = split(labelled(frame), spec["validation_fraction"], seed)
    for what, rows in (("train on", train), ("validate with", held_out)):
        if not rows:
            raise InputError(
                f"judge {spec['judge']}: the pairs of {', '.join(spec['pairs'])} leave no labelled row to {what}; add pairs"
            )
    return Lesson(train, held_out, tables.fingerprint(frame))


def labelled(frame: pd.DataFrame) -> list[Example]:
    """The labelled pairs of a table. Where people voted, the target is the mean of their votes, a tie being half a vote."""
    found = []
    for row in frame[frame["label"].notna()].to_dict("records"):
        votes = row["votes"] if isinstance(row["votes"], list) and row["votes"] else [row["label"]]
        references = row["references"] if isinstance(row["references"], list) else []
        pair = Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))
        reason = row.get("reason")
        found.append(Example(pair, sum(TARGETS[vote] for vote in votes) / len(votes), reason if isinstance(reason, str) else None))
    return found


def split(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """Training rows and held-out rows; all pairs of a question are on one side, whatever file they come from."""
    held_out = [_point(example, seed) < share for example in examples]
    return (
        [example for example, held in zip(examples, held_out, strict=True) if not held],
        [example for example, held in zip(examples, held_out, strict=True) if held],
    )


def _point(example: Example, seed: int) -> float:
    # Not the point by which sets are parted (`tables.question_point`): all rows of a set may lie on one side of it.
    return keyed_random.fraction("validation", seed, tables.question_key(tables.question_stem(example.pair.question)))


def measure(judge: PairJudge, examples: Sequence[Example]) -> dict[str, float]:
    """How often the judge says what people say, and what it says in both orders.

    Returns:
        n, agreement, consistency, ties and log_loss of P(A) against the label, over pairs in both orders.
    """
    found = judge.compare([example.pair for example in examples])
    told = np.array([example.label for example in examples])
    said = np.array([TARGETS.get(one.verdict, np.nan) for one in found])
    scores = np.clip([one.score if one.score is not None else 0.5 for one in found], 1e-6, 1 - 1e-6)
    truth = np.where(told > 0.5, 1.0, np.where(told < 0.5, 0.0, 0.5))
    return {
        "n": float(len(examples)),
        "agreement": float(np.mean(said == truth)),
        "consistency": float(np.mean([bool(one.consistent) for one in found])),
        "ties": float(np.mean(said == 0.5)),
        "log_loss": float(-np.mean(told * np.log(scores) + (1 - told) * np.log(1 - scores))),
    }
