"""What a run cost: counted from small tables by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.default_run import DEFAULT_RUN

from bert_judge import plan, tables
from bert_judge.evaluation.cost import INSTRUCTION_TOKENS, cost_table
from bert_judge.judges.prompted import FREE_REPLY_TOKENS
from bert_judge.report import optional_sections

SPEC: dict[str, Any] = {
    "tables": [["ada", "sums"], ["bob", "sums"]],
    "trained_on": [["ada", "old"]],
    "answered_in_batches": [],
    "judges": ["bert"],
    "combined": {},
    "asked": {},
    "taught": {"teacher": [["ada", "old"]]},
    "trained": {"bert": "mix"},
    "prompted": ["teacher"],
    "prices": {"answers": {"ada": {"prompt": 2.0, "completion": 8.0}}, "verdicts": {"teacher": {"prompt": 2.0, "completion": 8.0}}},
    "assumed_price": {"prompt": 1.0, "completion": 4.0},
    "currency": "EUR",
    "gpus": {"models": {"ada": 2}, "judges": {"bert": 1}},
}


def timed(folder: Path, name: str, seconds: float | str) -> None:
    path = folder / "benchmarks" / f"{name}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\n{seconds}\t0:00:01\n")


def write(folder: Path, name: str, tokens: tuple[int, int] | None, seconds: float | None, rows: int = 4) -> None:
    """A table of answers or labels: every row has these tokens."""
    schema = tables.LABELS if name.startswith("labels") else tables.CANDIDATES
    read, wrote = tokens or (None, None)
    frame = pd.DataFrame({"sample_id": [f"s{i}" for i in range(rows)]}).assign(
        attempt=0,
        question="q",
        model="m",
        candidate="a",
        reasoning=None,
        status="ok",
        reason=None,
        decided_by=None,
        certain=None,
        flags=None,
        judge="j",
        verdict="correct",
        outcome="correct",
    )
    frame = frame.assign(
        references=[["r"]] * rows, aspects=None, score=1.0, raw=None, truncated=False, prompt_tokens=read, completion_tokens=wrote
    )
    tables.write(frame.astype({"prompt_tokens": "Int32", "completion_tokens": "Int32"}), folder / f"{name}.parquet", schema, {})
    if seconds is not None:
        timed(folder, name, seconds)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write(tmp_path, "candidates/ada/sums", (100, 10), 3600.0)
    write(tmp_path, "candidates/bob/sums", None, None)
    write(tmp_path, "candidates/ada/old", (50, 5), 36.0)
    for model in ("ada", "bob"):
        write(tmp_path, f"labels/bert/{model}/sums", (30, 0), 9.0)
    write(tmp_path, "labels/teacher/ada/old", (1000, 100), None)
    write(tmp_path, "datasets/mix/train", None, None, rows=3)
    timed(tmp_path, "judges/bert", 7182.0)
    return tmp_path


def build_cost(results: Path, **changed: Any) -> pd.DataFrame:
    frame = cost_table({**SPEC, **changed}, results, 8000.0)
    tables.write(frame, results / "cost.parquet", tables.COST, {})
    return tables.read(results / "cost.parquet", tables.COST).set_index(["stage", "component", "split"])


def test_tokens_time_and_money_are_added_up(results: Path) -> None:
    cost = build_cost(results)
    ada = cost.loc["answers", "ada", "test"]
    assert ada[["rows", "prompt_tokens", "completion_tokens", "timed_rows", "seconds", "gpu_hours"]].tolist() == [
        4,
        400,
        40,
        4,
        3600,
        2,
    ]
    assert ada["cost"] == pytest.approx((400 * 2 + 40 * 8) / 1e6)
    assert pd.isna(cost.loc["answers", "bob", "test"]["cost"])
    assert cost.loc["answers", "ada", "training"]["seconds"] == 36
    assert cost.loc["verdicts", "bert", "test"][["rows", "prompt_tokens", "seconds", "timed_rows"]].tolist() == [8, 240, 18, 8]
    teacher = cost.loc["verdicts", "teacher", "training"]
    assert teacher["cost"] == pytest.approx((4000 * 2 + 400 * 8) / 1e6)
    assert cost.loc["training", "bert", "training"][["rows", "seconds"]].tolist() == [3, 7182]


def test_a_judge_that_combines_others_is_counted_once(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`both` asks `bert` about all answers, and `teacher`, which is no scorer, about those that are left."""
    for model in ("ada", "bob"):
        write(results, f"labels/both/{model}/sums", (200, 20), 1.0)
        write(results, f"labels/teacher/{model}@both@teacher/sums", (1000, 100), 5.0, rows=2)
    asked = {"teacher": [[f"{model}@both@teacher", "sums"] for model in ("ada", "bob")]}
    spec = {"judges": ["both", "bert"], "combined": {"both": ["bert", "teacher"]}, "asked": asked, "taught": {}, "trained_on": []}
    cost = build_cost(results, **spec)
    both, teacher = (cost.loc["verdicts", judge, "test"] for judge in ("both", "teacher"))
    assert pd.isna(both["prompt_tokens"]) and pd.isna(both["cost"]) and both[["rows", "seconds"]].tolist() == [8, 2]
    assert teacher[["rows", "prompt_tokens", "seconds"]].tolist() == [4, 4000, 10]
    assert teacher["cost"] == pytest.approx((4000 * 2 + 400 * 8) / 1e6)
    # The comparison is with the language model of the cascade, from its own usage.
    assert cost.loc["llm_on_all", "teacher", "test"]["prompt_tokens"] == 8000
    monkeypatch.setattr(optional_sections, "MIN_TIMED_ROWS", 4)
    [_, finding] = optional_sections.cost_view(cost.reset_index(), "both", {**SPEC, **spec})["findings"]
    # 2 s of its own, 18 of bert and 7182 of its training, which is not its own, and 10 of the teacher.
    saved = (8000 * 2 + 800 * 8 - 4000 * 2 - 400 * 8) / 1e6
    assert finding.startswith("both took 0.01 hours.") and finding.endswith(f"less than {saved / (30 / 3600):,.2f} EUR.")


