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

from bert_judge import tables
from bert_judge.evaluation.score_tables import BATCH_ROWS
from bert_judge.report.format import display_text
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.requests import PRIVATE, TEXTS_ONLY, format_score, show_errors
from bert_judge.tables import VERDICTS, provenance

ALL, SPLIT, INVALID = SHOW = ("all answers", "judges disagree", "undecided by a judge")
PAGE_ROWS = 20


View = tuple[str, str, str, str, int, int]
# Maximum characters of a text in the list; the full text is shown below it.
CELL_CHARACTERS = 200
# Symbols of the verdicts in `tables.VERDICTS`.
SIGNS = ("✓", "✗", "?")


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
        if not 0 <= (index := event.index[0]) < len(rows):
            return "", "", "", []
        row = rows[index]
        verdicts = [[judge, verdict, format_score(score)] for judge, (verdict, score) in row.verdicts.items()]
        return display_text(row.question), display_text("\n".join(row.references)), display_text(row.candidate), verdicts

    def _load(self, model: str | None, task: str | None, show: str, search: str | None, start: int) -> tuple[Any, ...]:
        if model is None or task is None:
            return [], f"no score tables in {self.results}", None
        with show_errors():
            page = read_page(self.results, model, task, show, search or "", start)
        return _cells(page), _summary(page, start), (model, task, show, search or "", start, page.total)


def answers_tab(results: Path, page: gr.Blocks) -> None:
    """List the answers of the score tables, and show the selected one in full."""
    handlers = _Handlers(results)
    first = next(iter(handlers.models), None)
    with gr.Row():
        model = gr.Dropdown(list(handlers.models), value=first, label="Model", elem_id="model")
        task = gr.Dropdown(handlers.models.get(first or "", []), label="Task", elem_id="task")
        show = gr.Dropdown(list(SHOW), value=ALL, label="Show", elem_id="show")
        search = gr.Textbox("", label="Search", placeholder="words in question, answer or reference", elem_id="search", max_lines=1)
    table = gr.Dataframe(
        headers=["question", "answer", "verdicts"],
        **TEXTS_ONLY,
        column_widths=["42%", "36%", "22%"],
        label="Answers",
        elem_id="rows",
    )
    summary = gr.Textbox(show_label=False, container=False, interactive=False, elem_id="summary")
    with gr.Row():
        previous_page = gr.Button("Previous page", size="sm", elem_id="previous-page")
        next_page = gr.Button("Next page", size="sm", elem_id="next-page")
    with gr.Row():
        question = _text("Question")
        references = _text("References")
    answer = gr.Textbox(label="Answer", lines=6, max_lines=24, interactive=False, elem_id="full-answer")
    verdicts = gr.Dataframe(headers=["judge", "verdict", "score"], **TEXTS_ONLY, label="Verdicts", max_height=1000)
    view: gr.State = gr.State(None)

    filters, outputs = [model, task, show, search], [table, summary, view]
    model.input(handlers.tasks, model, task, **PRIVATE).then(handlers.filter, filters, outputs, **PRIVATE)
    # If filters change while a page is loading, the latest filters win.
    triggers = [page.load, task.input, show.input, search.submit]
    gr.on(triggers, handlers.filter, filters, outputs, trigger_mode="always_last", **PRIVATE)
    for button, step in ((previous_page, -PAGE_ROWS), (next_page, PAGE_ROWS)):
        button.click(lambda view, step=step: handlers.turn_page(view, step), view, outputs, **PRIVATE)
    table.select(handlers.show_answer, view, [question, references, answer, verdicts], **PRIVATE)


def _text(label: str) -> gr.Textbox:
    return gr.Textbox(label=label, lines=3, max_lines=20, interactive=False)


def _cells(page: AnswerPage) -> list[list[str]]:
    return [[_short(row.question), _short(row.candidate), _count_verdicts(row)] for row in page.rows]


def _count_verdicts(row: JudgedAnswer) -> str:
    """Count the judges per verdict, since there may be too many judges for columns."""
    counts = Counter(verdict for verdict, _ in row.verdicts.values())
    return "  ".join(f"{counts[verdict]} {sign}" for verdict, sign in zip(VERDICTS, SIGNS, strict=True) if counts[verdict])


def _short(text: str) -> str:
    return display_text(text, CELL_CHARACTERS, 0) if len(text) <= CELL_CHARACTERS else f"{display_text(text[:CELL_CHARACTERS])} …"


def _summary(page: AnswerPage, start: int) -> str:
    if not page.rows:
        return "no matching answers"
    return f"{start + 1:,} to {start + len(page.rows):,} of {page.total:,} answers; click one to read it in full"
