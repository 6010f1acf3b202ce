"""What swapping the answers in training does to an encoder that reads one order at a time, where there is something to learn.

    python benchmarks/swap_consistency.py [--cores 2] [--rows 150] [--epochs 3]

People's pairs teach a small encoder nothing (benchmarks/pairwise_agreement.py), so swapping cannot show its worth there. These
pairs are simulated: two answers to one question with its references in sight, labelled by the known truth. The encoders differ in
the augmentation alone and take as many steps; one that is symmetric by construction stands beside them. Prints agreement,
consistency and place bias with 95% intervals over questions, and the differences that swapping makes. What is done already is not
done again.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pairwise_agreement import CONFIG, measures, preferences, swap_effect

from bert_judge import tables
from bert_judge.config import files as config_files

LEARNT, TESTED = "facts_train", "facts"
AUGMENTED: Mapping[str, Mapping[str, float]] = {
    "ordered": {},
    "ordered_swapped": {"swap": 0.5},
    "ordered_both": {"both_orders": 1.0},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rows", type=int, default=150, help="questions for two models; a third of them to test on")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--folder", type=Path, default=Path("results/.work/swap_consistency"), help="where the run lies")
    options = parser.parse_args()
    run = of_simulated(config_files.load([CONFIG]), options.rows, options.epochs)
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "config.yaml"
    path.write_text(yaml.safe_dump(run, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores), "--quiet", "all", "--snakefile", "Snakefile"]
    subprocess.run([*command, "--directory", str(options.folder), "--configfile", str(path), "--", "ranks"], check=True)
    results = options.folder / "results"
    agreement = tables.read(results / "pair_agreement.parquet", tables.PAIR_AGREEMENT)
    own = agreement.query("level == 'all' and set == @TESTED")
    n = own[own["measure"] == "agreement"].iloc[0]
    print(f"{n['n']} simulated pairs, {n['questions']} questions\n")
    print(measures(own).to_markdown(index=False))
    print(f"\n{swap_effect(preferences(results, run, TESTED)).to_markdown(index=False)}")
    return 0


def of_simulated(run: Mapping[str, Any], rows: int, epochs: float) -> dict[str, Any]:
    """The simulated part of the run, its judge in four forms."""
    made = copy.deepcopy({key: value for key, value in run.items() if key != "imports"})
    made["pairs"] = {name: entry for name, entry in made["pairs"].items() if "from" not in entry}
    model = made["judges"]["facts_better"]
    judges: dict[str, Any] = {made["gold"]: made["judges"][made["gold"]], "longer": made["judges"]["longer"]}
    judges["mirrored"] = model | {"compare": "mirrored", "training": {"epochs": epochs}}
    for name, augment in AUGMENTED.items():
        # As many steps for each: copies of rows take the place of passes over them.
        passes = epochs / (1 + augment.get("both_orders", 0))
        judges[name] = model | {"compare": "ordered", "augment": dict(augment), "training": {"epochs": passes}}
    made["judges"] = judges
    made["pairs"][LEARNT]["rows"] = rows
    made["pairs"][TESTED] |= {"rows": rows // 3, "judges": [*AUGMENTED, "mirrored", "longer"]}
    return made


if __name__ == "__main__":
    sys.exit(main())
