"""Build the report: one self-contained HTML file.

Texts of models and judges are escaped, and the page's content security policy allows only its own scripts and no external requests.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.standings import SCHEMAS
from bert_judge.report import (
    charts,
    format,
    leaderboard,
    optional_sections,
    sections,
    templates,
)
from bert_judge.report.packed_answers import order_answers, pack
from bert_judge.runtime.errors import InputError

# In execution order: libraries first.
SCRIPTS = ("vendor/plotly-basic.min.js", "vendor/tabulator.min.js", "report.js", "charts.js", "answers.js")
log = logging.getLogger(__name__)


def build_report(
    spec: Mapping[str, Any],
    *,
    folder: Path,
    scores: Sequence[Path],
    judges: Mapping[str, Path],
    output: Path,
    audit: Path | None = None,
    attacks: tuple[Path, Path] | None = None,
    cascades: Path | None = None,
    pairs: tuple[Path, Path, Path] | None = None,
    students: Path | None = None,
) -> None:
    """Write the report.

    Args:
        spec: see `Plan.report_spec`.
        folder: output folder of `build_standings`.
        judges: trained judge → its folder, which holds metrics.json and judge.json.
        audit: output folder of `build_corrected`, if a sample was labelled.
        attacks: rates and examples from `build_rates`, if judges were attacked.
        cascades: output of `build_cascades`.
        pairs: agreement, ranks and correlations from `build_ranks`.
        students: output of `build_students`.
    """
    views = sections.judge_views(spec)
    names = [view.name for view in views]
    verdicts = score_tables.load_verdicts(scores, names, answer_features=True)
    score_files = {score_tables.identify_table(path): Path(path) for path in scores}
    answers = pack(order_answers(verdicts, names, spec["gold"], sections.trained_judges(spec)), names, score_files)
    student_views = optional_sections.student_views(students, spec["gold"] or sections.lead_judge(views)) if students else []
    probes, fitted = (
        {name: judges[name] / file for name in spec["judges"] if name in judges and spec["kinds"].get(name) == kind}
        for kind, file in (("probe", "metrics.json"), ("cascade", "judge.json"))
    )
    measured = {name: folder for name, folder in judges.items() if spec["kinds"].get(name) not in ("probe", "cascade")}
    cascade_views = optional_sections.cascade_views(cascades, fitted) if cascades else []
    figures = {view["chart_name"]: view["chart"] for view in cascade_views}
    labelled = leaderboard.read_tables(audit) if audit else None
    context = {
        **_standings_context(spec, folder=folder, views=views, figures=figures, labelled=labelled),
        "pair_sets": optional_sections.pair_views(*pairs) if pairs else [],
        "students": student_views,
        "audit": spec.get("audit"),
        "corrected": leaderboard.corrected_views(labelled, spec["audit"]) if labelled else [],
        "labelled": leaderboard.audit_view(labelled, spec["audit"]) if labelled else None,
        "attacks": optional_sections.attack_view(*attacks, spec["attacks"]) if attacks else None,
        "cascades": cascade_views,
        "probes": optional_sections.probe_views(probes),
        "training": sections.metrics_table(measured),
        "answers": answers,
        "provenance": _provenance(folder / "standings.parquet"),
        **_assets(),
    }
    page = page_environment().get_template("report.html.jinja").render(**context)
    with tables.atomic(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    log.info(
        "%s: %d score tables, %d of %d answers, %.1f MB", output, len(scores), answers.included, answers.total, len(page) / 1e6
    )


def _standings_context(
    spec: Mapping[str, Any],
    *,
    folder: Path,
    views: Sequence[sections.JudgeView],
    figures: Mapping[str, charts.Chart],
    labelled: leaderboard.AuditTables | None,
) -> dict[str, Any]:
    """Return the template variables of the standings stage, and the charts of all sections."""
    results = {name: tables.read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()}
    standings, agreement, shifts = results["standings"], results["agreement"], results["rank_shifts"]
    errors = sections.judge_errors(agreement)
    lead, names = sections.lead_judge(views, errors), [view.name for view in views]
    rankings = leaderboard.rankings(standings, results["model_pairs"], lead)
    if labelled and rankings and (corrected := leaderboard.correct_ranking(labelled, rankings[0])):
        rankings[0] = corrected
    reference = next(iter(shifts["reference"]), None)
    shifted_judges, rank_shifts = leaderboard.rank_shifts(shifts, names)
    figures = {**_score_charts(results, views), **figures}
    if reference is not None and rank_shifts:
        figures["ranks"] = charts.rank_shifts(shifted_judges, rank_shifts, reference)
    return {
        "simulated_models": spec["simulated_models"],
        "gold": spec["gold"],
        "judges": views,
        "lead": lead,
        "trained": sections.trained_judges(spec),
        "headline": [*leaderboard.headline(rankings), *sections.judge_error_sentences(errors, lead, spec["gold"])],
        "rankings": rankings,
        "panels": leaderboard.accuracy_panels(standings, views, lead),
        "errors": errors,
        "reference": reference,
        "shifted_judges": shifted_judges,
        "rank_shifts": rank_shifts,
        "agreement": sections.agreement_views(agreement, results["comparisons"], spec),
        "breakdown": sections.breakdown_views(agreement, names),
        "cost": optional_sections.cost_view(results["cost"], lead, spec.get("cost", {})),
        "charts": figures,
        "charts_json": charts.embed(figures),
    }


def _score_charts(results: Mapping[str, pd.DataFrame], views: Sequence[sections.JudgeView]) -> dict[str, charts.Chart]:
    """Return the charts of judges whose scores take more than two values."""
    num_bins = results["reliability"].groupby("judge").size()
    judges = list(num_bins[num_bins > 2].index)
    if not judges:
        return {}
    return {
        "reliability": charts.reliability(results["reliability"], views, judges),
        "thresholds": charts.thresholds(results["thresholds"], views, judges),
    }


def _assets() -> dict[str, Any]:
    """Return the page's styles and scripts, with the hashes for its content security policy."""
    scripts = [templates.resource(name) for name in SCRIPTS]
    return {
        "palette": sections.PALETTE,
        "table_style": Markup(templates.resource("vendor/tabulator_simple.min.css")),
        "style": Markup(templates.resource("report.css")),
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(f"'{templates.script_hash(script)}'" for script in scripts)),
    }


def page_environment() -> Environment:
    """Return the template environment with the formatting functions."""
    environment = templates.environment()
    environment.globals |= {name: value for name, value in vars(format).items() if callable(value)}
    environment.globals["compare_models"] = leaderboard.compare_models
    return environment


def _provenance(path: Path) -> dict[str, Any]:
    """Return the provenance of the standings; the time is that of the tables, so that equal tables give equal pages."""
    provenance = tables.provenance(path)
    if not provenance:
        raise InputError(f"{path}: no provenance metadata; create this table with the standings stage")
    spec = json.dumps(json.loads(provenance["spec"]), indent=2, sort_keys=True, ensure_ascii=False)
    return {**{key: provenance[key] for key in ("program", "time", "revisions")}, "spec": spec}
