"""Prepare the results of attacks on judges as plain values for the report's template."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.perturbations.attacks import FAMILIES
from bert_judge.report.format import TITLES, display_text, records

MAX_EXAMPLES = 40
KINDS: dict[str, str] = TITLES["attacks"]


def build_view(rates: Path, examples: Path, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of all attacks.

    `judges` are the columns of the tables; `kinds` holds attacks and benign perturbations, each with a `summary` of the total and
    its themes, and `families` as (theme, rows); `examples` are answers that fooled a judge.

    Args:
        spec: see `Plan.attack_rates_spec`.
    """
    table = tables.read(rates, tables.ATTACK_RATES)
    judges = [judge for judge in spec["judges"] if (table["judge"] == judge).any()]
    kinds = [_kind_view(table[table["kind"] == kind], kind, judges) for kind in KINDS if (table["kind"] == kind).any()]
    example_rows = _examples(tables.read(examples, tables.ATTACK_EXAMPLES), table)
    return {"judges": judges, "kinds": kinds, "examples": example_rows}


def _kind_view(table: pd.DataFrame, kind: str, judges: Sequence[str]) -> dict[str, Any]:
    def rate_rows(rows: pd.DataFrame) -> list[dict[str, Any]]:
        return [_rate_row(group_rows, str(group), judges) for group, group_rows in rows.groupby("group", sort=False)]

    summary = rate_rows(table[table["level"] == "kind"]) + rate_rows(table[table["level"] == "theme"])
    themes = table[table["level"] == "family"].groupby("theme", sort=False)
    return {
        "title": KINDS[kind],
        "summary": summary,
        "families": [(_spaced(theme), rate_rows(rows)) for theme, rows in themes],
    }


def _rate_row(rows: pd.DataFrame, group: str, judges: Sequence[str]) -> dict[str, Any]:
    by_judge = {row["judge"]: row for row in records(rows)}
    family = FAMILIES.get(group)
    return {
        "name": "all" if group in KINDS else _spaced(group),
        "description": family.description if family else "",
        "source": family.source if family else "",
        "cells": [by_judge.get(judge) for judge in judges],
    }


def _examples(examples: pd.DataFrame, rates: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one answer per judge and family before the second of any, the families that fool most first."""
    fooled = rates[rates["level"] == "family"].set_index(["judge", "group"])["error_rate"]
    keys = list(zip(examples["judge"], examples["family"], strict=True))
    ordered = examples.assign(
        repeat=examples.groupby(["judge", "family"]).cumcount(), fooled=[fooled.get(key, 0.0) for key in keys]
    ).sort_values(["repeat", "fooled"], ascending=[True, False], kind="stable")
    return [
        {
            **row,
            "family": _spaced(row["family"]),
            "question": display_text(row["question"]),
            "references": [display_text(text) for text in row["references"]],
            "candidate": display_text(row["candidate"]),
        }
        for row in records(ordered.head(MAX_EXAMPLES))
    ]


def _spaced(name: Any) -> str:
    return str(name).replace("_", " ")
