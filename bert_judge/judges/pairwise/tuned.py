"""A language model that was tuned to compare, taken from its folder: what it is asked, and how, stands in its judge.json."""

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


def load(checkpoint: str | Path, name: str) -> PairJudge:
    """A trained judge of pairs, whichever kind of model it is.

    Args:
        checkpoint: as for `judge_folder.resolve_checkpoint`.
        name: of the judge in the configuration.

    Raises:
        InputError: it cannot be loaded.
    """
    folder, revision = resolve_checkpoint(checkpoint)
    card = _card(folder)
    if writes_scores(card):
        return of_card(card, folder, name, revision)
    # Only here: who asks a language model needs no encoder.
    from bert_judge.judges.pairwise.encoder import PairEncoderJudge

    return PairEncoderJudge(folder, name=name, revision=revision)


def writes_scores(card: Mapping[str, Any]) -> bool:
    """Whether a judge.json is that of a language model that was tuned to compare."""
    told = card.get("pairwise")
    return isinstance(told, Mapping) and told.get("writes") == "scores"


def of_card(card: Mapping[str, Any], folder: Path, name: str, revision: str) -> PairLLMJudge:
    """The judge in its fast mode: it stops behind the scores.

    Args:
        card: its judge.json.
        folder: of its weights, wherever they were moved to.
        revision: told in the provenance of its verdicts.

    Raises:
        InputError: the card lacks a part, or the model cannot be loaded.
    """
    # Only here: a folder may be looked at without loading anything.
    from bert_judge.candidates.generators.hf import HFGenerator

    try:
        told = {key: card["settings"][key] for key in ("seed", "max_answer_chars")}
        asked = HFModel.model_validate(card["settings"]["model"]).model_dump(mode="json")
    except (KeyError, TypeError, ValidationError) as error:
        raise InputError(f"{folder / JUDGE_FILE}: broken: {' '.join(str(error).split())[:200]}; train the judge anew") from error
    settings = {**told, "reasoning": False, "scores": True, "tuned": True}
    return PairLLMJudge(name, settings, HFGenerator(name, asked, Manifest(name, revision, folder, ())))


def _card(folder: Path) -> dict[str, Any]:
    """The judge.json of a folder; empty where there is none that can be read, which is told when it is loaded."""
    try:
        card = json.loads((folder / JUDGE_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}
