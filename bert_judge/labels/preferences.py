"""The stage that writes a pairwise judge's verdicts on a set of pairs: one row per pair, whatever became of it."""

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
    """Compare every pair of a set. A pair one of whose answers failed to be generated is invalid for every judge.

    Verdicts of an earlier run on the same pairs, by the same judge under the same spec, are taken over from the table that is
    there, but for those that could not be reached.

    Args:
        spec: `Plan.preferences_spec`.
        parts: the tables of the set.
        work_folder: keeps the finished shards until the table is written. A verdict is taken from there only if spec, judge's
            revisions and pair are the same.
        shard_rows: verdicts per shard, the most that a kill can lose.

    Raises:
        InputError: the pairs cannot be read, or the judge refuses its input.
        ValueError: the judge gave too few or too many preferences; a fault of the judge.
    """
    old = _earlier(spec, Path(output), judge)
    verdict_counts: Counter[str] = Counter()

    def written() -> Iterator[pd.DataFrame]:
        for path in shards:
            frame = _compared(spec, tables.read(path, tables.PAIRS), judge, old, Path(work_folder), shard_rows)
            verdict_counts.update(frame["verdict"])
            yield frame

    tables.write_parts(written(), output, tables.PREFERENCES, spec, judge.revisions)
    resume.clear(work_folder)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts.most_common())
    log.info("%s on %s: %s", spec["judge"], spec["set"], counts or "no pairs")


def _earlier(spec: Mapping[str, Any], output: Path, judge: PairJudge) -> dict[str, dict[str, Any]]:
    """pair_id → row of the table that an earlier run wrote, where spec and judge are the same; a pair's id tells its content."""
    try:
        origin = tables.provenance(output)
        rows = tables.read(output, tables.PREFERENCES)
    except InputError:
        # There is none, or none that can be read: everything is compared.
        return {}
    if (origin.get("spec"), origin.get("revisions")) != (tables.canonical(spec), dict(judge.revisions)):
        return {}
    if origin.get("schema_version") != tables.PREFERENCES.version:
        return {}
    decided = rows[rows["verdict"] != "invalid"]
    return {str(row["pair_id"]): {str(name): value for name, value in row.items()} for row in decided.to_dict("records")}


def _compared(
    spec: Mapping[str, Any],
    pairs: pd.DataFrame,
    judge: PairJudge,
    old: Mapping[str, Mapping[str, Any]],
    folder: Path,
    shard_rows: int,
) -> pd.DataFrame:
    """The rows of some pairs, in their order."""
    new = pairs[~pairs["pair_id"].isin(old.keys())]
    failed = (new["status_a"] == "error") | (new["status_b"] == "error")
    pending = {str(row["pair_id"]): _pair(row) for row in new[~failed].to_dict("records")}

    def work(some: Sequence[Pair]) -> list[dict[str, Any]]:
        preferences = judge.compare(some)
        if len(preferences) != len(some):
            raise ValueError(f"judge {spec['judge']}: {len(preferences)} preferences for {len(some)} pairs")
        return [_plain(preference) for preference in preferences]

    origin = tables.canonical({"spec": spec, "revisions": dict(judge.revisions)})
    keys = [resume.content_key(origin, pair) for pair in pending.values()]
    results = resume.run_resumable(list(pending.values()), keys, work, folder, shard_rows, unit="pairs") if pending else []
    new_verdicts = dict(zip(pending, results, strict=True))
    nothing = _plain(invalid_preference(FAILED))
    rows = []
    for row in pairs.to_dict("records"):
        name = row["pair_id"]
        verdict = old.get(name) or new_verdicts.get(name) or nothing
        identity = {column: row[column] for column in ("pair_id", "sample_id", "task", "model_a", "model_b")}
        rows.append({**verdict, **identity, "judge": spec["judge"]})
    return pd.DataFrame(rows, columns=tables.PREFERENCES.names)


def _pair(row: Mapping[Any, Any]) -> Pair:
    references = row["references"] if isinstance(row["references"], list) else []
    return Pair(row["question"], row["answer_a"], row["answer_b"], tuple(references))


def _plain(preference: Preference) -> dict[str, Any]:
    """A preference as values that a shard and a table can hold."""
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
