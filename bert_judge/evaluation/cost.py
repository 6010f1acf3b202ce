"""What verdicts cost: tokens, money and seconds per 1,000 of them, read off finished label tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from bert_judge import tables
from bert_judge.config import Price
from bert_judge.evaluation import timings
from bert_judge.runtime.errors import InputError

PER = 1000
TOKENS = ["prompt_tokens", "completion_tokens"]


def of_tables(paths: Iterable[str | Path], prices: Mapping[str, Price] | None = None) -> pd.DataFrame:
    """One row per judge, sorted by name.

    Tokens are those of the texts behind the verdicts, both rounds of one that was asked for again; a table that was made anew from
    answers already paid for counts them like the first time. Verdicts without a count (nobody is asked about an empty answer) cost
    none. Seconds are those of `timings.of_table`: of a job that went on after a kill, its last part only.

    Args:
        paths: label tables.
        prices: judge → price of its model's tokens.

    Returns:
        Columns judge, verdicts, invalid (share), and per 1,000 verdicts prompt_tokens, completion_tokens (null without any count),
        money (null without a price or a count) and seconds (null unless Snakemake's benchmark file of every table is there).

    Raises:
        InputError: a file is no label table, or there is none.
    """
    parts = []
    for path in paths:
        # Verdicts on two answers cost like those on one.
        kind = tables.PREFERENCES if tables.provenance(path).get("schema") == tables.PREFERENCES.name else tables.LABELS
        frame = tables.read(path, kind)
        parts.append(frame[["judge", "verdict", *TOKENS]].assign(seconds=_seconds(Path(path)) / max(len(frame), 1)))
    if not parts:
        raise InputError("no label tables; name files or folders such as results/labels/teacher")
    together = pd.concat(parts, ignore_index=True)
    return pd.DataFrame([_row(str(judge), rows, (prices or {}).get(str(judge))) for judge, rows in together.groupby("judge")])


def _row(judge: str, rows: pd.DataFrame, price: Price | None) -> dict[str, object]:
    means = {name: rows[name].sum(min_count=1) * PER / len(rows) for name in TOKENS}
    money = float("nan")
    if price is not None:
        money = (means["prompt_tokens"] * price.prompt + means["completion_tokens"] * price.completion) / 1e6
    return {
        "judge": judge,
        "verdicts": len(rows),
        "invalid": float((rows["verdict"] == "invalid").mean()),
        **means,
        "cost": money,
        "seconds": rows["seconds"].sum(skipna=False) * PER / len(rows),
    }


def _seconds(path: Path) -> float:
    """Seconds that results/labels/{judge}/{model}/{task}.parquet took; nan without Snakemake's measurement."""
    parts = path.resolve().parts
    if len(parts) < 5 or parts[-4] != "labels":
        return float("nan")
    seconds = timings.of_table(Path(*parts[:-4]), Path(*parts))
    return float("nan") if seconds is None else seconds
