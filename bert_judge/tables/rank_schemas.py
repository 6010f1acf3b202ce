"""Schemas of the tables computed from verdicts on answer pairs (`evaluation/pairs/`)."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import MODEL, Column, Schema

# What is measured of a pairwise judge. All are shares or differences of shares, but for kappa.
PAIR_MEASURES = {
    "agreement": "share of labelled pairs with the label's verdict; inconsistent and invalid never agree",
    "agreement_decided": "the same among the pairs with the verdict A, B or tie",
    "agreement_one_order": "share of labelled pairs on which the verdict with A shown first equals the label",
    "macro_precision": "mean over the labels' classes (A, B, tie) of the precision; 0 for a class that is never predicted",
    "macro_recall": "mean over the labels' classes of the recall",
    "macro_f1": "mean over the labels' classes of the F1",
    "kappa": "Cohen's kappa with the labels, inconsistent and invalid being verdicts of their own",
    "consistency": "share of pairs with the same verdict in both orders, among those valid in both",
    "prefers_first": "share of these whose verdict changes with the order to the answer shown first",
    "prefers_second": "share of these whose verdict changes with the order to the answer shown second",
    "position_bias": "prefers_first minus prefers_second",
    "prefers_longer": "share that prefers the longer answer, among pairs of unequal lengths with the verdict A or B",
    "length_bias": "that share minus the labels', on the pairs where both prefer one answer",
    "panel_agreement": "agreement with the majority vote of all annotators but one, averaged over the annotator left out",
    "panel_agreement_excess": "that agreement minus the agreement of the annotator left out",
    "tie": "share of ties",
    "inconsistent": "share of pairs on which the two orders contradict each other",
    "invalid": "share of pairs on which the judge could not decide",
}

SET = Column("set", pa.string(), "name of the set of pairs in the configuration")
LEVEL = Column("level", pa.string(), "'task', or 'all' for the set's pairs of all tasks together", allowed=("all", "task"))
TASK = Column("task", pa.string(), "name of the task, or 'all'")
JUDGE = Column(
    "judge", pa.string(), "name of the judge; '(people)' for the labels and votes, '(majority class)' for the commonest label"
)
QUESTIONS = Column("questions", pa.int64(), "distinct questions among them")

PAIR_AGREEMENT = Schema(
    "pair_agreement",
    1,
    ("set", "level", "task", "judge", "measure"),
    (
        SET,
        LEVEL,
        TASK,
        JUDGE,
        Column("measure", pa.string(), "what is measured", allowed=tuple(PAIR_MEASURES)),
        Column("n", pa.int64(), "pairs that it is measured on"),
        QUESTIONS,
        Column("value", pa.float64(), "the measure; null where it is undefined", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
    ),
)

RANKS = Schema(
    "ranks",
    1,
    ("set", "level", "task", "judge", "model"),
    (
        SET,
        LEVEL,
        TASK,
        JUDGE,
        MODEL,
        Column("n", pa.int64(), "pairs with an answer of the model and a valid verdict"),
        QUESTIONS,
        Column("won", pa.int64(), "pairs that it won"),
        Column("tied", pa.int64(), "pairs with the verdict tie or inconsistent, which count half"),
        Column("win_rate", pa.float64(), "share of pairs won, as they were drawn; null without any", nullable=True),
        Column("win_rate_low", pa.float64(), "lower end of its 95% interval, bootstrapped over questions", nullable=True),
        Column("win_rate_high", pa.float64(), "upper end of it", nullable=True),
        Column("strength", pa.float64(), "Bradley-Terry strength in log odds, 0 on average; null: see reason", nullable=True),
        Column("strength_low", pa.float64(), "lower end of its 95% interval, from one bootstrap over questions", nullable=True),
        Column("strength_high", pa.float64(), "upper end of it", nullable=True),
        Column(
            "expected_win_rate",
            pa.float64(),
            "share of pairs that it would win against each other model equally often",
            nullable=True,
        ),
        Column("expected_win_rate_low", pa.float64(), "lower end of its 95% interval", nullable=True),
        Column("expected_win_rate_high", pa.float64(), "upper end of it", nullable=True),
        Column("lc_win_rate", pa.float64(), "win rate if both answers of every pair were equally long", nullable=True),
        Column("lc_win_rate_low", pa.float64(), "lower end of its 95% interval", nullable=True),
        Column("lc_win_rate_high", pa.float64(), "upper end of it", nullable=True),
        Column("rank", pa.int64(), "place by strength, 1 is best", nullable=True),
        Column("rank_low", pa.int64(), "best place of the 95% interval", nullable=True),
        Column("rank_high", pa.int64(), "worst place of it", nullable=True),
        Column("reason", pa.string(), "reason of a missing strength: models that were never compared", nullable=True),
    ),
)

RANK_CORRELATIONS = Schema(
    "rank_correlations",
    1,
    ("set", "level", "task", "judge", "other"),
    (
        SET,
        LEVEL,
        TASK,
        JUDGE,
        Column("other", pa.string(), "whose order of the models it is compared with"),
        Column("by", pa.string(), "what that order is by: strength in pairs, or accuracy of answers", allowed=("pairs", "answers")),
        Column("models", pa.int64(), "models with a place in both orders"),
        Column("questions", pa.int64(), "distinct questions of pairs and answers together"),
        Column(
            "rank_correlation", pa.float64(), "Kendall's tau-b between the two orders; null where it is undefined", nullable=True
        ),
        Column("low", pa.float64(), "lower end of its 95% interval, both from the same bootstrap over questions", nullable=True),
        Column("high", pa.float64(), "upper end of it", nullable=True),
    ),
)
