"""Coverage of the 95% intervals of corrected accuracies, and the number of labels that each method needs, in simulations.

    nice python benchmarks/coverage.py [--runs 1000]

Prints two Markdown tables: the share of runs whose interval contains the true accuracy, and the labels for an interval of a given
width. Takes a few minutes on one core.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from bert_judge.evaluation.audit import ppi, sampling
from bert_judge.runtime.bootstrap import Interval

METHODS = ("human_labels", "ppi", "rogan_gladen")
# Share of invalid verdicts.
INVALID = 0.03
# Half-widths, in points, of the second table.
WIDTHS = (0.05, 0.03)


@dataclass(frozen=True)
class Judge:
    """A simulated judge with its sensitivity and specificity."""

    name: str
    sensitivity: float
    specificity: float


@dataclass(frozen=True)
class Setting:
    """Simulated answers.

    Attributes:
        models: accuracy of each model.
        questions: number of questions.
        attempts: answers of each model to a question.
        correlation: of the answers to a question, 0 to 1.
    """

    name: str
    models: tuple[float, ...]
    questions: int
    attempts: int = 1
    correlation: float = 0.0


JUDGES = (Judge("weak", 0.80, 0.70), Judge("good", 0.92, 0.90), Judge("very good", 0.98, 0.97))
SETTINGS = (
    Setting("30% right", (0.3,), 1000),
    Setting("60% right", (0.6,), 1000),
    Setting("90% right", (0.9,), 1000),
    Setting("60% right, 4 answers a question", (0.6,), 250, 4, 0.6),
    Setting("7 models, one set of questions", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 150, 1, 0.5),
)
LABELS = (50, 100, 200)


def answers(setting: Setting, judge: Judge, random: np.random.Generator) -> pd.DataFrame:
    """Simulate answers with the truth, the judge's verdict and its score."""
    shape = (len(setting.models), setting.questions, setting.attempts)
    # A normal copula: a common component per question, and an independent one per answer.
    common, independent = random.standard_normal((1, setting.questions, 1)), random.standard_normal(shape)
    ease = np.sqrt(setting.correlation) * common + np.sqrt(1 - setting.correlation) * independent
    threshold = stats.norm.ppf(setting.models)[:, None, None]
    right = ease < threshold
    agrees = random.random(shape) < np.where(right, judge.sensitivity, judge.specificity)
    called = right == agrees
    # More confident where it is right.
    confidence = np.where(agrees, random.beta(6, 1, shape), random.beta(2, 2, shape))
    scores = np.where(called, 0.5 + confidence / 2, 0.5 - confidence / 2)
    invalid = random.random(shape) < INVALID
    model, question, _ = np.indices(shape)
    return pd.DataFrame(
        {
            "model": model.ravel(),
            "question": question.ravel(),
            "right": right.ravel().astype(float),
            "called": (called & ~invalid).ravel(),
            "score": np.where(invalid, np.nan, scores).ravel(),
        }
    )


