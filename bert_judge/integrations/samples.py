"""Grading of answers by a probe: aspects, their sum, and the best answers."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.judges.probe.judge import Probe
from bert_judge.judges.protocol import Row
from bert_judge.runtime.errors import InputError

KEYS = ("question", "prediction")


def evaluate_samples(
    samples: Sequence[Mapping[str, Any]], judge: str | Path | Probe = "results/judges/probe", top_percent: float = 1.0
) -> list[dict[str, Any]]:
    """Grade answers without a reference, and keep the best of them.

    Args:
        samples: each with `question` and `prediction`; other keys are passed through.
        judge: folder of a probe, or a loaded probe.
        top_percent: share of the samples to keep, above 0 and up to 1, as in the published function of this name; at least one
            sample stays.

    Returns:
        The kept samples, best first (ties in input order), each with `aspects` (aspect → value on its own scale),
        `total_score` (their sum), `score` (their mean, each from 0 to 1) and `verdict`.

    Raises:
        InputError: a sample lacks a text, the percentage is out of range, or there is no such probe.
    """
    if not 0 < top_percent <= 1:
        raise InputError(f"top_percent: {top_percent} is outside 0 to 1; give the share of samples to keep, 0.5 for a half")
    for number, sample in enumerate(samples, start=1):
        if missing := [key for key in KEYS if not isinstance(sample.get(key), str)]:
            raise InputError(f"sample {number}: {missing[0]!r} is missing or not a text; give question and prediction as texts")
    probe = judge if isinstance(judge, Probe) else Probe(judge)
    rows = [Row("", index, "", sample["question"], (), sample["prediction"]) for index, sample in enumerate(samples)]
    graded = [
        {**sample, "aspects": dict(label.aspects or {}), "total_score": sum((label.aspects or {}).values())}
        | {"score": label.score, "verdict": label.verdict}
        for sample, label in zip(samples, probe.judge(rows) if rows else [], strict=True)
    ]
    graded.sort(key=lambda sample: -sample["total_score"])
    return graded[: max(1, math.ceil(len(graded) * top_percent))] if graded else []
