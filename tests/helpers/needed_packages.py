"""Packages that a test cannot do without."""

from __future__ import annotations

import importlib.util
import os

import pytest

# Set where everything should be there: a package that is missing is then a fault and no reason to skip.
ALL_THERE = "BERT_JUDGE_FRAMEWORKS"


def need(*names: str) -> None:
    """Skip the test that lacks one of these packages, or fail it where the environment says that all are there."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing and os.environ.get(ALL_THERE):
        pytest.fail(f"{missing[0]} is not installed, and {ALL_THERE} says that it is")
    if missing:
        pytest.skip(f"{missing[0]} is not installed; make test-frameworks runs this")
