"""Measure each rule module on labelled answers, and say which may decide for the general judge.

    BERT_JUDGE_DATA=… python benchmarks/rule_modules.py [--rows N] [--examples N]

A module may decide with a verdict where at least 200 of its decisions were measured and at most 1% of them contradict the
label. Labels of people are noisy, so some contradictions are wrong labels: `--examples` lists them. Inference pairs are no
answers, and the labels of three files repeat a rule on words; they are left out.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from general_tables import MODULES as TABLE

from bert_judge import tables
from bert_judge.text.rules import MODULES, Decision, decide

CONFIG = Path("configs/general.yaml")
# The files of answers hardly contain formulas; the test cases of Math-Verify do.
MATH_SUITE = Path("tests/unit/judges/lexical/math_verify_suite.yaml")
# Label 0 means "no word in common" or "another wording": 49% for 0.49 counts as incorrect (docs/real_answers.md).
UNRELIABLE = ("tatqa", "hotpotqa", "chemlit")
MIN_DECISIONS, MAX_ERROR = 200, 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=4_000, help="labelled answers per file")
    parser.add_argument("--examples", type=int, default=0, help="contradicted decisions that are printed per module and verdict")
    options = parser.parse_args()
    decisions = measure_modules(options.rows)
    table = summarize(decisions)
    print(table.to_markdown())
    tables.write_json(TABLE, {"lines": table.reset_index().to_dict("records")})
    print(f"\nlog-odds that the others are right: {common_log_odds(table)}")
    for (module, verdict), rows in decisions[decisions["error"]].groupby(["module", "verdict"]):
        for row in rows.sample(min(options.examples, len(rows)), random_state=0).to_dict("records"):
            texts = [" ".join(str(row[name]).split())[-300:] for name in ("question", "references", "candidate")]
            print(f"\n{module}, {verdict}, {row['source']}: {row['reason']}", *texts, sep="\n    ")


def measure_modules(rows_per_file: int) -> pd.DataFrame:
    """Return one row per answer and module that decides it, in the order of the modules.

    Columns: row (number of the answer), module, verdict, reason, source, error (whether it contradicts the label), and the texts.
    """
    records = []
    number = itertools.count()
    for source, rows in _labelled_answers():
        for row in rows.sample(min(rows_per_file, len(rows)), random_state=0).to_dict("records"):
            common = {"row": next(number), "source": source}
            texts = {name: row[name] for name in ("question", "references", "candidate")}
            for decision in _all_decisions(row["question"] or "", list(row["references"]), row["candidate"]):
                error = decision.correct != bool(row["label"])
                values = {"module": decision.module, "verdict": decision.verdict, "reason": decision.reason, "error": error}
                records.append({**common, **values, **texts})
    return pd.DataFrame(records)


def _all_decisions(question: str, references: list[str], candidate: str) -> Iterator[Decision]:
    """Yield the decision of the first module that decides, then those of the modules that decide if it may not, and so on."""
    allowed = {module.name: {"correct", "incorrect"} for module in MODULES}
    while decision := decide(question, references, candidate, allowed=allowed):
        yield decision
        allowed[decision.module].remove(decision.verdict)


def _labelled_answers() -> Iterator[tuple[str, pd.DataFrame]]:
    suite = pd.DataFrame(yaml.safe_load(MATH_SUITE.read_text(encoding="utf-8")), columns=["gold", "candidate", "label"])
    yield "math_verify_suite", suite.assign(question="", references=suite["gold"].map(lambda gold: [gold]))
    run = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    trained = trained_sources(run)
    for source, entry in run["imports"].items():
        if source not in trained or source.startswith("nli_") or source in UNRELIABLE:
            continue
        rows = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / entry["path"])
        rows["label"] = pd.to_numeric(rows[entry.get("columns", {}).get("label", "label")], errors="coerce")
        yield source, rows[rows["label"].isin([0, 1]) & (rows["references"].map(len) > 0) & rows["candidate"].notna()]


def trained_sources(run: Mapping[str, Any]) -> set[str]:
    """Return the imports of a configuration that its datasets are made of; the others are measured only."""
    return {run["tasks"]["imported"][task]["from"] for dataset in run["datasets"].values() for task in dataset["tasks"]}


def summarize(decisions: pd.DataFrame) -> pd.DataFrame:
    """Count decisions and errors per module and verdict; `decides`: the module may decide for the judge.

    An answer counts for the first module that may decide it. Modules with too many errors are left out first, then those with too
    few decisions, and the others are counted again, until all that remain are good enough. A module that contradicts the first one
    does not decide.
    """
    decisions = decisions[decisions["verdict"] == decisions.groupby("row")["verdict"].transform("first")]
    tables = []
    while True:
        first = decisions.drop_duplicates("row")
        table = first.groupby(["module", "verdict"])["error"].agg(decisions="size", errors="sum", error="mean")
        too_wrong, too_few = table["error"] > MAX_ERROR, table["decisions"] < MIN_DECISIONS
        left_out = table[too_wrong if too_wrong.any() else too_few]
        if left_out.empty:
            tables.append(table.assign(decides=True))
            return pd.concat(tables).sort_index().round({"error": 4})
        tables.append(left_out.assign(decides=False))
        decisions = decisions[[pair not in left_out.index for pair in zip(decisions["module"], decisions["verdict"], strict=True)]]


def common_log_odds(table: pd.DataFrame) -> float:
    """Return the log-odds that a decision of a module that may not decide is right, pooled: each has few decisions by itself."""
    others = table[~table["decides"]]
    errors = others["errors"].sum() + 1
    return round(math.log((others["decisions"].sum() - others["errors"].sum() + 1) / errors), 2)


if __name__ == "__main__":
    main()
