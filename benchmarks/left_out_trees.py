"""Agreement of a judge's gradient-boosted trees on files that are not in their training set: minutes, where
`human_agreement.py --left-out` takes hours.

    BERT_JUDGE_DATA=… python benchmarks/left_out_trees.py [--cores 2] [--rows 3000]

Builds the training rows of configs/general.yaml with the workflow. For each file it fits the trees without its rows and
prints, on the file's test questions: agreement with the labels at log-odds of 0, the same with prior-shift correction (judge kind
`prior_shift`), AUROC, and agreement at the best threshold in hindsight, next to a rule and to trees that were trained on the
file. Encoder and calibration are not involved: a change of training rows, features or trees that helps here is worth a full
training.
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
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.judges.bert import stacker
from bert_judge.judges.prior_shift import PriorShiftJudgeConfig
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.features import FeatureExtractor

RULE = "rouge_l_recall_lenient"
PRIOR_STRENGTH = PriorShiftJudgeConfig.model_fields["prior_strength"].default


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
        lines.append(line(source, right, ruled, (unseen, base_rate(rows[kept])), (seen, base_rate(rows))))
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


def base_rate(rows: pd.DataFrame) -> float:
    """The share of right answers that trees grown on these rows take for granted."""
    return float(np.average(rows["label"], weights=rows["weight"]))


def line(
    source: str, right: np.ndarray, ruled: np.ndarray, unseen: tuple[np.ndarray, float], seen: tuple[np.ndarray, float]
) -> dict[str, Any]:
    """Shares in %.

    Args:
        unseen, seen: logits of trees that did not see the file, or did, and the share of right answers that they take for granted.
    """
    by_score = right[np.argsort(-unseen[0], kind="stable")]
    # When the first 0, 1, 2, … of the ranking are called right.
    agreed = (~right).sum() + np.concatenate([[0], np.cumsum(np.where(by_score, 1, -1))])
    return {
        "file": source,
        "n": len(right),
        "right": 100 * right.mean(),
        RULE: 100 * np.mean(ruled == right),
        "trees, file never seen": 100 * np.mean((unseen[0] >= 0) == right),
        "adapted": agreement_adapted(right, *unseen),
        "AUROC": 100 * roc_auc_score(right, unseen[0]),
        "at the best threshold": 100 * agreed.max() / len(right),
        "trees, new questions": 100 * np.mean((seen[0] >= 0) == right),
        "adapted, new questions": agreement_adapted(right, *seen),
    }


def agreement_adapted(right: np.ndarray, logits: np.ndarray, prior: float) -> float:
    scores = expit(logits)
    told = shift_prior(scores, prior, estimate_base_rate(scores, prior, PRIOR_STRENGTH))
    return float(100 * np.mean((told >= 0.5) == right))


if __name__ == "__main__":
    sys.exit(main())
