"""The notebook in docs/ runs as it stands. It is kept without outputs: they would be a second truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd

NOTEBOOK = Path(__file__).parents[2] / "docs" / "from_csv_to_plot.ipynb"


def code() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def as_script(cell: dict[str, Any]) -> str:
    """A cell as plain Python; its one special form is a line for the shell."""
    lines = "".join(cell["source"]).splitlines()
    shell = "__import__('subprocess').run({!r}, shell=True, check=True)"
    return "\n".join(shell.format(line[1:]) if line.startswith("!") else line for line in lines)


def test_it_is_kept_without_outputs() -> None:
    assert [cell for cell in code() if cell["outputs"] or cell["execution_count"] is not None] == []


def test_it_runs_from_the_file_to_the_plot(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "bert-judge"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom bert_judge.cli import app\n\napp()\n")
    program.chmod(0o755)
    found = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    root = os.pathsep.join([str(NOTEBOOK.parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(map(as_script, code()))],
        cwd=tmp_path,
        env=os.environ | {"PATH": found, "PYTHONPATH": root, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "talkative  contains      87.5%" in done.stdout and "talkative  exact_match   12.5%" in done.stdout
    judged = pd.read_csv(tmp_path / "judged.csv")
    assert len(judged) == 16 and set(judged["contains_verdict"]) == {"correct", "incorrect"}
    assert (tmp_path / "accuracies.png").stat().st_size > 1000
