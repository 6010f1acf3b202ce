"""What of a judge can be told from its files alone, without loading it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bert_judge.assets.prepare import load_manifest
from bert_judge.runtime.errors import InputError

# Says how the weights beside it are used; written last, so a folder without it is no judge.
JUDGE_FILE = "judge.json"
# What its training measured.
METRICS = "metrics.json"


def fingerprint(folder: Path) -> str:
    """A hash of a judge's weights and, where it has one, its card, 16 hex digits: equal judges, equal scores."""
    card = folder / JUDGE_FILE
    digest = hashlib.sha256(card.read_bytes() if card.is_file() else b"")
    weights = [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.bin"))]
    # features.txt: the trees of a judge that has them (judges/head.py).
    for path in (*weights, folder / "features.txt"):
        if path.is_file():
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """What a judge's training measured; None of a judge that was not trained here.

    Raises:
        InputError: its metrics.json is not a JSON object.
    """
    path = folder / METRICS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); train the judge anew") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds {type(content).__name__} where an object of metrics is expected; train the judge anew")
    return content


def resolve_checkpoint(checkpoint: str | Path) -> tuple[Path, str]:
    """Folder and revision of the judge of a workflow run.

    Args:
        checkpoint: the judge.json of a judge trained here, or the manifest of a prepared checkpoint.
    """
    checkpoint = Path(checkpoint)
    if checkpoint.name == JUDGE_FILE:
        return checkpoint.parent, fingerprint(checkpoint.parent)
    manifest = load_manifest(checkpoint)
    return manifest.path, manifest.revision
