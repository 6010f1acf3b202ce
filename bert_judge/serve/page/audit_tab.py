"""The tab on which people mark the answers of the audit sheet, blind to model and judges."""

from __future__ import annotations

from typing import Any

import gradio as gr

from bert_judge.evaluation.audit.labels import CANNOT_TELL, CORRECT, INCORRECT
from bert_judge.report.audit_sheet import HEAD, TAIL, SheetRow
from bert_judge.report.truncate import display_text
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.requests import PRIVATE, faults_told
from bert_judge.serve.page.sheet import Sheet


def audit_tab(sheet: Sheet, page: gr.Blocks) -> None:
    """One answer of the sheet at a time."""
    where = gr.Textbox(show_label=False, container=False, interactive=False, elem_id="progress")
    question = gr.Textbox(label="Question", lines=2, max_lines=20, interactive=False, elem_id="asked")
    references = gr.Textbox(label="Right answers", lines=2, max_lines=12, interactive=False)
    answer = gr.Textbox(label="Answer", lines=4, max_lines=24, interactive=False, elem_id="said")
    mark = gr.Textbox(label="Your mark", interactive=False, max_lines=1, elem_id="mark")
    with gr.Row():
        verdicts = [gr.Button(word.capitalize(), elem_id=word.replace(" ", "-")) for word in (CORRECT, INCORRECT, CANNOT_TELL)]
        clear = gr.Button("Take the mark back", elem_id="unmark")
    with gr.Row():
        steps = [
            gr.Button(name, size="sm", elem_id=name.lower().replace(" ", "-")) for name in ("Previous", "Next", "Next unmarked")
        ]
    at, shown_id = gr.State(0), gr.State("")
    outputs = [where, question, references, answer, mark, at, shown_id]

    def look(place: int) -> tuple[Any, ...]:
        try:
            asked, marks = sheet.asked(), sheet.marks()
        except InputError as error:
            return str(error), "", "", "", "", 0, ""
        if not asked:
            return f"{sheet.sheet}: nothing was drawn", "", "", "", "", 0, ""
        place = min(max(place, 0), len(asked) - 1)
        row = asked[place]
        done = sum(other.id in marks for other in asked)
        told = f"Answer {place + 1:,} of {len(asked):,}; {done:,} marked; marks are kept in {sheet.labels}"
        texts = (display_text(text, HEAD, TAIL) for text in (row.question, "\n".join(row.references), row.candidate))
        return told, *texts, marks.get(row.id, ""), place, row.id

    def marked(place: int, identity: str, word: str) -> tuple[Any, ...]:
        with faults_told():
            asked = sheet.asked()
            if not identity:
                raise InputError("there is no answer to mark")
            if place >= len(asked) or asked[place].id != identity:
                raise InputError("the sheet was drawn anew; load the page again")
            sheet.mark(identity, word)
            following = _unmarked(asked, sheet.marks(), place) if word else place
        return look(following)

    def unmarked(place: int) -> tuple[Any, ...]:
        with faults_told():
            return look(_unmarked(sheet.asked(), sheet.marks(), place))

    for button, word in zip((*verdicts, clear), (CORRECT, INCORRECT, CANNOT_TELL, ""), strict=True):
        button.click(lambda place, seen, word=word: marked(place, seen, word), [at, shown_id], outputs, **PRIVATE)
    for button, move in zip(steps, (lambda n: look(n - 1), lambda n: look(n + 1), unmarked), strict=True):
        button.click(move, at, outputs, **PRIVATE)
    page.load(lambda: look(0), None, outputs, **PRIVATE)


def _unmarked(asked: list[SheetRow], marks: dict[str, str], place: int) -> int:
    """The next answer without a mark, from the beginning again after the last; the next one where all are marked."""
    order = [*range(place + 1, len(asked)), *range(place + 1)]
    return next((n for n in order if asked[n].id not in marks), min(place + 1, len(asked) - 1))
