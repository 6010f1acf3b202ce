"""The files of a model in a folder or repository: selection, completeness and hashes."""

import fnmatch
import hashlib
import json
import logging
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

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
    if "config.json" not in names:
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
