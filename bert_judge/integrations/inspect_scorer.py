"""A judge as a scorer of inspect_ai; needs `pip install inspect_ai`.

inspect eval task.py --scorer bert_judge/reference -S judge=general
"""

from __future__ import annotations

import asyncio
from functools import partial

from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from bert_judge import integrations
from bert_judge.judges.protocol import NOT_ATTEMPTED


@scorer(metrics=[accuracy(), stderr()])
def bert_judge(judge: str | None = None, threshold: float | None = None) -> Scorer:
    """Return a scorer that compares the output with the targets, any of which is correct.

    An answer that attempts nothing has inspect_ai's value `N`, which its accuracy counts as incorrect; invalid samples stay
    unscored.

    Args:
        judge: name as for `bert-judge score --judge`.
        threshold: lowest score that counts as correct.
    """
    label_texts = partial(integrations.label_texts, integrations.load_judge(judge, threshold))
    # A judge is one model: concurrent samples wait for each other.
    lock = asyncio.Lock()

    async def score(state: TaskState, target: Target) -> Score | None:
        candidate = state.output.completion
        row = {"questions": [state.input_text], "references": [list(target)], "candidates": [candidate]}
        async with lock:
            [label] = await asyncio.to_thread(partial(label_texts, **row))
        if label.score is None:
            return None
        value = {"correct": CORRECT, NOT_ATTEMPTED: NOANSWER}.get(label.outcome, INCORRECT)
        return Score(value=value, answer=candidate, explanation=label.reason, metadata={"score": label.score})

    return score


@scorer(metrics=[accuracy(), stderr()])
def reference(judge: str | None = None, threshold: float | None = None) -> Scorer:
    """Return `bert_judge`, which is called `bert_judge/reference` on inspect_ai's command line."""
    return bert_judge(judge, threshold)
