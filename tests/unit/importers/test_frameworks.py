"""Other frameworks' files: each known by its content, and refused in one clear line when it is broken."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.framework_files import (
    PLAIN_ROWS,
    batch_response,
    binary,
    changed,
    cut,
    document,
    helm,
    helm_state,
    jsonl,
    judgelm_row,
    lighteval_row,
    lm_eval_row,
    made,
    read,
)

from bert_judge.config import Import
from bert_judge.importers import files, frameworks
from bert_judge.runtime.errors import InputError


@pytest.mark.parametrize("framework", sorted(set(frameworks.FRAMEWORKS) - {"inspect"}))
def test_a_file_is_known_by_what_is_in_it(tmp_path: Path, framework: str) -> None:
    assert frameworks.open_answers(made(tmp_path, framework)).framework == framework


@pytest.mark.parametrize("framework", PLAIN_ROWS)
def test_a_row_is_read_with_its_reference(tmp_path: Path, framework: str) -> None:
    answers, found = read(made(tmp_path, framework), framework)
    assert not found.unreadable and answers[0].references == ("Paris",) and answers[0].candidate == "It is Paris."
    assert answers[0].question == ("" if framework == "openai_evals" else "Capital of France?")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"question": "a", "references": "b"}\n'),
        ("a.json", '{"a": 1}'),
        ("a.json", '[{"a": 1}]'),
        ("a.csv", "a,b\n1,2\n"),
    ],
)
def test_plain_files_are_nobodys(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert frameworks.open_answers(tmp_path / name).framework is None


def test_a_log_of_inspect_with_few_fields(tmp_path: Path) -> None:
    """A log that was cut to what matters has no plan."""
    output = {"choices": [{"message": {"role": "assistant", "content": "ANSWER: B"}}]}
    sample = {
        "id": 1,
        "input": "Which?",
        "choices": ["x", "y"],
        "target": "B",
        "output": output,
        "scores": {"choice": {"value": "C"}},
    }
    path = document(tmp_path / "log.json", {"version": 2, "eval": {"task": "t", "model": "org/m"}, "samples": [sample]})
    assert frameworks.open_answers(path).framework == "inspect"
    [answer], _ = read(path, "inspect")
    assert (answer.references, answer.model, answer.task, answer.label) == (("B", "y"), "org/m", "t", 1.0)


@pytest.mark.parametrize(
    "content",
    [{"eval": {"task": "t"}, "samples": [{"question": "q?"}]}, {"eval": "x", "samples": [{"target": "a", "output": "b"}]}],
)
def test_other_samples_of_evaluations(tmp_path: Path, content: dict[str, Any]) -> None:
    assert frameworks.open_answers(document(tmp_path / "a.json", content)).framework is None


def test_older_reviews_of_evalscope_without_a_prompt(tmp_path: Path) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Rome"}, "review": {"gold": "Paris", "result": False}}
    row = {"index": 0, "model": "m", "raw_input": {"question": "q?", "answer": "Paris"}, "choices": [choice]}
    path = jsonl(tmp_path / "a.jsonl", [row])
    assert frameworks.open_answers(path).framework == "evalscope_chats"
    [answer], _ = read(path, "evalscope_chats")
    assert (answer.question, answer.references, answer.candidate, answer.model, answer.label) == (
        "q?",
        ("Paris",),
        "Rome",
        "m",
        0.0,
    )


@pytest.mark.parametrize(
    ("framework", "folder", "name"),
    [
        ("evalscope_reviews", "reviews/m", "m"),
        ("evalscope_reviews", "reviews/2026/c", ""),
        ("evalscope_reviews", "c", ""),
        ("lighteval", "details/c", ""),
    ],
)
def test_a_folder_names_a_model_where_the_program_puts_it(tmp_path: Path, framework: str, folder: str, name: str) -> None:
    path = made(tmp_path, framework)
    moved = tmp_path / folder / path.name
    moved.parent.mkdir(parents=True, exist_ok=True)
    assert read(path.rename(moved), framework)[0][0].model == name


def test_a_folder_names_a_scenario_of_helm_only_with_the_model(tmp_path: Path) -> None:
    path = made(tmp_path, "helm")
    assert [read(path, "helm")[0][0].task, read(path.rename(tmp_path / path.name), "helm")[0][0].task] == ["capitals:subject=a", ""]


NO_REFERENCE = "no reference; import it with its references: bert-judge import {} --references FILE -o answers.jsonl"

# --- a row that makes no sense costs that row, and says why ---


@pytest.mark.parametrize(
    ("framework", "row", "says"),
    [
        ("lm_eval", changed(lm_eval_row(), "resps", []), "its resps are []"),
        ("lm_eval", changed(lm_eval_row(), "resps", "text"), "its resps are text"),
        ("lm_eval", changed(lm_eval_row(), "resps", [[{"a": 1}]]), "is {'a': 1}; give a text"),
        ("lm_eval", {k: v for k, v in lm_eval_row().items() if k != "doc"}, "no 'doc', which every logged sample has"),
        ("lighteval", changed(lighteval_row(), "doc.gold_index", [4]), "the correct option is [4] of 1"),
        ("helm", changed(helm_state(), "result", {"success": False, "error": "timeout"}), "the request failed: timeout"),
        ("helm", changed(helm_state(), "result", None), "the request failed: no result"),
        ("helm", changed(helm_state(), "instance.references", []), "no reference"),
        (
            "openai_batch",
            batch_response(),
            NO_REFERENCE.format("output.jsonl"),
        ),
        (
            "openai_batch",
            batch_response(response=None, error={"code": "batch_expired", "message": "too late"}),
            "the request failed: too late",
        ),
        ("openai_batch", changed(batch_response(), "response.status_code", 429), "the request failed: no response"),
        (
            "judgelm",
            judgelm_row(reference=None),
            NO_REFERENCE.format("samples.jsonl"),
        ),
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
    ("helm", lambda folder: cut(made(folder, "helm"), 300), "not a complete JSON file"),
    ("helm", lambda folder: helm(folder / "s.json", ["x"]), "item 1 is not an object; check the format"),
    ("helm", lambda folder: folder / "none.json", "no such file"),
    ("openai_batch", lambda folder: jsonl(folder / "o.jsonl", [[1]]), "line 1 is a JSON list"),
    ("judgelm", lambda folder: cut(made(folder, "judgelm"), 20), "line 1 is not JSON"),
    (
        "bert_as_a_judge",
        lambda folder: made(folder, "bert_as_a_judge"),
        "contains answers only; name the file of questions and references",
    ),
]


@pytest.mark.parametrize(("framework", "make", "says"), BROKEN)
def test_a_broken_file_is_one_line(tmp_path: Path, framework: str, make: Callable[[Path], Path], says: str) -> None:
    path = make(tmp_path)
    with pytest.raises(InputError) as caught:
        read(path, framework)
    assert str(path) in str(caught.value) and says in str(caught.value) and "\n" not in str(caught.value)


# --- in a configuration ---


def test_a_configuration_reads_a_frameworks_file_by_itself_or_by_its_name(tmp_path: Path) -> None:
    path = made(tmp_path, "lm_eval", [lm_eval_row(), lm_eval_row(filter="flexible-extract"), lm_eval_row(doc_id=8)])
    for format in ("auto", "lm_eval"):
        entry = Import.model_validate({"path": str(path), "format": format})
        assert files.distinct_models(entry, path) == ["org/name"]
        spec = entry.model_dump(mode="json", exclude={"path"})
        frame = files.read_rows(spec, path, {"task": "gsm8k_cot"}, ["question", "references", "candidate"], model="org/name")
        assert frame["candidate"].tolist() == ["The answer is 1253."] * 2
    with pytest.raises(InputError, match="no row is left where 'task' is 'other'"):
        files.read_rows(spec, path, {"task": "other"}, ["candidate"])
    mapped = Import.model_validate(
        {"path": str(path), "columns": {"question": "target", "references": "target", "candidate": "filter"}}
    )
    raw = files.read_rows(mapped.model_dump(mode="json", exclude={"path"}), path, None, ["candidate"])
    assert raw["candidate"].tolist() == ["strict-match", "flexible-extract", "strict-match"]


def test_a_file_without_an_answer_says_why(tmp_path: Path) -> None:
    path = made(tmp_path, "lm_eval", [lm_eval_row(resps=[[["-1.5", "True"]]])] * 2)
    with pytest.raises(InputError, match=r"2 skipped: a task scored by likelihood.*; there is no answer to import"):
        files.read_rows(Import(path=str(path)).model_dump(mode="json", exclude={"path"}), path, None, ["candidate"])


def test_answers_of_a_framework_as_plain_rows(tmp_path: Path) -> None:
    path = made(tmp_path, "judgelm")
    rows = list(frameworks.read_answer_records(path, "judgelm"))
    assert [(place, row["references"], row["model"]) for place, row in rows] == [
        ("line 1", ["Paris"], "alpaca"),
        ("line 1", ["Paris"], "vicuna"),
    ]


def test_the_workflow_can_list_models_without_the_heavy_libraries(tmp_path: Path) -> None:
    path = made(tmp_path, "helm")
    code = (
        "import sys; from pathlib import Path; from bert_judge.config import Import\n"
        "from bert_judge.importers import files\n"
        f"assert files.distinct_models(Import(path='x'), Path({str(path)!r})) == ['openai/gpt2']\n"
        "print([name for name in ('torch', 'transformers', 'inspect_ai') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
