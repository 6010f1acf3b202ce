"""What the report shows of pairs: findings, measures, ranks, the chart; and the ranks for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pair_files import pair_rows, preference_rows, write_set
from score_files import write_scores
from test_report import Page
from test_report import run as run_report

from bert_judge import tables
from bert_judge.evaluation.pairs.pair_tables import PEOPLE
from bert_judge.evaluation.pairs.ranks import build_ranks
from bert_judge.report import pair_views
from bert_judge.report.rank_exports import write_rank_exports
from bert_judge.runtime.errors import InputError

EVIL = "<b>bob</b>"
MEETINGS = [("ann", EVIL), (EVIL, "cyd"), ("ann", "cyd")]


def build(
    folder: Path, labels: str = "ABA" * 20 + "BAB" * 6 + "ttt" * 4, meetings: Any = MEETINGS, **columns: Any
) -> tuple[Path, Path, Path]:
    """Tables of a set that three judges compare: one agrees with the labels, one likes the first place, one never decides."""
    rounds = len(labels) // len(meetings)
    names = {"model_a": [a for a, _ in meetings] * rounds, "model_b": [b for _, b in meetings] * rounds}
    pairs = pair_rows(labels, sample_id=[f"q{n // len(meetings)}" for n in range(len(labels))], **(names | columns))
    random, own = np.random.default_rng(0), labels.replace(".", "A")
    place = "".join("A" if random.random() < 0.4 else label for label in own)
    said = {
        "good": preference_rows(pairs, own, judge="good"),
        "first": preference_rows(pairs, place, place.translate(str.maketrans("A", "B")), judge="first"),
        "mute": preference_rows(pairs, "x" * len(labels), judge="mute"),
    }
    paths, judged = write_set(folder, pairs, said)
    build_ranks({"sets": {"arena": list(said)}, "judges": []}, {"arena": paths}, {"arena": judged}, [], folder)
    return tuple(folder / f"{name}.parquet" for name in ("pair_agreement", "ranks", "rank_correlations"))  # type: ignore[return-value]


def test_findings_and_tables(tmp_path: Path) -> None:
    [view], charts = pair_views.view(*build(tmp_path))
    assert view.name == "arena"
    assert view.findings[0].startswith("good agrees with the labels in 100.0% of 90 pairs (")
    assert view.findings[0].endswith("; the commonest label alone would in 51.1%.")
    assert view.findings[1].startswith("first says the same in both orders in ")
    assert "points towards the first place" in view.findings[1]
    assert view.findings[2].startswith("Under good, ann comes first")
    [measures] = view.measures
    assert [judge for judge, _ in measures.rows] == ["good", "first", "mute", PEOPLE, "(majority class)"]
    assert measures.columns["position_bias"] == "First − second place"
    assert "panel_agreement" not in measures.columns
    assert view.ranks is not None and view.ranks.judges == ["good", "first", PEOPLE]
    assert [model for model, _ in view.ranks.rows] == ["ann", "cyd", EVIL]
    assert view.orders is not None and view.orders.others == [(PEOPLE, "pairs")]
    assert [(judge, cells[0]["models"]) for judge, cells in view.orders.rows if cells[0]] == [("good", 3), ("first", 3)]
    chart = charts[str(view.chart)]
    assert [trace["name"] for trace in chart["data"]] == ["good", "first", PEOPLE]
    assert chart["layout"]["yaxis"]["ticktext"] == ["ann", "cyd", "&lt;b&gt;bob&lt;/b&gt;"]
    for trace in chart["data"]:
        assert len(trace["x"]) == len(trace["y"]) == len(trace["error_x"]["array"]) == 3
        assert min(trace["error_x"]["array"] + trace["error_x"]["arrayminus"]) >= 0


def test_models_that_never_met_are_told_and_not_drawn(tmp_path: Path) -> None:
    [view], charts = pair_views.view(*build(tmp_path, "AB" * 10, [("ann", "bob"), ("cyd", "dan")]))
    assert (view.chart, charts) == (None, {})
    assert view.ranks is not None
    assert "never compared with each other: ann, bob | cyd, dan" in view.ranks.reason["good"]


def test_pairs_without_labels_or_names(tmp_path: Path) -> None:
    [view], charts = pair_views.view(*build(tmp_path, "." * 9, model_a=None, model_b=None))
    assert view.ranks is None and charts == {} and view.orders is None
    assert "agreement" not in view.measures[0].columns
    assert len(view.findings) == 1


def test_every_task_has_its_table(tmp_path: Path) -> None:
    [view], _ = pair_views.view(*build(tmp_path, "ABA" * 4, task=["x", "y"] * 6))
    assert [part.title for part in view.measures] == ["All tasks", "Task: x", "Task: y"]


def test_the_page_shows_it_as_text(tmp_path: Path) -> None:
    made = build(tmp_path)
    scores = [write_scores(tmp_path, "ada", "sums", {"gold": "ci", "strict": "ci", "bert": "ci"})]
    text = run_report(tmp_path, scores, pairs=made).read_text("utf-8")
    page = Page(text)
    assert "Which of two is better" in page.text and "Pairs" in page.text
    assert EVIL in page.text and EVIL not in text
    assert "chart-ranks-0" in page.attributes("id")
    plain = run_report(tmp_path / "plain", scores).read_text("utf-8")
    assert "Which of two is better" not in plain


def test_exports(tmp_path: Path) -> None:
    _, ranks, _ = build(tmp_path)
    write_rank_exports(ranks, tmp_path / "ranks.csv", tmp_path / "ranks.md")
    again = pd.read_csv(tmp_path / "ranks.csv")
    assert list(again.columns) == tables.RANKS.names
    assert again["rank"].dropna().tolist() == [1, 2, 3] * 3
    lines = (tmp_path / "ranks.md").read_text("utf-8").splitlines()
    assert lines[0] == "arena"
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == ["model", "good", "first", PEOPLE]
    assert lines[4].startswith("| ann") and "1. " in lines[4]
    with pytest.raises(InputError, match="a ranks table needs the column"):
        write_rank_exports(tmp_path / "pair_agreement.parquet", tmp_path / "x.csv", tmp_path / "x.md")
    assert not (tmp_path / "x.csv").exists()
