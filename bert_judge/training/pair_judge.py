"""The stage that makes a trained judge of two answers: tables of labelled pairs and a backbone in, a folder out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import draws, shards, tables
from bert_judge.config import PairAugment, Training
from bert_judge.encoder.on_disk import CARD
from bert_judge.errors import InputError
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.pairwise.protocol import Pair
from bert_judge.prepare import load_manifest
from bert_judge.training.pair_augmentation import Example, augmented
from bert_judge.training.pair_card import write_pair_card

log = logging.getLogger(__name__)

TARGETS = {"A": 1.0, "tie": 0.5, "B": 0.0}


def train_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    backbone: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    rows_at_once: int | None = None,
) -> None:
    """Train a judge, learn on held-out questions when two answers tie, and measure it there.

    Args:
        spec: of `Plan.pair_judge_spec`.
        pairs: tables of pairs; those without a label are left out.
        backbone: manifest of the prepared backbone.
        folder: gets weights, tokenizer, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: keeps the training's checkpoints until the judge is whole.
        rows_at_once: see `config.Training`; it changes no result.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on either side of the split.
    """
    folder, manifest = Path(folder), load_manifest(backbone)
    frame = pd.concat([tables.read(path, tables.PAIRS) for path in pairs], ignore_index=True).drop_duplicates("pair_id")
    train, held_out = split(labelled(frame), spec["validation"], spec["training"]["seed"])
    for what, rows in (("train on", train), ("validate with", held_out)):
        if not rows:
            raise InputError(
                f"judge {spec['judge']}: the pairs of {', '.join(spec['pairs'])} leave no labelled row to {what}; add pairs"
            )
    seed, settings = spec["training"]["seed"], PairAugment.model_validate(spec["augment"])
    learnt = augmented(train, settings, seed)
    log.info("%d pairs to train on, %d of them made up; %d held out", len(learnt), len(learnt) - len(train), len(held_out))
    judge = PairEncoderJudge(manifest.path, spec["compare"], spec["max_length"])
    training = Training.model_validate({**spec["training"], "rows_at_once": rows_at_once})
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / shards.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(frame))
    figures = judge.fit([row.pair for row in learnt], [row.label for row in learnt], training, progress)
    judge.calibrate([row.pair for row in held_out], [row.label for row in held_out])
    metrics = measure(judge, held_out)
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in metrics.items()})
    card = judge.checkpoint.card
    card.backbone, card.backbone_revision, card.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # From here until the new one is written, last of all, the folder is no judge.
    (folder / CARD).unlink(missing_ok=True)
    with tables.atomic(folder / "metrics.json") as temporary:
        temporary.write_text(json.dumps({"validation": metrics, "training": figures}, indent=2) + "\n", encoding="utf-8")
    write_pair_card(folder, spec["judge"], card, metrics, len(train))
    judge.save(folder)
    shards.clear(work_folder)


def labelled(frame: pd.DataFrame) -> list[Example]:
    """The labelled pairs of a table. Where people voted, the target is the mean of their votes, a tie being half a vote."""
    found = []
    for row in frame[frame["label"].notna()].to_dict("records"):
        votes = row["votes"] if isinstance(row["votes"], list) and row["votes"] else [row["label"]]
        references = row["references"] if isinstance(row["references"], list) else []
        pair = Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))
        found.append(Example(pair, sum(TARGETS[vote] for vote in votes) / len(votes)))
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
    return draws.fraction("validation", seed, tables.question_key(tables.question_stem(example.pair.question)))


def measure(judge: PairEncoderJudge, examples: Sequence[Example]) -> dict[str, float]:
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
