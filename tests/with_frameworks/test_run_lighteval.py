"""lighteval itself: a judge as its metric, and the details that it wrote imported."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.framework_files import read
from programs import ROOT, run

from bert_judge.importers import frameworks

pytestmark = pytest.mark.framework("lighteval")
# The program without its own tasks, one of which fetches a file from the network when it is imported.
PROGRAM = (
    "from lighteval.tasks.registry import Registry\n"
    "Registry._load_from_files = Registry._load_from_subdirs = staticmethod(lambda *_: {})\n"
    "from lighteval.__main__ import app\napp()"
)


def test_lighteval_scores_with_a_judge_and_its_details_are_imported(tmp_path: Path) -> None:
    model, out = tiny_models.causal_lm(tmp_path / "tiny"), tmp_path / "out"
    command = ("-c", PROGRAM, "accelerate", f"model_name={model},batch_size=2", "judged_sums|0", "--save-details")
    options = ("--custom-tasks", "examples/lighteval_metric.py", "--output-dir", out)
    # `token_f1` has a verdict on any text of a model that knows nothing.
    run(*command, *options, folder=ROOT, HF_HOME=str(tmp_path / "home"), BERT_JUDGE="token_f1")
    [results] = out.rglob("results_*.json")
    scores = json.loads(results.read_text("utf-8"))["results"]
    assert {score["bert_judge"] for name, score in scores.items() if name.startswith("judged_sums")} <= {0.0, 0.5, 1.0}
    [details] = out.rglob("details_*.parquet")
    assert frameworks.open_answers(details).framework == "lighteval"
    answers, _ = read(details, "lighteval")
    assert sorted(answer.references for answer in answers) == [("1253",), ("lol",)]
    assert all(answer.question and answer.task.startswith("judged_sums") for answer in answers)


def test_what_the_judge_cannot_decide_counts_as_incorrect() -> None:
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    from bert_judge.integrations.lighteval_metric import bert_judge

    metric = bert_judge("contains")
    docs = [Doc("Capital of France?", ["Paris", "Lutetia"], [0, 1])] * 3
    said = [ModelResponse(text=["Paris!"]), ModelResponse(text=["Lyon"]), ModelResponse(text=["<think>Paris"])]
    found = metric.compute_sample(docs=docs, responses=said)["bert_judge"]
    assert found[:2] == [1.0, 0.0] and math.isnan(found[2])
    share = metric.get_corpus_aggregations()["bert_judge"]
    assert share(found) == pytest.approx(1 / 3) and share(found[2:]) == 0
