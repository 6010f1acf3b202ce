"""The accuracy that a program states in its own file, and our verdicts on the same answers."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from statistics import fmean
from typing import Any

from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.importers.run_logs import load_member

STATUS = {"PASS": 1.0, "FAIL": 0.0}


def scored(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The rows of a file with verdicts of exact match, which has to be sure of all of them."""
    plain = folder / f"{path.name}.rows.jsonl"
    result = CliRunner().invoke(app, ["import", str(path), "--model", "m", "-o", str(plain), "--force"])
    assert result.exit_code == 0, result.output
    output = folder / f"{path.name}.scored.jsonl"
    result = CliRunner().invoke(app, ["score", str(path), "--judge", "exact_match", "-o", str(output), "--force"])
    assert result.exit_code == 0, result.output
    rows = list(map(json.loads, plain.read_text("utf-8").splitlines()))
    verdicts = [json.loads(line)["verdict"] for line in output.read_text("utf-8").splitlines()]
    return [row | {"verdict": verdict} for row, verdict in zip(rows, verdicts, strict=True)]


def own_accuracy(path: Path) -> float:
    """The accuracy in a file of lm-evaluation-harness, EvalScope, inspect_ai or promptfoo."""
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive, path.open("rb") as stream:
            header = load_member(archive, stream, archive.getinfo("header.json"))
        return float(header["results"]["scores"][0]["metrics"]["accuracy"]["value"])
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        expected = header.index("expected")
        return fmean(STATUS[row[n]] for row in rows if row[expected] for n, name in enumerate(header) if name == "Status")
    lines = list(map(json.loads, path.read_text("utf-8").splitlines()))
    for metric in ("exact_match", "acc"):
        if metric in lines[0]:
            return fmean(line[metric] for line in lines)
    scores = [line["sample_score"]["score"] for line in lines]
    # Half of the letters are no correct answer.
    return fmean(score["value"][score["main_score_name"]] == 1 for score in scores)
