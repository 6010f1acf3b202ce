"""The configuration of docs/language_models.md: `general`, and a language model behind a server for its uncertain answers."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from helpers.chat_server import ChatServer, serving
from helpers.workspace import PROJECT, Workspace

pytestmark = pytest.mark.workflow

PAGE = PROJECT / "docs" / "language_models.md"
# The rules are certain about the first two kinds; about an explanation the judge in the package is not.
SURE = [("What is {n} + {n}?", "{m}", "{m}"), ("What is {n} times ten?", "{n}0", "{m}1")]
UNSURE = ("Why does number {n} rust?", "iron reacts with oxygen and water", "moist air attacks metal number {n}")
ANSWERS, UNCERTAIN = 12, 4


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        server.honours, server.verdict = {"grammar"}, lambda prompt: "correct"
        yield server


def write_answers(folder: Path, models: list[str]) -> None:
    rows = [SURE[n % 2] for n in range(ANSWERS - UNCERTAIN)] + [UNSURE] * UNCERTAIN
    with (folder / "answers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "reference", "answer", "model"])
        for model in models:
            writer.writerows([*(text.format(n=n, m=2 * n) for text in row), model] for n, row in enumerate(rows, start=1))


def configure(folder: Path, server: ChatServer) -> dict[str, Any]:
    """Write the configuration of the page, with the address of this server."""
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    config = yaml.safe_load(block)
    config["judges"]["gpt"]["model"] |= {"base_url": server.url, "retries": 0}
    (folder / "mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return config


def run(folder: Path) -> str:
    command = [sys.executable, "-m", "bert_judge", "run", "mine.yaml"]
    ended = subprocess.run(command, cwd=folder, env=Workspace(folder).environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-6000:]
    return ended.stdout + ended.stderr


def prompts(server: ChatServer) -> list[str]:
    """Return the prompts about answers, without the questions of a probe."""
    return [text for body in server.seen if "# Candidate" in (text := body["messages"][-1]["content"])]


def labels(folder: Path, judge: str, model: str = "one") -> pd.DataFrame:
    return pd.read_parquet(folder / f"results/labels/{judge}/{model}/mine.parquet")


def test_the_configuration_of_the_page(tmp_path: Path, server: ChatServer) -> None:
    config = configure(tmp_path, server)
    write_answers(tmp_path, ["one"])
    run(tmp_path)
    asked = prompts(server)
    assert len(asked) == UNCERTAIN and all("rust?" in prompt for prompt in asked)
    both = labels(tmp_path, "both")
    assert both["decided_by"].value_counts().to_dict() == {"general": ANSWERS - UNCERTAIN, "gpt": UNCERTAIN}
    assert (both.loc[both["decided_by"] == "gpt", "verdict"] == "correct").all()
    assert len(labels(tmp_path, "gpt", "one@both@gpt")) == UNCERTAIN

    cost = pd.read_parquet(tmp_path / "results/cost.parquet").set_index(["stage", "component"])
    used, price = cost.loc["verdicts", "gpt"], config["judges"]["gpt"]["model"]["price"]
    words = sum(len(prompt.split()) for prompt in asked)
    assert used[["rows", "prompt_tokens", "completion_tokens"]].tolist() == [UNCERTAIN, words, 5 * UNCERTAIN]
    assert used["cost"] == pytest.approx((words * price["prompt"] + 5 * UNCERTAIN * price["completion"]) / 1e6)
    assert used["seconds"] > 0 and pd.isna(cost.loc["verdicts", "both"]["prompt_tokens"])
    # What the language model would need for all answers is computed from its own usage.
    assert cost.loc["llm_on_all", "gpt"]["prompt_tokens"] == pytest.approx(words * ANSWERS / UNCERTAIN)
    assert "Verdicts of gpt" in (tmp_path / "results/report.html").read_text("utf-8")

    assert "Nothing to be done" in run(tmp_path)
    write_answers(tmp_path, ["one", "two"])
    run(tmp_path)
    # Another model brings its own answers only; its prompts are equal, but they are its own.
    assert len(prompts(server)) == 2 * UNCERTAIN


def test_a_server_that_dies_leaves_the_first_verdicts(tmp_path: Path, server: ChatServer) -> None:
    def die(prompt: str) -> str:
        server.dead = server.dead or "# Candidate" in prompt
        return "correct"

    server.verdict = die
    config = configure(tmp_path, server)
    config["judges"]["gpt"]["model"] |= {"concurrency": 1}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    write_answers(tmp_path, ["one"])
    run(tmp_path)
    both = labels(tmp_path, "both")
    assert len(both) == ANSWERS and not (both["verdict"] == "invalid").any()
    assert both["decided_by"].value_counts().to_dict() == {"general": ANSWERS - 1, "gpt": 1}
    failed = both[both["reason"].astype(str).str.contains("gpt: the judge's model failed: no connection")]
    assert len(failed) == UNCERTAIN - 1 and (failed["certain"] == False).all()  # noqa: E712
