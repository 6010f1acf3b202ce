"""Files of a judge's folder, read without loading the judge."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bert_judge.assets.prepare import load_manifest
from bert_judge.runtime.errors import InputError

# Written last, so a folder without it is not a complete judge.
JUDGE_FILE = "judge.json"
METRICS = "metrics.json"


def fingerprint(folder: Path) -> str:
    """Hash a judge's weights, trees and `judge.json`, 16 hex digits."""
    judge_file = folder / JUDGE_FILE
    digest = hashlib.sha256(judge_file.read_bytes() if judge_file.is_file() else b"")
    weights = [*sorted(folder.glob("*.safetensors")), *sorted(folder.glob("*.bin"))]
    for path in (*weights, folder / "features.txt"):
        if path.is_file():
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """Return the metrics of a judge's training; None for a judge that was not trained here.

    Raises:
        InputError: its metrics.json is not a JSON object.
    """
    path = folder / METRICS
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); retrain the judge") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds {type(content).__name__} instead of an object of metrics; retrain the judge")
    return content


def resolve_checkpoint(checkpoint: str | Path) -> tuple[Path, str]:
    """Return folder and revision of the judge of a workflow run.

    Args:
        checkpoint: the judge.json of a judge trained here, or the manifest of a prepared checkpoint.
    """
    checkpoint = Path(checkpoint)
    if checkpoint.name == JUDGE_FILE:
        return checkpoint.parent, fingerprint(checkpoint.parent)
    manifest = load_manifest(checkpoint)
    return manifest.path, manifest.revision
