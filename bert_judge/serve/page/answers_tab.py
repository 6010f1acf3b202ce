"""The tab that shows the answers of a run with every judge's verdict, read one page at a time, with few rows in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd
from markupsafe import Markup

from bert_judge import tables
from bert_judge.evaluation.score_tables import BATCH_ROWS
from bert_judge.report.format import display_text
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.requests import PRIVATE, SIGNS, format_score, format_verdict, show_errors, table
from bert_judge.tables import provenance

ALL, SPLIT, INVALID = SHOW = ("all answers", "judges disagree", "undecided by a judge")
PAGE_ROWS = 20


View = tuple[str, str, str, str, int, int]
# Maximum characters of a text in the list; the full text is shown below it.
CELL_CHARACTERS = 200
# Reports a click on a row, or Enter.
SELECT_ROW = """
function select(event) {
  const row = event.target.closest("[data-row]");
  if (!row || (event.key ?? "Enter") !== "Enter") return;
  element.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
  row.setAttribute("aria-selected", "true");
  trigger("select", { index: Number(row.dataset.row), value: null });
}
element.addEventListener("click", select);
element.addEventListener("keydown", select);
"""


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer with the verdict and score of each judge."""

    question: str
    references: list[str]
    candidate: str
    status: str
    verdicts: dict[str, tuple[str, float | None]]


@dataclass(frozen=True)
class AnswerPage:
    """One page of answers; `total` counts all that match."""

    judges: list[str]
    rows: list[JudgedAnswer]
    total: int


def list_score_tables(results: Path) -> dict[str, list[str]]:
    """Return model → tasks with a score table."""
    tasks: dict[str, list[str]] = {}
    for path in sorted(results.glob("scores/*/*.parquet")):
        tasks.setdefault(path.parent.name, []).append(path.stem)
    return tasks


def read_page(results: Path, model: str, task: str, show: str, search: str, first: int) -> AnswerPage:
    """Return one page of a score table.

    Args:
        show: one of `SHOW`.
        search: case-insensitive text in question, reference or answer; empty for all.
        first: index of the first matching row to return.

    Raises:
        InputError: the table is missing or damaged.
    """
    if task not in list_score_tables(results).get(model, []):
        raise InputError(f"{results}/scores/{model}/{task}.parquet: no such table; create it with bert-judge run CONFIG scores")
    path = results / "scores" / model / f"{task}.parquet"
    judges = _judges(path)
    rows: list[JudgedAnswer] = []
    total = 0
    for batch in tables.read_batches(path, tables.scores_schema(judges), BATCH_ROWS):
        for record in batch[_matches(batch, judges, show, search.casefold())].to_dict("records"):
            if first <= total < first + PAGE_ROWS:
                rows.append(_row(record, judges))
            total += 1
    return AnswerPage(judges, rows, total)


def _judges(path: Path) -> list[str]:
    spec = json.loads(provenance(path).get("spec", "{}"))
    return list(spec.get("judges", []))


def _matches(batch: pd.DataFrame, judges: Sequence[str], show: str, search: str) -> pd.Series:
    verdicts = batch[[f"{judge}_verdict" for judge in judges]]
    matches = pd.Series(True, index=batch.index)
    if show == SPLIT:
        matches = (verdicts == "correct").any(axis=1) & (verdicts == "incorrect").any(axis=1)
    elif show == INVALID:
        matches = (verdicts == "invalid").any(axis=1)
    if search:
        texts = [batch["question"], batch["candidate"], batch["references"].map("\n".join)]
        contains = [column.str.casefold().str.contains(search, regex=False) for column in texts]
        matches &= contains[0] | contains[1] | contains[2]
    return matches


def _row(record: dict[Any, Any], judges: Sequence[str]) -> JudgedAnswer:
    verdicts = {judge: (record[f"{judge}_verdict"], None if pd.isna(record[judge]) else float(record[judge])) for judge in judges}
    return JudgedAnswer(record["question"], list(record["references"]), record["candidate"], record["status"], verdicts)


