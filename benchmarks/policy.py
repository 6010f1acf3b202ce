"""Measure what a judge accepts under the policies `strict` and `lenient`, and fit the offset between them.

    BERT_JUDGE_DATA=… python benchmarks/policy.py [FOLDER]
    BERT_JUDGE_DATA=… python benchmarks/policy.py FOLDER --fit

Without a folder it takes the judge in the package. The table has fully, partly and not correct answers of the files of
configs/general.yaml with partial credit, and three kinds of answers whose verdict depends on a policy: correct answers of 20 words
and more to short references (extra details), answers that are a part of the reference (less specific), and answers that attempt
nothing. None of the questions is in the training or validation rows of the dataset. `--fit` first fits `partial_offset` on the
answers to its validation questions and writes it to judge.json; nothing else changes.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from general_tables import POLICY
from human_agreement import columns, snakemake

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.text.abstention import is_attempted
from bert_judge.text.normalization import normalize_words

CONFIG = Path("configs/general.yaml")
DATASET = Path("results/datasets/real_answers")
# Files with partial credit: answers with label_strict 0 and no label. Of these grades, neither partly correct nor incorrect.
PARTIAL_CREDIT = ("scientsbank", "asqa", "factcheckgpt", "gaokao", "beam_frames")
NO_GRADES = ("incorrect", "NOT_ATTEMPTED")
OTHER_FILES = ("nq_open", "longmemeval", "simpleqa_czech")
MIN_ROWS, MEASURED_ROWS = 10, 400
DETAILED_WORDS, SHORT_WORDS = 20, 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("judge", nargs="?", default=GENERAL, help="folder of a judge; the judge in the package by default")
    parser.add_argument("--fit", action="store_true", help="fit the offset of the policy lenient, and write it to the folder")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    snakemake(options.cores, [CONFIG], [str(DATASET / "train.parquet")])
    train, validation = (tables.read(DATASET / f"{part}.parquet", tables.DATASET) for part in ("train", "validation"))
    judge = BERTJudge(options.judge)
    if options.fit:
        print(f"partial_offset: {set_policy(judge, train, validation):.3f}\n")
        judge.save(judge.path, int8=True)
    table = measure(judge, train, validation)
    print(table.to_markdown(index=False))
    tables.write_json(POLICY, {"lines": table.to_dict("records")})


def set_policy(judge: BERTJudge, train: pd.DataFrame, validation: pd.DataFrame) -> float:
    """Fit and return the offset of a calibrated judge on answers with partial credit to questions of the validation rows.

    Files weigh as the square root of their number of rows. The arguments are tables of the schema `dataset`.
    """
    rows = graded_answers()
    rows = rows[_questions_of(rows, train, validation) == "validation"]
    weights = 1 / np.sqrt(rows["source"].map(rows["source"].value_counts()))
    return judge.fit_partial_offset(*columns(rows), rows["grade"] > 0, weights)


def measure(judge: BERTJudge, train: pd.DataFrame, validation: pd.DataFrame) -> pd.DataFrame:
    """Return per file and kind of answers the share that a judge accepts under each policy, in %."""
    lines = []
    for rows in (graded_answers(), other_answers()):
        unseen = rows[_questions_of(rows, train, validation) == "new"]
        for (kind, source), group in unseen.groupby(["kind", "source"], sort=False):
            if len(group) < MIN_ROWS:
                continue
            sample = group.sample(min(MEASURED_ROWS, len(group)), random_state=0)
            accepted = 100 * (judge.predict_grades(*columns(sample)) >= judge.threshold).mean(axis=0)
            fully = f"{100 * (sample['grade'] == 1).mean():.0f}%"
            lines.append((kind, source, len(sample), fully, *(f"{share:.1f}" for share in accepted)))
    return pd.DataFrame(lines, columns=["kind", "file", "answers", "fully correct", "strict", "lenient"])


def graded_answers() -> pd.DataFrame:
    """Return the answers of files with partial credit, with columns source, kind and grade (0, 0.5 for all partial credit, 1)."""
    parts = []
    for rows in _read(PARTIAL_CREDIT):
        partial = rows["label"].isna() & (rows["label_strict"] == 0) & ~rows["grade"].isin(NO_GRADES)
        parts.append(rows.assign(grade=np.where(partial, 0.5, rows["label"].astype(float))))
    answers = pd.concat(parts, ignore_index=True).dropna(subset=["grade"])
    kinds = {1.0: "fully correct", 0.5: "partly correct", 0.0: "incorrect"}
    return answers.assign(kind=answers["grade"].map(kinds)).sort_values("grade", ascending=False, kind="stable")


def other_answers() -> pd.DataFrame:
    """Return answers of other files, with columns source, kind and grade, the label."""
    parts = []
    for rows in _read(OTHER_FILES):
        texts = list(zip(*columns(rows), strict=True))
        rows = rows.assign(grade=rows["label"].astype(float).fillna(0), kind=[_kind(*row) for row in texts])
        # A wrong answer with details is no correct one with details.
        parts.append(rows[rows["kind"].notna() & ((rows["kind"] != "extra details") | (rows["grade"] == 1))])
    return pd.concat(parts, ignore_index=True).sort_values("kind", kind="stable")


def _kind(question: str, references: list[str], candidate: str) -> str | None:
    if not is_attempted(question, references, candidate):
        return "abstention"
    words, reference_words = normalize_words(candidate), [normalize_words(text) for text in references]
    if len(words) >= DETAILED_WORDS and max(map(len, reference_words)) <= SHORT_WORDS:
        return "extra details"
    return "less specific" if words and any(set(words) < set(others) for others in reference_words) else None


def _read(sources: tuple[str, ...]) -> Iterator[pd.DataFrame]:
    imports = config_files.load([CONFIG])["imports"]
    for source in sources:
        rows = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / imports[source]["path"])
        yield rows.assign(source=source, references=rows["references"].map(list))


def _questions_of(rows: pd.DataFrame, train: pd.DataFrame, validation: pd.DataFrame) -> np.ndarray:
    """Return whether the question of each row is in `train` or `validation`, or `new`, shape (n,)."""
    parts = {"train": train[~train["model"].str.startswith("synthetic-")], "validation": validation, "new": rows}
    frame = pd.concat([part[["question", "references"]].assign(part=name) for name, part in parts.items()], ignore_index=True)
    keys = pd.Series(tables.item_keys(frame["question"].tolist(), frame["references"].map(list).tolist()))
    first = frame.groupby(keys)["part"].transform("first")
    return first[frame["part"] == "new"].to_numpy()


if __name__ == "__main__":
    main()
