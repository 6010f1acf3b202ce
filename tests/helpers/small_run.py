"""The small configuration that the tests of the workflow run."""

from pathlib import Path
from typing import Any


def small_config(backbone: Path) -> dict[str, Any]:
    """Two simulated models, four kinds of columns, one judge that is trained in a second."""
    return {
        "models": {
            "solid": {"generator": "simulated", "p_correct": 0.9},
            "weak": {"generator": "simulated", "p_correct": 0.3, "style": "wordy"},
        },
        "tasks": {"train": ["mini_train"], "test": ["mini_test"]},
        "task_files": ["mini_tasks.py"],
        "prompt_style": "soft",
        "datasets": {"mix": {"teacher": "noisy", "tasks": ["mini_train"], "models": ["solid", "weak"], "validation_fraction": 0.2}},
        "judges": {
            "truth": {"kind": "imported"},
            "noisy": {"kind": "imported", "label_noise": 0.05},
            "strict": {"kind": "lexical", "metric": "exact_match", "extract": "final_answer"},
            "overlap": {"kind": "lexical", "metric": "rouge_l_recall", "threshold": 0.5},
            "encoder": {"kind": "bert", "dataset": "mix", "backbone": str(backbone), "training": {"epochs": 2, "batch_size": 4}},
        },
        "scorers": ["truth", "strict", "overlap", "encoder"],
        "gold": "truth",
    }