def test_missing_measurements_are_null(results: Path) -> None:
    bob = build_cost(results).loc["answers", "bob", "test"]
    assert bob[["prompt_tokens", "completion_tokens", "seconds", "gpu_hours", "cost"]].isna().all() and bob["timed_rows"] == 0


def test_llm_judge_on_all_answers_uses_the_measured_tokens(results: Path) -> None:
    row = build_cost(results).loc["llm_on_all", "teacher", "test"]
    assert (row["rows"], row["prompt_tokens"], row["completion_tokens"]) == (8, 8000, 800)
    assert row["cost"] == pytest.approx((8000 * 2 + 800 * 8) / 1e6) and not row["price_assumed"]
    assert build_cost(results, prices={"answers": {}, "verdicts": {}}).loc["llm_on_all", "teacher", "test"]["price_assumed"]


def test_tokens_of_a_missing_llm_judge_are_assumed(results: Path) -> None:
    row = build_cost(results, prompted=[], prices={"answers": {}, "verdicts": {}}).loc["llm_on_all", "an LLM judge", "test"]
    assert (row["prompt_tokens"], row["completion_tokens"]) == (8 * INSTRUCTION_TOKENS + 2000, 8 * FREE_REPLY_TOKENS)
    assert row["cost"] == pytest.approx((4400 * 1 + 960 * 4) / 1e6) and row["price_assumed"]


def test_speed_and_break_even_need_a_thousand_rows(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = build_cost(results).reset_index()
    shown = optional_sections.cost_view(costs, "bert", SPEC)
    assert "Seconds per 1,000 rows" not in shown["columns"] and len(shown["findings"]) == 1
    monkeypatch.setattr(optional_sections, "MIN_TIMED_ROWS", 8)
    shown = optional_sections.cost_view(costs, "bert", SPEC)
    speeds = {row[0]: row[shown["columns"].index("Seconds per 1,000 rows")] for row in shown["rows"]}
    assert (speeds["Verdicts of bert"], speeds["Answers of ada"]) == ("2,250", "–") and len(shown["findings"]) == 2


def test_report_compares_with_the_llm_judge(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_sections, "MIN_TIMED_ROWS", 8)
    shown = optional_sections.cost_view(build_cost(results).reset_index(), "bert", SPEC)
    tokens = "8,000 input and 800 output tokens, which costs 0.02 EUR at its price."
    assert shown["findings"][0] == f"Judging all 8 answers with teacher would need {tokens}"
    # 18 s of verdicts and 7182 s of training.
    assert "bert took 2.00 hours including training" in shown["findings"][1]
    assert shown["findings"][1].endswith("less than 0.01 EUR.")
    assert ["Verdicts of teacher for training", "4", "1,000,000", "100,000", "–", "–", "–", "0.01 EUR"] in shown["rows"]
    assert optional_sections.cost_view(tables.empty(tables.COST), "bert", SPEC) == {"columns": [], "rows": [], "findings": []}


def test_report_leaves_out_what_was_not_measured(results: Path) -> None:
    costs = build_cost(results).reset_index().assign(gpu_hours=None)
    costs.loc[costs["component"] == "teacher", ["prompt_tokens", "completion_tokens", "seconds"]] = None
    shown = optional_sections.cost_view(costs[costs["stage"] != "llm_on_all"].assign(cost=None), "bert", SPEC)
    assert shown["rows"] and not any("teacher" in row[0] for row in shown["rows"])
    assert not {"GPU hours", "Cost of tokens"} & set(shown["columns"])


def test_no_tables_give_no_cost(tmp_path: Path) -> None:
    assert cost_table(SPEC, tmp_path, 0.0).empty


def test_cost_spec_of_the_plan() -> None:
    spec = plan.build_plan(DEFAULT_RUN).cost_spec()
    assert spec["trained"] == {"demo_judge": "demo"} and list(spec["taught"]) == ["teacher"]
    assert spec["assumed_price"] == {"prompt": 2.5, "completion": 10.0}
    assert len(spec["tables"]) == 9 and len(spec["trained_on"]) == 9


def test_cost_spec_of_a_cascade() -> None:
    """The language model of a cascade is no scorer, and what it costs is counted all the same."""
    price = {"prompt": 0.15, "completion": 0.6}
    judges = {
        "general": {"kind": "bert", "checkpoint": "general"},
        "asked": {"kind": "llm", "model": {"generator": "openai", "model": "m", "price": price}},
        "both": {"kind": "cascade", "judges": ["general", "asked"], "escalate": "uncertain"},
    }
    raw = {"models": {"a": {"generator": "simulated", "p_correct": 0.5}}, "tasks": {"test": ["facts_test"]}, "judges": judges}
    spec = plan.build_plan({**raw, "scorers": ["general", "both"]}).cost_spec()
    assert spec["combined"] == {"both": ["general", "asked"]} and spec["asked"] == {"asked": [["a@both@asked", "facts_test"]]}
    assert spec["prompted"] == ["asked"] and spec["prices"]["verdicts"] == {"asked": price}
    alone = plan.build_plan({**raw, "scorers": ["both"]}).cost_spec()
    assert alone["asked"] == {"asked": [["a@both@asked", "facts_test"]], "general": [["a", "facts_test"]]}
    assert plan.build_plan({**raw, "scorers": ["general", "asked", "both"]}).cost_spec()["asked"] == {}
