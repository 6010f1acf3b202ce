"""Schemas of the tables that evaluate models, and of the cost tables."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import MODEL, Column, Schema

STANDINGS = Schema(
    "standings",
    3,
    ("level", "task", "model", "judge"),
    (
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        MODEL,
        Column("judge", pa.string(), "name of the judge"),
        Column("n", pa.int64(), "answers"),
        Column("questions", pa.int64(), "distinct questions"),
        Column("accuracy", pa.float64(), "share of answers judged correct; an invalid verdict counts as incorrect", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("invalid", pa.float64(), "share of invalid verdicts; null without rows", nullable=True),
        Column("accuracy_decided", pa.float64(), "share of correct among valid verdicts; null without any", nullable=True),
        Column("accuracy_upper", pa.float64(), "accuracy if every invalid verdict were correct", nullable=True),
        Column("rank", pa.int64(), "place by accuracy, 1 is best; equal models share the better one", nullable=True),
        Column("rank_low", pa.int64(), "best place of the 95% interval, from one bootstrap over questions", nullable=True),
        Column("rank_high", pa.int64(), "worst place of it", nullable=True),
    ),
)

MODEL_PAIRS = Schema(
    "model_pairs",
    2,
    ("level", "task", "judge", "model", "other"),
    (
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        Column("judge", pa.string(), "name of the judge"),
        Column("model", pa.string(), "the one of the two with the higher accuracy in the standings"),
        Column("other", pa.string(), "the other one"),
        Column("n", pa.int64(), "answers that both gave (same question, same attempt)"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column("difference", pa.float64(), "accuracy of model minus accuracy of other on them; null without any", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, bootstrapped over questions", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("p_value", pa.float64(), "exact McNemar test over questions, two-sided", nullable=True),
        Column("p_holm", pa.float64(), "the same, adjusted (Holm) for all pairs of this task and judge", nullable=True),
        Column(
            "min_detectable_effect",
            pa.float64(),
            "smallest true difference that such a comparison finds in 80% of cases at the 5% level; null if the two never differ",
            nullable=True,
        ),
    ),
)

COST = Schema(
    "cost",
    1,
    ("stage", "component", "split"),
    (
        Column(
            "stage",
            pa.string(),
            "what was made; llm_on_all: what an LLM judge on all scored answers would take",
            allowed=("answers", "verdicts", "training", "llm_on_all"),
        ),
        Column("component", pa.string(), "the model, or the judge"),
        Column("split", pa.string(), "for the scores, or to train a judge", allowed=("test", "training")),
        Column("rows", pa.int64(), "answers, verdicts, or rows that a judge learned from"),
        Column("prompt_tokens", pa.float64(), "tokens read; null where none were counted", nullable=True),
        Column("completion_tokens", pa.float64(), "tokens written", nullable=True),
        Column("timed_rows", pa.int64(), "rows whose job was timed"),
        Column("seconds", pa.float64(), "seconds of those jobs by the clock; null without any", nullable=True),
        Column("gpu_hours", pa.float64(), "those hours times the GPUs that such a job asks for", nullable=True),
        Column("cost", pa.float64(), "price of the tokens; null without a price in the configuration", nullable=True),
        Column("price_assumed", pa.bool_(), "the price is assumed, and without an LLM judge in the run the tokens too"),
    ),
)

METHODS = ("judge", "human_labels", "ppi", "rogan_gladen")

CORRECTED_ACCURACY = Schema(
    "corrected_accuracy",
    2,
    ("level", "model", "judge", "method"),
    (
        Column("level", pa.string(), "'model', or 'all' for the answers of all models with labels", allowed=("all", "model")),
        Column("model", pa.string(), "name of the model, or 'all'"),
        Column("judge", pa.string(), "name of the judge"),
        Column("method", pa.string(), "the judge as it is; the labels alone; PPI++; Rogan-Gladen", allowed=METHODS),
        Column("answers", pa.int64(), "answers that the accuracy is about"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column("labels", pa.int64(), "answers that people called correct or incorrect"),
        Column("unclear", pa.int64(), "answers that people could not decide; excluded from the labels"),
        Column("invalid", pa.float64(), "share of the judge's verdicts that are invalid; null without rows", nullable=True),
        Column(
            "accuracy",
            pa.float64(),
            "share of correct answers; for 'judge', invalid verdicts count as incorrect; null if it cannot be estimated",
            nullable=True,
            bounds=(0.0, 1.0),
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
    ),
)
