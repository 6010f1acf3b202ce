"""A task of lighteval whose answers a judge scores.

lighteval accelerate model_name=MODEL "judged_sums|0" --custom-tasks examples/lighteval_metric.py --save-details
"""

from __future__ import annotations

import os
from typing import Any

from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

from bert_judge.integrations.lighteval_metric import bert_judge


def asked(line: dict[str, Any], task_name: str = "") -> Doc:
    return Doc(line["question"], [line["answer"].rpartition("####")[2].strip()], 0, task_name=task_name)


TASKS_TABLE = [
    LightevalTaskConfig(
        name="judged_sums",
        prompt_function=asked,
        # A data set of the hub, or a folder with its files.
        hf_repo="examples/lm_eval",
        hf_subset="default",
        hf_avail_splits=["train"],
        evaluation_splits=["train"],
        generation_size=32,
        # A trained judge's folder, a checkpoint on the hub or a rule's name; nothing: what `bert-judge score` would take.
        metrics=[bert_judge(os.environ.get("BERT_JUDGE"))],
    )
]
