"""The two classes that word rules take from packages on top of NLTK, without importing all of NLTK.

`import nltk` loads its readers, parsers and classifiers, and scikit-learn with them: two processor seconds, which every job
with such a rule would pay for a stemmer of one file.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

# Packages whose own code is not run, so that only the modules inside them that are named are loaded.
SHELLS = ("nltk", "nltk.stem")
# Two judges in two threads must not find each other's shells.
_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def _shells() -> Iterator[None]:
    """While inside, modules of NLTK can be imported without their packages' own code. Nothing of it stays in `sys.modules`, so that
    whoever imports NLTK later gets it whole."""
    found = importlib.util.find_spec("nltk")
    if "nltk" in sys.modules or found is None or not found.submodule_search_locations:
        yield
        return
    for name in SHELLS:
        shell = ModuleType(name)
        shell.__path__ = [str(Path(place, *name.split(".")[1:])) for place in found.submodule_search_locations]
        sys.modules[name] = shell
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == "nltk" or name.startswith("nltk.")]:
            del sys.modules[name]


def porter() -> Any:
    """NLTK's Porter stemmer."""
    with _ONE_AT_A_TIME, _shells():
        from nltk.stem.porter import PorterStemmer
    return PorterStemmer()


def rouge_l(tokenizer: Any) -> Any:
    """`rouge-score`'s scorer for ROUGE-L, which needs of NLTK no more than the stemmer's name.

    Args:
        tokenizer: an object with `tokenize(text) -> list[str]`.
    """
    with _ONE_AT_A_TIME, _shells():
        from rouge_score.rouge_scorer import RougeScorer
    return RougeScorer(["rougeL"], tokenizer=tokenizer)
