"""Agreement of pairwise judges with humans on new questions, and their consistency.

    BERT_JUDGE_DATA=… python benchmarks/pairwise_agreement.py [--cores 2] [--epochs 2] [--max-length 192] [--files pandalm]

Runs the imported sets of configs/pairwise.yaml: encoders trained on one part of the questions of PandaLM and LLMBar, with and
without swap augmentation, and simple rules, tested on the other part. Prints agreement, consistency and biases with 95% intervals
over questions, each encoder against the best rule on the same pairs, and the effect of swap augmentation on the consistency of
the encoder that is not symmetric by construction. Finished work is reused.
`--files` trains and tests on one of the two files only: they reward opposite properties of an answer.
`--tiny-lm` adds a small language model that is fine-tuned from random weights on the same pairs (benchmarks/tiny_lm.py).
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

from bert_judge import plan, tables
from bert_judge.config import files as config_files
from bert_judge.evaluation import statistics
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.judges.pairwise import Pair, prompting
from bert_judge.runtime.bootstrap import Interval

CONFIG = Path("configs/pairwise.yaml")
FILES = ("pandalm", "llmbar")
SHARES = ("agreement", "agreement_one_order", "macro_f1", "consistency", "prefers_longer", "panel_agreement")
DIFFERENCES = ("position_bias", "length_bias")
TINY_LM = "tiny_lm"
# `all` would keep back what is wrong with a run.
QUIET = ("--quiet", "host", "progress", "reason", "rules")
SWAPPED = ("single_order_swapped", "single_order_both")
Run = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--max-length", type=int, default=192)
    parser.add_argument("--without", nargs="*", default=[], help="judges to leave out; none of the three single_order ones")
    parser.add_argument("--files", nargs="+", choices=FILES, default=FILES, help="to train and to test on")
    parser.add_argument("--folder", type=Path, default=Path("results/.work/pairwise_agreement"), help="where the run lies")
    parser.add_argument("--tiny-lm", action="store_true", help="add a small random language model that is tuned on the pairs")
    options = parser.parse_args()
    run = of_people(config_files.load([CONFIG]), options.epochs, options.max_length, options.without, options.files)
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.tiny_lm:
        add_tiny_lm(run, options.folder.resolve() / "tiny_lm", options.epochs)
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
        print(f"\n{swap_effect(said).to_markdown(index=False)}")
    return 0


def of_people(
    run: Run, epochs: float, max_length: int, without: Sequence[str] = (), files: Sequence[str] = FILES
) -> dict[str, Any]:
    """The part of the run that people's labels in these files are about, without these judges, trained with these settings."""
    made = copy.deepcopy(dict(run))
    for entry in made["pairs"].values():
        entry["judges"] = [judge for judge in entry.get("judges", []) if judge not in without]
    made["pairs"] = {name: entry for name, entry in made["pairs"].items() if entry.get("from") in files}
    made["imports"] = {name: entry for name, entry in made["imports"].items() if name in files}
    used = {*made["scorers"], *(judge for entry in made["pairs"].values() for judge in entry.get("judges", []))}
    made["judges"] = {name: entry for name, entry in made["judges"].items() if name in used}
    for entry in made["judges"].values():
        if "pairs" in entry:
            # As many steps for each: copies of rows take the place of passes over them.
            passes = epochs / (1 + entry.get("augment", {}).get("both_orders", 0))
            entry["pairs"] = [name for name in entry["pairs"] if name in made["pairs"]]
            entry |= {"max_length": max_length, "training": {**entry.get("training", {}), "epochs": passes}}
    return made


def ranked(run: Run, folder: Path, cores: int) -> Path:
    """Compare all pairs of a run that lies in a folder of its own; returns its results."""
    (folder / "config.yaml").write_text(yaml.safe_dump(run, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *QUIET, "--snakefile", "Snakefile"]
    command += ["--directory", str(folder), "--configfile", str(folder / "config.yaml"), "--", "ranks"]
    subprocess.run(command, check=True)
    return folder / "results"


def add_tiny_lm(run: dict[str, Any], folder: Path, epochs: float) -> None:
    """Add a language model that learns from the pairs of people and compares what the encoders compare.

    Args:
        folder: where the model lies, or will.
        epochs: of its tuning.
    """
    if not (folder / "tokenizer.json").is_file():
        # Only here: it brings torch.
        import tiny_lm

        files = [entry["path"] for entry in plan.resolve_paths(run, [])["imports"].values()]
        frames = [pd.read_parquet(path, columns=["question", "answer_a", "answer_b"]) for path in files]
        instructions = prompting.build_prompt(prompting.render_pair(Pair("", "", "x"), 0, 1000), prompting.TUNED)
        tiny_lm.write(folder, [text for frame in frames for text in frame.stack().astype(str)] + [instructions] * 100)
    run["judges"][TINY_LM] = {
        "kind": "pairwise",
        "pairs": sorted(name for name, entry in run["pairs"].items() if not entry.get("judges")),
        "model": {"generator": "hf", "model": str(folder), "dtype": "float32"},
        "scores": True,
        "reasoning": False,
        "augment": {"both_orders": 1.0},
        "max_answer_chars": 2000,
        "tuning": {"method": "full", "epochs": epochs, "learning_rate": 1e-3, "warmup_ratio": 0.1},
    }
    for entry in run["pairs"].values():
        if entry.get("judges"):
            entry["judges"] = [*entry["judges"], TINY_LM]


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
        lead, floor = (statistics.paired_difference(right[judge], other, said["sample_id"]) for other in (right[best], common))
        lines.append({"judge": judge, f"agrees more than {best}": shown(lead, "+"), f"than {MAJORITY}": shown(floor, "+")})
    return pd.DataFrame(lines)


def swap_effect(said: pd.DataFrame) -> pd.DataFrame:
    """What swap augmentation changes, of the encoder that reads one order at a time."""
    return pd.DataFrame([{"against single_order": judge, **changes(said, judge, "single_order")} for judge in SWAPPED])


def changes(said: pd.DataFrame, judge: str, base: str) -> dict[str, str]:
    """Consistency and agreement of a judge minus those of another on the same pairs."""
    consistent = [said[f"{name} consistent"].astype(bool) for name in (judge, base)]
    right = [said[name] == said["label"] for name in (judge, base)]
    more, better = (statistics.paired_difference(*both, said["sample_id"]) for both in (consistent, right))
    return {"consistency": shown(more, "+"), "agreement": shown(better, "+")}


if __name__ == "__main__":
    sys.exit(main())
