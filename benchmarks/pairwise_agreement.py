"""How far judges of two answers agree with people on questions that they never saw, and whether they contradict themselves.

    BERT_JUDGE_DATA=… python benchmarks/pairwise_agreement.py [--cores 2] [--epochs 2] [--max-length 192] [--without apart]

Runs the imported sets of configs/pairwise.yaml: encoders that learn from one part of the questions of PandaLM and LLMBar, with and
without swap augmentation, and rules that understand nothing, on the other part. Prints agreement, consistency and what else moves a
judge, with 95% intervals over questions; each encoder against the best rule on the same pairs; and what swapping the answers in
training does to the consistency of the encoder that is not symmetric by construction. What is done already is not done again.
"""

from __future__ import annotations

import argparse
import copy
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.evaluation import statistics
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.statistics import Interval

CONFIG = Path("configs/pairwise.yaml")
SETS = ("pandalm_test", "llmbar_test")
SHARES = ("agreement", "agreement_one_order", "macro_f1", "consistency", "longer", "panel")
DIFFERENCES = ("place_bias", "longer_excess")
SWAPPED = ("ordered_swapped", "ordered_both")
Run = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--max-length", type=int, default=192)
    parser.add_argument("--without", nargs="*", default=[], help="judges to leave out; none of the three ordered ones")
    parser.add_argument("--folder", type=Path, default=Path("results/.work/pairwise_agreement"), help="where the run lies")
    options = parser.parse_args()
    run = of_people(config_files.load([CONFIG]), options.epochs, options.max_length, options.without)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "config.yaml").write_text(yaml.safe_dump(run, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores), "--quiet", "all", "--snakefile", "Snakefile"]
    command += ["--directory", str(options.folder), "--configfile", str(options.folder / "config.yaml"), "--", "ranks"]
    subprocess.run(command, check=True, env=os.environ)
    results = options.folder / "results"
    agreement = tables.read(results / "pair_agreement.parquet", tables.PAIR_AGREEMENT).query("level == 'all'")
    encoders = [name for name, entry in run["judges"].items() if "pairs" in entry]
    for name in SETS:
        own = agreement[agreement["set"] == name]
        n = own[own["measure"] == "agreement"].iloc[0]
        print(f"\n## {name}: {n['n']} pairs, {n['questions']} questions\n")
        print(measures(own).to_markdown(index=False))
        said = preferences(results, run, name)
        print("\n" + against_best_rule(own, said, encoders).to_markdown(index=False))
        print(f"\n{swap_effect(said).to_markdown(index=False)}")
    return 0


def of_people(run: Run, epochs: float, max_length: int, without: Sequence[str] = ()) -> dict[str, Any]:
    """The part of the run that people's labels are about, with these settings of the training and without these judges."""
    made = copy.deepcopy(dict(run))
    for entry in made["pairs"].values():
        entry["judges"] = [judge for judge in entry.get("judges", []) if judge not in without]
    made["pairs"] = {name: entry for name, entry in made["pairs"].items() if "from" in entry}
    used = {*made["score_with"], *(judge for entry in made["pairs"].values() for judge in entry.get("judges", []))}
    made["judges"] = {name: entry for name, entry in made["judges"].items() if name in used}
    for entry in made["judges"].values():
        if "pairs" in entry:
            entry |= {"max_length": max_length, "training": {**entry.get("training", {}), "epochs": epochs}}
    return made


def measures(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per judge in percent, kappa as it is."""
    lines = []
    for judge, told in rows.groupby("judge", sort=False):
        cells = {row.measure: Interval(row.value, row.low, row.high) for row in told.itertuples()}
        line = {"judge": judge}
        for measure in (*SHARES, *DIFFERENCES):
            line[measure] = shown(cells[measure], "+" if measure in DIFFERENCES else "") if measure in cells else "–"
        lines.append(line)
    return pd.DataFrame(lines)


def shown(interval: Interval, sign: str = "") -> str:
    if pd.isna(interval.value):
        return "–"
    return f"{100 * interval.value:{sign}.1f} [{100 * interval.low:{sign}.1f}, {100 * interval.high:{sign}.1f}]"


def preferences(results: Path, run: Run, name: str) -> pd.DataFrame:
    """The set's labelled pairs with the verdict and the consistency of each judge."""
    frame = tables.read(results / f"pairs/{name}/imported.parquet", tables.PAIRS)[["pair_id", "sample_id", "label"]]
    frame = frame[frame["label"].notna()]
    for judge in run["pairs"][name]["judges"]:
        said = tables.read(results / f"labels/{judge}/pairs/{name}.parquet", tables.PREFERENCES)
        said = said[["pair_id", "verdict", "consistent"]].rename(columns={"verdict": judge, "consistent": f"{judge} consistent"})
        frame = frame.merge(said, on="pair_id", validate="one_to_one")
    return frame


def against_best_rule(rows: pd.DataFrame, said: pd.DataFrame, encoders: list[str]) -> pd.DataFrame:
    """Agreement of each encoder minus that of the rule that agrees best, chosen with hindsight, on the same pairs."""
    agreement = rows[rows["measure"] == "agreement"].set_index("judge")["value"]
    rules = [judge for judge in said.columns if judge in agreement and judge not in encoders]
    best = str(agreement[rules].idxmax())
    right = {judge: (said[judge] == said["label"]).to_numpy() for judge in (best, *encoders)}
    common = (said["label"] == said["label"].value_counts().idxmax()).to_numpy()
    lines = []
    for judge in encoders:
        lead, floor = (statistics.paired_difference(right[judge], other, said["sample_id"]) for other in (right[best], common))
        lines.append({"encoder": judge, f"agrees more than {best}": shown(lead, "+"), f"than {MAJORITY}": shown(floor, "+")})
    return pd.DataFrame(lines)


def swap_effect(said: pd.DataFrame) -> pd.DataFrame:
    """Consistency and agreement with swap augmentation minus without it, of the encoder that reads one order at a time."""
    lines = []
    for judge in SWAPPED:
        consistent = [said[f"{name} consistent"].astype(bool) for name in (judge, "ordered")]
        right = [said[name] == said["label"] for name in (judge, "ordered")]
        more, better = (statistics.paired_difference(*both, said["sample_id"]) for both in (consistent, right))
        lines.append({"against ordered": judge, "consistency": shown(more, "+"), "agreement": shown(better, "+")})
    return pd.DataFrame(lines)


if __name__ == "__main__":
    sys.exit(main())
