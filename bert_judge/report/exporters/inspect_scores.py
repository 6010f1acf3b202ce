"""Export verdicts for inspect_ai's scorer `precomputed_scores`: one line per sample and epoch.

inspect score logs/x.eval --scorer inspect_ai/precomputed_scores -S scores=scores.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bert_judge.runtime.errors import InputError


def lines(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[str]:
    """Yield a line of JSON per answer with a valid verdict; the other samples stay unscored in inspect_ai.

    Args:
        rows: from `results.scored_rows`.
        source: the file, for messages.

    Raises:
        InputError: a row has no sample id.
    """
    for row in rows:
        if not row["id"]:
            raise InputError(f"{source}: no column 'id' with sample ids; score the log itself: bert-judge score LOG.eval")
        if row["verdict"] != "invalid":
            record = {
                "id": row["id"],
                "epoch": row["attempt"] + 1,
                "value": "C" if row["verdict"] == "correct" else "I",
                "explanation": row["reason"],
                "metadata": {"score": row["score"]},
            }
            yield json.dumps(record, ensure_ascii=False)
