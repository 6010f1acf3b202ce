"""Datasets from the Hugging Face hub: only the files of one split, at one commit.

A dataset that consists of a script is read from the branch with the hub's parquet copy, so no code of the repository runs.
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
KIND = "dataset"

# Folder, commit, and names of the files.
Snapshot = tuple[Path, str, list[str]]


def snapshot(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> Snapshot:
    """Download the files of a split, or find them in the local cache if the hub is unreachable.

    Args:
        repository: hub id.
        revision: commit, tag or branch; None for the newest.
        configs, split: see `dataset_files.select_split_files`.

    Returns:
        The folder, its commit and the files' names.

    Raises:
        InputError: see `hub.describe_error` and `dataset_files.select_split_files`.
    """
    try:
        commit, sizes = remote_files(repository, revision, configs, split)
        return _download(repository, commit, sizes), commit, list(sizes)
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        if hub.is_unreachable(error) and (snapshot := _find_cached(repository, revision, configs, split)):
            log.warning("%s: the hub is unreachable; using the cached snapshot %s", repository, snapshot[1])
            return snapshot
        raise InputError(hub.describe_error(error, repository, revision, KIND)) from error


def remote_files(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> tuple[str, dict[str, int]]:
    """Return the commit of a dataset, and name → size in bytes of the files of a split.

    Raises:
        InputError: no such files.
        OSError, HTTPError, HFValidationError: errors of the hub.
    """
    first_error: InputError | None = None
    for branch in [revision] if revision else [None, PARQUET_BRANCH]:
        try:
            info = huggingface_hub.HfApi().dataset_info(repository, revision=branch, files_metadata=True)
        except errors.RevisionNotFoundError:
            if first_error is None:
                raise
            break
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        card = _load_card(repository, str(info.sha)) if "README.md" in sizes else []
        try:
            names = dataset_files.select_split_files(sizes, configs, split, card, f"dataset {repository!r}")
        except InputError as error:
            # The error of the main branch is more informative than that of the parquet copy.
            first_error = first_error or error
            continue
        return str(info.sha), {name: sizes[name] for name in names}
    assert first_error is not None
    raise first_error


def _load_card(repository: str, commit: str) -> dataset_files.CardConfigs:
    readme = huggingface_hub.hf_hub_download(repository, "README.md", repo_type="dataset", revision=commit)
    return dataset_files.parse_card_configs(Path(readme).read_text("utf-8", errors="replace"))


def _download(repository: str, commit: str, sizes: dict[str, int]) -> Path:
    """Download the files that are not cached; return the folder of the snapshot."""
    cached = {name for name in sizes if _is_cached(repository, name, commit)}
    total = sum(size for name, size in sizes.items() if name not in cached)
    hub.check_space(repository, total, KIND)
    missing = len(sizes) - len(cached)
    log.info("%s at %s: %d of %d files to download, %.1f MB", repository, commit, missing, len(sizes), total / 1e6)
    folder = Path()
    for name in sizes:
        path = Path(huggingface_hub.hf_hub_download(repository, name, repo_type="dataset", revision=commit))
        folder = path.parents[name.count("/")]
    return folder


def _is_cached(repository: str, name: str, commit: str) -> bool:
    return isinstance(huggingface_hub.try_to_load_from_cache(repository, name, revision=commit, repo_type="dataset"), str)


def _find_cached(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> Snapshot | None:
    """Return the newest cached snapshot with the complete split, of the given revision if any."""
    try:
        repositories = huggingface_hub.scan_cache_dir(constants.HF_HUB_CACHE).repos
    except errors.CacheNotFound:
        return None
    snapshots = [
        revision_info
        for cached in repositories
        if cached.repo_id == repository and cached.repo_type == "dataset"
        for revision_info in cached.revisions
        if revision in (None, revision_info.commit_hash, *revision_info.refs)
    ]
    for snapshot in sorted(snapshots, key=lambda info: info.last_modified, reverse=True):
        folder = Path(snapshot.snapshot_path)
        try:
            return folder, snapshot.commit_hash, dataset_files.list_split_files(folder, configs, split, f"dataset {repository!r}")
        except InputError:
            continue
    return None
