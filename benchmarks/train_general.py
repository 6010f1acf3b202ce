"""Train the next version of the general judge, measure it on sources that it was not trained on, or measure a judge.

    BERT_JUDGE_DATA=… python benchmarks/train_general.py [--start FOLDER] [--output FOLDER]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --leave-sources 2
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --measure [FOLDER] [--test-rows N]
    BERT_JUDGE_DATA=… python benchmarks/train_general.py --set-rules FOLDER

Datasets and labels are those of configs/general.yaml, built by the workflow. The encoder goes on from that of version 1, which is
in the history of the repository, or from a backbone (`--start`), with the training settings of the configuration. Training has four
stages, and a run that was killed goes on with the one that it was in:

1. sources that the start does not know are divided into folds, and for each fold an encoder and trees are trained without its
   sources;
2. an encoder is trained with all sources, and rounded to 8-bit integers. A mix has all new sources up to a number of rows each,
   some rows of those that the start knows, so that these are not forgotten, and inference pairs;
3. trees are trained on all sources;
4. the weights of encoder and trees, of which the mean with those of the start is taken, and the bounds of early exit are fitted on
   the answers of each fold's sources, which its encoder and trees never saw, so that they hold for new data, and on new questions
   of old sources. Every source has the same weight. Last, `policy.py` fits the offset of the policy `lenient`.

`--leave-sources` stops after the folds and prints accuracy in %, macro-F1, AUROC, expected calibration error and balanced accuracy
per source left out, beside rules with fixed thresholds; weights and calibration of a fold are those fitted on the other folds.
`--measure` trains nothing; without a folder it takes the judge in the package. `--set-rules` lets the rule modules decide for a
judge that `rule_modules.py` finds good enough, under the rules about texts of today, and changes nothing else. `unseen_files.py`
measures on files that no dataset has, and `general_tables.py` writes what was measured into the documentation.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import human_agreement
import joblib
import numpy as np
import pandas as pd
import timing
import torch
import yaml
from general_tables import LEFT_OUT, MEASURED, WORK
from human_agreement import Run
from policy import set_policy
from rule_modules import common_log_odds, measure_modules, summarize, trained_sources
from scipy.special import expit

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, local_folder
from bert_judge.config import Input, Training
from bert_judge.config import files as config_files
from bert_judge.encoder.checkpoint import StackerWeights
from bert_judge.encoder.judge_folder import JUDGE_FILE, METRICS, hash_rows, write_seen_rows
from bert_judge.encoder.openvino import SCALE_ROWS, write_input_scales
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
from bert_judge.text.answer_kinds import KINDS, answer_kind
from bert_judge.text.features import feature_table

CONFIG = Path("configs/general.yaml")
JUDGE, PAIRS = "bert", "inference_pairs"
RULES = ("contains_lenient", "rouge_l_recall_lenient", "token_f1_lenient")
# Labelled by people; the labels of the other files come from language models and rules.
HUMAN = (
    *("nq_open", "truthfulqa", "scientsbank", "shroom", "asqa"),
    *("summedits", "begin", "factcheckgpt", "protoqa", "chatprotect"),
)
# Files of one kind are left out together.
SAME_KIND = (("gsm8k_gpt3", "gsm8k_44", "math_level5", "cot"), ("mmlu_pro", "mmlu_letters"), ("hotpotqa", "hotpot_memory"))
# The last commit that has version 1 in the package, and the sources of that version.
VERSION_1_COMMIT = "3758fa6"
VERSION_1 = (
    *("nq_open", "truthfulqa", "gsm8k_gpt3", "gsm8k_44", "math_level5", "mmlu_pro", "mmlu_letters", "cot", "tatqa", "hotpotqa"),
    *("scientsbank", "shroom", "asqa"),
)
# Settings of an encoder that is trained further from version 1.
TRAINING = {"epochs": 1.0, "learning_rate": 5e-5}
HELD_OUT_ROWS = 400
# Labelled answers per file on which rule modules are measured.
RULE_ROWS = 4_000
MIN_KIND_ROWS = 100
VERSION, LANGUAGES = "v3", ["en"]


@dataclass(frozen=True)
class Mix:
    """Rows that an encoder is trained on; the trees read all answers.

    Attributes:
        per_source: most rows of each source that is new to the start.
        from_old_sources: rows of the other sources.
        pairs: inference pairs.
    """

    per_source: int
    from_old_sources: int
    pairs: int


FOLD_MIX, FINAL_MIX = Mix(1_500, 5_000, 6_000), Mix(3_300, 20_000, 10_000)


@dataclass(frozen=True)
class Dataset:
    """Rows of the schema `dataset` with a column `source`, the import that they come from; augmented rows are in `train` only."""

    train: pd.DataFrame
    validation: pd.DataFrame

    @cached_property
    def real(self) -> pd.DataFrame:
        """Answers of models, at most `HELD_OUT_ROWS` per source."""
        return _real_answers(pd.concat([self.train, self.validation], ignore_index=True))

    @cached_property
    def real_validation(self) -> pd.DataFrame:
        """Those of `validation`."""
        return _real_answers(self.validation)


def _real_answers(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[~rows["model"].str.startswith("synthetic-") & rows["label"].isin([0.0, 1.0])]
    return rows.sample(frac=1, random_state=0).groupby("source").head(HELD_OUT_ROWS)


@dataclass(frozen=True)
class HeldOut:
    """Answers of sources that encoder and trees were not trained on, with the logits of both, shape (n,)."""

    rows: pd.DataFrame
    encoder: np.ndarray
    trees: np.ndarray


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--start", help="backbone to go on from; version 1 of the judge by default")
    parser.add_argument("--output", type=Path, default=WORK / "judge")
    parser.add_argument("--leave-sources", type=int, metavar="FOLDS", help="measure on sources left out, and stop")
    parser.add_argument("--measure", nargs="?", const=GENERAL, metavar="FOLDER", help="measure a judge instead of training one")
    parser.add_argument(
        "--set-rules", metavar="FOLDER", type=Path, help="measure the rule modules again, and write those that may decide"
    )
    parser.add_argument("--test-rows", type=int, help="answers per task that are measured; all by default")
    parser.add_argument("--set-scales", metavar="FOLDER", type=Path, help="measure again the ranges of activations for int8")
    options = parser.parse_args()
    if options.set_scales:
        print(f"error of a logit in int8: {set_scales(options.set_scales):.3f}")
        return 0
    if options.set_rules:
        judge = BERTJudge(options.set_rules)
        set_rules(judge)
        judge.save(options.set_rules, int8=True)
        return 0
    run = config_files.load([CONFIG])
    if options.measure is None:
        spec = build_plan(run, [CONFIG]).training_spec(JUDGE)
        training = spec["training"] if options.start else {**spec["training"], **TRAINING}
        spec = {**spec, "backbone": options.start or f"{GENERAL} at {VERSION_1_COMMIT}", "training": training}
        train(run, spec, options.leave_sources or 2, options.cores, None if options.leave_sources else options.output)
    if not options.leave_sources:
        build_test_tables(run, options.cores)
        print_tables(measure(BERTJudge(options.measure or options.output), run, options.test_rows), MEASURED)
    return 0


def train(run: Run, spec: Spec, num_folds: int, cores: int, output: Path | None) -> None:
    """Train encoders and trees of the folds and, with an output folder, the judge; print the table of sources left out."""
    data, pairs = (build_dataset(run, name, cores) for name in (spec["dataset"], PAIRS))
    start = find_start(spec)
    old_sources = list(VERSION_1) if BERTJudge(start).checkpoint.trained else []
    features = tree_features(data.train)
    held_out = []
    for sources in divide_sources(run, num_folds, old_sources):
        inside = ~data.train["source"].isin(sources).to_numpy()
        encoder = train_encoder(spec, start, draw_rows(data.train[inside], pairs.train, old_sources, FOLD_MIX))
        rows = data.real[data.real["source"].isin(sources)]
        held_out.append(predict(BERTJudge(encoder), fit_trees(data.train[inside], features[inside]), rows))
    print_tables(measure_held_out(run, held_out), LEFT_OUT)
    if output is None:
        return
    judge = BERTJudge(train_encoder(spec, start, draw_rows(data.train, pairs.train, old_sources, FINAL_MIX)))
    round_weights(judge.checkpoint.model)
    judge.trees = fit_trees(data.train, features)
    validation = data.real_validation
    calibration = [*held_out, predict(judge, judge.trees, validation[validation["source"].isin(old_sources)])]
    weights = mean_weights(BERTJudge(start).checkpoint.metadata.stacker, fit_stacker(calibration))
    logits = [np.concatenate([getattr(part, name) for part in calibration]) for name in ("encoder", "trees")]
    bounds = stacker.fit_logit_bounds(*logits)
    judge.checkpoint.update(stacker=weights, logit_bounds=bounds, version=VERSION, languages=LANGUAGES, spec=dict(spec))
    set_rules(judge)
    set_policy(judge, data.train, data.validation)
    judge.save(output, int8=True)
    set_scales(output)
    seen = pd.concat([data.train, data.validation])
    write_seen_rows(output, hash_rows(seen["question"], seen["candidate"]))
    metrics = measure_unseen(pd.concat([part.rows for part in held_out]), *_labels_and_scores(held_out, weights))
    tables.write_json(output / METRICS, {**metrics, "training": {"rows": len(data.train)}})


def mean_weights(start: StackerWeights | None, fitted: StackerWeights) -> StackerWeights:
    """Return the mean of the weights of the start and of those fitted on other sources, which rate the encoder lower.

    The encoder tells attacks from answers: 2.3% of them succeed with the former, 4.0% with the latter and 2.8% with their mean.
    """
    if start is None:
        return fitted
    return StackerWeights(*np.mean([dataclasses.astuple(start), dataclasses.astuple(fitted)], axis=0).tolist())


def measure_unseen(rows: pd.DataFrame, labels: np.ndarray, scores: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return metrics on sources left out: of all rows, and accuracy and AUROC per kind of answer with at least `MIN_KIND_ROWS`."""
    kinds = np.array([answer_kind(*row) for row in zip(*human_agreement.columns(rows), strict=True)])
    by_kind = {}
    for kind in KINDS:
        chosen = kinds == kind
        if chosen.sum() >= MIN_KIND_ROWS and np.unique(labels[chosen]).size == 2:
            measures = classification_metrics(labels[chosen], scores[chosen])
            by_kind[kind] = {name: round(measures[name], 3) for name in ("n", "accuracy", "auroc")}
    return {"unseen_sources": classification_metrics(labels, scores), "unseen_kinds": by_kind}


