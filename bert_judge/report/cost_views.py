"""Prepare the cost of a run as plain values for the report's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.report.format import MISSING, count, is_known, records

STAGES = {"answers": "Answers of", "verdicts": "Verdicts of", "training": "Training of", "llm_on_all": "All verdicts by"}


@dataclass(frozen=True)
class CostView:
    """Cost of the run: `rows` holds the lines of the table as text, `findings` compares the run's judge with an LLM judge."""

    rows: list[list[str]]
    findings: list[str]


def build_view(table: pd.DataFrame, judge: str, price: Mapping[str, float] | None) -> CostView:
    """Return one line per stage, model or judge, and use.

    Args:
        table: in the schema `tables.COST`.
        judge: the report's lead judge.
        price: assumed price of an LLM judge that is not part of the run.
    """
    rows = records(table)
    return CostView([_line(row) for row in rows], _findings(rows, judge, price))


def _line(row: Mapping[str, Any]) -> list[str]:
    per_thousand = 1000 / row["rows"]
    use = " for training" if row["split"] == "training" and row["stage"] != "training" else ""
    return [
        f"{STAGES[row['stage']]} {row['component']}{use}",
        f"{row['rows']:,}",
        _scaled(row["prompt_tokens"], per_thousand),
        _scaled(row["completion_tokens"], per_thousand),
        _scaled(row["seconds"], 1000 / row["timed_rows"] if row["timed_rows"] else 0.0, digits=1),
        _scaled(row["seconds"], 1.0),
        _scaled(row["gpu_hours"], 1.0, digits=2) if row["gpu_hours"] else MISSING,
        _scaled(row["cost"], 1.0, digits=2) + (" (assumed)" if row["price_assumed"] else ""),
    ]


def _scaled(value: Any, factor: float, digits: int = 0) -> str:
    return f"{value * factor:,.{digits}f}" if is_known(value) else MISSING


def _findings(rows: Sequence[Mapping[str, Any]], judge: str, price: Mapping[str, float] | None) -> list[str]:
    """Describe what an LLM judge would cost, and up to which hourly machine price the lead judge is cheaper."""
    llm = next((row for row in rows if row["stage"] == "llm_on_all"), None)
    if llm is None or price is None:
        return []
    tokens = f"{llm['prompt_tokens']:,.0f} input and {llm['completion_tokens']:,.0f} output tokens"
    rates = (
        f"an assumed price of {price['prompt']:g} and {price['completion']:g} per million" if llm["price_assumed"] else "its price"
    )
    sentence = f"{llm['component']} on all {count(int(llm['rows']), 'answer')} would need {tokens}, {llm['cost']:,.2f} at {rates}."
    judge_rows = [row for row in rows if row["component"] == judge and is_known(row["seconds"])]
    if not judge_rows or any(row["timed_rows"] != row["rows"] for row in judge_rows):
        return [sentence]
    hours = sum(row["seconds"] for row in judge_rows) / 3600
    training = " including training" if any(row["stage"] == "training" for row in judge_rows) else ""
    break_even = f"It is cheaper if an hour of this machine costs less than {llm['cost'] / hours:,.2f}."
    return [sentence, f"{judge} took {hours:,.2f} hours{training}. {break_even}"]
