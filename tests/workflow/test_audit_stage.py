"""A sample is drawn, filled by people (here: by a script that knows the truth), read back, and corrects the accuracies."""

from __future__ import annotations

import csv

import pandas as pd
import pytest
from helpers.workspace import Workspace

from bert_judge import tables
from bert_judge.evaluation.audit import sampling
from bert_judge.evaluation.score_tables import load_verdicts

pytestmark = pytest.mark.workflow

AUDIT = {"judge": "encoder", "size": 20, "design": "neyman"}
SHEETS = {"results/audit/sheet.csv", "results/audit/sheet.html"}
TABLES = {f"results/audit/{name}.parquet" for name in ("corrected_accuracy", "corrected_pairs", "certificate")}
SUMMARIES = {*SHEETS, *TABLES, "results/report.html"}


def configure(run: Workspace, **audit: object) -> None:
    run.configure(run.config | {"audit": {**AUDIT, **audit}})


def fill(run: Workspace, file: str) -> None:
    """Mark the drawn answers as they are."""
    paths = run.found("results/scores/*/mini_test.parquet")
    verdicts = load_verdicts(paths, ["truth"]).set_index(["(model)", "(task)", "sample_id", "attempt"])["truth_verdict"]
    truth = {}
    for path in paths:
        for row in pd.read_parquet(path).itertuples():
            key = (path.parent.name, path.stem, row.sample_id, row.attempt)
            truth[sampling.answer_id(key, row.candidate)] = str(verdicts[key])
    with (run.folder / "results/audit/sheet.csv").open(encoding="utf-8-sig", newline="") as sheet:
        lines = ["id,rate,verdict", *(f"{row['id']},{row['rate']},{truth[row['id']]}" for row in csv.DictReader(sheet))]
    (run.folder / file).write_text("\n".join(lines) + "\n")


def test_from_the_draw_to_corrected_accuracies(run: Workspace) -> None:
    before = run.times()
    configure(run)
    run.done()
    # Nothing that was there is made again but the report.
    assert run.changed_since(before) == {*SHEETS, "results/report.html"}
    assert "are waiting for labels" in (run.folder / "results/report.html").read_text()

    fill(run, "labels.csv")
    configure(run, labels="labels.csv")
    before = run.times()
    run.done()
    assert run.changed_since(before) == SUMMARIES
    assert run.done().idle
    found = tables.read(run.folder / "results/audit/corrected_accuracy.parquet", tables.CORRECTED_ACCURACY)
    assert set(found["judge"]) == {"truth", "strict", "overlap", "encoder"}
    assert set(found["labels"]) == {20, 40}
    one = found[(found["judge"] == "encoder") & (found["level"] == "model")].set_index(["model", "method"])
    for model in ("solid", "weak"):
        powered, plain = one.loc[(model, "ppi")], one.loc[(model, "human_labels")]
        assert powered["low"] <= plain["accuracy"] <= powered["high"]
    assert "PPI++" in (run.folder / "results/report.html").read_text()

    # The next sheet goes on where the first one ended, has the 10 answers of each model that are left, and both count.
    fill(run, "round2.csv")
    configure(run, labels=["labels.csv", "round2.csv"])
    before = run.times()
    result = run.done()
    assert run.changed_since(before) == SUMMARIES
    assert len(result.jobs) == 3
    found = tables.read(run.folder / "results/audit/corrected_accuracy.parquet", tables.CORRECTED_ACCURACY)
    assert set(found["labels"]) == {30, 60}

    (run.folder / "labels.csv").write_text("id,verdict\nfeedfeedfeedfeed,correct\n")
    before = run.contents()
    result = run.run()
    assert result.code != 0
    assert "belongs to no answer of this run" in result.text
    assert "Traceback" not in result.text
    assert run.contents() == before


def test_gold_stands_in_for_people_and_is_not_corrected_itself(run: Workspace) -> None:
    configure(run, labels_from="gold")
    run.done("audit")
    found = tables.read(run.folder / "results/audit/corrected_accuracy.parquet", tables.CORRECTED_ACCURACY)
    assert set(found["judge"]) == {"strict", "overlap", "encoder"}
    assert run.done("audit").idle
