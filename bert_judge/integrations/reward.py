"""A judge as a reward function for TRL's trainers."""

from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge import integrations

Message = Mapping[str, Any]


class JudgeReward:
    """Reward function that returns the judge's score in [0, 1], or None for an invalid verdict, which TRL ignores.

        trainer = GRPOTrainer(model, reward_funcs=JudgeReward("general"), train_dataset=data, ...)

    Args:
        judge: name as for `bert-judge score --judge`.
        references: the dataset's column of references, a text or a list of texts.
        question: the dataset's column of the question; the last user message of the prompt if omitted.
    """

    def __init__(self, judge: str | None = None, references: str = "references", question: str | None = None) -> None:
        self.judge, self.references, self.question = judge, references, question
        # TRL uses this name in its logs.
        self.__name__ = "bert_judge"

    def __call__(
        self, prompts: Sequence[str | Sequence[Message]], completions: Sequence[str | Sequence[Message]], **columns: Any
    ) -> list[float | None]:
        """Return the rewards of the completions, in order; see TRL's documentation of custom reward functions."""
        questions = columns[self.question] if self.question else prompts
        references, judge = columns[self.references], integrations.load_judge(self.judge)
        labels = integrations.label_texts(judge, questions=questions, references=references, candidates=completions)
        return [label.score for label in labels]


# By import path, for TRL's command line: the general judge, which is loaded when the first answers come.
judge_reward = JudgeReward()
