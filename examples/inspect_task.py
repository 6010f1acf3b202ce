"""A task of inspect_ai, scored by a judge.

inspect eval examples/inspect_task.py --model openai/gpt-4o-mini -T judge=general
"""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.solver import generate

from bert_judge.integrations.inspect_scorer import bert_judge


@task
def capitals(judge: str | None = None) -> Task:
    samples = [
        Sample("What is the capital of France?", target="Paris"),
        Sample("Hauptstadt von Österreich?", target=["Wien", "Vienna"]),
    ]
    return Task(MemoryDataset(samples), solver=generate(), scorer=bert_judge(judge))
