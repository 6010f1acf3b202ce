"""Accuracy of lexical judges on real answers: the baseline that a trained judge must beat.

    BERT_JUDGE_DATA=… python benchmarks/lexical_baselines.py [--files nq_open_human …] [--rows 2000]

Prints per file and rule: rows, accuracy against the label, macro-F1, Cohen's kappa, share of invalid verdicts (which count as
incorrect, as in the standings) and rows per second; the majority class comes first. For scored metrics it also selects a threshold
on half of the questions and prints its accuracy on the other half, next to the default threshold. Labels made by a rule favour
rules: only files with human labels count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score, f1_score

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Label, Row

WORDS: dict[str, dict[str, Any]] = {
    "exact, strict": {"metric": "exact_match", "extract": ["final_answer"]},
    "exact, lenient": {"metric": "exact_match", "extract": ["final_answer", "boxed", "full_text"]},
    "contains": {"metric": "contains", "extract": ["full_text"]},
    "contains, answer": {"metric": "contains", "extract": ["final_answer", "boxed", "full_text"]},
    "token F1": {"metric": "token_f1", "extract": ["final_answer", "boxed", "full_text"]},
    "ROUGE-L recall": {"metric": "rouge_l_recall", "extract": ["full_text"]},
    "ROUGE-L recall, no stems": {"metric": "rouge_l_recall", "extract": ["full_text"], "stem": False},
    "ROUGE-L recall, answer": {"metric": "rouge_l_recall", "extract": ["final_answer", "boxed", "full_text"]},
    "ROUGE-L F": {"metric": "rouge_l_f", "extract": ["final_answer", "boxed", "full_text"]},
}
NUMBERS: dict[str, dict[str, Any]] = {
    "exact, strict": WORDS["exact, strict"],
    "exact, last number": {"metric": "exact_match", "extract": ["last_number"]},
    "Math-Verify, strict": {"metric": "math_verify", "extract": ["final_answer"]},
    "Math-Verify, last number": {"metric": "math_verify", "extract": ["boxed", "last_number"]},
    "Math-Verify, lenient": {"metric": "math_verify", "extract": ["boxed", "final_answer", "last_number"]},
    "Math-Verify, whole": {"metric": "math_verify", "extract": ["full_text"]},
    "ROUGE-L recall": WORDS["ROUGE-L recall"],
}
LETTERS: dict[str, dict[str, Any]] = {
    "exact, strict": WORDS["exact, strict"],
    "choice": {"metric": "exact_match", "extract": ["choice"]},
    "choice, lenient": {"metric": "exact_match", "extract": ["choice", "final_answer"]},
    "contains": WORDS["contains"],
    "ROUGE-L recall": WORDS["ROUGE-L recall"],
}
FILES: dict[str, dict[str, dict[str, Any]]] = {
    "nq_open_human": WORDS,
    "truthfulqa_human": WORDS,
    "sra_scientsbank": WORDS,
    "shroom": WORDS,
    "asqa_long_form_feedback": WORDS,
    "hotpotqa_fireact": WORDS,
    "tatqa_gpt3_codex": {**WORDS, "Math-Verify, lenient": NUMBERS["Math-Verify, lenient"]},
    "gsm8k_gpt3": NUMBERS,
    "gsm8k_44_models": NUMBERS,
    "math_l5_43_models": NUMBERS,
    "mmlu_pro_29_models": LETTERS,
    "mmlu_letters_10_models": LETTERS,
    "cot_arithmetic_commonsense": {**WORDS, **NUMBERS, "choice, lenient": LETTERS["choice, lenient"]},
}


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """A file's rows as the judges take them."""
    return [
        Row(str(i), 0, str(model), question, tuple(map(str, references)), candidate)
        for i, (model, question, references, candidate) in enumerate(
            zip(frame["model"], frame["question"], frame["references"], frame["candidate"], strict=True)
        )
    ]


def line(name: str, gold: np.ndarray, verdicts: Sequence[str], note: str = "") -> str:
    """One line of the table; an invalid verdict counts as incorrect, as in the standings."""
    said = np.array([verdict == "correct" for verdict in verdicts], int)
    f1 = f1_score(gold, said, average="macro", labels=[0, 1], zero_division=0)
    kappa = cohen_kappa_score(gold, said)
    invalid = np.mean([verdict == "invalid" for verdict in verdicts])
    return (
        f"  {name:26s}{len(gold):7d}{np.mean(gold == said):10.1%}{f1:10.3f}"
        f"{0.0 if np.isnan(kappa) else kappa:8.3f}{invalid:9.1%}  {note}"
    )


def tuned(labels: Sequence[Label], gold: np.ndarray, halves: np.ndarray, default: float) -> str:
    """The best threshold on one half of the questions, and the accuracy on the other, beside the default's."""
    scores = np.array([np.nan if label.score is None else label.score for label in labels])
    grid = np.round(np.arange(0.05, 1.001, 0.05), 2)
    half = halves == 0
    best = max(grid, key=lambda threshold: np.mean((scores[half] >= threshold) == gold[half]))
    reached, usual = (np.mean((scores[~half] >= threshold) == gold[~half]) for threshold in (best, default))
    return f"; threshold {best:.2f} chosen on half: {reached:.1%} on the other, {default:.2f}: {usual:.1%}"


def measure(name: str, folder: Path, presets: Mapping[str, Mapping[str, Any]], limit: int | None) -> None:
    """Print the table of one file."""
    frame = pd.read_parquet(folder / f"{name}.parquet").dropna(subset=["label"])
    if limit is not None and limit < len(frame):
        frame = frame.sample(limit, random_state=0)
    gold = frame["label"].to_numpy().astype(int)
    rows = rows_of(frame)
    halves = np.array([zlib.crc32(q.encode()) % 2 for q in frame["qhash"]])
    print(f"\n{name} ({frame['label_source'].iloc[0]})")
    print(f"  {'preset':26s}{'rows':>7s}{'accuracy':>10s}{'macro-F1':>10s}{'kappa':>8s}{'invalid':>9s}")
    majority = "correct" if gold.mean() >= 0.5 else "incorrect"
    print(line(f"always {majority}", gold, [majority] * len(gold)))
    for preset, settings in presets.items():
        started = time.perf_counter()
        with LexicalJudge(settings) as judge:
            labels = judge.judge(rows)
        note = f"{len(rows) / (time.perf_counter() - started):,.0f} rows/s"
        if settings["metric"] in ("token_f1", "rouge_l_recall", "rouge_l_f"):
            note += tuned(labels, gold, halves, judge.settings.threshold)
        print(line(preset, gold, [label.verdict for label in labels], note), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", choices=FILES, default=list(FILES), metavar="FILE")
    parser.add_argument("--rows", type=int, help="at most this many rows per file, drawn at random")
    options = parser.parse_args()
    folder = os.environ.get("BERT_JUDGE_DATA")
    if folder is None:
        sys.exit("BERT_JUDGE_DATA is not set; set it to the folder with the data files")
    for name in options.files:
        measure(name, Path(folder), FILES[name], options.rows)


if __name__ == "__main__":
    main()
