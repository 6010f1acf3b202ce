"""Coverage of the intervals and sequences of corrected accuracies and differences, and the labels that each design needs.

    nice python benchmarks/coverage.py [--runs 400]

Simulates answers, judges and audits, and prints three Markdown tables. Takes about half an hour on one core.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd
from scipy import stats

from bert_judge.evaluation.audit import corrected, ppi, sampling
from bert_judge.evaluation.audit.sampling import LABEL, UNLABELLED
from bert_judge.evaluation.score_tables import MODEL, TASK
from bert_judge.statistics.bootstrap import Interval

JUDGE = "judge"
# Share of invalid verdicts.
INVALID = 0.03


@dataclass(frozen=True)
class Judge:
    """A simulated judge: sensitivity and specificity on the answers of each of two models."""

    name: str
    first: tuple[float, float]
    second: tuple[float, float]


@dataclass(frozen=True)
class Setting:
    """Simulated answers of two models to the same questions.

    Attributes:
        accuracies: of both models.
        questions: number of questions.
        attempts: answers of each model to a question.
        correlation: of the answers to a question, 0 to 1.
    """

    name: str
    accuracies: tuple[float, float]
    questions: int
    attempts: int = 1
    correlation: float = 0.3


JUDGES = (
    Judge("weak", (0.80, 0.70), (0.80, 0.70)),
    Judge("good", (0.92, 0.90), (0.92, 0.90)),
    Judge("very good", (0.98, 0.97), (0.98, 0.97)),
    Judge("biased to the second", (0.90, 0.92), (0.98, 0.70)),
)
# Those of the tables of coverage, which take longest.
COVERAGE_JUDGES = (JUDGES[1], JUDGES[3])
SETTINGS = (
    Setting("60% and 55% right", (0.60, 0.55), 2000),
    Setting("92% and 88% right", (0.92, 0.88), 2000),
    Setting("60% and 55%, 4 answers a question", (0.60, 0.55), 500, 4, 0.6),
)
LABELS = (100, 300, 1000)
DESIGNS: tuple[sampling.Design, ...] = ("uniform", "neyman")
# Column of the tables → design and method.
COLUMNS: dict[str, tuple[sampling.Design, str]] = {
    "labels alone": ("uniform", "human_labels"),
    "PPI++": ("uniform", "ppi"),
    "PPI++, Neyman": ("neyman", "ppi"),
}


def answers(setting: Setting, judge: Judge, random: np.random.Generator) -> pd.DataFrame:
    """Simulate answers with the truth, in the columns of `score_tables.load_verdicts`."""
    shape = (2, setting.questions, setting.attempts)
    # A normal copula: a common component per question, and an independent one per answer.
    common, independent = random.standard_normal((1, setting.questions, 1)), random.standard_normal(shape)
    ease = np.sqrt(setting.correlation) * common + np.sqrt(1 - setting.correlation) * independent
    right = ease < stats.norm.ppf(setting.accuracies)[:, None, None]
    rates = np.array([judge.first, judge.second])[:, :, None, None]
    agrees = random.random(shape) < np.where(right, rates[:, 0], rates[:, 1])
    called = right == agrees
    # More confident where it is right.
    confidence = np.where(agrees, random.beta(6, 1, shape), random.beta(2, 2, shape))
    invalid = random.random(shape) < INVALID
    scores = np.where(invalid, np.nan, np.where(called, 0.5 + confidence / 2, 0.5 - confidence / 2))
    model, question, attempt = (index.ravel() for index in np.indices(shape))
    return pd.DataFrame(
        {
            MODEL: np.array(["first", "second"])[model],
            TASK: "task",
            "sample_id": question,
            "attempt": attempt,
            JUDGE: scores.ravel(),
            f"{JUDGE}_verdict": np.where(invalid, "invalid", np.where(called, "correct", "incorrect")).ravel(),
            "right": right.ravel().astype(float),
        }
    )


def draw(frame: pd.DataFrame, design: sampling.Design, labels: int, random: np.random.Generator) -> pd.DataFrame:
    """Label a sample of each model as the workflow does; the random numbers come from `random`, since hashing them is slow."""
    rates = sampling.sampling_rates(frame[MODEL], frame[JUDGE], design)
    question = (frame["sample_id"] * (1 + frame["attempt"].max()) + frame["attempt"]).to_numpy()
    position = random.random(question.max() + 1)[question] / rates
    rank = pd.Series(position).groupby(frame[MODEL].to_numpy()).rank(method="first")
    label = np.where(rank <= labels, frame["right"], UNLABELLED)
    return frame.assign(**{sampling.RATE: rates, sampling.POSITION: position, LABEL: label})


def estimates(frame: pd.DataFrame, labels: int, random: np.random.Generator) -> dict[str, tuple[Interval, Interval]]:
    """Return the intervals of the first model's accuracy and of the difference of both models, per column of the tables."""
    models = list(dict.fromkeys(frame[MODEL]))
    results = {}
    for design in dict.fromkeys(design for design, _ in COLUMNS.values()):
        sample = draw(frame, design, labels, random)
        first, *others = (corrected.estimate_methods(sample[sample[MODEL] == name], JUDGE, JUDGE) for name in models)
        for column, (column_design, method) in COLUMNS.items():
            if column_design == design:
                a, b = first[method], others[0][method] if others else None
                difference = None if a is None or b is None else a - b
                results[column] = (ppi.interval_of(a), ppi.interval_of(difference))
    return results


