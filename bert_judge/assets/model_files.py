"""Which files of a folder or repository make up a model, and whether they are all there."""

from __future__ import annotations

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
# Weights of older repositories; transformers reads them with `weights_only`, so no foreign code runs.
OLD_WEIGHTS = "pytorch_model*.bin"
SETTINGS = ("*.json", "*.txt", "*.model", "*.tiktoken", "*.jinja")
# A folder with any of these has a tokenizer.
TOKENIZERS = ("tokenizer.json", "*.model", "vocab.txt", "vocab.json", "*.tiktoken", "tekken.json")


@dataclass(frozen=True)
class File:
    """One file of a model: its name relative to the folder, its size in bytes and its content."""

    name: str
    size: int
    sha256: str


def wanted(names: Iterable[str], remote_code: bool) -> list[str]:
    """Those of a repository's files that a model needs: settings, tokenizer and one set of weights, sorted.

    Weights, settings and tokenizer stand at the top of a repository; below it are other formats (`onnx/`, `original/`), which
    nobody reads here, but also chat templates and code.
    """
    names = list(names)
    top = [name for name in names if "/" not in name]
    weights = fnmatch.filter(top, SAFE_WEIGHTS) or fnmatch.filter(top, OLD_WEIGHTS)
    if any(name.startswith("model") for name in weights):
        # The same weights once more, in their maker's own format.
        weights = [name for name in weights if not name.startswith("consolidated")]
    settings = [name for pattern in SETTINGS for name in fnmatch.filter(top, pattern)]
    templates = fnmatch.filter(names, "additional_chat_templates/*.jinja")
    code = fnmatch.filter(names, "*.py") if remote_code else []
    return sorted({*weights, *settings, *templates, *code})


def complete(folder: Path, remote_code: bool, where: str) -> list[str]:
    """Names of the wanted files of a folder that holds a whole model.

    Args:
        where: the folder, for the message.

    Raises:
        InputError: something is missing.
    """
    # Not the whole tree: a folder of checkpoints may be deep.
    found = [*folder.glob("*"), *folder.glob("additional_chat_templates/*"), *(folder.rglob("*.py") if remote_code else [])]
    names = wanted({path.relative_to(folder).as_posix() for path in found if path.is_file()}, remote_code)
    check_names(names, where)
    _check_shards(names, folder)
    return names


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse a list of files that no model can be loaded from.

    Args:
        names: the wanted files that are there.
        where: the folder or repository, for the message.

    Raises:
        InputError: says which part is missing.
    """
    names = list(names)
    if "config.json" not in names:
        if "adapter_config.json" in names:
            raise InputError(f"{where} holds an adapter only; merge it into its base model and name the merged folder")
        raise InputError(f"{where} has no config.json; name a folder or repository in the format of transformers")
    if not _any(names, SAFE_WEIGHTS, OLD_WEIGHTS):
        raise InputError(f"{where} has no weights ({SAFE_WEIGHTS} or {OLD_WEIGHTS}); name a complete model")
    if not _any(names, *TOKENIZERS):
        raise InputError(f"{where} has no tokenizer (tokenizer.json or a vocabulary file); save the model's tokenizer there")


def _check_shards(names: Iterable[str], folder: Path) -> None:
    """Refuse a folder that lacks a part of its weights.

    Raises:
        InputError: names the first missing part, or an index that cannot be read.
    """
    names = set(names)
    # A folder may keep the index of the other format, whose weights were left out on purpose.
    ending = ".safetensors.index.json" if _any(names, SAFE_WEIGHTS) else ".bin.index.json"
    for index in sorted(name for name in names if name.endswith(ending)):
        missing = sorted(_shards(folder / index) - names)
        if missing:
            raise InputError(f"{folder / missing[0]}: no such file, but {index} names it; fetch the model again")


def _any(names: Iterable[str], *patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _shards(index: Path) -> set[str]:
    """The weight files that an index names."""
    try:
        return set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{index}: not an index of weights; fetch the model again") from error


def describe(folder: Path, names: list[str]) -> tuple[File, ...]:
    """Size and SHA-256 of files of a folder, in their order."""
    started = time.monotonic()

    def one(name: str) -> File:
        with (folder / name).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return File(name, (folder / name).stat().st_size, digest)

    # Threads, because hashing releases the interpreter lock and large models come in dozens of files.
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        files = tuple(pool.map(one, names))
    megabytes = sum(file.size for file in files) / 1e6
    log.info("%d files, %.1f MB hashed in %.1f s", len(files), megabytes, time.monotonic() - started)
    return files