def set_rules(judge: BERTJudge) -> None:
    """Let the modules decide that may, with the verdicts that may, and weigh the others by their common error."""
    table = summarize(measure_modules(RULE_ROWS))
    rules: dict[str, list[str]] = {}
    for module, verdict in table.index[table["decides"]]:
        rules.setdefault(module, []).append(verdict)
    judge.checkpoint.update(rules=rules, rule_logit=common_log_odds(table), text_version=TEXT_VERSION)


def set_scales(folder: Path) -> float | None:
    """Measure the ranges of activations on rows of the training files; see `write_input_scales`."""
    run = yaml.safe_load(CONFIG.read_text("utf-8"))
    trained = trained_sources(run)
    files = [Path(entry["path"]).stem for name, entry in run["imports"].items() if name in trained]
    rows = timing.mixed(SCALE_ROWS, files, seed=2)
    return write_input_scales(folder, rows.questions, [[text] for text in rows.references], rows.candidates)


def divide_sources(run: Run, num_folds: int, old_sources: Sequence[str]) -> list[list[str]]:
    """Divide the imports with answers, without the old ones, into folds, those labelled by people and the others alike."""
    new = [name for name in _answer_sources(run) if name not in old_sources]
    kinds = [*SAME_KIND, *((name,) for name in new if not any(name in kind for kind in SAME_KIND))]
    kinds.sort(key=lambda kind: (kind[0] not in HUMAN, HUMAN.index(kind[0]) if kind[0] in HUMAN else 0, kind))
    return [[name for kind in kinds[fold::num_folds] for name in kind if name in new] for fold in range(num_folds)]


