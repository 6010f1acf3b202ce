"""Seeds that belong to a row, for every back end alike."""

from __future__ import annotations

import hashlib
import json


def row_seed(seed: int, prompt: str, attempt: int, bits: int = 63) -> int:
    """A seed of so many bits that depends on the prompt and the attempt only: neither on other rows nor on the task's name."""
    text = json.dumps([seed, prompt, attempt])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> (64 - bits)
