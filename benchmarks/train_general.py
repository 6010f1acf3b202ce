"""Train the general judge, or measure a judge on the test questions of the files that it was trained on.

    BERT_JUDGE_DATA=… python benchmarks/train_general.py [--seeds 0 1 2] [--rows N] [--output FOLDER]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --measure [FOLDER] [--test-rows N]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --leave-out [nq_open truthfulqa scientsbank shroom,asqa]

Dataset and labels are those of configs/general.yaml, built by the workflow. Training averages the weights of one training per seed,
rounds them to 8-bit integers and calibrates; the trees are those of the first seed. Each takes 20 minutes on two CPU
cores and a minute on a GPU; `--rows` takes fewer rows, for a trial. `--measure` trains nothing; without a folder it takes the judge
in the package.
`--leave-out` trains one judge per argument without any row of these imports and measures it on them; augmented rows of other files
may still borrow a short answer from them as an incorrect one.

Prints accuracy in %, macro-F1, AUROC and expected calibration error per task, of the judge, of its
scores corrected for prior shift, and of rules with fixed thresholds. An answer that a
rule finds invalid counts as incorrect.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import human_agreement
import numpy as np
import pandas as pd
import torch
from human_agreement import Run

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, local_folder, make_manifest
from bert_judge.config import Input, Training
from bert_judge.config import files as config_files
from bert_judge.encoder.checkpoint import round_weights
from bert_judge.encoder.judge_folder import read_metrics
from bert_judge.encoder.trainer import initialize_head
from bert_judge.judges.bert.judge import BERTJudge, CalibrationRows
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.prior_shift import PriorShiftJudgeConfig
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior
from bert_judge.judges.protocol import Row
from bert_judge.perturbations.augmentation import augment
from bert_judge.plan import Spec, build_plan
from bert_judge.runtime import resume
from bert_judge.runtime.logs import job_log
from bert_judge.statistics.metrics import classification_metrics

CONFIG = Path("configs/general.yaml")
JUDGE = "bert"
RULES = ("contains_lenient", "rouge_l_recall_lenient", "token_f1_lenient")
# Labelled by people; the labels of the other files come from rules, which a rule of the same kind reproduces.
HUMAN = ("nq_open", "truthfulqa", "scientsbank", "shroom", "asqa")
LEAVE_OUT = ["nq_open", "truthfulqa", "scientsbank", "shroom,asqa"]
PRIOR_STRENGTH = PriorShiftJudgeConfig.model_fields["prior_strength"].default
COLUMNS = ("judge", "prior shift", *RULES)
WORK = Path("results/.work/general")


@dataclass(frozen=True)
class Dataset:
    """Rows of the schema `dataset` to train on, to calibrate on, and weakly labelled ones; the dataset's spec."""

    train: pd.DataFrame
    validation: pd.DataFrame
    weak: pd.DataFrame
    spec: Mapping[str, Any]

    def select(self, tasks: Collection[str]) -> Dataset:
        """Return the rows of some tasks."""
        selected = [frame[frame["task"].isin(tasks)] for frame in (self.train, self.validation, self.weak)]
        return Dataset(*selected, self.spec)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, help="training rows that are used; all by default")
    parser.add_argument("--output", type=Path, default=WORK / "judge")
    parser.add_argument("--measure", nargs="?", const=GENERAL, metavar="FOLDER", help="measure a judge instead of training one")
    parser.add_argument("--leave-out", nargs="*", metavar="IMPORT[,IMPORT]", help="train without these files instead")
    parser.add_argument("--test-rows", type=int, help="answers per task that are measured; all by default")
    options = parser.parse_args()
    run = config_files.load([CONFIG])
    build_test_tables(run, run["imports"], options.cores)
    if options.measure is not None:
        print_tables(measure(BERTJudge(options.measure), run, run["imports"], options.test_rows))
        return 0
    spec = build_plan(run, [CONFIG]).judge_spec(JUDGE)
    data = build_dataset(spec, options.cores)
    data = replace(data, train=data.train.head(options.rows))
    if options.leave_out is None:
        judge = train_judge(spec, data, options.seeds, options.output)
        print_tables(measure(judge, run, run["imports"], options.test_rows))
        return 0
    lines = []
    for group in options.leave_out or LEAVE_OUT:
        judge = train_judge(spec, without(data, run, group.split(",")), options.seeds, WORK / f"without_{group}")
        lines += measure(judge, run, group.split(","), options.test_rows)
    print_tables(lines)
    return 0


