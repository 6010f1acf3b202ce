"""Data sets from the Hugging Face hub: only the files of one split, at one commit.

A data set that consists of a script is taken from the branch on which the hub keeps its parquet copy: no foreign code runs here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants, errors

from bert_judge.assets import dataset_files, hub
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

PARQUET_BRANCH = "refs/convert/parquet"
KIND = "data set"

Found = tuple[Path, str, list[str]]


def snapshot(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> Found:
    """Download the files of a split, or find them in the hub's cache when the hub is out of reach.

    Args:
        repository: hub id.
        revision: commit, tag or branch; None for the newest.
        configs, split: see `dataset_files.wanted`.

    Returns:
        The folder, its commit and the files' names.

    Raises:
        InputError: see `hub.fault` and `dataset_files.wanted`.
    """
    try:
        commit, sizes = remote_files(repository, revision, configs, split)
        return _download(repository, commit, sizes), commit, list(sizes)
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        if hub.out_of_reach(error) and (found := _cached(repository, revision, configs, split)):
            log.warning("%s: the hub is out of reach; using the cached snapshot %s", repository, found[1])
            return found
        raise InputError(hub.fault(error, repository, revision, KIND)) from error


def remote_files(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> tuple[str, dict[str, int]]:
    """The commit of a data set, and name → size in bytes of the files of a split.

    Raises:
        InputError: no such files.
        OSError, HTTPError, HFValidationError: the hub's refusals.
    """
    fault: InputError | None = None
    for branch in [revision] if revision else [None, PARQUET_BRANCH]:
        try:
            info = huggingface_hub.HfApi().dataset_info(repository, revision=branch, files_metadata=True)
        except errors.RevisionNotFoundError:
            if fault is None:
                raise
            break
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        card = _card(repository, str(info.sha)) if "README.md" in sizes else []
        try:
            names = dataset_files.wanted(sizes, configs, split, card, f"data set {repository!r}")
        except InputError as error:
            # What the main branch lacks says more than what the parquet copy lacks.
            fault = fault or error
            continue
        return str(info.sha), {name: sizes[name] for name in names}
    assert fault is not None
    raise fault


def _card(repository: str, commit: str) -> dataset_files.Card:
    readme = huggingface_hub.hf_hub_download(repository, "README.md", repo_type="dataset", revision=commit)
    return dataset_files.card_configs(Path(readme).read_text("utf-8", errors="replace"))


def _download(repository: str, commit: str, sizes: dict[str, int]) -> Path:
    """Fetch the files that are not in the cache; the folder of the snapshot."""
    cached = {name for name in sizes if _in_cache(repository, name, commit)}
    total = sum(size for name, size in sizes.items() if name not in cached)
    hub.check_space(repository, total, KIND)
    missing = len(sizes) - len(cached)
    log.info("%s at %s: %d of %d files to download, %.1f MB", repository, commit, missing, len(sizes), total / 1e6)
    folder = Path()
    for name in sizes:
        path = Path(huggingface_hub.hf_hub_download(repository, name, repo_type="dataset", revision=commit))
        folder = path.parents[name.count("/")]
    return folder


def _in_cache(repository: str, name: str, commit: str) -> bool:
    return isinstance(huggingface_hub.try_to_load_from_cache(repository, name, revision=commit, repo_type="dataset"), str)


def _cached(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> Found | None:
    """The newest cached snapshot that holds the whole split; with a revision, that one only."""
    try:
        repositories = huggingface_hub.scan_cache_dir(constants.HF_HUB_CACHE).repos
    except errors.CacheNotFound:
        return None
    snapshots = [
        found
        for cached in repositories
        if cached.repo_id == repository and cached.repo_type == "dataset"
        for found in cached.revisions
        if revision in (None, found.commit_hash, *found.refs)
    ]
    for found in sorted(snapshots, key=lambda one: one.last_modified, reverse=True):
        folder = Path(found.snapshot_path)
        try:
            return folder, found.commit_hash, dataset_files.in_folder(folder, configs, split, f"data set {repository!r}")
        except InputError:
            continue
    return None
