"""Tables are whole or not there, say where they come from, and refuse what does not fit; identities depend on content only."""

import gc
import json
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.program import commit, packages, program

SPEC = {"task": "größe", "part": {"question_split": [0, 1]}}


def task_frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sample_id": ["a", "b"],
            "question": ["Was ist 大きい?", "nul \0 and 😀"],
            "references": [["big", "大"], ["x"]],
            "choices": [None, ["x", "y"]],
            "answer_kind": ["text", "choice"],
            **columns,
        }
    )


def label_frame(**columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(
        {"sample_id": ["a", "b"], "attempt": [0, 0], "model": "m", "judge": "j", "verdict": ["correct", "invalid"]}
    )
    frame["outcome"] = frame["verdict"]
    more = {"score": [1.0, None], "reason": None, "raw": None, "truncated": False, "prompt_tokens": None, "completion_tokens": None}
    return frame.assign(**more, aspects=None, decided_by=None, certain=None, flags=None).assign(**columns)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tables.write(task_frame(extra=[1, 2]), tmp_path / "new" / "t.parquet", tables.TASK, SPEC)
    frame = tables.read(tmp_path / "new" / "t.parquet", tables.TASK)
    assert frame.to_dict("records") == task_frame().to_dict("records")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["t.parquet"]


def test_null_numbers_stay_null(tmp_path: Path) -> None:
    tables.write(label_frame(prompt_tokens=[None, 7]), tmp_path / "l.parquet", tables.LABELS, SPEC)
    frame = tables.read(tmp_path / "l.parquet", tables.LABELS)
    assert frame["prompt_tokens"].isna().tolist() == frame["score"].isna().tolist()[::-1] == [True, False]
    assert frame["truncated"].tolist() == [False, False]


def test_the_origin_is_in_the_file(tmp_path: Path) -> None:
    tables.write(task_frame(), tmp_path / "t.parquet", tables.TASK, SPEC, revisions={"m": "c0ffee"})
    origin = tables.provenance(tmp_path / "t.parquet")
    assert json.loads(origin["spec"]) == SPEC
    assert {**origin, "spec": None, "time": None} == {
        "schema": "task",
        "schema_version": 1,
        "program": program(),
        "commit": commit(),
        "packages": packages(),
        "spec": None,
        "revisions": {"m": "c0ffee"},
        "time": None,
    }
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    assert tables.provenance(tmp_path / "other.parquet") == {}


def test_batches_are_the_table(tmp_path: Path) -> None:
    rows = 1000
    frame = pd.DataFrame({"sample_id": [f"{i:04}" for i in range(rows)], "question": "q", "references": [["r"]] * rows})
    tables.write(frame.assign(choices=None, answer_kind="text"), tmp_path / "t.parquet", tables.TASK, SPEC)
    batches = list(tables.read_batches(tmp_path / "t.parquet", tables.TASK, 300))
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    assert pd.concat(batches)["sample_id"].tolist() == frame["sample_id"].tolist()


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [] for name in tables.CANDIDATES.names})
    tables.write(frame, tmp_path / "c.parquet", tables.CANDIDATES, SPEC)
    assert tables.read(tmp_path / "c.parquet", tables.CANDIDATES).columns.tolist() == tables.CANDIDATES.names
    assert sum(len(batch) for batch in tables.read_batches(tmp_path / "c.parquet", tables.CANDIDATES, 10)) == 0


