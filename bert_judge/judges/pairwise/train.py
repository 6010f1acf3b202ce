"""The stage that trains a pairwise judge on tables of labelled pairs: reading, splitting by question, training, evaluation."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.config import Training
from bert_judge.encoder.judge_folder import JUDGE_FILE, METRICS
from bert_judge.judges.model_card import metrics_table, render, write_encoder_card
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.protocol import Pair, PairJudge
from bert_judge.judges.registry import TrainingContext
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import metrics

log = logging.getLogger(__name__)

TARGETS = {"A": 1.0, "tie": 0.5, "B": 0.0}


def train_pair_judge(context: TrainingContext) -> None:
    """Train an encoder, calibrate its ties on held-out questions, and measure it there."""
    spec, folder, manifest = context.spec, context.folder, load_manifest(context.inputs["backbone"])
    train, held_out, fingerprint = read_split(spec, context.inputs["pairs"], spec["training"]["seed"])
    log.info("%d training pairs, %d held out", len(train), len(held_out))
    judge = PairEncoderJudge(manifest.path, spec["max_length"])
    checkpoints = context.checkpoints(manifest.revision, fingerprint)
    training_metrics = judge.fit(to_pairs(train), train["target"].tolist(), context.settings(Training), checkpoints)
    judge.calibrate(to_pairs(held_out), held_out["target"].tolist())
    held_out_metrics = measure(judge, to_pairs(held_out), held_out["target"].to_numpy())
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in held_out_metrics.items()})
    judge.checkpoint.update(backbone=manifest.repository, backbone_revision=manifest.revision, spec=dict(spec))
    # Without judge.json, which is written last, the folder does not count as a judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    tables.write_json(folder / METRICS, {"validation": held_out_metrics, "training": training_metrics})
    metadata = judge.checkpoint.metadata
    introduction = render(
        "pairwise/card.md.jinja",
        judge=metadata,
        metrics=held_out_metrics,
        metrics_table=metrics_table(held_out_metrics),
        training_pairs=len(train),
    )
    write_encoder_card(folder, metadata, introduction, "pairwise-comparison")
    judge.save(folder)


def read_split(spec: Mapping[str, Any], pairs: Sequence[str | Path], seed: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return labelled pairs to train on, others of held-out questions, and a fingerprint of all pairs.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on one side of the split.
    """
    frame = pd.concat([tables.read(path, tables.PAIRS) for path in pairs], ignore_index=True).drop_duplicates("pair_id")
    train, held_out = split(labelled_pairs(frame), spec["validation_fraction"], seed)
    for purpose, rows in (("train on", train), ("validate with", held_out)):
        if rows.empty:
            names = ", ".join(spec["pairs"])
            raise InputError(f"judge {spec['judge']}: the pairs of {names} leave no labelled row to {purpose}; add pairs")
    return train, held_out, tables.fingerprint(frame)


def labelled_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a label, as `target` from 1 (A is better) to 0 (B is): the mean of the votes, a tie being half."""
    rows = frame[frame["label"].notna()]
    votes = rows["votes"].where(rows["votes"].map(bool) & rows["votes"].notna(), rows["label"].map(lambda label: [label]))
    return rows.assign(target=[sum(TARGETS[vote] for vote in of_row) / len(of_row) for of_row in votes])


def split(rows: pd.DataFrame, held_out_share: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split into training and held-out rows; all pairs of a question are on one side, even if they come from different files."""
    # A different draw from the one that splits sets (`tables.question_point`), where all rows of a set may be on one side.
    keys = rows["question"].map(lambda question: tables.question_key(tables.question_stem(question)))
    is_held_out = keys.map(lambda key: keyed_random.fraction("validation", seed, key)) < held_out_share
    return rows[~is_held_out], rows[is_held_out]


def to_pairs(rows: pd.DataFrame) -> list[Pair]:
    """Return the rows of a table of pairs as input of a judge."""
    columns = zip(rows["question"], rows["answer_a"], rows["answer_b"], rows["references"], strict=True)
    return [
        Pair(question, a, b, tuple(references) if isinstance(references, list) else ()) for question, a, b, references in columns
    ]


def measure(judge: PairJudge, pairs: Sequence[Pair], labels: np.ndarray) -> dict[str, float]:
    """Measure n, agreement, consistency, share of ties and log-loss of P(A) of a judge's verdicts on both orders."""
    preferences = judge.compare(pairs)
    verdicts = [preference.verdict for preference in preferences]
    scores = np.clip([0.5 if preference.score is None else preference.score for preference in preferences], 1e-6, 1 - 1e-6)
    truth = ["A" if label > 0.5 else "B" if label < 0.5 else "tie" for label in labels]
    return {
        "n": float(len(pairs)),
        "agreement": metrics.accuracy(truth, verdicts),
        "consistency": float(np.mean([bool(preference.consistent) for preference in preferences])),
        "ties": verdicts.count("tie") / len(pairs),
        "log_loss": float(-np.mean(labels * np.log(scores) + (1 - labels) * np.log(1 - scores))),
    }
