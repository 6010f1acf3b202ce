"""Agreement of judges with the labels of real answers: on new questions, and on files that are not in the training set.

    BERT_JUDGE_DATA=… python benchmarks/human_agreement.py [--left-out nq_open truthfulqa | all | none] [--rows N] [--with FILE]

Runs the workflow of configs/general.yaml; `--rows` trains on fewer labelled rows, `--with` overrides other settings, such as the
backbone. For each file left out it trains the same judge without that file's training rows, refits the judges that depend on it,
and scores the file's test questions. Prints per file n, accuracy, macro-F1, Cohen's kappa, calibration error and AUROC with 95%
intervals over questions for the majority class, every rule, the judge and its cascades, each also without the file in training;
then the difference of each from the best rule on the same answers. Finished work is reused.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from bert_judge import tables
from bert_judge.config import files as config_files
from bert_judge.statistics.bootstrap import Interval, QuestionBootstrap, classification_resamples, percentile_interval, ratio
from bert_judge.statistics.intervals import paired_difference
from bert_judge.statistics.metrics import BINS, bin_index

CONFIG = Path("configs/general.yaml")
WORK = Path("results/.work/human_agreement")
MEASURES = {"accuracy": "accuracy", "macro_f1": "macro-F1", "kappa": "κ", "ece": "ECE", "auroc": "AUROC"}
MAJORITY = "majority class"
# `all` would keep back what is wrong with a run.
QUIET = ("--quiet", "host", "progress", "reason", "rules")
# Tells an answer from all others.
KEY = ["sample_id", "attempt", "model", "task"]
Run = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--left-out", nargs="*", default=["nq_open", "truthfulqa"], help="imports of the configuration, all or none"
    )
    parser.add_argument("--rows", type=int, help="labelled rows to train on, before augmentation; all by default")
    parser.add_argument("--with", nargs="*", type=Path, default=[], dest="over", help="configuration files that change settings")
    options = parser.parse_args()
    configs = [CONFIG, *options.over]
    run = config_files.load(configs)
    [judge] = [name for name, entry in run["judges"].items() if entry["kind"] == "bert"]
    if options.rows:
        limit = {"datasets": {run["judges"][judge]["dataset"]: {"mix": {"total": options.rows}}}}
        configs.append(write_config("rows", limit))
        run = config_files.load(configs)
    sources = list(run["imports"])
    left_out = {"all": sources, "none": []}.get(" ".join(options.left_out), options.left_out)
    if unknown := set(left_out) - set(sources):
        parser.error(f"--left-out: {sorted(unknown)[0]} is no import of {CONFIG}; there are {', '.join(sources)}")
    snakemake(options.cores, configs, [])
    learnt = [judge, *built_on(run, judge)]
    for source in left_out:
        path = write_config(blind(judge, source), without(run, source, judge))
        judged = itertools.product(learnt, tables_of(run, source))
        targets = [f"results/labels/{blind(name, source)}/{model}/{task}.parquet" for name, (model, task) in judged]
        snakemake(options.cores, [path], targets)
    compared = [name for name in run["scorers"] if name != run["gold"]]
    rules = [name for name in compared if run["judges"][name]["kind"] == "lexical"]
    summary, leads = [], []
    for source in sources:
        made = table(run, source, [*compared, *(blind(name, source) for name in learnt if source in left_out)])
        print(f"\n## {source}: {int(made['n'].iloc[0])} answers to {int(made['questions'].iloc[0])} questions\n", flush=True)
        print(made.drop(columns=["n", "questions", "value", "agrees"]).to_markdown(index=False))
        summary.append(summary_line(made, rules, learnt, source))
        leads.append(lead_line(made, rules, learnt, source))
    print("\n## In short: accuracy in %\n")
    print(pd.DataFrame(summary).to_markdown(index=False))
    print("\n## Above the rule that is best on the file, in points\n")
    print(pd.DataFrame(leads).to_markdown(index=False))
    return 0


def write_config(name: str, content: Mapping[str, Any]) -> Path:
    path = WORK / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def snakemake(cores: int, configs: Iterable[Path], targets: Iterable[str]) -> None:
    files = [str(path) for path in configs]
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", *files, *QUIET, "--"]
    print(f"==> {' '.join(files)}", file=sys.stderr, flush=True)
    if subprocess.run([*command, *targets]).returncode:
        # Snakemake has said why.
        raise SystemExit(1)


def tables_of(run: Run, source: str) -> list[tuple[str, str]]:
    """(model, test task) of a file."""
    imported = run["tasks"]["imported"]
    tests = [task for task in run["tasks"]["test"] if imported[task]["from"] == source]
    models = [model for model, entry in run["models"].items() if source in entry["from"]]
    return [(model, task) for task in tests for model in models]


def built_on(run: Run, judge: str) -> list[str]:
    """The cascades that end with a judge. Those that end with people agree by construction."""
    return [name for name, entry in run["judges"].items() if entry.get("judges", [None])[-1] == judge]


def blind(judge: str, source: str) -> str:
    """Name of a judge that never saw a file."""
    return f"{judge}_without_{source}"


def without(run: Run, source: str, judge: str) -> dict[str, Any]:
    """The same run with a judge, and what is built on it, that never see a file: its tasks are not trained on, and are the only
    ones judged. Audits and attacks measure nothing here.
    """
    derived = copy.deepcopy({key: value for key, value in run.items() if key not in {"audit", "attacks"}})
    name, kept = blind(judge, source), built_on(run, judge)
    above = {other: derived["judges"][other] for other in kept}
    derived["judges"] = {other: entry for other, entry in derived["judges"].items() if entry["kind"] != "cascade"}
    for other, entry in above.items():
        derived["judges"][blind(other, source)] = entry | {"judges": [*entry["judges"][:-1], name], "dataset": name}
    imported = derived["tasks"]["imported"]
    entry = derived["judges"].pop(judge)
    dataset = derived["datasets"].pop(entry["dataset"])
    dataset["tasks"] = [task for task in dataset["tasks"] if imported[task]["from"] != source]
    mix = dataset.get("mix", {})
    dataset["mix"] = mix | {"per_task": {t: rows for t, rows in mix.get("per_task", {}).items() if t in dataset["tasks"]}}
    if weak_teacher := dataset.get("weak_teacher"):
        weak_teacher["tasks"] = [task for task in weak_teacher["tasks"] if task in dataset["tasks"]]
        if not weak_teacher["tasks"]:
            del dataset["weak_teacher"]
    derived["datasets"][name] = dataset
    derived["judges"][name] = entry | {"dataset": name}
    derived["scorers"] = [derived["gold"], name, *(blind(other, source) for other in kept)]
    derived["tasks"]["train"] = dataset["tasks"]
    derived["tasks"]["test"] = [task for task in derived["tasks"]["test"] if imported[task]["from"] == source]
    derived["tasks"]["limit"] = {t: n for t, n in derived["tasks"].get("limit", {}).items() if t in derived["tasks"]["test"]}
    return derived


def labels(run: Run, source: str, judge: str) -> pd.DataFrame:
    parts = [
        tables.read(f"results/labels/{judge}/{model}/{task}.parquet", tables.LABELS).assign(task=task)
        for model, task in tables_of(run, source)
    ]
    return pd.concat(parts, ignore_index=True)[[*KEY, "verdict", "score"]]


def gold_labels(run: Run, source: str) -> pd.DataFrame:
    """What the labels of the file say, where they do."""
    return labels(run, source, run["gold"]).query("verdict != 'invalid'")


def answers(run: Run, source: str) -> pd.DataFrame:
    """Labelled answers to a file's test questions, with what a judge reads."""
    parts = [
        tables.read(f"results/candidates/{model}/{task}.parquet", tables.CANDIDATES).assign(task=task)
        for model, task in tables_of(run, source)
    ]
    texts = pd.concat(parts, ignore_index=True)[[*KEY, "question", "references", "candidate"]]
    return gold_labels(run, source)[[*KEY, "verdict"]].merge(texts, on=KEY, validate="one_to_one")