def build_test_tables(run: Run, sources: Iterable[str], cores: int) -> None:
    """Build the test answers of imports with their labels."""
    tested = [pair for source in sources for pair in human_agreement.tables_of(run, source)]
    labels = [f"results/labels/{run['gold']}/{model}/{task}.parquet" for model, task in tested]
    human_agreement.snakemake(cores, [CONFIG], labels)


def build_dataset(spec: Spec, cores: int) -> Dataset:
    folder = Path("results/datasets") / spec["dataset"]
    train = folder / "train.parquet"
    human_agreement.snakemake(cores, [CONFIG], [str(train)])
    frames = [tables.read(folder / f"{name}.parquet", tables.DATASET) for name in ("train", "validation", "validation_weak")]
    return Dataset(*frames, json.loads(tables.provenance(train)["spec"]))


def without(data: Dataset, run: Run, sources: Collection[str]) -> Dataset:
    """Return the rows that do not come from these imports."""
    return data.select([task for task, entry in run["tasks"]["imported"].items() if entry["from"] not in sources])


def train_judge(spec: Spec, data: Dataset, seeds: Sequence[int], output: Path, int8: bool = True) -> BERTJudge:
    """Train a judge per seed, average, calibrate and write it; return it as its folder gives it."""
    judge = average([fit(spec, data.train, seed, head_seed=seeds[0]) for seed in seeds])
    calibrate(judge, data, spec, output, int8)
    return BERTJudge(output)


def fit(spec: Spec, rows: pd.DataFrame, seed: int, head_seed: int) -> BERTJudge:
    """Train a judge; its seed orders the rows, and trees are trained with the seed of the head only."""
    judge = BERTJudge(backbone(spec), input=Input.model_validate(spec["input"]))
    # Weights of trainings that start from different heads cannot be averaged: the mean of three such heads has small logits.
    initialize_head(judge.checkpoint.model, head_seed)
    judge.checkpoint.trained = True
    training = Training.model_validate({**spec["training"], "seed": seed})
    # Other rows or another spec must not resume from these checkpoints.
    work = WORK / resume.content_key(tables.canonical(spec), str(seed), str(head_seed), tables.fingerprint(rows))
    labels, weights = rows["label"].tolist(), rows["weight"].tolist()
    judge.fit(*human_agreement.columns(rows), labels, weights, training, seed == head_seed, work)
    return judge


def backbone(spec: Spec) -> Path:
    folder = local_folder(spec["backbone"])
    if folder is None:
        raise SystemExit(f"{spec['backbone']}: not on this machine")
    return folder


@torch.no_grad()
def average(judges: Sequence[BERTJudge]) -> BERTJudge:
    """Return the first judge with the mean of all weights, rounded."""
    states = [judge.checkpoint.model.state_dict() for judge in judges]
    for name, value in states[0].items():
        if value.is_floating_point():
            value.copy_(torch.stack([state[name] for state in states]).mean(dim=0))
    round_weights(judges[0].checkpoint.model)
    return judges[0]


