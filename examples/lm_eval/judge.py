"""Functions for sums.yaml: the question and the reference of a document, and the judge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.integrations import lm_eval_metric


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    return lm_eval_metric.record_answer(doc["question"], doc["answer"].rpartition("####")[2].strip(), results)


def accuracy(items: Sequence[Any]) -> float:
    # Folder of a trained judge, checkpoint on the hub, or rule. Default: that of `bert-judge score`.
    return lm_eval_metric.accuracy(items, os.environ.get("BERT_JUDGE"))
