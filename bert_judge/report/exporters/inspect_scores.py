"""Verdicts for inspect_ai's scorer `precomputed_scores`: a line per sample and epoch.

inspect score logs/x.eval --scorer inspect_ai/precomputed_scores -S scores=scores.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bert_judge.runtime.errors import InputError


def lines(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[str]:
    """A line of JSON per answer with a valid verdict; a sample without one is unscored there, not wrong.

    Args:
        rows: as `results.scored_rows` gives them.
        source: the file, for messages.

    Raises:
        InputError: a row has no id of its sample.
    """
    for row in rows:
        if not row["id"]:
            raise InputError(f"{source}: no column 'id' with the samples' ids; score the log itself: bert-judge score LOG.eval")
        if row["verdict"] == "invalid":
            continue
        value = "C" if row["verdict"] == "correct" else "I"
        more = {"score": row["score"]}
        record = {"id": row["id"], "epoch": row["attempt"] + 1, "value": value, "explanation": row["reason"], "metadata": more}
        yield json.dumps(record, ensure_ascii=False)
