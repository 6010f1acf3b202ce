"""Agreement with people against the number of one's own labels, from the general judge and from the bare encoder.

    BERT_JUDGE_DATA=… python benchmarks/own_labels.py [--files nq_open scientsbank] [--labels 50 200 600] [--start-rows 7000]
    BERT_JUDGE_DATA=… python benchmarks/own_labels.py --recalibrate 20 50 100 [--draws 20] [--judge FOLDER]

For each file a judge is trained on rows of all other files of configs/general.yaml, by default on 7,000 for one epoch, so that two
CPU cores suffice; the judge in the package was trained on 56,447 for two epochs, three times. Then `bert-judge train` gets labelled
answers to training questions of the file, and starts from that judge or from the encoder `minilm`. As always, it holds out 20%
of their questions for its own test and 16% for calibration. Prints accuracy in % and AUROC with 95% intervals over questions, on
answers to the file's test questions.

With `--recalibrate`, the judge (`--judge`; by default the one trained without the file) is recalibrated instead, on so many random
labels, `--draws` times. Prints the mean accuracy over the draws, and that of the worst draw, in %.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import human_agreement
import numpy as np
import pandas as pd
import scipy.special
import train_general
from human_agreement import Run

from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.plan import build_plan
from bert_judge.tables import question_point

WORK = Path("results/.work/own_labels")
ENCODER = "minilm"
# Keeps scores from 0 and 1, so that blank answers have a logit.
EPSILON = 1e-6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--files", nargs="+", default=["nq_open", "scientsbank"], help="imports of configs/general.yaml")
    parser.add_argument("--labels", type=int, nargs="+", default=[50, 200, 600])
    parser.add_argument("--start-rows", type=int, default=7000, help="training rows of the judge to start from")
    parser.add_argument("--test-rows", type=int, default=1500, help="test answers per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--recalibrate", type=int, nargs="+", default=[], help="numbers of labels to recalibrate on, instead")
    parser.add_argument("--draws", type=int, default=20, help="random sets of labels for each number")
    parser.add_argument("--judge", help="judge to recalibrate, which was trained without the files")
    options = parser.parse_args()
    run = config_files.load([train_general.CONFIG])
    train_general.build_test_tables(run, options.files, options.cores)
    spec = build_plan(run, [train_general.CONFIG]).training_spec(train_general.JUDGE)
    data = train_general.build_dataset(spec, options.cores)
    spec = {**spec, "training": {**spec["training"], "epochs": 1.0}}
    lines = []
    for source in options.files:
        test = human_agreement.answers(run, source)
        test = test.sample(min(options.test_rows, len(test)), random_state=options.seed)
        if options.recalibrate and options.judge:
            lines += recalibrations(options.judge, own_labels(run, source, data.train), test, source, options)
            continue
        start = WORK / f"without_{source}"
        others = train_general.without(data, run, [source])
        sample = others.train.sample(min(options.start_rows, len(others.train)), random_state=options.seed)
        train_general.train_judge(spec, replace(others, train=sample), [options.seed], start, int8=False)
        if options.recalibrate:
            lines += recalibrations(start, own_labels(run, source, data.train), test, source, options)
            continue
        lines.append({"file": source, "labels": 0, "from the other files": measure(start, test), "from the encoder": "–"})
        print(f"==> {lines[-1]}", file=sys.stderr, flush=True)
        labelled = own_labels(run, source, data.train).sample(frac=1, random_state=options.seed)
        for count in options.labels:
            judges = {column: train(labelled.head(count), path, source) for column, path in starts(start).items()}
            lines.append({"file": source, "labels": count, **{column: measure(judge, test) for column, judge in judges.items()}})
            print(f"==> {lines[-1]}", file=sys.stderr, flush=True)
    print(pd.DataFrame(lines).to_markdown(index=False))
    return 0


def starts(judge: Path) -> dict[str, str]:
    return {"from the other files": str(judge), "from the encoder": ENCODER}


def own_labels(run: Run, source: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the labelled answers of a file's training questions, without augmented ones."""
    tasks = [task for task, entry in run["tasks"]["imported"].items() if entry["from"] == source]
    own = rows[rows["task"].isin(tasks) & ~rows["model"].str.startswith("synthetic-")]
    return own[["question", "references", "candidate", "label"]]


def train(rows: pd.DataFrame, start: str, source: str) -> Path:
    """Train a judge on labelled answers as a user does."""
    file, folder = WORK / f"{source}.jsonl", WORK / source / f"{len(rows)}_{Path(start).name}"
    folder.parent.mkdir(exist_ok=True)
    rows.to_json(file, orient="records", lines=True, force_ascii=False)
    program = Path(sys.executable).with_name("bert-judge")
    # The part of a question depends on its text alone, and these are all from the training part of the file.
    test = 1 - rows["question"].map(question_point).quantile(0.8)
    command = [str(program), "train", str(file), "-o", str(folder), "--from", start, "--test", f"{test:.3f}", "--force"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def recalibrations(
    start: str | Path, labelled: pd.DataFrame, test: pd.DataFrame, source: str, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Recalibrate a judge on random labels; return a line per number of labels with its accuracy in % on the test rows."""
    judge = BERTJudge(start, early_exit=False)
    metadata, trees = judge.checkpoint.metadata, judge.trees
    labels = (test["verdict"] == "correct").to_numpy()
    logits = scipy.special.logit(np.clip(judge.predict(*human_agreement.columns(test)), EPSILON, 1 - EPSILON))
    before = 100 * float(((logits >= 0) == labels).mean())
    lines = []
    for count in options.recalibrate:
        accuracies = []
        for draw in range(options.draws):
            rows = labelled.sample(count, random_state=options.seed + draw)
            judge.checkpoint.metadata, judge.trees = metadata, trees
            fitted = judge.recalibrate(*human_agreement.columns(rows), rows["label"].tolist())
            accuracies.append(100 * float(((fitted["slope"] * logits + fitted["offset"] >= 0) == labels).mean()))
        cells = {"before": before, "recalibrated": float(np.mean(accuracies)), "worst draw": min(accuracies)}
        lines.append({"file": source, "labels": count, **{name: f"{value:.1f}" for name, value in cells.items()}})
        print(f"==> {lines[-1]}", file=sys.stderr, flush=True)
    return lines


def measure(judge: Path, test: pd.DataFrame) -> str:
    loaded = BERTJudge(judge)
    scores = loaded.predict(*human_agreement.columns(test))
    verdicts = ["correct" if score >= loaded.threshold else "incorrect" for score in scores]
    labels = test[["sample_id"]].assign(verdict=verdicts, score=scores)
    found: dict[str, Any] = human_agreement.intervals(labels, (test["verdict"] == "correct").to_numpy())
    return f"{human_agreement.cell(found['accuracy'], 1)}; {human_agreement.cell(found['auroc'], 3)}"


if __name__ == "__main__":
    sys.exit(main())
