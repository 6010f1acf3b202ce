"""The notebook in docs/ runs as it stands and prints what is saved in it."""

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


def saved_text() -> str:
    """Return the printed output that is saved, without that of shell lines, whose tables depend on the terminal's width."""
    cells = [cell for cell in code() if not "".join(cell["source"]).startswith("!")]
    return "".join("".join(output["text"]) for cell in cells for output in cell["outputs"] if output["output_type"] == "stream")


def test_it_is_saved_with_outputs() -> None:
    assert [cell["source"] for cell in code() if not cell["outputs"]][:1] == []
    assert any("image/png" in output.get("data", {}) for cell in code() for output in cell["outputs"])


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
    assert "talkative  contains      87.5%" in saved_text() and saved_text() in done.stdout
    judged = pd.read_csv(tmp_path / "judged.csv")
    assert len(judged) == 16 and set(judged["contains_verdict"]) == {"correct", "incorrect"}
    assert (tmp_path / "accuracies.png").stat().st_size > 1000
