"""Scores language models' answers with a small trained judge."""

from importlib.metadata import version

__version__ = version("bert-judge")
