"""Judging with a decision model: a server that answers a typed question about data with a probability, and writes no text.

Two protocols ask the same question. OpenAI's `POST /decisions` has an `input` and a list of questions, of which a `predicate` is a
statement; TypeSafe's `POST /systemone` has a `state` and named questions, of which a `noul` is one with the answers yes and no.
Question, references and candidate are the data; the instructions are the same for every row and quote none of them.

Sources: `openai.types.decision` of the client, and https://docs.typesafe.ai/api.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.chat_responses import WRONG_TYPE, MalformedResponseError, describe_malformed
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.candidates.generators.protocol import Completion, Request, error_completion
from bert_judge.candidates.generators.server_features import UNCONSTRAINED
from bert_judge.judges.llm.judge import CHOICES, PROMPTS, LLMJudge, RowCase
from bert_judge.judges.llm.verdicts import NEGATIVE, POSITIVE
from bert_judge.judges.prompted import PROBABILITY, Reading, ReplyFormat

NAME = "correct"
STATEMENT = f"{PROMPTS['statement']}\n{PROMPTS['rules']}"
REFUSED = "the model declined to answer"
# Servers round probabilities.
TOLERANCE = 0.01
# Protocol → path below `base_url`, and the field of an answer with the probability.
APIS = {"decisions": ("/decisions", "probability"), "system_one": ("/systemone", "noul")}


class DecisionJudge(LLMJudge):
    """Implements `judges.protocol.Judge` on a `DecisionGenerator`; the score is the probability that the statement is true.

    A refused question is invalid, and so is one whose answer is no distribution. Uses the settings api, threshold, seed and
    max_candidate_chars.
    """

    def _reply_formats(self) -> tuple[ReplyFormat, ReplyFormat]:
        reply_format = ReplyFormat(STATEMENT, CHOICES)
        return reply_format, reply_format

    def _prompt(self, case: RowCase, instructions: str) -> str:
        row = case.row
        # In this order, so that the rows of a question share the beginning that servers cache.
        state = {"question": row.question, "references": row.references, "candidate": case.candidate.text}
        if self.settings["api"] == "decisions":
            question = {"type": "predicate", "name": NAME, "instructions": instructions}
            body: dict[str, Any] = {"input": json.dumps(state, ensure_ascii=False), "questions": [question]}
        else:
            body = {"state": state, "questions": {NAME: {"type": "noul", "instructions": instructions}}}
        return json.dumps(body, ensure_ascii=False)

    def _parse_completion(self, case: RowCase, completion: Completion, choices: tuple[str, ...] | None) -> Reading:
        if completion.choice_probabilities is None:
            return Reading(completion.reason or REFUSED)
        return Reading(PROBABILITY, completion.choice_probabilities[POSITIVE])


class DecisionGenerator(OpenAIGenerator):
    """Sends questions to a decision model; the prompt of a request is the JSON of its body without the model."""

    def __init__(self, api: str, name: str, settings: Mapping[str, Any], manifest: Path | None = None) -> None:
        # A decision is no text that could be restricted.
        super().__init__(name, {**settings, "structured_output": UNCONSTRAINED})
        self.path, self.field = APIS[api]

    def _request_body(self, request: Request) -> dict[str, Any]:
        return {"model": self.settings["model"], **json.loads(request.prompt), **self.settings["extra"]}

    def _parse_response(self, response: Any, request: Request) -> Completion:
        return parse_response(response, self.field)


def parse_response(response: Any, field: str) -> Completion:
    """Convert a response to a completion with the probabilities of both verdicts; `field` of an answer holds the probability."""
    try:
        answer, usage = _only_answer(response["answers"]), response.get("usage") or {}
        tokens = usage.get("input_tokens"), usage.get("output_tokens")
        if answer is None or answer["type"] == "refusal":
            return Completion("", "empty", None, *tokens, reason=REFUSED)
        probability = answer[field]
        distribution: Any = answer.get("probabilities") or ()
        is_mapping = isinstance(distribution, Mapping)
        options = list(distribution.values()) if is_mapping else [option["probability"] for option in distribution]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise MalformedResponseError(describe_malformed(response, error)) from error
    if not all(isinstance(count, int | None) for count in tokens):
        raise MalformedResponseError(WRONG_TYPE)
    if reason := _check_distribution(probability, options):
        # The model would repeat it.
        return error_completion(reason, tokens[0])
    probabilities = {POSITIVE: probability, NEGATIVE: 1 - probability}
    return Completion(json.dumps(answer), "ok", None, *tokens, probabilities)


def _only_answer(answers: Any) -> Any:
    """Return the answer to the one question of a request; None if there is none under its name."""
    if isinstance(answers, Mapping):
        return answers.get(NAME)
    answer = answers[0]
    if answer.get("name") not in (NAME, None):
        raise ValueError(f"the response answers another question: {answer['name']!r}")
    return answer


def _check_distribution(probability: Any, options: Sequence[Any]) -> str | None:
    """Return what is wrong with a probability and, if the server gives them, those of all options."""
    for value in (probability, *options):
        if type(value) not in (int, float) or not 0 <= value <= 1:
            return f"{value!r} is not a probability"
    if options and abs(sum(options) - 1) > TOLERANCE:
        return f"the probabilities sum to {sum(options):.3g}, not 1"
    if options and min(abs(value - probability) for value in options) > TOLERANCE:
        return f"the probability {probability:.3g} is not among those of the options"
    return None
