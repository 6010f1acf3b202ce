"""Agreement of judges with the gold judge and with each other: on answers, on models' accuracies and on their ranking.

A cascade is also compared with random routing at the same escalation rate.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.model_comparison import AnswerMatrix, is_correct, is_valid, resample_accuracies
from bert_judge.evaluation.score_tables import KEY, MODEL, Groups, group_by_family, load_verdicts
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import intervals, metrics
from bert_judge.statistics.bootstrap import Floats, Interval, merge_identical, percentile_interval, resample_totals

# The baseline judge that gives every answer the majority class of the gold verdicts.
MAJORITY = "(majority class)"
Booleans = NDArray[np.bool_]


def agreement_table(groups: Groups, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """Compare each judge with gold per group of answers with a gold verdict, in the schema `tables.AGREEMENT`.

    The majority class comes last.
    """
    rows = []
    for (level, group), frame in groups.items():
        truth = _verdicts(frame, gold)
        questions = pd.factorize(frame["sample_id"])[0]
        majority = "correct" if 2 * np.sum(truth == "correct") >= len(truth) else "incorrect"
        verdicts: dict[str, Any] = {judge: _verdicts(frame, judge) for judge in judges}
        verdicts[MAJORITY] = pd.Categorical([majority] * len(truth), categories=tables.VERDICTS)
        for judge, predicted in verdicts.items():
            scores = frame[judge].to_numpy(dtype=float) if judge in judges else None
            row: dict[str, Any] = {"level": level, "group": group, "judge": judge}
            row |= _verdict_agreement(predicted, truth, questions)
            row |= {"invalid": float(np.mean(predicted == "invalid")) if len(predicted) else math.nan}
            row |= _score_metrics(scores, truth)
            row |= _model_level_metrics(frame[MODEL].to_numpy(), predicted, truth)
            rows.append(row)
    return pd.DataFrame(rows, columns=tables.AGREEMENT.names).astype({"rank_shift": "Int64"})


def judge_comparison_table(groups: Groups, judges: Sequence[str], trained: Sequence[str], gold: str) -> pd.DataFrame:
    """Compare the agreement with gold of every trained judge and every other judge, in the schema `tables.COMPARISONS`."""
    rows = []
    for (level, group), frame in groups.items():
        truth = _verdicts(frame, gold)
        agrees = {judge: np.asarray(_verdicts(frame, judge) == truth) for judge in judges}
        questions = pd.factorize(frame["sample_id"])[0]
        for judge, second_judge in ((judge, second) for judge in trained for second in judges if second != judge):
            row = {"level": level, "group": group, "judge": judge, "other": second_judge, "n": len(frame)}
            row |= intervals.paired_difference(agrees[judge], agrees[second_judge], questions).columns("difference")
            rows.append(row | {"p_value": intervals.mcnemar_p(agrees[judge], agrees[second_judge])})
    return pd.DataFrame(rows, columns=tables.COMPARISONS.names)


def judge_pairs_table(groups: Groups, judges: Sequence[str], gold: str | None) -> pd.DataFrame:
    """Compare the verdicts and model rankings of every two judges, in the schema `tables.JUDGE_PAIRS`.

    Over all answers; pairs with gold over those that gold decided. An invalid verdict agrees with an invalid one only, and counts
    as incorrect in the accuracies that models are ranked by.
    """
    pairs = list(combinations(judges, 2))
    rows: list[dict[str, Any]] = []
    for (level, group), frame in groups.items():
        for with_gold in (True, False):
            selected = [pair for pair in pairs if (gold in pair) == with_gold]
            if not selected:
                continue
            answers = frame[is_valid(frame, gold)] if with_gold and gold is not None else frame
            matrix = AnswerMatrix.from_frame(answers)
            accuracies = resample_accuracies(matrix, answers, list(dict.fromkeys(judge for pair in selected for judge in pair)))
            questions = answers["sample_id"].to_numpy()
            for judge, second_judge in selected:
                tau = intervals.rank_correlation_interval(accuracies[judge], accuracies[second_judge])
                row: dict[str, Any] = {"level": level, "group": group, "judge": judge, "other": second_judge}
                row |= _verdict_agreement(_verdicts(answers, judge), _verdicts(answers, second_judge), questions)
                rows.append(row | {"models": len(matrix.models), **tau.columns("rank_correlation", "rank_correlation_")})
    return pd.DataFrame(rows, columns=tables.JUDGE_PAIRS.names)


def reliability_table(frame: pd.DataFrame, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """Compute the accuracy per score bin and judge, in the schema `tables.RELIABILITY`, from rows with a valid gold verdict."""
    rows: list[dict[str, Any]] = []
    for judge, scores, correct, questions in _scored_rows(frame, judges, gold):
        bins = metrics.bin_index(scores)
        counts, mean_scores, _ = metrics.reliability_bins(correct, scores)
        for index in np.flatnonzero(counts):
            share = intervals.proportion(correct[bins == index], questions[bins == index])
            row = {"judge": judge, "bin": index, "n": int(counts[index]), "score": mean_scores[index]}
            rows.append(row | share.columns("fraction_correct"))
    return pd.DataFrame(rows, columns=tables.RELIABILITY.names)


def thresholds_table(frame: pd.DataFrame, judges: Sequence[str], gold: str) -> pd.DataFrame:
    """Compute the agreement per decision threshold and judge, in the schema `tables.THRESHOLDS`; as `reliability_table`."""
    curves = [tables.empty(tables.THRESHOLDS)]
    for judge, scores, correct, _ in _scored_rows(frame, judges, gold):
        columns = {"judge": judge, "threshold": metrics.THRESHOLDS.round(3), "n": len(scores)}
        curves.append(pd.DataFrame(columns | metrics.threshold_curve(correct, scores)))
    return pd.concat(curves, ignore_index=True)


def _scored_rows(
    frame: pd.DataFrame, judges: Sequence[str], gold: str
) -> Iterator[tuple[str, NDArray[np.float64], Booleans, NDArray[np.intp]]]:
    """Yield (judge, scores, whether gold says correct, questions) of the rows that have a score."""
    correct = is_correct(frame, gold)
    questions = pd.factorize(frame["sample_id"])[0]
    for judge in judges:
        scores = frame[judge].to_numpy(dtype=float)
        scored = ~np.isnan(scores)
        if scored.any():
            yield judge, scores[scored], correct[scored], questions[scored]


def _verdicts(frame: pd.DataFrame, judge: str) -> pd.Categorical:
    return pd.Categorical(frame[f"{judge}_verdict"], categories=tables.VERDICTS)


def _verdict_agreement(predicted: pd.Categorical, truth: pd.Categorical, questions: NDArray[Any]) -> dict[str, Any]:
    """Compute the agreement of two judges; `macro_f1` is over correct and incorrect, so an invalid verdict misses its class."""
    # scikit-learn is slow on many rows, and equal on the weighted cells of the confusion matrix.
    size = len(tables.VERDICTS)
    counts = np.bincount(predicted.codes.astype(np.intp) * size + truth.codes, minlength=size**2)
    y_pred, y_true = np.divmod(cells := np.flatnonzero(counts), size)
    rows = counts[cells]
    classes = [tables.VERDICTS.index(verdict) for verdict in ("correct", "incorrect")]
    return {
        "n": len(truth),
        "questions": len(pd.unique(questions)),
        **intervals.proportion(predicted == truth, questions).columns("agreement"),
        "macro_f1": metrics.macro_f1(y_true, y_pred, labels=classes, sample_weight=rows),
        "kappa": metrics.cohen_kappa(y_true, y_pred, sample_weight=rows),
        "scott_pi": _scott_pi(counts.reshape(size, size)),
    }


def _scott_pi(confusion: NDArray[np.int64]) -> float:
    """Scott's pi (1955) of a confusion matrix: kappa with one class distribution for both sides; NaN where it is 0/0."""
    n = confusion.sum()
    if not n or np.count_nonzero(confusion.sum(axis=0) + confusion.sum(axis=1)) < 2:
        return math.nan
    expected = (((confusion.sum(axis=0) + confusion.sum(axis=1)) / (2 * n)) ** 2).sum()
    return float((np.trace(confusion) / n - expected) / (1 - expected))


