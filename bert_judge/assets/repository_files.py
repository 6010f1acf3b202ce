"""The files of a model, or of a dataset's split, in a folder or repository: selection, completeness and hashes.

The files of a split are given by the list `configs` at the top of the README.md, or by the hub's naming conventions:
`{config}/{split}-00000-of-00001.parquet`, `data/{split}.csv`, `{split}.jsonl`, `{config}/{split}/0000.parquet`.
"""

import fnmatch
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

SAFE_WEIGHTS = "*.safetensors"
# Weights of older repositories; transformers loads them with `weights_only`, so no code in them runs.
OLD_WEIGHTS = "pytorch_model*.bin"
SETTINGS = ("*.json", "*.txt", "*.model", "*.tiktoken", "*.jinja")
# A folder with any of these contains a tokenizer.
TOKENIZERS = ("tokenizer.json", "*.model", "vocab.txt", "vocab.json", "*.tiktoken", "tekken.json")


@dataclass(frozen=True)
class FileInfo:
    """A file of a model or dataset: name relative to the folder, size in bytes and hash."""

    name: str
    size: int
    sha256: str


def select_files(names: Iterable[str], remote_code: bool) -> list[str]:
    """Return the files of a repository that a model needs, sorted: settings, tokenizer and one set of weights.

    Weights, settings and tokenizer are in the top folder; subfolders contain unused formats (`onnx/`, `original/`), but also chat
    templates and code.
    """
    names = list(names)
    top = [name for name in names if "/" not in name]
    weights = fnmatch.filter(top, SAFE_WEIGHTS) or fnmatch.filter(top, OLD_WEIGHTS)
    if any(name.startswith("model") for name in weights):
        # The same weights in the format of the model's developer.
        weights = [name for name in weights if not name.startswith("consolidated")]
    settings = [name for pattern in SETTINGS for name in fnmatch.filter(top, pattern)]
    templates = fnmatch.filter(names, "additional_chat_templates/*.jinja")
    code = fnmatch.filter(names, "*.py") if remote_code else []
    return sorted({*weights, *settings, *templates, *code})


def list_model_files(folder: Path, remote_code: bool, where: str) -> list[str]:
    """Return the names of the files of a complete model in a folder. Raises InputError: a file is missing."""
    # Not the whole tree, which may be deep in a folder of checkpoints.
    paths = [*folder.glob("*"), *folder.glob("additional_chat_templates/*"), *(folder.rglob("*.py") if remote_code else [])]
    names = select_files({path.relative_to(folder).as_posix() for path in paths if path.is_file()}, remote_code)
    check_names(names, where)
    _check_shards(names, folder)
    return names


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse the files from `select_files` if no model can be loaded from them. Raises InputError: names the missing part."""
    names = list(names)
    # A fine-tuned judge finds its base model by itself.
    if "config.json" not in names and not {"adapter_config.json", "judge.json"} <= set(names):
        if "adapter_config.json" in names:
            raise InputError(f"{where} contains an adapter only; merge it into its base model and name the merged folder")
        raise InputError(f"{where} has no config.json; name a folder or repository in the format of transformers")
    if not _any(names, SAFE_WEIGHTS, OLD_WEIGHTS):
        raise InputError(f"{where} has no weights ({SAFE_WEIGHTS} or {OLD_WEIGHTS}); name a complete model")
    if not _any(names, *TOKENIZERS):
        raise InputError(f"{where} has no tokenizer (tokenizer.json or a vocabulary file); save the model's tokenizer there")


def _check_shards(names: Iterable[str], folder: Path) -> None:
    names = set(names)
    # A folder may contain the index of the other format, without its weights.
    ending = ".safetensors.index.json" if _any(names, SAFE_WEIGHTS) else ".bin.index.json"
    for index in sorted(name for name in names if name.endswith(ending)):
        missing = sorted(_index_shards(folder / index) - names)
        if missing:
            raise InputError(f"{folder / missing[0]}: no such file, but {index} names it; download the model again")


def _any(names: Iterable[str], *patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _index_shards(index: Path) -> set[str]:
    try:
        return set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{index}: not an index of weights; download the model again") from error


def hash_files(folder: Path, names: list[str]) -> tuple[FileInfo, ...]:
    """Return size and SHA-256 of files of a folder, in order."""
    started = time.monotonic()

    def hash_file(name: str) -> FileInfo:
        with (folder / name).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return FileInfo(name, (folder / name).stat().st_size, digest)

    # Hashing releases the interpreter lock, and large models have dozens of files.
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        files = tuple(pool.map(hash_file, names))
    megabytes = sum(file.size for file in files) / 1e6
    log.info("%d files, %.1f MB hashed in %.1f s", len(files), megabytes, time.monotonic() - started)
    return files


# --- datasets ---

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
    _check_split_shards(files, dataset)
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


def _check_split_shards(names: Sequence[str], dataset: str) -> None:
    for shard in filter(None, map(_SHARD.match, names)):
        expected = {f"{shard[1]}-{number:05d}-of-{shard[3]}{shard[4]}" for number in range(int(shard[3]))}
        if missing := expected.difference(names):
            raise InputError(f"{dataset} lacks {min(missing)}, a shard of the split; download the dataset again")
