"""Which files of a folder or repository make up a split of a data set.

Two ways of saying it are understood: the list `configs` at the top of the repository's README.md, and the hub's naming
conventions: `{config}/{split}-00000-of-00001.parquet`, `data/{split}.csv`, `{split}.jsonl`, `{config}/{split}/0000.parquet`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from bert_judge.runtime.errors import InputError

# The formats that can be read without running code of the repository; of a split in several, the first is taken.
ENDINGS = (".parquet", ".jsonl", ".ndjson", ".json", ".csv")
SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval", "evaluation"),
}
ALL_SPLIT_WORDS = frozenset(word for words in SPLITS.values() for word in words)
_PART = re.compile(r"^(.*)-(\d{5})-of-(\d{5})(\.\w+)$")

Card = Sequence[Mapping[str, Any]]


def wanted(names: Iterable[str], configs: Sequence[str] | None, split: str, card: Card, where: str) -> list[str]:
    """The files of a split, those of one configuration after the other.

    Args:
        names: all files of the repository, with `/` between folders.
        configs: configurations of the data set; None for its only one.
        split: its name.
        card: see `card_configs`.
        where: the data set, for messages.

    Raises:
        InputError: no file, or files of several configurations, or a part of them is missing.
    """
    data = sorted(name for name in names if name.lower().endswith(ENDINGS))
    found: list[str] = []
    for config in configs if configs else [None]:
        of_config = _by_card(data, config, split, card) or _by_convention(data, config, split, where)
        if not of_config:
            said = f"config {config!r}, split {split!r}" if config else f"split {split!r}"
            there = ", ".join(data[:8]) + (", …" if len(data) > 8 else "") or "none in parquet, JSONL or CSV"
            raise InputError(f"{where} has no files of {said}; its data files are: {there}; mend config or split")
        found += of_config
    _check_parts(found, where)
    return found


def in_folder(folder: Path, configs: Sequence[str] | None, split: str, where: str) -> list[str]:
    """Names of the files of a split in a folder that is laid out as on the hub.

    Raises:
        InputError: see `wanted`.
    """
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    readme = folder / "README.md"
    card = card_configs(readme.read_text("utf-8", errors="replace")) if readme.is_file() else []
    return wanted(names, configs, split, card, where)


def card_configs(readme: str) -> Card:
    """The entries of `configs` in the YAML block at the top of a README.md; none when it has no such block or list."""
    match = re.match(r"---\s*\n(.*?)\n---\s*(\n|$)", readme, re.DOTALL)
    try:
        head = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return []
    configs = head.get("configs") if isinstance(head, Mapping) else None
    return [entry for entry in configs if isinstance(entry, Mapping)] if isinstance(configs, list) else []


def _by_card(data: Sequence[str], config: str | None, split: str, card: Card) -> list[str]:
    """The files that the README names for a configuration and split."""
    named = [entry for entry in card if entry.get("config_name", "default") == config]
    if config is None:
        named = [entry for entry in card if entry.get("default") or entry.get("config_name") == "default"] or list(card)
    if len(named) != 1 or "data_files" not in named[0]:
        return []
    told = named[0]["data_files"]
    patterns: list[str] = []
    for part in told if isinstance(told, list) else [told]:
        # Files without a split are training data.
        entry = part if isinstance(part, Mapping) else {"split": "train", "path": part}
        if str(entry.get("split", "train")) == split:
            paths = entry.get("path", [])
            patterns += paths if isinstance(paths, list) else [paths]
    folder = str(named[0].get("data_dir", "")).strip("/")
    full = [f"{folder}/{pattern}" if folder else str(pattern) for pattern in patterns]
    # `**/` may stand for no folder at all.
    return _one_format([name for name in data if any(fnmatch.fnmatchcase(name, p.replace("**/", "*")) for p in full)])


def _by_convention(data: Sequence[str], config: str | None, split: str, where: str) -> list[str]:
    """The files whose names say the configuration and the split; a configuration without any split is training data."""
    of_config = [name for name in data if config is None or config in _words(name, config)]
    exact = [name for name in of_config if split in _words(name, split)]
    words = SPLITS.get(split, ())
    by_word = exact or [name for name in of_config if any(word in _words(name, word) for word in words)]
    if not by_word and split == "train":
        by_word = [name for name in of_config if not any(word in _words(name, word) for word in ALL_SPLIT_WORDS)]
    found = _one_format(by_word)
    folders = sorted({str(PurePosixPath(name).parent) for name in found})
    if config is None and len(folders) > 1:
        raise InputError(f"{where} has split {split!r} in several folders ({', '.join(folders[:8])}); name one as config")
    return found


def _words(name: str, like: str) -> set[str]:
    """The parts of a path that could be a name like this one: folders, stem, and the stem's pieces."""
    path = PurePosixPath(name)
    stem = path.name[: -len(path.suffix)]
    # "gpqa_main" is one name, and in "asdiv_test" two; a name with - or _ in it is looked for whole.
    pieces = re.split(r"[-._]", stem)
    whole = {like} if re.search(rf"(^|[-._]){re.escape(like)}([-._]|$)", stem) else set()
    return {*path.parts[:-1], stem, *pieces, *whole}


def _one_format(names: Sequence[str]) -> list[str]:
    for ending in ENDINGS:
        if found := [name for name in names if name.lower().endswith(ending)]:
            return found
    return []


def _check_parts(names: Sequence[str], where: str) -> None:
    """Refuse a split of which a part is missing.

    Raises:
        InputError: names the first missing part.
    """
    there = set(names)
    for name in names:
        if not (part := _PART.match(name)):
            continue
        for number in range(int(part[3])):
            expected = f"{part[1]}-{number:05d}-of-{part[3]}{part[4]}"
            if expected not in there:
                raise InputError(f"{where} lacks {expected}, a part of the split; fetch the data set again")
