"""Model cards of trained pairwise judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import __version__
from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.finetuning.model_card import training_table
from bert_judge.judges.bert.checkpoint import JudgeMetadata
from bert_judge.judges.model_card import code_block, metrics_table, write_model_card

INPUT = {
    "symmetric": "It scores both orders, A before B and B before A; their difference decides, so it has no position bias.",
    "pointwise": "It scores each answer separately; their difference decides, so it has no position bias.",
    "single_order": "It scores one order at a time, and may contradict itself when the answers are swapped.",
}
_USAGE = """\
from bert_judge.judges.pairwise import Pair
from bert_judge.judges.pairwise.loading import load_pair_judge

judge = load_pair_judge("path/to/this/folder/judge.json", "{name}")
judge.compare([Pair("Name a fruit.", "An apple.", "Granite.")])[0].verdict"""


def write_encoder_card(
    folder: str | Path, name: str, metadata: JudgeMetadata, metrics: Mapping[str, float], training_pairs: int
) -> None:
    """Write the card of an encoder.

    Args:
        folder: of the judge.
        name: of the judge in the configuration.
        metadata: content of its judge.json.
        metrics: on the held-out questions.
        training_pairs: labelled pairs of the training split, before augmentation.
    """
    ties = (
        "The difference d of its two logits gives P(A) : P(tie) : P(B) = exp(d/2T) : ν : exp(−d/2T), with "
        f"T = {metadata.temperature:.3f} and ln ν = {metadata.pairwise['log_nu']:.3f} (Davidson 1970)."
    )
    write_model_card(
        folder,
        title=name,
        introduction=(
            f"A judge that decides which of two answers to a question is better. Trained by bert-judge {__version__} from "
            f"`{metadata.backbone}` ({metadata.backbone_revision}) on {training_pairs} labelled pairs of "
            f"{_names(metadata.spec)}. {INPUT[metadata.pairwise['compare']]}"
        ),
        sections={
            "Evaluation": f"{_evaluation(metrics)}\n\nThe tie parameters were fitted on the same pairs, so the share of ties and "
            "the agreement are slightly optimistic.",
            "Usage": f"{code_block(_USAGE.format(name=name))}\n\n{ties}",
        },
        base_model=metadata.backbone,
        pipeline_tag="text-classification",
        tags=("evaluation", "pairwise-comparison"),
        spec=metadata.spec,
    )


def write_tuned_card(
    folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, float], training: Mapping[str, Any]
) -> None:
    """Write the card of a tuned language model.

    Args:
        folder: of the judge.
        spec: of `Plan.tuned_judge_spec`.
        base: the base model.
        metrics: on the held-out questions.
        training: metrics of the training: pairs, left_out, reasons, steps, loss.
    """
    pairs = f"{training['pairs']} of {_names(spec)}, including augmented ones; {training['left_out']} left out as too long"
    write_model_card(
        folder,
        title=spec["judge"],
        introduction=(
            "A language model that decides which of two answers to a question is better: it first writes a score from 1 to 9 for "
            f"each, and may then give reasons. Tuned by bert-judge {__version__} from `{base.repository}` ({base.revision})."
        ),
        sections={
            "Training": training_table(spec["tuning"], training, {"pairs": pairs, "pairs with reasons": training["reasons"]}),
            "Evaluation": f"{_evaluation(metrics)}\n\nA pair with contradictory verdicts for its two orders counts as wrong.",
            "Usage": code_block(_USAGE.format(name=spec["judge"])),
        },
        base_model=base.repository,
        pipeline_tag="text-generation",
        tags=("evaluation", "pairwise-comparison"),
        spec=spec,
    )


def _evaluation(metrics: Mapping[str, float]) -> str:
    return f"On {metrics['n']:.0f} pairs of held-out questions, each in both orders:\n\n{metrics_table(metrics)}"


def _names(spec: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in spec["pairs"])
