"""Snapshots of models and of splits of datasets from the Hugging Face hub, and one-line descriptions of the hub client's errors.

A dataset that consists of a script is read from the branch with the hub's parquet copy, so no code of the repository runs.
"""

import errno
import glob
import logging
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import huggingface_hub
from huggingface_hub import constants, errors
from huggingface_hub.file_download import repo_folder_name

from bert_judge.assets import repository_files
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

NO_NETWORK = "download it where there is a network and share the cache (HF_HOME), or put the {kind}'s folder under {shelf}/"
# Kind of repository → the environment variable of its folder of local copies, and the prefix of its page on the hub.
SHELVES = {"model": "LOCAL_MODELS_DIR", "dataset": "LOCAL_DATASETS_DIR"}
PAGES = {"model": "", "dataset": "datasets/"}
PARQUET_BRANCH = "refs/convert/parquet"

# Folder, commit, and names of the files.
Snapshot = tuple[Path, str, list[str]]
# Branch, commit, and name → size in bytes of the files to download.
RemoteFiles = tuple[str | None, str, dict[str, int]]


def snapshot(repository: str, revision: str | None, remote_code: bool) -> Snapshot:
    """Download a model, or find it in the local cache if the hub is unreachable."""

    def find_files() -> RemoteFiles:
        commit, sizes = _list_repository("model", repository, revision)
        names = repository_files.select_files(sizes, remote_code)
        repository_files.check_names(names, f"model {repository!r}: its repository")
        return revision, commit, {name: sizes[name] for name in names}

    def find_cached(folder: Path) -> list[str]:
        return repository_files.list_model_files(folder, remote_code, str(folder))

    return _snapshot("model", repository, revision, find_files, find_cached=find_cached)


def dataset_snapshot(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> Snapshot:
    """Download the files of a split, or find them in the local cache if the hub is unreachable."""
    find_cached = partial(repository_files.list_split_files, configs=configs, split=split, dataset=f"dataset {repository!r}")
    find_files = partial(list_remote_split, repository, revision, configs, split)
    return _snapshot("dataset", repository, revision, find_files, find_cached=find_cached)


def list_remote_split(repository: str, revision: str | None, configs: Sequence[str] | None, split: str) -> RemoteFiles:
    """Return the files of a split on the hub. Raises InputError: there are none; or an error of the hub."""
    first_error: InputError | None = None
    for branch in [revision] if revision else [None, PARQUET_BRANCH]:
        try:
            commit, sizes = _list_repository("dataset", repository, branch)
        except errors.RevisionNotFoundError:
            if first_error is None:
                raise
            break
        card: repository_files.CardConfigs = []
        if "README.md" in sizes:
            readme = huggingface_hub.hf_hub_download(repository, "README.md", repo_type="dataset", revision=commit)
            card = repository_files.parse_card_configs(Path(readme).read_text("utf-8", errors="replace"))
        try:
            names = repository_files.select_split_files(sizes, configs, split, card, dataset=f"dataset {repository!r}")
        except InputError as error:
            # The error of the main branch is more informative than that of the parquet copy.
            first_error = first_error or error
            continue
        return branch, commit, {name: sizes[name] for name in names}
    assert first_error is not None
    raise first_error


def _list_repository(kind: str, repository: str, revision: str | None) -> tuple[str, dict[str, int]]:
    api = huggingface_hub.HfApi()
    get_info = api.model_info if kind == "model" else api.dataset_info
    info = get_info(repository, revision=revision, files_metadata=True)
    return str(info.sha), {file.rfilename: file.size or 0 for file in info.siblings or []}


def _snapshot(
    kind: str,
    repository: str,
    revision: str | None,
    find_files: Callable[[], RemoteFiles],
    *,
    find_cached: Callable[[Path], list[str]],
) -> Snapshot:
    """Download the files that `find_files` names, or use the newest cached snapshot that `find_cached` accepts."""
    try:
        branch, commit, sizes = find_files()
        folder = _download(kind, repository, branch, commit, sizes=sizes)
        return folder, folder.name, list(sizes)
    # The base classes of the client's own errors.
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        for folder in _cached_snapshots(kind, repository, revision) if is_unreachable(error) else []:
            try:
                names = find_cached(folder)
            except InputError:
                continue
            log.warning("%s: the hub is unreachable; using the cached snapshot %s", repository, folder.name)
            return folder, folder.name, names
        raise InputError(describe_error(error, repository, revision, kind)) from error


def _download(kind: str, repository: str, branch: str | None, commit: str, *, sizes: dict[str, int]) -> Path:
    cached = partial(huggingface_hub.try_to_load_from_cache, repository, revision=commit, repo_type=kind)
    # The client returns a marker for a file that is known not to exist.
    missing = [name for name in sizes if not isinstance(cached(name), str)]
    total = sum(sizes[name] for name in missing)
    _check_space(kind, repository, total)
    log.info("%s at %s: %d of %d files to download, %.1f MB", repository, commit, len(missing), len(sizes), total / 1e6)
    downloaded = 0
    for number, name in enumerate(missing, start=1):
        huggingface_hub.hf_hub_download(repository, name, repo_type=kind, revision=commit)
        downloaded += sizes[name]
        log.info("%s: %d/%d files, %.1f of %.1f MB", repository, number, len(missing), downloaded / 1e6, total / 1e6)
    # All files are cached; this records the commit of the branch, so that it is found without a network.
    patterns = [glob.escape(name) for name in sizes]
    return Path(huggingface_hub.snapshot_download(repository, repo_type=kind, revision=branch, allow_patterns=patterns))


def _cached_snapshots(kind: str, repository: str, revision: str | None) -> list[Path]:
    """Return the cached snapshots of a repository, of the given revision if any, newest first."""
    root = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=repository, repo_type=kind))
    folders = sorted((root / "snapshots").glob("*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    branch = root / "refs" / (revision or "main")
    commit = branch.read_text("utf-8") if branch.is_file() else revision
    # Without a revision, the newest of the main branch comes first.
    return sorted((f for f in folders if revision is None or f.name == commit), key=lambda folder: folder.name != commit)


def _check_space(kind: str, repository: str, needed: int) -> None:
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
    """Return one line with the error and its fix."""
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
