"""Agreement of pairwise judges with humans on new questions, and their consistency.

    BERT_JUDGE_DATA=… python benchmarks/pairwise_agreement.py [--cores 2] [--epochs 2] [--max-length 192] [--files pandalm]

Runs the imported sets of configs/pairwise.yaml: an encoder trained on one part of the questions of PandaLM and LLMBar, and simple
rules, tested on the other part. Prints agreement, consistency and biases with 95% intervals over questions, and the encoder against
the best rule on the same pairs. Finished work is reused.
`--files` trains and tests on one of the two files only: they reward opposite properties of an answer.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.statistics import intervals
from bert_judge.statistics.bootstrap import Interval

CONFIG = Path("configs/pairwise.yaml")
FILES = ("pandalm", "llmbar")
SHARES = ("agreement", "agreement_one_order", "macro_f1", "consistency", "prefers_longer", "panel_agreement")
DIFFERENCES = ("position_bias", "length_bias")
# `all` would keep back what is wrong with a run.
QUIET = ("--quiet", "host", "progress", "reason", "rules")
Run = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--max-length", type=int, default=192)
    parser.add_argument("--files", nargs="+", choices=FILES, default=FILES, help="to train and to test on")
    parser.add_argument("--folder", type=Path, default=Path("results/.work/pairwise_agreement"), help="where the run lies")
    options = parser.parse_args()
    run = of_people(config_files.load([CONFIG]), options.epochs, options.max_length, options.files)
    options.folder.mkdir(parents=True, exist_ok=True)
    results = ranked(run, options.folder, options.cores)
    agreement = tables.read(results / "pair_agreement.parquet", tables.PAIR_AGREEMENT).query("level == 'all'")
    trained = [name for name, entry in run["judges"].items() if "pairs" in entry]
    for name in (f"{file}_test" for file in options.files):
        own = agreement[agreement["set"] == name]
        n = own[own["measure"] == "agreement"].iloc[0]
        print(f"\n## {name}: {n['n']} pairs, {n['questions']} questions\n")
        print(measures(own).to_markdown(index=False))
        said = preferences(results, run, name)
        print("\n" + against_best_rule(own, said, trained).to_markdown(index=False))
    return 0


def of_people(run: Run, epochs: float, max_length: int, files: Sequence[str] = FILES) -> dict[str, Any]:
    """The part of the run that people's labels in these files are about, trained with these settings."""
    made = copy.deepcopy(dict(run))
    made["pairs"] = {name: entry for name, entry in made["pairs"].items() if entry.get("from") in files}
    made["imports"] = {name: entry for name, entry in made["imports"].items() if name in files}
    used = {*made["scorers"], *(judge for entry in made["pairs"].values() for judge in entry.get("judges", []))}
    made["judges"] = {name: entry for name, entry in made["judges"].items() if name in used}
    for entry in made["judges"].values():
        if "pairs" in entry:
            entry["pairs"] = [name for name in entry["pairs"] if name in made["pairs"]]
            entry |= {"max_length": max_length, "training": {**entry.get("training", {}), "epochs": epochs}}
    return made


def ranked(run: Run, folder: Path, cores: int) -> Path:
    """Compare all pairs of a run that lies in a folder of its own; returns its results."""
    (folder / "config.yaml").write_text(yaml.safe_dump(run, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *QUIET, "--snakefile", "Snakefile"]
    command += ["--directory", str(folder), "--configfile", str(folder / "config.yaml"), "--", "ranks"]
    subprocess.run(command, check=True)
    return folder / "results"


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
    parts = [tables.read(path, tables.PAIRS) for path in sorted((results / "pairs" / name).glob("*.parquet"))]
    frame = pd.concat(parts, ignore_index=True)[["pair_id", "sample_id", "label"]]
    frame = frame[frame["label"].notna()]
    for judge in run["pairs"][name]["judges"]:
        said = tables.read(results / f"labels/{judge}/pairs/{name}.parquet", tables.PREFERENCES)
        said = said[["pair_id", "verdict", "consistent"]].rename(columns={"verdict": judge, "consistent": f"{judge} consistent"})
        frame = frame.merge(said, on="pair_id", validate="one_to_one")
    return frame


def against_best_rule(rows: pd.DataFrame, said: pd.DataFrame, trained: list[str]) -> pd.DataFrame:
    """Agreement of each trained judge minus that of the rule that agrees best, chosen with hindsight, on the same pairs."""
    agreement = rows[rows["measure"] == "agreement"].set_index("judge")["value"]
    rules = [judge for judge in said.columns if judge in agreement and judge not in trained]
    best = str(agreement[rules].idxmax())
    right = {judge: (said[judge] == said["label"]).to_numpy() for judge in (best, *trained)}
    common = (said["label"] == said["label"].value_counts().idxmax()).to_numpy()
    lines = []
    for judge in trained:
        lead, floor = (intervals.paired_difference(right[judge], other, said["sample_id"]) for other in (right[best], common))
        lines.append({"judge": judge, f"agrees more than {best}": shown(lead, "+"), f"than {MAJORITY}": shown(floor, "+")})
    return pd.DataFrame(lines)


if __name__ == "__main__":
    sys.exit(main())
