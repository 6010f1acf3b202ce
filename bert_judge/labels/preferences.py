"""The stage that writes a pairwise judge's verdicts on a set of pairs: one row per pair, including pairs without a verdict."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.pairwise.protocol import Pair, PairJudge, Preference, invalid_preference
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Verdicts per shard: the most that a kill can lose.
SHARD_ROWS = 512
FAILED = "generation failed"


def compare_pairs(
    spec: Mapping[str, Any],
    shards: Sequence[str | Path],
    output: str | Path,
    judge: PairJudge,
    work_folder: str | Path,
    shard_rows: int = SHARD_ROWS,
) -> None:
    """Compare every pair of a set; a pair with an answer whose generation failed is invalid for every judge.

    Valid verdicts in an existing table of the same judge and spec are reused.

    Args:
        spec: `Plan.preferences_spec`.
        shards: the tables of the set.
        work_folder: keeps finished verdicts until the table is written. A verdict is reused only if spec, revisions of the
            judge and pair are the same.
        shard_rows: verdicts per shard, the most that a kill can lose.

    Raises:
        InputError: the pairs cannot be read, or the judge refuses its input.
        ValueError: the judge returned the wrong number of preferences, which is a bug in the judge.
    """
    existing = _read_existing(spec, Path(output), judge)
    verdict_counts: Counter[str] = Counter()

    def compared_frames() -> Iterator[pd.DataFrame]:
        for path in shards:
            frame = _compare_frame(spec, tables.read(path, tables.PAIRS), judge, existing, Path(work_folder), shard_rows)
            verdict_counts.update(frame["verdict"])
            yield frame

    tables.write_parts(compared_frames(), output, tables.PREFERENCES, spec, judge.revisions)
    resume.clear(work_folder)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts.most_common())
    log.info("%s on %s: %s", spec["judge"], spec["set"], counts or "no pairs")


def _read_existing(spec: Mapping[str, Any], output: Path, judge: PairJudge) -> dict[str, dict[str, Any]]:
    """Return pair_id → row of an existing table with the same spec and judge; a pair_id identifies the content of a pair."""
    try:
        origin = tables.provenance(output)
        rows = tables.read(output, tables.PREFERENCES)
    except InputError:
        # Without a readable table, every pair is compared.
        return {}
    if (origin.get("spec"), origin.get("revisions")) != (tables.canonical(spec), dict(judge.revisions)):
        return {}
    if origin.get("schema_version") != tables.PREFERENCES.version:
        return {}
    decided = rows[rows["verdict"] != "invalid"]
    return {str(row["pair_id"]): {str(column): value for column, value in row.items()} for row in decided.to_dict("records")}


def _compare_frame(
    spec: Mapping[str, Any],
    pairs: pd.DataFrame,
    judge: PairJudge,
    existing: Mapping[str, Mapping[str, Any]],
    folder: Path,
    shard_rows: int,
) -> pd.DataFrame:
    """Return the preference rows of a frame of pairs, in order."""
    missing = pairs[~pairs["pair_id"].isin(existing.keys())]
    has_failed = (missing["status_a"] == "error") | (missing["status_b"] == "error")
    pending = {str(row["pair_id"]): _pair(row) for row in missing[~has_failed].to_dict("records")}

    def compare(batch: Sequence[Pair]) -> list[dict[str, Any]]:
        preferences = judge.compare(batch)
        if len(preferences) != len(batch):
            raise ValueError(f"judge {spec['judge']}: {len(preferences)} preferences for {len(batch)} pairs")
        return [_to_record(preference) for preference in preferences]

    origin = tables.canonical({"spec": spec, "revisions": dict(judge.revisions)})
    keys = [resume.content_key(origin, pair) for pair in pending.values()]
    results = resume.run_resumable(list(pending.values()), keys, compare, folder, shard_rows, unit="pairs") if pending else []
    new_verdicts = dict(zip(pending, results, strict=True))
    failed_preference = _to_record(invalid_preference(FAILED))
    rows = []
    for row in pairs.to_dict("records"):
        pair_id = row["pair_id"]
        verdict = existing.get(pair_id) or new_verdicts.get(pair_id) or failed_preference
        identity = {column: row[column] for column in ("pair_id", "sample_id", "task", "model_a", "model_b")}
        rows.append({**verdict, **identity, "judge": spec["judge"]})
    return pd.DataFrame(rows, columns=tables.PREFERENCES.names)


def _pair(row: Mapping[Any, Any]) -> Pair:
    references = row["references"] if isinstance(row["references"], list) else []
    return Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))


def _to_record(preference: Preference) -> dict[str, Any]:
    """Return a preference as plain values for shards and tables."""
    forward, backward = preference.forward, preference.backward
    return {
        "verdict": preference.verdict,
        "score": preference.score,
        "consistent": preference.consistent,
        "forward": forward.verdict,
        "forward_score": forward.score,
        "backward": backward.verdict,
        "backward_score": backward.score,
        "reason": tables.storable(preference.reason),
        "raw": tables.storable(preference.raw),
        "truncated": preference.truncated,
        "prompt_tokens": preference.prompt_tokens,
        "completion_tokens": preference.completion_tokens,
    }
