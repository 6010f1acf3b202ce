"""Measured cost of a run: tokens, seconds, GPU hours and money of answers, verdicts and training.

Tokens are counted in the tables. Seconds are those of Snakemake's benchmark files; of a job that resumed after being killed, they
cover the last attempt only. The one estimate is marked as such: an LLM judge on all answers, if the run has measured none.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq

from bert_judge import tables
from bert_judge.candidates.generators.protocol import BYTES_PER_TOKEN
from bert_judge.judges.prompted import FREE_REPLY_TOKENS

TOKENS = ["prompt_tokens", "completion_tokens"]
# Assumptions about an LLM judge: tokens of its instructions.
INSTRUCTION_TOKENS = 300


class Usage(NamedTuple):
    """Rows of finished tables and their tokens, None without any count; seconds and rows of the jobs that were measured."""

    rows: int = 0
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    timed_rows: int = 0
    seconds: float | None = None


def measure_usage(paths: Iterable[Path], timings: Sequence[tuple[float, int]] | None = None) -> Usage:
    """Add up the usage of candidates or label tables; files that do not exist are skipped.

    `timings`: (seconds, rows) of the jobs that wrote the tables; those of the tables' own benchmark files by default.
    """
    existing = [path for path in paths if path.is_file()]
    counts = [pq.read_table(path, columns=TOKENS).to_pandas() for path in existing]
    sums = {name: [frame[name].sum() for frame in counts if frame[name].notna().any()] for name in TOKENS}
    prompt, completion = (float(sum(sums[name])) if sums[name] else None for name in TOKENS)
    if timings is None:
        timings = [(seconds, tables.count(path)) for path in existing if (seconds := job_seconds(path)) is not None]
    seconds = sum(seconds for seconds, _ in timings) if timings else None
    return Usage(
        sum(map(len, counts)),
        prompt_tokens=prompt,
        completion_tokens=completion,
        timed_rows=sum(rows for _, rows in timings),
        seconds=seconds,
    )


def job_seconds(table: Path) -> float | None:
    """Return the seconds of the job that wrote a table, plus its share, by rows, of the batch job that labelled it with others.

    None if one of the jobs was not measured.
    """
    results = next((folder for folder in table.absolute().parents if (folder / "benchmarks").is_dir()), None)
    if results is None:
        return None
    relative = table.absolute().relative_to(results)
    seconds = _read_seconds(results, relative)
    for batch in _find_batches(results, relative) if relative.parts[0] == "labels" else []:
        batch_seconds = _read_seconds(results, batch.relative_to(results))
        rows = sum(tables.count(path) for task in _batch_specs(batch) if (path := table.with_name(f"{task}.parquet")).exists())
        if seconds is None or batch_seconds is None or not rows:
            return None
        seconds += batch_seconds * tables.count(table) / rows
    return seconds


def generation_timings(results: Path, model: str) -> list[tuple[float, int]]:
    """Return seconds and rows of the batch jobs that generated a model's answers."""
    timings = []
    for batch in sorted((results / "answer_batches" / model).glob("*.json")):
        seconds = _read_seconds(results, batch.relative_to(results))
        paths = [results / "candidates" / model / f"{task}.parquet" for task in _batch_specs(batch)]
        if seconds is not None and all(path.exists() for path in paths):
            timings.append((seconds, sum(map(tables.count, paths))))
    return timings


def _find_batches(results: Path, relative: Path) -> list[Path]:
    """Return the newest manifests of the jobs that labelled labels/{judge}/{model}/{task}.parquet, one per shard."""
    _, judge, model, name = relative.parts
    manifests = sorted((results / "label_batches" / judge / model).glob("*.json"), key=lambda path: path.stat().st_mtime)
    specs = [(path, spec) for path in manifests if (spec := _batch_specs(path).get(Path(name).stem)) is not None]
    shards = {str(spec.get("shard", "1-of-1")): path for path, spec in specs}
    newest_count = list(shards)[-1].rpartition("-")[2] if shards else ""
    return [path for shard, path in shards.items() if shard.rpartition("-")[2] == newest_count]


def _batch_specs(manifest: Path) -> dict[str, Any]:
    return dict(json.loads(manifest.read_text("utf-8"))["specs"])


def _read_seconds(results: Path, output: Path) -> float | None:
    """Read Snakemake's benchmark file of an output, relative to the results; None if it is missing or contains no time."""
    try:
        frame = pd.read_csv(results / "benchmarks" / output.with_suffix(".tsv"), sep="\t")
    except (FileNotFoundError, pd.errors.EmptyDataError, pd.errors.ParserError):
        return None
    seconds = pd.to_numeric(frame["s"], errors="coerce").sum(min_count=1) if "s" in frame else float("nan")
    return None if pd.isna(seconds) else float(seconds)


