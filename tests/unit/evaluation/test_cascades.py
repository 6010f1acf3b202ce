"""What a cascade is worth: agreement for the work of its last judge, against chance, and how the report tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.score_files import SCORE, VERDICT, write_scores

from bert_judge import tables
from bert_judge.evaluation.agreement import build_cascades
from bert_judge.report import optional_sections
from bert_judge.runtime.errors import InputError

GOLD = "cccccciiii"
#  the cheap judge errs on the last row of either kind; the cascade asks the dear one about exactly these and one more
CHEAP = "ccccciiiic"
DEAR = GOLD
DECIDED_BY_DEAR = {5, 6, 9}
SPEC: dict[str, Any] = {
    "judges": ["gold", "cheap", "dear", "both"],
    "gold": "gold",
    "families": {"t": "math", "u": "reading"},
    "cascades": {"both": ["cheap", "dear"]},
}


def run(folder: Path, gold: str = GOLD, spec: dict[str, Any] = SPEC, deciders: list[str | None] | None = None) -> pd.DataFrame:
    scores, labels = [], []
    for task in ("t", "u"):
        columns = {"gold": gold, "cheap": CHEAP, "dear": DEAR, "both": DEAR}
        scores.append(write_scores(folder / "scores", "m", task, {name: columns[name] for name in spec["judges"]}))
        ids = pd.read_parquet(scores[-1])["sample_id"]
        decided_by = deciders or ["dear" if n in DECIDED_BY_DEAR else "cheap" for n in range(10)]
        frame = pd.DataFrame({"sample_id": ids, "attempt": 0, "model": "m", "judge": "both", "decided_by": decided_by})
        frame = frame.assign(
            verdict=[VERDICT[v] for v in DEAR],
            outcome=[VERDICT[v] for v in DEAR],
            score=[SCORE[v] for v in DEAR],
            raw=None,
            truncated=False,
            certain=None,
        )
        labels.append(folder / f"labels-{task}.parquet")
        tables.write(
            frame.assign(reason=None, flags=None, prompt_tokens=None, completion_tokens=None, aspects=None),
            labels[-1],
            tables.LABELS,
            {"task": task},
        )
    build_cascades(spec, scores, {"both": labels}, folder / "cascades.parquet")
    return tables.read(folder / "cascades.parquet", tables.CASCADES).set_index(["level", "group"])


def test_cascade_row_by_hand(tmp_path: Path) -> None:
    row = run(tmp_path).loc["all", "all"]
    assert (row["n"], row["escalation_rate"], row["agreement"]) == (20, 0.3, 1.0)
    assert (row["best_cheap_judge"], row["best_cheap_agreement"], row["last"], row["last_agreement"]) == ("cheap", 0.8, "dear", 1.0)
    assert row["random_routing"] == pytest.approx(0.7 * 0.8 + 0.3 * 1.0)
    assert row["difference"] == pytest.approx(1.0 - 0.86)
    assert 0 < row["difference_low"] < row["difference"] < row["difference_high"]


def test_groups_are_families_and_tasks(tmp_path: Path) -> None:
    assert set(run(tmp_path).index) == {("all", "all"), ("family", "math"), ("family", "reading"), ("task", "t"), ("task", "u")}


def test_rows_without_gold_verdict_are_left_out(tmp_path: Path) -> None:
    assert run(tmp_path, gold="cxcccxiiii").loc["all", "all"]["n"] == 16


def test_missing_baselines_are_null(tmp_path: Path) -> None:
    row = run(tmp_path, spec=SPEC | {"judges": ["gold", "both"]}).loc["all", "all"]
    assert row["agreement"] == 1.0
    assert pd.isna(row["best_cheap_judge"])
    assert pd.isna(row["difference"])


def test_no_gold_verdicts_give_an_empty_row(tmp_path: Path) -> None:
    row = run(tmp_path, gold="x" * 10).loc["all", "all"]
    assert row["n"] == 0
    assert pd.isna(row["agreement"])


def test_labels_of_other_answers_are_an_error(tmp_path: Path) -> None:
    path = write_scores(tmp_path, "m", "t", {"gold": "c", "cheap": "c", "dear": "c", "both": "c"})
    other = tables.empty(tables.LABELS)
    tables.write(other, tmp_path / "none.parquet", tables.LABELS, {})
    with pytest.raises(InputError, match="labels of both: an answer of the score tables is missing"):
        build_cascades(SPEC, [path], {"both": [tmp_path / "none.parquet"]}, tmp_path / "cascades.parquet")


JUDGES = {"both": ["cheap", "dear"]}


def fitted(folder: Path, **changes: Any) -> Path:
    point = {"confidence": 0.9, "row_shares": {"cheap": 1.0, "dear": 0.3}, "agreement": 0.95}
    ends = [{**point, "row_shares": {"cheap": 1.0, "dear": share}, "agreement": a} for share, a in ((0.0, 0.8), (1.0, 0.96))]
    content = {
        "thresholds": {"cheap": {"low": 0.1, "high": 0.9}},
        "last": "dear",
        "fitted_on": {"dataset": "mix", "rows": 100, "questions": 50},
        "operating_point": point,
        "single_judges": {"cheap": 0.8, "dear": 0.96},
        "trade_off": [point, *ends],
    }
    path = folder / "judge.json"
    path.write_text(json.dumps(content | changes))
    return path


def test_report_compares_with_random_routing(tmp_path: Path) -> None:
    run(tmp_path)
    (shown,) = optional_sections.cascade_views(tmp_path / "cascades.parquet", JUDGES, {"both": fitted(tmp_path)})
    assert shown["judges"] == ["cheap", "dear"]
    assert shown["finding"].startswith(
        "agrees with gold on 100.0%; it escalates 30.0% of the answers to dear. Random routing of as many answers, with cheap"
    )
    assert shown["finding"].endswith(". The difference is +14.0 points, 95% interval +3.8 to +22.0.")
    assert shown["rows"][0]["title"] == "All tasks"


def test_chart_compares_thresholds_with_random_routing(tmp_path: Path) -> None:
    run(tmp_path)
    (shown,) = optional_sections.cascade_views(tmp_path / "cascades.parquet", JUDGES, {"both": fitted(tmp_path)})
    assert [(trace["x"], trace["y"]) for trace in shown["chart"]["data"]] == [
        ([0.0, 1.0], [0.8, 0.96]),
        ([0.0, 0.3, 1.0], [0.8, 0.95, 0.96]),
        ([0.3], [0.95]),
    ]
    assert shown["fitted_rows"] == 100


def test_file_without_a_curve_is_an_error(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(InputError, match="not a fitted cascade"):
        path = fitted(tmp_path, trade_off=[{"row_shares": {}}])
        optional_sections.cascade_views(tmp_path / "cascades.parquet", JUDGES, {"both": path})


def test_a_cascade_that_is_not_fitted_has_no_chart(tmp_path: Path) -> None:
    run(tmp_path)
    (shown,) = optional_sections.cascade_views(tmp_path / "cascades.parquet", JUDGES, {})
    assert shown["judges"] == ["cheap", "dear"] and "chart" not in shown
    assert shown["finding"].startswith("agrees with gold on 100.0%; it escalates 30.0% of the answers to dear.")
