"""Snapshots from the Hugging Face hub, and what to do when there are none.

The hub's client raises some twenty kinds of errors over several lines; a person needs one line with a remedy.
"""

from __future__ import annotations

import errno
import glob
import logging
import shutil
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants, errors

from bert_judge.assets import model_files
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

NO_NETWORK = "run the prepare stage where there is a network and share HF_HOME, or put the {kind}'s folder under {shelf}/"
# Kind of repository → the variable that names a folder of local copies, and where the hub's page of it lies.
SHELVES = {"model": "LOCAL_MODELS_DIR", "data set": "LOCAL_DATASETS_DIR"}
PAGES = {"model": "", "data set": "datasets/"}


def snapshot(repository: str, revision: str | None, remote_code: bool) -> tuple[Path, str]:
    """Download a model, or find it in the hub's cache when the hub is out of reach.

    Args:
        repository: hub id.
        revision: commit, tag or branch; None for the newest.
        remote_code: fetch the repository's Python files too.

    Returns:
        The folder and its commit.

    Raises:
        InputError: see `fault`.
    """
    try:
        return _download(repository, revision, remote_code)
    # The client's own errors derive from these.
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        if out_of_reach(error) and (folder := _cached_folder(repository, revision, remote_code)):
            log.warning("%s: the hub is out of reach; using the cached snapshot %s", repository, folder.name)
            return folder, folder.name
        raise InputError(fault(error, repository, revision)) from error


def _download(repository: str, revision: str | None, remote_code: bool) -> tuple[Path, str]:
    info = huggingface_hub.HfApi().model_info(repository, revision=revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    names = model_files.wanted(sizes, remote_code)
    model_files.check_names(names, f"model {repository!r}: its repository")
    missing = [name for name in names if _cached_file(repository, name, info.sha) is None]
    total = sum(sizes[name] for name in missing)
    check_space(repository, total)
    log.info("%s at %s: %d of %d files to download, %.1f MB", repository, info.sha, len(missing), len(names), total / 1e6)
    loaded = 0
    for number, name in enumerate(missing, start=1):
        huggingface_hub.hf_hub_download(repository, name, revision=info.sha)
        loaded += sizes[name]
        log.info("%s: %d/%d files, %.1f of %.1f MB", repository, number, len(missing), loaded / 1e6, total / 1e6)
    # All files are in the cache; this notes which commit the branch stood for, so that it is found again without a network.
    patterns = [glob.escape(name) for name in names]
    folder = Path(huggingface_hub.snapshot_download(repository, revision=revision, allow_patterns=patterns))
    return folder, folder.name


def _cached_file(repository: str, name: str, revision: str | None) -> Path | None:
    path = huggingface_hub.try_to_load_from_cache(repository, name, revision=revision)
    # The third possible answer is a marker for "known not to exist".
    return Path(path) if isinstance(path, str) else None


def _cached_folder(repository: str, revision: str | None, remote_code: bool) -> Path | None:
    """The cached snapshot, when an earlier download came to its end."""
    config = _cached_file(repository, "config.json", revision)
    if config is None:
        return None
    try:
        model_files.complete(config.parent, remote_code, str(config.parent))
    except InputError:
        return None
    return config.parent


def check_space(repository: str, needed: int, kind: str = "model") -> None:
    """Refuse a download of `needed` bytes when the cache's disk has less.

    Raises:
        InputError: says what is missing.
    """
    folder = Path(constants.HF_HUB_CACHE)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"{kind} {repository!r}: needs {needed / 1e9:.1f} GB, and {constants.HF_HUB_CACHE} has {free / 1e9:.1f} GB free; "
            "make room, or set HF_HOME to a larger disk"
        )


def out_of_reach(error: Exception) -> bool:
    """Whether the hub gave no answer at all, or only that it is broken or busy."""
    if isinstance(error, errors.HfHubHTTPError):
        return error.response.status_code >= 500 or error.response.status_code == 429
    return isinstance(error, (ConnectionError, TimeoutError, errors.HTTPError, errors.LocalEntryNotFoundError))


def fault(error: Exception, repository: str, revision: str | None, kind: str = "model") -> str:
    """One line that says why the hub gave nothing, and what to do.

    Args:
        kind: `model` or `data set`.
    """
    model = f"{kind} {repository!r}"
    page = f"{constants.ENDPOINT}/{PAGES[kind]}{repository}"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, errors.HfHubHTTPError):
        # The client wraps the hub's refusal of a single file.
        return fault(error.__cause__, repository, revision, kind)
    match error:
        case errors.GatedRepoError():
            return f"{model} is gated: accept its licence at {page} and set HF_TOKEN to a token of that account"
        case errors.RevisionNotFoundError():
            return f"{model} has no revision {revision!r}; see {page}/commits for those there are"
        case errors.RepositoryNotFoundError():
            return f"{model} is not on the hub, or is private; mend the name, give a folder, or set HF_TOKEN"
        case errors.HFValidationError():
            return f"{model} is neither a folder nor a hub id (owner/name); mend the name"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return f"{model}: no space left in {constants.HF_HUB_CACHE}; make room, or set HF_HOME to a larger disk"
        case OSError(errno=errno.EACCES | errno.EROFS):
            return f"{model}: {constants.HF_HUB_CACHE} cannot be written; set HF_HOME to a folder of yours"
    if status in (401, 403):
        return f"{model}: the hub refuses the token ({status}); set HF_TOKEN to a valid one with read access"
    if status is not None:
        return f"{model}: the hub answers {status}; try again later"
    if out_of_reach(error):
        cure = NO_NETWORK.format(kind=kind, shelf=SHELVES[kind])
        return f"{model}: the hub cannot be reached ({type(error).__name__}), and its cache lacks the {kind}; {cure}{repository}"
    return f"{model}: the download failed ({type(error).__name__}: {' '.join(str(error).split())[:200]}); run again"
