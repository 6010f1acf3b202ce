"""Tables of pairs and of preferences as tests need them, from a few letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables

# One letter per verdict: upper case as in the table, `t`ie, `?` inconsistent, `x` invalid, `.` nothing.
WORDS = {"A": "A", "B": "B", "t": "tie", "?": "inconsistent", "x": "invalid", ".": None}
SCORE = {"A": 0.9, "B": 0.1, "tie": 0.5, "inconsistent": 0.5, "invalid": None}


def words(letters: str) -> list[str | None]:
    return [WORDS[letter] for letter in letters]


def pair_rows(labels: str, **columns: Any) -> pd.DataFrame:
    """One pair per letter, each to a question of its own, of models m and n; other columns as given, a scalar for all rows."""
    rows = len(labels)
    frame = pd.DataFrame({"label": pd.Series(words(labels), dtype=object)})
    made: dict[str, Any] = {
        "pair_id": [f"{n:016x}" for n in range(rows)],
        "sample_id": [f"q{n:03d}" for n in range(rows)],
        "task": "t",
        "question": "Why?",
        "references": None,
        "answer_a": "a" * 10,
        "answer_b": "b" * 5,
        "model_a": "m",
        "model_b": "n",
        "status_a": "ok",
        "status_b": "ok",
        "votes": None,
        "grade_a": None,
        "grade_b": None,
        "rationale": None,
    }
    for name, value in (made | columns).items():
        frame[name] = pd.Series([value] * rows if isinstance(value, str) or value is None else value, dtype=object)
    return frame


def preference_rows(pairs: pd.DataFrame, forward: str, backward: str | None = None, judge: str = "j") -> pd.DataFrame:
    """What a judge says of both orders, in the letters of the pairs; without `backward` the same in both."""
    there, back = words(forward), words(forward if backward is None else backward)
    frame = pairs[["pair_id", "sample_id", "task", "model_a", "model_b"]].assign(judge=judge)
    both = [_both(a, b) for a, b in zip(there, back, strict=True)]
    frame = frame.assign(verdict=both, score=[SCORE[verdict] for verdict in both])
    frame["consistent"] = pd.Series([None if v == "invalid" else v != "inconsistent" for v in both], dtype=object)
    for name, said in (("forward", there), ("backward", back)):
        frame[name], frame[f"{name}_score"] = said, [SCORE[verdict or "invalid"] for verdict in said]
    return frame.assign(reason=None, raw=None, truncated=False, prompt_tokens=None, completion_tokens=None)


def _both(there: str | None, back: str | None) -> str:
    if "invalid" in (there, back):
        return "invalid"
    return str(there) if there == back else "inconsistent"


def write_set(
    folder: Path, pairs: pd.DataFrame | Sequence[pd.DataFrame], said: Mapping[str, pd.DataFrame]
) -> tuple[list[Path], dict[str, Path]]:
    """Write the parts of a set of pairs and the verdicts of judges on it."""
    parts = [pairs] if isinstance(pairs, pd.DataFrame) else list(pairs)
    paths = [folder / "pairs" / f"part{n}.parquet" for n in range(len(parts))]
    for part, path in zip(parts, paths, strict=True):
        tables.write(part, path, tables.PAIRS, {})
    judged = {judge: folder / "preferences" / f"{judge}.parquet" for judge in said}
    for judge, frame in said.items():
        tables.write(frame, judged[judge], tables.PREFERENCES, {})
    return paths, judged
