"""The sheet on which people mark a sample of answers: a CSV file, and a page that opens in a browser without a network.

It tells neither the model nor what any judge said: whoever marks it is blind to both.
"""

from __future__ import annotations

import csv
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.audit import sampling
from bert_judge.evaluation.audit.labels import VERDICTS
from bert_judge.report import templates
from bert_judge.report.truncate import shown

# Most of a cell that spreadsheet programs hold (32,767 characters), and more than most people read.
HEAD, TAIL = 16_000, 12_000
# A cell that begins so is a formula to a spreadsheet program.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
log = logging.getLogger(__name__)


class Asked(NamedTuple):
    """One answer on the sheet."""

    id: str
    question: str
    references: list[str]
    candidate: str


def write_sheet(spec: Mapping[str, Any], scores: Sequence[Path], sheet: Path, page: Path) -> None:
    """Draw the answers and write both forms of the sheet.

    Args:
        spec: as `Plan.audit_spec` makes it.
        scores: the score tables, in any order.
        sheet: the CSV file: `id`, `question`, `references`, `candidate`, and an empty `verdict`.
        page: the HTML file; it saves a CSV file with `id` and `verdict`.

    Raises:
        InputError: a file is no score table, or lacks the judge.
    """
    rows = asked(spec, scores)
    with tables.atomic(sheet) as temporary:
        write_csv(rows, temporary)
    with tables.atomic(page) as temporary:
        temporary.write_text(html(rows), encoding="utf-8")
    log.info("%s, %s: %d answers drawn of %d score tables", sheet, page, len(rows), len(scores))


def asked(spec: Mapping[str, Any], scores: Sequence[Path]) -> list[Asked]:
    """The drawn answers with their texts, in the drawn order."""
    keys = list(
        sampling.answer_keys(
            sampling.draw_sample(score_tables.load_verdicts(scores, [spec["judge"]]), spec["judge"], spec["size"], spec["seed"])
        )
    )
    texts: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for path in scores:
        model, task = score_tables.identify_table(path)
        wanted = {(sample_id, attempt) for m, t, sample_id, attempt in keys if (m, t) == (model, task)}
        texts |= {(model, task, *key): row for key, row in score_tables.read_texts(path, wanted)} if wanted else {}
    return [
        Asked(sampling.answer_id(*key, row["candidate"]), row["question"], list(row["references"]), row["candidate"])
        for key in keys
        for row in [texts[key]]
    ]


def write_csv(rows: Sequence[Asked], path: Path) -> None:
    """The sheet for a spreadsheet program, which knows UTF-8 by the mark at its beginning."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "references", "candidate", "verdict"])
        for row in rows:
            texts = (row.question, "\n".join(row.references), row.candidate)
            writer.writerow([row.id, *map(_cell, texts), ""])


def _cell(text: str) -> str:
    text = shown(text, HEAD, TAIL)
    return f"'{text}" if text.startswith(FORMULA) else text


def html(rows: Sequence[Asked]) -> str:
    """The page. Everything that models wrote is text, and its policy allows no script but its own and no load from elsewhere."""
    style, script = templates.resource("sheet.css"), templates.resource("sheet.js")
    return (
        templates.environment()
        .get_template("sheet.html.jinja")
        .render(
            rows=[row._replace(**_shown(row)) for row in rows],
            verdicts=VERDICTS,
            # Marks are kept in the browser under this name, apart from those of another sheet.
            name=hashlib.sha256(" ".join(row.id for row in rows).encode()).hexdigest()[:16],
            style=Markup(style),
            script=Markup(script),
            script_hash=templates.script_hash(script),
        )
    )


def _shown(row: Asked) -> dict[str, Any]:
    return {
        "question": shown(row.question, HEAD, TAIL),
        "references": [shown(reference, HEAD, TAIL) for reference in row.references],
        "candidate": shown(row.candidate, HEAD, TAIL),
    }
