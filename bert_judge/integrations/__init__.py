"""Judges in other programs: metrics of lm-evaluation-harness, lighteval and evaluate, a scorer of inspect_ai, a reward for TRL,
any table.

This module is what they share: a judge by name, loaded once, and labels for plain texts.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bert_judge.judges.protocol import Label
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import READ_PLAIN, judge_records
from bert_judge.runtime.logs import disable_progress_bars

# What `evaluate.load` takes.
EVALUATE_METRIC = str(Path(__file__).with_name("judge_metric"))


@lru_cache(maxsize=8)
def load_judge(name: str | None = None, threshold: float | None = None) -> NamedJudge:
    """Return a judge by its name for `bert-judge score --judge`; `general` if omitted. Raises InputError: no such judge."""
    disable_progress_bars()
    [judge] = judge_loading.load_judges([name or judge_loading.GENERAL], threshold)
    return judge


def label_texts(
    judge: NamedJudge, *, questions: Sequence[Any], references: Sequence[str | Sequence[str]], candidates: Sequence[Any]
) -> list[Label]:
    """Return one label per row. Reasoning before the answer is removed; a row that cannot be judged is invalid.

    Args:
        questions, candidates: one text or list of messages per row.
        references: per row one reference, or several any of which is correct.
    """
    records = [
        {"question": question, "references": texts if isinstance(texts, str) else list(texts), "candidate": candidate}
        for question, texts, candidate in zip(questions, references, candidates, strict=True)
    ]
    # None marks a skipped record, and this reader skips none.
    return [label for label in judge_records(judge, READ_PLAIN[judge.needs_references], records) if label is not None]


def accuracy(verdicts: Sequence[float]) -> float:
    """Return the share of 1 (correct); NaN (invalid) counts as incorrect, as in the harnesses' own metrics. NaN for no verdicts."""
    return sum(verdict == 1 for verdict in verdicts) / len(verdicts) if verdicts else math.nan


def to_number(label: Label) -> float:
    """Return 1 for correct, 0 for incorrect, NaN for invalid."""
    return math.nan if label.verdict == "invalid" else float(label.verdict == "correct")
