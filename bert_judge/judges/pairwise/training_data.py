"""Labelled pairs as training data: reading, splitting by question, augmentation, encoding for a language model, and evaluation.

The augmentations `swap`, `support_reference` and `drop_reference` follow JudgeLM (Zhu et al. 2023, section 4). They depend on a
row's content and the seed only, and on independent draws.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.candidates.finetuning import Example, encode_completion, encode_examples
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.judges.pairwise import prompting
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.protocol import Pair, PairJudge
from bert_judge.runtime import keyed_random, metrics
from bert_judge.runtime.errors import InputError

TARGETS = {"A": 1.0, "tie": 0.5, "B": 0.0}

# The names of the two answers in a text: a noun, and a letter or number.
_NAME = r"\b(?P<noun>assistant|answer|response|candidate|output|model|ai)(?P<gap>[ _-]?)(?P<label>[12]|[AB])\b"
_NAME_IN_REASON = re.compile(_NAME, re.IGNORECASE)
# A question may contain "the answer 1's digit"; a reason says "Assistant 1's answer".
_NAME_IN_QUESTION = re.compile(rf"{_NAME}(?!['’])", re.IGNORECASE)
_OTHER_LABEL = {"1": "2", "2": "1", "A": "B", "B": "A"}
REFERENCE = "Reference answer: "


@dataclass(frozen=True)
class LabelledPair:
    """A pair with an explanation, if there is one, and its label: 1 if A is better, 0 if B is, 0.5 for a tie.

    The label of several votes may lie between.
    """

    pair: Pair
    label: float
    reason: str | None = None


@dataclass(frozen=True)
class PairSplit:
    """The labelled pairs of some sets; `train` and `held_out` share no question, and `fingerprint` covers unlabelled pairs too."""

    train: list[LabelledPair]
    held_out: list[LabelledPair]
    fingerprint: str


def read_split(spec: Mapping[str, Any], pairs: Sequence[str | Path], seed: int) -> PairSplit:
    """Read labelled pairs, and split them by question.

    Args:
        spec: uses `judge`, `pairs` (names of the sets) and `validation_fraction`, the share of the questions that is held out.
        pairs: tables of pairs; unlabelled ones are left out.

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
        reason = row.get("reason")
        label = sum(TARGETS[vote] for vote in votes) / len(votes)
        labelled.append(LabelledPair(pair, label, reason if isinstance(reason, str) else None))
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


# --- augmentation ---


def augment(rows: Sequence[LabelledPair], settings: PairAugment, seed: int) -> list[LabelledPair]:
    """Return the training rows: the same rows in the same order, some of them modified, followed by the copies."""

    def is_sampled(row: LabelledPair, share: float, augmentation: str) -> bool:
        pair = row.pair
        draw = keyed_random.fraction(augmentation, seed, pair.question, *pair.references, "answers", pair.answer_a, pair.answer_b)
        return draw < share

    modified = []
    for row in rows:
        if row.pair.references and is_sampled(row, settings.drop_reference, "drop"):
            result = replace(row, pair=replace(row.pair, references=()))
        else:
            result = row
        modified.append(swap(result) if is_sampled(row, settings.swap, "swap") else result)
    swapped_copies = [
        swap(result) for row, result in zip(rows, modified, strict=True) if is_sampled(row, settings.both_orders, "both orders")
    ]
    reference_copies = [
        replace(row, pair=move_reference_to_question(row.pair))
        for row in rows
        if row.pair.references and is_sampled(row, settings.support_reference, "support")
    ]
    return [*modified, *swapped_copies, *reference_copies]


def swap(row: LabelledPair) -> LabelledPair:
    """Swap the answers, the label, and the names of the answers in question and reason."""
    pair = row.pair.swapped
    reason = None if row.reason is None else swap_names(row.reason, _NAME_IN_REASON)
    return LabelledPair(replace(pair, question=swap_names(pair.question)), 1.0 - row.label, reason)


def swap_names(text: str, pattern: re.Pattern[str] = _NAME_IN_QUESTION) -> str:
    """Replace "Assistant 1" by "Assistant 2", "response B" by "response A" and so on, keeping case and spelling.

    Letters count only as capitals: "answer a" is a phrase.
    """

    def other_name(match: re.Match[str]) -> str:
        label = match["label"]
        return f"{match['noun']}{match['gap']}{_OTHER_LABEL[label]}" if label in _OTHER_LABEL else match[0]

    return pattern.sub(other_name, text)


def move_reference_to_question(pair: Pair) -> Pair:
    """Append the first reference to the question's text and drop the others."""
    if not pair.references:
        return pair
    return replace(pair, question=f"{pair.question}\n\n{REFERENCE}{pair.references[0]}", references=())


# --- texts for a language model ---


def score_line(label: float) -> str:
    """Return the scores that express a label, one of `prompting.SCORES`: 9 1 if A is better, 5 5 for a tie."""
    return prompting.SCORES[len(prompting.SCORES) - 1 - round(label * (len(prompting.SCORES) - 1))]


def target_texts(row: LabelledPair) -> list[str]:
    """Return the completion to learn: the scores and, from the next line on, the reason, if there is one."""
    reason = (row.reason or "").strip()
    return [score_line(row.label), *([f"\n{reason}"] if reason else [])]


def encode(
    rows: Sequence[LabelledPair], encoder: PromptEncoder, eos_ids: frozenset[int], settings: Mapping[str, Any], max_length: int
) -> tuple[list[Example], int]:
    """Encode the pairs, each in its own order; return the examples and the number of pairs left out.

    A pair whose prompt and completion together are too long is left out: the judge never gets a truncated prompt, and a truncated
    completion would teach the model to stop in the middle. `settings` are those of the judge.
    """

    def prompt(pair: Pair) -> str:
        rendered = prompting.render_pair(pair, settings["seed"], settings["max_answer_chars"])
        return prompting.build_prompt(rendered, prompting.TUNED)

    pairs = ((prompt(row.pair), target_texts(row)) for row in rows)
    return encode_examples(partial(encode_completion, encoder, eos_ids), pairs, max_length, "lower max_answer_chars")
