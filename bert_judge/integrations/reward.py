"""A judge as a reward function for reinforcement learning, in the form that TRL's trainers take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.integrations import judging

Message = Mapping[str, Any]


class JudgeReward:
    """How right each completion is: the judge's score in [0, 1], or None where it could not decide, which TRL leaves out.

        trainer = GRPOTrainer(model, reward_funcs=JudgeReward("results/judges/judge"), train_dataset=data, ...)

    Args:
        judge: a name as `bert-judge score --judge` takes it.
        references: the data set's column of right answers, a text or a list of texts.
        question: the data set's column of the question; left out, the last thing that the user says in the prompt.
    """

    def __init__(self, judge: str | None = None, references: str = "references", question: str | None = None) -> None:
        self.judge, self.references, self.question = judge, references, question
        # TRL names the reward in its logs by this.
        self.__name__ = "bert_judge"

    def __call__(
        self, prompts: Sequence[str | Sequence[Message]], completions: Sequence[str | Sequence[Message]], **columns: Any
    ) -> list[float | None]:
        """Rewards of the completions, in their order; see TRL's documentation of custom reward functions."""
        questions = columns[self.question] if self.question else [_said(prompt, "user") for prompt in prompts]
        answers = [_said(completion, "assistant") for completion in completions]
        found = judging.labels(judging.named(self.judge), questions, columns[self.references], answers)
        return [label.score for label in found]


def _said(text: str | Sequence[Message], role: str) -> str:
    """A plain text as it is; of a conversation the last thing that somebody in this role says."""
    if isinstance(text, str):
        return text
    return next((str(message["content"]) for message in reversed(text) if message["role"] == role), "")
