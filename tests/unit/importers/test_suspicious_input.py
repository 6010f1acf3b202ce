"""Readable input that is probably not what it seems is reported in one line per kind, with a count and an example."""

from __future__ import annotations

from typing import Any

import pytest

from bert_judge.importers.answers import find_suspicious_input, make_column_reader

OPTIONS = "Which?\n(A) Rome\n(B) Paris"


def lines(rows: list[dict[str, Any]]) -> list[str]:
    return find_suspicious_input(rows, make_column_reader({name: name for name in ("question", "references", "candidate")}))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [("q", r"So x is \boxed{2}.", "2"), ("q", "2", "2")],
            r"1 of the first 2 references look like whole solutions, e.g. 'So x is",
        ),
        ([("q", "3*4 = 12\n#### 12", "12")], "1 of the first 1 references look like whole solutions"),
        ([("q", "['a', 'b']", "a")], "1 of the first 1 references look like lists written as texts, e.g. \"['a', 'b']\""),
        ([(OPTIONS, "1", "B")], "1 of the first 1 references are numbers, and the options of their questions have letters"),
        ([("q", "A", f"answer {number}") for number in range(10)], "the first 10 rows all have the reference 'A'"),
        ([("q", str(number % 4), "Paris") for number in range(12)], "the first 12 references look like option indices, e.g. '0'"),
        ([("q", f"{n}; other", "a") for n in range(3)], "3 of the first 3 references look like several separated by ; or |, e.g."),
        ([("q", "a", ["a", "b"])], "1 of the first 1 rows have several answers"),
    ],
)
def test_suspicious_input(rows: list[tuple[str, str, Any]], says: str) -> None:
    [line] = lines([dict(zip(("question", "references", "candidate"), row, strict=True)) for row in rows])
    assert says in line and "\n" not in line


def test_readers_of_frameworks_decide_what_is_a_list() -> None:
    reader = make_column_reader({name: name for name in ("question", "references", "candidate")})
    rows = [{"question": "What is printed?", "references": "['a', 'b']", "candidate": "['a', 'b']"}]
    assert find_suspicious_input(rows, reader) and not find_suspicious_input(rows, reader, is_framework=True)


def test_usual_input_is_not_suspicious() -> None:
    rows = [{"question": f"{n} + 1?", "references": [str(n + 1)], "candidate": f"It is {n + 1}."} for n in range(20)]
    letters = [{"question": OPTIONS, "references": "AB"[n % 2], "candidate": "B"} for n in range(20)]
    rows += [
        {"question": "q", "references": "|x| + |y|", "candidate": "a"},
        {"question": "q", "references": "a; b", "candidate": "a"},
    ]
    assert lines(rows) == lines(letters) == lines([{"question": "q", "references": None, "candidate": "a"}]) == []
