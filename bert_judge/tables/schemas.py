"""The schema of every table: each column with its type, its meaning and the values that it may hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

TEXTS = pa.list_(pa.string())
NUMBERS = pa.map_(pa.string(), pa.float64())

STATUSES = ("ok", "truncated", "empty", "error", "imported")
VERDICTS = ("correct", "incorrect", "invalid")
ANSWER_KINDS = ("choice", "number", "math", "span", "text")


@dataclass(frozen=True)
class Column:
    """One column: its name, arrow type and meaning; `nullable` columns may hold nulls, `allowed` lists a closed set of values.

    A `late` column came after files of its schema were written: where it is missing it is all nulls, and no old file is stale.
    """

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None
    late: bool = False


@dataclass(frozen=True)
class Schema:
    """A kind of table. `key` is the list of columns that together are unique."""

    name: str
    version: int
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])


SAMPLE_ID = Column("sample_id", pa.string(), "first 16 hex digits of the SHA-256 of task, question and references")
ATTEMPT = Column("attempt", pa.int32(), "0 for a model's first answer to the question, 1 for its second, …")
QUESTION = Column("question", pa.string(), "the question as the model under test saw it")
REFERENCES = Column("references", TEXTS, "right answers; any one of them is right")
MODEL = Column("model", pa.string(), "name of the model in the configuration")
CANDIDATE = Column("candidate", pa.string(), "the model's answer without its reasoning block")
STATUS = Column("status", pa.string(), "how the answer ended", allowed=STATUSES)

TASK = Schema(
    "task",
    1,
    ("sample_id",),
    (
        SAMPLE_ID,
        QUESTION,
        REFERENCES,
        Column("choices", TEXTS, "answer options in their order, for multiple choice", nullable=True),
        Column("answer_kind", pa.string(), "what a right answer looks like", allowed=ANSWER_KINDS),
    ),
)

CANDIDATES = Schema(
    "candidates",
    2,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        QUESTION,
        REFERENCES,
        MODEL,
        CANDIDATE,
        Column("reasoning", pa.string(), "text of a separate reasoning block", nullable=True),
        STATUS,
        Column("reason", pa.string(), "why there is no answer; null when there is one", nullable=True),
        Column("prompt_tokens", pa.int32(), "tokens of the prompt", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens generated, reasoning included", nullable=True),
    ),
)

LABELS = Schema(
    "labels",
    2,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        MODEL,
        Column("judge", pa.string(), "name of the judge in the configuration"),
        Column("verdict", pa.string(), "the decision", allowed=VERDICTS),
        Column("score", pa.float64(), "how right, 0 to 1; null when invalid", nullable=True, bounds=(0.0, 1.0)),
        Column("reason", pa.string(), "why a verdict is invalid, or what decided it", nullable=True),
        Column("raw", pa.string(), "the judge's own words or uncalibrated score", nullable=True),
        Column("truncated", pa.bool_(), "the judge did not see the whole question, candidate and reference"),
        Column("prompt_tokens", pa.int32(), "tokens the judge read", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens the judge wrote", nullable=True),
        Column("aspects", NUMBERS, "aspect → value on its own scale, of a judge of aspects", nullable=True, late=True),
    ),
)

DATASET = Schema(
    "dataset",
    2,
    ("sample_id", "attempt", "model"),
    (
        SAMPLE_ID,
        ATTEMPT,
        Column("task", pa.string(), "name of the task"),
        MODEL,
        QUESTION,
        REFERENCES,
        CANDIDATE,
        Column("label", pa.float64(), "the teacher's score, 0 to 1", bounds=(0.0, 1.0)),
        Column("weight", pa.float64(), "weight of the row in the training loss"),
        Column("aspects", NUMBERS, "the teacher's aspects, on their own scales", nullable=True, late=True),
    ),
)

LEVELS = ("all", "family", "task")
TRAITS = ("model", "length", "style", "status")

STANDINGS = Schema(
    "standings",
    2,
    ("level", "task", "model", "judge"),
    (
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        MODEL,
        Column("judge", pa.string(), "name of the judge"),
        Column("n", pa.int64(), "answers"),
        Column("questions", pa.int64(), "distinct questions"),
        Column("accuracy", pa.float64(), "share of correct among valid verdicts; null without any", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("invalid", pa.float64(), "share of invalid verdicts; null without rows", nullable=True),
        Column("accuracy_if_wrong", pa.float64(), "accuracy if every invalid verdict were wrong", nullable=True),
        Column("accuracy_if_right", pa.float64(), "accuracy if every invalid verdict were right", nullable=True),
        Column("rank", pa.int64(), "place by accuracy, 1 is best; equal models share the better one", nullable=True),
        Column("rank_low", pa.int64(), "best place of the 95% interval, from one bootstrap over questions", nullable=True),
        Column("rank_high", pa.int64(), "worst place of it", nullable=True),
    ),
)

MODEL_PAIRS = Schema(
    "model_pairs",
    1,
    ("level", "task", "judge", "model", "other"),
    (
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        Column("judge", pa.string(), "name of the judge"),
        Column("model", pa.string(), "the one of the two with the higher accuracy in the standings"),
        Column("other", pa.string(), "the other one"),
        Column("n", pa.int64(), "answers that both gave (same question, same attempt) and the judge decided"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column("difference", pa.float64(), "accuracy of model minus accuracy of other on them; null without any", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, bootstrapped over questions", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("p_value", pa.float64(), "exact McNemar test over questions, two-sided", nullable=True),
        Column("p_holm", pa.float64(), "the same, adjusted (Holm) for all pairs of this task and judge", nullable=True),
        Column(
            "detectable",
            pa.float64(),
            "smallest true difference that such a comparison finds in 80% of cases at the 5% level; null if the two never differ",
            nullable=True,
        ),
    ),
)

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
            "accuracy_error_valid",
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
        Column("moved_model", pa.string(), "the model that the judge puts farthest from its gold rank", nullable=True),
        Column("moved_places", pa.int64(), "by how many places; positive is too good a rank", nullable=True),
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

MOVES = Schema(
    "moves",
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
        Column("moved", pa.int64(), "places that the judge moves it; positive is too good a place", nullable=True),
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
        Column("right", pa.float64(), "share of them that gold calls correct"),
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
        Column("called", pa.float64(), "share that would be called correct"),
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
        Column("seen", pa.float64(), "share of them that the last judge looked at", nullable=True),
        Column("agreement", pa.float64(), "share of rows on which the cascade has the gold verdict", nullable=True),
        Column("low", pa.float64(), "lower end of its 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end", nullable=True),
        Column("plain", pa.string(), "the best of its other judges alone; null where none has a column of its own", nullable=True),
        Column("plain_agreement", pa.float64(), "share of rows on which that judge has the gold verdict", nullable=True),
        Column("last_agreement", pa.float64(), "the same of the last judge on all rows; null without a column", nullable=True),
        Column(
            "at_random",
            pa.float64(),
            "agreement for the same cost without a cascade: the last judge on a random part as large, the plain one on the rest",
            nullable=True,
        ),
        Column("difference", pa.float64(), "agreement of the cascade minus at_random", nullable=True),
        Column("difference_low", pa.float64(), "lower end of its 95% interval, bootstrapped over questions", nullable=True),
        Column("difference_high", pa.float64(), "upper end", nullable=True),
    ),
)

COST = Schema(
    "cost",
    1,
    ("stage", "who", "use"),
    (
        Column(
            "stage",
            pa.string(),
            "what was made; llm_on_all: what an LLM judge on all scored answers would take",
            allowed=("answers", "verdicts", "training", "llm_on_all"),
        ),
        Column("who", pa.string(), "the model, or the judge"),
        Column("use", pa.string(), "for the scores, or to train a judge", allowed=("test", "training")),
        Column("rows", pa.int64(), "answers, verdicts, or rows that a judge learned from"),
        Column("prompt_tokens", pa.float64(), "tokens read; null where none were counted", nullable=True),
        Column("completion_tokens", pa.float64(), "tokens written", nullable=True),
        Column("timed", pa.int64(), "rows whose job was timed"),
        Column("seconds", pa.float64(), "seconds of those jobs by the clock; null without any", nullable=True),
        Column("gpu_hours", pa.float64(), "those hours times the GPUs that such a job asks for", nullable=True),
        Column("money", pa.float64(), "price of the tokens; null without a price in the configuration", nullable=True),
        Column("assumed", pa.bool_(), "the price is assumed, and without an LLM judge in the run the tokens too"),
    ),
)

METHODS = ("judge", "people", "ppi", "rogan_gladen")

CORRECTED = Schema(
    "corrected",
    1,
    ("level", "model", "judge", "method"),
    (
        Column("level", pa.string(), "'model', or 'all' for the answers of all models with labels", allowed=("all", "model")),
        Column("model", pa.string(), "name of the model, or 'all'"),
        Column("judge", pa.string(), "name of the judge"),
        Column("method", pa.string(), "the judge as it is; the labels alone; PPI++; Rogan-Gladen", allowed=METHODS),
        Column("answers", pa.int64(), "answers that the accuracy is about"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column("labels", pa.int64(), "answers that people called correct or incorrect"),
        Column("unclear", pa.int64(), "answers of which people could not tell; they are no labels"),
        Column("invalid", pa.float64(), "share of the judge's verdicts that are invalid; null without rows", nullable=True),
        Column(
            "accuracy",
            pa.float64(),
            "share of right answers, over all of them; under 'judge' over its valid verdicts; null where it cannot be told",
            nullable=True,
            bounds=(0.0, 1.0),
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
    ),
)


def scores_schema(judges: Iterable[str]) -> Schema:
    """The schema of a score table: the candidate's row, then `{judge}` and `{judge}_verdict` per judge."""
    columns = [SAMPLE_ID, ATTEMPT, QUESTION, REFERENCES, CANDIDATE, STATUS]
    for judge in judges:
        columns += [
            Column(judge, pa.float64(), f"score by {judge}; null when invalid", nullable=True, bounds=(0.0, 1.0)),
            Column(f"{judge}_verdict", pa.string(), f"verdict by {judge}", allowed=VERDICTS),
        ]
    return Schema("scores", 1, ("sample_id", "attempt"), tuple(columns))
