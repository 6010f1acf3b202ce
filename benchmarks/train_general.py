"""Train the general judge, measure it on sources that it was not trained on, or measure a judge on test questions.

    BERT_JUDGE_DATA=… python benchmarks/train_general.py [--backbone FOLDER] [--output FOLDER]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --leave-sources 2
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --measure [FOLDER] [--test-rows N]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --set-rules FOLDER

Datasets and labels are those of configs/general.yaml, built by the workflow. Training has five stages, and a run that was killed
goes on with the one that it was in:

1. the backbone learns from inference pairs what follows from a text;
2. sources are divided into folds, and for each fold an encoder and trees are trained without its sources;
3. the mean of the folds' encoders is trained on all sources, at the end on answers that people graded, and rounded to 8-bit
   integers;
4. trees are trained on all sources;
5. the weights of encoder and trees, the calibration and the bounds of early exit are fitted on the answers of each fold's
   sources, which its encoder and trees never saw, so that they hold for new data. Every source has the same weight.

`--leave-sources` stops after the folds and prints accuracy in %, macro-F1, AUROC and expected calibration error per source left
out, beside rules with fixed thresholds; weights and calibration of a fold are those fitted on the other folds. `--measure` trains
nothing; without a folder it takes the judge in the package. `--set-rules` lets the rule modules decide for a judge that
`rule_modules.py` finds good enough, under the rules about texts of today, and changes nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import human_agreement
import numpy as np
import pandas as pd
import torch
from human_agreement import Run
from rule_modules import measure_modules, summarize
from scipy.special import expit

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, local_folder, make_manifest
from bert_judge.config import Input, Training
from bert_judge.config import files as config_files
from bert_judge.encoder.checkpoint import StackerWeights
from bert_judge.encoder.judge_folder import JUDGE_FILE, hash_rows, write_seen_rows
from bert_judge.encoder.torch_model import round_weights
from bert_judge.judges.bert import stacker
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.plan import Spec, build_plan
from bert_judge.runtime import resume
from bert_judge.runtime.logs import job_log
from bert_judge.statistics.metrics import classification_metrics
from bert_judge.text import TEXT_VERSION
from bert_judge.text.features import FeatureExtractor

CONFIG = Path("configs/general.yaml")
JUDGE, PAIRS = "bert", "inference_pairs"
WORK = Path("results/.work/general")
RULES = ("contains_lenient", "rouge_l_recall_lenient", "token_f1_lenient")
# Labelled by people; the labels of the other files come from language models and rules.
HUMAN = (
    *("nq_open", "truthfulqa", "scientsbank", "shroom", "asqa"),
    *("summedits", "begin", "factcheckgpt", "protoqa", "chatprotect"),
)
# Files of one kind are left out together.
SAME_KIND = (("gsm8k_gpt3", "gsm8k_44", "math_level5", "cot"), ("mmlu_pro", "mmlu_letters"), ("hotpotqa", "hotpot_memory"))
PRETRAINING = {"epochs": 1.0, "round_weights": False, "label_smoothing": 0.0}
# Rows that an encoder is trained on, drawn from all of a fold's; the trees read all. More take hours on two cores.
FOLD_ROWS, FINAL_ROWS = 12_000, 20_000
# Answers that people graded, of which the sample has few, are read at the end with some others.
LAST_ROWS = {"scientsbank": 2812, "shroom": 1300, "nq_open": 800, "asqa": 314, "truthfulqa": 500}
OTHER_LAST_ROWS, LAST_LEARNING_RATE = 1_000, 8e-5
HELD_OUT_ROWS = 400
# Labelled answers per file on which rule modules are measured.
RULE_ROWS = 4_000
VERSION, LANGUAGES = "v2", ["en", "zh", "cs"]


@dataclass(frozen=True)
class Dataset:
    """Rows of the schema `dataset` with a column `source`, the import that they come from; augmented rows are in `train` only."""

    train: pd.DataFrame
    validation: pd.DataFrame

    @cached_property
    def real(self) -> pd.DataFrame:
        """Answers of models, at most `HELD_OUT_ROWS` per source."""
        rows = pd.concat([self.train, self.validation], ignore_index=True)
        rows = rows[~rows["model"].str.startswith("synthetic-") & rows["label"].isin([0.0, 1.0])]
        return rows.sample(frac=1, random_state=0).groupby("source").head(HELD_OUT_ROWS)

    @cached_property
    def last_rows(self) -> pd.DataFrame:
        """Training rows for the end of training."""
        real = self.train[~self.train["model"].str.startswith("synthetic-")]
        groups = real[real["source"].isin(list(LAST_ROWS))].groupby("source")
        rows = pd.concat([group.sample(min(len(group), LAST_ROWS[str(source)]), random_state=2) for source, group in groups])
        return pd.concat([rows, self.train.drop(rows.index).sample(OTHER_LAST_ROWS, random_state=1)])


@dataclass(frozen=True)
class HeldOut:
    """Answers of sources that encoder and trees were not trained on, with the logits of both, shape (n,)."""

    rows: pd.DataFrame
    encoder: np.ndarray
    trees: np.ndarray


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--backbone", help="folder of another backbone, such as that of e5_backbone.py")
    parser.add_argument("--output", type=Path, default=WORK / "judge")
    parser.add_argument("--leave-sources", type=int, metavar="FOLDS", help="measure on sources left out, and stop")
    parser.add_argument("--measure", nargs="?", const=GENERAL, metavar="FOLDER", help="measure a judge instead of training one")
    parser.add_argument(
        "--set-rules", metavar="FOLDER", type=Path, help="measure the rule modules again, and write those that may decide"
    )
    parser.add_argument("--test-rows", type=int, help="answers per task that are measured; all by default")
    options = parser.parse_args()
    if options.set_rules:
        judge = BERTJudge(options.set_rules)
        judge.checkpoint.metadata.rules = deciding_modules()
        judge.checkpoint.metadata.text_version = TEXT_VERSION
        judge.save(options.set_rules, int8=True)
        return 0
    run = config_files.load([CONFIG])
    if options.measure is None:
        spec = build_plan(run, [CONFIG]).training_spec(JUDGE)
        spec = {**spec, "backbone": options.backbone or spec["backbone"]}
        train(run, spec, options.leave_sources or 2, options.cores, None if options.leave_sources else options.output)
    if not options.leave_sources:
        build_test_tables(run, options.cores)
        print_tables(measure(BERTJudge(options.measure or options.output), run, options.test_rows))
    return 0


def train(run: Run, spec: Spec, num_folds: int, cores: int, output: Path | None) -> None:
    """Train encoders and trees of the folds and, with an output folder, the judge; print the table of sources left out."""
    data = build_dataset(run, spec["dataset"], cores)
    start = pretrain(spec, build_dataset(run, PAIRS, cores).train.drop(columns="source"))
    features = tree_features(data.train)
    encoders, held_out = [], []
    for sources in divide_sources(run, num_folds):
        inside = ~data.train["source"].isin(sources).to_numpy()
        encoders.append(train_encoder(spec, [start], data.train[inside], FOLD_ROWS))
        rows = data.real[data.real["source"].isin(sources)]
        trees = fit_trees(data.train[inside], features[inside])
        held_out.append(predict(BERTJudge(encoders[-1]), trees, rows))
    print_tables(measure_held_out(run, held_out))
    if output is None:
        return
    encoder = train_encoder(spec, encoders, data.train, FINAL_ROWS)
    last = {**spec, "training": {**spec["training"], "learning_rate": LAST_LEARNING_RATE}}
    judge = BERTJudge(train_encoder(last, [encoder], data.last_rows, len(data.last_rows)))
    round_weights(judge.checkpoint.model)
    judge.trees = fit_trees(data.train, features)
    metadata = judge.checkpoint.metadata
    metadata.stacker = fit_stacker(held_out)
    logits = [np.concatenate([getattr(part, name) for part in held_out]) for name in ("encoder", "trees")]
    metadata.logit_bounds = stacker.fit_logit_bounds(*logits)
    metadata.version, metadata.languages, metadata.spec = VERSION, LANGUAGES, dict(spec)
    manifest = make_manifest(spec["backbone"], backbone(spec))
    metadata.backbone, metadata.backbone_revision = manifest["repository"], manifest["revision"]
    metadata.rules = deciding_modules()
    judge.save(output, int8=True)
    seen = pd.concat([data.train, data.validation])
    write_seen_rows(output, hash_rows(seen["question"], seen["candidate"]))
    metrics = classification_metrics(*_labels_and_scores(held_out, metadata.stacker))
    tables.write_json(output / "metrics.json", {"unseen_sources": metrics, "training": {"rows": len(data.train)}})


def deciding_modules() -> dict[str, list[str]]:
    """Return the rule modules that decide before trees and encoder, with the verdicts that they may give."""
    table = summarize(measure_modules(RULE_ROWS))
    verdicts: dict[str, list[str]] = {}
    for module, verdict in table.index[table["decides"]]:
        verdicts.setdefault(module, []).append(verdict)
    return verdicts


def divide_sources(run: Run, num_folds: int) -> list[list[str]]:
    """Divide the imports with answers into folds, those labelled by people and the others alike."""
    kinds = [*SAME_KIND, *((name,) for name in _answer_sources(run) if not any(name in kind for kind in SAME_KIND))]
    kinds.sort(key=lambda kind: (kind[0] not in HUMAN, HUMAN.index(kind[0]) if kind[0] in HUMAN else 0, kind))
    return [[name for kind in kinds[fold::num_folds] for name in kind] for fold in range(num_folds)]


def _answer_sources(run: Run) -> list[str]:
    tasks = run["datasets"][run["judges"][JUDGE]["dataset"]]["tasks"]
    return list(dict.fromkeys(run["tasks"]["imported"][task]["from"] for task in tasks))


def build_dataset(run: Run, name: str, cores: int) -> Dataset:
    """Build a dataset by the workflow."""
    folder = Path("results/datasets") / name
    human_agreement.snakemake(cores, [CONFIG], [str(folder / "train.parquet")])
    frames = [tables.read(folder / f"{part}.parquet", tables.DATASET) for part in ("train", "validation")]
    imported = run["tasks"]["imported"]
    return Dataset(*(frame.assign(source=[imported[task]["from"] for task in frame["task"]]) for frame in frames))


def build_test_tables(run: Run, cores: int) -> None:
    """Build the test answers with their labels."""
    tested = [pair for source in _answer_sources(run) for pair in human_agreement.tables_of(run, source)]
    human_agreement.snakemake(cores, [CONFIG], [f"results/labels/{run['gold']}/{model}/{task}.parquet" for model, task in tested])


def backbone(spec: Spec) -> Path:
    folder = local_folder(spec["backbone"])
    if folder is None:
        raise SystemExit(f"{spec['backbone']}: not on this machine")
    return folder


def pretrain(spec: Spec, pairs: pd.DataFrame) -> Path:
    """Train the backbone on inference pairs; return its folder."""
    settings = {**spec["training"], **PRETRAINING}
    folder = WORK / "inference" / resume.content_key(tables.canonical(settings), spec["backbone"], tables.fingerprint(pairs))
    if not (folder / JUDGE_FILE).is_file():
        judge = BERTJudge(backbone(spec), input=Input.model_validate(spec["input"]))
        training = Training.model_validate(settings)
        judge.fit(*human_agreement.columns(pairs), pairs["label"].tolist(), None, training, False, folder / "work")
        judge.save(folder)
        shutil.rmtree(folder / "work")
    return folder


def train_encoder(spec: Spec, starts: Sequence[Path], rows: pd.DataFrame, limit: int) -> Path:
    """Train the mean of encoders on a sample of rows; return the folder of the result."""
    sample = rows.sample(min(limit, len(rows)), random_state=0)
    settings = tables.canonical(spec["training"])
    folder = WORK / "encoders" / resume.content_key(settings, *(path.name for path in starts), tables.fingerprint(sample))
    if not (folder / JUDGE_FILE).is_file():
        judge = average([BERTJudge(start) for start in starts])
        training = Training.model_validate(spec["training"])
        labels, weights = sample["label"].tolist(), sample["weight"].tolist()
        judge.fit(*human_agreement.columns(sample), labels, weights, training, False, folder / "work")
        judge.save(folder)
        shutil.rmtree(folder / "work")
    return folder


@torch.no_grad()
def average(judges: Sequence[BERTJudge]) -> BERTJudge:
    """Return the first judge with the mean of all weights."""
    states = [judge.checkpoint.model.state_dict() for judge in judges]
    for name, value in states[0].items():
        if value.is_floating_point():
            value.copy_(torch.stack([state[name] for state in states]).mean(dim=0))
    return judges[0]


def tree_features(rows: pd.DataFrame) -> np.ndarray:
    print(f"==> features of {len(rows)} rows", file=sys.stderr, flush=True)
    return FeatureExtractor(torch.get_num_threads()).extract(*human_agreement.columns(rows))


def fit_trees(rows: pd.DataFrame, features: np.ndarray) -> Any:
    """Train trees; sources weigh as the square root of their number of rows."""
    counts = rows["source"].map(rows["source"].value_counts()).to_numpy()
    weights = rows["weight"].to_numpy() / np.sqrt(counts)
    return stacker.fit_trees(features, rows["label"].tolist(), weights / weights.mean(), seed=0)


def predict(judge: BERTJudge, trees: Any, rows: pd.DataFrame) -> HeldOut:
    judge.trees = trees
    return HeldOut(rows, *judge.logits(*human_agreement.columns(rows)))


def fit_stacker(parts: Sequence[HeldOut]) -> StackerWeights:
    """Fit the weights of encoder and trees and the calibration on all parts.

    Every source has the same weight, and so have its correct and its incorrect answers: the share of correct answers says something
    about the models of a file and nothing about new ones.
    """
    rows = pd.concat([part.rows for part in parts], ignore_index=True)
    encoder, trees = (np.concatenate([getattr(part, name) for part in parts]) for name in ("encoder", "trees"))
    both = (rows.groupby("source")["label"].transform("nunique") == 2).to_numpy()
    rows = rows[both]
    weights = 1 / rows.groupby(["source", "label"])["label"].transform("size").to_numpy()
    return stacker.fit_stacker(encoder[both], trees[both], rows["label"].tolist(), (weights / weights.mean()).tolist())


def _labels_and_scores(parts: Sequence[HeldOut], weights: StackerWeights) -> tuple[np.ndarray, np.ndarray]:
    labels = np.concatenate([part.rows["label"].to_numpy() for part in parts])
    return labels, np.concatenate([expit(weights.combine(part.encoder, part.trees)) for part in parts])


def measure_held_out(run: Run, parts: Sequence[HeldOut]) -> list[dict[str, Any]]:
    """Measure each fold with weights and calibration that were fitted on the other folds, one line per source."""
    lines = []
    for part in parts:
        weights = fit_stacker([other for other in parts if other is not part])
        scores = pd.Series(expit(weights.combine(part.encoder, part.trees)), part.rows.index)
        for source, rows in part.rows.groupby("source"):
            lines.append(line(run, str(source), str(source), rows, scores[rows.index].to_numpy(), 0.5))
    return lines


def measure(judge: BERTJudge, run: Run, max_rows: int | None) -> list[dict[str, Any]]:
    """Measure a judge on the labelled test answers of each task."""
    lines = []
    for source in _answer_sources(run):
        for task, rows in human_agreement.answers(run, source).groupby("task"):
            sample = rows.sample(min(max_rows or len(rows), len(rows)), random_state=0)
            sample = sample.assign(label=(sample["verdict"] == "correct").astype(float))
            scores = np.array(judge.predict(*human_agreement.columns(sample)))
            lines.append(line(run, source, str(task), sample, scores, judge.threshold))
            print(f"==> {task}", file=sys.stderr, flush=True)
    return lines


def line(run: Run, source: str, task: str, rows: pd.DataFrame, scores: np.ndarray, threshold: float) -> dict[str, Any]:
    """Return a line of a table: a judge and the rules on the answers of a task."""
    correct = rows["label"].to_numpy() >= 0.5
    cells = {"judge": cell(correct, scores, threshold, calibrated=True)}
    for name in RULES:
        block = run["judges"][name]
        cells[name] = cell(correct, apply_rule(block, *human_agreement.columns(rows)), block.get("threshold", 0.5))
    return {"source": source, "task": task, "answers": len(rows), "correct": f"{correct.mean():.0%}", **cells}


def apply_rule(block: Mapping[str, Any], questions: list[str], references: list[list[str]], candidates: list[str]) -> np.ndarray:
    rows = [Row("", 0, "", q, tuple(texts), answer) for q, texts, answer in zip(questions, references, candidates, strict=True)]
    with LexicalJudge({key: value for key, value in block.items() if key != "kind"}) as rule:
        return np.array([label.score or 0.0 for label in rule.judge(rows)])


def cell(correct: np.ndarray, scores: np.ndarray, threshold: float, calibrated: bool = False) -> list[float]:
    """Return accuracy in %, macro-F1, AUROC (NaN if all answers are correct or incorrect) and, if asked, the calibration error."""
    metrics = classification_metrics(correct, scores, threshold)
    auroc = metrics.get("auroc", np.nan) if correct.any() and not correct.all() else np.nan
    return [100 * metrics["accuracy"], metrics["macro_f1"], auroc, *([metrics["ece"]] if calibrated else [])]


def print_tables(lines: Sequence[dict[str, Any]]) -> None:
    frame = pd.DataFrame(lines)
    human = frame["source"].isin(HUMAN)
    print("\naccuracy in %; macro-F1; AUROC; calibration error\n")
    for title, part in (("Labels by people", frame[human]), ("Labels by language models and rules", frame[~human])):
        columns = part.drop(columns="source")
        print(f"{title}:\n\n{pd.concat([columns, mean_line(columns)]).map(as_text).to_markdown(index=False)}\n", flush=True)


def mean_line(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the metrics over the lines."""
    means = {name: np.nanmean(np.array(frame[name].tolist()), axis=0).tolist() for name in ("judge", *RULES)}
    return pd.DataFrame([{"task": "mean", "answers": frame["answers"].sum(), "correct": "", **means}])


def as_text(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return "; ".join([f"{value[0]:.1f}", *(f"{number:.3f}" for number in value[1:])])


if __name__ == "__main__":
    # Trainings report their steps to this log.
    with job_log(None):
        sys.exit(main())
