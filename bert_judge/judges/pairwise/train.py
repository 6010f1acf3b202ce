"""The stage that trains a pairwise judge on tables of labelled pairs: reading, splitting by question, training, evaluation."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import __version__, tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.config import Training
from bert_judge.judges.bert.checkpoint import JudgeMetadata
from bert_judge.judges.bert.judge_folder import JUDGE_FILE, METRICS
from bert_judge.judges.model_card import code_block, metrics_table, write_model_card
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.pairwise.protocol import Pair, PairJudge
from bert_judge.runtime import keyed_random, metrics, resume
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

TARGETS = {"A": 1.0, "tie": 0.5, "B": 0.0}
_USAGE = """\
from bert_judge.judges.pairwise import Pair
from bert_judge.judges.pairwise.encoder import PairEncoderJudge

judge = PairEncoderJudge("path/to/this/folder")
judge.compare([Pair("Name a fruit.", "An apple.", "Granite.")])[0].verdict"""


@dataclass(frozen=True)
class LabelledPair:
    """A pair with its label: 1 if A is better, 0 if B is, 0.5 for a tie; that of several votes may lie between."""

    pair: Pair
    label: float


@dataclass(frozen=True)
class PairSplit:
    """The labelled pairs of some sets; `train` and `held_out` share no question, and `fingerprint` covers unlabelled pairs too."""

    train: list[LabelledPair]
    held_out: list[LabelledPair]
    fingerprint: str


def train_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    backbone: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    micro_batch_size: int | None = None,
) -> None:
    """Train an encoder, calibrate its ties on held-out questions, and measure it there.

    `folder` receives weights, tokenizer, metrics.json, README.md and, last, judge.json; `work_folder` holds training checkpoints.
    """
    folder, manifest, seed = Path(folder), load_manifest(backbone), spec["training"]["seed"]
    data = read_split(spec, pairs, seed)
    log.info("%d training pairs, %d held out", len(data.train), len(data.held_out))
    judge = PairEncoderJudge(manifest.path, spec["max_length"])
    training = Training.model_validate({**spec["training"], "micro_batch_size": micro_batch_size})
    # Checkpoints of other rows or another spec must not be resumed.
    checkpoints = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, data.fingerprint)
    training_metrics = judge.fit([row.pair for row in data.train], [row.label for row in data.train], training, checkpoints)
    judge.calibrate([row.pair for row in data.held_out], [row.label for row in data.held_out])
    held_out_metrics = measure(judge, data.held_out)
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in held_out_metrics.items()})
    metadata = judge.checkpoint.metadata
    metadata.backbone, metadata.backbone_revision, metadata.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # Without judge.json, which is written last, the folder does not count as a judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    tables.write_json(folder / METRICS, {"validation": held_out_metrics, "training": training_metrics})
    _write_card(folder, spec["judge"], metadata, held_out_metrics, len(data.train))
    judge.save(folder)
    resume.clear(work_folder)


def read_split(spec: Mapping[str, Any], pairs: Sequence[str | Path], seed: int) -> PairSplit:
    """Read labelled pairs, and split them by question.

    Raises:
        InputError: a table cannot be read, or there are no labelled pairs on one side of the split.
    """
    frame = pd.concat([tables.read(path, tables.PAIRS) for path in pairs], ignore_index=True).drop_duplicates("pair_id")
    train, held_out = split(labelled_pairs(frame), spec["validation_fraction"], seed)
    for purpose, rows in (("train on", train), ("validate with", held_out)):
        if not rows:
            names = ", ".join(spec["pairs"])
            raise InputError(f"judge {spec['judge']}: the pairs of {names} leave no labelled row to {purpose}; add pairs")
    return PairSplit(train, held_out, tables.fingerprint(frame))


def labelled_pairs(frame: pd.DataFrame) -> list[LabelledPair]:
    """Return the labelled pairs of a table. The label of several votes is their mean, a tie being half a vote."""
    labelled = []
    for row in frame[frame["label"].notna()].to_dict("records"):
        votes = row["votes"] if isinstance(row["votes"], list) and row["votes"] else [row["label"]]
        references = row["references"] if isinstance(row["references"], list) else []
        pair = Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))
        labelled.append(LabelledPair(pair, sum(TARGETS[vote] for vote in votes) / len(votes)))
    return labelled


def split(rows: Sequence[LabelledPair], held_out_share: float, seed: int) -> tuple[list[LabelledPair], list[LabelledPair]]:
    """Split into training and held-out rows; all pairs of a question are on one side, even if they come from different files."""
    train: list[LabelledPair] = []
    held_out: list[LabelledPair] = []
    for row in rows:
        # A different draw from the one that splits sets (`tables.question_point`), where all rows of a set may be on one side.
        key = tables.question_key(tables.question_stem(row.pair.question))
        (held_out if keyed_random.fraction("validation", seed, key) < held_out_share else train).append(row)
    return train, held_out


def measure(judge: PairJudge, rows: Sequence[LabelledPair]) -> dict[str, float]:
    """Measure n, agreement, consistency, share of ties and log-loss of P(A) of a judge's verdicts on both orders."""
    preferences = judge.compare([row.pair for row in rows])
    labels = np.array([row.label for row in rows])
    verdicts = [preference.verdict for preference in preferences]
    scores = np.clip([0.5 if preference.score is None else preference.score for preference in preferences], 1e-6, 1 - 1e-6)
    truth = ["A" if label > 0.5 else "B" if label < 0.5 else "tie" for label in labels]
    return {
        "n": float(len(rows)),
        "agreement": metrics.accuracy(truth, verdicts),
        "consistency": float(np.mean([bool(preference.consistent) for preference in preferences])),
        "ties": verdicts.count("tie") / len(rows),
        "log_loss": float(-np.mean(labels * np.log(scores) + (1 - labels) * np.log(1 - scores))),
    }


def _write_card(
    folder: str | Path, name: str, metadata: JudgeMetadata, held_out_metrics: Mapping[str, float], training_pairs: int
) -> None:
    names = ", ".join(f"`{pair_set}`" for pair_set in metadata.spec["pairs"])
    ties = (
        "The difference d of its two logits gives P(A) : P(tie) : P(B) = exp(d/2T) : ν : exp(−d/2T), with "
        f"T = {metadata.temperature:.3f} and ln ν = {metadata.pairwise['log_nu']:.3f} (Davidson 1970)."
    )
    write_model_card(
        folder,
        title=name,
        introduction=(
            f"A judge that decides which of two answers to a question is better. Trained by bert-judge {__version__} from "
            f"`{metadata.backbone}` ({metadata.backbone_revision}) on {training_pairs} labelled pairs of {names}. It scores both "
            "orders, A before B and B before A; their difference decides, so it has no position bias."
        ),
        sections={
            "Evaluation": f"On {held_out_metrics['n']:.0f} pairs of held-out questions, each in both orders:\n\n"
            f"{metrics_table(held_out_metrics)}\n\nThe tie parameters were fitted on the same pairs, so the share of ties and "
            "the agreement are slightly optimistic.",
            "Usage": f"{code_block(_USAGE)}\n\n{ties}",
        },
        base_model=metadata.backbone,
        pipeline_tag="text-classification",
        tags=("evaluation", "pairwise-comparison"),
        spec=metadata.spec,
    )
