"""The one place that knows which class stands behind which `generator:` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.protocol import Generator
from bert_judge.runtime.errors import InputError


def make_generator(name: str, settings: Mapping[str, Any], manifest: Path | None) -> Generator:
    """Load a model.

    Args:
        name: the model's name in the configuration.
        settings: the values of its block, `generator` among them.
        manifest: what says where the model's files lie; None for a generator that needs none.

    Raises:
        InputError: the model cannot be loaded, or its generator makes no answers of its own.
    """
    match settings["generator"]:
        case "simulated":
            from bert_judge.candidates.generators.simulated import SimulatedGenerator

            return SimulatedGenerator(name, settings)
        # A student is an ordinary model once it is trained.
        case "hf" | "student":
            from bert_judge.assets.prepare import load_manifest
            from bert_judge.candidates.generators.hf import HFGenerator

            return HFGenerator(name, settings, load_manifest(_needed(name, manifest)))
        case "vllm":
            from bert_judge.assets.prepare import load_manifest
            from bert_judge.candidates.generators import vllm

            return vllm.make(name, settings, load_manifest(_needed(name, manifest)))
        case "openai":
            from bert_judge.candidates.generators.openai import OpenAIGenerator

            return OpenAIGenerator(name, settings)
        case other:
            raise InputError(f"models.{name}: a model of the kind {other!r} cannot be asked; name one that generates")


def _needed(name: str, manifest: Path | None) -> Path:
    if manifest is None:
        raise InputError(f"models.{name}: no manifest says where its files lie; run the prepare stage first")
    return manifest