def columns(rows: pd.DataFrame) -> tuple[list[str], list[list[str]], list[str]]:
    """Questions, references and candidates, as judges take them."""
    return rows["question"].tolist(), [list(texts) for texts in rows["references"]], rows["candidate"].tolist()


def table(run: Run, source: str, judges: Iterable[str]) -> pd.DataFrame:
    """A line per judge, the best last; `value` is its accuracy, `agrees` which verdicts are right, by question."""
    gold = gold_labels(run, source)
    right = (gold["verdict"] == "correct").to_numpy()
    common = "correct" if 2 * right.sum() >= len(right) else "incorrect"
    lines = [line(MAJORITY, gold.assign(verdict=common, score=right.mean()), right)]
    for judge in judges:
        said = gold[KEY].merge(labels(run, source, judge), on=KEY, how="left", validate="one_to_one")
        lines.append(line(judge, said, right))
    return pd.DataFrame(lines).sort_values("value", ignore_index=True)


def line(judge: str, said: pd.DataFrame, right: np.ndarray) -> dict[str, Any]:
    made = intervals(said, right)
    cells = {shown: cell(made[name], 1 if name == "accuracy" else 3) for name, shown in MEASURES.items()}
    counts = {"n": len(said), "questions": said["sample_id"].nunique(), "value": made["accuracy"].value}
    agrees = pd.Series((said["verdict"] == np.where(right, "correct", "incorrect")).to_numpy(), index=said["sample_id"])
    return {"agrees": agrees, "judge": judge, **cells, "invalid": f"{100 * np.mean(said['verdict'] == 'invalid'):.1f}", **counts}