@pytest.mark.parametrize(
    ("frame", "schema", "says"),
    [
        (task_frame().drop(columns="references"), tables.TASK, "a task table needs the column 'references'"),
        (task_frame().drop(columns=["question", "choices"]), tables.TASK, "needs the column 'question', 'choices'"),
        (task_frame(question=["q", None]), tables.TASK, "column 'question' holds 1 nulls; none is allowed"),
        (task_frame(answer_kind=["text", "poem"]), tables.TASK, "column 'answer_kind' holds 'poem'; allowed are ('choice',"),
        (task_frame(sample_id=["a", "a"]), tables.TASK, "1 rows repeat the key ('sample_id',); the first is {'sample_id': 'a'}"),
        (task_frame(question=["q", 7]), tables.TASK, "cannot be written as a task table: "),
        (task_frame(references=[["a"], "bcd"]), tables.TASK, "column 'references' holds 'bcd'; it needs lists of texts"),
        (task_frame(references=[["a"], ["b", None]]), tables.TASK, "column 'references' holds ['b', None]; it needs lists"),
        (task_frame(choices=[["a"], 7]), tables.TASK, "column 'choices' holds 7; it needs lists of texts"),
        (task_frame(question=pd.Series(["q", "half \ud83d"], dtype=object)), tables.TASK, "cannot be written as a task table: "),
        (label_frame(truncated=["yes", "no"]), tables.LABELS, "cannot be written as a labels table: "),
        (label_frame(verdict=["correct", "perhaps"]), tables.LABELS, "column 'verdict' holds 'perhaps'"),
        (label_frame(score=[1.5, None]), tables.LABELS, "column 'score' holds 1.5; the range is (0.0, 1.0)"),
        (label_frame(score=[-0.1, None]), tables.LABELS, "column 'score' holds -0.1; the range"),
    ],
)
def test_a_frame_that_does_not_fit_leaves_the_old_table(tmp_path: Path, frame: pd.DataFrame, schema: Any, says: str) -> None:
    path = tmp_path / "t.parquet"
    path.write_text("the old table")
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        tables.write(frame, path, schema, SPEC)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "the old table"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    none, text, other, cut = (tmp_path / f"{name}.parquet" for name in ("none", "text", "other", "cut"))
    text.write_text("no parquet")
    pq.write_table(pa.table({"sample_id": ["a"]}), other)
    tables.write(task_frame(), cut, tables.TASK, SPEC)
    cut.write_bytes(cut.read_bytes()[:-100])
    for path, says in (
        (none, "no such file"),
        (text, "not a readable parquet file"),
        (other, "a task table needs the column 'question'"),
        (cut, "not a readable parquet file"),
    ):
        with pytest.raises(InputError, match=f"{path.name}: {says}"):
            tables.read(path, tables.TASK)
        with pytest.raises(InputError, match=f"{path.name}: {says}"):
            list(tables.read_batches(path, tables.TASK, 10))


def test_damage_in_the_middle_of_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    questions = [f"{number * 7919 % 10_007} {number * 104_729 % 99_991}" for number in range(2000)]
    frame = pd.DataFrame({"sample_id": questions, "question": questions, "references": [["r"]] * 2000, "choices": None})
    tables.write(frame.assign(answer_kind="text"), path, tables.TASK, SPEC)
    content = bytearray(path.read_bytes())
    content[2000:6000] = b"\xff" * 4000
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable parquet file"):
        tables.read(path, tables.TASK)


# --- identities ---


@given(st.text(), st.text(), st.lists(st.text()))
def test_a_sample_id_is_16_hex_digits_of_its_content(task: str, question: str, references: list[str]) -> None:
    identity = tables.sample_id(task, question, references)
    assert re.fullmatch("[0-9a-f]{16}", identity)
    assert identity == tables.sample_id(task, question, tuple(references))
    assert identity != tables.sample_id(task, question, [*references, "x"])
    assert identity != tables.sample_id(task, question + "x", references)


@given(st.dictionaries(st.text(max_size=3), st.integers()))
def test_canonical_does_not_depend_on_the_order_of_keys(spec: dict[str, int]) -> None:
    assert tables.canonical(spec) == tables.canonical(dict(reversed(spec.items())))
    assert json.loads(tables.canonical(spec)) == spec


@given(st.text())
def test_storable_text_can_be_stored_and_is_otherwise_the_same(text: str) -> None:
    stored = tables.storable(text)
    stored.encode()
    assert tables.storable(stored) == stored
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\N{REPLACEMENT CHARACTER}" in stored
    else:
        assert stored == text


def test_a_lone_surrogate_becomes_a_sign_and_leaves_its_neighbours() -> None:
    assert tables.storable("é\ud83d!").replace("\N{REPLACEMENT CHARACTER}", "") == "é!"


