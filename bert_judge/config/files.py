"""Reading configuration files strictly: YAML takes the last of two equal keys in silence, and so a model would vanish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from bert_judge.runtime.errors import ConfigError


def load(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Read configuration files; a later file's keys go over an earlier one's, block by block, as Snakemake does it.

    Raises:
        ConfigError: one line for each file that is missing or no YAML mapping and for each key that is there twice.
    """
    paths = list(paths)
    if lines := faults(paths):
        raise ConfigError(lines)
    return merge(paths)


def merge(paths: Iterable[str | Path]) -> dict[str, Any]:
    """What configuration files say together, as far as they can be read; their faults are not told."""
    merged: dict[str, Any] = {}
    for path in paths:
        merged = _over(merged, _read(Path(path))[0])
    return merged


def faults(paths: Iterable[str | Path]) -> list[str]:
    """What is wrong with configuration files as files, one line each."""
    return [line for path in paths for line in _read(Path(path))[1]]


class _Loader(yaml.SafeLoader):
    """Collects repeated keys as (key, line, line of the first), lines counted from 1."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.repeated: list[tuple[Any, int, int]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            # Merged-in keys (`<<`) may be overridden: that is what they are for.
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                if key.value in first:
                    self.repeated.append((key.value, line, first[key.value]))
                first.setdefault(key.value, line)
        return super().construct_mapping(node, deep)


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}, [f"{path}: no such file; fix the path"]
    except IsADirectoryError:
        return {}, [f"{path}: is a folder; name a YAML file"]
    except UnicodeDecodeError as error:
        return {}, [f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"]
    except OSError as error:
        return {}, [f"{path}: cannot be read: {error.strerror}"]
    try:
        loader = _Loader(text)
        content = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return {}, [f"{path}:{mark.line + 1 if mark else 1}: not YAML: {error.problem or error.context}"]
    except yaml.YAMLError as error:
        return {}, [f"{path}: not YAML: {' '.join(str(error).split())}"]
    if content is not None and not isinstance(content, dict):
        return {}, [f"{path}: holds a {_kind(content)}; a configuration is a mapping of keys (models: …, tasks: …)"]
    repeated = [
        f"{path}:{line}: {key!r} is there twice, first in line {first}; rename or remove one"
        for key, line, first in loader.repeated
    ]
    return content or {}, repeated


def _kind(content: object) -> str:
    return "list" if isinstance(content, list) else "single value"


def _over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Deep merge: mappings are merged, all else is replaced."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
