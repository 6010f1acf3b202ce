"""`bert-judge tasks`: the list, and the check against local copies, a configuration's own file, and no network."""

import json
from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.tasks.registry import published_sources

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, ["tasks", *arguments])
    return result.exit_code, result.output.splitlines()


def shelf(folder: Path, name: str, rows: list[object] | None = None) -> None:
    """A local copy of a published task's data set, made of its fixture."""
    source = published_sources()[name]
    assert source.repository is not None
    for config in source.config or [""]:
        path = folder / source.repository / config / f"{source.split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        told = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))["rows"] if rows is None else rows
        path.write_text("".join(json.dumps(row) + "\n" for row in told), "utf-8")


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of local copies, and no network."""
    monkeypatch.setenv("LOCAL_DATASETS_DIR", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "no cache"))
    return tmp_path


def test_the_list_has_every_task_once() -> None:
    code, lines = run("list")
    names = [line.split()[0] for line in lines]
    assert code == 0 and names == sorted(set(names)) and {*published_sources(), "facts_test"} <= set(names)
    assert next(line for line in lines if line.startswith("gsm8k_test ")).split(maxsplit=2)[1:] == [
        "math",
        "openai/gsm8k, main, test",
    ]


def test_local_copies_of_all_published_tasks_pass(local: Path) -> None:
    for name in published_sources():
        shelf(local, name)
    code, lines = run("check")
    assert code == 0, lines
    assert [line.split(":")[0] for line in lines] == list(published_sources())
    assert "math_train: OK: EleutherAI/hendrycks_math, 7 configurations, train at local:" in "\n".join(lines)
    assert run("check", "gsm8k_test", "--rows", "2")[1][0].endswith(": the first 2 rows give 2 questions")


def test_each_fault_is_one_line(local: Path) -> None:
    shelf(local, "gsm8k_test", [{"problem": "q", "answer": "#### 1"}])
    shelf(local, "mmlu_test", [{"question": "q", "choices": ["a", "b"], "answer": 5}])
    code, lines = run("check", "gsm8k_test", "mmlu_test", "aime24_test")
    assert code == 1 and len(lines) == 3
    assert "gsm8k_test: " in lines[0] and "no column 'question'; available: 'problem', 'answer'" in lines[0]
    assert lines[1].endswith("the correct option is 5, and the options count from 0 to 1")
    assert lines[2].startswith("aime24_test: dataset 'HuggingFaceH4/aime_2024': the hub cannot be reached")


def test_a_task_without_a_data_set_is_told(local: Path) -> None:
    code, lines = run("check", "facts_test")
    assert code == 1 and lines[0].startswith("error: tasks check: 'facts_test' has no dataset; tasks with one: arc_easy_train")


def test_a_configurations_own_source_is_checked(local: Path) -> None:
    (local / "quiz.jsonl").write_text('{"q": "Which river?", "a": ["Alz", "the Alz"]}\n')
    config = {
        "data": str(local),
        "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {
            "test": ["quiz", "facts_test"],
            "sources": {"quiz": {"path": "quiz.jsonl", "family": "short_answer", "columns": {"question": "q", "answer": "a"}}},
        },
        "judges": {"exact": {"kind": "lexical", "metric": "exact_match"}},
        "scorers": ["exact"],
    }
    (local / "c.yaml").write_text(yaml.safe_dump(config))
    assert run("check", "--configfile", str(local / "c.yaml")) == (
        0,
        [f"quiz: OK: {local}/quiz.jsonl at its current content: the first 1 rows give 1 questions"],
    )
