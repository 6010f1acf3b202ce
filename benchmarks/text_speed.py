"""Processor time of what the judge does with texts before its encoder: normalised inputs, rule modules, features, `contains`.

    BERT_JUDGE_DATA=… python benchmarks/text_speed.py [--rows 2000] [--rounds 3] [--against CHECKOUT]

Prints rows per second of processor time in one process, the best round of each part, and the share of every group of functions in
the features and in the rules, sampled every millisecond. With `--against`, another checkout of this repository reads the same rows
in the same run; the last column says whether the results are equal to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

import pandas as pd
import timing

# Function or file → group; the innermost of a call counts, with everything it calls that has no group of its own.
GROUPS = {
    "normalize_words": "normalise words",
    "strip_reasoning": "remove reasoning",
    "_last_statement": "find the stated answer",
    "extract_last_number": "find the last number",
    "boxed": "find boxes",
    "strip_markup": "unwrap",
    "unwrap": "unwrap",
    "parse_options": "options of the question",
    "expected_choice": "options of the references",
    "extract_choice": "the option that an answer chooses",
    "_fuzzy_recall": "similar words",
    "_trigram_recall": "trigrams",
    "_context_features": "context of the reference",
    "feature_table": "other features",
    "find_quantities": "quantities",
    "find_moments": "dates",
    "read_answer": "cut the answer",
    "decide": "other rules",
}
WARM_UP_ROWS = 300
SAMPLE_SECONDS = 0.001
# Files in which many models answered each question.
MANY_MODELS = ("gsm8k_44_models", "math_l5_43_models", "mmlu_pro_29_models")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, help="folder of another checkout of this repository")
    parser.add_argument("--worker", action="store_true", help="measure one round of this checkout and print it as JSON")
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(options.rows)))
        return
    checkouts = {"this checkout": Path(__file__).resolve().parents[1]}
    if options.against:
        checkouts = {str(options.against): options.against.resolve(), **checkouts}
    rounds: dict[str, list[dict[str, list[float | str]]]] = {name: [] for name in checkouts}
    for _ in range(options.rounds):
        for name, folder in checkouts.items():
            command = [sys.executable, __file__, "--worker", "--rows", str(options.rows)]
            environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
            # In its folder, so that the process of Math-Verify is that of the checkout too.
            done = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE)
            rounds[name].append(json.loads(done.stdout))
    print(f"{timing.machine()}\n{options.rows} rows of {len(timing.FILES)} files, rows per second of processor time\n")
    lines, last = [], list(rounds)[-1]
    for part, (_, digest) in rounds[last][0].items():
        best = [max(float(done[part][0]) for done in rounds[name]) for name in rounds]
        are_equal = all(done[part][1] == digest for name in rounds for done in rounds[name])
        lines.append([part, *(f"{rate:,.0f}" for rate in best), f"{best[-1] / best[0]:.1f}×", "yes" if are_equal else "no"])
    print(timing.table(["part", *rounds, "faster", "equal results"], lines))
    print_groups(options.rows)


def shared(count: int) -> timing.Rows:
    """Return rows of questions that many models answered, with all their answers, as the paper's grid has them."""
    folder = Path(os.environ["BERT_JUDGE_DATA"])
    frames = [pd.read_parquet(folder / f"{name}.parquet").dropna(subset=["label"]) for name in MANY_MODELS]
    chosen = []
    for frame in frames:
        hashes = frame["qhash"].drop_duplicates().sample(frac=1, random_state=0)
        answers = frame["qhash"].value_counts()[hashes]
        chosen.append(frame[frame["qhash"].isin(hashes[answers.cumsum().to_numpy() <= count // len(frames)])])
    rows = pd.concat(chosen).sample(frac=1, random_state=0)
    references = [str(texts[0]) for texts in rows["references"]]
    return timing.Rows(rows["question"].tolist(), references, rows["candidate"].tolist(), rows["label"].astype(float).tolist())


def parts(rows: timing.Rows) -> Mapping[str, Callable[[], object]]:
    """Return the parts of the work on these rows, in the order in which a judge does them."""
    from bert_judge.judges.lexical.judge import LexicalJudge
    from bert_judge.judges.protocol import Row
    from bert_judge.text.answer_text import normalize_inputs
    from bert_judge.text.features import feature_table
    from bert_judge.text.rules import decide

    references = [[reference] for reference in rows.references]
    columns = rows.questions, *normalize_inputs(rows.questions, references, rows.candidates)
    contains = LexicalJudge({"metric": "contains", "extract": ["full_text"]})
    judged = [Row(str(i), 0, "m", rows.questions[i], tuple(references[i]), rows.candidates[i]) for i in range(len(references))]
    return {
        "normalised inputs": lambda: normalize_inputs(rows.questions, references, rows.candidates),
        "rules": lambda: [decide(*row) for row in zip(*columns, strict=True)],
        "features": lambda: feature_table(*columns).tolist(),
        "the judge `contains`": lambda: [(label.verdict, label.reason) for label in contains.judge(judged)],
    }


def measure(count: int) -> dict[str, tuple[float, str]]:
    """Return the rows per second of processor time of each part, and a hash of its results."""
    results = {}
    for kind, choose in (("mixed rows", timing.mixed), ("all answers to a question", shared)):
        rows = choose(count + WARM_UP_ROWS)
        rows, others = (
            timing.Rows(*(column[part] for column in vars(rows).values())) for part in (slice(count), slice(count, None))
        )
        for work in parts(others).values():
            work()  # reads the tables and compiles the patterns, which happens once per process
        for name, work in parts(rows).items():
            started = time.process_time()
            result = work()
            rate = len(rows.labels) / (time.process_time() - started)
            results[f"{name}, {kind}"] = rate, hashlib.sha256(repr(result).encode()).hexdigest()
    return results


def print_groups(count: int) -> None:
    """Print the share of each group of functions in the features and in the rules."""
    samples: Counter[str] = Counter()

    def sample(_: int, frame: FrameType | None) -> None:
        while frame and frame.f_code.co_name not in GROUPS:
            frame = frame.f_back
        samples[GROUPS[frame.f_code.co_name] if frame else "other"] += 1

    signal.signal(signal.SIGPROF, sample)
    work = parts(timing.mixed(count))
    for name in ("features", "rules"):
        samples.clear()
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
        work[name]()
        signal.setitimer(signal.ITIMER_PROF, 0)
        row = 1e6 * (time.process_time() - started) / count
        total = samples.total()
        lines = [[group, f"{number / total:.0%}", f"{row * number / total:.0f}"] for group, number in samples.most_common()]
        print(f"\n{timing.table([name, 'share', 'µs a row'], lines)}")


if __name__ == "__main__":
    main()
