"""Reinforcement learning on a judge's scores with TRL.

python examples/trl_reward.py MODEL [JUDGE]
"""

from __future__ import annotations

import sys

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from bert_judge.integrations.reward import JudgeReward


def main(model: str, judge: str | None = None, folder: str = "results/grpo") -> float:
    """Train for a step and return the mean reward of its completions."""
    data = Dataset.from_dict(
        {
            "prompt": ["What is the capital of France?", "Hauptstadt von Österreich?"],
            "references": [["Paris"], ["Wien", "Vienna"]],
        }
    )
    settings = GRPOConfig(
        folder,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=16,
        max_steps=1,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
    )
    trainer = GRPOTrainer(model, reward_funcs=JudgeReward(judge), args=settings, train_dataset=data)
    trainer.train()
    return next(float(line["reward"]) for line in trainer.state.log_history if "reward" in line)


if __name__ == "__main__":
    print(f"mean reward: {main(*sys.argv[1:3]):.3f}")
