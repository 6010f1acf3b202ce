"""Attacks on judges: incorrect answers that claim to be correct, and correct ones in unusual formats.

families.yaml lists the families with their phrases; those that need code have a function in `generators`.
`evaluation.attacks` builds a table of answers to a task's questions, which any judge labels like the answers of a model, and
computes the error rates.
"""

from pathlib import Path

from bert_judge.perturbations.attacks.family import AttackedQuestion, Family, fill_phrases
from bert_judge.perturbations.attacks.generators import GENERATORS
from bert_judge.runtime.package_data import read_yaml


def load_families() -> dict[str, Family]:
    """Read families.yaml: name → family. Raises ValueError: a function has no family."""
    themes = read_yaml(Path(__file__).with_name("families.yaml"))
    families = {
        name: Family(name=name, theme=theme, generator=GENERATORS.get(name, fill_phrases), **entry)
        for theme, entries in themes.items()
        for name, entry in entries.items()
    }
    if unknown := GENERATORS.keys() - families.keys():
        raise ValueError(f"families.yaml: no entry for the functions {', '.join(sorted(unknown))}; add them")
    return families


FAMILIES = load_families()

__all__ = ["FAMILIES", "GENERATORS", "AttackedQuestion", "Family"]
