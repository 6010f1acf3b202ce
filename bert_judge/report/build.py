"""The report: one HTML file that needs nothing else, readable on a phone, in the dark and by keyboard.

What models and judges wrote is text, never markup: the template escapes everything, and the page's own policy forbids every
script but the one it carries, and every load from elsewhere.
"""

from __future__ import annotations

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
from bert_judge.evaluation.score_tables import load_verdicts
from bert_judge.evaluation.standings import SCHEMAS
from bert_judge.report import (
    attack_views,
    cascade_views,
    charts,
    cost_views,
    format,
    leaderboard,
    pair_views,
    probe_views,
    sections,
    student_views,
    templates,
)
from bert_judge.report.rows import ordered, pack
from bert_judge.runtime.errors import InputError

# In the order in which they run: libraries first.
LIBRARIES = ("vendor/plotly-basic.min.js", "vendor/tabulator.min.js")
SCRIPTS = (*LIBRARIES, "report.js", "charts.js", "rows.js")
log = logging.getLogger(__name__)


def build_report(
    spec: Mapping[str, Any],
    folder: Path,
    scores: Sequence[Path],
    judges: Mapping[str, Path],
    output: Path,
    corrected: Path | None = None,
    attacks: tuple[Path, Path] | None = None,
    cascades: tuple[Path, Mapping[str, Path]] | None = None,
    pairs: tuple[Path, Path, Path] | None = None,
    probes: Mapping[str, Path] | None = None,
    students: Path | None = None,
) -> None:
    """Write the report.

    Args:
        spec: as `Plan.report_spec` makes it.
        folder: where `build_standings` wrote.
        scores: the score tables, in any order.
        judges: trained judge → its folder, which holds metrics.json.
        output: the HTML file.
        corrected: what `build_corrected` wrote, where people have labelled a sample.
        attacks: rates and examples, as `build_rates` wrote them, where judges were tried.
        cascades: what `build_cascades` wrote, and cascade → its cascade.json, where there are any.
        pairs: agreement, ranks and correlations, as `build_ranks` wrote them, where pairs were compared.
        probes: probe → its metrics.json.
        students: what `build_students` wrote, where there are any.

    Raises:
        InputError: a file is missing or not what it should be.
    """
    names = [view.name for view in sections.judge_views(spec)]
    verdicts = load_verdicts(scores, names, answer_features=True)
    files = {score_tables.identify_table(path): Path(path) for path in scores}
    rows = pack(ordered(verdicts, names, spec["gold"], sections.shown_trained(spec)), names, files)
    pair_sets, pair_charts = pair_views.view(*pairs) if pairs else ([], {})
    shown = spec["gold"] or sections.lead_judge(sections.judge_views(spec))
    schooled = student_views.view(students, shown) if students else []
    page = (
        _environment()
        .get_template("report.html.jinja")
        .render(
            **_told(spec, folder, verdicts, {**pair_charts, **{view.chart: view.drawn for view in schooled}}),
            pair_sets=pair_sets,
            students=schooled,
            audit=spec.get("audit"),
            corrected=sections.corrected(tables.read(corrected, tables.CORRECTED_ACCURACY), spec["audit"]) if corrected else [],
            attacks=attack_views.view(*attacks, spec["attacks"]) if attacks else None,
            cascades=cascade_views.view(*cascades) if cascades else [],
            probes=probe_views.view(probes or {}),
            validation=sections.validation(judges),
            rows=rows,
            provenance=_provenance(folder / "standings.parquet"),
            **_dress(),
        )
    )
    with tables.atomic(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    log.info("%s: %d score tables, %d of %d answers, %.1f MB", output, len(scores), rows.shown, rows.total, len(page) / 1e6)


def _told(spec: Mapping[str, Any], folder: Path, verdicts: pd.DataFrame, more_charts: Mapping[str, charts.Chart]) -> dict[str, Any]:
    """What the tables of the standings stage say, by the names that the template knows; the charts of other sections too."""
    found = {name: tables.read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()}
    ranked, agreed, moves = found["standings"], found["agreement"], found["rank_shifts"]
    views = sections.judge_views(spec)
    lead, names = sections.lead_judge(views), [view.name for view in views]
    best = ranked[(ranked["level"] == "all") & (ranked["judge"] == lead) & ranked["accuracy"].notna()]
    errors = sections.errors(agreed)
    reference = next(iter(moves["reference"]), None)
    moved_judges, moved = leaderboard.moves(moves, names)
    drawn = _charts(found, views) | dict(more_charts)
    if reference is not None and moved:
        drawn["places"] = charts.places(moved_judges, moved, reference)
    return {
        "simulated": spec["simulated"],
        "gold": spec["gold"],
        "judges": views,
        "lead": lead,
        "trained": sections.shown_trained(spec),
        "headline": [
            *format.headline(best, lead, sections.duel(verdicts, lead, best)),
            *format.trust(errors, lead, spec["gold"]),
        ],
        "answers": leaderboard.answers(ranked, found["model_pairs"], lead),
        "panels": sections.panels(ranked, views, lead),
        "errors": errors,
        "reference": reference,
        "moved_judges": moved_judges,
        "moved": moved,
        "agreement": sections.agreement_views(agreed, found["comparisons"], spec),
        "breakdown": sections.breakdown(agreed, names),
        "cost": cost_views.view(found["cost"], lead, spec.get("cost", {}).get("assumed_price")),
        "charts": drawn,
        "charts_json": charts.embedded(drawn),
    }


def _dress() -> dict[str, Any]:
    """The page's own style and scripts, and by what its policy knows them."""
    scripts = [templates.resource(name) for name in SCRIPTS]
    return {
        "table_style": Markup(templates.resource("vendor/tabulator_simple.min.css")),
        "style": Markup(templates.resource("report.css")),
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(f"'{templates.script_hash(script)}'" for script in scripts)),
    }


def _charts(found: Mapping[str, pd.DataFrame], views: Sequence[sections.JudgeView]) -> dict[str, charts.Chart]:
    """Of the scores, where a judge has more than yes and no."""
    scored = found["reliability"].groupby("judge").size()
    shown = list(scored[scored > 2].index)
    if not shown:
        return {}
    return {
        "reliability": charts.reliability(found["reliability"], views, shown),
        "thresholds": charts.thresholds(found["thresholds"], views, shown),
    }


def _environment() -> Environment:
    environment = templates.environment()
    tools = (
        format.percent, format.bare_percent, format.span, format.points, format.points_span, format.decimal, format.p_value,
        format.places_span, format.count, format.error_sentence, format.axis, format.known,
        leaderboard.difference, leaderboard.sure,
    )  # fmt: skip
    environment.globals |= {tool.__name__: tool for tool in tools}
    return environment


def _provenance(path: Path) -> dict[str, Any]:
    """Where the numbers come from; the time is the tables', so that the same tables give the same page."""
    found = tables.provenance(path)
    if not found:
        raise InputError(f"{path}: its metadata say nothing of its origin; make it with the standings stage")
    spec = json.dumps(json.loads(found["spec"]), indent=2, sort_keys=True, ensure_ascii=False)
    return {"program": found["program"], "time": found["time"], "spec": spec, "revisions": found["revisions"]}
