"""Remedies in error messages."""

import importlib.metadata
from pathlib import Path

import pytest

import bert_judge
from bert_judge.runtime.errors import pip_install


def test_an_extra_is_added_to_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "1")
    assert pip_install("train") == "pip install 'bert-judge[train]'"


def test_a_checkout_that_is_not_installed_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    root = Path(bert_judge.__file__).parents[1]
    assert pip_install("openvino") == f"pip install '{root}[openvino]'" and (root / "pyproject.toml").is_file()