def intervals(labels: pd.DataFrame, correct: np.ndarray) -> dict[str, Interval]:
    """Compute metrics of verdicts and scores with intervals of one bootstrap over questions; calibration over rows with a score."""
    draws = QuestionBootstrap.over(labels["sample_id"])
    truth = np.where(correct, "correct", "incorrect")
    resampled = classification_resamples(draws, truth, labels["verdict"], ["correct", "incorrect"])
    scored = labels["score"].notna().to_numpy()
    score, positive, draws = labels["score"].to_numpy(float)[scored], correct[scored], draws.select(scored)
    gaps = draws.totals(score - positive, bin_index(score), BINS)
    resampled["ece"] = ratio(np.abs(gaps).sum(axis=1), draws.totals(np.ones(len(score))))
    # Area under the ROC curve by Mann and Whitney's U; equal scores count half.
    values, code = np.unique(score.round(3), return_inverse=True)
    positives, negatives = (draws.totals(rows, code, len(values)) for rows in (positive, ~positive))
    wins = positives * (np.cumsum(negatives, axis=1) - negatives / 2)
    resampled["auroc"] = ratio(wins.sum(axis=1), positives.sum(axis=1) * negatives.sum(axis=1))
    return {name: percentile_interval(lines) for name, lines in resampled.items()}


def cell(interval: Interval, digits: int) -> str:
    if np.isnan(interval.value):
        return "–"
    scale = 100 if digits == 1 else 1
    value, low, high = (f"{scale * number:.{digits}f}" for number in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def best_of(made: pd.DataFrame, rules: list[str]) -> str:
    """The rule that agrees most often."""
    return str(made.set_index("judge").loc[rules, "value"].idxmax())


def summary_line(made: pd.DataFrame, rules: list[str], learnt: list[str], source: str) -> dict[str, Any]:
    rows = made.set_index("judge")
    best = best_of(made, rules)
    accuracy = rows["accuracy"].reindex([*learnt, *(blind(name, source) for name in learnt)], fill_value="–")
    return {
        "file": source,
        "n": rows["n"].iloc[0],
        MAJORITY: f"{100 * rows.loc[MAJORITY, 'value']:.1f}",
        "best rule": f"{best} {rows.loc[best, 'accuracy']}",
        **{f"{name}, new questions": accuracy[name] for name in learnt},
        **{f"{name}, file never seen": accuracy[blind(name, source)] for name in learnt},
    }


def lead_line(made: pd.DataFrame, rules: list[str], learnt: list[str], source: str) -> dict[str, Any]:
    agrees = made.set_index("judge")["agrees"]
    best = best_of(made, rules)
    cells = {}
    for kind, names in {"new questions": learnt, "file never seen": [blind(name, source) for name in learnt]}.items():
        for name, shown in zip(names, learnt, strict=True):
            lead = "–"
            if name in agrees.index:
                lead = cell(paired_difference(agrees[name], agrees[best], agrees[best].index), 1)
            cells[f"{shown}, {kind}"] = lead
    return {"file": source, "best rule": best, **cells}


if __name__ == "__main__":
    sys.exit(main())