def draw_rows(answers: pd.DataFrame, pairs: pd.DataFrame, old_sources: Sequence[str], mix: Mix) -> pd.DataFrame:
    """Draw the training rows of an encoder; old sources weigh as the square root of their number of rows."""
    is_old = answers["source"].isin(old_sources)
    rows = [answers[~is_old].sample(frac=1, random_state=1).groupby("source").head(mix.per_source)]
    if is_old.any():
        old = answers[is_old]
        weights = 1 / np.sqrt(old["source"].map(old["source"].value_counts()).to_numpy())
        drawn = np.random.default_rng(1).choice(len(old), mix.from_old_sources, replace=False, p=weights / weights.sum())
        rows.append(old.iloc[drawn])
    return pd.concat([*rows, pairs.sample(mix.pairs, random_state=1)]).sample(frac=1, random_state=2)


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


def find_start(spec: Spec) -> Path:
    """Return the folder of the backbone, or that of version 1, written from the history."""
    backbone: str = spec["backbone"]
    if not backbone.endswith(VERSION_1_COMMIT):
        if (folder := local_folder(backbone)) is None:
            raise SystemExit(f"{backbone}: not on this machine")
        return folder
    folder, path = WORK / "version_1", "bert_judge/judges/bert/general"
    if not (folder / path / JUDGE_FILE).is_file():
        archive = subprocess.run(["git", "archive", VERSION_1_COMMIT, path], stdout=subprocess.PIPE)
        if archive.returncode:
            raise SystemExit(f"commit {VERSION_1_COMMIT}, which has version 1, is missing: clone the repository with its history")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
    return folder / path