def sample_truth(frame: pd.DataFrame, labels: int, random: np.random.Generator, by_score: bool = True) -> np.ndarray:
    """Return the truth of a sample of answers, equally many of each model; NaN elsewhere.

    Args:
        by_score: sample as the workflow does, sorted by range of scores; else at random.
    """
    truth = np.full(len(frame), np.nan)
    right, model = frame["right"].to_numpy(), frame["model"].to_numpy()
    level = sampling.score_ranges(frame["score"]) if by_score else np.zeros(len(frame))
    order = np.lexsort((random.random(len(frame)), level, model))
    models = np.bincount(model)
    for rows in np.split(order, np.cumsum(models)[:-1]):
        sample = rows[sampling.systematic_sample(len(rows), labels // len(models), random.random())]
        truth[sample] = right[sample]
    return truth


def estimates(frame: pd.DataFrame, labels: int, random: np.random.Generator) -> dict[str, Interval]:
    """Estimate the accuracy over all models by each method; labels alone are of answers sampled at random."""
    clusters, model = frame["question"].to_numpy(), frame["model"].to_numpy()
    truth, random_truth = sample_truth(frame, labels, random), sample_truth(frame, labels, random, by_score=False)
    strata = sampling.assign_strata(model, frame["score"], ~np.isnan(truth))
    predicted = ppi.impute_scores(frame["score"], model)
    return {
        "human_labels": ppi.prediction_powered(predicted, random_truth, clusters, model, weight=0.0),
        "ppi": ppi.prediction_powered(predicted, truth, clusters, strata),
        "rogan_gladen": ppi.rogan_gladen(frame["called"], truth, clusters, strata),
    }


def simulate(setting: Setting, judge: Judge, labels: int, runs: int) -> Iterator[dict[str, Interval]]:
    for run in range(runs):
        random = np.random.default_rng(
            [run, labels, round(1000 * judge.sensitivity), setting.questions, round(1000 * setting.models[0])]
        )
        frame = answers(setting, judge, random)
        yield estimates(frame, labels, random)


def summary(setting: Setting, judge: Judge, labels: int, runs: int) -> dict[str, tuple[float, float, float]]:
    """Return coverage, mean half-width and bias of each method."""
    true = float(np.mean(setting.models))
    intervals: dict[str, list[Interval]] = {method: [] for method in METHODS}
    for run_estimates in simulate(setting, judge, labels, runs):
        for method, interval in run_estimates.items():
            intervals[method].append(interval)
    return {method: _coverage(method_intervals, true) for method, method_intervals in intervals.items()}


def _coverage(intervals: Sequence[Interval], true: float) -> tuple[float, float, float]:
    # Without an estimate the interval is the whole range.
    bounds = np.array([(0.0, 1.0) if np.isnan(i.value) else (i.low, i.high) for i in intervals])
    values = np.array([i.value for i in intervals])
    covered = (bounds[:, 0] <= true) & (true <= bounds[:, 1])
    return float(covered.mean()), float((bounds[:, 1] - bounds[:, 0]).mean() / 2), float(np.nanmean(values) - true)


def coverage_rows(runs: int) -> Iterator[dict[str, object]]:
    """Yield coverage and mean half-width in points of each method, per setting, judge and number of labels."""
    for setting, labels, judge in itertools.product(SETTINGS, LABELS, JUDGES):
        results = summary(setting, judge, labels, runs)
        row = {"answers": setting.name, "judge": judge.name, "labels": labels}
        yield row | {m: f"{100 * results[m][0]:.1f} (±{100 * results[m][1]:.1f})" for m in METHODS}


def labels_needed(setting: Setting, judge: Judge, width: float, runs: int) -> dict[str, int]:
    """Return the number of labels per method for which the mean half-width is `width`.

    The width is inversely proportional to the root of their number, so two steps from a guess suffice.
    """
    needed = {}
    for method in METHODS:
        labels = 200
        for _ in range(2):
            half = summary(setting, judge, labels, runs)[method][1]
            labels = int(np.clip(labels * (half / width) ** 2, 20, setting.questions * setting.attempts))
        needed[method] = labels
    return needed


def needed_rows(runs: int) -> Iterator[dict[str, object]]:
    """Yield the labels that each method needs per judge and half-width, for 1,000 answers of which 60% are correct."""
    for judge, width in itertools.product(JUDGES, WIDTHS):
        yield {"judge": judge.name, "half-width, points": 100 * width, **labels_needed(SETTINGS[1], judge, width, runs)}


def show(title: str, rows: Iterator[dict[str, object]]) -> None:
    """Print a Markdown table row by row."""
    print(f"{title}\n")
    for number, row in enumerate(rows):
        if number == 0:
            print(f"| {' | '.join(row)} |\n|{'---|' * len(row)}")
        print(f"| {' | '.join(map(str, row.values()))} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=1000, help="simulated audits per cell")
    runs = parser.parse_args().runs
    show("Share of 95% intervals that contain the true accuracy, in %, and their mean half-width in points", coverage_rows(runs))
    show("Labels for an interval of this half-width", needed_rows(max(runs // 5, 20)))


if __name__ == "__main__":
    main()
