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

from jinja2 import Environment
from markupsafe import Markup

from bert_judge import tables
from bert_judge.errors import InputError
from bert_judge.evaluation import scores as score_tables
from bert_judge.evaluation.standings import MADE, load_verdicts
from bert_judge.report import attack_views, cascade_views, disagreements, pages, sections, words

DISAGREEMENTS = 60
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

    Raises:
        InputError: a file is missing or not what it should be.
    """
    views = sections.judge_views(spec)
    lead = sections.lead_judge(views)
    names = [view.name for view in views]
    found = {name: tables.read(folder / f"{name}.parquet", schema) for name, schema in MADE.items()}
    ranked, agreed = found["standings"], found["agreement"]
    verdicts = load_verdicts(scores, names)
    chosen = disagreements.choose(verdicts, names, spec["gold"], sections.shown_trained(spec), DISAGREEMENTS)
    files = {score_tables.origin(path): Path(path) for path in scores}
    best = ranked[(ranked["level"] == "all") & (ranked["judge"] == lead) & ranked["accuracy"].notna()]
    errors = sections.errors(agreed)
    page = (
        _environment()
        .get_template("report.html.jinja")
        .render(
            simulated=spec["simulated"],
            gold=spec["gold"],
            judges=views,
            lead=lead,
            trained=sections.shown_trained(spec),
            headline=[*words.headline(best, lead, sections.duel(verdicts, lead, best)), *words.trust(errors, lead, spec["gold"])],
            panels=sections.panels(ranked, views, lead),
            audit=spec.get("audit"),
            corrected=sections.corrected(tables.read(corrected, tables.CORRECTED), spec["audit"]) if corrected else [],
            attacks=attack_views.view(*attacks, spec["attacks"]) if attacks else None,
            cascades=cascade_views.view(*cascades) if cascades else [],
            errors=errors,
            agreement=sections.agreement_views(agreed, found["comparisons"], spec),
            validation=sections.validation(judges),
            disagreements=disagreements.load(chosen, names, files),
            provenance=_provenance(folder / "standings.parquet"),
            style=Markup(pages.resource("report.css")),
            script=Markup(pages.resource("report.js")),
            script_hash=pages.script_hash(pages.resource("report.js")),
        )
    )
    with tables.atomic(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    log.info("%s: %d score tables, %d disagreements, %.1f MB", output, len(scores), len(chosen), len(page) / 1e6)


def _environment() -> Environment:
    environment = pages.environment()
    tools = (
        words.percent, words.bare_percent, words.span, words.points, words.points_span, words.decimal, words.p_value,
        words.count, words.error_sentence, words.axis, words.known,
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