@pytest.mark.parametrize(
    ("question", "stem"),
    [
        ("Why?", "Why?"),
        ("Why?\n(A) a\n(B) b", "Why?"),
        ("Why?\nBecause:\n\nA. a\nB. b\nC. c\n", "Why?\nBecause:"),
        ("Why?\n A) a\n B) b", "Why?"),
        # An option that goes on over two lines.
        ("Why?\n(A) a\nmore of a\n(B) b", "Why?"),
        # Options that are named once more in the question.
        ("Which?\n(A) x\n(B) y\nof these\n(A) 1\n(B) 2", "Which?\n(A) x\n(B) y\nof these"),
        # Not options: something follows, one alone, a gap, no A, an initial.
        ("A list:\n(A) a\n(B) b\nWhich is true?", "A list:\n(A) a\n(B) b\nWhich is true?"),
        ("Why?\n(A) a", "Why?\n(A) a"),
        ("Why?\n(A) a\n(C) c", "Why?\n(A) a\n(C) c"),
        ("Why?\n(B) b\n(C) c", "Why?\n(B) b\n(C) c"),
        ("Who wrote it?\nB. Russell", "Who wrote it?\nB. Russell"),
        # Nothing would be left.
        ("(A) a\n(B) b", "(A) a\n(B) b"),
        ("\n(A) a\n(B) b", "\n(A) a\n(B) b"),
        ("", ""),
    ],
)
def test_question_stem(question: str, stem: str) -> None:
    assert tables.question_stem(question) == stem


@given(st.text())
def test_the_stem_has_no_other_stem_and_a_point_of_its_own(question: str) -> None:
    assert question.startswith(tables.question_stem(question))
    assert 0 <= tables.question_point(question) <= 1


def test_case_space_and_options_do_not_move_a_question() -> None:
    points = {tables.question_point(q) for q in ("Who  was\nfirst?", "who was first?", "Who was first?\n(A) I\n(B) you")}
    assert len(points) == 1


def test_points_are_spread_evenly() -> None:
    points = [tables.question_point(f"question {number}") for number in range(2000)]
    assert all(abs(sum(low <= p < low + 0.1 for p in points) / 2000 - 0.1) < 0.03 for low in (0.0, 0.3, 0.6, 0.9))


def test_a_table_in_parts_is_the_table(tmp_path: Path) -> None:
    whole = label_frame(sample_id=["a", "b"])
    revisions: dict[str, str] = {}

    def parts() -> Iterator[pd.DataFrame]:
        yield whole[:1]
        yield whole[:0]
        revisions["learnt"] = "late"
        yield whole[1:]

    tables.write(whole, tmp_path / "one.parquet", tables.LABELS, SPEC, revisions={"learnt": "late"})
    tables.write_parts(parts(), tmp_path / "parts.parquet", tables.LABELS, SPEC, revisions=revisions)
    one, other = (tables.read(tmp_path / f"{name}.parquet", tables.LABELS) for name in ("one", "parts"))
    pd.testing.assert_frame_equal(one, other)
    origins = [tables.provenance(tmp_path / f"{name}.parquet") | {"time": ""} for name in ("one", "parts")]
    assert origins[0] == origins[1]


def test_parts_that_share_a_key_or_break_off_leave_the_old_table(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    tables.write(label_frame(), path, tables.LABELS, SPEC)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"l\.parquet: 2 rows repeat the key"):
        tables.write_parts([label_frame(), label_frame()], path, tables.LABELS, SPEC, revisions={})
    with pytest.raises(KeyboardInterrupt):
        tables.write_parts(broken_off(), path, tables.LABELS, SPEC, revisions={})
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["l.parquet"]


def broken_off() -> Iterator[pd.DataFrame]:
    yield label_frame()
    raise KeyboardInterrupt


def test_parts_are_let_go(tmp_path: Path) -> None:
    alive: list[weakref.ref[pd.DataFrame]] = []

    def parts() -> Iterator[pd.DataFrame]:
        for number in range(6):
            gc.collect()
            # The one in hand, and the one that the writer has just written.
            assert sum(frame() is not None for frame in alive) <= 2
            frame = label_frame(attempt=[number, number])
            alive.append(weakref.ref(frame))
            yield frame

    tables.write_parts(parts(), tmp_path / "l.parquet", tables.LABELS, SPEC, revisions={})
    assert len(tables.read(tmp_path / "l.parquet", tables.LABELS)) == 12


def test_an_instruction_is_told_apart_by_its_references_and_a_question_is_not() -> None:
    questions = ["Summarise the meeting."] * 30 + ["Who wrote Faust?"] * 2
    topics = [*range(29), 0]
    references = [*([f"They spoke about topic {topic}."] for topic in topics), ["Goethe"], ["J. W. Goethe"]]
    keys = tables.item_keys(questions, references)
    assert len(set(keys[:30])) == 29 and keys[0] == keys[29]
    assert keys[30] == keys[31] == tables.question_key("Who wrote Faust?")