def calibrate(judge: BERTJudge, data: Dataset, spec: Spec, output: Path, int8: bool) -> None:
    """Calibrate a judge on the dataset's validation rows, as the workflow does, and write it."""
    synthetic = augment(data.validation.drop(columns="weight"), data.spec["augment"], data.spec["seed"])
    metrics, _ = judge.calibrate(
        *human_agreement.columns(data.validation),
        data.validation["label"].tolist(),
        weak=CalibrationRows(*human_agreement.columns(data.weak), data.weak["label"].tolist(), data.weak["weight"].tolist()),
        synthetic=CalibrationRows(*human_agreement.columns(synthetic), synthetic["label"].tolist()),
    )
    metadata = judge.checkpoint.metadata
    metadata.version, metadata.languages, metadata.spec = "v1", ["en"], dict(spec)
    manifest = make_manifest(spec["backbone"], backbone(spec))
    metadata.backbone, metadata.backbone_revision = manifest["repository"], manifest["revision"]
    judge.save(output, int8=int8)
    content = {"validation": metrics, "training": {"rows": len(data.train)}}
    (output / "metrics.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def measure(judge: BERTJudge, run: Run, sources: Iterable[str], max_rows: int | None) -> list[dict[str, Any]]:
    """Measure a judge and the rules on the labelled test answers of imports, one line per task."""
    lines, base_rate = [], (read_metrics(judge.path) or {})["validation"]["base_rate"]
    for source in sources:
        for task, rows in human_agreement.answers(run, source).groupby("task"):
            sample = rows.sample(min(max_rows or len(rows), len(rows)), random_state=0)
            columns = human_agreement.columns(sample)
            correct = (sample["verdict"] == "correct").to_numpy()
            line = {"source": source, "task": task, "answers": len(sample), "correct": f"{correct.mean():.0%}"}
            scores = np.array(judge.predict(*columns))
            line["judge"] = cell(correct, scores, judge.threshold)
            line["prior shift"] = cell(correct, shift(scores, sample["model"], base_rate), judge.threshold)
            for name in RULES:
                block = run["judges"][name]
                line[name] = cell(correct, apply_rule(block, *columns), block.get("threshold", 0.5), calibrated=False)
            lines.append(line)
            print(f"==> {task}", file=sys.stderr, flush=True)
    return lines


def shift(scores: np.ndarray, models: pd.Series, prior: float) -> np.ndarray:
    """Correct scores for prior shift per model, as the judge kind `prior_shift` does."""
    grouped = pd.Series(scores, index=models.index).groupby(models)
    return grouped.transform(lambda group: shift_prior(group, prior, estimate_base_rate(group, prior, PRIOR_STRENGTH))).to_numpy()


def apply_rule(block: Mapping[str, Any], questions: list[str], references: list[list[str]], candidates: list[str]) -> np.ndarray:
    rows = [Row("", 0, "", q, tuple(texts), answer) for q, texts, answer in zip(questions, references, candidates, strict=True)]
    with LexicalJudge({key: value for key, value in block.items() if key != "kind"}) as rule:
        return np.array([label.score or 0.0 for label in rule.judge(rows)])


def cell(correct: np.ndarray, scores: np.ndarray, threshold: float, calibrated: bool = True) -> str:
    metrics = classification_metrics(correct, scores, threshold)
    error = [f"{metrics['ece']:.3f}"] if calibrated else []
    return "; ".join([f"{100 * metrics['accuracy']:.1f}", f"{metrics['macro_f1']:.3f}", f"{metrics['auroc']:.3f}", *error])


def print_tables(lines: Sequence[dict[str, Any]]) -> None:
    frame = pd.DataFrame(lines)
    human = frame["source"].isin(HUMAN)
    print("\naccuracy in %; macro-F1; AUROC; calibration error\n\nLabels by people:\n")
    print(with_mean(frame[human].drop(columns="source")).to_markdown(index=False))
    if not human.all():
        print("\nLabels by rules:\n")
        print(frame[~human].drop(columns=["source", *RULES]).to_markdown(index=False))


def with_mean(frame: pd.DataFrame) -> pd.DataFrame:
    """Append a row with the means of the metrics."""
    mean: dict[str, Any] = {"task": "mean", "answers": frame["answers"].sum(), "correct": ""}
    for column in COLUMNS:
        accuracy, *others = np.mean([[float(number) for number in text.split("; ")] for text in frame[column]], axis=0)
        mean[column] = "; ".join([f"{accuracy:.1f}", *(f"{value:.3f}" for value in others)])
    return pd.concat([frame, pd.DataFrame([mean])])


if __name__ == "__main__":
    # Trainings report their steps to this log.
    with job_log(None):
        sys.exit(main())
