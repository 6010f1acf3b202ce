"""Test the pairs section of the report and the exported ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.pair_files import pair_rows, preference_rows, write_set
from helpers.score_files import write_scores
from test_report import Page
from test_report import run as run_report

from bert_judge import tables
from bert_judge.evaluation.pairs.agreement import PEOPLE
from bert_judge.evaluation.pairs.ranks import build_ranks
from bert_judge.report import optional_sections
from bert_judge.report.exports import write_rank_exports
from bert_judge.runtime.errors import InputError

EVIL = "<b>bob</b>"
MATCHUPS = [("ann", EVIL), (EVIL, "cyd"), ("ann", "cyd")]


def build(
    folder: Path, labels: str = "ABA" * 20 + "BAB" * 6 + "ttt" * 4, matchups: Any = MATCHUPS, **columns: Any
) -> tuple[Path, Path, Path]:
    """Build the tables of a set judged by three judges: one agrees with the labels, one has position bias, one never decides."""
    rounds = len(labels) // len(matchups)
    names = {"model_a": [a for a, _ in matchups] * rounds, "model_b": [b for _, b in matchups] * rounds}
    pairs = pair_rows(labels, sample_id=[f"q{n // len(matchups)}" for n in range(len(labels))], **(names | columns))
    random, verdicts = np.random.default_rng(0), labels.replace(".", "A")
    position_biased = "".join("A" if random.random() < 0.4 else label for label in verdicts)
    preferences = {
        "good": preference_rows(pairs, verdicts, judge="good"),
        "first": preference_rows(pairs, position_biased, position_biased.translate(str.maketrans("A", "B")), judge="first"),
        "mute": preference_rows(pairs, "x" * len(labels), judge="mute"),
    }
    paths, preference_paths = write_set(folder, pairs, preferences)
    build_ranks(
        {"sets": {"arena": list(preferences)}, "judges": []},
        pairs={"arena": paths},
        preferences={"arena": preference_paths},
        scores=[],
        folder=folder,
    )
    return tuple(folder / f"{name}.parquet" for name in ("pair_agreement", "ranks", "rank_correlations"))  # type: ignore[return-value]


def test_tables_of_a_set(tmp_path: Path) -> None:
    [view] = optional_sections.pair_views(*build(tmp_path))
    assert view["name"] == "arena"
    [measures] = view["measures"]
    assert [judge for judge, _ in measures["rows"]] == ["good", "first", "mute", PEOPLE, "(majority class)"]
    assert measures["columns"]["position_bias"] == "Position bias"
    assert "panel_agreement" not in measures["columns"]
    assert view["ranks"]["judges"] == ["good", "first", PEOPLE]
    assert [model for model, _ in view["ranks"]["rows"]] == ["ann", "cyd", EVIL]
    assert view["correlations"]["rankings"] == [(PEOPLE, "pairs")]
    assert [(judge, cells[0]["models"]) for judge, cells in view["correlations"]["rows"] if cells[0]] == [("good", 3), ("first", 3)]


def test_unconnected_models_have_no_ranks(tmp_path: Path) -> None:
    [view] = optional_sections.pair_views(*build(tmp_path, "AB" * 10, [("ann", "bob"), ("cyd", "dan")]))
    assert "never compared with each other: ann, bob | cyd, dan" in view["ranks"]["reason"]["good"]


def test_pairs_without_labels_or_names(tmp_path: Path) -> None:
    [view] = optional_sections.pair_views(*build(tmp_path, "." * 9, model_a=None, model_b=None))
    assert view["ranks"] is None and view["correlations"] is None
    assert "agreement" not in view["measures"][0]["columns"]


def test_one_table_per_task(tmp_path: Path) -> None:
    [view] = optional_sections.pair_views(*build(tmp_path, "ABA" * 4, task=["x", "y"] * 6))
    assert [group["title"] for group in view["measures"]] == ["All tasks", "Task: x", "Task: y"]


def test_names_are_escaped_on_the_page(tmp_path: Path) -> None:
    result = build(tmp_path)
    scores = [write_scores(tmp_path, "ada", "sums", {"gold": "ci", "strict": "ci", "bert": "ci"})]
    text = run_report(tmp_path, scores, pairs=result).read_text("utf-8")
    page = Page(text)
    assert "Pairwise comparisons" in page.text and "Pairs" in page.text
    assert EVIL in page.text and EVIL not in text
    without_pairs = run_report(tmp_path / "plain", scores).read_text("utf-8")
    assert "Pairwise comparisons" not in without_pairs


def test_rank_exports(tmp_path: Path) -> None:
    _, ranks, _ = build(tmp_path)
    write_rank_exports(ranks, tmp_path / "ranks.csv", tmp_path / "ranks.md")
    exported = pd.read_csv(tmp_path / "ranks.csv")
    assert list(exported.columns) == tables.RANKS.names
    assert exported["rank"].dropna().tolist() == [1, 2, 3] * 3
    lines = (tmp_path / "ranks.md").read_text("utf-8").splitlines()
    assert lines[0] == "arena"
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == ["model", "good", "first", PEOPLE]
    assert lines[4].startswith("| ann") and "1. " in lines[4]
    with pytest.raises(InputError, match="a ranks table needs the column"):
        write_rank_exports(tmp_path / "pair_agreement.parquet", tmp_path / "x.csv", tmp_path / "x.md")
    assert not (tmp_path / "x.csv").exists()
