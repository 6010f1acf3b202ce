"""Generators: prompts in, completions out. One file per kind."""

from bert_judge.generators.protocol import Completion, Generator, Request

__all__ = ["Completion", "Generator", "Request"]
