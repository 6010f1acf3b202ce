"""A published task in a run: prepared from a local copy, made into a table, and left alone when another one comes."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Local copies of two data sets."""
    rows = [{"question": f"How much is {n} and 1?", "answer": f"It is {n + 1}.\n#### {n + 1}"} for n in range(40)]
    options = [
        {"question": f"Which is {n}?", "subject": "numbers", "choices": [str(n + 1), str(n), str(n + 2)], "answer": 1}
        for n in range(9)
    ]
    for name, content in (("openai/gsm8k/main/test.jsonl", rows), ("cais/mmlu/all/test.jsonl", options)):
        path = tmp_path / "shelf" / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    monkeypatch.setenv("LOCAL_DATASETS_DIR", str(tmp_path / "shelf"))
    return tmp_path / "shelf"


def config(*tasks: str, **limits: int) -> dict[str, Any]:
    return {
        "models": {"solid": {"generator": "simulated", "p_correct": 0.9}},
        "tasks": {"test": list(tasks), "limit": limits},
        "judges": {"exact": {"kind": "lexical", "metric": "exact_match", "extract": ["final_answer", "full_text"]}},
        "scorers": ["exact"],
    }


def test_a_published_task_from_a_local_copy(shelf: Path, tmp_path: Path) -> None:
    run = Workspace.create(tmp_path / "run", config("gsm8k_test", gsm8k_test=10))
    run.done("scores")
    scores = run.folder / "results/scores/solid/gsm8k_test.parquet"
    assert pq.read_table(scores).num_rows == 10
    manifest = json.loads((run.folder / "results/prepared/task-gsm8k_test.json").read_text())
    assert [file["name"] for file in manifest["files"]] == ["main/test.jsonl"]
    assert run.run("scores").idle

    run.configure(config("gsm8k_test", "mmlu_test", gsm8k_test=10))
    assert all("mmlu_test" in job for job in run.planned("scores") if "solid" in job or "Questions" in job or "Fetch" in job)
    first = set(pq.read_table(scores)["question"].to_pylist())
    run.configure(config("gsm8k_test", "mmlu_test", gsm8k_test=20))
    run.done("scores")
    assert pq.read_table(run.folder / "results/scores/solid/mmlu_test.parquet").num_rows == 9
    assert first < set(pq.read_table(scores)["question"].to_pylist())
