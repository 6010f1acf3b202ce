"""Small trainings of an encoder and of a language model."""

from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.config import Training
from bert_judge.config.models import JudgeTuning
from bert_judge.encoder import checkpoint, trainer
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.judges.protocol import Row
from bert_judge.judges.registry import TrainingContext, train_judge

SETTINGS = Training(epochs=4, batch_size=4, learning_rate=3e-3)
WORDS = ["Paris", "Rome", "Oslo", "Bern"]
ROW = Row("s", 0, "m", "Capital 3?", ("Bern",), "Bern")


def problem(folder: Path, rows: int = 120) -> tuple[Checkpoint, trainer.Examples]:
    """Is the candidate one of the first three words? A tiny encoder learns that in seconds."""
    loaded = checkpoint.load(folder)
    words = ["Paris", "Mars", "noon", "fox", "seven", "judges"]
    candidates = [words[i % 6] for i in range(rows)]
    encoded = loaded.encoder.encode(["Which?"] * rows, candidates, ["Paris"] * rows)
    labels = [float(candidate in words[:3]) for candidate in candidates]
    return loaded, trainer.Examples(encoded, labels, [1.0] * rows)


def dataset(path: Path, questions: range, rationales: bool = False) -> Path:
    rows = [
        {
            "sample_id": f"s{n}",
            "attempt": 0,
            "task": "t",
            "model": "m",
            "question": f"Capital {n}?",
            "references": [WORDS[n % 4]],
            "candidate": WORDS[(n + wrong) % 4],
            "label": float(not wrong),
            "weight": 1.0,
            "aspects": None,
            "rationale": f"The capital is {WORDS[n % 4]}." if rationales else None,
        }
        for n in questions
        for wrong in [n // 4 % 2]
    ]
    tables.write(pd.DataFrame(rows), path, tables.DATASET, {})
    return path


def spec(**training: Any) -> dict[str, Any]:
    settings = {"epochs": 2.0, "batch_size": 4, "learning_rate": 5e-3, "max_length": 128, **training}
    tuning = JudgeTuning.model_validate(settings).model_dump(mode="json", exclude={*JudgeTuning.run_time})
    return {"judge": "mine", "kind": "llm", "dataset": "labelled", "base": "tiny", "training": tuning}


def train(folder: Path, base: Path, rows: int = 32, rationales: bool = False, **training: Any) -> Path:
    folder.mkdir(exist_ok=True)
    questions = {"train": range(rows), "held": range(100, 116)}
    parts = [dataset(folder / f"{name}.parquet", part, rationales) for name, part in questions.items()]
    (folder / "summary.json").write_text('{"simulated": 0}')
    inputs = dict(zip(("train", "validation", "summary", "backbone"), (*parts, folder / "summary.json", base), strict=True))
    train_judge(TrainingContext(spec(**training), inputs, folder / "judge", folder / "work"))
    return folder / "judge"
