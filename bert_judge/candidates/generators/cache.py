"""A generator whose completions are cached on disk, under content keys of their requests.

Nothing is generated twice: a killed job, a raised limit, an added row or another table pays only for what is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime import resume

# Completions per shard, the most that a kill can lose.
SHARD_ROWS = 128


class CachedGenerator:
    """Implements `generators.protocol.Generator` on another generator, which is loaded when the first completion is missing.

    Args:
        origin: everything besides the request that determines a completion: the model's settings.
        revisions: of the model, as far as known without loading it; completions of another revision are not reused.
        by_sample: a completion also depends on the question behind the prompt, as with simulated models.
        retry_errors: completions with status `error` are not cached, so the next run asks again. A server may recover; a local
            model fails again.
    """

    def __init__(
        self,
        origin: Mapping[str, Any],
        folder: str | Path,
        make_generator: Callable[[], Generator],
        revisions: Mapping[str, str] | None = None,
        *,
        by_sample: bool = False,
        retry_errors: bool = False,
        shard_rows: int = SHARD_ROWS,
    ) -> None:
        self.folder, self.make_generator = folder, make_generator
        self.by_sample, self.retry_errors, self.shard_rows = by_sample, retry_errors, shard_rows
        self.revisions = dict(revisions or {})
        self._origin = tables.canonical({"origin": origin, "revisions": self.revisions})
        self._generator: Generator | None = None

    def key(self, request: Request) -> str:
        """Return the content key of a completion."""
        sample = (request.sample_id,) if self.by_sample else ()
        return resume.content_key(self._origin, *sample, request.prompt, request.attempt, request.choices)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order. Requests with the same key share one."""
        keys = [self.key(request) for request in requests]
        rows = resume.run_resumable(
            requests,
            keys,
            self._generate_rows,
            self.folder,
            shard_rows=self.shard_rows,
            unit="answers",
            should_cache=self._should_cache,
        )
        return [_to_completion(request, row) for request, row in zip(requests, rows, strict=True)]

    def _should_cache(self, row: Mapping[str, Any]) -> bool:
        return not (self.retry_errors and row["status"] == "error")

    def _generate_rows(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        if self._generator is None:
            self._generator = self.make_generator()
        try:
            completions = self._generator.generate(requests)
        except resume.Stopped as stopped:
            raise resume.Stopped({index: to_row(requests[index], value) for index, value in stopped.results.items()}) from None
        # A server reveals its model's version only in a response.
        self.revisions |= self._generator.revisions
        return [to_row(request, completion) for request, completion in zip(requests, completions, strict=True)]


def to_row(request: Request, completion: Completion) -> dict[str, Any]:
    """Convert a completion to a row of a shard; probabilities are in the order of the choices."""
    probabilities = completion.choice_probabilities
    return {
        **{name: tables.storable(getattr(completion, name)) for name in ("text", "reasoning", "reason")},
        **{name: getattr(completion, name) for name in ("status", "prompt_tokens", "completion_tokens")},
        "probabilities": None if probabilities is None else [probabilities[choice] for choice in request.choices or ()],
    }


def _to_completion(request: Request, row: Mapping[str, Any]) -> Completion:
    fields = {name: value for name, value in row.items() if name != "probabilities"}
    values = row["probabilities"]
    probabilities = None if values is None else dict(zip(request.choices or (), values, strict=True))
    return Completion(**fields, choice_probabilities=probabilities)
