"""Other frameworks' files: each known by its content, read to the same answers, and refused in one clear line when it is broken."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_judge.config import Import
from bert_judge.errors import InputError
from bert_judge.importers import files, frameworks
from bert_judge.importers.answers import Answer
from bert_judge.importers.beside import Beside

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


def read(path: Path, framework: str, second: Beside = Beside()) -> tuple[list[Answer], frameworks.Found]:  # noqa: B008
    found = frameworks.Found()
    source = frameworks.records(path, framework, second)
    return [answer for _, answer in frameworks.answers(frameworks.reader(path, framework, second), source, found)], found


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


def flat_lighteval_row(**changes: Any) -> dict[str, Any]:
    """A row of details as earlier versions wrote it."""
    return {
        "choices": [],
        "example": "Capital of France?",
        "full_prompt": "Examples.\n\nCapital of France?",
        "gold": ["Paris"],
        "gold_index": [],
        "instruction": "",
        "metrics": {"em": 0.0},
        "predictions": ["It is Paris.", "Lyon"],
    } | changes


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


def representation_row(**changes: Any) -> dict[str, Any]:
    """A member of `{model}_gsm8k_results.json`."""
    return {
        "id": 3,
        "question": "Capital of France?",
        "gold_answer": "Look at a map.",
        "final_answer": "Paris",
        "prediction": "It is Paris.",
    } | changes


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
        case "mm_vet":
            return document(folder / "emu.json", {f"v1_{n}": said for n, said in enumerate(rows or ["It is Paris."])})
        case "representation_judge":
            return document(folder / "Meta-Llama-3-8B_capitals_results.json", rows or [representation_row()])
        case _:
            return document(folder / "capitals" / "Llama-3.2-1B" / "candidates.json", rows or ["It is Paris."])


@pytest.mark.parametrize("framework", sorted(set(frameworks.NAMES) - {"inspect"}))
def test_a_file_is_known_by_what_is_in_it(tmp_path: Path, framework: str) -> None:
    assert frameworks.detect(made(tmp_path, framework)) == framework


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", '{"question": "a", "references": "b"}\n'), ("a.json", '{"a": 1}'), ("a.json", "[1]"), ("a.csv", "a,b\n1,2\n")],
)
def test_plain_files_are_nobodys(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert frameworks.detect(tmp_path / name) is None


# --- lm-evaluation-harness ---


def test_samples_that_the_harness_wrote_itself() -> None:
    paths = {path.name.split("_2026")[0]: path for path in (FIXTURES / "lm_eval" / "dummy").glob("*.jsonl")}
    answers, found = read(paths["samples_gsm8k_sums"], "lm_eval")
    assert [(a.references, a.candidate, a.model, a.task, a.id) for a in answers] == [
        (("1253", "1,253"), "lol", "dummy", "gsm8k_sums", "0"),
        (("8",), "lol", "dummy", "gsm8k_sums", "1"),
        (("72",), "lol", "dummy", "gsm8k_sums", "2"),
    ]
    assert answers[1].question == "Wie viele Füße haben zwei Kühe?"
    assert found.skipped == {"another filter of the same document": 3}
    answers, found = read(paths["samples_planets"], "lm_eval")
    assert answers == [] and found.skipped == {"a task scored by likelihood, without generated text": 2}
    answers, _ = read(paths["samples_capitals"], "lm_eval")
    assert [a.attempt for a in answers] == [0, 1]
    assert answers[0].references == ("Yamoussoukro", "the city's name is Yamoussoukro")


@pytest.mark.parametrize(
    ("task", "changes", "question", "references"),
    [
        ("gsm8k", {}, "Wie viele?", ("1253", "1,253")),
        ("minerva_math_algebra", {"doc": {"problem": "x?", "solution": r"\boxed{\frac{1}{2}}"}}, "x?", (r"\frac{1}{2}",)),
        ("hendrycks_math", {"doc": {"problem": "x?", "answer": "7"}}, "x?", ("7",)),
        ("triviaqa", {"doc": {"question": "q?", "answer": {"value": "Rome", "aliases": ["Roma", "Rome"]}}}, "q?", ("Rome", "Roma")),
        ("squadv2", {"doc": {"question": "q?", "answers": {"text": ["a", "b"]}}}, "q?", ("a", "b")),
        ("drop", {"doc": {"question": "q?", "answers": [["3"], ["two", "one"]]}}, "q?", ("3", "two, one")),
        ("nq_open", {"doc": {"question": "q?"}, "target": "['a', \"b's\"]"}, "q?", ("a", "b's")),
        ("other", {"doc": {"text": "t"}, "target": " yes"}, "Question: an example\n\nQuestion: Wie viele?\nAnswer:", ("yes",)),
        ("other", {"doc": {"question": "q?"}, "target": "[not a list]"}, "q?", ("[not a list]",)),
        ("mmlu", {"doc": {"question": "q?", "choices": ["x", "y"]}, "target": "1"}, "q?\n(A) x\n(B) y", ("B", "y")),
        ("mmlu", {"doc": {"question": "q?", "choices": ["x", "y"]}, "target": "y"}, "q?\n(A) x\n(B) y", ("B", "y")),
    ],
)
def test_references_are_what_the_task_means(
    tmp_path: Path, task: str, changes: dict[str, Any], question: str, references: tuple[str, ...]
) -> None:
    path = jsonl(tmp_path / "m" / f"samples_{task}_{TIME}.jsonl", [lm_eval_row(**changes)])
    [answer], _ = read(path, "lm_eval")
    assert (answer.question, answer.references, answer.candidate) == (question, references, "The answer is 1253.")


def test_the_models_name_comes_from_the_results_or_the_folder(tmp_path: Path) -> None:
    path = made(tmp_path, "lm_eval")
    assert read(path, "lm_eval")[0][0].model == "org/name"
    document(path.parent / f"results_{TIME}.json", {"model_name": "the/real__one"})
    assert read(path, "lm_eval")[0][0].model == "the/real__one"


# --- the others ---


@pytest.mark.parametrize(
    ("rows", "question", "references"),
    [
        ([lighteval_row()], "Capital of France?", ("Paris",)),
        ([{f"__{name}__": value for name, value in lighteval_row().items()}], "Capital of France?", ("Paris",)),
        ([flat_lighteval_row()], "Capital of France?", ("Paris",)),
        ([{k: str(v) for k, v in flat_lighteval_row().items()}], "Capital of France?", ("Paris",)),
        ([flat_lighteval_row(gold=[], choices=["Lyon", "Paris"], gold_index=[1])], "Capital of France?", ("Paris",)),
        (
            [lighteval_row(doc={"query": "q?", "choices": ["x", "y"], "gold_index": 1})],
            "q?\n(A) x\n(B) y",
            ("B", "y"),
        ),
        ([lighteval_row(doc={"query": "q?\nA. x\nB. y", "choices": [" A", " B"], "gold_index": 1})], "q?\nA. x\nB. y", ("B",)),
    ],
)
def test_lighteval_in_all_its_spellings(tmp_path: Path, rows: list[Any], question: str, references: tuple[str, ...]) -> None:
    path = made(tmp_path, "lighteval", rows)
    assert frameworks.detect(path) == "lighteval"
    answers, _ = read(path, "lighteval")
    assert [(a.question, a.references, a.candidate, a.attempt) for a in answers] == [
        (question, references, "It is Paris.", 0),
        (question, references, "Lyon", 1),
    ]
    assert (answers[0].model, answers[0].task) == ("org/name", "a:capitals:0")


def test_helm_generation_and_multiple_choice(tmp_path: Path) -> None:
    joint = helm_state(output_mapping={"A": "Lyon", "B": "Paris"})
    calibrated = helm_state(reference_index=1, request_mode="calibration")
    answers, found = read(made(tmp_path, "helm", [helm_state(), joint, calibrated]), "helm")
    assert [(a.question, a.references) for a in answers] == [
        ("Capital of France?", ("Paris",)),
        ("Capital of France?\n(A) Lyon\n(B) Paris", ("B", "Paris")),
    ]
    assert (answers[0].model, answers[0].task, answers[0].id) == ("openai/gpt2", "capitals:subject=a", "id3")
    assert found.skipped == {"an option scored by likelihood, without generated text": 1}


def test_openai_batch_joins_three_files_by_id(tmp_path: Path) -> None:
    path = made(tmp_path, "openai_batch")
    requests = jsonl(tmp_path / "input.jsonl", [batch_request()])
    gold = tmp_path / "gold.csv"
    gold.write_text('custom_id,answer\nq3,"[""Paris"", ""City of Light""]"\nq4,x\n', "utf-8")
    [answer], _ = read(path, "openai_batch", Beside(gold, requests))
    assert (answer.question, answer.references, answer.candidate, answer.model, answer.id) == (
        "Capital of France?",
        ("Paris", "City of Light"),
        "It is Paris.",
        "gpt-4o-mini",
        "q3",
    )
    own = jsonl(tmp_path / "own.jsonl", [batch_request(metadata={"reference": "Paris"})])
    assert read(path, "openai_batch", Beside(requests=own))[0][0].references == ("Paris",)


def test_openai_batch_of_the_responses_interface(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "Paris"}]}],
    }
    path = made(tmp_path, "openai_batch", [batch_response(response={"status_code": 200, "body": body})])
    requests = jsonl(
        tmp_path / "input.jsonl", [{"custom_id": "q3", "body": {"input": "Capital?", "metadata": {"reference": "Paris"}}}]
    )
    [answer], _ = read(path, "openai_batch", Beside(requests=requests))
    assert (answer.question, answer.candidate) == ("Capital?", "Paris")


def test_judgelm_has_several_answers_in_a_line(tmp_path: Path) -> None:
    answers, _ = read(made(tmp_path, "judgelm"), "judgelm")
    assert [(a.candidate, a.model, a.references, a.id) for a in answers] == [
        ("It is Paris.", "alpaca", ("Paris",), "3"),
        ("Lyon", "vicuna", ("Paris",), "3"),
    ]
    row = judgelm_row(answer3_body="Rome", answer3_model_id="llama")
    del row["reference"]
    beside = jsonl(tmp_path / "references.jsonl", [{"question_id": 3, "reference": {"text": "Paris"}}])
    answers, _ = read(jsonl(tmp_path / "more.jsonl", [row]), "judgelm", Beside(beside))
    assert [(a.model, a.references) for a in answers] == [(name, ("Paris",)) for name in ("alpaca", "vicuna", "llama")]


def test_representation_as_a_judge(tmp_path: Path) -> None:
    maths = representation_row(gold_answer=r"So \boxed{\frac{1}{2}}.")
    del maths["final_answer"]
    choice = representation_row(options=["Lyon", "Paris"], final_answer="(B)")
    answers, _ = read(made(tmp_path, "representation_judge", [representation_row(), maths, choice]), "representation_judge")
    assert [a.references for a in answers] == [("Paris",), (r"\frac{1}{2}",), ("B", "Paris")]
    assert answers[2].question == "Capital of France?\n(A) Lyon\n(B) Paris"
    assert (answers[0].model, answers[0].task, answers[0].id) == ("Meta-Llama-3-8B", "capitals", "3")


def test_bert_as_a_judge_joins_lists_by_their_order(tmp_path: Path) -> None:
    path = made(tmp_path, "bert_as_a_judge", ["It is Paris.", "Bonn"])
    questions = jsonl(
        tmp_path / "task.jsonl", [{"question": "France?", "reference": "Paris"}, {"question": "Germany?", "reference": "Berlin"}]
    )
    scores = document(tmp_path / "scores.json", [0.99, 0])
    answers, _ = read(path, "bert_as_a_judge", Beside(questions, scores=scores))
    assert [(a.question, a.references, a.candidate, a.label) for a in answers] == [
        ("France?", ("Paris",), "It is Paris.", 0.99),
        ("Germany?", ("Berlin",), "Bonn", 0.0),
    ]
    assert (answers[0].model, answers[0].task) == ("Llama-3.2-1B", "capitals")


# --- a row that makes no sense costs that row, and says why ---


def changed(row: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    row = copy.deepcopy(row)
    *steps, last = path.split(".")
    here = row
    for step in steps:
        here = here[step]
    here[last] = value
    return row


@pytest.mark.parametrize(
    ("framework", "row", "says"),
    [
        ("lm_eval", changed(lm_eval_row(), "target", "no number"), "no #### in its answer"),
        ("lm_eval", changed(lm_eval_row(), "resps", []), "its resps are []"),
        ("lm_eval", changed(lm_eval_row(), "resps", "text"), "its resps are text"),
        ("lm_eval", changed(lm_eval_row(), "resps", [[{"a": 1}]]), "is {'a': 1}; give a text"),
        ("lm_eval", {k: v for k, v in lm_eval_row().items() if k != "doc"}, "no 'doc', which every logged sample has"),
        ("lighteval", changed(lighteval_row(), "doc.gold_index", [4]), "the right option is [4] of 1"),
        ("lighteval", flat_lighteval_row(gold=[]), "no reference"),
        ("helm", changed(helm_state(), "result", {"success": False, "error": "timeout"}), "the request failed: timeout"),
        ("helm", changed(helm_state(), "result", None), "the request failed: no result"),
        ("helm", changed(helm_state(), "instance.references", []), "no reference"),
        ("openai_batch", batch_response(), "no reference; give a file with custom_id and references with --references"),
        (
            "openai_batch",
            batch_response(response=None, error={"code": "batch_expired", "message": "too late"}),
            "the request failed: too late",
        ),
        ("openai_batch", changed(batch_response(), "response.status_code", 429), "the request failed: no response"),
        ("judgelm", judgelm_row(reference=None), "no reference; give the reference file with --references"),
        ("representation_judge", representation_row(final_answer=None), "no final_answer, and no closed box in its solution"),
        ("representation_judge", representation_row(prediction=None), "no answer"),
    ],
)
def test_a_row_without_an_answer_is_counted_with_its_reason(tmp_path: Path, framework: str, row: dict[str, Any], says: str) -> None:
    answers, found = read(made(tmp_path, framework, [row]), framework)
    assert answers == [] and dict(found.unreadable) == {says: 1}


# --- a broken file is refused in one line ---

BROKEN: list[tuple[str, Callable[[Path], Path], str]] = [
    ("lm_eval", lambda folder: cut(made(folder, "lm_eval"), 50), "line 1 is not JSON"),
    ("lm_eval", lambda folder: cut(made(folder, "lm_eval"), 0), "the file has no rows"),
    ("lm_eval", lambda folder: binary(made(folder, "lm_eval")), "not UTF-8 text"),
    ("lighteval", lambda folder: cut(made(folder, "lighteval"), 50), "not a readable parquet file"),
    ("helm", lambda folder: cut(made(folder, "helm"), 300), "not a whole JSON file"),
    ("helm", lambda folder: helm(folder / "s.json", ["x"]), "item 1 is no object; this is not the file it seems to be"),
    ("helm", lambda folder: folder / "none.json", "no such file"),
    ("openai_batch", lambda folder: jsonl(folder / "o.jsonl", [[1]]), "line 1 is a JSON list"),
    ("judgelm", lambda folder: cut(made(folder, "judgelm"), 20), "line 1 is not JSON"),
    ("representation_judge", lambda folder: cut(made(folder, "representation_judge"), 40), "not a whole JSON file"),
    ("representation_judge", lambda folder: document(folder / "r.json", [[1]]), "item 1 is no object"),
    (
        "bert_as_a_judge",
        lambda folder: made(folder, "bert_as_a_judge"),
        "holds answers alone; name the file of questions and references",
    ),
]


def cut(path: Path, size: int) -> Path:
    path.write_bytes(path.read_bytes()[:size])
    return path


def binary(path: Path) -> Path:
    path.write_bytes(b'{"a": "\xff"}\n')
    return path


@pytest.mark.parametrize(("framework", "make", "says"), BROKEN)
def test_a_broken_file_is_one_line(tmp_path: Path, framework: str, make: Callable[[Path], Path], says: str) -> None:
    path = make(tmp_path)
    with pytest.raises(InputError) as caught:
        read(path, framework)
    assert str(path) in str(caught.value) and says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("candidates", "questions", "scores", "says"),
    [
        (["a", "b"], 1, None, "has more answers than the references have questions (1)"),
        (["a"], 2, None, "has fewer answers than the references have questions (2)"),
        (["a", "b"], 2, [1], "has fewer scores (1) than there are answers"),
        (["a", ["b"]], 2, None, "item 2 is \"['b']\"; candidates.json is a list of texts"),
    ],
)
def test_lists_that_do_not_fit_are_refused(
    tmp_path: Path, candidates: list[Any], questions: int, scores: list[Any] | None, says: str
) -> None:
    path = made(tmp_path, "bert_as_a_judge", candidates)
    asked = jsonl(tmp_path / "task.jsonl", [{"question": "q", "reference": "r"}] * questions)
    given = None if scores is None else document(tmp_path / "scores.json", scores)
    with pytest.raises(InputError) as caught:
        read(path, "bert_as_a_judge", Beside(asked, scores=given))
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_second_files_have_ids_once(tmp_path: Path) -> None:
    path = made(tmp_path, "openai_batch")
    twice = jsonl(tmp_path / "gold.jsonl", [{"custom_id": "é", "reference": "a"}] * 2)
    with pytest.raises(InputError, match=r"line 2: the custom_id 'é' is there twice"):
        read(path, "openai_batch", Beside(twice))
    nameless = jsonl(tmp_path / "other.jsonl", [{"reference": "a"}])
    with pytest.raises(InputError, match="no column of ids; there must be one of custom_id"):
        read(path, "openai_batch", Beside(nameless))


# --- in a configuration ---


def test_a_configuration_reads_a_frameworks_file_by_itself_or_by_its_name(tmp_path: Path) -> None:
    path = made(tmp_path, "lm_eval", [lm_eval_row(), lm_eval_row(filter="flexible-extract"), lm_eval_row(doc_id=8)])
    for format in ("auto", "lm_eval"):
        entry = Import.model_validate({"path": str(path), "format": format})
        assert files.distinct_models(entry, path) == ["org/name"]
        spec = entry.model_dump(mode="json", exclude={"path"})
        frame = files.read(spec, path, {"task": "gsm8k_cot"}, ["question", "references", "candidate"], model="org/name")
        assert frame["candidate"].tolist() == ["The answer is 1253."] * 2
    with pytest.raises(InputError, match="no row is left where 'task' is 'other'"):
        files.read(spec, path, {"task": "other"}, ["candidate"])
    mapped = Import.model_validate(
        {"path": str(path), "columns": {"question": "target", "references": "target", "candidate": "filter"}}
    )
    raw = files.read(mapped.model_dump(mode="json", exclude={"path"}), path, None, ["candidate"])
    assert raw["candidate"].tolist() == ["strict-match", "flexible-extract", "strict-match"]


def test_a_file_without_an_answer_says_why(tmp_path: Path) -> None:
    path = next((FIXTURES / "lm_eval" / "dummy").glob("samples_planets*"))
    with pytest.raises(InputError, match=r"2 left out: a task scored by likelihood.*; there is no answer to import"):
        files.read(Import(path=str(path)).model_dump(mode="json", exclude={"path"}), path, None, ["candidate"])


# --- size ---

COUNT = """
import sys
from pathlib import Path
from bert_judge.importers import frameworks
path, framework = Path(sys.argv[1]), sys.argv[2]
found = frameworks.Found()
for _ in frameworks.answers(frameworks.reader(path, framework), frameworks.records(path, framework), found):
    pass
