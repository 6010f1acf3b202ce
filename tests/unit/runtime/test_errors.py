"""Remedies in error messages."""

import importlib.metadata
from pathlib import Path

import pytest

import bert_judge
from bert_judge.runtime.errors import pip_install


def test_only_what_is_missing_of_an_extra_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=1; extra == 'serve'", "no-such-package>=2; extra == 'serve'", "numpy>=999; extra == 'other'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: lines)
    assert pip_install("serve") == "pip install 'no-such-package>=2'"
    assert pip_install("other") == "pip install 'numpy>=999'"


def test_a_checkout_that_is_not_installed_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    root = Path(bert_judge.__file__).parents[1]
    assert pip_install("openvino") == f"pip install '{root}[openvino]'" and (root / "pyproject.toml").is_file()
