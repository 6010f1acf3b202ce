"""Write the sheet on which people label a sample of answers: a CSV file, and a page that works offline in a browser.

Labelling is blind: the sheet shows neither the model nor any judge's verdict.
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
from bert_judge.report.format import display_text

# Nearly the capacity of a spreadsheet cell (32,767 characters), and more than most people read.
HEAD, TAIL = 16_000, 12_000
# Spreadsheet programs interpret a cell with one of these prefixes as a formula.
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")
log = logging.getLogger(__name__)


class SheetRow(NamedTuple):
    """One answer on the sheet."""

    id: str
    question: str
    references: list[str]
    candidate: str

    def displayed(self) -> SheetRow:
        """Return the row with texts cut to the size of a spreadsheet cell."""
        references = [display_text(reference, HEAD, TAIL) for reference in self.references]
        return SheetRow(self.id, display_text(self.question, HEAD, TAIL), references, display_text(self.candidate, HEAD, TAIL))


def write_sheet(spec: Mapping[str, Any], scores: Sequence[Path], sheet: Path, page: Path) -> None:
    """Draw the sample and write both forms of the sheet.

    Args:
        spec: see `Plan.audit_spec`.
        scores: the score tables, in any order.
        sheet: CSV file with `id`, `question`, `references`, `candidate`, and an empty `verdict`.
        page: HTML file, which saves a CSV file with `id` and `verdict`.

    Raises:
        InputError: a file is no score table, or lacks the judge.
    """
    rows = sample_rows(spec, scores)
    with tables.atomic(sheet) as temporary:
        write_csv(rows, temporary)
    with tables.atomic(page) as temporary:
        temporary.write_text(_render_page(rows), encoding="utf-8")
    log.info("%s, %s: %d answers sampled from %d score tables", sheet, page, len(rows), len(scores))


def sample_rows(spec: Mapping[str, Any], scores: Sequence[Path]) -> list[SheetRow]:
    """Return the sampled answers with their texts, in random order."""
    verdicts = score_tables.load_verdicts(scores, [spec["judge"]])
    keys = list(sampling.answer_keys(sampling.draw_sample(verdicts, spec["judge"], spec["size"], spec["seed"])))
    texts: dict[tuple[str, str, str, int], dict[str, Any]] = {}
    for path in scores:
        model, task = score_tables.identify_table(path)
        table_keys = {(sample_id, attempt) for m, t, sample_id, attempt in keys if (m, t) == (model, task)}
        texts |= {(model, task, *key): row for key, row in score_tables.read_texts(path, table_keys)} if table_keys else {}
    return [
        SheetRow(sampling.answer_id(*key, row["candidate"]), row["question"], list(row["references"]), row["candidate"])
        for key in keys
        for row in [texts[key]]
    ]


def write_csv(rows: Sequence[SheetRow], path: Path) -> None:
    """Write the sheet with a byte-order mark, so that spreadsheet programs recognise UTF-8."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "references", "candidate", "verdict"])
        for row in rows:
            cells = (row.question, "\n".join(row.references), row.candidate)
            writer.writerow([row.id, *map(_escape_cell, cells), ""])


def _escape_cell(text: str) -> str:
    text = display_text(text, HEAD, TAIL)
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) else text


def _render_page(rows: Sequence[SheetRow]) -> str:
    """Return the page; texts of models are escaped, and its policy allows only its own script and no external requests."""
    script = templates.resource("sheet.js")
    template = templates.environment().get_template("sheet.html.jinja")
    return template.render(
        rows=[row.displayed() for row in rows],
        verdicts=VERDICTS,
        # The browser stores labels under this key, separately for every sheet.
        storage_key=hashlib.sha256(" ".join(row.id for row in rows).encode()).hexdigest()[:16],
        style=Markup(templates.resource("sheet.css")),
        script=Markup(script),
        script_hash=templates.script_hash(script),
    )
