"""Generators send prompts to a language model: one file per backend."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime.errors import InputError

__all__ = ["Completion", "Generator", "Request", "make_generator"]


def make_generator(name: str, settings: Mapping[str, Any], manifest: Path | None) -> Generator:
    """Load a model from the settings of its block and, if it needs files, their manifest.

    Raises:
        InputError: the model cannot be loaded, or its kind does not generate answers.
    """
    kind = settings["generator"]
    if kind == "simulated":
        from bert_judge.candidates.generators.simulated import SimulatedGenerator

        return SimulatedGenerator(name, settings)
    if kind == "openai":
        from bert_judge.candidates.generators.openai import OpenAIGenerator

        return OpenAIGenerator(name, settings)
    # A trained student is an ordinary model.
    if kind not in ("hf", "student", "vllm"):
        raise InputError(f"models.{name}: a model of kind {kind!r} does not generate answers; name one that does")
    if manifest is None:
        raise InputError(f"models.{name}: the manifest of its files is missing; run the prepare stage first")
    from bert_judge.assets.prepare import load_manifest

    if kind == "vllm":
        from bert_judge.candidates.generators import vllm

        return vllm.load(name, settings, load_manifest(manifest))
    from bert_judge.candidates.generators.hf import HFGenerator

    return HFGenerator(name, settings, load_manifest(manifest))
