"""The tab for labelling the audit sheet, blind to models and judges. The labels go to the file that `audit.labels` names.

Every label is written at once and atomically, after reading the file again, so that several people can label at the same time.
Other rows and columns of the file are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.audit.labels import CANNOT_TELL, COLUMNS, CORRECT, INCORRECT, VERDICTS
from bert_judge.report.audit_sheet import FORMULA_PREFIXES, HEAD, TAIL, SheetRow
from bert_judge.report.format import display_text
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.requests import PRIVATE, show_errors

ID, VERDICT = COLUMNS
TEXTS = ("question", "references", "candidate")


class AuditLabels:
    """Answers of an audit sheet and their labels.

    Args:
        sheet: sheet drawn by the workflow.
        labels_file: CSV file of the labels, created with the first one.
    """

    def __init__(self, sheet: Path, labels_file: Path) -> None:
        self.sheet, self.labels_file = sheet, labels_file
        self._lock = threading.Lock()

    def rows(self) -> list[SheetRow]:
        """Return the answers to label, in the order of the sheet.

        Raises:
            InputError: the sheet is missing or invalid.
        """
        frame = _read_sheet(self.sheet, (ID, *TEXTS))
        columns = [frame[ID], *(frame[name].map(_unescape_cell) for name in TEXTS)]
        return [
            SheetRow(identity, question, references.split("\n"), candidate)
            for identity, question, references, candidate in zip(*columns, strict=True)
        ]

    def labels(self) -> dict[str, str]:
        """Return id → one of `VERDICTS`, for labelled answers.

        Raises:
            InputError: the file is invalid.
        """
        if not self.labels_file.exists():
            return {}
        frame = _read_sheet(self.labels_file, COLUMNS)
        verdicts = frame[VERDICT].map(lambda cell: " ".join(cell.casefold().split()))
        if not (is_known := verdicts.isin(("", *VERDICTS))).all():
            unknown = verdicts[~is_known].iloc[0]
            raise InputError(f"{self.labels_file}: unknown verdict {unknown!r:.60}; use {', '.join(VERDICTS)}, or leave it empty")
        return {identity: verdict for identity, verdict in zip(frame[ID], verdicts, strict=True) if verdict}

    def set_label(self, identity: str, verdict: str) -> None:
        """Write or replace a label; an empty verdict clears it.

        Raises:
            InputError: the file is invalid or cannot be written.
        """
        with self._lock:
            # Validate the file before writing to it.
            self.labels()
            frame = (
                _read_sheet(self.labels_file, COLUMNS)
                if self.labels_file.exists()
                else pd.DataFrame(columns=list(COLUMNS), dtype=str)
            )
            if (frame[ID] == identity).any():
                frame.loc[frame[ID] == identity, VERDICT] = verdict
            else:
                new: Mapping[str, str] = {ID: identity, VERDICT: verdict}
                frame = pd.concat([frame, pd.DataFrame([new])], ignore_index=True).fillna("")
            try:
                with tables.atomic(self.labels_file) as temporary:
                    # Spreadsheet programs recognise UTF-8 by the byte-order mark.
                    frame.to_csv(temporary, index=False, encoding="utf-8-sig")
            except OSError as error:
                raise InputError(
                    f"{self.labels_file}: cannot be written: {error.strerror}; choose another file with --labels"
                ) from error


def _read_sheet(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Read all cells as text; empty cells are empty strings."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; draw the sheet with bert-judge run CONFIG audit") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {' '.join(str(error).split())}") from error
    if missing := [name for name in columns if name not in frame.columns]:
        raise InputError(f"{path}: no column {missing[0]!r}; only edit the verdicts of the sheet")
    if (repeated := frame[ID].duplicated()).any():
        raise InputError(f"{path}: the id {frame.loc[repeated, ID].iloc[0]!r} is duplicated; remove one")
    return frame


def _unescape_cell(cell: str) -> str:
    """Undo the escaping of cells that look like formulas."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_PREFIXES) else cell


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
