"""The model card of a trained judge: training data, validation metrics with their figure, usage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from bert_judge import __version__, tables
from bert_judge.judges.bert.checkpoint import JudgeMetadata
from bert_judge.judges.model_card import code_block, markdown_table, metrics_table, write_model_card
from bert_judge.runtime.metrics import THRESHOLDS, reliability_bins, threshold_curve

CURVES = "calibration.png"
BLUE, GREY = "#3d5a80", "#8d99a6"
_INTRODUCTION = """\
A judge of answers of language models: given a question, the reference answers and a candidate, it returns a score between 0 and 1
for how correct the candidate is. Trained by bert-judge {version} from `{backbone}` ({revision}) on the labels of the teacher
`{teacher}`."""
_METRICS = """\
On {n:.0f} validation rows, from questions that are not in the training set, against the same teacher ({base_rate:.1%} of the
candidates correct):

{table}

The teacher's errors are included: the metrics measure how well the judge imitates its teacher, not how often both are right.

![Reliability diagram and threshold curve on the validation rows]({curves})

Left: on the dashed line, a score is the probability of a correct answer; the size of a point is the number of rows. Right: metrics
at other values of `threshold`; where the grey line crosses the dashed one, the predicted positive rate equals the base rate."""
_EXAMPLE = """
from bert_judge.judges.bert.judge import BERTJudge

judge = BERTJudge("path/to/this/folder")
judge.predict(["What is the capital of France?"], [["Paris"]], ["It is Paris."])
"""
_USAGE = """\
{example}

Input format: `{format}`{without_question}, at most {max_length} tokens. With z = logit₁ − logit₀ of the encoder, the score is
{formula}; correct from the configured threshold on (0.5 by default). `AutoModelForSequenceClassification` loads the encoder
alone."""
_EARLY_EXIT = """\
; where no z within the `logit_bounds` in `judge.json` changes the verdict, the encoder is skipped and z is the mean"""


def write_judge_card(
    folder: str | Path,
    name: str,
    metadata: JudgeMetadata,
    metrics: Mapping[str, float],
    dataset: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> None:
    """Write `README.md` into the folder of a judge.

    Args:
        name: of the judge in the configuration.
        metadata: content of its judge.json.
        metrics: on the validation rows.
        dataset: spec of the dataset.
        summary: the dataset's summary.json.
    """
    write_model_card(
        folder,
        title=name,
        introduction=_INTRODUCTION.format(
            version=__version__, backbone=metadata.backbone, revision=metadata.backbone_revision, teacher=dataset["teacher"]
        ),
        sections={
            "Evaluation": _METRICS.format(
                n=metrics["n"],
                base_rate=metrics["base_rate"],
                table=metrics_table(metrics, exclude=("n", "base_rate")),
                curves=CURVES,
            ),
            "Training data": _training_data(dataset, summary),
            "Usage": _USAGE.format(
                example=code_block(_EXAMPLE),
                format=metadata.input.format,
                without_question="" if metadata.input.question else ", without the question",
                max_length=metadata.input.max_length,
                formula=_formula(metadata),
            ),
        },
        base_model=metadata.backbone,
        pipeline_tag="text-classification",
        tags=("evaluation", "answer-equivalence"),
        spec=metadata.spec,
    )


def _training_data(dataset: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    train = summary["train"]
    sentences = [
        f"{train['rows']} rows with {train['questions']} questions; {summary['invalid_dropped']} answers without a valid label "
        f"were dropped and {summary['duplicates_folded']} duplicates merged."
    ]
    if summary["weak_teacher"]:
        teacher = dataset["weak_teacher"]["teacher"]
        sentences.append(f"{summary['weak_teacher']} of the dropped answers were labelled with the score of `{teacher}` instead.")
    if summary["synthetic"]:
        counts = ", ".join(f"{rows} {kind}" for kind, rows in summary["synthetic"].items())
        sentences.append(f"Augmented rows: {counts}.")
    return "\n".join([*sentences, "", markdown_table(("task", "rows"), train["per_task"].items())])


def _formula(metadata: JudgeMetadata) -> str:
    if metadata.stacker is None:
        return f"sigmoid(z / {metadata.temperature:.3f})"
    weights = f"{metadata.stacker.encoder:.3f} z + {metadata.stacker.features:.3f} t + {metadata.stacker.bias:.3f}"
    trees = "where t is the log-odds of the gradient-boosted trees on lexical features in `features.txt`"
    return f"sigmoid({weights}), {trees}{_EARLY_EXIT if metadata.logit_bounds else ''}"


def draw_curves(scores: ArrayLike, labels: ArrayLike, threshold: float, path: str | Path) -> None:
    """Write a reliability diagram and a threshold curve as one PNG.

    Args:
        scores: in [0, 1], shape (n,).
        labels: in [0, 1], shape (n,); positive from 0.5 on.
        threshold: of the judge, marked in the curve.
        path: of the PNG.
    """
    p, y = np.asarray(scores, float), np.asarray(labels, float)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    reliability_axes, threshold_axes = figure.subplots(1, 2)
    _reliability(reliability_axes, p, y)
    _thresholds(threshold_axes, p, y >= 0.5, threshold)
    for axes in (reliability_axes, threshold_axes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
    with tables.atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)


def _reliability(axes: Axes, p: np.ndarray, y: np.ndarray) -> None:
    """Plot positive rate over mean score per bin; the size of a point is the bin's number of rows."""
    rows, mean_score, positive_rate = reliability_bins(y, p)
    filled = rows > 0
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
    axes.plot(mean_score[filled], positive_rate[filled], color=BLUE, linewidth=1)
    axes.scatter(mean_score[filled], positive_rate[filled], s=15 + 250 * rows[filled] / rows.sum(), color=BLUE, zorder=3)
    axes.set_xlabel("score")
    axes.set_ylabel("share the teacher labels correct")
    axes.set_title("Reliability", loc="left", fontsize=11)


def _thresholds(axes: Axes, p: np.ndarray, positive: np.ndarray, threshold: float) -> None:
    curve = threshold_curve(positive, p)
    axes.plot(THRESHOLDS, curve["agreement"], color=BLUE, label="agreement")
    axes.plot(THRESHOLDS, curve["macro_f1"], color=BLUE, linestyle=":", label="macro-F1")
    axes.plot(THRESHOLDS, curve["predicted_positive_rate"], color=GREY, label="predicted positive rate")
    axes.axhline(positive.mean(), color=GREY, linewidth=1, linestyle="--", label="base rate")
    axes.axvline(threshold, color="black", linewidth=0.8)
    axes.set_xlabel("threshold")
    axes.set_ylabel("share")
    axes.set_title("Threshold", loc="left", fontsize=11)
    axes.legend(frameon=False, fontsize=9, loc="lower center", ncols=2)
