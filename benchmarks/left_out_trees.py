"""Agreement of a judge's gradient-boosted trees on files that are not in their training set: minutes, where
`human_agreement.py --left-out` takes hours.

    BERT_JUDGE_DATA=… python benchmarks/left_out_trees.py [--cores 2] [--rows 3000]

Builds the training rows of configs/general.yaml with the workflow. For each file it fits the trees without its rows and
prints, on the file's test questions: agreement with the labels at log-odds of 0, AUROC, and agreement at the best threshold in
hindsight, next to a rule and to trees that were trained on the file. Encoder and calibration are not involved: a change of
training rows, features or trees that helps here is worth a full training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import human_agreement
import numpy as np
import pandas as pd
from human_agreement import KEY
from sklearn.metrics import roc_auc_score

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.judges.bert import stacker
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.features import FeatureExtractor

RULE = "rouge_l_recall_lenient"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rows", type=int, default=3000, help="test answers per file, drawn from all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    run = config_files.load([human_agreement.CONFIG])
    [judge] = [entry for entry in run["judges"].values() if entry["kind"] == "bert"]
    sources = list(run["imports"])
    needed = [
        f"results/labels/{name}/{model}/{task}.parquet"
        for name in (run["gold"], RULE)
        for source in sources
        for model, task in human_agreement.tables_of(run, source)
    ]
    trained_on = f"results/datasets/{judge['dataset']}/train.parquet"
    human_agreement.snakemake(options.cores, [human_agreement.CONFIG], [trained_on, *needed])
    rows = tables.read(trained_on, tables.DATASET)
    origin = rows["task"].map({task: entry["from"] for task, entry in run["tasks"]["imported"].items()})
    extractor, lines = FeatureExtractor(options.cores), []
    known = features(rows, extractor)
    everything = stacker.fit_trees(known, rows["label"], rows["weight"], options.seed)
    for source in sources:
        test = answers(run, source, options.rows, options.seed)
        right, shown = (test["verdict"] == "correct").to_numpy(), features(test, extractor)
        kept = (origin != source).to_numpy()
        trees = stacker.fit_trees(known[kept], rows.loc[kept, "label"], rows.loc[kept, "weight"], options.seed)
        unseen, seen = (stacker.predict_tree_logits(grown, shown) for grown in (trees, everything))
        ruled = (test["ruled"] == "correct").to_numpy()
        lines.append(line(source, right, ruled, unseen, seen))
        print(f"==> {source}", file=sys.stderr, flush=True)
    print(pd.DataFrame(lines).to_markdown(index=False, floatfmt=".1f"))
    return 0


def features(rows: pd.DataFrame, extractor: FeatureExtractor) -> np.ndarray:
    """Those of rows with questions, references and candidates: shape (rows, features)."""
    questions = rows["question"].tolist()
    return extractor.extract(questions, *normalize_inputs(questions, rows["references"].tolist(), rows["candidate"].tolist()))


def answers(run: Mapping[str, Any], source: str, most: int, seed: int) -> pd.DataFrame:
    """Labelled test answers of a file, with `verdict`, and the rule's as `ruled`."""
    ruled = human_agreement.labels(run, source, RULE)[[*KEY, "verdict"]].rename(columns={"verdict": "ruled"})
    valid = human_agreement.answers(run, source).merge(ruled, on=KEY, validate="one_to_one")
    return valid.sample(min(most, len(valid)), random_state=seed)


def line(source: str, right: np.ndarray, ruled: np.ndarray, unseen: np.ndarray, seen: np.ndarray) -> dict[str, Any]:
    """Shares in %.

    Args:
        unseen, seen: logits of trees that did not see the file, or did.
    """
    by_score = right[np.argsort(-unseen, kind="stable")]
    # When the first 0, 1, 2, … of the ranking are called right.
    agreed = (~right).sum() + np.concatenate([[0], np.cumsum(np.where(by_score, 1, -1))])
    return {
        "file": source,
        "n": len(right),
        "right": 100 * right.mean(),
        RULE: 100 * np.mean(ruled == right),
        "trees, file never seen": 100 * np.mean((unseen >= 0) == right),
        "AUROC": 100 * roc_auc_score(right, unseen),
        "at the best threshold": 100 * agreed.max() / len(right),
        "trees, new questions": 100 * np.mean((seen >= 0) == right),
    }


if __name__ == "__main__":
    sys.exit(main())
