"""A generator that asks nothing twice: its completions lie in a folder, under keys of what was asked.

For callers that ask in several rounds and read the answers anew when their own settings change, such as a prompted judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime import resume, sigterm

# Completions per shard, the most that a kill can lose.
SHARD_ROWS = 128


class StoredGenerator:
    """Implements `generators.protocol.Generator` on another one, which is loaded when the first answer is missing.

    Args:
        origin: what an answer depends on beside its request: the model's settings.
        folder: of the shards; they stay there.
        make_generator: loads the model.
        revisions: of the model, as far as known without loading it; an answer of another revision is not taken.
        failures_pass: one with status `error` is not kept, and asked for again by the next run. A server may be back then; what a
            model on this machine cannot answer, it never will.
        shard_rows: completions per shard.
    """

    def __init__(
        self,
        origin: Mapping[str, Any],
        folder: str | Path,
        make_generator: Callable[[], Generator],
        revisions: Mapping[str, str],
        failures_pass: bool = False,
        shard_rows: int = SHARD_ROWS,
    ) -> None:
        self.folder, self.make_generator = folder, make_generator
        self.failures_pass, self.shard_rows = failures_pass, shard_rows
        self.revisions = dict(revisions)
        self._origin = tables.canonical({"origin": origin, "revisions": self.revisions})
        self._generator: Generator | None = None

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order. Requests that agree in prompt, attempt and choices share one."""
        keys = [resume.content_key(self._origin, r.prompt, r.attempt, r.choices) for r in requests]
        kept = resume.run_resumable(requests, keys, self._ask, self.folder, self.shard_rows, "answers", self._lasts)
        return [_completion(request, row) for request, row in zip(requests, kept, strict=True)]

    def _lasts(self, row: Mapping[str, Any]) -> bool:
        return not (self.failures_pass and row["status"] == "error")

    def _ask(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        if self._generator is None:
            self._generator = self.make_generator()
        try:
            completions = self._generator.generate(requests)
        except sigterm.Stopped as early:
            raise sigterm.Stopped({place: _row(requests[place], found) for place, found in early.results.items()}) from None
        # Some learn only from an answer what they are.
        self.revisions |= self._generator.revisions
        return [_row(request, completion) for request, completion in zip(requests, completions, strict=True)]


def _row(request: Request, completion: Completion) -> dict[str, Any]:
    """A completion as values that a shard can hold; probabilities in the order of the choices."""
    found = completion.choice_probabilities
    return {
        **{name: tables.storable(getattr(completion, name)) for name in ("text", "reasoning", "reason")},
        **{name: getattr(completion, name) for name in ("status", "prompt_tokens", "completion_tokens")},
        "probabilities": None if found is None else [found[choice] for choice in request.choices or ()],
    }


def _completion(request: Request, row: Mapping[str, Any]) -> Completion:
    values = {key: value for key, value in row.items() if key != "probabilities"}
    found = row["probabilities"]
    probabilities = None if found is None else dict(zip(request.choices or (), found, strict=True))
    return Completion(**values, choice_probabilities=probabilities)
