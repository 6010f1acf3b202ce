"""Imported pairs: two answers to a question, optionally with human preferences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.importers import files
from bert_judge.tables.readers import values

if TYPE_CHECKING:
    import pandas as pd

# Names of the preferred answer in files, in small letters and without brackets.
_WORDS = {
    "A": {"a", "1", "answer_a", "answer1", "answer a", "model_a", "model a", "first", "win", "a>b", "a>>b"},
    "B": {"b", "2", "answer_b", "answer2", "answer b", "model_b", "model b", "second", "lose", "b>a", "b>>a"},
    "tie": {"tie", "c", "0", "equal", "same", "both", "neither", "draw", "a=b", "tie (bothbad)", "bothbad"},
}
PREFERENCE_BY_WORD = {word: preference for preference, words in _WORDS.items() for word in words}


def read_pairs(spec: Mapping[str, Any], path: str | Path) -> pd.DataFrame:
    """Return the pairs of an imported set (`Plan.pairs_spec`) in the schema `tables.PAIRS`, in the file's order.

    A pair that occurs in several rows, for example one per annotator, becomes one row with all votes.

    Raises:
        InputError: as `files.read_rows`; a blank question, or an invalid label.
    """
    import pandas as pd

    import_spec = spec["import"]
    rows = files.read_rows(
        {**import_spec, "columns": {**import_spec["columns"], "id": None}},
        path,
        spec["where"],
        ("question", "answer_a", "answer_b"),
        ("references", "model_a", "model_b", "label", "votes", "task", "grade_a", "grade_b", "rationale"),
        parsers=_PARSERS,
    )
    low, high = spec["question_split"]
    # As for tasks: 1 belongs to the last part.
    points = rows["question"].map(tables.question_point)
    rows = rows[(points >= low) & ((points < high) | (high == 1.0))]
    pairs: dict[str, dict[str, Any]] = {}
    votes: dict[str, list[list[str]]] = {}
    for row in rows.to_dict("records"):
        pair = _to_pair({str(name): value for name, value in row.items()}, spec["set"])
        votes.setdefault(pair["pair_id"], []).append(row.get("votes") or ([pair["label"]] if pair["label"] else []))
        pairs.setdefault(pair["pair_id"], pair | {"votes": row.get("votes") or None})
    for pair_id, pair in pairs.items():
        has_several_rows = len(votes[pair_id]) > 1
        if has_several_rows:
            pair["votes"] = [vote for row_votes in votes[pair_id] for vote in row_votes] or None
        if pair["votes"] and (pair["label"] is None or has_several_rows):
            pair["label"] = majority(pair["votes"])
    return pd.DataFrame(list(pairs.values()), columns=tables.PAIRS.names)


def majority(votes: Sequence[str]) -> str:
    """Return the most frequent vote; `tie` if several are equally frequent."""
    counts = Counter(votes)
    best = max(counts.values())
    winners = [vote for vote in tables.PREFERRED if counts[vote] == best]
    return winners[0] if len(winners) == 1 else "tie"


def parse_preference(value: Any) -> str | None:
    """Return the preferred answer: A, B or tie; None for an empty cell. Raises UnreadableCell: any other value."""
    if values.is_null(value) or (isinstance(value, str) and value.strip().casefold() in values.NULL_WORDS):
        return None
    word = values.parse_text(value).casefold().strip("[]\"' \n\t")
    if word not in PREFERENCE_BY_WORD:
        raise values.UnreadableCell(f"is {value!r:.60}; use A, B or tie; 1, 2 or 0; or leave it empty")
    return PREFERENCE_BY_WORD[word]


def _parse_votes(value: Any, _: bool) -> list[str]:
    """Return the votes of a cell: a list, or a text with commas."""
    if values.is_null(value):
        return []
    members = value if isinstance(value, list | tuple) else values.parse_text(value).strip("[]() ").split(",")
    return [vote for member in members if (vote := parse_preference(member)) is not None]


def _parse_name(value: Any, _: bool) -> str | None:
    return values.parse_text(value).strip() or None


_PARSERS: files.Parsers = {
    "question": files.PARSERS["question"],
    "answer_a": lambda cell, _: values.parse_text(cell),
    "answer_b": lambda cell, _: values.parse_text(cell),
    "references": lambda cell, is_csv: values.parse_texts(cell, is_csv) or None,
    "model_a": _parse_name,
    "model_b": _parse_name,
    "label": lambda cell, _: parse_preference(cell),
    "votes": _parse_votes,
    "task": _parse_name,
    "grade_a": lambda cell, _: values.parse_number(cell),
    "grade_b": lambda cell, _: values.parse_number(cell),
    "rationale": _parse_name,
}


def _to_pair(row: Mapping[str, Any], set_name: str) -> dict[str, Any]:
    task = row.get("task") or set_name
    references = row.get("references")
    sample = tables.sample_id(task, row["question"], references or [])
    answers = (row.get("model_a"), row.get("model_b"), row["answer_a"], row["answer_b"])
    return {
        "pair_id": tables.pair_id(sample, *answers),
        "sample_id": sample,
        "task": task,
        "question": row["question"],
        "references": references,
        "answer_a": row["answer_a"],
        "answer_b": row["answer_b"],
        "model_a": row.get("model_a"),
        "model_b": row.get("model_b"),
        "status_a": "imported" if row["answer_a"].strip() else "empty",
        "status_b": "imported" if row["answer_b"].strip() else "empty",
        "label": row.get("label"),
        **{name: row.get(name) for name in ("grade_a", "grade_b", "rationale")},
    }
