"""YAML reads on, no and true as truth values: a list of words must quote them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bert_judge
from bert_judge.runtime.package_data import read_yaml

FILES = [
    path for folder in ("text", "perturbations") for path in sorted((Path(bert_judge.__file__).parent / folder).glob("*.yaml"))
]


def lists_of(content: Any) -> Iterator[list[Any]]:
    """Yield all lists in the content of a file."""
    if isinstance(content, list):
        yield content
    for value in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from lists_of(value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_words_are_texts(path: Path) -> None:
    assert not [members for members in lists_of(read_yaml(path)) if any(isinstance(member, bool) for member in members)]
