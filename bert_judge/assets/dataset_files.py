"""The files of a dataset's split, in a folder or a repository of the hub.

They are given by the list `configs` at the top of the README.md, or by the hub's naming conventions:
`{config}/{split}-00000-of-00001.parquet`, `data/{split}.csv`, `{split}.jsonl`, `{config}/{split}/0000.parquet`.
"""

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from bert_judge.runtime.errors import InputError

# The formats that can be read without running code of the repository. If a split has several, the first is used.
ENDINGS = (".parquet", ".jsonl", ".ndjson", ".json", ".csv")
_SHARD = re.compile(r"^(.*)-(\d{5})-of-(\d{5})(\.\w+)$")

CardConfigs = Sequence[Mapping[str, Any]]


@cache
def split_keywords() -> Mapping[str, Sequence[str]]:
    """Return split → words for it in file names, as `datasets` defines them."""
    # Imported lazily: it takes seconds.
    from datasets.data_files import SPLIT_KEYWORDS

    return {str(split): words for split, words in SPLIT_KEYWORDS.items()}


def select_split_files(
    names: Iterable[str], configs: Sequence[str] | None, split: str, card: CardConfigs, *, dataset: str
) -> list[str]:
    """Return the files of a split among the names in a repository, configuration by configuration (None: its only one).

    Raises:
        InputError: no file, files of several configurations, or a missing shard.
    """
    data = sorted(name for name in names if name.lower().endswith(ENDINGS))
    files: list[str] = []
    for config in configs if configs else [None]:
        config_files = _files_by_card(data, config, split, card) or _files_by_name(data, config, split, dataset)
        if not config_files:
            request = f"config {config!r}, split {split!r}" if config else f"split {split!r}"
            present = ", ".join(data[:8]) + (", …" if len(data) > 8 else "") or "none in parquet, JSONL or CSV"
            raise InputError(f"{dataset} has no files of {request}; its data files are: {present}; fix config or split")
        files += config_files
    _check_shards(files, dataset)
    return files


def list_split_files(folder: Path, configs: Sequence[str] | None, split: str, dataset: str) -> list[str]:
    """Return the names of a split's files in a folder with the layout of the hub."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    readme = folder / "README.md"
    card = parse_card_configs(readme.read_text("utf-8", errors="replace")) if readme.is_file() else []
    return select_split_files(names, configs, split, card, dataset=dataset)


def parse_card_configs(readme: str) -> CardConfigs:
    """Return the entries of `configs` in the YAML block at the top of a README.md; nothing if there is no valid list."""
    match = re.match(r"---\s*\n(.*?)\n---\s*(\n|$)", readme, re.DOTALL)
    try:
        metadata = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError:
        return []
    configs = metadata.get("configs") if isinstance(metadata, Mapping) else None
    return [entry for entry in configs if isinstance(entry, Mapping)] if isinstance(configs, list) else []


def _files_by_card(data: Sequence[str], config: str | None, split: str, card: CardConfigs) -> list[str]:
    entries = [entry for entry in card if entry.get("config_name", "default") == config]
    if config is None:
        entries = [entry for entry in card if entry.get("default") or entry.get("config_name") == "default"] or list(card)
    if len(entries) != 1 or "data_files" not in entries[0]:
        return []
    from datasets.data_files import sanitize_patterns

    try:
        patterns = sanitize_patterns(entries[0]["data_files"]).get(split, [])
    except (ValueError, TypeError):
        return []
    folder = str(entries[0].get("data_dir", "")).strip("/")
    paths = [f"{folder}/{pattern}" if folder else str(pattern) for pattern in patterns]
    # `**/` matches no folder, too.
    return _one_format([name for name in data if any(fnmatch.fnmatchcase(name, path.replace("**/", "*")) for path in paths)])


def _files_by_name(data: Sequence[str], config: str | None, split: str, dataset: str) -> list[str]:
    """Return the files whose names contain the configuration and the split; files without any split are training data."""
    config_files = [name for name in data if config is None or config in _name_parts(name, config)]
    files = [name for name in config_files if split in _name_parts(name, split)]
    if not files:
        words = split_keywords().get(split, ())
        files = [name for name in config_files if any(word in _name_parts(name, word) for word in words)]
    if not files and split == "train":
        words = [word for keywords in split_keywords().values() for word in keywords]
        files = [name for name in config_files if not any(word in _name_parts(name, word) for word in words)]
    files = _one_format(files)
    folders = sorted({str(PurePosixPath(name).parent) for name in files})
    if config is None and len(folders) > 1:
        raise InputError(f"{dataset} has split {split!r} in several folders ({', '.join(folders[:8])}); name one as config")
    return files


def _name_parts(name: str, word: str) -> set[str]:
    """Return the parts of a path to compare with a word: folders, stem, and pieces of the stem."""
    path = PurePosixPath(name)
    stem = path.name[: -len(path.suffix)]
    # "gpqa_main" is one name, "asdiv_test" two; so a word that contains - or _ is searched as a whole.
    is_inside = re.search(rf"(^|[-._]){re.escape(word)}([-._]|$)", stem)
    return {*path.parts[:-1], stem, *re.split(r"[-._]", stem), *([word] if is_inside else [])}


def _one_format(names: Sequence[str]) -> list[str]:
    by_ending = ([name for name in names if name.lower().endswith(ending)] for ending in ENDINGS)
    return next(filter(None, by_ending), [])


def _check_shards(names: Sequence[str], dataset: str) -> None:
    for shard in filter(None, map(_SHARD.match, names)):
        expected = {f"{shard[1]}-{number:05d}-of-{shard[3]}{shard[4]}" for number in range(int(shard[3]))}
        if missing := expected.difference(names):
            raise InputError(f"{dataset} lacks {min(missing)}, a shard of the split; download the dataset again")
