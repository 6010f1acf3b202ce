"""Answers as requests for a teacher's verdicts, one per line, as OpenAI's batch interface and others take them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from bert_judge.candidates.importers.answers import Answer
from bert_judge.judges.llm import prompting
from bert_judge.judges.protocol import Row
from bert_judge.tables import sample_id

ENDPOINT = "/v1/chat/completions"
LONGEST = 20_000


def lines(answers: Iterable[Answer], model: str, seed: int = 0) -> Iterator[str]:
    """A request per answer that asks for one word; `custom_id` is `{sample_id}-{number of the answer}`.

    Args:
        model: the teacher's name on the server.
        seed: of the fences round the answers, see `judges.prompting`.
    """
    for number, answer in enumerate(answers):
        identity = sample_id(answer.task, answer.question, answer.references)
        row = Row(identity, answer.attempt, answer.model, answer.question, answer.references, answer.candidate)
        text = prompting.prompt(row, prompting.shown(row, seed, LONGEST), prompting.VERDICT_ONLY)
        body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 16, "temperature": 0}
        call = {"custom_id": f"{identity}-{number}", "method": "POST", "url": ENDPOINT, "body": body}
        yield json.dumps(call, ensure_ascii=False)
