"""Prepare the sections on cost, cascades, probes, students, attacks and pairs as plain values for the report's template."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.escalation import load_thresholds
from bert_judge.perturbations.attacks import FAMILIES
from bert_judge.report import charts
from bert_judge.report.format import (
    MISSING,
    TITLES,
    count,
    display_text,
    group_title,
    is_known,
    percent,
    points,
    points_interval,
    records,
)
from bert_judge.runtime.errors import InputError

Row = Mapping[str, Any]
STAGES: dict[str, str] = TITLES["cost_stages"]
PREDICTORS: dict[str, str] = TITLES["predictors"]


# --- cost ---

# Of fewer rows, the time is mostly the start of the job, so neither a speed nor a price per row follows from it.
MIN_TIMED_ROWS = 1_000


def cost_view(table: pd.DataFrame, judge: str, spec: Row) -> dict[str, Any]:
    """Return the columns and lines of the cost table as text, and findings that compare the run's judge with an LLM judge.

    Lines without any measurement and columns without any value are left out.

    Args:
        table: in the schema `tables.COST`.
        spec: see `Plan.cost_spec`; its assumed price is that of an LLM judge that is not part of the run.
    """
    rows = records(table[table[["prompt_tokens", "completion_tokens", "seconds", "cost"]].notna().any(axis=1)])
    lines = pd.DataFrame([_cost_line(row, spec) for row in rows])
    lines = lines.loc[:, (lines != MISSING).any()]
    return {"columns": list(lines), "rows": lines.values.tolist(), "findings": _cost_findings(rows, judge, spec)}


def _cost_line(row: Row, spec: Row) -> dict[str, str]:
    per_thousand = 1000 / row["rows"]
    use = " for training" if row["split"] == "training" and row["stage"] != "training" else ""
    cost = f"{row['cost']:,.2f} {spec['currency']}" if is_known(row["cost"]) else MISSING
    return {
        "Stage": f"{STAGES[row['stage']]} {row['component']}{use}",
        "Rows": f"{row['rows']:,}",
        "Input tokens per 1,000 rows": _scaled(row["prompt_tokens"], per_thousand),
        "Output tokens per 1,000 rows": _scaled(row["completion_tokens"], per_thousand),
        "Seconds per 1,000 rows": _scaled(row["seconds"], 1000 / row["timed_rows"])
        if row["timed_rows"] >= MIN_TIMED_ROWS
        else MISSING,
        "Seconds": _scaled(row["seconds"], 1.0),
        "GPU hours": _scaled(row["gpu_hours"] or None, 1.0, digits=2),
        "Cost of tokens": f"{cost} (assumed price)" if row["price_assumed"] else cost,
    }


def _scaled(value: Any, factor: float, digits: int = 0) -> str:
    return f"{value * factor:,.{digits}f}" if is_known(value) else MISSING


def _cost_findings(rows: Sequence[Row], judge: str, spec: Row) -> list[str]:
    """Describe what an LLM judge would cost, and up to which hourly machine price the lead judge is cheaper."""
    llm = next((row for row in rows if row["stage"] == "llm_on_all"), None)
    if llm is None:
        return []
    price, currency = spec["assumed_price"], spec["currency"]
    tokens = f"{llm['prompt_tokens']:,.0f} input and {llm['completion_tokens']:,.0f} output tokens"
    rates = (
        f"an assumed price of {price['prompt']:g} and {price['completion']:g} {currency} per million"
        if llm["price_assumed"]
        else "its price"
    )
    judged = f"Judging all {count(int(llm['rows']), 'answer')} with {llm['component']}"
    sentence = f"{judged} would need {tokens}, which costs {llm['cost']:,.2f} {currency} at {rates}."
    # A judge that combines others takes their time too.
    members = spec["combined"].get(judge, [])
    judge_rows = [
        row
        for row in rows
        if is_known(row["seconds"])
        and (row["component"] == judge or (row["component"] in members and (row["stage"], row["split"]) == ("verdicts", "test")))
    ]
    if not judge_rows or any(row["timed_rows"] != row["rows"] for row in judge_rows) or llm["rows"] < MIN_TIMED_ROWS:
        return [sentence]
    hours = sum(row["seconds"] for row in judge_rows) / 3600
    training = " including training" if any(row["stage"] == "training" for row in judge_rows) else ""
    saved = llm["cost"] - sum(row["cost"] for row in judge_rows if is_known(row["cost"]))
    if saved <= 0:
        return [sentence]
    break_even = f"It is cheaper if an hour of this machine costs less than {saved / hours:,.2f} {currency}."
    return [sentence, f"{judge} took {hours:,.2f} hours{training}. {break_even}"]


# --- cascades ---


def cascade_views(table: Path, cascades: Mapping[str, Sequence[str]], fitted: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return per cascade its name, judges, finding, a row of the table per group, and the chart of its trade-off if it is fitted.

    Args:
        table: output of `build_cascades`.
        cascades: name → judges.
        fitted: name → judge.json.
    """
    results = tables.read(table, tables.CASCADES)
    views = []
    for number, (name, judges) in enumerate(cascades.items()):
        rows = [{**row, "title": group_title(row["level"], row["group"])} for row in records(results[results["cascade"] == name])]
        view = {"name": name, "judges": judges, "finding": _cascade_finding(rows[0])}
        if name in fitted:
            view |= {"chart_name": f"cascade-{number}", **_trade_off(fitted[name])}
        # With a single task, the other rows repeat the aggregate.
        views.append({**view, "rows": rows[:1] if len(rows) <= 3 else rows})
    return views