def _score_metrics(scores: NDArray[np.float64] | None, truth: pd.Categorical) -> dict[str, float]:
    """Compute calibration and ranking metrics of the scores, over the rows that have one."""
    if scores is None:
        return dict.fromkeys(("ece", "brier", "auroc"), math.nan)
    scored = ~np.isnan(scores)
    score, correct = scores[scored], np.asarray(truth == "correct")[scored]
    return {
        "ece": metrics.expected_calibration_error(correct, score),
        "brier": float(np.mean((score - correct) ** 2)) if len(score) else math.nan,
        "auroc": metrics.auroc(correct, score),
    }


def _model_level_metrics(models: NDArray[Any], predicted: pd.Categorical, truth: pd.Categorical) -> dict[str, Any]:
    """Compare the models' accuracies and ranks under the judge with those under gold."""
    columns = {"correct": predicted == "correct", "valid": predicted != "invalid", "gold": truth == "correct"}
    rows = pd.DataFrame({"model": models, **columns})
    means = rows.groupby("model", sort=True)[["correct", "gold"]].mean()
    accuracy_decided = rows[rows["valid"]].groupby("model")["correct"].mean()
    ranks = means.rank(method="min", ascending=False).astype(int)
    shifts = ranks["gold"] - ranks["correct"]
    # Models are sorted by name, so ties are resolved the same way in every run.
    most_shifted = str(shifts.abs().idxmax()) if len(shifts) > 1 else None
    return {
        "models": len(means),
        "accuracy_error": float((means["correct"] - means["gold"]).abs().mean()),
        "accuracy_error_decided": float((accuracy_decided - means["gold"][accuracy_decided.index]).abs().mean()),
        "rank_correlation": intervals.rank_correlation(means["correct"], means["gold"]),
        "most_shifted_model": most_shifted,
        "rank_shift": int(shifts[most_shifted]) if most_shifted else None,
    }


