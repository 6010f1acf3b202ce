"""Export answers as labelling requests for a teacher, one per line, in the format of the OpenAI batch API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from bert_judge.candidates.importers.answers import Answer
from bert_judge.judges.llm import prompting
from bert_judge.judges.protocol import Row
from bert_judge.tables import sample_id

ENDPOINT = "/v1/chat/completions"
MAX_CANDIDATE_CHARACTERS = 20_000


def lines(answers: Iterable[Answer], model: str, seed: int = 0) -> Iterator[str]:
    """Yield one request per answer for a one-word verdict; `custom_id` is `{sample_id}-{index of the answer}`.

    Args:
        model: name of the teacher on the server.
        seed: seed of the delimiters around the answers, see `judges.llm.prompting`.
    """
    for index, answer in enumerate(answers):
        identity = sample_id(answer.task, answer.question, answer.references)
        row = Row(identity, answer.attempt, answer.model, answer.question, answer.references, answer.candidate)
        candidate = prompting.render_candidate(row, seed, MAX_CANDIDATE_CHARACTERS)
        text = prompting.build_prompt(row, candidate, prompting.VERDICT_ONLY)
        body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 16, "temperature": 0}
        request = {"custom_id": f"{identity}-{index}", "method": "POST", "url": ENDPOINT, "body": body}
        yield json.dumps(request, ensure_ascii=False)
