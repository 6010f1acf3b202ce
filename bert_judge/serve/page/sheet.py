"""Read the audit sheet that the workflow drew, and write labels to the file that `audit.labels` names.

Every label is written at once and atomically, after reading the file again, so that several people can label at the same time.
Other rows and columns of the file are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.audit.labels import COLUMNS, VERDICTS
from bert_judge.report.audit_sheet import FORMULA_PREFIXES, SheetRow
from bert_judge.runtime.errors import InputError

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
        raise InputError(f"{path}: no such file; draw the sheet with snakemake --cores 2 audit") from error
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
