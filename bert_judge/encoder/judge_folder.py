"""Files of a judge's folder, read without loading the judge."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.assets.prepare import folder_revision, load_manifest, local_folder
from bert_judge.runtime.errors import InputError

# Written last, so a folder without it is not a complete judge.
JUDGE_FILE = "judge.json"
TREES_FILE = "trees.safetensors"
METRICS = "metrics.json"
# Hashes of the rows that a judge was trained, validated or calibrated on; another sample must certify it.
SEEN_ROWS = "seen_rows.npy"
CHECKSUMS = "SHA256SUMS"


def check_folder(folder: Path) -> None:
    """Refuse a folder with something that is no file, and a judge's with links out of it, or with other files than published.

    A judge may come from a stranger. The cache of the hub, whose snapshots link to its own blobs, is allowed.
    """
    root = folder.resolve()
    allowed = (root, root.parent.parent / "blobs") if root.parent.name == "snapshots" else (root,)
    is_judge = (folder / JUDGE_FILE).is_file()
    for path in sorted(folder.iterdir()):
        # A pipe would be read forever; a link in a circle is neither.
        if not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: is neither a file nor a folder; remove it, or download the judge again")
        if is_judge and path.is_symlink() and not any(map(path.resolve().is_relative_to, allowed)):
            raise InputError(f"{path}: is a link to a file outside the judge's folder; replace it by the file, if you trust it")
    if (folder / CHECKSUMS).is_file():
        _verify_checksums(folder)


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of the files that decide a judge's verdicts, in the format of `sha256sum`; not of its card and records."""
    records = {METRICS, SEEN_ROWS, CHECKSUMS}
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != ".md" and path.name not in records)
    text = "".join(f"{tables.file_content(path)['sha256']}  {path.name}\n" for path in files)
    (folder / CHECKSUMS).write_text(text, "utf-8")


def _verify_checksums(folder: Path) -> None:
    try:
        lines = [line.split("  ", 1) for line in (folder / CHECKSUMS).read_text("utf-8").splitlines()]
        changed = [
            name for digest, name in lines if Path(name).name != name or tables.file_content(folder / name)["sha256"] != digest
        ]
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / CHECKSUMS}: {' '.join(str(error).split())[:200]}; download the judge again") from error
    if changed:
        raise InputError(f"{folder / changed[0]}: is not the file that was published; download the judge again")


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """Return the metrics of a judge that was trained here, else None. Raises InputError: its metrics.json is not a JSON object."""
    path = folder / METRICS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); retrain the judge") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds {type(content).__name__} instead of an object of metrics; retrain the judge")
    return content


def read_unseen_auroc(folder: Path) -> dict[str, float]:
    """Return kind (`text.answer_kinds`) → AUROC that a judge reached on sources that it was not trained on; empty if not measured.

    Raises InputError: its metrics.json is broken.
    """
    try:
        return {kind: float(measures["auroc"]) for kind, measures in (read_metrics(folder) or {}).get("unseen_kinds", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / METRICS}: unseen_kinds needs an auroc for every kind; retrain the judge") from error


def hash_rows(questions: Iterable[str], candidates: Iterable[str]) -> NDArray[np.uint64]:
    """Hash questions with answers, ignoring case and white space, to 64 bits each."""
    texts = ("\0".join(" ".join(text.casefold().split()) for text in row) for row in zip(questions, candidates, strict=True))
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8")


def write_seen_rows(folder: Path, hashes: NDArray[np.uint64]) -> None:
    """Record the rows that a judge has seen, from `hash_rows`."""
    with tables.atomic(folder / SEEN_ROWS) as temporary, temporary.open("wb") as file:
        np.save(file, np.unique(hashes), allow_pickle=False)


def read_seen_rows(folder: Path) -> NDArray[np.uint64] | None:
    """Return the hashes of the rows that a judge has seen; None without a record. Raises InputError: the file is damaged."""
    path = folder / SEEN_ROWS
    if not path.is_file():
        return None
    try:
        return np.asarray(np.load(path, allow_pickle=False), np.uint64)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: not an array of hashes ({error}); retrain the judge") from error


def find_folder(name: str | Path) -> Path:
    """Return the folder of a judge or backbone: `general`, `minilm`, a local folder, or a hub id, which is downloaded."""
    if (folder := local_folder(str(name))) is not None:
        return folder
    # Imported lazily: local judges do not need the hub's client.
    from bert_judge.assets import hub

    return hub.snapshot(str(name), None, remote_code=False)[0]


def resolve_checkpoint(checkpoint: str | Path) -> tuple[Path, str]:
    """Return folder and revision of a judge, given the judge.json of one trained here or the manifest of a prepared checkpoint."""
    checkpoint = Path(checkpoint)
    if checkpoint.name == JUDGE_FILE:
        return checkpoint.parent, folder_revision(checkpoint.parent)
    manifest = load_manifest(checkpoint)
    return manifest.path, manifest.revision


def judge_asset(repository: str, revision: str | None) -> dict[str, Any]:
    """Return what `prepare` fetches for a judge or its backbone; the content of a local folder is part of it."""
    return {"repository": repository, "revision": revision, "remote_code": False, **local_content(repository)}


def local_content(repository: str | None) -> dict[str, str]:
    """Return a hash of the files of a judge in a local folder as `content`; empty for a hub id, whose commit is pinned."""
    folder = local_folder(repository) if repository else None
    return {} if folder is None else {"content": folder_revision(folder)}
