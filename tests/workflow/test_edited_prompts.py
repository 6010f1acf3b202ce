"""A prompt is part of the code and of the specs: editing it makes the labels that it gave stale, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.chat_server import serving
from helpers.workspace import Workspace, edited_library

from bert_judge.judges.llm.judge import INSTRUCTIONS
from bert_judge.judges.llm.verdicts import POSITIVE

pytestmark = pytest.mark.workflow

TARGETS = ("results/report.html", "results/filtered/best/50.parquet")


def test_an_edited_prompt_relabels_what_it_labelled(run: Workspace, tmp_path: Path) -> None:
    first_sentence = INSTRUCTIONS.splitlines()[0]
    config = run.config
    config["scorers"].append("prompted")
    config["filters"] = {"best": {"judge": "prompted", "keep": 50, "tasks": ["mini_train"]}}
    with serving() as server:
        server.reply = {"message": {"content": POSITIVE}}
        model = {"generator": "openai", "model": "m", "base_url": server.url}
        config["judges"]["prompted"] = {"kind": "llm", "model": model, "reasoning": False}
        run.configure(config)
        run.done(*TARGETS)
        assert any(first_sentence in body["messages"][-1]["content"] for body in server.seen)
    library = edited_library(tmp_path / "edited", "judges/llm/prompts.yaml", "# Prompts", "# The prompts")
    assert run.planned_with(library, *TARGETS) == set()
    edited_library(library, "judges/llm/prompts.yaml", first_sentence, f"Read every word. {first_sentence}")
    assert run.planned_with(library, *TARGETS) == {
        *(f"Verdicts of prompted on {model}, {task}" for model in ("solid", "weak") for task in ("mini_test", "mini_train")),
        "Select 50% of the answers by best",
        *(f"Scores of {model} on mini_test" for model in ("solid", "weak")),
        "Standings",
        "Report",
    }
