"""What each framework's file says, read to the same answers."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers.framework_files import (
    FIXTURES,
    PLAIN_ROWS,
    TIME,
    batch_request,
    batch_response,
    choice,
    document,
    helm_state,
    jsonl,
    judgelm_row,
    lighteval_row,
    lm_eval_row,
    made,
    read,
)

from bert_judge.importers import frameworks, options
from bert_judge.importers.companion_files import CompanionFiles
from bert_judge.runtime.errors import InputError

# --- lm-evaluation-harness ---


def test_samples_that_the_harness_wrote_itself() -> None:
    paths = {path.name.split("_2026")[0]: path for path in (FIXTURES / "lm_eval" / "dummy").glob("*.jsonl")}
    answers, found = read(paths["samples_gsm8k_sums"], "lm_eval")
    assert [(a.references, a.candidate, a.model, a.task, a.id) for a in answers] == [
        (("1253", "1,253"), "lol", "", "gsm8k_sums", "0"),
        (("8",), "lol", "", "gsm8k_sums", "1"),
        (("72",), "lol", "", "gsm8k_sums", "2"),
    ]
    assert answers[1].question == "Wie viele Füße haben zwei Kühe?"
    assert found.skipped == {"another filter of the same document": 3}
    answers, found = read(paths["samples_planets"], "lm_eval")
    assert [(a.question, a.references, a.candidate, a.label) for a in answers] == [
        ("Which planet is the largest?\n(A) Mars\n(B) Jupiter", ("B", "Jupiter"), "A", 0.0),
        ("Which is a metal?\n(A) Iron\n(B) Helium", ("A", "Iron"), "B", 0.0),
    ]
    answers, _ = read(paths["samples_capitals"], "lm_eval")
    assert [a.attempt for a in answers] == [0, 1]
    assert answers[0].references == ("Yamoussoukro", "the city's name is Yamoussoukro")


@pytest.mark.parametrize(
    ("task", "changes", "question", "references"),
    [
        ("gsm8k", {}, "Wie viele?", ("1253", "1,253")),
        ("gsm8k_cot", {"target": "1,253"}, "Wie viele?", ("1,253",)),
        ("minerva_math_algebra", {"doc": {"problem": "x?"}, "target": r"So \boxed{\frac{1}{2}}."}, "x?", (r"\frac{1}{2}",)),
        ("hendrycks_math", {"doc": {"problem": "x?", "answer": "7"}, "target": r"\boxed{07}"}, "x?", ("7",)),
        ("triviaqa", {"doc": {"question": "q?", "answer": {"value": "Rome", "aliases": ["Roma", "Rome"]}}}, "q?", ("Rome", "Roma")),
        ("squadv2", {"doc": {"question": "q?", "answers": {"text": ["a", "b"]}}}, "q?", ("a", "b")),
        ("drop", {"doc": {"question": "q?", "answers": [["3"], ["two", "one"]]}}, "q?", ("3", "two, one")),
        ("nq_open", {"doc": {"question": "q?"}, "target": "['a', \"b's\"]"}, "q?", ("a", "b's")),
        ("other", {"doc": {"text": "t"}, "target": " yes"}, "Question: an example\n\nQuestion: Wie viele?\nAnswer:", ("yes",)),
        ("other", {"doc": {"question": "q?"}, "target": "[not a list]"}, "q?", ("[not a list]",)),
        ("mmlu", {"doc": {"question": "q?", "choices": ["x", "y"]}, "target": "1"}, "q?\n(A) x\n(B) y", ("B", "y")),
        ("mmlu", {"doc": {"question": "q?", "choices": ["x", "y"]}, "target": "y"}, "q?\n(A) x\n(B) y", ("B", "y")),
        ("cmmlu", {"doc": {"Question": "q?", "A": "x", "B": "y", "C": "z"}, "target": "B"}, "q?\n(A) x\n(B) y\n(C) z", ("B", "y")),
    ],
)
def test_references_are_what_the_task_means(
    tmp_path: Path, task: str, changes: dict[str, Any], question: str, references: tuple[str, ...]
) -> None:
    path = jsonl(tmp_path / "m" / f"samples_{task}_{TIME}.jsonl", [lm_eval_row(**changes)])
    [answer], _ = read(path, "lm_eval")
    assert (answer.question, answer.references, answer.candidate) == (question, references, "The answer is 1253.")


XYZ = "q?\n(A) x\n(B) y\n(C) z"


@pytest.mark.parametrize(
    ("row", "question", "references"),
    [
        (choice(), XYZ, ("B", "y")),
        (choice(target="y"), XYZ, ("B", "y")),
        (choice(target="2", acc=0.0), XYZ, ("C", "z")),
        (choice(acc=None, acc_norm=1.0), XYZ, ("B", "y")),
        # An index, or the text of an option: `acc` tells.
        (choice(target="2", texts=[" 1", " 2", " 3"]), "q?\n(A) 1\n(B) 2\n(C) 3", ("B", "2")),
        (choice(target="1", texts=[" 1", " 2", " 3"]), "q?\n(A) 1\n(B) 2\n(C) 3", ("B", "2")),
        (choice(target="[1, 2]"), XYZ, ("B", "y", "C", "z")),
        # The letters of options that only the document spells out.
        (choice(texts=[" A", " B", " C"], doc={"question": "q?", "choices": ["x", "y", "z"]}), XYZ, ("B", "y")),
        # The last two are the options without their question.
        (choice(texts=[" x", " y", " x", " y"], acc_mutual_info=1.0), "q?\n(A) x\n(B) y", ("B", "y")),
        # Versions that wrote numbers, and arguments as lists.
        (choice(resps=[[[-9.0, False]], [[-1.0, True]]], arguments=[["q?", " x"], ["q?", " y"]]), "q?\n(A) x\n(B) y", ("B", "y")),
    ],
)
def test_the_most_likely_option_is_the_answer(
    tmp_path: Path, row: dict[str, Any], question: str, references: tuple[str, ...]
) -> None:
    [answer], _ = read(jsonl(tmp_path / f"samples_t_{TIME}.jsonl", [row]), "lm_eval")
    assert (answer.question, answer.references, answer.candidate, answer.label) == (question, references, "B", row.get("acc"))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (choice(texts=[" y"], resps=[[["-1.5", "True"]]]), "without options to choose from"),
        # Winogrande: the options are the contexts of one text.
        (choice(texts=[" y", " y"], target="y"), "without options to choose from"),
        # TruthfulQA's mc2: `acc` is the probability of all correct options.
        (choice(target="0", acc=0.37), "whose target is not the option that acc counts as correct"),
        (choice(target="5", acc=0.0), "whose target is not the option that acc counts as correct"),
        (choice(resps=[["-123.5"]], arguments={"gen_args_0": {"arg_0": "text"}}, word_perplexity=["-123.5", "20"]), "perplexity"),
    ],
)
def test_a_likelihood_without_a_choice_is_skipped(tmp_path: Path, row: dict[str, Any], says: str) -> None:
    answers, found = read(jsonl(tmp_path / f"samples_t_{TIME}.jsonl", [row]), "lm_eval")
    assert not answers and says in next(iter(found.skipped))


def test_the_models_name_comes_from_the_results_or_the_folder(tmp_path: Path) -> None:
    path = made(tmp_path, "lm_eval")
    assert read(path, "lm_eval")[0][0].model == "org/name"
    moved = jsonl(tmp_path / "c" / path.name, [lm_eval_row()])
    assert read(moved, "lm_eval")[0][0].model == ""
    # Older results do not name it.
    document(moved.parent / "results_2024-01-01.json", {"results": {}})
    assert read(moved, "lm_eval")[0][0].model == "c"
    document(path.parent / f"results_{TIME}.json", {"model_name": "the/real__one"})
    assert read(path, "lm_eval")[0][0].model == "the/real__one"


# --- the others ---


@pytest.mark.parametrize(
    ("rows", "question", "references"),
    [
        ([lighteval_row()], "Capital of France?", ("Paris",)),
        ([{f"__{name}__": value for name, value in lighteval_row().items()}], "Capital of France?", ("Paris",)),
        ([lighteval_row(doc={"query": "q?", "choices": ["x", "y"], "gold_index": 1})], "q?\n(A) x\n(B) y", ("B", "y")),
        ([lighteval_row(doc={"query": "q?\nA. x\nB. y", "choices": [" A", " B"], "gold_index": 1})], "q?\nA. x\nB. y", ("B",)),
    ],
)
def test_lighteval_in_all_its_spellings(tmp_path: Path, rows: list[Any], question: str, references: tuple[str, ...]) -> None:
    path = made(tmp_path, "lighteval", rows)
    assert frameworks.open_answers(path).framework == "lighteval"
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
    [answer], _ = read(path, "openai_batch", CompanionFiles(gold, requests))
    assert (answer.question, answer.references, answer.candidate, answer.model, answer.id) == (
        "Capital of France?",
        ("Paris", "City of Light"),
        "It is Paris.",
        "gpt-4o-mini",
        "q3",
    )
    own = jsonl(tmp_path / "own.jsonl", [batch_request(metadata={"reference": "Paris"})])
    assert read(path, "openai_batch", CompanionFiles(requests=own))[0][0].references == ("Paris",)


def test_a_batch_of_anthropic(tmp_path: Path) -> None:
    message = {"model": "claude", "role": "assistant", "content": [{"type": "text", "text": "Paris"}]}
    rows = [
        {"custom_id": "q3", "result": {"type": "succeeded", "message": message}},
        {"custom_id": "q4", "result": {"type": "expired"}},
        {"custom_id": "q5", "result": {"type": "errored", "error": {"type": "error", "error": {"message": "too long"}}}},
    ]
    path = made(tmp_path, "openai_batch", rows)
    assert frameworks.open_answers(path).framework == "openai_batch"
    requests = jsonl(
        tmp_path / "input.jsonl", [{"custom_id": "q3", "params": {"messages": [{"role": "user", "content": "Capital?"}]}}]
    )
    gold = jsonl(tmp_path / "gold.jsonl", [{"custom_id": "q3", "answer": {"value": "Paris", "aliases": []}}])
    [answer], found = read(path, "openai_batch", CompanionFiles(gold, requests))
    assert (answer.question, answer.references, answer.candidate, answer.model) == ("Capital?", ("Paris",), "Paris", "claude")
    assert dict(found.unreadable) == {"the request failed: expired": 1, "the request failed: too long": 1}


def test_logs_of_inspect_are_read_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    answers, _ = read(FIXTURES / "inspect" / "capitals.eval", "inspect")
    told = {(a.id, a.attempt): (a.question, a.references, a.candidate) for a in answers}
    assert told == {("france", n): ("What is the capital of France?", ("Paris",), "It is Paris") for n in (0, 1)} | {
        ("austria", n): ("Hauptstadt von Österreich?", ("Wien", "Vienna"), "Graz, glaube ich") for n in (0, 1)
    }
    assert [answer.id for answer in answers] == ["france", "france", "austria", "austria"]
    assert {(a.model, a.task) for a in answers} == {("told/answers", "capitals")}
    assert sorted(read(FIXTURES / "inspect" / "capitals.json", "inspect")[0], key=str) == sorted(answers, key=str)
    [planet], _ = read(FIXTURES / "inspect" / "planets.eval", "inspect")
    assert (planet.question, planet.references) == ("Which planet is the largest?\n(A) Mars\n(B) Jupiter", ("B", "Jupiter"))


def long_log(path: Path, rows: int, missing: int = 0) -> Path:
    """A log as inspect writes it, of samples that differ in their ids; the last ones are in its list alone."""
    log = json.loads((FIXTURES / "inspect" / "capitals.json").read_text("utf-8"))
    sample = log.pop("samples")[0] | {"epoch": 1}
    log["eval"]["dataset"]["sample_ids"] = [f"q{number}" for number in range(rows)]
    log["eval"]["config"]["epochs"] = 1
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in reversed(range(rows - missing)):
            archive.writestr(f"samples/q{number}_epoch_1.json", json.dumps(sample | {"id": f"q{number}"}))
        archive.writestr("_journal/start.json", json.dumps(log))
    return path


def test_samples_that_a_stopped_run_did_not_reach_are_no_fault(tmp_path: Path) -> None:
    answers, found = read(long_log(tmp_path / "a.eval", 6, missing=1), "inspect")
    assert [answer.id for answer in answers] == [f"q{number}" for number in range(5)] and not found.unreadable


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"{}"])
def test_what_is_no_log_of_inspect(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, "inspect")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_logs_of_inspect_of_2024(tmp_path: Path) -> None:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": [{"role": "system", "content": "s"}, {"role": "user", "content": "Capital?"}],
        "choices": ["Rome", "Paris"],
        "target": "B",
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "ANSWER: B"}, "stop_reason": "stop"}]},
    }
    log = {"version": 1, "status": "success", "eval": {"task": "capitals", "model": "openai/gpt-4", "dataset": {}}, "plan": {}}
    path = document(tmp_path / "2024-05-01_capitals.json", log | {"samples": [sample, sample | {"output": {"choices": []}}]})
    assert frameworks.open_answers(path).framework == "inspect"
    answers, _ = read(path, "inspect")
    assert [(a.question, a.references, a.candidate, a.model, a.task) for a in answers] == [
        ("Capital?\n(A) Rome\n(B) Paris", ("B", "Paris"), text, "openai/gpt-4", "capitals") for text in ("ANSWER: B", "")
    ]


@pytest.mark.parametrize(
    ("changes", "question", "references", "candidate"),
    [
        ({"resps": ["Paris"], "target": "Paris"}, "Wie viele?", ("Paris",), "Paris"),
        ({"target": "True", "doc": {"question": "q?"}}, "q?", ("true", "yes"), None),
        (
            {"target": "2", "doc": {"question": "q?", "choices": {"text": ["x", "y"], "label": ["1", "2"]}}},
            "q?\n(A) x\n(B) y",
            ("B", "y"),
            None,
        ),
        ({"target": "(B)", "doc": {"Question": "q?", "choices": ["x", "y"]}}, "q?\n(A) x\n(B) y", ("B", "y"), None),
        ({"target": " ", "doc": {"question": "q?", "best_answer": "a", "correct_answers": ["a", "b"]}}, "q?", ("a", "b"), None),
        ({"target": "The answer is 11.", "doc": {"question": "q?", "answer_number": 11}}, "q?", ("11",), None),
        (
            {"arguments": {"gen_args_0": {"arg_0": ['[{"role": "user", "content": "q?"}]']}}, "doc": {}, "target": "a"},
            "q?",
            ("a",),
            None,
        ),
        ({"arguments": None, "doc": {}, "target": "a"}, "", ("a",), None),
        # A number is the text of an option, unless the document's index says otherwise; beyond the options it can only be a text.
        ({"target": "2", "doc": {"question": "q?", "choices": ["1", "2"], "level": 2}}, "q?\n(A) 1\n(B) 2", ("B", "2"), None),
        ({"target": "1", "doc": {"question": "q?", "choices": ["1", "2"], "gold": 0}}, "q?\n(A) 1\n(B) 2", ("A", "1"), None),
        ({"target": "1", "doc": {"question": "q?", "choices": ["1", "2"], "gold": 1}}, "q?\n(A) 1\n(B) 2", ("B", "2"), None),
        ({"target": "0", "doc": {"question": "q?", "choices": ["5", "6"], "answer_idx": 0}}, "q?\n(A) 5\n(B) 6", ("A", "5"), None),
        ({"target": "7", "doc": {"question": "q?", "choices": ["x", "y"], "num_answers": 7}}, "q?\n(A) x\n(B) y", ("7",), None),
        # Fields of letters are options if the target is a letter or the prompt shows them.
        ({"target": "9", "doc": {"question": "q?", "a": "4", "b": "5", "c": "9"}}, "q?", ("9",), None),
        ({"target": "c", "doc": {"question": "q?", "a": "4", "b": "5", "c": "9"}}, "q?\n(A) 4\n(B) 5\n(C) 9", ("C", "9"), None),
        (
            {
                "target": "y",
                "doc": {"question": "q?", "A": "x", "B": "y", "C": "z"},
                "arguments": {"gen_args_0": {"arg_0": "q?\nA) x\nB) y\nC) z\nAnswer:"}},
            },
            "q?\n(A) x\n(B) y\n(C) z",
            ("B", "y"),
            None,
        ),
        # A list is a text if the document says so, also within an object.
        ({"target": "['a', 'b']", "doc": {"question": "q?", "answer": "['a', 'b']"}}, "q?", ("['a', 'b']",), None),
        ({"target": "['a', 'b']", "doc": {"question": "q?", "data": {"out": ["['a', 'b']"]}}}, "q?", ("['a', 'b']",), None),
        ({"target": "['a', 'b']", "doc": {"question": "q?", "answer": ["a", "b"]}}, "q?", ("a", "b"), None),
        ({"target": "{'k': 5}", "doc": {"question": "q?", "code": "print(d)"}}, "q?", ("{'k': 5}",), None),
    ],
)
def test_other_forms_of_samples(
    tmp_path: Path, changes: dict[str, Any], question: str, references: tuple[str, ...], candidate: str | None
) -> None:
    path = jsonl(tmp_path / "m" / f"samples_t_{TIME}.jsonl", [lm_eval_row(**changes)])
    [answer], _ = read(path, "lm_eval")
    assert (answer.question, answer.references, answer.candidate) == (question, references, candidate or "The answer is 1253.")


def test_a_run_has_the_model_of_its_own_results(tmp_path: Path) -> None:
    other = TIME.replace("2026", "2025")
    for time, results in (
        (TIME, {"model_name": "org/small"}),
        (other, {"config": {"model_args": "pretrained=org/big,dtype=auto"}}),
    ):
        document(tmp_path / f"results_{time}.json", results)
        jsonl(tmp_path / f"samples_t_{time}.jsonl", [lm_eval_row()])
    models = [read(tmp_path / f"samples_t_{time}.jsonl", "lm_eval")[0][0].model for time in (TIME, other)]
    assert models == ["org/small", "org/big"]


def test_an_index_means_a_choice_of_the_task(tmp_path: Path) -> None:
    path = jsonl(tmp_path / f"samples_boolq_{TIME}.jsonl", [lm_eval_row(target="1", doc={"question": "q?", "label": 1})])
    document(tmp_path / f"results_{TIME}.json", {"model_name": "m", "configs": {"boolq": {"doc_to_choice": [" no", " yes"]}}})
    assert read(path, "lm_eval")[0][0].references == ("yes",)


def test_a_task_with_choices_means_indices(tmp_path: Path) -> None:
    """`doc_to_choice` names a field: lm_eval then takes an integer target for an index."""
    row = lm_eval_row(target="1", doc={"question": "q?", "choices": ["1", "2"]})
    path = jsonl(tmp_path / f"samples_t_{TIME}.jsonl", [row])
    assert read(path, "lm_eval")[0][0].references == ("A", "1")
    document(tmp_path / f"results_{TIME}.json", {"model_name": "m", "configs": {"t": {"doc_to_choice": "choices"}}})
    assert read(path, "lm_eval")[0][0].references == ("B", "2")


MCQ = "Which are primes?\nA) 4\nB) 5\nC) 7"


@pytest.mark.parametrize(
    ("question", "target", "references"),
    [
        (MCQ, ["B", "C"], ("B, C", "5; 7")),
        (MCQ, "BC", ("B, C", "5; 7")),
        (MCQ, ["B"], ("B",)),
        ("Which?", ["A", "C"], ("A, C",)),
        (MCQ, ["five", "seven"], ("five", "seven")),
        ("Name one.", ["Paris", "Rome"], ("Paris", "Rome")),
        ("What does it stand for?", "AC", ("AC",)),
    ],
)
def test_letters_of_evalscope_are_chosen_together(tmp_path: Path, question: str, target: Any, references: tuple[str, ...]) -> None:
    row = PLAIN_ROWS["evalscope_reviews"] | {"target": target}
    row |= {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "B", "model": "m"}]}
    [answer], _ = read(made(tmp_path, "evalscope_reviews", [row]), "evalscope_reviews")
    assert (answer.references, answer.model) == (references, "m")


def test_repeats_and_verdicts_of_evalscope(tmp_path: Path) -> None:
    rows = []
    for number, (name, value) in enumerate([("accuracy", 1.0), ("acc", 0.0), ("multi_choice_acc", 0.5), ("Rouge-L-R", 1.0)]):
        score = {"score": {"value": {name: value}, "prediction": "x", "main_score_name": name}}
        rows.append(PLAIN_ROWS["evalscope_reviews"] | {"sample_score": score | {"group_id": 7, "generation_index": number}})
    (tmp_path / "reviews" / "tiny").mkdir(parents=True)
    answers, _ = read(made(tmp_path / "reviews" / "tiny", "evalscope_reviews", rows), "evalscope_reviews")
    assert [(a.id, a.attempt, a.label, a.model) for a in answers] == [
        ("7", 0, 1.0, "tiny"),
        ("7", 1, 0.0, "tiny"),
        ("7", 2, None, "tiny"),
        ("7", 3, None, "tiny"),
    ]


@pytest.mark.parametrize(
    ("target", "indices"),
    [
        ("B", [1]),
        ("b", [1]),
        ("BC", [1, 2]),
        (["B", "C"], [1, 2]),
        ("B, C", [1, 2]),
        ("bad", None),
        ("Z", None),
        ("1", None),
        ("BB", None),
        ("", None),
    ],
)
def test_labels_of_options(target: Any, indices: list[int] | None) -> None:
    assert options.parse_labels(target, 4) == indices
    assert options.parse_labels("1", 28) == [26] and options.parse_labels(["Z", "2"], 28) == [25, 27]


def test_openai_batch_of_the_responses_interface(tmp_path: Path) -> None:
    body = {
        "model": "m",
        "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "Paris"}]}],
    }
    path = made(tmp_path, "openai_batch", [batch_response(response={"status_code": 200, "body": body})])
    requests = jsonl(
        tmp_path / "input.jsonl", [{"custom_id": "q3", "body": {"input": "Capital?", "metadata": {"reference": "Paris"}}}]
    )
    [answer], _ = read(path, "openai_batch", CompanionFiles(requests=requests))
    assert (answer.question, answer.candidate) == ("Capital?", "Paris")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"choices": 5}, "no answer"),
        ({"choices": [{"message": {"content": {"a": 1}}}]}, "is {'a': 1}; give a text"),
        ({"output": [5, {"type": "message", "content": [{"text": [1]}]}]}, "is [1]; give a text"),
    ],
)
def test_a_response_of_another_form_is_counted(tmp_path: Path, body: dict[str, Any], says: str) -> None:
    path = made(tmp_path, "openai_batch", [batch_response(response={"status_code": 200, "body": body})])
    requests = jsonl(tmp_path / "input.jsonl", [batch_request(messages=5, metadata={"reference": "Paris"})])
    answers, found = read(path, "openai_batch", CompanionFiles(requests=requests))
    assert answers == [] and dict(found.unreadable) == {says: 1}


def test_judgelm_has_several_answers_in_a_line(tmp_path: Path) -> None:
    answers, _ = read(made(tmp_path, "judgelm"), "judgelm")
    assert [(a.candidate, a.model, a.references, a.id) for a in answers] == [
        ("It is Paris.", "alpaca", ("Paris",), "3"),
        ("Lyon", "vicuna", ("Paris",), "3"),
    ]
    row = judgelm_row(answer3_body="Rome", answer3_model_id="llama")
    del row["reference"]
    beside = jsonl(tmp_path / "references.jsonl", [{"question_id": 3, "reference": {"text": "Paris"}}])
    answers, _ = read(jsonl(tmp_path / "more.jsonl", [row]), "judgelm", CompanionFiles(beside))
    assert [(a.model, a.references) for a in answers] == [(name, ("Paris",)) for name in ("alpaca", "vicuna", "llama")]


def test_bert_as_a_judge_joins_lists_by_their_order(tmp_path: Path) -> None:
    path = made(tmp_path, "bert_as_a_judge", ["It is Paris.", "Bonn"])
    questions = jsonl(
        tmp_path / "task.jsonl", [{"question": "France?", "reference": "Paris"}, {"question": "Germany?", "reference": "Berlin"}]
    )
    scores = document(tmp_path / "scores.json", [0.99, 0])
    answers, _ = read(path, "bert_as_a_judge", CompanionFiles(questions, scores=scores))
    assert [(a.question, a.references, a.candidate, a.label) for a in answers] == [
        ("France?", ("Paris",), "It is Paris.", 0.99),
        ("Germany?", ("Berlin",), "Bonn", 0.0),
    ]
    assert (answers[0].model, answers[0].task) == ("Llama-3.2-1B", "capitals")


@pytest.mark.parametrize(
    ("candidates", "questions", "scores", "says"),
    [
        (["a", "b"], 1, None, "has more answers than the references have questions (1)"),
        (["a"], 2, None, "has fewer answers than the references have questions (2)"),
        (["a"], 4, None, "has fewer answers than the references have questions (4)"),
        (["a", "b"], 2, [1], "has fewer scores (1) than there are answers"),
        (["a", "b"], 2, [1, 0, 1], "has more scores than there are answers (2)"),
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
        read(path, "bert_as_a_judge", CompanionFiles(asked, scores=given))
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        ([batch_request(), batch_request()], "line 2: duplicate custom_id 'q3'; make the ids unique"),
        ([batch_request() | {"custom_id": ["q3"]}], "line 1: column 'custom_id' is ['q3']; give a text"),
        ([batch_request(metadata={"reference": {"a": 1}})], "line 1: column 'body.metadata.reference' is {'a': 1}; give a text"),
    ],
)
def test_requests_that_make_no_sense_are_refused(tmp_path: Path, requests: list[Any], says: str) -> None:
    path = made(tmp_path, "openai_batch")
    told = jsonl(tmp_path / "input.jsonl", requests)
    with pytest.raises(InputError) as caught:
        read(path, "openai_batch", CompanionFiles(requests=told))
    assert str(caught.value) == f"{told}: {says}"


def test_second_files_have_ids_once(tmp_path: Path) -> None:
    path = made(tmp_path, "openai_batch")
    twice = jsonl(tmp_path / "gold.jsonl", [{"custom_id": "é", "reference": "a"}] * 2)
    with pytest.raises(InputError, match=r"line 2: duplicate custom_id 'é'"):
        read(path, "openai_batch", CompanionFiles(twice))
    odd = jsonl(tmp_path / "odd.jsonl", [{"custom_id": "a", "reference": "a"}, {"custom_id": {}, "reference": "a"}])
    with pytest.raises(InputError, match=r"line 2: column 'custom_id' is \{\}; give a text"):
        read(path, "openai_batch", CompanionFiles(odd))
    nameless = jsonl(tmp_path / "other.jsonl", [{"reference": "a"}])
    with pytest.raises(InputError, match="no column of ids; add one of custom_id"):
        read(path, "openai_batch", CompanionFiles(nameless))
