"""Cells in all the forms in which programs write questions, references, answers and labels."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.values import ASSISTANT, USER, UnreadableCell

OPENAI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q?"}, {"role": "assistant", "content": "Paris"}]
SHAREGPT = [{"from": "human", "value": "Q?"}, {"from": "gpt", "value": "Paris"}]
OPENCOMPASS = [{"role": "HUMAN", "prompt": "Q?"}, {"role": "BOT", "prompt": "Paris"}]
LANGCHAIN = [{"type": "human", "content": "Q?"}, {"type": "ai", "content": "Paris"}]
PARTS = [
    {"role": "user", "content": [{"type": "text", "text": "Q?"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Paris"}]},
]


@pytest.mark.parametrize("messages", [OPENAI, SHAREGPT, OPENCOMPASS, PARTS, LANGCHAIN, str(OPENAI), {"messages": OPENAI}])
def test_messages_hold_question_and_answer(messages: Any) -> None:
    assert (values.parse_message(messages, USER), values.parse_message(messages, ASSISTANT)) == ("Q?", "Paris")


@pytest.mark.parametrize(
    ("text", "question"),
    [('{"question": "Q?"}', "Q?"), ('{"answer": 1}', '{"answer": 1}'), ('{"input": {"a": 1}}', '{"input": {"a": 1}}')],
)
def test_a_question_spelled_as_an_object(text: str, question: str) -> None:
    assert (values.parse_message(text, USER), values.parse_message(text, ASSISTANT)) == (question, text)


@pytest.mark.parametrize(
    "value",
    [
        "Paris",
        ["Paris"],
        {"role": "assistant", "content": "Paris"},
        {"answer": "Paris"},
        {"output": {"content": "Paris"}},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris"}}]},
        [{"generated_text": "Paris"}],
        {"pred": "Paris", "metric_score": {"em": 1}},
        {"prediction_text": "Paris", "id": "5"},
        {"outputs": [{"text": "Paris"}]},
        {"output": [{"type": "reasoning", "summary": []}, {"role": "assistant", "content": [{"text": "Paris"}]}]},
        '{"role": "assistant", "content": "Paris"}',
    ],
)
def test_an_answer_in_any_wrapping(value: Any) -> None:
    assert values.parse_answers(value) == ["Paris"]


def test_a_list_of_texts_is_several_answers() -> None:
    assert values.parse_answers(["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": 2}, [[1, 2], [3]], [1, 2], [OPENAI[1]]])
def test_what_holds_no_answer(value: Any) -> None:
    with pytest.raises(UnreadableCell):
        values.parse_answers(value)


@pytest.mark.parametrize(
    ("value", "references"),
    [
        (True, ["true", "yes"]),
        (False, ["false", "no"]),
        (18.0, ["18"]),
        (Decimal("1.50"), ["1.50"]),
        (datetime.date(2020, 1, 2), ["2020-01-02"]),
        (datetime.datetime(2020, 1, 2), ["2020-01-02"]),
        (None, []),
        (float("nan"), []),
        ([" a ", "", None, "a", "b"], ["a", "b"]),
        ({"text": ["Paris"], "answer_start": [3]}, ["Paris"]),
        ({"value": "Ted Turner", "aliases": ["R.E. Turner"], "normalized_value": "ted turner"}, ["Ted Turner", "R.E. Turner"]),
        ({"style": "rule", "ground_truth": "72"}, ["72"]),
        ({"ground_truth": {"target": ["a", "b"]}, "style": "rule"}, ["a", "b"]),
        ({"number": "3", "spans": [], "date": {"day": ""}}, ["3"]),
        ({"number": "", "spans": [], "date": {"day": "5", "month": "May", "year": "2001"}}, ["5 May 2001"]),
        ([{"text": "a"}, {"text": "b"}], ["a", "b"]),
        ([["two", "one"], ["3"]], ["two, one", "3"]),
        ({"role": "assistant", "content": "Paris"}, ["Paris"]),
        (OPENAI, ["Paris"]),
        ("['a', 'b']", ["['a', 'b']"]),
    ],
)
def test_references_in_the_forms_of_datasets(value: Any, references: list[str]) -> None:
    assert values.parse_texts(value) == references


@pytest.mark.parametrize(
    ("cell", "references"),
    [
        ('["Paris", "City of Paris"]', ["Paris", "City of Paris"]),
        ("['Paris', 'City of Paris']", ["Paris", "City of Paris"]),
        ("['Paris' 'City of Paris']", ["Paris", "City of Paris"]),
        ("['It\\'s' \"b's\"\n 'c']", ["It's", "b's", "c"]),
        ("{'text': ['Paris'], 'answer_start': [3]}", ["Paris"]),
        ("{'text': array(['Paris', 'b'], dtype=object), 'answer_start': array([3], dtype=int32)}", ["Paris", "b"]),
        ("array(['Paris', 'b'],\n      dtype='<U5')", ["Paris", "b"]),
        ("('Paris', 'b')", ["Paris", "b"]),
        ("{'Paris', 'b', 'a'}", ["Paris", "a", "b"]),
        ("{1, 2}", ["{1, 2}"]),
        ("True", ["true", "yes"]),
        ("FALSE", ["false", "no"]),
        ("['70']", ["70"]),
        ("['70', nan]", ["70"]),
        ("[70]", ["70"]),
        ("{'value': 'a', 'aliases': ['b']}", ["a", "b"]),
        # One answer: an interval, a vector, a set, and texts that only begin like a list.
        ("[0, 1]", ["[0, 1]"]),
        ("[1 2 3]", ["[1 2 3]"]),
        ("(1, 2)", ["(1, 2)"]),
        ("[1, 2)", ["[1, 2)"]),
        ("{x | x > 1}", ["{x | x > 1}"]),
        ("[A] Paris", ["[A] Paris"]),
        ("[]", []),
    ],
)
def test_references_in_a_cell_of_csv(cell: str, references: list[str]) -> None:
    assert values.parse_texts(cell, is_csv=True) == references


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (("right", "Yes", "PASS", "passed", "true", "correct", "1"), 1.0),
        (("wrong", "no", "fail", "Failed", "False", "incorrect", "0"), 0.0),
    ],
)
def test_labels_in_words(words: tuple[str, ...], label: float) -> None:
    assert [values.parse_label(word) for word in words] == [label] * len(words)


# What each parser of one cell accepts, and what it says of the rest: of an imported answer, and of a cell of a dataset.
CELLS: list[tuple[Any, str | None, list[str] | None]] = [
    (" a ", " a ", ["a"]),
    (None, "", []),
    (float("nan"), "", []),
    (18.0, "18", ["18"]),
    (True, "true", ["true"]),
    (datetime.date(2020, 1, 2), "2020-01-02", ["2020-01-02"]),
    ([" a", "", None, 2], None, ["a", "2"]),
    (["a", "a"], None, ["a", "a"]),
    ({"a": 1}, None, None),
    ("half\ud800", None, None),
]


@pytest.mark.parametrize(("cell", "text", "texts"), CELLS)
def test_a_cell_as_a_text_and_as_a_list_of_texts(cell: Any, text: str | None, texts: list[str] | None) -> None:
    for parse, expected in ((values.parse_text, text), (values.parse_text_list, texts)):
        if expected is None:
            with pytest.raises(UnreadableCell):
                parse(cell)
        else:
            assert parse(cell) == expected


def test_a_missing_column_of_answers_is_null_and_one_of_a_dataset_an_error() -> None:
    record = {"a": {"b": [{"c": 1}, {"c": 2}]}, "d.e": 3, "f": None}
    assert [values.get_cell(record, name) for name in ("a.b", "a.b.c", "d.e", "f.g", "x")] == [
        [{"c": 1}, {"c": 2}],
        None,
        3,
        None,
        None,
    ]
    assert [values.require_cell(record, name) for name in ("a.b.c", "d.e", "f.g")] == [[1, 2], 3, None]
    for name, present in (("x", "'a', 'd.e', 'f'"), ("a.x", "'b'"), ("d.e.f", "'a', 'd.e', 'f'")):
        with pytest.raises(InputError, match=f"^no column '{name}'; available: {present}; fix the source's columns$"):
            values.require_cell(record, name)


def test_an_error_names_the_place_of_a_cell() -> None:
    with pytest.raises(InputError, match=r"^f.csv: row 3: column 'label' is 'maybe'; give 1 or 0"):
        values.parse_cell("f.csv: row 3: column 'label'", values.parse_label, "maybe")
    with pytest.raises(InputError, match=r"^the list of options is 'x, y'; the column must hold lists$"):
        values.parse_cell("the list of options", values.parse_list, "x, y")


@pytest.mark.parametrize(
    ("cell", "references"),
    [
        # HELM's options: only the tagged ones are right.
        ([{"output": {"text": "Rome"}, "tags": ["correct"]}, {"output": {"text": "Milan"}, "tags": []}], ["Rome"]),
        ([{"text": "Rome", "is_correct": True}, {"text": "Milan", "is_correct": False}], ["Rome"]),
        ([{"text": "Rome"}, {"text": "Roma"}], ["Rome", "Roma"]),
    ],
)
def test_options_that_are_marked_as_correct(cell: Any, references: list[str]) -> None:
    assert values.parse_texts(cell) == references
