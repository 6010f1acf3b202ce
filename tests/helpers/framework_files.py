"""Files as other frameworks write them, each in its own schema, and how they are read."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge.importers import frameworks
from bert_judge.importers.answers import Answer
from bert_judge.importers.companion_files import CompanionFiles

FIXTURES = Path(__file__).parents[1] / "fixtures" / "frameworks"
TIME = "2026-11-22T05-42-27.490995"


def jsonl(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")
    return path


def parquet(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read(path: Path, framework: str, second: CompanionFiles = CompanionFiles()) -> tuple[list[Answer], frameworks.ImportStats]:  # noqa: B008
    found = frameworks.ImportStats()
    kind = frameworks.FRAMEWORKS[framework]
    answers = frameworks.read_answers(kind.make_reader(path, second), kind.records(path, second), found)
    return [answer for _, answer in answers], found


# --- what each framework writes, in its own schema ---


def lm_eval_row(**changes: Any) -> dict[str, Any]:
    """A line of `samples_gsm8k_…jsonl`."""
    row = {
        "doc_id": 7,
        "doc": {"question": "Wie viele?", "answer": "1000 + 253 = 1253\n#### 1,253"},
        "target": "1000 + 253 = 1253\n#### 1,253",
        "arguments": {"gen_args_0": {"arg_0": "Question: an example\n\nQuestion: Wie viele?\nAnswer:", "arg_1": {"until": ["\n"]}}},
        "resps": [["The answer is 1253."]],
        "filtered_resps": ["[invalid]"],
        "filter": "strict-match",
        "metrics": ["exact_match"],
        "doc_hash": "0",
        "prompt_hash": "0",
        "target_hash": "0",
        "exact_match": 0.0,
    }
    return row | changes


def choice(**changes: Any) -> dict[str, Any]:
    """A line of a multiple-choice task whose second of three options is the most likely one."""
    texts = changes.pop("texts", [" x", " y", " z"])
    requests = {f"gen_args_{n}": {"arg_0": "q?", "arg_1": text} for n, text in enumerate(texts)}
    responses = [[["-1.5" if n == 1 else "-9.25", "False"]] for n in range(len(texts))]
    row = {"doc": {"question": "q?"}, "target": "1", "arguments": requests, "resps": responses, "acc": 1.0}
    return {name: value for name, value in lm_eval_row(**(row | changes)).items() if value is not None}


def lighteval_row(**changes: Any) -> dict[str, Any]:
    """A row of details as versions from 0.10 on write it."""
    doc = {
        "query": "Capital of France?",
        "choices": ["Paris"],
        "gold_index": [0],
        "id": "3",
        "task_name": "capitals",
        "instruction": None,
    }
    said = {"input": "Capital of France?", "text": ["It is Paris.", "Lyon"], "text_post_processed": None, "logprobs": []}
    return {"doc": doc, "model_response": said, "metric": {"em": 0.0}} | changes


def helm_state(**changes: Any) -> dict[str, Any]:
    """A request state of `scenario_state.json`."""
    return {
        "instance": {
            "input": {"text": "Capital of France?"},
            "references": [{"output": {"text": "Paris"}, "tags": ["correct"]}, {"output": {"text": "Lyon"}, "tags": []}],
            "split": "test",
            "id": "id3",
        },
        "train_trial_index": 0,
        "request": {"model": "openai/gpt2", "model_deployment": "huggingface/gpt2", "prompt": "Q: Capital of France?\nA:"},
        "result": {
            "success": True,
            "embedding": [],
            "completions": [{"text": " It is Paris.", "logprob": -1.5, "tokens": []}],
            "cached": False,
        },
        "num_train_instances": 5,
        "prompt_truncated": False,
    } | changes


def helm(path: Path, states: list[Any]) -> Path:
    spec = {"method": "generation", "instructions": "", "model": "openai/gpt2"}
    return document(path, {"adapter_spec": spec, "request_states": states, "annotator_specs": []})


def batch_response(**changes: Any) -> dict[str, Any]:
    """A line of the output of OpenAI's batch interface."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is Paris."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 4},
    }
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": "q3", "response": response, "error": None} | changes


