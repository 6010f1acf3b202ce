"""What the report shows of the attacks on judges, as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.attacks import FAMILIES
from bert_judge.report.format import percent, span
from bert_judge.report.sections import records
from bert_judge.report.truncate import shown

EXAMPLES = 40
TITLES = {"attack": "Attacks", "benign_perturbation": "Benign perturbations"}


@dataclass(frozen=True)
class Line:
    """The rates of all judges for a family, a theme or all families; `cells` has a row of the table, or None, per judge."""

    name: str
    says: str
    source: str
    cells: list[dict[str, Any] | None]


@dataclass(frozen=True)
class KindView:
    """Attacks or benign perturbations: all families together and the themes; and (theme, its families)."""

    kind: str
    title: str
    summary: list[Line]
    families: list[tuple[str, list[Line]]]


@dataclass(frozen=True)
class AttacksView:
    """`judges` are the columns; `examples` holds answers that fooled a judge, those of the worst families first."""

    judges: list[str]
    findings: list[str]
    kinds: list[KindView]
    examples: list[dict[str, Any]]


def view(rates: Path, examples: Path, spec: Mapping[str, Any]) -> AttacksView:
    """What `attacks.rates.build_rates` wrote, for the template.

    Args:
        spec: as `Plan.attack_rates_spec` makes it.

    Raises:
        InputError: a file is missing or not what it should be.
    """
    table = tables.read(rates, tables.ATTACK_RATES)
    judges = [judge for judge in spec["judges"] if (table["judge"] == judge).any()]
    kinds = [_kind_view(table[table["kind"] == kind], kind, judges) for kind in TITLES if (table["kind"] == kind).any()]
    findings = [finding(table[table["judge"] == judge], judge) for judge in judges]
    return AttacksView(judges, findings, kinds, _examples(tables.read(examples, tables.ATTACK_EXAMPLES), table))


def finding(rates: pd.DataFrame, judge: str) -> str:
    """One sentence: how often a judge is fooled, and by which family most."""
    said = []
    for kind, what in (
        ("attack", "attacks called correct"),
        ("benign_perturbation", "right answers in unusual dress called incorrect"),
    ):
        part = rates[rates["kind"] == kind]
        families = records(part[part["level"] == "family"])
        for row in records(part[part["level"] == "kind"]):
            # By the lower end of the interval: one of one is no finding.
            worst = max(families, key=lambda family: family["low"])
            most = f", most of {_words(worst['group'])}: {percent(worst['error_rate'])}" if worst["error_rate"] > 0 else ""
            said.append(f"{percent(row['error_rate'])} ({span(row['low'], row['high'])}) of the {what}{most}")
    return f"{judge}: {'; '.join(said)}."


def _kind_view(table: pd.DataFrame, kind: str, judges: Sequence[str]) -> KindView:
    summary = [_line(part, str(group), judges) for group, part in table[table["level"] == "kind"].groupby("group", sort=False)]
    summary += [_line(part, str(group), judges) for group, part in table[table["level"] == "theme"].groupby("group", sort=False)]
    families = [
        (_words(theme), [_line(lines, str(group), judges) for group, lines in part.groupby("group", sort=False)])
        for theme, part in table[table["level"] == "family"].groupby("theme", sort=False)
    ]
    return KindView(kind, TITLES[kind], summary, families)


def _line(part: pd.DataFrame, group: str, judges: Sequence[str]) -> Line:
    rows = {row["judge"]: row for row in records(part)}
    family = FAMILIES.get(group)
    name = "all" if group in TITLES else _words(group)
    return Line(name, family.says if family else "", family.source if family else "", [rows.get(judge) for judge in judges])


def _examples(examples: pd.DataFrame, rates: pd.DataFrame) -> list[dict[str, Any]]:
    """One answer of each judge and family before the second of any, the families that fool most first."""
    fooled = rates[rates["level"] == "family"].set_index(["judge", "group"])["error_rate"]
    keys = list(zip(examples["judge"], examples["family"], strict=True))
    ranked = examples.assign(
        turn=examples.groupby(["judge", "family"]).cumcount(), fooled=[fooled.get(key, 0.0) for key in keys]
    ).sort_values(["turn", "fooled"], ascending=[True, False], kind="stable")
    return [
        {
            **row,
            "family": _words(row["family"]),
            "question": shown(row["question"]),
            "references": [shown(text) for text in row["references"]],
            "candidate": shown(row["candidate"]),
        }
        for row in records(ranked.head(EXAMPLES))
    ]


def _words(name: Any) -> str:
    return str(name).replace("_", " ")
