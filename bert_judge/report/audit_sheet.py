"""Write the sheet on which people label a sample of answers: a CSV file, and a page that works offline in a browser.

Labelling is blind: the sheet shows neither the model nor any judge's verdict.
"""

from __future__ import annotations

import csv
import hashlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.audit import sampling
from bert_judge.evaluation.audit.sampling import LABEL, UNLABELLED, VERDICTS, attach_labels, read_labels
from bert_judge.report import format
from bert_judge.report.format import display_text, escape_formula
from bert_judge.tables.readers.values import display_texts

# Nearly the capacity of a spreadsheet cell (32,767 characters), and more than most people read.
HEAD, TAIL = 16_000, 12_000
log = logging.getLogger(__name__)
# (model, task, sample_id, attempt) of an answer.
Key = tuple[str, str, str, int]


class SheetRow(NamedTuple):
    """One answer on the sheet; `source_id` is its id in the user's file."""

    id: str
    rate: float
    question: str
    references: list[str]
    candidate: str
    source_id: str = ""

    def displayed(self) -> SheetRow:
        """Return the row with texts cut to the size of a spreadsheet cell."""
        question, candidate, *references = (
            display_text(text, HEAD, TAIL) for text in (self.question, self.candidate, *self.references)
        )
        return self._replace(question=question, references=display_texts(references), candidate=candidate)


def write_sheet(
    spec: Mapping[str, Any],
    *,
    scores: Sequence[Path],
    labels: Sequence[Path],
    sheet: Path,
    page: Path,
    find_ids: Callable[[Collection[Key]], Mapping[Key, str]] = lambda keys: {},
) -> int:
    """Draw the next answers to label, write both forms of the sheet, and return the number of answers; 0 if all are labelled.

    Args:
        spec: see `Plan.audit_spec`.
        labels: sheets that were filled in; their answers are left out.
        sheet: CSV file with `id`, `rate` (`sampling`), `question`, `references`, `candidate`, an empty `verdict`, and, if there is
            any, `source_id`.
        page: HTML file, which saves a CSV file with `id`, `rate` and `verdict`.
        find_ids: returns the ids of answers in the user's file.

    Raises:
        InputError: a file is no score table, or lacks the judge, or a filled sheet is invalid.
    """
    rows = sample_rows(spec, scores, labels, find_ids)
    with tables.atomic(sheet) as temporary:
        write_csv(rows, temporary)
    with tables.atomic(page) as temporary:
        temporary.write_text(_render_page(rows), encoding="utf-8")
    log.info("%s, %s: %d answers sampled from %d score tables", sheet, page, len(rows), len(scores))
    return len(rows)


def sample_rows(
    spec: Mapping[str, Any],
    scores: Sequence[Path],
    labels: Sequence[Path] = (),
    find_ids: Callable[[Collection[Key]], Mapping[Key, str]] = lambda keys: {},
) -> list[SheetRow]:
    """Return the next answers to label with their texts, in the order of their labels; `find_ids` as in `write_sheet`."""
    verdicts = score_tables.load_verdicts(scores, [spec["judge"]])
    answers = sampling.order_answers(verdicts, spec["judge"], spec["design"], spec["seed"])
    if labels:
        answers, _ = attach_labels(
            answers, scores, votes=read_labels(labels), source=", ".join(map(str, labels)), needs_rates=False
        )
        answers = answers[answers[LABEL] == UNLABELLED]
    sample = sampling.draw_sample(answers, spec["size"])
    keys, rates = list(sampling.answer_keys(sample)), list(sample[sampling.RATE])
    texts: dict[Key, dict[str, Any]] = {}
    ids = find_ids(keys)
    for path in scores:
        model, task = score_tables.identify_table(path)
        table_keys = {(sample_id, attempt) for m, t, sample_id, attempt in keys if (m, t) == (model, task)}
        texts |= {(model, task, *key): row for key, row in score_tables.read_texts(path, table_keys)} if table_keys else {}
    return [
        SheetRow(
            id=sampling.answer_id(key, row["candidate"]),
            rate=rate,
            question=row["question"],
            references=list(row["references"]),
            candidate=row["candidate"],
            source_id=ids.get(key, ""),
        )
        for key, rate in zip(keys, rates, strict=True)
        for row in [texts[key]]
    ]


def write_csv(rows: Sequence[SheetRow], path: Path) -> None:
    """Write the sheet with a byte-order mark, so that spreadsheet programs recognise UTF-8."""
    has_ids = any(row.source_id for row in rows)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "rate", "question", "references", "candidate", "verdict", *(["source_id"] if has_ids else [])])
        for row in rows:
            texts = (row.question, "\n".join(display_texts(row.references)), row.candidate, row.source_id)
            *cells, source_id = (escape_formula(display_text(text, HEAD, TAIL)) for text in texts)
            writer.writerow([row.id, f"{row.rate:.6g}", *cells, "", *([source_id] if has_ids else [])])


def _render_page(rows: Sequence[SheetRow]) -> str:
    """Return the page; texts of models are escaped, and its policy allows only its own script and no external requests."""
    script = format.resource("sheet.js")
    template = format.environment().get_template("sheet.html.jinja")
    return template.render(
        rows=[row.displayed() for row in rows],
        verdicts=VERDICTS,
        # The browser stores labels under this key, separately for every sheet.
        storage_key=hashlib.sha256(" ".join(row.id for row in rows).encode()).hexdigest()[:16],
        style=Markup(format.resource("sheet.css")),
        script=Markup(script),
        script_hash=format.script_hash(script),
    )
