"""Model snapshots from the Hugging Face hub, and one-line descriptions of the hub client's errors."""

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
# Kind of repository → the environment variable of its folder of local copies, and the prefix of its page on the hub.
SHELVES = {"model": "LOCAL_MODELS_DIR", "dataset": "LOCAL_DATASETS_DIR"}
PAGES = {"model": "", "dataset": "datasets/"}


def snapshot(repository: str, revision: str | None, remote_code: bool) -> tuple[Path, str]:
    """Download a model, or find it in the local cache if the hub is unreachable.

    Args:
        repository: hub id.
        revision: commit, tag or branch; None for the newest.
        remote_code: download the repository's Python files too.

    Returns:
        The folder and its commit.

    Raises:
        InputError: see `describe_error`.
    """
    try:
        return _download(repository, revision, remote_code)
    # The base classes of the client's own errors.
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        if is_unreachable(error) and (folder := _cached_folder(repository, revision, remote_code)):
            log.warning("%s: the hub is unreachable; using the cached snapshot %s", repository, folder.name)
            return folder, folder.name
        raise InputError(describe_error(error, repository, revision)) from error


def _download(repository: str, revision: str | None, remote_code: bool) -> tuple[Path, str]:
    info = huggingface_hub.HfApi().model_info(repository, revision=revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    names = model_files.select_files(sizes, remote_code)
    model_files.check_names(names, f"model {repository!r}: its repository")
    missing = [name for name in names if _cached_file(repository, name, info.sha) is None]
    total = sum(sizes[name] for name in missing)
    check_space(repository, total)
    log.info("%s at %s: %d of %d files to download, %.1f MB", repository, info.sha, len(missing), len(names), total / 1e6)
    downloaded = 0
    for number, name in enumerate(missing, start=1):
        huggingface_hub.hf_hub_download(repository, name, revision=info.sha)
        downloaded += sizes[name]
        log.info("%s: %d/%d files, %.1f of %.1f MB", repository, number, len(missing), downloaded / 1e6, total / 1e6)
    # All files are cached; this records the commit of the branch, so that it is found without a network.
    patterns = [glob.escape(name) for name in names]
    folder = Path(huggingface_hub.snapshot_download(repository, revision=revision, allow_patterns=patterns))
    return folder, folder.name


def _cached_file(repository: str, name: str, revision: str | None) -> Path | None:
    path = huggingface_hub.try_to_load_from_cache(repository, name, revision=revision)
    # The third possible answer is a marker for "known not to exist".
    return Path(path) if isinstance(path, str) else None


def _cached_folder(repository: str, revision: str | None, remote_code: bool) -> Path | None:
    """Return the cached snapshot if it is complete."""
    config = _cached_file(repository, "config.json", revision)
    if config is None:
        return None
    try:
        model_files.list_model_files(config.parent, remote_code, str(config.parent))
    except InputError:
        return None
    return config.parent


def check_space(repository: str, needed: int, kind: str = "model") -> None:
    """Refuse a download of `needed` bytes if the disk of the cache has less.

    Raises:
        InputError: not enough space.
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


def is_unreachable(error: Exception) -> bool:
    """Return whether the hub did not respond, or is broken or busy."""
    if isinstance(error, errors.HfHubHTTPError):
        return error.response.status_code >= 500 or error.response.status_code == 429
    return isinstance(error, (ConnectionError, TimeoutError, errors.HTTPError, errors.LocalEntryNotFoundError))


def describe_error(error: Exception, repository: str, revision: str | None, kind: str = "model") -> str:
    """Return one line with the error and its fix.

    Args:
        kind: `model` or `dataset`.
    """
    subject = f"{kind} {repository!r}"
    page = f"{constants.ENDPOINT}/{PAGES[kind]}{repository}"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, errors.HfHubHTTPError):
        # The client wraps the hub's refusal of a single file.
        return describe_error(error.__cause__, repository, revision, kind)
    match error:
        case errors.GatedRepoError():
            return f"{subject} is gated: accept its licence at {page} and set HF_TOKEN to a token of that account"
        case errors.RevisionNotFoundError():
            return f"{subject} has no revision {revision!r}; see {page}/commits for the existing ones"
        case errors.RepositoryNotFoundError():
            return f"{subject} is not on the hub, or is private; fix the name, give a folder, or set HF_TOKEN"
        case errors.HFValidationError():
            return f"{subject} is neither a folder nor a hub id (owner/name); fix the name"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return f"{subject}: no space left in {constants.HF_HUB_CACHE}; make room, or set HF_HOME to a larger disk"
        case OSError(errno=errno.EACCES | errno.EROFS):
            return f"{subject}: {constants.HF_HUB_CACHE} is not writable; set HF_HOME to a writable folder"
    if status in (401, 403):
        return f"{subject}: the hub rejects the token ({status}); set HF_TOKEN to a valid one with read access"
    if status is not None:
        return f"{subject}: the hub answers {status}; try again later"
    if is_unreachable(error):
        fix = NO_NETWORK.format(kind=kind, shelf=SHELVES[kind])
        return f"{subject}: the hub cannot be reached ({type(error).__name__}), and its cache lacks the {kind}; {fix}{repository}"
    return f"{subject}: the download failed ({type(error).__name__}: {' '.join(str(error).split())[:200]}); run again"
