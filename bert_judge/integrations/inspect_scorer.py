"""A judge as a scorer of inspect_ai; needs `pip install inspect_ai`.

inspect eval task.py --scorer bert_judge/integrations/inspect_scorer.py@bert_judge -S judge=results/judges/judge
"""

from __future__ import annotations

import asyncio

from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState

from bert_judge.integrations import judging


@scorer(metrics=[accuracy(), stderr()])
def bert_judge(judge: str | None = None, threshold: float | None = None) -> Scorer:
    """Judges the output against the targets, any one of which is right. What the judge cannot decide is left unscored.

    Args:
        judge: a name as `bert-judge score --judge` takes it.
        threshold: lowest score that counts as correct.
    """
    chosen = judging.named(judge, threshold)
    # A judge is one model: samples that are done at once wait for each other.
    one_at_a_time = asyncio.Lock()

    async def score(state: TaskState, target: Target) -> Score | None:
        said = state.output.completion
        async with one_at_a_time:
            [label] = await asyncio.to_thread(judging.labels, chosen, [state.input_text], [list(target)], [said])
        if label.score is None:
            return None
        value = CORRECT if label.verdict == "correct" else INCORRECT
        return Score(value=value, answer=said, explanation=label.reason, metadata={"score": label.score})

    return score
