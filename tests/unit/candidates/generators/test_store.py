"""The cache of a model's answers: nothing is generated twice, whatever table needs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.candidates.stage import answer_cache, generate_candidates, pregenerate_answers, with_runtime_settings
from bert_judge.config import Import, OpenAIModel
from bert_judge.runtime.resume import Batch


class CountingGenerator:
    """Echoes the prompt and records it; prompts with `fail` fail, one with `stop` ends the process."""

    def __init__(self) -> None:
        self.revisions = {"m": "c0ffee"}
        self.loads = 0
        self.prompts: list[str] = []

    def load(self) -> CountingGenerator:
        self.loads += 1
        return self

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.prompts += [request.prompt for request in requests]
        if any("stop" in request.prompt for request in requests):
            raise KeyboardInterrupt
        return [Completion(f"to {r.prompt} {r.attempt}", "error" if "fail" in r.prompt else "ok") for r in requests]


def spec(task: str = "t", generator: str = "hf", **settings: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "task": task,
        "family": "short_answer",
        "settings": {"generator": generator, **settings},
        "prompt_style": "free",
    }


def task_table(folder: Path, questions: Sequence[str], task: str = "t") -> Path:
    frame = pd.DataFrame({"sample_id": [tables.sample_id(task, q, ["r"]) for q in questions], "question": list(questions)})
    tables.write(
        frame.assign(references=[["r"]] * len(frame), choices=None, answer_kind="text"), folder / f"{task}.parquet", tables.TASK, {}
    )
    return folder / f"{task}.parquet"


def table(folder: Path, model: CountingGenerator, questions: Sequence[str], task: str = "t", **settings: Any) -> pd.DataFrame:
    output = folder / f"c_{task}.parquet"
    cache = answer_cache(spec(task, **settings), folder / "store", model.load, shard_rows=3)
    generate_candidates(spec(task, **settings), task_table(folder, questions, task), output, cache)
    return tables.read(output, tables.CANDIDATES)


QUESTIONS = [f"Größe {number}?" for number in range(10)]


def test_raised_limit_generates_new_rows_only(tmp_path: Path) -> None:
    model = CountingGenerator()
    table(tmp_path, model, QUESTIONS[:4])
    frame = table(tmp_path, model, QUESTIONS)
    assert model.prompts == QUESTIONS
    assert frame["candidate"].tolist() == [f"to {question} 0" for question in QUESTIONS]


def test_added_and_removed_rows(tmp_path: Path) -> None:
    model = CountingGenerator()
    table(tmp_path, model, QUESTIONS[2:6])
    table(tmp_path, model, [*QUESTIONS[:4], "new"])
    assert model.prompts == [*QUESTIONS[2:6], *QUESTIONS[:2], "new"]
    assert table(tmp_path, model, QUESTIONS[3:5])["question"].tolist() == QUESTIONS[3:5]
    assert model.loads == 2


def test_more_attempts_generate_new_ones_only(tmp_path: Path) -> None:
    model = CountingGenerator()
    table(tmp_path, model, QUESTIONS[:2])
    assert table(tmp_path, model, QUESTIONS[:2], attempts=3)["attempt"].tolist() == [0, 1, 2] * 2
    assert len(model.prompts) == 2 + 4


def test_question_of_two_tasks_is_generated_once(tmp_path: Path) -> None:
    model = CountingGenerator()
    first = table(tmp_path, model, QUESTIONS[:5], "t")
    second = table(tmp_path, model, QUESTIONS[3:7], "u")
    assert model.prompts == QUESTIONS[:7]
    assert not set(first["sample_id"]) & set(second["sample_id"])


@pytest.mark.parametrize("change", [{"seed": 1}, {"max_new_tokens": 5}, {"generator": "openai"}])
def test_other_settings_are_generated_again(tmp_path: Path, change: dict[str, Any]) -> None:
    model = CountingGenerator()
    table(tmp_path, model, QUESTIONS)
    table(tmp_path, model, QUESTIONS, **change)
    assert model.prompts == QUESTIONS * 2


def test_errors_of_servers_are_retried(tmp_path: Path) -> None:
    for generator, asked in (("openai", 2), ("hf", 1)):
        model = CountingGenerator()
        for _ in range(2):
            frame = table(tmp_path / generator, model, ["fail", "a"], generator=generator)
            assert frame["status"].tolist() == ["error", "ok"]
        assert (model.prompts.count("fail"), model.prompts.count("a")) == (asked, 1)


def test_damaged_shard_is_generated_again(tmp_path: Path) -> None:
    model = CountingGenerator()
    whole = table(tmp_path, model, QUESTIONS)
    sorted((tmp_path / "store").glob("*.parquet"))[0].write_bytes(b"no parquet")
    pd.testing.assert_frame_equal(table(tmp_path, model, QUESTIONS), whole)
    assert len(model.prompts) in (11, 13)


# --- pregeneration ---


def pregenerate(folder: Path, model: CountingGenerator, parts: dict[str, Sequence[str]]) -> None:
    """Answer for tasks that are made of a file each."""
    entry = Import.model_validate({"path": "unused"}).model_dump(mode="json", exclude={"path"})
    made, inputs = {}, {}
    for task, questions in parts.items():
        path = folder / f"{task}.jsonl"
        path.write_text("".join(json.dumps({"question": q, "references": ["r"]}) + "\n" for q in questions))
        inputs[f"source {task}"] = str(path)
        made[task] = {
            "answers": spec(task),
            "questions": {"task": task, "part": {"where": {}, "question_split": [0.0, 1.0]}, "import": entry},
        }
    cache = answer_cache(spec(task), folder / "store", model.load, shard_rows=3)
    pregenerate_answers(Batch(made, inputs), folder / "note.json", cache)


def test_pregeneration_loads_the_model_once(tmp_path: Path) -> None:
    model = CountingGenerator()
    parts = {"t": QUESTIONS[:5], "u": QUESTIONS[3:]}
    pregenerate(tmp_path, model, parts)
    for task, questions in parts.items():
        assert table(tmp_path, model, questions, task)["question"].tolist() == list(questions)
    assert model.loads == 1
    assert model.prompts == QUESTIONS


def test_pregeneration_resumes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pregenerate(tmp_path, CountingGenerator(), {"t": QUESTIONS[:5], "u": ["stop"]})
    assert not (tmp_path / "note.json").exists()
    again = CountingGenerator()
    pregenerate(tmp_path, again, {"t": QUESTIONS[:5], "u": ["go on"]})
    # The shard in hand, with two answers and the stop, was lost.
    assert again.prompts == [*QUESTIONS[3:5], "go on"]
    assert json.loads((tmp_path / "note.json").read_text())["specs"].keys() == {"t", "u"}


def test_complete_cache_loads_no_model(tmp_path: Path) -> None:
    model = CountingGenerator()
    for _ in range(2):
        pregenerate(tmp_path, model, {"t": QUESTIONS})
    assert model.loads == 1


def test_runtime_settings_come_from_the_configuration() -> None:
    entry = {"generator": "openai", "model": "m", "concurrency": 3, "temperature": 1}
    whole = OpenAIModel.model_validate(entry).model_dump(mode="json")
    meaning = {key: value for key, value in whole.items() if key not in OpenAIModel.run_time}
    assert with_runtime_settings({**meaning, "temperature": 0.5}, entry) == {**whole, "temperature": 0.5}
