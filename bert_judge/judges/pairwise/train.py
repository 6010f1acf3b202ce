"""The stages that train a pairwise judge, an encoder or a language model, on tables of labelled pairs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables
from bert_judge.assets.prepare import Manifest, load_manifest
from bert_judge.candidates.finetuning import MANIFEST, METRICS, fine_tune
from bert_judge.config import HFModel, Training, Tuning
from bert_judge.judges.bert.checkpoint import JudgeMetadata
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.judges.model_card import code_block, metrics_table, training_table, write_model_card
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.pairwise.llm import from_metadata
from bert_judge.judges.pairwise.training_data import augment, encode, measure, read_split
from bert_judge.runtime import resume

log = logging.getLogger(__name__)

INPUT = {
    "symmetric": "It scores both orders, A before B and B before A; their difference decides, so it has no position bias.",
    "pointwise": "It scores each answer separately; their difference decides, so it has no position bias.",
    "single_order": "It scores one order at a time, and may contradict itself when the answers are swapped.",
}
_USAGE = """\
from bert_judge.judges.pairwise import Pair
from bert_judge.judges.pairwise.llm import load_pair_judge

judge = load_pair_judge("path/to/this/folder/judge.json", "{name}")
judge.compare([Pair("Name a fruit.", "An apple.", "Granite.")])[0].verdict"""


def train_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    backbone: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    micro_batch_size: int | None = None,
) -> None:
    """Train an encoder, calibrate its ties on held-out questions, and measure it there.

    Args:
        spec: of `Plan.pair_judge_spec`.
        pairs: tables of pairs; unlabelled ones are left out.
        backbone: manifest of the prepared backbone.
        folder: receives weights, tokenizer, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: holds the training checkpoints until the judge is complete.
    """
    folder, manifest, seed = Path(folder), load_manifest(backbone), spec["training"]["seed"]
    data = read_split(spec, pairs, seed)
    rows = augment(data.train, PairAugment.model_validate(spec["augment"]), seed)
    log.info("%d training pairs, %d of them augmented; %d held out", len(rows), len(rows) - len(data.train), len(data.held_out))
    judge = PairEncoderJudge(manifest.path, spec["compare"], spec["max_length"])
    training = Training.model_validate({**spec["training"], "micro_batch_size": micro_batch_size})
    # Checkpoints of other rows or another spec must not be resumed.
    checkpoints = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, data.fingerprint)
    training_metrics = judge.fit([row.pair for row in rows], [row.label for row in rows], training, checkpoints)
    judge.calibrate([row.pair for row in data.held_out], [row.label for row in data.held_out])
    metrics = measure(judge, data.held_out)
    log.info("held-out questions: %s", {name: round(value, 4) for name, value in metrics.items()})
    metadata = judge.checkpoint.metadata
    metadata.backbone, metadata.backbone_revision, metadata.spec = manifest.repository, manifest.revision, dict(spec)
    folder.mkdir(parents=True, exist_ok=True)
    # Without judge.json, which is written last, the folder does not count as a judge.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    tables.write_json(folder / METRICS, {"validation": metrics, "training": training_metrics})
    _write_encoder_card(folder, spec["judge"], metadata, metrics, len(data.train))
    judge.save(folder)
    resume.clear(work_folder)


def tune_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fine-tune a base model on the scores and, if present, reasons of labelled pairs, and measure it on held-out questions.

    Args:
        spec: of `Plan.tuned_judge_spec`.
        base: manifest of the prepared base model.
        folder: receives also the manifest.json of the tuned model.
        run_time: settings of `config.Tuning` that change no result.
        pairs, work_folder: as for `train_pair_judge`.
    """
    folder, manifest, name = Path(folder), load_manifest(base), spec["judge"]
    tuning = Tuning.model_validate({**spec["tuning"], **(run_time or {})})
    data = read_split(spec, pairs, tuning.seed)
    rows = augment(data.train, PairAugment.model_validate(spec["augment"]), tuning.seed)
    with_reasons = sum(bool(row.reason) for row in rows)
    log.info("%d training pairs, %d of them augmented, %d with reasons", len(rows), len(rows) - len(data.train), with_reasons)
    result = fine_tune(
        name,
        spec,
        tuning,
        manifest,
        lambda encoder, eos_ids, max_length: encode(rows, encoder, eos_ids, spec, max_length),
        data_fingerprint=data.fingerprint,
        folder=folder,
        work_folder=work_folder,
        completion_files=(JUDGE_FILE, MANIFEST, METRICS),
    )
    tables.write_json(folder / MANIFEST, result.manifest)
    base_model = {"generator": "hf", "model": manifest.repository, "revision": manifest.revision, **spec["settings"]}
    metadata = {
        "pairwise": {"writes": "scores"},
        "settings": {
            **{key: spec[key] for key in ("seed", "max_answer_chars")},
            "model": HFModel.model_validate(base_model).model_dump(mode="json"),
        },
        "backbone": manifest.repository,
        "backbone_revision": manifest.revision,
        "spec": dict(spec),
        "program": f"bert-judge {__version__}",
    }
    metrics = measure(from_metadata(metadata, folder, name, result.manifest["revision"]), data.held_out)
    log.info("held-out questions: %s", {key: round(value, 4) for key, value in metrics.items()})
    training_metrics = {"pairs": result.examples, "left_out": result.left_out, "reasons": with_reasons, **result.metrics}
    tables.write_json(folder / METRICS, {"validation": metrics, "training": training_metrics})
    _write_tuned_card(folder, spec, manifest, metrics, training_metrics)
    tables.write_json(folder / JUDGE_FILE, metadata)
    resume.clear(work_folder)


# --- model cards ---


def _write_encoder_card(
    folder: str | Path, name: str, metadata: JudgeMetadata, metrics: Mapping[str, float], training_pairs: int
) -> None:
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


def _write_tuned_card(
    folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, float], training: Mapping[str, Any]
) -> None:
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
