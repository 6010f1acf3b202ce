"""Prepare corrected accuracies and ranking, next labels and certificates for the report's template."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.audit.corrected import SCHEMAS, next_steps
from bert_judge.report.format import is_known, records


class AuditTables(NamedTuple):
    """Output of `build_corrected`."""

    accuracies: pd.DataFrame
    pairs: pd.DataFrame
    certificates: pd.DataFrame


def read_tables(folder: Path) -> AuditTables:
    return AuditTables(*(tables.read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()))


def corrected_views(audit: AuditTables, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the corrected accuracies per judge, the audited one first: all models together, then each, best first by PPI++.

    Args:
        spec: see `Plan.corrected_spec`.

    Returns:
        Per judge its name and `rows`; `methods` of a row maps each method to its estimate.
    """
    views = []
    for judge in sorted(spec["judges"], key=lambda name: name != spec["judge"]):
        rows = []
        judge_rows = audit.accuracies[audit.accuracies["judge"] == judge]
        for (level, model), estimates in judge_rows.groupby(["level", "model"], sort=True):
            methods = {row["method"]: row for row in records(estimates)}
            rows.append({**methods["judge"], "level": str(level), "model": str(model), "methods": methods})
        rows.sort(key=lambda row: (row["level"] != "all", -_ppi_accuracy(row)))
        # With a single model, the aggregate repeats it.
        views.append({"judge": judge, "rows": rows[1:] if len(rows) == 2 else rows})
    return views


def _ppi_accuracy(row: Mapping[str, Any]) -> float:
    accuracy = row["methods"]["ppi"]["accuracy"]
    return float(accuracy) if is_known(accuracy) else 0.0


def correct_ranking(audit: AuditTables, ranking: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a ranking over all answers with corrected accuracies and comparisons; None if a model has no corrected accuracy.

    The interval of a rank follows from the comparisons that are significant after Holm's adjustment.

    Args:
        ranking: from `leaderboard.rankings`.
    """
    accuracies, pairs = (table[(table["judge"] == ranking["judge"]) & (table["method"] == "ppi")] for table in audit[:2])
    rows = {row["model"]: row for row in records(accuracies[accuracies["level"] == "model"])}
    entries = [{**entry, "row": {**entry["row"]}, "better_than": []} for entry in ranking["models"]]
    if not all(is_known(rows.get(entry["model"], {}).get("accuracy")) for entry in entries):
        return None
    by_name = {entry["model"]: entry for entry in entries}
    comparisons = {(row["model"], row["other"]): row for row in records(pairs)}
    worse: dict[str, int] = dict.fromkeys(by_name, 0)
    for (model, opponent), row in comparisons.items():
        if row["significant"]:
            by_name[model]["better_than"].append(opponent)
            worse[opponent] += 1
    for model, entry in by_name.items():
        entry["row"] |= {name: rows[model][name] for name in ("accuracy", "low", "high", "labels")}
        rank = 1 + sum(rows[name]["accuracy"] > rows[model]["accuracy"] for name in by_name)
        entry["row"] |= {"rank": rank, "rank_low": 1 + worse[model], "rank_high": len(entries) - len(entry["better_than"])}
    detectable = pairs["min_detectable_effect"].dropna()
    return {
        **ranking,
        "models": sorted(entries, key=lambda entry: (entry["row"]["rank"], entry["model"])),
        "comparisons": comparisons,
        "min_detectable": float(detectable.median()) if len(detectable) else None,
        "labels": int(sum(rows[model]["labels"] for model in by_name)),
    }


def audit_view(audit: AuditTables, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the comparisons of the audited judge, `next_steps` in words, and the certificate of each judge, passed ones first."""
    pairs = audit.pairs[audit.pairs["judge"] == spec["judge"]]
    certificates = records(audit.certificates)
    order = {True: 0, False: 1}
    certificates.sort(key=lambda row: (order.get(row["passed"], 2), row["judge"] != spec["judge"], row["judge"]))
    return {"comparisons": records(pairs[pairs["method"] == "ppi"]), "next_steps": next_steps(pairs), "certificates": certificates}
