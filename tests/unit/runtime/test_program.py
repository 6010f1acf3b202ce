"""The state of the program in the provenance of its tables."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from bert_judge import __version__
from bert_judge.runtime import program as module
from bert_judge.runtime.program import commit, packages, program

ROOT = Path(__file__).parents[3]


def test_the_version_is_the_same_wherever_it_is_named() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"]
    [newest, *_] = re.findall(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert (citation, newest) == (__version__, __version__)


def test_two_states_of_one_version_have_different_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program().startswith(f"bert-judge {__version__}+")
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    names = []
    for content in ("x = 1", "x = 2", "x = 1"):
        (tmp_path / "a.py").write_text(content)
        program.cache_clear()
        names.append(program())
    program.cache_clear()
    assert names[0] == names[2] != names[1]


def test_a_commit_only_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "package")
    for is_checkout in (False, True):
        if is_checkout:
            # Not one that git knows.
            (tmp_path / ".git").mkdir()
        commit.cache_clear()
        assert commit() is None
    commit.cache_clear()


def test_packages_are_the_installed_ones() -> None:
    assert packages()["numpy"] == version("numpy")
    assert {"math-verify", "lightgbm"} <= packages().keys()
