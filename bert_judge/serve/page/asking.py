"""What the page asks of the judges, and how faults are told on it."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import gradio as gr

from bert_judge.errors import InputError
from bert_judge.judges.protocol import Label
from bert_judge.serve import bodies
from bert_judge.serve.batcher import JudgeFailed
from bert_judge.serve.bodies import RowBody
from bert_judge.serve.limits import Limits, Refused
from bert_judge.serve.roster import Roster


@dataclass(frozen=True)
class Asking:
    """The judges as the page asks them, within the limits that hold for all clients."""

    roster: Roster
    limits: Limits

    async def labels(self, judges: Sequence[str], rows: list[RowBody]) -> dict[str, list[Label]]:
        """Judge → its labels on the rows; the judges work side by side."""
        bodies.check_rows(rows, self.limits)
        asked = [bodies.row_of(row) for row in rows]
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                found = await asyncio.gather(*(self.roster.judge(name).ask(asked) for name in judges))
        except TimeoutError as error:
            raise Refused(504, f"no answer within {self.limits.answer_seconds:g} seconds") from error
        return dict(zip(judges, found, strict=True))


@contextmanager
def faults_told() -> Iterator[None]:
    """Show the line of a fault on the page, as text: it may quote what a model wrote."""
    try:
        yield
    except (Refused, InputError) as error:
        raise gr.Error(html.escape(str(error)), title="Not done", print_exception=False) from error
    except JudgeFailed as error:
        raise gr.Error(f"{html.escape(str(error))} failed on this; the server's log says why", print_exception=False) from error


def lines(text: str) -> list[str]:
    """The lines of a box that hold anything."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def number(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"
