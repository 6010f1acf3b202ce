"""What the page asks of the judges, and how faults are told on it."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import gradio as gr

from bert_judge.judges.pairwise.protocol import Preference
from bert_judge.judges.protocol import Label
from bert_judge.runtime.errors import InputError
from bert_judge.serve import bodies
from bert_judge.serve.batcher import JudgeFailed
from bert_judge.serve.bodies import PairBody, RowBody
from bert_judge.serve.judge_pool import Roster
from bert_judge.serve.limits import Limits, Refused

Found = TypeVar("Found")
# Of a table: cells are texts, whatever stands in them.
TEXTS_ONLY: dict[str, Any] = {"datatype": "str", "type": "array", "interactive": False, "wrap": True, "buttons": []}
# Of an event: Gradio's own interface does not offer it to programs; they have another one.
PRIVATE: dict[str, Any] = {"api_visibility": "private"}


@dataclass(frozen=True)
class Asking:
    """The judges as the page asks them, within the limits that hold for all clients."""

    roster: Roster
    limits: Limits

    async def labels(self, judges: Sequence[str], rows: list[RowBody]) -> dict[str, list[Label]]:
        """Judge → its labels on the rows; the judges work side by side."""
        bodies.check_rows(rows, self.limits)
        asked = [bodies.row_of(row) for row in rows]
        return dict(zip(judges, await self._all([self.roster.judge(name).ask(asked) for name in judges]), strict=True))

    async def preferences(self, pair: PairBody) -> dict[str, Preference]:
        """Judge → what it says of a pair, of all judges of pairs."""
        bodies.check_pairs([pair], self.limits)
        judges = list(self.roster.pairwise)
        asked = [bodies.pair_of(pair)]
        found = await self._all([self.roster.pair_judge(name).ask(asked) for name in judges])
        return {name: said for name, [said] in zip(judges, found, strict=True)}

    async def _all(self, asked: list[Coroutine[Any, Any, Found]]) -> list[Found]:
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await asyncio.gather(*asked)
        except TimeoutError as error:
            raise Refused(504, f"no answer within {self.limits.answer_seconds:g} seconds") from error


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