def _price_tokens(tokens: Mapping[str, Any], price: Mapping[str, float] | None) -> float | None:
    """Return the price of tokens; None without a price or a complete count."""
    if price is None or any(tokens[name] is None for name in TOKENS):
        return None
    return (tokens["prompt_tokens"] * price["prompt"] + tokens["completion_tokens"] * price["completion"]) / 1e6


def cost_table(spec: Mapping[str, Any], results: Path, characters: float) -> pd.DataFrame:
    """Compute the cost of a run per stage, model or judge, and use, in the schema `tables.COST`.

    Each row is what its own jobs used: a judge that combines others has no tokens, and the others have rows. The last row is the
    comparison with an LLM judge on all answers. `characters`: of question, references and answer of all scored answers together.
    """
    gpus, rows = spec["gpus"], []
    for use, pairs in (("test", spec["tables"]), ("training", spec["trained_on"])):
        for model in dict.fromkeys(model for model, _ in pairs):
            paths = [results / "candidates" / model / f"{task}.parquet" for name, task in pairs if name == model]
            timings = generation_timings(results, model) if model in spec["answered_in_batches"] else None
            rows.append(
                _cost_row("answers", model, use=use, usage=measure_usage(paths, timings), gpus=gpus["models"].get(model, 0))
            )
    labelled = [("test", judge, spec["tables"]) for judge in spec["judges"]]
    labelled += [("test", judge, pairs) for judge, pairs in spec["asked"].items()]
    labelled += [("training", teacher, pairs) for teacher, pairs in spec["taught"].items()]
    for use, judge, pairs in labelled:
        usage = measure_usage(results / "labels" / judge / model / f"{task}.parquet" for model, task in pairs)
        if judge in spec["combined"]:
            usage = usage._replace(prompt_tokens=None, completion_tokens=None)
        rows.append(_cost_row("verdicts", judge, use=use, usage=usage, gpus=gpus["judges"].get(judge, 0)))
    for judge, dataset in spec["trained"].items():
        table = results / "datasets" / dataset / "train.parquet"
        num_rows, seconds = tables.count(table) if table.is_file() else 0, _read_seconds(results, Path("judges", f"{judge}.json"))
        usage = Usage(num_rows, timed_rows=0 if seconds is None else num_rows, seconds=seconds)
        rows.append(_cost_row("training", judge, use="training", usage=usage, gpus=gpus["judges"].get(judge, 0)))
    rows = [row for row in rows if row["rows"]]
    for row in rows:
        row["cost"] = _price_tokens(row, spec["prices"].get(row["stage"], {}).get(row["component"]))
    answers = sum(row["rows"] for row in rows if row["stage"] == "answers" and row["split"] == "test")
    if answers:
        rows.append(_llm_judge_on_all_answers(rows, spec, answers, characters))
    return pd.DataFrame(rows, columns=tables.COST.names).astype(dict.fromkeys(TOKENS, "Float64"))


def _cost_row(stage: str, component: str, *, use: str, usage: Usage, gpus: int) -> dict[str, Any]:
    row = {"stage": stage, "component": component, "split": use, **usage._asdict()}
    if any(row[name] is not None for name in TOKENS):
        # A model that reports one of the two has used none of the other.
        row |= {name: row[name] or 0.0 for name in TOKENS}
    hours = None if usage.seconds is None else usage.seconds * gpus / 3600
    return {**row, "gpu_hours": hours, "price_assumed": False}


def _llm_judge_on_all_answers(
    rows: Sequence[Mapping[str, Any]], spec: Mapping[str, Any], answers: int, characters: float
) -> dict[str, Any]:
    """Estimate the cost of an LLM judge on every scored answer, from the usage of one in this run if there is one."""
    judged = [row for row in rows if row["stage"] == "verdicts" and row["component"] in spec["prompted"]]
    measured = next((row for row in judged if row["prompt_tokens"] is not None), None)
    if measured is not None:
        judge = measured["component"]
        tokens = {name: measured[name] * answers / measured["rows"] for name in TOKENS}
        price = spec["prices"]["verdicts"].get(judge)
    else:
        judge, price = "an LLM judge", None
        prompt_tokens = INSTRUCTION_TOKENS * answers + characters / BYTES_PER_TOKEN
        tokens = {"prompt_tokens": prompt_tokens, "completion_tokens": float(FREE_REPLY_TOKENS * answers)}
    row = _cost_row("llm_on_all", judge, use="test", usage=Usage(answers, **tokens), gpus=0)
    return {**row, "price_assumed": price is None, "cost": _price_tokens(tokens, price or spec["assumed_price"])}
