"""Build the tab for labelling the audit sheet, blind to models and judges."""

from __future__ import annotations

from typing import Any

import gradio as gr

from bert_judge.evaluation.audit.labels import CANNOT_TELL, CORRECT, INCORRECT
from bert_judge.report.audit_sheet import HEAD, TAIL, SheetRow
from bert_judge.report.format import display_text
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.requests import PRIVATE, show_errors
from bert_judge.serve.page.sheet import AuditLabels


def audit_tab(sheet: AuditLabels, page: gr.Blocks) -> None:
    """Label the answers of the sheet one at a time."""
    progress_box = gr.Textbox(show_label=False, container=False, interactive=False, elem_id="progress")
    question = gr.Textbox(label="Question", lines=2, max_lines=20, interactive=False, elem_id="question")
    references = gr.Textbox(label="References", lines=2, max_lines=12, interactive=False)
    answer = gr.Textbox(label="Answer", lines=4, max_lines=24, interactive=False, elem_id="candidate")
    label = gr.Textbox(label="Your label", interactive=False, max_lines=1, elem_id="label")
    with gr.Row():
        verdicts = [gr.Button(word.capitalize(), elem_id=word.replace(" ", "-")) for word in (CORRECT, INCORRECT, CANNOT_TELL)]
        clear = gr.Button("Clear label", elem_id="clear")
    with gr.Row():
        steps = [
            gr.Button(name, size="sm", elem_id=name.lower().replace(" ", "-")) for name in ("Previous", "Next", "Next unlabelled")
        ]
    index, answer_id = gr.State(0), gr.State("")
    outputs = [progress_box, question, references, answer, label, index, answer_id]

    def show(position: int) -> tuple[Any, ...]:
        try:
            rows, labels = sheet.rows(), sheet.labels()
        except InputError as error:
            return str(error), "", "", "", "", 0, ""
        if not rows:
            return f"{sheet.sheet}: the sheet is empty", "", "", "", "", 0, ""
        position = min(max(position, 0), len(rows) - 1)
        row = rows[position]
        num_labelled = sum(answer.id in labels for answer in rows)
        progress = f"Answer {position + 1:,} of {len(rows):,}; {num_labelled:,} labelled; saved in {sheet.labels_file}"
        texts = (display_text(text, HEAD, TAIL) for text in (row.question, "\n".join(row.references), row.candidate))
        return progress, *texts, labels.get(row.id, ""), position, row.id

    def set_label(position: int, identity: str, verdict: str) -> tuple[Any, ...]:
        with show_errors():
            rows = sheet.rows()
            if not identity:
                raise InputError("there is no answer to label")
            if position >= len(rows) or rows[position].id != identity:
                raise InputError("the sheet has changed; reload the page")
            sheet.set_label(identity, verdict)
            position = _next_unlabelled(rows, sheet.labels(), position) if verdict else position
        return show(position)

    def show_next_unlabelled(position: int) -> tuple[Any, ...]:
        with show_errors():
            return show(_next_unlabelled(sheet.rows(), sheet.labels(), position))

    for button, verdict in zip((*verdicts, clear), (CORRECT, INCORRECT, CANNOT_TELL, ""), strict=True):
        button.click(
            lambda position, identity, verdict=verdict: set_label(position, identity, verdict),
            [index, answer_id],
            outputs,
            **PRIVATE,
        )
    for button, move in zip(steps, (lambda n: show(n - 1), lambda n: show(n + 1), show_next_unlabelled), strict=True):
        button.click(move, index, outputs, **PRIVATE)
    page.load(lambda: show(0), None, outputs, **PRIVATE)


def _next_unlabelled(rows: list[SheetRow], labels: dict[str, str], position: int) -> int:
    """Return the next answer without a label, wrapping around; the next one if all are labelled."""
    order = [*range(position + 1, len(rows)), *range(position + 1)]
    return next((n for n in order if rows[n].id not in labels), min(position + 1, len(rows) - 1))