def simulate(setting: Setting, judge: Judge, labels: int, runs: int) -> Iterator[dict[str, tuple[Interval, Interval]]]:
    for run in range(runs):
        random = np.random.default_rng(
            [run, labels, round(1000 * judge.first[0]), round(1000 * setting.accuracies[0]), setting.attempts]
        )
        yield estimates(answers(setting, judge, random), labels, random)


def coverage(intervals: list[Interval], true: float, widest: float) -> tuple[float, float]:
    """Return the share of intervals that contain the true value, and their mean half-width; without estimate it is the widest."""
    bounds = np.array([(-widest, widest) if np.isnan(i.value) else (i.low, i.high) for i in intervals])
    covered = (bounds[:, 0] <= true) & (true <= bounds[:, 1])
    return float(covered.mean()), float((bounds[:, 1] - bounds[:, 0]).mean() / 2)


def coverage_rows(runs: int) -> Iterator[dict[str, object]]:
    """Yield coverage and mean half-width in points of each method, per setting, judge, number of labels and estimated quantity."""
    for setting, labels, judge in itertools.product(SETTINGS, LABELS, COVERAGE_JUDGES):
        results = list(simulate(setting, judge, labels, runs))
        first, second = setting.accuracies
        for index, (name, true) in enumerate((("accuracy", first), ("difference", first - second))):
            cells = {c: coverage([result[c][index] for result in results], true, 1.0) for c in COLUMNS}
            row = {"answers": setting.name, "judge": judge.name, "labels": labels, "estimate": name}
            yield row | {c: f"{100 * share:.1f} (±{100 * half:.1f})" for c, (share, half) in cells.items()}


def sequence_rows(runs: int) -> Iterator[dict[str, object]]:
    """Yield the share of runs whose confidence sequence contains the truth after every label from the first to the 1,000th."""
    for judge, design in itertools.product(COVERAGE_JUDGES, DESIGNS):
        held, widths = np.zeros(2), np.zeros((2, len(LABELS)))
        for run in range(runs):
            random = np.random.default_rng([run, JUDGES.index(judge)])
            frame = answers(SETTINGS[0], judge, random)
            sample = draw(frame, design, LABELS[-1], random)
            sides = [sample[sample[MODEL] == name] for name in ("first", "second")]
            (a, a_low, a_high), (b, b_low, b_high) = (corrected.label_values_of(side, JUDGE) for side in sides)
            truths = [side["right"].mean() for side in sides]
            ends = (
                ppi.confidence_sequence(a, value_bounds=(a_low, a_high), mean_bounds=(0, 1)),
                ppi.confidence_sequence(a - b, value_bounds=(a_low - b_high, a_high - b_low), mean_bounds=(-1, 1)),
            )
            for index, ((low, high), truth) in enumerate(zip(ends, (truths[0], truths[0] - truths[1]), strict=True)):
                held[index] += bool(((low <= truth) & (truth <= high)).all())
                widths[index] += (high - low)[[labels - 1 for labels in LABELS]] / 2
        for index, name in enumerate(("accuracy", "difference")):
            halves = {f"half-width at {n:,}": f"{100 * w / runs:.1f}" for n, w in zip(LABELS, widths[index], strict=True)}
            yield {
                "judge": judge.name,
                "design": design,
                "estimate": name,
                "never wrong, %": f"{100 * held[index] / runs:.1f}",
                **halves,
            }


def saving_rows(labels: int, runs: int) -> Iterator[dict[str, object]]:
    """Yield the labels of each design for a difference with an interval of equal width, in percent of those without a judge."""
    for judge in JUDGES:
        errors: dict[str, list[float]] = {}
        for run in range(runs):
            random = np.random.default_rng([run, JUDGES.index(judge)])
            frame = answers(SETTINGS[0], judge, random)
            true = frame.groupby(MODEL)["right"].mean()
            for design in get_args(sampling.Design):
                sample = draw(frame, design, labels, random)
                first, second = (corrected.estimate_methods(sample[sample[MODEL] == name], JUDGE, JUDGE) for name in true.index)
                for method, column in (("human_labels", "labels alone"), ("ppi", f"PPI++, {design}")):
                    if (a := first[method]) and (b := second[method]) and (method == "ppi" or design == "uniform"):
                        errors.setdefault(column, []).append(a.value - b.value - true.iloc[0] + true.iloc[1])
        variances = {column: float(np.mean(np.square(values))) for column, values in errors.items()}
        yield {"judge": judge.name, **{column: f"{100 * v / variances['labels alone']:.0f}" for column, v in variances.items()}}


def show(title: str, rows: Iterator[Mapping[str, object]]) -> None:
    """Print a Markdown table row by row."""
    print(f"{title}\n")
    for number, row in enumerate(rows):
        if number == 0:
            print(f"| {' | '.join(row)} |\n|{'---|' * len(row)}")
        print(f"| {' | '.join(map(str, row.values()))} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=400, help="simulated audits per cell")
    runs = parser.parse_args().runs
    show("Share of runs whose 95% interval contains the true value, and its mean half-width in points", coverage_rows(runs))
    show("Share of runs whose sequence contains the true value at every label, and its half-width in points", sequence_rows(runs))
    show("Labels for a difference at equal precision, in % of those without a judge", saving_rows(300, runs))


if __name__ == "__main__":
    main()