print(found.answers, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.parametrize(
    ("framework", "row"),
    [
        ("lm_eval", lm_eval_row()),
        ("lighteval", lighteval_row()),
        ("helm", helm_state()),
        ("representation_judge", representation_row()),
    ],
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, framework: str, row: Mapping[str, Any]) -> None:
    peaks = []
    for rows in (2_000, 12_000):
        path = made(tmp_path / str(rows), framework, [row] * rows)
        done = subprocess.run([sys.executable, "-c", COUNT, str(path), framework], capture_output=True, text=True, check=True)
        answers, peak = map(int, done.stdout.split())
        assert answers == rows * (2 if framework == "lighteval" else 1)
        peaks.append(peak)
    # Kilobytes; ten thousand more rows would take twenty thousand as Python objects.
    assert peaks[1] - peaks[0] < 8_000


def test_the_workflow_can_list_models_without_the_heavy_libraries(tmp_path: Path) -> None:
    path = made(tmp_path, "helm")
    code = (
        "import sys; from bert_judge.importers import files; from bert_judge.config import Import; from pathlib import Path\n"
        f"assert files.distinct_models(Import(path='x'), Path({str(path)!r})) == ['openai/gpt2']\n"
        "print([name for name in ('pandas', 'torch', 'transformers', 'inspect_ai') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- the frameworks themselves ---


def test_logs_that_inspect_wrote_itself() -> None:
    pytest.importorskip("inspect_ai")
    answers, _ = read(FIXTURES / "inspect" / "capitals.eval", "inspect")
    told = {(a.id, a.attempt): (a.question, a.references, a.candidate) for a in answers}
    assert told == {("france", n): ("What is the capital of France?", ("Paris",), "It is Paris") for n in (0, 1)} | {
        ("austria", n): ("Hauptstadt von Österreich?", ("Wien", "Vienna"), "Graz, glaube ich") for n in (0, 1)
    }
    assert {(a.model, a.task) for a in answers} == {("told/answers", "capitals")}
    assert frameworks.detect(FIXTURES / "inspect" / "capitals.json") == "inspect"
    assert sorted(read(FIXTURES / "inspect" / "capitals.json", "inspect")[0], key=str) == sorted(answers, key=str)
    [planet], _ = read(FIXTURES / "inspect" / "planets.eval", "inspect")
    assert (planet.question, planet.references) == ("Which planet is the largest?\n(A) Mars\n(B) Jupiter", ("B", "Jupiter"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"{}"])
def test_what_is_no_log_of_inspect(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("inspect_ai")
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, "inspect")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_without_inspect_its_logs_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(InputError, match="needs inspect_ai; pip install inspect_ai"):
        read(tmp_path / "a.eval", "inspect")


def test_inspect_runs_and_its_log_is_imported(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    script = FIXTURES / "inspect" / "capitals.py"
    subprocess.run([sys.executable, str(script), "logs", "eval"], cwd=tmp_path, capture_output=True, check=True)
    logs = sorted((tmp_path / "logs").glob("*.eval"))
    assert sorted(len(read(path, "inspect")[0]) for path in logs) == [1, 4]


def test_the_harness_runs_and_its_samples_are_imported(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    folder = FIXTURES / "lm_eval"
    command = [sys.executable, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", "gsm8k_sums,planets,capitals"]
    command += ["--include_path", str(folder), "--log_samples", "--output_path", str(tmp_path / "out")]
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    subprocess.run(command, cwd=folder, env=offline, capture_output=True, check=True)
    counts = {}
    for path in (tmp_path / "out").rglob("samples_*.jsonl"):
        assert frameworks.detect(path) == "lm_eval"
        counts[path.name.split("_2")[0]] = len(read(path, "lm_eval")[0])
    assert counts == {"samples_gsm8k_sums": 3, "samples_planets": 0, "samples_capitals": 2}


def test_columns_of_a_framework_are_plain_lists(tmp_path: Path) -> None:
    path = made(tmp_path, "judgelm")
    told = frameworks.columns(path, "judgelm", ["references", "model", "nothing"])
    assert pd.DataFrame(told.values).to_dict("list") == {"references": [["Paris"], ["Paris"]], "model": ["alpaca", "vicuna"]}
    assert told.places == ["line 1", "line 1"]
