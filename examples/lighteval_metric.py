"""A task of lighteval, scored by a judge.

lighteval accelerate model_name=MODEL "judged_sums|0" --custom-tasks examples/lighteval_metric.py --save-details
"""

from __future__ import annotations

import os
from typing import Any

from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

from bert_judge.integrations.lighteval_metric import bert_judge


def make_doc(line: dict[str, Any], task_name: str = "") -> Doc:
    return Doc(line["question"], [line["answer"].rpartition("####")[2].strip()], 0, task_name=task_name)


TASKS_TABLE = [
    LightevalTaskConfig(
        name="judged_sums",
        prompt_function=make_doc,
        # A dataset on the hub, or a folder with its files.
        hf_repo="examples/lm_eval",
        hf_subset="default",
        hf_avail_splits=["train"],
        evaluation_splits=["train"],
        generation_size=32,
        # Folder of a trained judge, checkpoint on the hub, or rule. Default: that of `bert-judge score`.
        metrics=[bert_judge(os.environ.get("BERT_JUDGE"))],
    )
]
