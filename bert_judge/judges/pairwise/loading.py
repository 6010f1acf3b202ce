"""Loading of a trained pairwise judge, an encoder or a tuned language model, from its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bert_judge.assets.prepare import Manifest
from bert_judge.config import HFModel
from bert_judge.judges.bert.judge_folder import JUDGE_FILE, resolve_checkpoint
from bert_judge.judges.pairwise.llm import PairLLMJudge
from bert_judge.judges.pairwise.protocol import PairJudge
from bert_judge.runtime.errors import InputError


def load_pair_judge(checkpoint: str | Path, name: str) -> PairJudge:
    """Load a trained pairwise judge, whichever kind of model it is.

    Args:
        checkpoint: as for `judge_folder.resolve_checkpoint`.
        name: of the judge in the configuration.

    Raises:
        InputError: it cannot be loaded.
    """
    folder, revision = resolve_checkpoint(checkpoint)
    metadata = _read_metadata(folder)
    if is_language_model(metadata):
        return from_metadata(metadata, folder, name, revision)
    # A language model needs no encoder.
    from bert_judge.judges.pairwise.encoder import PairEncoderJudge

    return PairEncoderJudge(folder, name=name, revision=revision)


def is_language_model(metadata: Mapping[str, Any]) -> bool:
    """Return whether a judge.json is that of a tuned language model."""
    pairwise = metadata.get("pairwise")
    return isinstance(pairwise, Mapping) and pairwise.get("writes") == "scores"


def from_metadata(metadata: Mapping[str, Any], folder: Path, name: str, revision: str) -> PairLLMJudge:
    """Load a tuned language model that stops after the scores.

    Args:
        metadata: its judge.json.
        folder: of its weights, wherever they were moved to.
        revision: for the provenance of its verdicts.

    Raises:
        InputError: the metadata is incomplete, or the model cannot be loaded.
    """
    # A folder may be inspected without loading anything.
    from bert_judge.candidates.generators.hf import HFGenerator

    try:
        settings = {key: metadata["settings"][key] for key in ("seed", "max_answer_chars")}
        model = HFModel.model_validate(metadata["settings"]["model"]).model_dump(mode="json")
    except (KeyError, TypeError, ValidationError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder / JUDGE_FILE}: invalid: {reason}; train the judge again") from error
    settings |= {"reasoning": False, "scores": True, "tuned": True}
    return PairLLMJudge(name, settings, HFGenerator(name, model, Manifest(name, revision, folder, ())))


def _read_metadata(folder: Path) -> dict[str, Any]:
    """Return the judge.json of a folder; empty if it cannot be read, which loading the encoder reports."""
    try:
        metadata = json.loads((folder / JUDGE_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return metadata if isinstance(metadata, dict) else {}
