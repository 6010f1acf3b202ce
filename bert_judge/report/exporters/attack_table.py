"""What fools a judge, as a section of its model card."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bert_judge import tables
from bert_judge.report.format import percent, span

FILE = "attacks.parquet"
COLUMNS = ["level", "group", "n", "error_rate", "low", "high"]
HEADINGS = {"attack": "Attacks: called correct", "benign_perturbation": "Benign perturbations: called incorrect"}


def of_judge(rates: Path, judge: str) -> pd.DataFrame:
    """The rates of one judge, none if nobody tried it, out of what `snakemake attacks` or `bert-judge attack` wrote.

    Raises:
        InputError: no such table.
    """
    found = tables.read(rates, tables.ATTACK_RATES)
    return found[found["judge"] == judge].reset_index(drop=True)


def section(rates: pd.DataFrame) -> str:
    """Markdown: a table for attacks and one for benign perturbations, all families together and then their themes."""
    parts = [
        "\n## What fools it\n\nMade-up answers: wrong ones that claim to be right, right ones in unusual dress. In brackets the "
        f"95% interval by question; every family is in `{FILE}`.\n"
    ]
    for kind, heading in HEADINGS.items():
        rows = rates[(rates["kind"] == kind) & (rates["level"] != "family")].sort_values("level", kind="stable")
        if not rows.empty:
            lines = [
                f"| {'all' if level == 'kind' else group} | {n} | {percent(fooled)} [{span(low, high)}] |"
                for level, group, n, fooled, low, high in rows[COLUMNS].values.tolist()
            ]
            parts.append("\n".join([f"\n| {heading} | answers | fooled |", "|---|---|---|", *lines]) + "\n")
    return "".join(parts)
