"""Call the judges from the page, and show errors on it."""

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
from bert_judge.serve.batcher import JudgeFailed
from bert_judge.serve.bodies import PairBody, RowBody, check_items
from bert_judge.serve.judge_pool import JudgePool
from bert_judge.serve.limits import Limits, RequestRejected

Result = TypeVar("Result")
# Options of a table: cells are always text.
TEXTS_ONLY: dict[str, Any] = {"datatype": "str", "type": "array", "interactive": False, "wrap": True, "buttons": []}
# Options of an event: hide it from Gradio's own API.
PRIVATE: dict[str, Any] = {"api_visibility": "private"}


@dataclass(frozen=True)
class JudgeClient:
    """Judges as the page calls them, within the limits of all clients."""

    pool: JudgePool
    limits: Limits

    async def labels(self, judges: Sequence[str], rows: list[RowBody]) -> dict[str, list[Label]]:
        """Return judge → its labels of the rows; the judges run concurrently."""
        check_items("rows", rows, self.limits)
        items = [row.to_item() for row in rows]
        return dict(zip(judges, await self._all([self.pool.judge(name).ask(items) for name in judges]), strict=True))

    async def preferences(self, pair: PairBody) -> dict[str, Preference]:
        """Return judge → its preference, for all pairwise judges."""
        check_items("pairs", [pair], self.limits)
        preferences = await self._all([judge.ask([pair.to_item()]) for judge in self.pool.pairwise.values()])
        return {name: preference for name, [preference] in zip(self.pool.pairwise, preferences, strict=True)}

    async def _all(self, calls: list[Coroutine[Any, Any, Result]]) -> list[Result]:
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await asyncio.gather(*calls)
        except TimeoutError as error:
            raise RequestRejected(504, f"no answer within {self.limits.answer_seconds:g} seconds") from error


@contextmanager
def show_errors() -> Iterator[None]:
    """Show error messages on the page, escaped because they may quote answers."""
    try:
        yield
    except (RequestRejected, InputError) as error:
        raise gr.Error(html.escape(str(error)), title="Error", print_exception=False) from error
    except JudgeFailed as error:
        raise gr.Error(f"{html.escape(str(error))} failed on this input; see the server log", print_exception=False) from error


def lines(text: str) -> list[str]:
    """Return the non-empty lines of a text box."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def format_score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"
