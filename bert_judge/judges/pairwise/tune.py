"""The stage that tunes a language model to compare two answers: tables of labelled pairs and a base model in, a folder out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.finetuning.launch import launched
from bert_judge.candidates.finetuning.saving import MANIFEST, METRICS, save, write_json
from bert_judge.candidates.finetuning.trainer import tune
from bert_judge.candidates.generators import hf_model
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.config import HFModel, Tuning
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.judges.pairwise import training_rows, tuned
from bert_judge.judges.pairwise.augmentation import augmented
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.training_texts import encode
from bert_judge.judges.pairwise.tuned_card import write_tuned_card
from bert_judge.runtime import resume

log = logging.getLogger(__name__)


def tune_pair_judge(
    spec: Mapping[str, Any],
    pairs: Sequence[str | Path],
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fit a base model to scores of labelled pairs, with reasons where there are any, and measure it on held-out questions.

    Args:
        spec: of `Plan.tuned_judge_spec`.
        pairs: tables of pairs; those without a label are left out.
        base: manifest of the prepared base model.
        folder: gets weights, tokenizer, manifest.json, metrics.json, README.md (the model card) and, last, judge.json.
        work_folder: keeps the training's checkpoints until the judge is whole.
        run_time: settings of `config.Tuning` that change no result.

    Raises:
        InputError: a table or the base model cannot be read, there are no labelled pairs on either side of the split, or none fits
            into the model's window.
    """
    folder, manifest, name = Path(folder), load_manifest(base), spec["judge"]
    settings = Tuning.model_validate({**spec["tuning"], **(run_time or {})})
    lesson = training_rows.read(spec, pairs, settings.seed)
    learnt = augmented(lesson.train, PairAugment.model_validate(spec["augment"]), settings.seed)
    loaded = hf_model.load_model(name, spec["settings"], manifest.path, use_accelerators=not launched())
    encoder = PromptEncoder(name, loaded.tokenizer, spec["settings"])
    longest = min(settings.max_length, loaded.max_length or settings.max_length)
    examples, left_out = encode(learnt, encoder, loaded.eos_ids, spec, longest)
    made_up, reasoned = len(learnt) - len(lesson.train), sum(bool(row.reason) for row in learnt)
    log.info("%d pairs to learn from, %d of them made up, %d with reasons", len(examples), made_up, reasoned)
    # Other rows or another spec must not go on from this run's checkpoints.
    progress = Path(work_folder) / resume.content_key(tables.canonical(spec), manifest.revision, lesson.fingerprint)
    model, figures = tune(loaded, examples, settings, progress)
    if model is None:
        # Another process writes what all of them made.
        return
    made = save(name, model, loaded.tokenizer, folder, spec["settings"]["trust_remote_code"], (JUDGE_FILE, MANIFEST, METRICS))
    write_json(folder / MANIFEST, made)
    # What is measured is what lies there, and the memory holds one model.
    del model, loaded
    asked = HFModel.model_validate(
        {"generator": "hf", "model": manifest.repository, "revision": manifest.revision, **spec["settings"]}
    )
    card = {
        "pairwise": {"writes": "scores"},
        "settings": {"seed": spec["seed"], "max_answer_chars": spec["max_answer_chars"], "model": asked.model_dump(mode="json")},
        "backbone": manifest.repository,
        "backbone_revision": manifest.revision,
        "spec": dict(spec),
        "program": f"bert-judge {__version__}",
    }
    found = training_rows.measure(tuned.of_card(card, folder, name, made["revision"]), lesson.held_out)
    log.info("held-out questions: %s", {key: round(value, 4) for key, value in found.items()})
    rows = {"pairs": len(examples), "left_out": left_out, "reasons": reasoned}
    write_json(folder / METRICS, {"validation": found, "training": {**rows, **figures}})
    write_tuned_card(folder, spec, manifest, found, {**rows, **figures})
    write_json(folder / JUDGE_FILE, card)
    resume.clear(work_folder)
