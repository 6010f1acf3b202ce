"""Train the general judge: average several trainings, round the weights to 8-bit integers, calibrate, write and measure it.

    BERT_JUDGE_DATA=… python benchmarks/train_general.py [--cores 2] [--seeds 0 1 2] [--rows N] [--output FOLDER]

Builds the dataset of configs/general.yaml with the workflow and trains its judge `bert` once per seed; the weights are averaged,
the trees are those of the first seed. Prints accuracy, macro-F1, AUROC and calibration error on the test questions of each task.
One training takes hours on two CPU cores and seconds on a GPU; `--rows` takes fewer, for a trial.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import human_agreement
import pandas as pd
import torch

from bert_judge import tables
from bert_judge.assets.prepare import local_folder, make_manifest
from bert_judge.config import Input, Training
from bert_judge.config import files as config_files
from bert_judge.datasets.augmentation import augment
from bert_judge.judges.bert.int8_weights import round_weights
from bert_judge.judges.bert.judge import BERTJudge, CalibrationRows
from bert_judge.plan import Spec, build_plan
from bert_judge.runtime import resume
from bert_judge.runtime.metrics import classification_metrics

CONFIG = Path("configs/general.yaml")
JUDGE = "bert"
WORK = Path("results/.work/general")
METRICS = ("n", "base_rate", "accuracy", "macro_f1", "auroc", "ece")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, help="training rows that are used; all by default")
    parser.add_argument("--output", type=Path, default=WORK / "judge")
    options = parser.parse_args()
    run = config_files.load([CONFIG])
    spec = build_plan(run, [CONFIG]).judge_spec(JUDGE)
    folder = Path("results/datasets") / spec["dataset"]
    tested = [pair for source in run["imports"] for pair in human_agreement.tables_of(run, source)]
    labels = [f"results/labels/{run['gold']}/{model}/{task}.parquet" for model, task in tested]
    human_agreement.snakemake(options.cores, [CONFIG], [str(folder / "train.parquet"), *labels])
    rows = tables.read(folder / "train.parquet", tables.DATASET).head(options.rows)
    judge = average([train(spec, rows, seed, with_trees=seed == options.seeds[0]) for seed in options.seeds])
    calibrate(judge, folder, len(rows), spec, options.output)
    print(pd.DataFrame(measure(judge, run)).to_markdown(index=False, floatfmt=".3f"))
    return 0


def train(spec: Spec, rows: pd.DataFrame, seed: int, with_trees: bool) -> BERTJudge:
    judge = BERTJudge(backbone(spec), input=Input.model_validate(spec["input"]))
    training = Training.model_validate({**spec["training"], "seed": seed})
    # Other rows or another spec must not resume from these checkpoints.
    work = WORK / resume.content_key(tables.canonical(spec), str(seed), tables.fingerprint(rows))
    labels, weights = rows["label"].tolist(), rows["weight"].tolist()
    judge.fit(*human_agreement.columns(rows), labels, weights, training, with_trees, work)
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


def calibrate(judge: BERTJudge, folder: Path, num_rows: int, spec: Spec, output: Path) -> None:
    """Calibrate a judge on the dataset's validation rows, as `train_judge` does, and write it."""
    validation, weak = (tables.read(folder / f"{name}.parquet", tables.DATASET) for name in ("validation", "validation_weak"))
    dataset = json.loads(tables.provenance(folder / "train.parquet")["spec"])
    synthetic = augment(validation.drop(columns="weight"), dataset["augment"], dataset["seed"])
    metrics, _ = judge.calibrate(
        *human_agreement.columns(validation),
        validation["label"].tolist(),
        weak=CalibrationRows(*human_agreement.columns(weak), weak["label"].tolist(), weak["weight"].tolist()),
        synthetic=CalibrationRows(*human_agreement.columns(synthetic), synthetic["label"].tolist()),
    )
    metadata = judge.checkpoint.metadata
    metadata.version, metadata.languages, metadata.spec = "v1", ["en"], dict(spec)
    manifest = make_manifest(spec["backbone"], backbone(spec))
    metadata.backbone, metadata.backbone_revision = manifest["repository"], manifest["revision"]
    judge.save(output, int8=True)
    content = {"validation": metrics, "training": {"rows": num_rows}}
    (output / "metrics.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def measure(judge: BERTJudge, run: human_agreement.Run) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for source in run["imports"]:
        for task, rows in human_agreement.answers(run, source).groupby("task"):
            scores = judge.predict(*human_agreement.columns(rows))
            metrics = classification_metrics(rows["verdict"] == "correct", scores)
            lines.append({"task": task, **{name: metrics[name] for name in METRICS}})
    return lines


if __name__ == "__main__":
    sys.exit(main())