class _Handlers:
    """Event handlers of the tab.

    The state per user (`View`) holds the filters, the first row and the number of rows. Rows are read again when one is clicked, so
    that the server stores no texts per user.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.models = list_score_tables(results)

    def tasks(self, model: str) -> gr.Dropdown:
        names = self.models.get(model, [])
        return gr.Dropdown(names, value=next(iter(names), None))

    def filter(self, model: str | None, task: str | None, show: str, search: str | None) -> tuple[Any, ...]:
        return self._load(model, task, show, search, 0)

    def turn_page(self, view: View | None, step: int) -> tuple[Any, ...]:
        if view is None:
            return self._load(None, None, ALL, "", 0)
        model, task, show, search, start, total = view
        return self._load(model, task, show, search, start + step if 0 <= start + step < total else start)

    def show_answer(self, view: View | None, event: gr.SelectData) -> tuple[Any, ...]:
        with show_errors():
            rows = [] if view is None else read_page(self.results, *view[:5]).rows
        if not 0 <= (index := event.index) < len(rows):
            return "", "", "", ""
        row = rows[index]
        verdicts = [[judge, format_verdict(verdict), format_score(score)] for judge, (verdict, score) in row.verdicts.items()]
        texts = (display_text(text) for text in (row.question, "\n".join(row.references), row.candidate))
        return *texts, table(["judge", "verdict", "score"], verdicts)

    def _load(self, model: str | None, task: str | None, show: str, search: str | None, start: int) -> tuple[Any, ...]:
        if model is None or task is None:
            return "", f"no score tables in {self.results}", None
        with show_errors():
            page = read_page(self.results, model, task, show, search or "", start)
        return _rows(page), _summary(page, start), (model, task, show, search or "", start, page.total)


def answers_tab(results: Path, page: gr.Blocks) -> None:
    """List the answers of the score tables, and show the selected one in full."""
    handlers = _Handlers(results)
    first = next(iter(handlers.models), None)
    with gr.Row():
        model = gr.Dropdown(list(handlers.models), value=first, label="Model", elem_id="model")
        task = gr.Dropdown(handlers.models.get(first or "", []), label="Task", elem_id="task")
        show = gr.Dropdown(list(SHOW), value=ALL, label="Show", elem_id="show")
        search = gr.Textbox("", label="Search", placeholder="words in question, answer or reference", elem_id="search", max_lines=1)
    answers = gr.HTML(apply_default_css=False, js_on_load=SELECT_ROW, elem_id="rows", max_height=480)
    summary = gr.Textbox(show_label=False, container=False, interactive=False, elem_id="summary")
    with gr.Row():
        previous_page = gr.Button("Previous page", size="sm", elem_id="previous-page")
        next_page = gr.Button("Next page", size="sm", elem_id="next-page")
    with gr.Row():
        question = _text("Question")
        references = _text("References")
    answer = gr.Textbox(label="Answer", lines=6, max_lines=24, interactive=False, elem_id="full-answer")
    verdicts = gr.HTML(apply_default_css=False, elem_id="answer-verdicts")
    view: gr.State = gr.State(None)

    filters, outputs = [model, task, show, search], [answers, summary, view]
    model.input(handlers.tasks, model, task, **PRIVATE).then(handlers.filter, filters, outputs, **PRIVATE)
    # If filters change while a page is loading, the latest filters win.
    triggers = [page.load, task.input, show.input, search.submit]
    gr.on(triggers, handlers.filter, filters, outputs, trigger_mode="always_last", **PRIVATE)
    for button, step in ((previous_page, -PAGE_ROWS), (next_page, PAGE_ROWS)):
        button.click(lambda view, step=step: handlers.turn_page(view, step), view, outputs, **PRIVATE)
    answers.select(handlers.show_answer, view, [question, references, answer, verdicts], **PRIVATE)


def _text(label: str) -> gr.Textbox:
    return gr.Textbox(label=label, lines=3, max_lines=20, interactive=False)


def _rows(page: AnswerPage) -> str:
    """Return the list of answers, which counts the judges per verdict, since there may be too many judges for columns."""
    rows = []
    for row in page.rows:
        counts = Counter(verdict for verdict, _ in row.verdicts.values())
        verdicts = Markup(" &nbsp; ").join(format_verdict(verdict, str(counts[verdict])) for verdict in SIGNS if counts[verdict])
        rows.append([_short(row.question), _short(row.candidate), verdicts])
    return table(["question", "answer", "verdicts"], rows, selectable=True)


def _short(text: str) -> str:
    return display_text(text, CELL_CHARACTERS, 0) if len(text) <= CELL_CHARACTERS else f"{display_text(text[:CELL_CHARACTERS])} …"


def _summary(page: AnswerPage, start: int) -> str:
    if not page.rows:
        return "no matching answers"
    return f"{start + 1:,} to {start + len(page.rows):,} of {page.total:,} answers; click one to read it in full"
