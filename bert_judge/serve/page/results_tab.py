"""The tab that shows a run's answers with what every judge said of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import gradio as gr

from bert_judge.report.truncate import display_text
from bert_judge.serve.page import run_tables
from bert_judge.serve.page.requests import PRIVATE, TEXTS_ONLY, faults_told, number
from bert_judge.serve.page.run_tables import SCREEN_ROWS, Scored, Screen
from bert_judge.tables import VERDICTS

View = tuple[str, str, str, str, int, int]
# Of a text in the list; the whole one is below it.
CELL = 200
# Of the verdicts in `tables.VERDICTS`.
SIGNS = ("✓", "✗", "?")


class _Reader:
    """What the tab shows, from the score tables of a run.

    What a list shows (`View`) is kept for each reader: the filters, the first row, and how many there are. Rows are read again when
    one is clicked, so that the server holds no texts for its readers.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.models = run_tables.scored(results)

    def tasks(self, model: str) -> gr.Dropdown:
        names = self.models.get(model, [])
        return gr.Dropdown(names, value=next(iter(names), None))

    def begin(self, model: str | None, task: str | None, show: str, search: str | None) -> tuple[Any, ...]:
        return self._look(model, task, show, search, 0)

    def turned(self, seen: View | None, step: int) -> tuple[Any, ...]:
        if seen is None:
            return self._look(None, None, run_tables.ALL, "", 0)
        model, task, show, search, start, found = seen
        return self._look(model, task, show, search, start + step if 0 <= start + step < found else start)

    def whole(self, seen: View | None, event: gr.SelectData) -> tuple[Any, ...]:
        with faults_told():
            rows = [] if seen is None else run_tables.screen(self.results, *seen[:5]).rows
        if not 0 <= (place := event.index[0]) < len(rows):
            return "", "", "", []
        row = rows[place]
        verdicts = [[judge, verdict, number(score)] for judge, (verdict, score) in row.said.items()]
        return display_text(row.question), display_text("\n".join(row.references)), display_text(row.candidate), verdicts

    def _look(self, model: str | None, task: str | None, show: str, search: str | None, start: int) -> tuple[Any, ...]:
        if model is None or task is None:
            return [], f"no score tables in {self.results}", None
        with faults_told():
            found = run_tables.screen(self.results, model, task, show, search or "", start)
        return _cells(found), _where(found, start), (model, task, show, search or "", start, found.found)


def rows_tab(results: Path, page: gr.Blocks) -> None:
    """Rows of the run's score tables, and one of them whole."""
    reader = _Reader(results)
    first = next(iter(reader.models), None)
    with gr.Row():
        model = gr.Dropdown(list(reader.models), value=first, label="Model", elem_id="model")
        task = gr.Dropdown(reader.models.get(first or "", []), label="Task", elem_id="task")
        show = gr.Dropdown(list(run_tables.SHOW), value=run_tables.ALL, label="Show", elem_id="show")
        search = gr.Textbox("", label="Search", placeholder="words in question, answer or reference", elem_id="search", max_lines=1)
    table = gr.Dataframe(
        headers=["question", "answer", "verdicts"],
        **TEXTS_ONLY,
        column_widths=["42%", "36%", "22%"],
        label="Answers",
        elem_id="rows",
    )
    where = gr.Textbox(show_label=False, container=False, interactive=False, elem_id="where")
    with gr.Row():
        back = gr.Button("Earlier", size="sm", elem_id="earlier")
        on = gr.Button("Later", size="sm", elem_id="later")
    with gr.Row():
        question = _text("Question")
        references = _text("Right answers")
    answer = gr.Textbox(label="Answer", lines=6, max_lines=24, interactive=False, elem_id="whole")
    said = gr.Dataframe(headers=["judge", "verdict", "score"], **TEXTS_ONLY, label="Verdicts", max_height=1000)
    view: gr.State = gr.State(None)

    filters, outputs = [model, task, show, search], [table, where, view]
    model.input(reader.tasks, model, task, **PRIVATE).then(reader.begin, filters, outputs, **PRIVATE)
    # Whoever searches while the former choice is still being read wants what was chosen last; else the later choice would be lost.
    chosen = [page.load, task.input, show.input, search.submit]
    gr.on(chosen, reader.begin, filters, outputs, trigger_mode="always_last", **PRIVATE)
    for button, step in ((back, -SCREEN_ROWS), (on, SCREEN_ROWS)):
        button.click(lambda seen, step=step: reader.turned(seen, step), view, outputs, **PRIVATE)
    table.select(reader.whole, view, [question, references, answer, said], **PRIVATE)


def _text(label: str) -> gr.Textbox:
    return gr.Textbox(label=label, lines=3, max_lines=20, interactive=False)


def _cells(found: Screen) -> list[list[str]]:
    return [[_short(row.question), _short(row.candidate), _counted(row)] for row in found.rows]


def _counted(row: Scored) -> str:
    """How many judges say what; there may be more judges than fit beside each other."""
    counts = Counter(verdict for verdict, _ in row.said.values())
    return "  ".join(f"{counts[verdict]} {sign}" for verdict, sign in zip(VERDICTS, SIGNS, strict=True) if counts[verdict])


def _short(text: str) -> str:
    return display_text(text, CELL, 0) if len(text) <= CELL else f"{display_text(text[:CELL])} …"


def _where(found: Screen, start: int) -> str:
    if not found.rows:
        return "no such answer"
    return f"{start + 1:,} to {start + len(found.rows):,} of {found.found:,} answers; click one to read it whole"
