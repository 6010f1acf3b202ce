"""Small score tables for tests."""

from pathlib import Path

import pandas as pd

from bert_judge import tables

VERDICT = {"c": "correct", "i": "incorrect", "n": "incorrect", "x": "invalid"}
OUTCOME = {"n": "not_attempted"}
SCORE = {"c": 0.9, "i": 0.1, "n": 0.0, "x": None}


def write_scores(
    folder: Path,
    model: str,
    task: str,
    verdicts: dict[str, str],
    attempts: int = 1,
    candidates: list[str] | None = None,
    status: str = "ok",
) -> Path:
    """A score table; `verdicts` holds per judge one letter per question: correct, incorrect, not attempted or x for invalid.

    Capitals are uncertain verdicts; without any, the judge makes no claim.
    """
    count = len(next(iter(verdicts.values())))
    frame = pd.DataFrame(
        {
            "sample_id": [tables.sample_id(task, f"question {i}", [f"reference {i}"]) for i in range(count)],
            "question": [f"question {i} of {task}" for i in range(count)],
            "references": [[f"reference {i}"] for i in range(count)],
            "candidate": candidates if candidates is not None else [f"{model} says {i}" for i in range(count)],
            "status": status,
        }
    )
    for judge, cased_letters in verdicts.items():
        letters = cased_letters.lower()
        has_claim = letters != cased_letters
        frame[judge] = pd.Series([SCORE[letter] for letter in letters], dtype=float)
        frame[f"{judge}_verdict"] = [VERDICT[letter] for letter in letters]
        frame[f"{judge}_outcome"] = [OUTCOME.get(letter, VERDICT[letter]) for letter in letters]
        frame[f"{judge}_certain"] = pd.Series(
            [letter.islower() if has_claim else None for letter in cased_letters], dtype="boolean"
        )
    frame = pd.concat([frame.assign(attempt=attempt) for attempt in range(attempts)], ignore_index=True)
    frame["references"] = frame["references"].astype(object)
    path = folder / model / f"{task}.parquet"
    spec = {"model": model, "task": task, "judges": list(verdicts)}
    tables.write(frame, path, tables.scores_schema(verdicts), spec, revisions={model: "r1"})
    return path
