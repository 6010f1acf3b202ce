"""Generators: prompts in, completions out. One file per kind."""

from bert_judge.candidates.generators.protocol import Completion, Generator, Request

__all__ = ["Completion", "Generator", "Request"]
