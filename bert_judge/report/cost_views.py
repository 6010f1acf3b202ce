"""What the report says of the run's cost, as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bert_judge.report.format import NOTHING, count, known
from bert_judge.report.sections import records

STAGES = {"answers": "Answers of", "verdicts": "Verdicts of", "training": "Training of", "llm_on_all": "All verdicts by"}


@dataclass(frozen=True)
class CostView:
    """`rows` holds the lines of the table as texts; `findings` compares the run's judge with an LLM judge."""

    rows: list[list[str]]
    findings: list[str]


def view(table: pd.DataFrame, judge: str, price: Mapping[str, float] | None) -> CostView:
    """One line per stage, model or judge, and use.

    Args:
        table: in the schema `tables.COST`.
        judge: whose verdicts the report tells.
        price: what is assumed of an LLM judge that the run does not have.
    """
    rows = records(table)
    return CostView([_line(row) for row in rows], _findings(rows, judge, price))


def _line(row: Mapping[str, Any]) -> list[str]:
    per = 1000 / row["rows"]
    use = " for training" if row["split"] == "training" and row["stage"] != "training" else ""
    return [
        f"{STAGES[row['stage']]} {row['component']}{use}",
        f"{row['rows']:,}",
        _number(row["prompt_tokens"], per),
        _number(row["completion_tokens"], per),
        _number(row["seconds"], 1000 / row["timed_rows"] if row["timed_rows"] else 0.0, 1),
        _number(row["seconds"], 1.0),
        _number(row["gpu_hours"], 1.0, 2) if row["gpu_hours"] else NOTHING,
        _number(row["cost"], 1.0, 2) + (" (assumed)" if row["price_assumed"] else ""),
    ]


def _number(value: Any, times: float, digits: int = 0) -> str:
    return f"{value * times:,.{digits}f}" if known(value) else NOTHING


def _findings(rows: Sequence[Mapping[str, Any]], judge: str, price: Mapping[str, float] | None) -> list[str]:
    """How much the judge took, and up to which price of an hour it is cheaper than an LLM judge."""
    llm = next((row for row in rows if row["stage"] == "llm_on_all"), None)
    own = [row for row in rows if row["component"] == judge and known(row["seconds"])]
    if llm is None or price is None:
        return []
    tokens = f"{llm['prompt_tokens']:,.0f} tokens and write {llm['completion_tokens']:,.0f}"
    paid = (
        f"at {price['prompt']:g} and {price['completion']:g} for a million (assumed) that is"
        if llm["price_assumed"]
        else "at its price that is"
    )
    said = [f"{llm['component']} on all {count(int(llm['rows']), 'answer')} would read {tokens}: {paid} {llm['cost']:,.2f}."]
    timed = [row for row in own if row["timed_rows"] == row["rows"]]
    if not own or len(timed) < len(own):
        return said
    hours = sum(row["seconds"] for row in own) / 3600
    trained = ", its training included" if any(row["stage"] == "training" for row in own) else ""
    return [
        *said,
        f"{judge} took {hours:,.2f} hours of this machine{trained}. "
        f"That is cheaper as long as an hour costs less than {llm['cost'] / hours:,.2f}.",
    ]
