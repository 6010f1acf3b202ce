"""What a run cost, by what was measured: tokens, seconds, GPU hours and money, for answers, verdicts and training.

Tokens are counted in the tables; seconds are those of Snakemake's benchmark files, so of a job that went on after a kill its last
part only. Nothing is guessed but the one row that says so: an LLM judge on all answers, where the run has measured none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from bert_judge import tables
from bert_judge.evaluation import timings

TOKENS = ("prompt_tokens", "completion_tokens")
# What an LLM judge is assumed to read beside question, references and answer, and to write; characters of a token of English.
INSTRUCTIONS, WRITTEN, CHARACTERS = 300, 120, 4.0


def cost_table(spec: Mapping[str, Any], folder: Path, characters: float) -> pd.DataFrame:
    """One row per stage, model or judge, and use, in the schema `tables.COST`; the comparison with an LLM judge is the last.

    Args:
        spec: as `Plan.cost_spec` makes it.
        folder: the results, with the run's tables and benchmark files in it.
        characters: of question, references and answer of all scored answers together.
    """
    rows, gpus, batches = [], spec["gpus"], spec["answered_in_batches"]
    for use, pairs in (("test", spec["tables"]), ("training", spec["trained_on"])):
        for model in dict.fromkeys(model for model, _ in pairs):
            paths = [folder / "candidates" / model / f"{task}.parquet" for name, task in pairs if name == model]
            rows.append(
                _row(folder, "answers", model, use, paths, gpus["models"].get(model, 0), model if model in batches else None)
            )
    for judge in spec["judges"]:
        paths = [folder / "labels" / judge / model / f"{task}.parquet" for model, task in spec["tables"]]
        rows.append(_row(folder, "verdicts", judge, "test", paths, gpus["judges"].get(judge, 0)))
    for teacher, pairs in spec["taught"].items():
        paths = [folder / "labels" / teacher / model / f"{task}.parquet" for model, task in pairs]
        rows.append(_row(folder, "verdicts", teacher, "training", paths, gpus["judges"].get(teacher, 0)))
    for judge, dataset in spec["trained"].items():
        rows.append(_training(folder, judge, dataset, gpus["judges"].get(judge, 0)))
    made = [row for row in rows if row["rows"]]
    for row in made:
        row["cost"] = _money(row, spec["prices"].get(row["stage"], {}).get(row["component"]))
    answers = sum(row["rows"] for row in made if row["stage"] == "answers" and row["split"] == "test")
    if answers:
        made.append(_llm_on_all(made, spec, answers, characters))
    return pd.DataFrame(made, columns=tables.COST.names).astype(dict.fromkeys(TOKENS, "Float64"))


def _row(
    folder: Path, stage: str, who: str, use: str, paths: Iterable[Path], gpus: int, batches: str | None = None
) -> dict[str, Any]:
    there = [path for path in paths if path.is_file()]
    counts = [pq.read_table(path, columns=list(TOKENS)).to_pandas() for path in there]
    tokens = {name: sum((frame[name].sum(min_count=1) for frame in counts if frame[name].notna().any()), 0.0) for name in TOKENS}
    counted = any(frame[name].notna().any() for frame in counts for name in TOKENS)
    timed = timings.of_batches(folder, batches) if batches else timings.of_tables(folder, there)
    return {
        "stage": stage,
        "component": who,
        "split": use,
        "rows": sum(map(len, counts)),
        **(tokens if counted else dict.fromkeys(TOKENS)),
        **_time(timed, gpus),
        "price_assumed": False,
    }


def _time(timed: Sequence[tuple[float, int]], gpus: int) -> dict[str, Any]:
    seconds = sum(second for second, _ in timed) if timed else None
    hours = None if seconds is None else seconds * gpus / 3600
    return {"timed_rows": sum(rows for _, rows in timed), "seconds": seconds, "gpu_hours": hours}


def _training(folder: Path, judge: str, dataset: str, gpus: int) -> dict[str, Any]:
    table = folder / "datasets" / dataset / "train.parquet"
    rows = pq.read_metadata(table).num_rows if table.is_file() else 0
    seconds = timings.seconds_of(folder / "benchmarks" / "judges" / f"{judge}.tsv")
    made = {
        "stage": "training",
        "component": judge,
        "split": "training",
        "rows": rows,
        **dict.fromkeys(TOKENS),
        "price_assumed": False,
    }
    return {**made, **_time([] if seconds is None else [(seconds, rows)], gpus)}


def _money(row: Mapping[str, Any], price: Mapping[str, float] | None) -> float | None:
    """None without a price or a count of tokens."""
    if price is None or row["prompt_tokens"] is None:
        return None
    return (row["prompt_tokens"] * price["prompt"] + row["completion_tokens"] * price["completion"]) / 1e6


def _llm_on_all(rows: Sequence[Mapping[str, Any]], spec: Mapping[str, Any], answers: int, characters: float) -> dict[str, Any]:
    """An LLM judge on every scored answer: with the tokens and the price of one of this run where it has one, else assumed."""
    measured = next(
        (
            row
            for row in rows
            if row["stage"] == "verdicts" and row["component"] in spec["prompted"] and row["prompt_tokens"] is not None
        ),
        None,
    )
    if measured is not None:
        tokens = {name: measured[name] * answers / measured["rows"] for name in TOKENS}
    else:
        tokens = {"prompt_tokens": INSTRUCTIONS * answers + characters / CHARACTERS, "completion_tokens": float(WRITTEN * answers)}
    own = spec["prices"]["verdicts"].get(measured["component"]) if measured is not None else None
    made: dict[str, Any] = {
        "stage": "llm_on_all",
        "component": measured["component"] if measured else "an LLM judge",
        "split": "test",
    }
    made |= {"rows": answers, **tokens, "timed_rows": 0, "seconds": None, "gpu_hours": None, "price_assumed": own is None}
    return {**made, "cost": _money(made, own or spec["assumed_price"])}
