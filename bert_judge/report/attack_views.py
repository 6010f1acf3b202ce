"""Prepare the results of attacks on judges as plain values for the report's template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.attacks import FAMILIES
from bert_judge.report.format import interval, percent, records
from bert_judge.report.truncate import display_text

MAX_EXAMPLES = 40
TITLES = {"attack": "Attacks", "benign_perturbation": "Benign perturbations"}
FINDINGS = {"attack": "attacks judged correct", "benign_perturbation": "correct answers in unusual formats judged incorrect"}


@dataclass(frozen=True)
class RateRow:
    """Rates of a family, a theme or all families; `cells` has a row of the table, or None, per judge."""

    name: str
    description: str
    source: str
    cells: list[dict[str, Any] | None]


@dataclass(frozen=True)
class KindView:
    """Attacks or benign perturbations: `summary` has the total and each theme; `families` holds (theme, its families)."""

    kind: str
    title: str
    summary: list[RateRow]
    families: list[tuple[str, list[RateRow]]]


@dataclass(frozen=True)
class AttacksView:
    """Results of all attacks; `judges` are the columns, `examples` answers that fooled a judge, worst families first."""

    judges: list[str]
    findings: list[str]
    kinds: list[KindView]
    examples: list[dict[str, Any]]


def build_view(rates: Path, examples: Path, spec: Mapping[str, Any]) -> AttacksView:
    """Return the view of the tables that `build_rates` wrote.

    Args:
        rates, examples: the tables.
        spec: see `Plan.attack_rates_spec`.

    Raises:
        InputError: a file is missing or has the wrong schema.
    """
    table = tables.read(rates, tables.ATTACK_RATES)
    judges = [judge for judge in spec["judges"] if (table["judge"] == judge).any()]
    kinds = [_kind_view(table[table["kind"] == kind], kind, judges) for kind in TITLES if (table["kind"] == kind).any()]
    findings = [finding(table[table["judge"] == judge], judge) for judge in judges]
    return AttacksView(judges, findings, kinds, _examples(tables.read(examples, tables.ATTACK_EXAMPLES), table))


def finding(rates: pd.DataFrame, judge: str) -> str:
    """Describe how often a judge is fooled, and by which family most."""
    sentences = []
    for kind, description in FINDINGS.items():
        kind_rates = rates[rates["kind"] == kind]
        families = records(kind_rates[kind_rates["level"] == "family"])
        for row in records(kind_rates[kind_rates["level"] == "kind"]):
            # By the lower end of the interval: one of one is no evidence.
            worst = max(families, key=lambda family: family["low"])
            most = f", most often {_spaced(worst['group'])}: {percent(worst['error_rate'])}" if worst["error_rate"] > 0 else ""
            sentences.append(f"{percent(row['error_rate'])} ({interval(row['low'], row['high'])}) of the {description}{most}")
    return f"{judge}: {'; '.join(sentences)}."


def _kind_view(table: pd.DataFrame, kind: str, judges: Sequence[str]) -> KindView:
    def rate_rows(rows: pd.DataFrame) -> list[RateRow]:
        return [_rate_row(group_rows, str(group), judges) for group, group_rows in rows.groupby("group", sort=False)]

    summary = rate_rows(table[table["level"] == "kind"]) + rate_rows(table[table["level"] == "theme"])
    themes = table[table["level"] == "family"].groupby("theme", sort=False)
    return KindView(kind, TITLES[kind], summary, [(_spaced(theme), rate_rows(rows)) for theme, rows in themes])


def _rate_row(rows: pd.DataFrame, group: str, judges: Sequence[str]) -> RateRow:
    by_judge = {row["judge"]: row for row in records(rows)}
    family = FAMILIES.get(group)
    name = "all" if group in TITLES else _spaced(group)
    cells = [by_judge.get(judge) for judge in judges]
    return RateRow(name, family.description if family else "", family.source if family else "", cells)


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
