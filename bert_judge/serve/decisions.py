"""Answer typed questions as decision models do: OpenAI's `POST /v1/decisions` and TypeSafe's `POST /v1/systemone`.

A judge can answer one question, whether a candidate agrees with a reference. Its texts are fields of the state, under any name that
`bert-judge score` recognises as a column; it is asked as a predicate (a noul) named `correct`, or as a choice between `correct` and
`incorrect`. Any other question is rejected with a line that says this: a probability of something else would look the same.

Sources: `openai.types.decision` of the client, and https://docs.typesafe.ai/api.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.column_names import detect_columns
from bert_judge.judges.protocol import Label
from bert_judge.runtime.errors import InputError
from bert_judge.serve.bodies import RowBody, check_items, check_json, check_references
from bert_judge.serve.judge_pool import JudgePool
from bert_judge.serve.limits import Limits, RequestRejected
from bert_judge.tables.readers.values import UnreadableCell, get_cell

ABILITY = (
    'this server answers whether a candidate agrees with a reference: a predicate or noul named "correct", or a choice between '
    '"correct" and "incorrect", about a JSON object with question, references and candidate'
)
PATHS = ("/v1/decisions", "/v1/systemone")
# The search for the roles of fields takes more than linear time.
MAX_FIELDS = 200
# Names of a question that a judge can answer.
NAMES = ("correct", "is_correct", "correctness")
# Options of a choice; the first one is chosen for a correct answer. Only the first two pairs say by themselves what is asked.
CHOICES = ({"correct": True, "incorrect": False}, {"agrees": True, "disagrees": False})
NAMED_CHOICES = ({"yes": True, "no": False}, {"true": True, "false": False}, {"pass": True, "fail": False})


@dataclass(frozen=True)
class Question:
    """A question that a judge can answer.

    Attributes:
        name: None if it has none.
        options: value of an option → whether it means correct; None for a predicate.
    """

    name: str | None
    options: Mapping[str | bool, bool] | None = None


@dataclass(frozen=True)
class DecisionRequest:
    """Questions about a row, and the name of a judge; None for the default."""

    questions: Sequence[Question]
    judge: str | None
    row: RowBody


def parse(limits: Limits, body: Mapping[str, Any]) -> DecisionRequest:
    """Read a request to `/v1/decisions`. Raises RequestRejected: it asks anything but `ABILITY`, or has too many references."""
    entries = body.get("questions")
    if not isinstance(entries, list) or not entries:
        _reject("questions", "send a list of questions")
    questions = [_parse_question(f"questions.{number}", entry) for number, entry in enumerate(entries)]
    return _parse_row(questions, body, _read_input(body.get("input")), limits)


def parse_system_one(limits: Limits, body: Mapping[str, Any]) -> DecisionRequest:
    """Read a request to `/v1/systemone`; raises like `parse`."""
    entries = body.get("questions")
    if not isinstance(entries, Mapping) or not entries:
        _reject("questions", "send an object of questions by name")
    questions = [_parse_question(f"questions.{name}", entry, name) for name, entry in entries.items()]
    return _parse_row(questions, body, body.get("state"), limits)


async def decide(pool: JudgePool, limits: Limits, request: DecisionRequest, client: str) -> dict[str, Any]:
    """Answer a request to `/v1/decisions`; what the judge leaves invalid is a refusal.

    Raises:
        RequestRejected: there is no such judge, or the row exceeds a limit.
    """
    judge, label = await _judge(pool, limits, request, client)
    answers = [{"name": question.name, **_answer(question, label)} for question in request.questions]
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = _usage(label)
    return {"model": judge, "answers": answers, "usage": usage | details | {"total_tokens": sum(usage.values())}}


async def decide_system_one(pool: JudgePool, limits: Limits, request: DecisionRequest, client: str) -> dict[str, Any]:
    """Answer a request to `/v1/systemone`; raises like `decide`, and for what the judge leaves invalid."""
    judge, label = await _judge(pool, limits, request, client)
    if label.score is None:
        raise RequestRejected(422, f"state: no verdict: {label.reason}")
    answers = {}
    for question in request.questions:
        answer = _answer(question, label)
        if question.options is None:
            answer = {"type": "noul", "noul": answer["probability"]}
        else:
            answer["probabilities"] = {option["value"]: option["probability"] for option in answer["probabilities"]}
        answers[question.name] = answer
    return {"model": judge, "answers": answers, "usage": _usage(label)}


def _parse_question(where: str, entry: Any, key: str | None = None) -> Question:
    """Return a question of either protocol; `key` is its name in an object of questions."""
    if not isinstance(entry, Mapping):
        _reject(where, "send an object")
    name = entry.get("name") if key is None else key
    is_named = isinstance(name, str) and name.casefold().replace("-", "_").replace(" ", "_") in NAMES
    match entry.get("type"):
        case "predicate" | "noul" if is_named:
            return Question(name)
        case "choice":
            choices = entry.get("choices") if key is None else entry.get("criteria")
            values: list[Any] = [choice.get("value") if isinstance(choice, Mapping) else choice for choice in choices or ()]
            for meanings in (*CHOICES, *(NAMED_CHOICES if is_named else ())):
                if sorted(str(value).casefold() for value in values) == sorted(meanings):
                    return Question(name, {value: meanings[str(value).casefold()] for value in values})
    _reject(where, f"a {entry.get('type')} question named {name!r} cannot be answered")


def _read_input(value: Any) -> Any:
    """Return the state in an `input`: a text, or one message of a user with a text or JSON."""
    if not isinstance(value, list):
        return value
    if len(value) != 1 or not isinstance(value[0], Mapping) or value[0].get("role") != "user":
        _reject("input", "send one message of the role user")
    content = value[0].get("content")
    if not isinstance(content, list):
        return content
    if len(content) != 1 or not isinstance(content[0], Mapping):
        _reject("input.0.content", "send one part")
    return content[0].get("data", content[0].get("text"))


def _parse_row(questions: Sequence[Question], body: Mapping[str, Any], state: Any, limits: Limits) -> DecisionRequest:
    model = body.get("model")
    if not isinstance(model, str | None):
        _reject("model", "send the name of a judge")
    if isinstance(state, str):
        # The JSON in a text has the limits of the body.
        check_json(state.encode("utf-8", "surrogatepass"), limits)
    row = _read_state(state)
    check_references("state", len(row.list_references()), limits)
    return DecisionRequest(questions, model, row)


async def _judge(pool: JudgePool, limits: Limits, request: DecisionRequest, client: str) -> tuple[str, Label]:
    """Return the name of the judge, and its label of the row."""
    judge = pool.judge(request.judge)
    check_items("state", [request.row], limits)
    (label,) = await judge.submit([request.row], client)
    return judge.name, label


def _read_state(state: Any) -> RowBody:
    if isinstance(state, str):
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            _reject("state", "its text is not JSON")
    if not isinstance(state, Mapping) or not state:
        _reject("state", "send a JSON object")
    if (count := _count_fields(state)) > MAX_FIELDS:
        raise RequestRejected(413, f"state: has {count:,} fields, limit {MAX_FIELDS}; remove some")
    fields: dict[str, Any] = {}
    for name, value in state.items():
        # LangSmith and others write {"inputs": {"question": …}, "outputs": {"answer": …}}.
        fields |= {f"{name}.{key}": entry for key, entry in value.items()} if isinstance(value, Mapping) else {name: value}
    try:
        columns = detect_columns(Path("state"), list(fields), {}, sample=[fields])
        cells = {role: get_cell(fields, column) for role, column in columns.items() if role in RowBody.model_fields}
        texts = {role: cell for role, cell in cells.items() if cell is not None}
        if not columns.keys().isdisjoint(("input", "aliases")):
            answer = make_column_reader(columns)(fields)[0]
            texts |= {"question": answer.question, "references": list(answer.references)}
        return RowBody.model_validate(texts)
    except (InputError, UnreadableCell):
        _reject("state", f"cannot tell which of its fields is which: {', '.join(map(repr, list(fields)[:20]))}")
    except ValidationError as error:
        first = error.errors()[0]
        _reject(f"state.{'.'.join(map(str, first['loc']))}", first["msg"])


def _count_fields(state: Mapping[str, Any]) -> int:
    """Return the number of keys of an object and of all objects in it."""
    count, objects = 0, [state]
    while objects:
        members = objects.pop()
        count += len(members)
        objects += [value for value in members.values() if isinstance(value, Mapping)]
    return count


def _answer(question: Question, label: Label) -> dict[str, Any]:
    """Return the answer in OpenAI's form, without the name."""
    if label.score is None:
        return {"type": "refusal"}
    if question.options is None:
        return {"type": "predicate", "probability": label.score}
    probabilities = {value: label.score if is_correct else 1 - label.score for value, is_correct in question.options.items()}
    return {
        "type": "choice",
        "choice": max(probabilities, key=probabilities.__getitem__),
        # From 0 for a uniform distribution to 1 for a certain one.
        "confidence": abs(2 * label.score - 1),
        "probabilities": [{"value": value, "probability": probability} for value, probability in probabilities.items()],
    }


def _usage(label: Label) -> dict[str, int]:
    return {"input_tokens": label.prompt_tokens or 0, "output_tokens": label.completion_tokens or 0}


def _reject(where: str, fault: str) -> NoReturn:
    raise RequestRejected(422, f"{where}: {fault}; {ABILITY}")
