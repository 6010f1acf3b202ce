"""The program `bert-judge`, as a person meets it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import run
from rich.console import Console

from bert_judge import __version__, tables
from bert_judge.cli import COMMANDS
from bert_judge.cli.standings_tables import print_standings
from bert_judge.report.exports import export_standings

SPEC = {"judges": ["exact", "bert", "human"], "gold": "human"}


def standings_row(
    model: str, judge: str, accuracy: float, invalid: float = 0.0, task: str = "nq", uncertain: float | None = None
) -> dict[str, Any]:
    """`uncertain`: share of uncertain verdicts, all of them called incorrect."""
    low, high = accuracy - 0.02, accuracy + 0.02
    bounds = {"accuracy_decided": 0.5, "accuracy_upper": 1.0, "rank": 1, "rank_low": 1, "rank_high": 2}
    level = "all" if task == "all" else "task"
    certain = None if uncertain is None else 1 - uncertain
    range_bounds = (None, None) if uncertain is None else (accuracy, accuracy + uncertain)
    counts = {"level": level, "task": task, "n": 100, "questions": 90}
    attempts = {"attempted": 1.0, "accuracy_attempted": accuracy, "f_score": accuracy / 2}
    return {
        "model": model,
        "judge": judge,
        **counts,
        "accuracy": accuracy,
        "low": low,
        "high": high,
        "invalid": invalid,
        **bounds,
        **attempts,
        **{"certain": certain, "range_low": range_bounds[0], "range_high": range_bounds[1]},
    }


ROWS = [
    standings_row("small-漢", "exact", 0.0, 1.0),
    standings_row("large", "exact", 0.2, 0.25),
    standings_row("small-漢", "bert", 0.61),
    standings_row("large", "bert", 0.79),
    standings_row("small-漢", "human", 0.6),
    standings_row("large", "human", 0.8),
]


def write_standings(folder: Path, rows: list[dict[str, Any]], spec: dict[str, Any] = SPEC) -> Path:
    path = folder / "standings.parquet"
    frame = pd.DataFrame(rows) if rows else tables.empty(tables.STANDINGS)
    tables.write(frame, path, tables.STANDINGS, spec)
    return path


def agreement_row(judge: str, agreement: float, moved: str | None) -> dict[str, Any]:
    known = {"level": "all", "group": "all", "judge": judge, "n": 200, "questions": 90, "models": 2, "agreement": agreement}
    known |= {"low": agreement - 0.01, "high": agreement + 0.01, "macro_f1": 0.5, "kappa": 0.25, "invalid": 0.125}
    known |= {"accuracy_error": 0.4, "most_shifted_model": moved, "rank_shift": -1 if moved else 0}
    return {column.name: known.get(column.name) for column in tables.AGREEMENT.columns}


# --- the program ---


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_every_command_explains_itself(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert f"Usage: {' '.join(['root', *command])}" in result.stdout and "--help" in result.stdout


def test_version() -> None:
    assert run("--version").stdout == f"bert-judge {__version__}\n"


def test_a_fault_is_one_line_on_stderr_and_exit_code_1(tmp_path: Path) -> None:
    """In a real process: no traceback, nothing on stdout."""
    program = [sys.executable, "-c", "from bert_judge.cli import app; app()"]
    done = subprocess.run([*program, "show", str(tmp_path / "none.parquet")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {tmp_path}/none.parquet: no such file\n")


def test_a_shell_completes_commands_and_options() -> None:
    """As bash asks for it: by the program itself, with variables."""
    program = [sys.executable, "-c", "from bert_judge.cli import app; app(prog_name='bert-judge')"]
    asked = {"_BERT_JUDGE_COMPLETE": "complete_bash", "COMP_WORDS": "bert-judge score --thr", "COMP_CWORD": "2"}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=os.environ | asked)
    assert done.stdout.split() == ["--threshold"]


# --- standings ---


def test_standings_gold_first_and_the_best_model_on_top(tmp_path: Path) -> None:
    lines = run("standings", write_standings(tmp_path, ROWS)).stdout.splitlines()
    header = next(line for line in lines if line.startswith("model"))
    assert header.split() == ["model", "answers", "human", "(gold)", "exact", "bert"]
    at = lines.index(header)
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["large", "small-漢"]
    assert "80.0 [78.0, 82.0]" in lines[at + 1] and "20.0 [18.0, 22.0], 25.0 invalid" in lines[at + 1]
    assert ", 100.0 invalid" in lines[at + 2]
    assert "invalid verdicts count as incorrect" in lines[at + 3]


@pytest.mark.parametrize(("trained", "first", "lead"), [(["bert"], "large", "bert"), ([], "small", "exact")])
def test_without_gold_a_trained_judge_orders_the_models(trained: list[str], first: str, lead: str, tmp_path: Path) -> None:
    """A rule, the first scorer, prefers the model that keeps to a format; the table says by which judge it is ordered."""
    accuracies = [("small", "exact", 0.6), ("large", "exact", 0.1), ("large", "bert", 0.8), ("small", "bert", 0.3)]
    spec = {"judges": ["exact", "bert"], "gold": None, "trained": trained}
    path = write_standings(tmp_path, [standings_row(*row) for row in accuracies], spec)
    text = run("standings", path).stdout
    lines = text.splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("model"))
    assert lines[header].split() == ["model", "answers", "exact", "bert"]
    assert lines[header + 1].split()[0] == first
    assert f"accuracy in %, with its 95% interval; models in the order of {lead}" in text
    [_, _, row, *_] = export_standings(path, "markdown", task="nq").splitlines()
    assert row.split()[1] == first
    # One judge, and gold, need no words.
    assert "in the order of" not in run("standings", path, "--judge", "bert").stdout
    assert "in the order of" not in run("standings", write_standings(tmp_path, ROWS)).stdout


def test_standings_say_where_uncertain_verdicts_leave_the_order_open(tmp_path: Path) -> None:
    rows = [standings_row("large", "bert", 0.2), standings_row("small", "bert", 0.1, uncertain=0.7)]
    text = " ".join(run("standings", write_standings(tmp_path, rows)).stdout.split())
    assert "10.0 [8.0, 12.0], 10.0 to 80.0" in text and "20.0 [18.0, 22.0] " in text
    assert "bert: up to 70% of the verdicts on a model are uncertain" in text
    assert "models whose ranges overlap or are within 5 points are not called different" in text
    assert "uncertain" not in run("standings", write_standings(tmp_path, ROWS)).stdout


def test_standings_tell_attempted_answers_where_some_attempt_nothing(tmp_path: Path) -> None:
    rows = [row | {"attempted": 0.5 if row["judge"] == "human" else 1.0} for row in ROWS]
    text = run("standings", write_standings(tmp_path, rows)).stdout
    lines = text[text.index("attempted answers, accuracy among them, and F-score, in %") :].splitlines()
    assert lines[2].split()[:5] == ["large", "100", "50.0,", "80.0,", "40.0"] and "100.0, 20.0, 10.0" in lines[2]
    assert "attempted" not in run("standings", write_standings(tmp_path, ROWS)).stdout


def test_standings_tell_the_judges_agreement_and_their_difference(tmp_path: Path) -> None:
    path = write_standings(tmp_path, ROWS)
    rows = [agreement_row("exact", 0.3, "small-漢"), agreement_row("bert", 0.925, None)]
    rows += [row | {"level": "model", "group": model} for row in rows for model in ("large", "small-漢")]
    tables.write(pd.DataFrame(rows), tmp_path / "agreement.parquet", tables.AGREEMENT, SPEC)
    difference = {"level": "all", "group": "all", "judge": "bert", "other": "exact", "n": 200}
    difference |= {"difference": 0.625, "low": 0.6, "high": 0.65, "p_value": 1e-9}
    tables.write(pd.DataFrame([difference]), tmp_path / "comparisons.parquet", tables.COMPARISONS, SPEC)
    lines = run("standings", path).stdout.splitlines()
    assert any("Agreement with human in %, on 200 answers to 90 questions" in line for line in lines)
    by_model = lines[lines.index("Agreement with human in %, by model") :]
    assert by_model[1].split() == ["model", "answers", "bert", "exact"]
    assert [line.split()[:2] for line in by_model[2:4]] == [["large", "200"], ["small-漢", "200"]]
    exact = next(line for line in lines if line.startswith("exact"))
    assert all(part in exact for part in ("30.0 [29.0, 31.0]", "12.5", "40.0", "small-漢, 1 too low"))
    assert lines.index(exact) > next(i for i, line in enumerate(lines) if line.startswith("bert "))
    assert any("+62.5 [+60.0, +65.0]" in line and "<0.0001" in line for line in lines)


def test_over_many_tasks_each_is_shown_when_asked_for(tmp_path: Path) -> None:
    rows = [standings_row("large", "human", 0.5, task=task) for task in ("all", "a", "b", "c", "d")]
    path = write_standings(tmp_path, rows)
    assert [line for line in run("standings", path).stdout.splitlines() if "accuracy in %" in line] == [
        "All tasks: accuracy in %, with its 95% interval"
    ]
    assert "Task c: " in run("standings", path, "--task", "c").stdout
    missing = run("standings", path, "--task", "x")
    assert missing.exit_code == 1
    assert missing.stderr == f"error: {path}: no task 'x' in it; choose one of: a, b, c, d\n"


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_standings_fit_a_narrow_terminal(width: int, tmp_path: Path) -> None:
    screen = Console(width=width, record=True, file=open(os.devnull, "w"), markup=False, highlight=False)  # noqa: PTH123, SIM115
    print_standings(write_standings(tmp_path, ROWS), screen=screen)
    text = screen.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "".join(text.split()).count("80.0[78.0,82.0]") == 1


def test_standings_of_nothing(tmp_path: Path) -> None:
    path = write_standings(tmp_path, [])
    assert run("standings", path).stdout == f"{path}: no answers were scored\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "not a readable parquet file"),
        (b"model,task\n", "not a readable parquet file"),
    ],
)
def test_what_is_no_standings(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "standings.parquet"
    if content is not None:
        path.write_bytes(content)
    result = run("standings", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {path}: {message}") and result.stderr.count("\n") == 1


def test_another_table_is_no_standings(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    result = run("standings", path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "a standings table needs the column" in result.stderr


# --- show ---


def write_table(folder: Path) -> Path:
    rows = [
        {"sample_id": f"{i:016x}", "question": f"[bold]Q{i}[/bold] 漢?\n(A) x", "references": ["a", "b"], "choices": None}
        for i in range(9)
    ]
    path = folder / "task.parquet"
    tables.write(pd.DataFrame(rows).assign(answer_kind="text"), path, tables.TASK, {"task": "mine"}, revisions={"gpt": "abc123"})
    return path


def test_show_says_what_a_table_is_and_where_it_comes_from(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    text = run("show", path).stdout
    assert text.startswith(f"{path}: task table, version 1, 9 rows\n")
    for part in ("bert-judge " + __version__, '"task": "mine"', '"gpt": "abc123"', "[bold]Q0[/bold] 漢?"):
        assert part in text
    assert "references (list<element: string>) reference answers; each one alone is correct\n" in text
    assert [run("show", path, "-n", rows).stdout.count('"sample_id"') for rows in (0, 1, 100)] == [0, 1, 9]


def test_show_explains_the_columns_of_scores(tmp_path: Path) -> None:
    row = {"sample_id": "0" * 16, "attempt": 0, "question": "q", "references": ["r"], "candidate": "x", "status": "ok"}
    row |= {"bert": None, "bert_verdict": "invalid", "bert_outcome": "invalid", "bert_certain": None}
    path = tmp_path / "scores.parquet"
    tables.write(pd.DataFrame([row]), path, tables.scores_schema(["bert"]), {"judges": ["bert"]})
    assert "bert (double) score by bert; null when invalid\n" in run("show", path).stdout


def test_show_other_files(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    assert run("show", path).stdout.startswith(f"{path}: not of this program, 1 rows\na (int64)\n")
    assert "0 rows" in run("show", write_standings(tmp_path, [])).stdout
    (tmp_path / "text.txt").write_text("hello")
    refused = run("show", tmp_path / "text.txt")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1) and "not a readable parquet file" in refused.stderr


# --- check ---


ANSWERS = "question,references,candidate,model\nQ?,a,a,m\n"
CONFIGURATION = """\
imports: {mine: {path: answers.csv}}
models: {"*": {generator: imported, from: mine}}
tasks: {test: [mine], imported: {mine: {from: mine}}}
judges: {contains: {kind: lexical, metric: contains}}
scorers: [contains]
"""


def test_check_counts_what_a_run_makes(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS, "utf-8")
    (tmp_path / "mine.yaml").write_text(CONFIGURATION, "utf-8")
    result = run("check", tmp_path / "mine.yaml", "--data", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "OK: 1 model, 1 task, 1 judge, 0 datasets, 1 score table\n")


def test_check_tells_faults_of_files_and_of_what_they_hold_together(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(CONFIGURATION + "gold: human\nscorers: [contains]\n", "utf-8")
    result = run("check", path, tmp_path / "none.yaml", "--data", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        f"error: {path}:7: 'scorers' is there twice, first in line 5; rename or remove one",
        f"error: {tmp_path}/none.yaml: no such file; fix the path",
        "error: gold: 'human' is not defined under judges; choose one of: contains",
        f"error: imports.mine.path: {tmp_path}/answers.csv: no such file; fix the path or the data folder",
    ]


def test_check_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("", "utf-8")
    assert run("check", tmp_path / "empty.yaml").stderr == (
        f"error: {tmp_path}/empty.yaml: empty; a configuration has models, tasks and judges\n"
    )


def test_standings_can_be_drawn(tmp_path: Path) -> None:
    path = write_standings(tmp_path, [{**row, "level": "all", "task": "all"} for row in ROWS])
    assert run("standings", path, "--plot", tmp_path / "standings.svg").exit_code == 0
    assert "large" in (tmp_path / "standings.svg").read_text(encoding="utf-8")
    refused = run("standings", path, "--plot", tmp_path / "standings.doc")
    assert refused.exit_code == 1 and not (tmp_path / "standings.doc").exists()