def _cascade_finding(row: Row) -> str:
    """Describe the agreement over all answers, compared with random routing at the same cost."""
    escalated = f"{percent(row['escalation_rate'])} of the answers to {row['last']}"
    sentence = f"agrees with gold on {percent(row['agreement'])}; it escalates {escalated}."
    if row["best_cheap_judge"] is None or pd.isna(row["difference"]):
        return sentence
    baseline = f"Random routing of as many answers, with {row['best_cheap_judge']} for the rest, agrees on"
    difference = (
        f"{points(row['difference'])} points, 95% interval {points_interval(row['difference_low'], row['difference_high'])}"
    )
    return f"{sentence} {baseline} {percent(row['random_routing'])}. The difference is {difference}."


def _trade_off(path: Path) -> dict[str, Any]:
    """Return the number of rows that the cascade was fitted on, and the chart of the trade-off on them."""
    thresholds, last_judge = load_thresholds(path)
    judges = [*thresholds, last_judge]
    try:
        content = json.loads(path.read_text("utf-8"))
        points = sorted((point["row_shares"][judges[-1]], point["agreement"]) for point in content["trade_off"])
        operating_point = (content["operating_point"]["row_shares"][judges[-1]], content["operating_point"]["agreement"])
        *cheap, last = (float(content["single_judges"][judge]) for judge in judges)
        num_rows = int(content["fitted_on"]["rows"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a fitted cascade; delete it and run again") from error
    return {
        "fitted_rows": num_rows,
        "chart": charts.trade_off(points, operating_point, (max(cheap), last), judges[-1]),
    }


# --- probes ---


def probe_views(paths: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Return per probe its name and aspects, each with a row of metrics per predictor.

    Raises:
        InputError: a file is missing or does not hold the metrics of a probe.
    """
    views = []
    for name, path in paths.items():
        try:
            metrics = json.loads(path.read_text("utf-8"))
            aspects = [_aspect_view(aspect, content) for aspect, content in metrics["aspects"].items()]
            views.append({"name": name, "aspects": aspects})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no metrics of a probe; train {name} again") from error
    return views


def _aspect_view(name: str, content: Row) -> dict[str, Any]:
    low, high = content["head"]["range"]
    split = "test" if content["test"] else "cross_validation"
    differences = content["differences"] if content["test"] else {}
    return {
        "name": name,
        "head": f"{content['head']['head']}, {low} to {high}",
        "features": ", ".join(f"layer {layer} {pooling}" for layer, pooling in content["layers"]),
        "classifier": content["classifier"],
        "evaluated_on": "test split" if content["test"] else "cross-validation grouped by question",
        "rows": [
            {"predictor": title, **content[split][predictor], "difference": differences.get(predictor)}
            for predictor, title in PREDICTORS.items()
            if predictor in content[split]
        ],
    }


# --- students ---


def student_views(path: Path, judge: str) -> list[dict[str, Any]]:
    """Return per recipe that has students a row of the table per student."""
    table = tables.read(path, tables.STUDENTS)
    # With a single task there is no aggregate.
    level = "all" if (table["level"] == "all").any() else "task"
    table = table[(table["level"] == level) & (table["judge"] == judge)]
    views = []
    for recipe, rows in table.groupby("recipe", sort=False):
        rows = rows.sort_values(["filter", "keep"], na_position="first", kind="stable")
        views.append({"recipe": str(recipe), "judge": judge, "rows": records(rows)})
    return views


# --- attacks ---

MAX_EXAMPLES = 40
ATTACK_KINDS: dict[str, str] = TITLES["attacks"]


def attack_view(rates: Path, examples: Path, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of all attacks.

    `judges` are the columns of the tables; `kinds` holds attacks and benign perturbations, each with a `summary` of the total and
    its themes, and `families` as (theme, rows); `examples` are answers that fooled a judge.

    Args:
        spec: see `Plan.attack_rates_spec`.
    """
    table = tables.read(rates, tables.ATTACK_RATES)
    judges = [judge for judge in spec["judges"] if (table["judge"] == judge).any()]
    kinds = [_kind_view(table[table["kind"] == kind], kind, judges) for kind in ATTACK_KINDS if (table["kind"] == kind).any()]
    example_rows = _examples(tables.read(examples, tables.ATTACK_EXAMPLES), table)
    return {"judges": judges, "kinds": kinds, "examples": example_rows}


def _kind_view(table: pd.DataFrame, kind: str, judges: Sequence[str]) -> dict[str, Any]:
    def rate_rows(rows: pd.DataFrame) -> list[dict[str, Any]]:
        return [_rate_row(group_rows, str(group), judges) for group, group_rows in rows.groupby("group", sort=False)]

    summary = rate_rows(table[table["level"] == "kind"]) + rate_rows(table[table["level"] == "theme"])
    themes = table[table["level"] == "family"].groupby("theme", sort=False)
    return {
        "title": ATTACK_KINDS[kind],
        "summary": summary,
        "families": [(_spaced(theme), rate_rows(rows)) for theme, rows in themes],
    }


def _rate_row(rows: pd.DataFrame, group: str, judges: Sequence[str]) -> dict[str, Any]:
    by_judge = {row["judge"]: row for row in records(rows)}
    family = FAMILIES.get(group)
    return {
        "name": "all" if group in ATTACK_KINDS else _spaced(group),
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


# --- pairs ---


def pair_views(agreement: Path, ranks: Path, correlations: Path) -> list[dict[str, Any]]:
    """Return the view of each set of pairs: its name, `measures` per group, `ranks` and `correlations` over all pairs or None.

    Rows of the tables are judges as configured, then people and the majority class.

    Args:
        agreement, ranks, correlations: output of `evaluation.pairs.ranks.build_ranks`.
    """
    agreement_table = tables.read(agreement, tables.PAIR_AGREEMENT)
    rank_table = tables.read(ranks, tables.RANKS)
    correlation_table = tables.read(correlations, tables.RANK_CORRELATIONS)
    views = []
    for name in dict.fromkeys(agreement_table["set"]):
        set_agreement, set_ranks, set_correlations = (
            table[table["set"] == name] for table in (agreement_table, rank_table, correlation_table)
        )
        measures = [
            _measures_view(rows, str(level), str(task))
            for (level, task), rows in set_agreement.groupby(["level", "task"], sort=False)
        ]
        views.append(
            {
                "name": str(name),
                "measures": measures,
                "ranks": _ranks_view(set_ranks[set_ranks["level"] == "all"]),
                "correlations": _correlations_view(set_correlations[set_correlations["level"] == "all"]),
            }
        )
    return views


def _nest(rows: pd.DataFrame, inner: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return judge → value of `inner` → row."""
    nested: dict[str, dict[str, dict[str, Any]]] = {}
    for row in records(rows):
        nested.setdefault(row["judge"], {})[row[inner]] = row
    return nested


def _measures_view(rows: pd.DataFrame, level: str, task: str) -> dict[str, Any]:
    """Return a group's title, `columns` of measures known for at least one judge, and `rows` of (judge, measure → row)."""
    measures = set(rows["measure"][rows["value"].notna()])
    columns = {measure: heading for measure, heading in TITLES["pair_measures"].items() if measure in measures}
    return {"title": group_title(level, task), "columns": columns, "rows": list(_nest(rows, "measure").items())}


def _ranks_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return judges, `rows` of (model, per judge its row or None) in the first judge's order, and judge → why it has no ranks."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "model")
    models = dict.fromkeys(model for judged in by_judge.values() for model in judged)
    reasons = {judge: next(iter(judged.values()))["reason"] for judge, judged in by_judge.items()}
    cells = [(model, [judged.get(model) for judged in by_judge.values()]) for model in models]
    return {
        "judges": list(by_judge),
        "rows": cells,
        "reason": {judge: reason for judge, reason in reasons.items() if is_known(reason)},
    }


def _correlations_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return `rankings` compared with, as (name, by pairs or answers), and `rows` of (judge, per ranking its row or None)."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "other")
    rankings = list(dict.fromkeys((row["other"], row["by"]) for row in records(rows)))
    cells = [(judge, [judged.get(ranking) for ranking, _ in rankings]) for judge, judged in by_judge.items()]
    return {"rankings": rankings, "rows": cells}
