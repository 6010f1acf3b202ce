"""Test the exported standings, and the printed corrected accuracies."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from helpers.score_files import write_scores
from typer.testing import CliRunner

from bert_judge import tables
from bert_judge.cli import app
from bert_judge.evaluation.audit.corrected import build_corrected
from bert_judge.evaluation.standings import build_standings
from bert_judge.report.exports import write_exports

SPEC = {
    "judges": ["bert", "gold"],
    "gold": "gold",
    "trained": ["bert"],
    "families": {"sums": "math", "proofs": "math"},
    "tables": [],
}


@pytest.fixture
def scores(tmp_path: Path) -> list[Path]:
    return [
        write_scores(tmp_path, "ada_1|ü", "sums", {"gold": "ccci" * 10, "bert": "cccx" * 10}),
        write_scores(tmp_path, "bob", "sums", {"gold": "ciii" * 10, "bert": "ccii" * 10}),
        write_scores(tmp_path, "bob", "proofs", {"gold": "cc", "bert": "xx"}),
    ]


@pytest.fixture
def standings(scores: list[Path], tmp_path: Path) -> Path:
    build_standings(SPEC, scores, tmp_path)
    return tmp_path / "standings.parquet"


def standings_output(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["standings", *map(str, arguments)])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_csv_holds_all_columns(standings: Path) -> None:
    output = pd.read_csv(io.StringIO(standings_output(standings, "--format", "csv")))
    expected = tables.read(standings, tables.STANDINGS)
    assert list(output.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(output, expected, check_dtype=False)


def test_markdown_has_one_row_per_model_and_gold_first(standings: Path) -> None:
    lines = standings_output(standings, "--format", "markdown", "--task", "sums").splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == ["model", "gold", "bert"]
    assert "75.0 [59.8, 85.8]" in lines[2] and "25.0% invalid" in lines[2]
    assert "0.0 [0.0, 65.8], 100.0% invalid" in standings_output(standings, "--format", "markdown", "--task", "proofs")


def test_latex_is_escaped(standings: Path) -> None:
    output = standings_output(standings, "--format", "latex")
    assert output.startswith("\\begin{tabular}") and r"ada\_1|ü" in output and r"25.0\% invalid" in output


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--format", "xml"], "choose one of markdown"), (["-f", "csv", "-t", "no"], "no task 'no'")]
)
def test_invalid_options_are_rejected(standings: Path, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["standings", str(standings), *arguments])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert message in result.stderr


def test_written_files_with_and_without_answers(standings: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.parquet"
    tables.write(tables.empty(tables.STANDINGS), empty, tables.STANDINGS, {})
    for source, texts in ((standings, ("bob", "bob", "bob", "<svg")), (empty, ("level", "model", "tabular", "<svg"))):
        paths = [tmp_path / source.stem / f"standings.{ending}" for ending in ("csv", "md", "tex", "svg")]
        write_exports(source, **dict(zip(("csv", "markdown", "latex", "plot"), paths, strict=True)))
        assert all(text in path.read_text("utf-8") for text, path in zip(texts, paths, strict=True))


def test_corrected_accuracies_are_printed(standings: Path, scores: list[Path]) -> None:
    assert "corrected with human labels" not in standings_output(standings)
    spec = {"judge": "bert", "size": 10, "design": "uniform", "seed": 0, "tables": [], "judges": ["bert"], "labels_from": "gold"}
    build_corrected(
        spec | {"min_sensitivity": 0.8, "min_specificity": 0.8}, scores=scores, sheets=[], folder=standings.parent / "audit"
    )
    output = standings_output(standings)
    for text in ("Accuracy in %, corrected with human labels", "PPI++", "all models", "p (Holm)", "Certificates, in %"):
        assert text in output
