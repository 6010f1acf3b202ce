"""Measure a judge on files that it was not trained on, beside fixed rules, and fit which of its verdicts are certain.

    BERT_JUDGE_DATA=… python benchmarks/unseen_files.py [FOLDER] [--write]

Without a folder it takes the judge in the package. The files are those of configs/general.yaml whose tasks are in no training
dataset. Prints accuracy in %, macro-F1, AUROC, expected calibration error and balanced accuracy per file, of the judge and of rules
with fixed thresholds, and the means by kind of answer.

Then it selects the scores whose verdicts are certain (`judges/bert/certainty.py`). Of short facts, names and numbers, which these
files hardly have, it also takes test questions of the training files. The check leaves each file out: share of certain verdicts and
their errors, with scores that were selected on the other files. `--write` stores the scores selected on all files in the judge's
folder. Logits are kept in `results/.work/general/unseen`, a file per task, so that a second call takes seconds; delete the folder
after a change of the judge or of the rules about texts. `general_tables.py` writes the tables into the documentation.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from general_tables import UNSEEN_FILES, WORK
from human_agreement import Run, columns
from rule_modules import trained_sources
from scipy.special import expit
from train_general import CONFIG, RULES, apply_rule, as_text, cell

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.config import files as config_files
from bert_judge.encoder.checkpoint import CertainScores
from bert_judge.encoder.judge_folder import write_checksums
from bert_judge.judges.bert.certainty import fit_certain_scores, is_certain, is_doubtful
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.text_steps import RULE_SCORE, normalize
from bert_judge.judges.bert.unread import MODULES as UNREAD_MODULES
from bert_judge.runtime.logs import job_log
from bert_judge.text.answer_kinds import answer_kind

FOLDER = WORK / "unseen"
# Kinds that these files hardly have; of the test questions of the training files, only answers of these kinds count.
KNOWN_KINDS = ("short facts", "names", "numbers")
# Answers per task of a file that it was not trained on, and of a training file.
UNSEEN_ROWS, KNOWN_ROWS = 400, 400
MIN_KIND_ROWS = 50
# Answers that are tested first; of the surest 60 names, people call two incorrect, of 100 as well.
FIRST_ROWS = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("judge", nargs="?", default=GENERAL, help="folder of a judge; the judge in the package by default")
    parser.add_argument("--write", action="store_true", help="store in the judge's folder which scores are certain")
    options = parser.parse_args()
    run = config_files.load([CONFIG])
    judge = BERTJudge(options.judge)
    tasks = [predict_task(judge, run, rows) for rows in test_answers(run)]
    # A table without answers has no types.
    answers = add_scores(judge, pd.concat([rows for rows in tasks if len(rows)], ignore_index=True))
    answers = answers[answers["is_unseen"] | answers["kind"].isin(KNOWN_KINDS)].reset_index(drop=True)
    files, kinds = measure_files(run, answers[answers["is_unseen"]])
    certain, certain_scores = check_certain(answers)
    for name, lines in (("files", files), ("kinds", kinds), ("certain verdicts", certain)):
        print(f"{name}:\n\n{pd.DataFrame(lines).map(as_text).to_markdown(index=False)}\n", flush=True)
    tables.write_json(UNSEEN_FILES, {"lines": files, "kinds": kinds, "certain": certain})
    print({kind: dataclasses.asdict(scores) for kind, scores in certain_scores.items()})
    if options.write:
        judge.checkpoint.update(certain_scores=certain_scores)
        judge.checkpoint.metadata.write(judge.path)
        write_checksums(judge.path)
    return 0


def test_answers(run: Run) -> Iterator[pd.DataFrame]:
    """Yield the labelled answers of each test task; `is_unseen`: its file is in no training dataset."""
    imported, trained = run["tasks"]["imported"], trained_sources(run)
    for task in run["tasks"]["test"]:
        entry = imported[task]
        source = run["imports"][entry["from"]]
        rows = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / source["path"])
        for name, value in entry.get("where", {}).items():
            rows = rows[rows[name].isin(value if isinstance(value, list) else [value])]
        low, high = entry.get("question_split", (0, 1))
        points = np.array(tables.item_points(rows["question"].fillna("").tolist(), rows["references"].map(list).tolist()))
        rows = rows[(points >= low) & ((points < high) | (high >= 1))]
        rows = rows.assign(
            label=pd.to_numeric(rows[source.get("columns", {}).get("label", "label")], errors="coerce").astype(float),
            question=rows["question"].fillna(""),
            references=rows["references"].map(list),
            **{"source": entry["from"], "task": task, "is_unseen": entry["from"] not in trained},
        )
        yield rows[rows["label"].isin([0, 1]) & (rows["references"].map(len) > 0) & rows["candidate"].notna()]


def predict_task(judge: BERTJudge, run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return answers of a task with the decision of a rule module, the logits of encoder and trees where no module decides (else
    NaN), and the scores of the fixed rules. Of a training file, only answers of `KNOWN_KINDS`."""
    task, is_unseen = rows[["task", "is_unseen"]].iloc[0]
    path = FOLDER / f"{task}.parquet"
    if not path.is_file():
        rows = rows.sample(min(UNSEEN_ROWS if is_unseen else KNOWN_ROWS, len(rows)), random_state=0)
        if not is_unseen:
            rows = rows[[answer_kind(*row) in KNOWN_KINDS for row in zip(*columns(rows), strict=True)]]
        decisions = ask_modules(judge, rows)
        undecided = ~decisions["decides"].to_numpy(bool)
        logits = np.full((2, len(rows)), np.nan)
        logits[:, undecided] = judge.logits(*columns(rows[undecided]))
        scores = {name: apply_rule(run["judges"][name], *columns(rows)) for name in RULES}
        FOLDER.mkdir(parents=True, exist_ok=True)
        names = ["source", "task", "is_unseen", "question", "references", "candidate", "label"]
        values = {"encoder": logits[0], "trees": logits[1], **decisions, **scores}
        rows[names].assign(**values).to_parquet(path, index=False)
        print(f"==> {task}", file=sys.stderr, flush=True)
    return pd.read_parquet(path)


