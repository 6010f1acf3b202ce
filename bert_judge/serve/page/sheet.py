"""The audit sheet as a page fills it: answers out of the sheet that the workflow drew, marks in a file that `audit.labels` names.

The marks are written at once, whole or not at all, and read anew before each, so that two people may mark side by side. Rows and
columns that the file has beside them stay as they are.
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


class Sheet:
    """Args: sheet: drawn by the workflow. labels: the file of the marks, made with the first."""

    def __init__(self, sheet: Path, labels: Path) -> None:
        self.sheet, self.labels = sheet, labels
        self._lock = threading.Lock()

    def asked(self) -> list[SheetRow]:
        """The answers to mark, in the sheet's order.

        Raises:
            InputError: no sheet, or not one.
        """
        frame = _read(self.sheet, (ID, *TEXTS))
        columns = [frame[ID], *(frame[name].map(_text) for name in TEXTS)]
        return [
            SheetRow(identity, question, references.split("\n"), candidate)
            for identity, question, references, candidate in zip(*columns, strict=True)
        ]

    def marks(self) -> dict[str, str]:
        """Id → one of `VERDICTS`, for the answers that are marked.

        Raises:
            InputError: the file of the marks is not one.
        """
        if not self.labels.exists():
            return {}
        frame = _read(self.labels, COLUMNS)
        words = frame[VERDICT].map(lambda said: " ".join(said.casefold().split()))
        if not (known := words.isin(("", *VERDICTS))).all():
            raise InputError(
                f"{self.labels}: the verdict is {words[~known].iloc[0]!r:.60}; write {', '.join(VERDICTS)}, or nothing"
            )
        return {identity: word for identity, word in zip(frame[ID], words, strict=True) if word}

    def mark(self, identity: str, verdict: str) -> None:
        """Write a mark, in place of an earlier one; an empty verdict takes it back.

        Raises:
            InputError: the file of the marks is not one, or cannot be written.
        """
        with self._lock:
            # Nothing is written into a file that is no sheet.
            self.marks()
            frame = _read(self.labels, COLUMNS) if self.labels.exists() else pd.DataFrame(columns=list(COLUMNS), dtype=str)
            if (frame[ID] == identity).any():
                frame.loc[frame[ID] == identity, VERDICT] = verdict
            else:
                new: Mapping[str, str] = {ID: identity, VERDICT: verdict}
                frame = pd.concat([frame, pd.DataFrame([new])], ignore_index=True).fillna("")
            try:
                with tables.atomic(self.labels) as temporary:
                    # Spreadsheet programs know UTF-8 by the mark at its beginning.
                    frame.to_csv(temporary, index=False, encoding="utf-8-sig")
            except OSError as error:
                raise InputError(
                    f"{self.labels}: cannot be written: {error.strerror}; choose another file with --labels"
                ) from error


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """All cells as text, empty ones as the empty text."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; draw the sheet with snakemake --cores 2 audit") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {' '.join(str(error).split())}") from error
    if missing := [name for name in columns if name not in frame.columns]:
        raise InputError(f"{path}: no column {missing[0]!r}; take the sheet as it was drawn and change the verdicts only")
    if (repeated := frame[ID].duplicated()).any():
        raise InputError(f"{path}: the id {frame.loc[repeated, ID].iloc[0]!r} stands there twice; remove one")
    return frame


def _text(cell: str) -> str:
    """A cell as it was before a spreadsheet program was kept from running it."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_PREFIXES) else cell
