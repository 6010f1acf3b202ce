"""The folder of a model that was fine-tuned: an ordinary one, with a manifest by which it is a prepared model like any other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets.prepare import manifest_of

MANIFEST, METRICS = "manifest.json", "metrics.json"
# One file, whose name is known before there is anything to save.
ONE_FILE = "100TB"


def save(name: str, model: Any, tokenizer: Any, folder: Path, remote_code: bool, markers: Iterable[str]) -> dict[str, Any]:
    """Write weights and tokenizer.

    Args:
        name: of the model in the manifest.
        markers: files that say that the folder is whole; they go first, and the caller writes them anew, last of all.

    Returns:
        The manifest.

    Raises:
        InputError: what was written is no whole model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for marker in markers:
        (folder / marker).unlink(missing_ok=True)
    model.save_pretrained(folder, max_shard_size=ONE_FILE)
    tokenizer.save_pretrained(folder)
    return manifest_of(name, folder, remote_code)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with tables.atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
