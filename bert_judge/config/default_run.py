"""The default run: simulated models answer the demo's questions. Everything is offline and small; `config.yaml` is made from it.

The models differ in what they know and in how they write, so that a rule which looks at the form of an answer puts them into
another order than their knowledge does.
"""

from __future__ import annotations

from typing import Any


def _simulated(p_correct: float, **style: float) -> dict[str, Any]:
    return {"generator": "simulated", "p_correct": p_correct, "style": style}


DEFAULT_RUN: dict[str, Any] = {
    "models": {
        "simulated-expert-freestyle": _simulated(0.92, ignores_format=8, self_correcting=2),
        "simulated-adept-self-correcting": _simulated(0.8, self_correcting=6, wordy=4),
        "simulated-adept-cautious": _simulated(0.7, hedging=7, ignores_format=3),
        "simulated-average-wordy": _simulated(0.62, wordy=9, truncated=1),
        "simulated-novice-terse": _simulated(0.4, terse=1),
        "simulated-evasive": _simulated(0.75, terse=4, refusing=3, truncated=3),
        "simulated-guesser-lists-all": _simulated(0.4, lists_all_options=6, hedging=2, refusing=2),
    },
    "tasks": {
        "train": ["facts_train", "word_problems_train", "multiple_choice_train"],
        "test": ["facts_test", "word_problems_test", "multiple_choice_test"],
    },
    "prompt_style": "soft",
    "datasets": {
        "demo": {
            "teacher": "teacher",
            "tasks": ["facts_train", "word_problems_train", "multiple_choice_train"],
            # Two models are left out, so that the judge also meets models that it has not seen.
            "models": [
                "simulated-expert-freestyle",
                "simulated-adept-self-correcting",
                "simulated-average-wordy",
                "simulated-novice-terse",
                "simulated-guesser-lists-all",
            ],
            "mix": {"total": 2000},
            "validation_fraction": 0.1,
        },
    },
    "judges": {
        "truth": {"kind": "simulated"},
        "teacher": {"kind": "simulated", "label_noise": 0.05},
        "regex_strict": {"kind": "lexical", "metric": "exact_match", "extract": "final_answer"},
        "regex_lenient": {"kind": "lexical", "metric": "contains", "extract": ["final_answer", "boxed", "full_text"]},
        "judge": {
            "kind": "bert",
            "dataset": "demo",
            "backbone": "minilm",
            # Few rows: small batches give the new layer enough steps.
            "training": {"epochs": 2, "learning_rate": 1e-4, "batch_size": 16},
        },
    },
    "scorers": ["truth", "regex_strict", "regex_lenient", "judge"],
    "gold": "truth",
}
