"""Write files completely or not at all, and by one process at a time.

A writer locks its output, writes to a private temporary name in the same folder, flushes it to disk and renames it, so a path that
exists is complete, also after a crash of the machine. The next writer of an output removes what a killed one left.
"""

import errno
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError

# File systems allow 255 bytes; hidden names add a dot, a random part and an ending.
MAX_NAME_BYTES = 200
# How long a writer of a small file waits for another one.
WAIT_SECONDS = 30.0
# Errors of the disk, not of the program; Python and Arrow do not name the file in all of them.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)


def canonical(spec: Mapping[str, Any]) -> str:
    """Return canonical JSON: sorted keys, no white space, so that equal specs are equal strings."""
    return json.dumps(spec, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def claim_output(output: Path, *sources: Path, force: bool, parents: bool = False) -> Iterator[None]:
    """Reserve an output for this process, after checking that writing it destroys no other file.

    Args:
        parents: its folder is created if it is missing.

    Raises:
        InputError: it is a source or a folder, it exists, its folder is missing or read-only, or another process is writing it.
    """
    folder = output.parent
    if any(output.resolve() == source.resolve() for source in sources):
        raise InputError(f"{output}: is the input file; choose another with -o")
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file in it with -o")
    if not folder.is_dir() and not parents:
        raise InputError(f"{output}: its folder does not exist; create it, or choose another with -o")
    if folder.is_dir() and not os.access(folder, os.W_OK):
        raise InputError(f"{output}: its folder is read-only; choose another with -o")
    _check_absence(output, force)
    with exclusive(output):
        # Another process may have finished it in the meantime.
        _check_absence(output, force)
        yield


def _check_absence(output: Path, force: bool) -> None:
    if output.exists() and not force:
        raise InputError(f"{output}: already exists; add --force to overwrite it, or choose another with -o")


@contextmanager
def exclusive(output: str | Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Lock a file or folder that this process writes; other processes are refused. May be nested within a thread.

    Raises:
        InputError: another process holds the lock; the message has its process id.
    """
    # Imported here because it takes as long as the rest of this package's readers.
    import filelock

    output = Path(output).absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    path = hidden_path(output, ".lock")
    lock = filelock.FileLock(path, is_singleton=True, thread_local=True)
    try:
        lock.acquire(timeout=wait_seconds, poll_interval=0.02)
    except filelock.Timeout as error:
        holder = _read_holder(path)
        raise InputError(f"{output}: is being written by {holder}; wait for it to end, or choose another output") from error
    try:
        if lock.lock_counter == 1:
            path.write_text(str(os.getpid()), "ascii")
            for stale in output.parent.glob(f"{glob.escape(hidden_path(output, '.').name)}*.tmp"):
                _remove(stale)
        yield
    finally:
        # Deleted while it is held: a process that has opened it meanwhile notices and opens a new one.
        if lock.lock_counter == 1:
            path.unlink(missing_ok=True)
        lock.release()


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files and locks of killed writers from a folder whose files are never written twice."""
    for lock in folder.glob(".*.lock"):
        # A held lock belongs to a file that is being written right now.
        with suppress(InputError), exclusive(folder / lock.name.removeprefix(".").removesuffix(".lock")):
            pass


def _read_holder(path: Path) -> str:
    try:
        return f"process {int(path.read_text('ascii'))}"
    except (OSError, ValueError):
        return "another process"


def hidden_path(output: Path, ending: str) -> Path:
    """Return the path of a hidden file next to an output, whose name is shortened if it is too long for one."""
    name = output.name
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return output.with_name(f".{name}{ending}")


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a private temporary path in the folder of `path`; on success flush it to disk and rename it.

    A killed process leaves at most a hidden temporary file, never half a table under the real name.

    Raises:
        InputError: the disk is full or read-only, or another process has been writing this file for `WAIT_SECONDS`.
    """
    path = Path(path)
    with exclusive(path, WAIT_SECONDS), _explain_disk_errors(path):
        descriptor, name = tempfile.mkstemp(prefix=hidden_path(path, ".").name, suffix=".tmp", dir=path.parent)
        os.close(descriptor)
        temporary = Path(name)
        try:
            yield temporary
            set_default_mode(temporary)
            _flush(temporary)
            temporary.replace(path)
            _flush(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a private temporary folder next to a new one; on success flush its files to disk and rename it.

    Raises:
        InputError: the folder exists, another process is writing it, or the disk is full or read-only.
    """
    with exclusive(folder), _explain_disk_errors(folder):
        if folder.exists():
            raise InputError(f"{folder}: already exists; remove it, or choose another folder with -o")
        temporary = Path(tempfile.mkdtemp(prefix=hidden_path(folder, ".").name, suffix=".tmp", dir=folder.parent))
        try:
            yield temporary
            set_default_mode(temporary, 0o777)
            for path in (*temporary.rglob("*"), temporary):
                _flush(path)
            temporary.rename(folder)
            _flush(folder.parent)
        finally:
            _remove(temporary)


@contextmanager
def _explain_disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise InputError(f"{path}: cannot be written: {os.strerror(error.errno)}") from error


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file completely or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def set_default_mode(path: Path, mode: int = 0o666) -> None:
    """Give a file the permissions of any other new file; `mkstemp` and safetensors make theirs private."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(mode & ~umask)
