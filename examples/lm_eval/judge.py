"""What the task file beside this names: which part of a document is the question, which the reference, and which judge decides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.integrations import lm_eval_metric


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    return lm_eval_metric.record_answer(doc["question"], doc["answer"].rpartition("####")[2].strip(), results)


def accuracy(items: Sequence[Any]) -> float:
    # A trained judge's folder, a checkpoint on the hub or a rule's name; nothing: what `bert-judge score` would take.
    return lm_eval_metric.accuracy(items, os.environ.get("BERT_JUDGE"))
