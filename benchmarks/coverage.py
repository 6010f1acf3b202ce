"""Do the 95% intervals of the corrected accuracies hold, and how many labels does each method need? Simulated, so the truth is
known.

    nice python benchmarks/coverage.py [--runs 1000]

Prints two Markdown tables: the share of runs whose interval holds the true accuracy, and the labels that an interval of a given
width takes. A few minutes on one core.
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

METHODS = ("people", "ppi", "rogan_gladen")
# Share of verdicts that the judge leaves open.
INVALID = 0.03
# Half-widths, in points, of the second table.
WIDTHS = (0.05, 0.03)


@dataclass(frozen=True)
class Judge:
    """How often a judge is right about right answers and about wrong ones."""

    name: str
    on_right: float
    on_wrong: float


@dataclass(frozen=True)
class World:
    """Where answers come from.

    Attributes:
        models: their accuracies.
        questions: how many.
        attempts: answers of a model to a question.
        alike: how far the answers to a question go together, 0 to 1.
    """

    name: str
    models: tuple[float, ...]
    questions: int
    attempts: int = 1
    alike: float = 0.0


JUDGES = (Judge("weak", 0.80, 0.70), Judge("good", 0.92, 0.90), Judge("very good", 0.98, 0.97))
WORLDS = (
    World("30% right", (0.3,), 1000),
    World("60% right", (0.6,), 1000),
    World("90% right", (0.9,), 1000),
    World("60% right, 4 answers a question", (0.6,), 250, 4, 0.6),
    World("7 models, one set of questions", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 150, 1, 0.5),
)
LABELS = (50, 100, 200)


def answers(world: World, judge: Judge, random: np.random.Generator) -> pd.DataFrame:
    """All answers of a world with the truth, the judge's verdict and its score."""
    shape = (len(world.models), world.questions, world.attempts)
    # A normal copula: what the answers to a question share, and what each has for itself.
    common, own = random.standard_normal((1, world.questions, 1)), random.standard_normal(shape)
    ease = np.sqrt(world.alike) * common + np.sqrt(1 - world.alike) * own
    bar = stats.norm.ppf(world.models)[:, None, None]
    right = ease < bar
    agrees = random.random(shape) < np.where(right, judge.on_right, judge.on_wrong)
    called = right == agrees
    # Surer where it is right than where it errs.
    sure = np.where(agrees, random.beta(6, 1, shape), random.beta(2, 2, shape))
    scores = np.where(called, 0.5 + sure / 2, 0.5 - sure / 2)
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


def audited(frame: pd.DataFrame, labels: int, random: np.random.Generator, by_score: bool = True) -> np.ndarray:
    """The truth about the drawn answers, the same number of each model; NaN elsewhere.

    Args:
        by_score: draw as the workflow does, in the order of the ranges of scores; else at random.
    """
    truth = np.full(len(frame), np.nan)
    right, model = frame["right"].to_numpy(), frame["model"].to_numpy()
    level = sampling.score_ranges(frame["score"]) if by_score else np.zeros(len(frame))
    order = np.lexsort((random.random(len(frame)), level, model))
    models = np.bincount(model)
    for rows in np.split(order, np.cumsum(models)[:-1]):
        chosen = rows[sampling.systematic_sample(len(rows), labels // len(models), random.random())]
        truth[chosen] = right[chosen]
    return truth


def estimates(frame: pd.DataFrame, labels: int, random: np.random.Generator) -> dict[str, Interval]:
    """The accuracy over all models by each method; people who know nothing of the judge mark answers drawn at random."""
    clusters, model = frame["question"].to_numpy(), frame["model"].to_numpy()
    truth, other = audited(frame, labels, random), audited(frame, labels, random, by_score=False)
    strata = sampling.assign_strata(model, frame["score"], ~np.isnan(truth))
    predicted = ppi.impute_scores(frame["score"], model)
    return {
        "people": ppi.prediction_powered(predicted, other, clusters, model, weight=0.0),
        "ppi": ppi.prediction_powered(predicted, truth, clusters, strata),
        "rogan_gladen": ppi.rogan_gladen(frame["called"], truth, clusters, strata),
    }


def simulated(world: World, judge: Judge, labels: int, runs: int) -> Iterator[dict[str, Interval]]:
    for run in range(runs):
        random = np.random.default_rng([run, labels, round(1000 * judge.on_right), world.questions, round(1000 * world.models[0])])
        frame = answers(world, judge, random)
        yield estimates(frame, labels, random)


def summary(world: World, judge: Judge, labels: int, runs: int) -> dict[str, tuple[float, float, float]]:
    """Per method the share of runs whose interval holds the truth, its mean half-width, and the mean error of the estimate."""
    true = float(np.mean(world.models))
    found: dict[str, list[Interval]] = {method: [] for method in METHODS}
    for made in simulated(world, judge, labels, runs):
        for method, interval in made.items():
            found[method].append(interval)
    return {method: _measured(intervals, true) for method, intervals in found.items()}


def _measured(intervals: Sequence[Interval], true: float) -> tuple[float, float, float]:
    # What could not be estimated claims nothing: its interval is the whole range.
    ends = np.array([(0.0, 1.0) if np.isnan(i.value) else (i.low, i.high) for i in intervals])
    values = np.array([i.value for i in intervals])
    holds = (ends[:, 0] <= true) & (true <= ends[:, 1])
    return float(holds.mean()), float((ends[:, 1] - ends[:, 0]).mean() / 2), float(np.nanmean(values) - true)


def coverage_rows(runs: int) -> Iterator[dict[str, object]]:
    """Per world, judge and number of labels: how many intervals of each method hold, and their mean half-width in points."""
    for world, labels, judge in itertools.product(WORLDS, LABELS, JUDGES):
        made = summary(world, judge, labels, runs)
        row = {"answers": world.name, "judge": judge.name, "labels": labels}
        yield row | {m: f"{100 * made[m][0]:.1f} (±{100 * made[m][1]:.1f})" for m in METHODS}


def labels_needed(world: World, judge: Judge, width: float, runs: int) -> dict[str, int]:
    """Per method the labels with which the mean half-width is `width`: the width falls with the root of their number, so the number
    follows from a guess, which is made again once with what the first one gave."""
    found = {}
    for method in METHODS:
        labels = 200
        for _ in range(2):
            half = summary(world, judge, labels, runs)[method][1]
            labels = int(np.clip(labels * (half / width) ** 2, 20, world.questions * world.attempts))
        found[method] = labels
    return found


def needed_rows(runs: int) -> Iterator[dict[str, object]]:
    """Per judge and half-width, for 1,000 answers of which 60% are right: the labels that each method takes."""
    for judge, width in itertools.product(JUDGES, WIDTHS):
        yield {"judge": judge.name, "half-width, points": 100 * width, **labels_needed(WORLDS[1], judge, width, runs)}


def show(title: str, rows: Iterator[dict[str, object]]) -> None:
    """Print a Markdown table row by row, as the rows come."""
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
    show("Share of 95% intervals that hold the true accuracy, in %, and their mean half-width in points", coverage_rows(runs))
    show("Labels for an interval of this half-width", needed_rows(max(runs // 5, 20)))


if __name__ == "__main__":
    main()
