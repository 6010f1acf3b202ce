"""Rows of an imported file that hold two answers to a question, and perhaps which one people found better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge import tables
from bert_judge.candidates.importers import files
from bert_judge.tables.readers import values

if TYPE_CHECKING:
    import pandas as pd

# What people and files call the better one, in small letters and without brackets.
_WORDS = {
    "A": {"a", "1", "answer_a", "answer1", "answer a", "model_a", "model a", "first", "win", "a>b", "a>>b"},
    "B": {"b", "2", "answer_b", "answer2", "answer b", "model_b", "model b", "second", "lose", "b>a", "b>>a"},
    "tie": {"tie", "c", "0", "equal", "same", "both", "neither", "draw", "a=b", "tie (bothbad)", "bothbad"},
}
SPELLINGS = {word: meaning for meaning, words in _WORDS.items() for word in words}


def of_set(spec: Mapping[str, Any], path: str | Path) -> pd.DataFrame:
    """The rows of an imported set of pairs.

    A pair that stands in several rows, one per person for example, becomes one row with all their votes.

    Args:
        spec: `Plan.pairs_spec` of a set with an import.

    Returns:
        A frame of the schema `tables.PAIRS`, in the file's order.

    Raises:
        InputError: as `files.read`; a blank question, or a label that is none.
    """
    import pandas as pd

    named = spec["import"]
    rows = files.read(
        {**named, "columns": {**named["columns"], "id": None}},
        path,
        spec["where"],
        # A column of reasons is named by whoever wants it.
        ("question", "answer_a", "answer_b", *(["reason"] if named["columns"].get("reason") else [])),
        ("references", "model_a", "model_b", "label", "votes", "task"),
        converters=_CONVERTERS,
    )
    low, high = spec["question_split"]
    # As for tasks: 1 belongs to the last part.
    points = rows["question"].map(tables.question_point)
    rows = rows[(points >= low) & ((points < high) | (high == 1.0))]
    found: dict[str, dict[str, Any]] = {}
    votes: dict[str, list[list[str]]] = {}
    reasons: dict[tuple[str, str | None], str] = {}
    for row in rows.to_dict("records"):
        pair = _pair({str(name): value for name, value in row.items()}, spec["set"])
        said = row.get("votes") or ([pair["label"]] if pair["label"] else [])
        votes.setdefault(pair["pair_id"], []).append(said)
        if row.get("reason"):
            reasons.setdefault((pair["pair_id"], pair["label"]), row["reason"])
        found.setdefault(pair["pair_id"], pair | {"votes": row.get("votes") or None})
    for name, pair in found.items():
        if len(votes[name]) > 1:
            pair["votes"] = [vote for said in votes[name] for vote in said] or None
        if pair["votes"] and (pair["label"] is None or len(votes[name]) > 1):
            pair["label"] = majority(pair["votes"])
        # Of several rows, the words of one that says what the majority says.
        pair["reason"] = reasons.get((name, pair["label"])) or reasons.get((name, None))
    return pd.DataFrame(list(found.values()), columns=tables.PAIRS.names)


def majority(votes: Sequence[str]) -> str:
    """What most of the votes say; a tie where A and B have as many, or a tie has the most."""
    counts = Counter(votes)
    best = max(counts.values())
    most = [vote for vote in tables.PREFERRED if counts[vote] == best]
    return most[0] if len(most) == 1 else "tie"


def preferred(value: Any) -> str | None:
    """Which answer a cell calls the better one: A, B or tie; None for an empty cell.

    Raises:
        values.UnreadableCell: it says something else.
    """
    if values.is_null(value) or (isinstance(value, str) and value.strip().casefold() in values.NULL_WORDS):
        return None
    word = values.parse_text(value).casefold().strip("[]\"' \n\t")
    if word not in SPELLINGS:
        raise values.UnreadableCell(f"is {value!r:.60}; give A, B or tie, or 1, 2 or 0, or nothing")
    return SPELLINGS[word]


def _votes(value: Any, _: bool) -> list[str]:
    """The votes of a cell: a list, or a text with commas."""
    if values.is_null(value):
        return []
    listed = value if isinstance(value, list | tuple) else values.parse_text(value).strip("[]() ").split(",")
    return [vote for member in listed if (vote := preferred(member)) is not None]


def _name(value: Any, _: bool) -> str | None:
    return values.parse_text(value).strip() or None


_CONVERTERS: files.Converters = {
    **{name: files.CONVERTERS[name] for name in ("question",)},
    "answer_a": lambda cell, _: values.parse_text(cell),
    "answer_b": lambda cell, _: values.parse_text(cell),
    "references": lambda cell, is_csv: values.parse_texts(cell, is_csv) or None,
    "model_a": _name,
    "model_b": _name,
    "label": lambda cell, _: preferred(cell),
    "votes": _votes,
    "task": _name,
    "reason": _name,
}


def _pair(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A row of the table, without its votes."""
    task = row.get("task") or name
    references = row.get("references")
    sample = tables.sample_id(task, row["question"], references or [])
    two = (row.get("model_a"), row.get("model_b"), row["answer_a"], row["answer_b"])
    return {
        "pair_id": tables.pair_id(sample, *two),
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
    }
