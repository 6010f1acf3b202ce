"""A generator whose completions are cached on disk, under content keys of their requests.

Nothing is generated twice: a killed job, a raised limit, an added row or another table pays only for what is missing. Completions
of a server, which cost money, are written to a journal as they arrive; it becomes a shard when the next job starts.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.candidates.generators.model_names import model_family
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime import resume

# Completions per shard, the most that a kill can lose of a local model.
SHARD_ROWS = 128
JOURNAL_SUFFIX = ".journal"


class CachedGenerator:
    """Implements `generators.protocol.Generator` on another generator, which is loaded when the first completion is missing.

    Args:
        origin: everything besides the request that determines a completion: the model's settings.
        revisions: of the model, as far as known without loading it; completions of another revision are not reused.
        by_sample: a completion also depends on the question behind the prompt, as with simulated models.
        retry_errors: completions with status `error`, and empty ones without a reason, are not cached, so the next run asks again.
            A server may recover; a local model fails again.
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
        self.folder, self.make_generator = Path(folder), make_generator
        self._journal = self.folder / f"{os.getpid()}{JOURNAL_SUFFIX}"
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
        self._recover_journals()
        rows = resume.run_resumable(
            requests,
            keys,
            partial(map, self._generate_rows),
            self.folder,
            shard_rows=self.shard_rows,
            unit="answers",
            should_cache=self._should_cache,
            is_valid=self._is_of_model,
        )
        self._journal.unlink(missing_ok=True)
        return [_to_completion(request, row) for request, row in zip(requests, rows, strict=True)]

    def check_features(self) -> Any:
        """Load the generator of a server and return what the server supports; see `OpenAIGenerator.check_features`."""
        return self._load().check_features()

    def find_missing(self, requests: Sequence[Request]) -> list[bool]:
        """Return which requests have no stored completion."""
        self._recover_journals()
        keys = [self.key(request) for request in requests]
        stored = resume.load(self.folder, set(keys), self._is_of_model)
        return [key not in stored for key in keys]

    def forget(self, requests: Sequence[Request]) -> None:
        """Remove the completions of a server that are of no use: it may reply otherwise when it is asked again."""
        if self.retry_errors:
            resume.forget(self.folder, {self.key(request) for request in requests})

    def _recover_journals(self) -> None:
        """Save the completions of killed jobs as shards."""
        for journal in self.folder.glob(f"*{JOURNAL_SUFFIX}"):
            if journal != self._journal:
                resume.save_shard(self.folder, _read_journal(journal))
                journal.unlink(missing_ok=True)

    def _write_journal(self, request: Request, completion: Completion) -> None:
        line = json.dumps({"key": self.key(request), **to_row(request, completion)})
        # Opened for each line, which may then be written whatever becomes of this process.
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(line + "\n")

    def _load(self) -> Any:
        if self._generator is None:
            self._generator = self.make_generator()
            # One mapping: a server reveals its model's version only in a response.
            self.revisions |= self._generator.revisions
            self._generator.revisions = self.revisions
            if hasattr(self._generator, "on_completion"):
                self._generator.on_completion = self._write_journal
        return self._generator

    def _should_cache(self, row: Mapping[str, Any]) -> bool:
        is_empty = row["status"] == "empty" and not row.get("reason")
        return not (self.retry_errors and (row["status"] == "error" or is_empty))

    def _is_of_model(self, row: Mapping[str, Any]) -> bool:
        """Return whether a stored completion is of the model that the server now runs under this name, as far as it has said so."""
        writer, served = row.get("model"), next(iter(self.revisions.values()), None)
        return writer is None or served is None or model_family(writer) == model_family(served)

    def _generate_rows(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        generator = self._load()
        try:
            completions = generator.generate(requests)
        except resume.Stopped as stopped:
            raise resume.Stopped({index: to_row(requests[index], value) for index, value in stopped.results.items()}) from None
        return [to_row(request, completion) for request, completion in zip(requests, completions, strict=True)]


def _read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """Return key → row of the completions in a journal, whose last line may be incomplete."""
    rows = {}
    for line in path.read_text("utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        rows[row.pop("key")] = row
    return rows


def to_row(request: Request, completion: Completion) -> dict[str, Any]:
    """Convert a completion to a row of a shard; probabilities are in the order of the choices."""
    probabilities = completion.choice_probabilities
    return {
        **{name: tables.storable(getattr(completion, name)) for name in ("text", "reasoning", "reason", "model")},
        **{name: getattr(completion, name) for name in ("status", "prompt_tokens", "completion_tokens")},
        "probabilities": None if probabilities is None else [probabilities[choice] for choice in request.choices or ()],
    }


def _to_completion(request: Request, row: Mapping[str, Any]) -> Completion:
    fields = {name: value for name, value in row.items() if name != "probabilities"}
    values = row["probabilities"]
    probabilities = None if values is None else dict(zip(request.choices or (), values, strict=True))
    return Completion(**fields, choice_probabilities=probabilities)
