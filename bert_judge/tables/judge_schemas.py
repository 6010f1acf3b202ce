"""Schemas of the tables that evaluate judges, against gold and against each other."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import MODEL, Column, Schema

LEVELS = ("all", "family", "task")
TRAITS = ("model", "length", "style", "status")

GROUP = Column("group", pa.string(), "name of a task or of a family of tasks, or 'all'")
LEVEL = Column("level", pa.string(), "what the group is", allowed=LEVELS)

AGREEMENT = Schema(
    "agreement",
    2,
    ("level", "group", "judge"),
    (
        Column("level", pa.string(), "what the answers of the group have in common", allowed=(*LEVELS, *TRAITS)),
        Column("group", pa.string(), "name of the task, family, model, style or status, characters of the answers, or 'all'"),
        Column("judge", pa.string(), "the judge that is compared with the gold labels, or '(majority class)'"),
        Column("n", pa.int64(), "rows with a valid gold label"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column(
            "agreement",
            pa.float64(),
            "share of rows with the gold verdict; an invalid verdict never agrees",
            nullable=True,
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("macro_f1", pa.float64(), "mean of the F1 of correct and of incorrect", nullable=True),
        Column("kappa", pa.float64(), "Cohen's kappa; null where both have one class", nullable=True),
        Column("scott_pi", pa.float64(), "Scott's pi; null where both have one class", nullable=True),
        Column("ece", pa.float64(), "expected calibration error of the scores, 10 bins", nullable=True),
        Column("brier", pa.float64(), "mean squared distance between score and truth", nullable=True),
        Column("auroc", pa.float64(), "area under the ROC curve of the scores; null where gold has one class", nullable=True),
        Column("invalid", pa.float64(), "share of invalid verdicts", nullable=True),
        Column("models", pa.int64(), "models with a valid gold label in the group"),
        Column(
            "accuracy_error",
            pa.float64(),
            "mean over models of |accuracy under the judge - under gold|; invalid verdicts count as wrong",
            nullable=True,
        ),
        Column(
            "accuracy_error_decided",
            pa.float64(),
            "the same over the rows with a valid verdict of the judge, for the models that have any",
            nullable=True,
        ),
        Column(
            "rank_correlation",
            pa.float64(),
            "Kendall's tau-b of the models' order against gold; invalid verdicts count as wrong",
            nullable=True,
        ),
        Column("most_shifted_model", pa.string(), "the model that the judge puts farthest from its gold rank", nullable=True),
        Column("rank_shift", pa.int64(), "rank difference to gold; positive if the judge ranks the model too high", nullable=True),
    ),
)

COMPARISONS = Schema(
    "comparisons",
    1,
    ("level", "group", "judge", "other"),
    (
        LEVEL,
        GROUP,
        Column("judge", pa.string(), "a trained judge"),
        Column("other", pa.string(), "the judge it is compared with"),
        Column("n", pa.int64(), "rows with a valid gold label"),
        Column(
            "difference",
            pa.float64(),
            "agreement of judge minus agreement of other, on the same rows; null without rows",
            nullable=True,
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, bootstrapped over questions", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("p_value", pa.float64(), "exact McNemar test over rows, two-sided", nullable=True),
    ),
)

JUDGE_PAIRS = Schema(
    "judge_pairs",
    1,
    ("level", "group", "judge", "other"),
    (
        LEVEL,
        GROUP,
        Column("judge", pa.string(), "the first of the two judges in the configuration"),
        Column("other", pa.string(), "the second"),
        Column("n", pa.int64(), "answers; of a pair with gold, those that gold decided"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column("agreement", pa.float64(), "share with the same verdict, invalid being one; null without rows", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("kappa", pa.float64(), "Cohen's kappa; null where both have one class", nullable=True),
        Column("scott_pi", pa.float64(), "Scott's pi; null where both have one class", nullable=True),
        Column("macro_f1", pa.float64(), "mean of the F1 of correct and of incorrect; the same either way round", nullable=True),
        Column("models", pa.int64(), "models in the group"),
        Column(
            "rank_correlation",
            pa.float64(),
            "Kendall's tau-b between the two orders of the models; invalid verdicts count as wrong",
            nullable=True,
        ),
        Column("rank_correlation_low", pa.float64(), "lower end of its 95% interval, bootstrapped over questions", nullable=True),
        Column("rank_correlation_high", pa.float64(), "upper end of its interval", nullable=True),
    ),
)

RANK_SHIFTS = Schema(
    "rank_shifts",
    1,
    ("level", "group", "judge", "model"),
    (
        LEVEL,
        GROUP,
        Column("judge", pa.string(), "name of the judge"),
        Column("reference", pa.string(), "the judge whose order counts: gold, else the first trained one"),
        MODEL,
        Column("n", pa.int64(), "answers with a valid verdict of the reference; an invalid one of the judge counts as wrong"),
        Column("rank_reference", pa.int64(), "the model's place under the reference, 1 is best", nullable=True),
        Column("rank", pa.int64(), "its place under the judge", nullable=True),
        Column("rank_shift", pa.int64(), "places that the judge moves it; positive is too good a place", nullable=True),
        Column("low", pa.int64(), "lower end of the 95% interval, from one bootstrap over questions", nullable=True),
        Column("high", pa.int64(), "upper end of it", nullable=True),
    ),
)

RELIABILITY = Schema(
    "reliability",
    1,
    ("judge", "bin"),
    (
        Column("judge", pa.string(), "name of the judge"),
        Column("bin", pa.int64(), "tenth of the scale of scores, 0 to 9; bins without rows are left out"),
        Column("n", pa.int64(), "answers with a score of this judge in it and a valid gold verdict"),
        Column("score", pa.float64(), "their mean score"),
        Column("fraction_correct", pa.float64(), "share of them that gold calls correct"),
        Column("low", pa.float64(), "lower end of its 95% interval, clustered by question"),
        Column("high", pa.float64(), "upper end of the interval"),
    ),
)

THRESHOLDS = Schema(
    "thresholds",
    1,
    ("judge", "threshold"),
    (
        Column("judge", pa.string(), "name of the judge"),
        Column("threshold", pa.float64(), "lowest score that would count as correct"),
        Column("n", pa.int64(), "answers with a score of this judge and a valid gold verdict"),
        Column("agreement", pa.float64(), "share of them with the gold verdict at this threshold"),
        Column("macro_f1", pa.float64(), "mean of the F1 of correct and of incorrect"),
        Column("predicted_positive_rate", pa.float64(), "share that would be called correct"),
    ),
)

CASCADES = Schema(
    "cascades",
    1,
    ("level", "group", "cascade"),
    (
        LEVEL,
        GROUP,
        Column("cascade", pa.string(), "name of the cascade"),
        Column("last", pa.string(), "its last judge"),
        Column("n", pa.int64(), "rows with a valid gold label"),
        Column("escalation_rate", pa.float64(), "share of them that the last judge looked at", nullable=True),
        Column("agreement", pa.float64(), "share of rows on which the cascade has the gold verdict", nullable=True),
        Column("low", pa.float64(), "lower end of its 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end", nullable=True),
        Column(
            "best_cheap_judge",
            pa.string(),
            "the best of its other judges alone; null where none has a column of its own",
            nullable=True,
        ),
        Column("best_cheap_agreement", pa.float64(), "share of rows on which that judge has the gold verdict", nullable=True),
        Column("last_agreement", pa.float64(), "the same of the last judge on all rows; null without a column", nullable=True),
        Column(
            "random_routing",
            pa.float64(),
            "agreement for the same cost without a cascade: the last judge on a random part as large, the plain one on the rest",
            nullable=True,
        ),
        Column("difference", pa.float64(), "agreement of the cascade minus random_routing", nullable=True),
        Column("difference_low", pa.float64(), "lower end of its 95% interval, bootstrapped over questions", nullable=True),
        Column("difference_high", pa.float64(), "upper end", nullable=True),
    ),
)
