"""Generators send prompts to a language model: one file per backend."""

from bert_judge.candidates.generators.protocol import Completion, Generator, Request

__all__ = ["Completion", "Generator", "Request"]