def batch_request(**changes: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital of France?"}]
    return {"custom_id": "q3", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages} | changes}


def judgelm_row(**changes: Any) -> dict[str, Any]:
    return {
        "question_id": 3,
        "score": [{}, {}],
        "question_body": "Capital of France?",
        "answer1_body": "It is Paris.",
        "answer2_body": "Lyon",
        "answer1_model_id": "alpaca",
        "answer2_model_id": "vicuna",
        "answer1_metadata": {},
        "answer2_metadata": {},
        "reference": "Paris",
    } | changes


MESSAGES = [{"role": "user", "content": "Capital of France?"}, {"role": "assistant", "content": "It is Paris."}]
# A row of the frameworks whose files are plain rows.
PLAIN_ROWS: dict[str, dict[str, Any]] = {
    "promptfoo": {
        "provider": {"id": "openai:chat:x", "label": ""},
        "response": {"output": "It is Paris."},
        "vars": {"question": "Capital of France?"},
        "testCase": {"assert": [{"type": "icontains", "value": "Paris"}]},
        "success": True,
    },
    "openai_evals": {
        "run_id": "r",
        "event_id": 1,
        "sample_id": "capitals.0",
        "type": "match",
        "data": {"correct": True, "expected": "Paris", "sampled": "It is Paris."},
    },
    "evalscope_reviews": {
        "index": 0,
        "target": "Paris",
        "messages": MESSAGES,
        "sample_score": {"score": {"value": {"acc": 1.0}, "extracted_prediction": "Paris", "prediction": "It is Paris."}},
    },
    "evalscope_predictions": {
        "index": 0,
        "model": "m",
        "model_output": {"model": "m", "choices": [{"message": MESSAGES[1]}]},
        "messages": MESSAGES,
        "metadata": {"correct_answer": "Paris"},
    },
    "evalscope_chats": {
        "choices": [{"index": 0, "message": MESSAGES[1], "review": {"gold": "Paris", "pred": "Paris", "result": True}}],
        "model": "m",
        "model_spec": {"model_id": "m"},
        "raw_input": {"question": "Capital of France?"},
        "origin_prompt": {"data": ["Capital of France?"]},
    },
    "turns": {"messages": [*MESSAGES, *MESSAGES], "references": ["Paris", "Paris"]},
}


def made(folder: Path, framework: str, rows: list[Any] | None = None) -> Path:
    """A file of the framework, with one good row unless told otherwise."""
    match framework:
        case "lm_eval":
            return jsonl(folder / "org__name" / f"samples_gsm8k_cot_{TIME}.jsonl", rows or [lm_eval_row()])
        case "lighteval":
            return parquet(
                folder / "details" / "org" / "name" / TIME / f"details_a|capitals|0_{TIME}.parquet", rows or [lighteval_row()]
            )
        case "helm":
            return helm(folder / "capitals:subject=a,model=openai_gpt2" / "scenario_state.json", rows or [helm_state()])
        case "openai_batch":
            return jsonl(folder / "output.jsonl", rows or [batch_response()])
        case "judgelm":
            return jsonl(folder / "samples.jsonl", rows or [judgelm_row()])
        case "promptfoo_table":
            path = folder / "out.csv"
            header = "question,expected,[m] {{question}},Status,Score,Named Scores,Grader Reason,Comment"
            path.write_text(f"{header}\nCapital of France?,Paris,It is Paris.,PASS,1,,,\n")
            return path
        case _ if framework in PLAIN_ROWS:
            return jsonl(folder / "rows.jsonl", rows or [PLAIN_ROWS[framework]])
        case _:
            return document(folder / "capitals" / "Llama-3.2-1B" / "candidates.json", rows or ["It is Paris."])


def changed(row: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a row with another value at a dotted path."""
    row = copy.deepcopy(row)
    *steps, last = path.split(".")
    here = row
    for step in steps:
        here = here[step]
    here[last] = value
    return row


def cut(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def binary(path: Path) -> Path:
    path.write_bytes(b'{"a": "\xff"}\n')
    return path