def train_encoder(spec: Spec, start: Path, rows: pd.DataFrame) -> Path:
    """Train an encoder further; return the folder of the result."""
    settings = tables.canonical(spec["training"])
    folder = WORK / "encoders" / resume.content_key(settings, str(start), tables.fingerprint(rows))
    if not (folder / JUDGE_FILE).is_file():
        judge = BERTJudge(start, input=Input.model_validate(spec["input"]))
        training = Training.model_validate(spec["training"])
        labels, weights = rows["label"].tolist(), rows["weight"].tolist()
        judge.fit(*human_agreement.columns(rows), labels, weights, training, False, folder / "work")
        judge.save(folder)
        shutil.rmtree(folder / "work")
    return folder


def tree_features(rows: pd.DataFrame) -> np.ndarray:
    print(f"==> features of {len(rows)} rows", file=sys.stderr, flush=True)
    columns = human_agreement.columns(rows)
    parts = ([column[start : start + 256] for column in columns] for start in range(0, len(rows), 256))
    return np.concatenate(joblib.Parallel(torch.get_num_threads())(joblib.delayed(feature_table)(*part) for part in parts))


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
    """Return accuracy in %, macro-F1, AUROC, if asked the calibration error, and the balanced accuracy in %; AUROC and balanced
    accuracy are NaN if all answers are correct or incorrect."""
    metrics = classification_metrics(correct, scores, threshold)
    error = [metrics["ece"]] if calibrated else []
    balanced = 100 * metrics.get("balanced_accuracy", np.nan)
    return [100 * metrics["accuracy"], metrics["macro_f1"], metrics.get("auroc", np.nan), *error, balanced]


def print_tables(lines: Sequence[dict[str, Any]], path: Path) -> None:
    """Print the lines of both kinds of labels with their means, and write them for `general_tables.py`."""
    frame = pd.DataFrame(lines)
    human = frame["source"].isin(HUMAN)
    print("\naccuracy in %; macro-F1; AUROC; calibration error (of the judge); balanced accuracy in %\n")
    written = []
    for is_human, title in ((True, "Labels by people"), (False, "Labels by language models and rules")):
        part = frame[human == is_human].drop(columns="source")
        part = pd.concat([part, mean_line(part)])
        print(f"{title}:\n\n{part.map(as_text).to_markdown(index=False)}\n", flush=True)
        written += part.assign(human=is_human).to_dict("records")
    tables.write_json(path, {"lines": written})


def mean_line(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means of the metrics over the lines."""
    means = {name: np.nanmean(np.array(frame[name].tolist()), axis=0).tolist() for name in ("judge", *RULES)}
    return pd.DataFrame([{"task": "mean", "answers": frame["answers"].sum(), "correct": "", **means}])


def as_text(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return "; ".join([f"{value[0]:.1f}", *(f"{number:.3f}" for number in value[1:-1]), f"{value[-1]:.1f}"])


if __name__ == "__main__":
    # Trainings report their steps to this log.
    with job_log(None):
        sys.exit(main())