# --- cascades ---

ESCALATED = "(escalated)"


def build_cascades(spec: Mapping[str, Any], scores: Sequence[Path], labels: Mapping[str, Sequence[Path]], output: Path) -> None:
    """Write the table of cascades.

    `labels`: cascade → its label tables, which name the deciding judge, for the same models and tasks in the same order.
    """
    frame = load_verdicts(scores, spec["judges"])
    frame = frame[frame[f"{spec['gold']}_verdict"] != "invalid"]
    rows = []
    for cascade, judges in spec["cascades"].items():
        escalations = _read_escalations(labels[cascade], judges[-1])
        answers = frame.merge(escalations, on=[MODEL, *KEY], how="left", validate="one_to_one")
        if answers[ESCALATED].isna().any():
            raise InputError(f"labels of {cascade}: an answer of the score tables is missing; delete these labels and run again")
        for (level, group), subset in group_by_family(answers, spec["families"]):
            rows.append({"level": level, "group": group, "cascade": cascade, **_evaluate(subset, cascade, judges, spec)})
    tables.write(pd.DataFrame(rows, columns=tables.CASCADES.names), output, tables.CASCADES, spec)


def _read_escalations(paths: Sequence[Path], last_judge: str) -> pd.DataFrame:
    """Read for each answer whether the last judge was called."""
    frame = pd.concat([tables.read(path, tables.LABELS)[[*KEY, "model", "decided_by"]] for path in paths], ignore_index=True)
    return frame[KEY].assign(**{MODEL: frame["model"], ESCALATED: (frame["decided_by"] == last_judge).astype(bool)})


def _evaluate(rows: pd.DataFrame, cascade: str, judges: Sequence[str], spec: Mapping[str, Any]) -> dict[str, Any]:
    questions = pd.factorize(rows["sample_id"])[0]
    last = judges[-1]
    verdicts = {judge: rows[f"{judge}_verdict"].astype(str) for judge in spec["judges"]}
    agrees = {judge: (verdicts[judge] == verdicts[spec["gold"]]).to_numpy() for judge in {cascade, *judges} & verdicts.keys()}
    rate = float(rows[ESCALATED].mean()) if len(rows) else math.nan
    row = {
        "last": last,
        "n": len(rows),
        "escalation_rate": rate,
        **intervals.proportion(agrees[cascade], questions).columns("agreement"),
    }
    means = {judge: float(agrees[judge].mean()) for judge in judges if judge in agrees and len(rows)}
    best_cheap = max((judge for judge in judges[:-1] if judge in means), key=means.__getitem__, default=None)
    row |= {"best_cheap_judge": best_cheap, "best_cheap_agreement": means.get(best_cheap or ""), "last_agreement": means.get(last)}
    if best_cheap is None or last not in means:
        return row
    columns = [rows[ESCALATED].to_numpy(), agrees[cascade], agrees[last], agrees[best_cheap], np.ones(len(rows))]
    sums = np.stack([np.bincount(questions, column) for column in columns], axis=1).astype(np.int64)
    random_routing = rate * means[last] + (1 - rate) * means[best_cheap]
    return row | {"random_routing": random_routing} | _lead_over_random_routing(sums).columns("difference", "difference_")


def _lead_over_random_routing(sums: NDArray[np.int64]) -> Interval:
    """Compare the agreement of a cascade with that of random routing between its last and its best cheap judge.

    `sums`: per question, shape (questions, 5): escalated rows; rows on which the cascade, the last judge, the cheap judge agree
    with gold; rows.
    """
    lines, counts = merge_identical(sums)
    totals: Floats = resample_totals(lines, counts=counts, resamples=intervals.DIFFERENCE_RESAMPLES)
    rate, cascade, last, cheap = totals[:, :4].T / totals[:, 4]
    return percentile_interval(cascade - (rate * last + (1 - rate) * cheap))
