"""Stages for tests of launching, in a module of their own that other processes can import."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from bert_judge.runtime.errors import InputError

log = logging.getLogger("bert_judge.launched_stages")


def note(folder: str) -> None:
    """Leave a file named after this process."""
    log.info("at work")
    Path(folder, os.environ.get("RANK", "alone")).touch()


def refuse(what: str) -> None:
    raise InputError(f"{what}: refused; give another")


def die() -> None:
    os._exit(3)
