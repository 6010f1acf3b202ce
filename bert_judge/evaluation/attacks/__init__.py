"""Attacks on judges: answers that are wrong whatever they claim, and right ones in unusual dress, all of known truth.

A family is one pattern, a decorated function in the file of its theme; importing this package registers them all. `suite` makes a
table of answers of a task's questions, which any judge labels like the answers of a model; `rates` counts how often it was fooled.
"""

from bert_judge.evaluation.attacks import (
    content_free,
    disguises,
    echo,
    hidden,
    indecision,
    injection,
    markup,
    near_misses,
    padding,
    phrasing,
    unfinished,
    values,
)
from bert_judge.evaluation.attacks.families import REGISTRY, Family, Subject

# In the order in which they are shown.
_THEMES = (
    content_free,
    markup,
    injection,
    echo,
    indecision,
    near_misses,
    unfinished,
    hidden,
    padding,
    phrasing,
    disguises,
    values,
)
THEMES = tuple(module.__name__.rpartition(".")[2] for module in _THEMES)
FAMILIES: dict[str, Family] = {family.name: family for theme in THEMES for family in REGISTRY.values() if family.theme == theme}

__all__ = ["FAMILIES", "THEMES", "Family", "Subject"]
