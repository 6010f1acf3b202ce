"""Reading a file of answers that somebody else wrote: parquet, CSV or JSONL, with a column map and a filter."""

from __future__ import annotations

from pathlib import Path

from bert_judge.config import Import


def distinct_models(entry: Import, path: Path) -> list[str]:
    """Names of the models whose answers the file holds, after the import's filter."""
    raise NotImplementedError
