"""Build the report: one self-contained HTML file.

Texts of models and judges are escaped, and the page's content security policy allows only its own scripts and no external requests.

It embeds some answers as gzipped JSON with one list per column; each question is stored once, however many models answered it.
"""

import base64
import gzip
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment
from markupsafe import Markup

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.score_tables import ANSWER_LENGTH, MODEL, STATUS, TASK
from bert_judge.evaluation.standings import SCHEMAS
from bert_judge.report import charts, format, leaderboard, optional_sections, sections
from bert_judge.report.format import HEAD, TAIL, display_text, max_text_length
from bert_judge.runtime.errors import InputError

# Limits on the number of answers and on their total characters, so that a browser can open the page.
MAX_ANSWERS, MAX_CHARACTERS = 100_000, 60_000_000
_CODED_COLUMNS = {"task": TASK, "model": MODEL, "status": STATUS}


@dataclass(frozen=True)
class PackedAnswers:
    """Embedded answers: `data` is base64 of gzipped JSON, `included` of `total` answers are in it."""

    data: str
    included: int
    total: int


def order_answers(verdicts: pd.DataFrame, judges: Sequence[str], gold: str | None, trained: Sequence[str]) -> pd.DataFrame:
    """Return all rows in reading order, with a column `errs`: a trained judge contradicts a valid gold verdict.

    Rows on which judges disagree (one says correct, another incorrect) come first. Among them, each combination of verdicts appears
    once before any appears twice; combinations with an error of a trained judge come first, then the most divided. Within a
    combination, and among the remaining rows, a hash of the row decides, so that the order is stable and favours no task or model.
    """
    labels = np.stack([verdicts[f"{judge}_verdict"].to_numpy(dtype=str) for judge in judges], axis=1)
    minority = np.minimum((labels == "correct").sum(1), (labels == "incorrect").sum(1))
    errs = np.zeros(len(verdicts), dtype=bool)
    if gold is not None:
        gold_labels = labels[:, list(judges).index(gold)]
        for judge in trained:
            errs |= (gold_labels != "invalid") & (labels[:, list(judges).index(judge)] != gold_labels)
    combination = pd.factorize(np.array([" ".join(row) for row in labels], dtype=object), sort=True)[0]
    rows = verdicts.assign(errs=errs, minority=minority, unanimous=minority == 0, combination=combination)
    rows = rows.assign(hash=pd.util.hash_pandas_object(rows[[TASK, MODEL, *score_tables.KEY]].astype(str), index=False))
    rows = rows.sort_values(["combination", "hash"])
    rows = rows.assign(repeat=rows.groupby("combination").cumcount())
    rows.loc[rows["unanimous"], ["repeat", "combination"]] = 0
    order = ["unanimous", "repeat", "errs", "minority", "combination", "hash"]
    return rows.sort_values(order, ascending=[True, True, False, False, True, True])


def pack(answers: pd.DataFrame, judges: Sequence[str], files: Mapping[tuple[str, str], Path]) -> PackedAnswers:
    """Compress the first `MAX_ANSWERS` rows with their texts, which are read from the score tables.

    Args:
        files: (model, task) → score table.
    """
    included = answers.head(MAX_ANSWERS)
    size = max_text_length(included[ANSWER_LENGTH].tolist(), MAX_CHARACTERS)
    tail = size * TAIL // (HEAD + TAIL)
    texts: dict[tuple[str, str, str, int], str] = {}
    questions: dict[str, tuple[int, str, list[str]]] = {}
    for (task, model), rows in included.groupby([TASK, MODEL], sort=True):
        keys = set(zip(rows["sample_id"], rows["attempt"], strict=True))
        for (sample, attempt), row in score_tables.read_texts(files[str(model), str(task)], keys):
            texts[str(task), str(model), sample, attempt] = display_text(row["candidate"], size - tail, tail)
            if sample not in questions:
                references = [display_text(reference) for reference in row["references"]]
                questions[sample] = (len(questions), display_text(row["question"]), references)
    codes = {name: pd.factorize(included[column].astype(str), sort=True) for name, column in _CODED_COLUMNS.items()}
    content = {
        "judges": list(judges),
        "questions": [[question, references] for _, question, references in questions.values()],
        "names": {name: [str(value) for value in values] for name, (_, values) in codes.items()},
        **{name: indices.tolist() for name, (indices, _) in codes.items()},
        "question": [questions[sample][0] for sample in included["sample_id"]],
        "attempt": [int(attempt) for attempt in included["attempt"]],
        "answer": [texts[key] for key in zip(*(included[name] for name in (TASK, MODEL, "sample_id", "attempt")), strict=True)],
        "errs": included["errs"].astype(int).tolist(),
        # A digit per row: the verdict's index in `tables.VERDICTS`.
        "verdicts": [
            "".join(map(str, pd.Categorical(included[f"{judge}_verdict"], categories=tables.VERDICTS).codes)) for judge in judges
        ],
        "scores": [_encode_scores(included[judge]) for judge in judges],
    }
    packed = gzip.compress(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(), 6, mtime=0)
    return PackedAnswers(base64.b64encode(packed).decode(), len(included), len(answers))


def _encode_scores(column: pd.Series) -> list[int | None]:
    """Return scores in thousandths; empty if the judge gives only 0 and 1, which the verdicts already show."""
    scores = column.to_numpy(dtype=float)
    if np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all():
        return []
    return [None if np.isnan(score) else round(1000 * score) for score in scores]


# --- report ---

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
    cascade_views = optional_sections.cascade_views(cascades, spec["cascades"], fitted) if cascades else []
    figures = {view["chart_name"]: view["chart"] for view in cascade_views if "chart" in view}
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
    ranking_judge = sections.ranking_judge(standings, spec["gold"], lead)
    rankings = leaderboard.rankings(standings, results["model_pairs"], ranking_judge)
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
        "panels": leaderboard.accuracy_panels(standings, views, ranking_judge),
        "errors": sections.in_order(errors, names),
        "reference": reference,
        "shifted_judges": shifted_judges,
        "rank_shifts": rank_shifts,
        "agreement": sections.agreement_views(agreement, results["comparisons"], spec, names),
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
    scripts = [format.resource(name) for name in SCRIPTS]
    return {
        "palette": sections.PALETTE,
        "table_style": Markup(format.resource("vendor/tabulator_simple.min.css")),
        "style": Markup(format.resource("report.css")),
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(f"'{format.script_hash(script)}'" for script in scripts)),
    }


def page_environment() -> Environment:
    """Return the template environment with the formatting functions."""
    environment = format.environment()
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
