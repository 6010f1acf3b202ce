"""A language model that replies as a script says."""

from collections.abc import Callable, Sequence
from typing import Any

from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.judges.protocol import Row

ROW = Row("s0", 0, "m", "Capital of France?", ("Paris", "City of Paris"), "It is Paris.")
SETTINGS = {"kind": "llm", "api": "chat", "reasoning": True, "threshold": 0.5, "seed": 0, "max_candidate_chars": 400}
Script = Callable[[Request], Completion]


class ScriptedGenerator:
    """Replies according to a script and records the requests."""

    def __init__(self, script: Script | Sequence[Completion], **revisions: str) -> None:
        self.revisions = dict(revisions)
        self.requests: list[Request] = []
        self.calls = 0
        self._script = script

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.calls += 1
        answers = []
        for request in requests:
            answers.append(self._script(request) if callable(self._script) else self._script[len(self.requests)])
            self.requests.append(request)
        return answers


def says(text: str, status: str = "ok", **more: Any) -> Completion:
    return Completion(text, status, prompt_tokens=100, completion_tokens=7, **more)