def ask_modules(judge: BERTJudge, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the module that decides or would decide each answer, its verdict (1, 0 or NaN) and whether it `decides`."""
    _, decisions = judge.text_steps.decide_texts(normalize(*columns(rows)))
    return pd.DataFrame(
        {
            "module": [None if decision is None else decision.module for decision in decisions],
            "rule": [np.nan if decision is None or decision.correct is None else float(decision.correct) for decision in decisions],
            "decides": [judge.text_steps.may_decide(decision) for decision in decisions],
        },
        rows.index,
    )


def add_scores(judge: BERTJudge, answers: pd.DataFrame) -> pd.DataFrame:
    """Add the kind of each answer and the score that the judge gives it, with early exit."""
    decides, says = answers["decides"].to_numpy(bool), answers["rule"].map({1.0: 1, 0.0: -1}).fillna(0).to_numpy(float)
    encoder, trees = (answers[name].fillna(0).to_numpy() for name in ("encoder", "trees"))
    offsets = judge.text_steps.logit_offsets(trees, judge.checkpoint.metadata.rule_logit * np.where(decides, 0, says))
    rows, logits = judge.text_steps.rows_for_encoder(trees, offsets)
    logits[rows] = encoder[rows]
    scores = expit(judge.text_steps.combine(logits, offsets))
    texts = list(zip(*columns(answers), strict=True))
    kinds = [answer_kind(*row) for row in texts]
    score = np.where(decides, np.where(says > 0, RULE_SCORE, 1 - RULE_SCORE), scores)
    rows_to_check = zip(kinds, texts, score >= 0.5, strict=True)
    doubtful = np.array([is_doubtful(kind, *row, is_correct=is_correct) for kind, row, is_correct in rows_to_check], bool)
    return answers.assign(score=score, kind=kinds, doubtful=~decides & doubtful)


def measure_files(run: Run, answers: pd.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a line per file with its mean at the end, and a line per kind of answer."""
    files = [file_line(run, str(source), rows) for source, rows in answers.groupby("source", sort=False)]
    means = {name: np.nanmean([line[name] for line in files], axis=0).tolist() for name in ("judge", *RULES)}
    files.append({"source": "mean", "answers": len(answers), "correct": "", "called": "", **means})
    kinds = [{"kind": kind, **file_line(run, "", rows)} for kind, rows in answers.groupby("kind") if len(rows) >= MIN_KIND_ROWS]
    return files, [{name: value for name, value in line.items() if name != "source"} for line in kinds]


def file_line(run: Run, source: str, rows: pd.DataFrame) -> dict[str, Any]:
    """Return a line of a table: shares of answers that are and that are called correct, and the measures of judge and rules."""
    correct, scores = rows["label"].to_numpy() == 1, rows["score"].to_numpy()
    rules = {name: cell(correct, rows[name].to_numpy(), run["judges"][name].get("threshold", 0.5)) for name in RULES}
    shares = {"correct": f"{correct.mean():.0%}", "called": f"{(scores >= 0.5).mean():.0%}"}
    return {"source": source, "answers": len(rows), **shares, "judge": cell(correct, scores, 0.5, calibrated=True), **rules}


def check_certain(answers: pd.DataFrame) -> tuple[list[dict[str, Any]], dict[str, CertainScores]]:
    """Select the scores on the answers that no module decides; return the check by kind, and the scores.

    The check: share of certain verdicts, those of modules included, and the errors among certain and among uncertain ones, where
    the scores for the answers of a file were selected on all other files.
    """
    undecided = answers[~answers["decides"] & ~answers["doubtful"]]
    is_sure = (answers["decides"] & ~answers["module"].isin(UNREAD_MODULES)).to_numpy(bool, copy=True)
    for source in answers["source"].unique():
        scores = select_scores(undecided[undecided["source"] != source])
        rows = np.flatnonzero((answers["source"] == source) & ~answers["decides"] & ~answers["doubtful"])
        is_sure[rows] = [
            is_certain(scores, kind, score, is_correct=score >= 0.5)
            for kind, score in answers.iloc[rows][["kind", "score"]].itertuples(index=False)
        ]
    final = select_scores(undecided)
    wrong = (answers["score"] >= 0.5) != (answers["label"] == 1)
    lines = []
    for kind, rows in [*answers.groupby("kind"), ("all", answers)]:
        sure = is_sure[rows.index]
        by_module = int(rows["decides"].sum())
        errors = wrong[rows.index]
        scores = final.get(str(kind), CertainScores())
        lines.append(
            {
                **{"kind": kind, "answers": len(rows), "files": rows["source"].nunique(), "by modules": by_module},
                **{"incorrect up to": scores.low, "correct from": scores.high, "certain": f"{100 * sure.mean():.1f}"},
                **{"wrong if certain": percent(errors[sure]), "wrong if uncertain": percent(errors[~sure])},
            }
        )
    return lines, final


def select_scores(answers: pd.DataFrame) -> dict[str, CertainScores]:
    """Every answer counts by itself: files differ too much for a bound over files, and `check_certain` leaves files out instead."""
    kinds, scores, labels = answers["kind"].tolist(), answers["score"], answers["label"]
    selected = fit_certain_scores(kinds, scores, labels, np.arange(len(answers)), first_rows=FIRST_ROWS)
    return {kind: CertainScores(*(rounded(value) for value in (scores.low, scores.high))) for kind, scores in selected.items()}


def rounded(score: float | None) -> float | None:
    """Round away from one half to three decimals, so that no further verdict becomes certain."""
    if score is None:
        return None
    return math.floor(1000 * score) / 1000 if score < 0.5 else math.ceil(1000 * score) / 1000


def percent(errors: pd.Series) -> str:
    return f"{100 * errors.mean():.1f}" if len(errors) else "–"


if __name__ == "__main__":
    with job_log(None):
        sys.exit(main())
