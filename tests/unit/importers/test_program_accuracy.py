"""Files that the programs wrote themselves: our accuracy is the program's own, on answers of which a rule can be sure.

When a program changes its format, `tests/with_frameworks` runs it again and the same comparison fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.framework_files import FIXTURES
from helpers.program_accuracy import own_accuracy, scored
from typer.testing import CliRunner

from bert_judge.cli import app

FILES = [
    *sorted((FIXTURES / "lm_eval" / "told").glob("samples_*.jsonl")),
    *(FIXTURES / "inspect" / f"{name}.eval" for name in ("target_forms", "thirty_options", "shuffled", "planets")),
    *sorted((FIXTURES / "evalscope").glob("*.jsonl")),
    FIXTURES / "promptfoo" / "out.csv",
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition("_2026")[0])
def test_our_accuracy_is_that_of_the_program(path: Path, tmp_path: Path) -> None:
    answers, expected = scored(path, tmp_path), own_accuracy(path)
    assert sum(row["verdict"] == "correct" for row in answers) / len(answers) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["target_forms", "thirty_options", "shuffled"])
def test_scores_of_inspect_are_labels(name: str, tmp_path: Path) -> None:
    path = FIXTURES / "inspect" / f"{name}.eval"
    labels = [row["label"] for row in scored(path, tmp_path)]
    assert sum(labels) / len(labels) == pytest.approx(own_accuracy(path))


def test_a_text_that_looks_like_a_list_is_not_suspicious(tmp_path: Path) -> None:
    path = next((FIXTURES / "lm_eval" / "told").glob("samples_printed_*"))
    result = CliRunner().invoke(app, ["score", str(path), "--judge", "exact_match", "-o", str(tmp_path / "scored.jsonl")])
    assert result.exit_code == 0 and "warning" not in result.output


def test_an_answer_within_reasoning_is_none(tmp_path: Path) -> None:
    """inspect_ai 0.3.285 accepts it where the provider leaves the reasoning in the text, and refuses it where it is a part."""
    rows = {row["id"]: (row["label"], row["verdict"]) for row in scored(FIXTURES / "inspect" / "reasoning.eval", tmp_path)}
    assert rows == {"tag": (1.0, "incorrect"), "part": (0.0, "incorrect")}


def test_repeats_are_attempts(tmp_path: Path) -> None:
    rows = scored(next((FIXTURES / "lm_eval" / "told").glob("samples_repeated_*")), tmp_path)
    assert [(row["id"], row["attempt"], row["verdict"]) for row in rows] == [("0", 0, "correct"), ("0", 1, "correct")]
    rows = scored(next((FIXTURES / "lm_eval" / "dummy").glob("samples_capitals_*")), tmp_path)
    assert [(row["candidate"], row["attempt"]) for row in rows] == [("lol", 0), ("lol", 1)]
