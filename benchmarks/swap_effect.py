"""Effect of swap augmentation and of dropped references on an encoder that compares pairs, where it learns something.

    BERT_JUDGE_DATA=… python benchmarks/swap_effect.py --start results/judges/bert [--cores 2] [--leaning 0.8] [--kinds symmetric]

Pairs of a correct and an incorrect answer to the same NQ-open question, by human labels of single answers, with references. The
encoder starts from a pointwise judge whose training questions are these training questions; the test questions are new to both.
It is trained on two files: in one the correct answer comes first in half of the pairs, in the other in most of them, as in files
that list the preferred answer first. Some encoders read one order at a time, others are symmetric by construction; all take the
same number of steps. Prints agreement, consistency and position bias with 95% intervals over questions, with and without
references, and the effect of each augmentation, or of symmetry. Finished work is reused.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pairwise_agreement as common
import pandas as pd

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.runtime import keyed_random

FILE = "nq_open_human.parquet"
TRAINED = "even", "leaning"
TESTED = "with_references", "without_references"
RULES = ("longer", "overlap", "random")
# What the judges differ in; all other settings are the same.
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"compare": "single_order", "augment": {}},
    "swap": {"compare": "single_order", "augment": {"swap": 0.5}},
    "both_orders": {"compare": "single_order", "augment": {"both_orders": 1.0}},
    "drop_reference": {"compare": "single_order", "augment": {"both_orders": 1.0, "drop_reference": 0.5}},
    "support_reference": {"compare": "single_order", "augment": {"both_orders": 1.0, "support_reference": 0.5}},
    "symmetric": {"compare": "symmetric", "augment": {}},
    "pointwise": {"compare": "pointwise", "augment": {}},
}
# Which kinds learn from which file, and what each is held against: another kind that learns from it, or a rule.
Compared = Mapping[str, Mapping[str, tuple[str, ...]]]
JUDGES: Compared = {
    "even": {
        "plain": (),
        "swap": ("plain",),
        "both_orders": ("plain",),
        "drop_reference": ("both_orders",),
        "support_reference": ("both_orders",),
        "symmetric": ("both_orders", "overlap"),
        "pointwise": ("both_orders", "overlap"),
    },
    "leaning": {"plain": (), "swap": ("plain",), "both_orders": ("plain",), "symmetric": ("both_orders", "overlap")},
}
WEIGHTS = "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--start", type=Path, required=True, help="folder of a trained judge of single answers")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument(
        "--leaning", type=float, default=0.8, help="share of the pairs whose right answer stands first, in the second file"
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="how encoders learn; all when left out"
    )
    parser.add_argument("--folder", type=Path, default=Path("results/.work/swap_effect"), help="where the run lies")
    options = parser.parse_args()
    folder = options.folder.resolve()
    write_encoder(options.start, folder / "encoder")
    write_pairs(Path(os.environ["BERT_JUDGE_DATA"]) / FILE, folder, {"even": 0.5, "leaning": options.leaning})
    compared = chosen(options.kinds)
    run = configuration(folder, options.epochs, compared)
    results = common.ranked(run, folder, options.cores)
    agreement = tables.read(results / "pair_agreement.parquet", tables.PAIR_AGREEMENT).query("level == 'all'")
    for name in TESTED:
        own = agreement[agreement["set"] == name]
        n = own[own["measure"] == "agreement"].iloc[0]
        print(f"\n## {name}: {n['n']} pairs, {n['questions']} questions\n")
        print(common.measures(own).to_markdown(index=False))
        print("\n" + effects(common.preferences(results, run, name), compared).to_markdown(index=False))
    return 0


def write_encoder(judge: Path, folder: Path) -> None:
    """The encoder of a judge as a backbone: its weights and tokenizer, without its card and trees."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in WEIGHTS:
        if not (folder / name).exists():
            shutil.copyfile(judge / name, folder / name)


def write_pairs(answers: Path, folder: Path, first: dict[str, float]) -> None:
    """A file of pairs per share of those whose right answer stands first, and one without references.

    Args:
        answers: a table of answers with `question`, `references`, `candidate` and `label` (1 right, 0 wrong).
        first: name of the file → share.
    """
    rows = []
    for question, group in pd.read_parquet(answers).groupby("question", sort=True):
        right, wrong = (sorted(set(group.loc[group["label"] == label, "candidate"])) for label in (1, 0))
        for good, bad in itertools.product(right, wrong):
            rows.append({"question": question, "reference": list(group["references"].iloc[0]), "good": good, "bad": bad})
    found = pd.DataFrame(rows)
    point = pd.Series([keyed_random.fraction("place", *row) for row in found[["question", "good", "bad"]].itertuples(index=False)])
    for name, share in first.items():
        ahead = point < share
        made = found[["question", "reference"]].assign(
            answer_a=found["good"].where(ahead, found["bad"]),
            answer_b=found["bad"].where(ahead, found["good"]),
            label=ahead.map({True: "A", False: "B"}),
        )
        made.to_parquet(folder / f"{name}.parquet", index=False)
        if name == "even":
            made.drop(columns="reference").to_parquet(folder / "bare.parquet", index=False)


def chosen(kinds: list[str]) -> Compared:
    """The part of `JUDGES` with these kinds."""
    return {
        file: {kind: tuple(base for base in bases if base in (*RULES, *kinds)) for kind, bases in judges.items() if kind in kinds}
        for file, judges in JUDGES.items()
    }


def configuration(folder: Path, epochs: float, compared: Compared) -> dict[str, Any]:
    judges: dict[str, Any] = {rule: {"kind": "pairwise", "rule": rule} for rule in RULES}
    for file, kinds in compared.items():
        for kind in kinds:
            # As many steps for each: copies of rows take the place of passes over them.
            copies = sum(KINDS[kind]["augment"].get(name, 0) for name in ("both_orders", "support_reference"))
            judges[f"{file}_{kind}"] = {
                "kind": "pairwise",
                "pairs": f"{file}_train",
                **KINDS[kind],
                "backbone": str(folder / "encoder"),
                "max_length": 192,
                "training": {"epochs": epochs / (1 + copies)},
            }
    tested = {"question_split": [0.7, 1], "judges": list(judges)}
    # Models, tasks and what scores them are of no use here, and must be there.
    run = config_files.load([common.CONFIG])
    return {
        **{name: run[name] for name in ("models", "tasks", "scorers", "gold") if name in run},
        "data": str(folder),
        "imports": {name: {"path": f"{name}.parquet"} for name in (*TRAINED, "bare")},
        "pairs": {
            **{f"{name}_train": {"from": name, "question_split": [0, 0.7]} for name in TRAINED},
            "with_references": {"from": "even", **tested},
            "without_references": {"from": "bare", **tested},
        },
        "judges": {**judges, **{name: run["judges"][name] for name in run["scorers"]}},
    }


def effects(said: pd.DataFrame, compared: Compared) -> pd.DataFrame:
    """What each kind of judge changes against what it is held against."""
    tried = [(file, kind, base) for file, kinds in compared.items() for kind, bases in kinds.items() for base in bases]
    lines = []
    for file, kind, base in tried:
        other = base if base in RULES else f"{file}_{base}"
        lines.append({"learnt from": file, "judge": kind, "against": base, **common.changes(said, f"{file}_{kind}", other)})
    return pd.DataFrame(lines)


if __name__ == "__main__":
    sys.exit(main())
