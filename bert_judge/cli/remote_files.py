"""Files on object storage (s3://…, gs://…): copied to this machine, and the output copied back when it is finished."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bert_judge.cli.terminal import log
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.outputs import atomic
from bert_judge.runtime.program import program

# A path on the command line has lost one of the two slashes. One letter is a drive of Windows.
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+]+):/+(?P<rest>.+)")


def find_url(path: Path | None) -> str | None:
    """Return the URL that a path on the command line was; None for a path on this machine."""
    match = _URL.fullmatch(str(path))
    return f"{match['scheme']}://{match['rest']}" if match else None


def use_copies(
    file: Path, output: Path | None, run: Callable[[Path, Path | None], object], *, settings: Sequence[object], force: bool
) -> None:
    """Run on copies of a file and an output where these are URLs, and copy the finished output.

    The copies are in a folder of their own in the user's cache, so that a repeated call continues an interrupted one; a file that
    has changed since has another folder, and so has a call with other settings, which decide what is written.

    Raises:
        InputError: the storage is not installed, not reached, or does not have the file; the output exists, or has no name.
    """
    source, target = find_url(file), find_url(output)
    if source is None and target is None:
        run(file, output)
        return
    if output is None:
        raise InputError(f"{source}: name the output with -o")
    storage = _open_storage(target) if target else None
    if target and storage and not force:
        with _name_errors(target):
            exists = storage[0].exists(storage[1])
        if exists:
            raise InputError(f"{target}: exists; choose another output, or replace it with --force")
    version = "" if source else str(file.stat().st_mtime_ns) if file.is_file() else ""
    if source:
        remote, path = _open_storage(source)
        with _name_errors(source):
            version = str(remote.checksum(path))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "bert-judge" / "remote" / resume.content_key(program(), str(file), str(output), version, repr(settings))
    (folder / "input").mkdir(parents=True, exist_ok=True)
    if source:
        local = folder / "input" / file.name
        if not local.exists():
            log(f"{source}: copied to {local}")
            with _name_errors(source), atomic(local) as partial_file:
                remote.get_file(path, str(partial_file))
        file = local
    result = folder / output.name if target else output
    if not (target and result.exists()):
        run(file, result)
    if target and storage:
        with _name_errors(target):
            storage[0].put_file(str(result), storage[1])
        log(f"written to {target}")
    resume.clear(folder)


@contextmanager
def _name_errors(url: str) -> Iterator[None]:
    """Raise what a storage raises as an InputError; each has a hierarchy of its own, for credentials, permissions and networks."""
    try:
        yield
    except Exception as error:
        raise InputError(f"{url}: {error or type(error).__name__}") from error


def _open_storage(url: str) -> tuple[Any, str]:
    """Return the storage of a URL, and its path there."""
    import fsspec

    try:
        storage, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url}: {error}; pip install 'bert-judge[remote]' for s3:// and gs://") from error
    return storage, path
