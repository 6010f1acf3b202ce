"""Task tables: from task functions and from imported files, with every fault of a sample told in one line."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_judge import tables
from bert_judge.config import Import
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import registry
from bert_judge.tasks.build import answer_kind, build_task
from bert_judge.tasks.registry import Sample, task

OPTIONS = "\n(A) red\n(B) blue"


@pytest.fixture
def register() -> Iterator[Callable[[Any], str]]:
    """Registers a function as a task for one test."""

    def register_one(samples: Any) -> str:
        task("made_for_a_test", "short_answer")(samples)
        return "made_for_a_test"

    yield register_one
    registry._tasks.pop("made_for_a_test", None)


def imported_spec(questions: tuple[float, float] = (0.0, 1.0), where: dict[str, Any] | None = None, **entry: Any) -> dict[str, Any]:
    dumped = Import.model_validate({"path": "unused", **entry}).model_dump(mode="json", exclude={"path"})
    return {"task": "t", "part": {"where": where or {}, "question_split": list(questions)}, "import": dumped}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_task_function_becomes_a_table(tmp_path: Path, register: Callable[[Any], str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    one = Sample("Größe?", ("1,5 m", "150 cm"), "number")
    other = Sample("Which?" + OPTIONS, ("B", "blue"), "choice", ("red", "blue"))
    name = register(lambda: [one, other, one, Sample("Größe?", ("2 m",))])
    build_task({"task": name}, tmp_path / "t.parquet")
    frame = tables.read(tmp_path / "t.parquet", tables.TASK)
    assert frame["question"].tolist() == [one.question, other.question, one.question]
    assert frame["references"].tolist() == [["1,5 m", "150 cm"], ["B", "blue"], ["2 m"]]
    assert frame["choices"].tolist() == [None, ["red", "blue"], None]
    assert frame["answer_kind"].tolist() == ["number", "choice", "text"]
    assert frame["sample_id"][0] == tables.sample_id(name, one.question, one.references)
    assert "dropped 1 duplicate samples" in caplog.text


def test_a_task_of_a_users_file(tmp_path: Path) -> None:
    file = tmp_path / "my_tasks.py"
    file.write_text(
        "from bert_judge.tasks import Sample, task\n\n"
        "@task('from_a_users_file', 'short_answer')\ndef samples():\n    yield Sample('Why?', ('因为',))\n"
    )
    try:
        build_task({"task": "from_a_users_file"}, tmp_path / "t.parquet", file)
    finally:
        registry._tasks.pop("from_a_users_file", None)
    assert tables.read(tmp_path / "t.parquet", tables.TASK)["references"].tolist() == [["因为"]]


@pytest.mark.parametrize(
    ("sample", "says"),
    [
        (("q", "r"), "sample 2: it is a tuple; yield bert_judge.tasks.Sample objects"),
        (Sample("  ", ("r",)), "its question is '  '; give a non-empty text"),
        (Sample(None, ("r",)), "its question is None; give a non-empty text"),  # type: ignore[arg-type]
        (Sample("q", "Paris"), "its references are 'Paris'; give a tuple of at least one non-empty text"),  # type: ignore[arg-type]
        (Sample("q", ()), "its references are (); give a tuple"),
        (Sample("q", ("a", "")), "its references are ('a', ''); give a tuple"),
        (Sample("q", (7,)), "its references are (7,); give a tuple"),  # type: ignore[arg-type]
        (Sample("q", ("r",), "poem"), "its answer_kind is 'poem'; give one of choice, number,"),
        (Sample("q", ("r",), choices="AB"), "its choices are 'AB'; give None or a tuple"),  # type: ignore[arg-type]
        (Sample("q\ud83d", ("r",)), "it has a lone surrogate (half a character)"),
    ],
)
def test_what_is_wrong_with_a_sample_is_one_line(tmp_path: Path, register: Callable[[Any], str], sample: Any, says: str) -> None:
    name = register(lambda: [Sample("fine", ("r",)), sample])
    with pytest.raises(InputError) as caught:
        build_task({"task": name}, tmp_path / "t.parquet")
    assert str(caught.value).startswith(f"task {name!r}: sample 2: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "t.parquet").exists()


@pytest.mark.parametrize(("samples", "says"), [([], "yields no sample"), (None, "returns a NoneType; let it yield")])
def test_a_function_that_gives_nothing(tmp_path: Path, register: Callable[[Any], str], samples: Any, says: str) -> None:
    name = register(lambda: samples)
    with pytest.raises(InputError, match=says):
        build_task({"task": name}, tmp_path / "t.parquet")


def test_an_unknown_task(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown task 'nobody_knows'"):
        build_task({"task": "nobody_knows"}, tmp_path / "t.parquet")


def test_distinct_questions_of_a_file(tmp_path: Path) -> None:
    rows = [
        {"question": "Who?", "references": ["I", "me"], "model": "a", "kind": "x"},
        {"question": "Which?" + OPTIONS, "references": ["B", "blue"], "model": "a", "kind": "x"},
        {"question": "Who?", "references": ["I", "me"], "model": "b", "kind": "x"},
        {"question": "Who?", "references": ["you"], "model": "b", "kind": "x"},
        {"question": "How many?", "references": "1,250", "model": "b", "kind": "x"},
        {"question": "Else?", "references": ["r"], "model": "b", "kind": "y"},
    ]
    spec = imported_spec(where={"kind": "x"})
    build_task(spec, tmp_path / "t.parquet", write(tmp_path / "answers.jsonl", rows))
    frame = tables.read(tmp_path / "t.parquet", tables.TASK)
    assert frame["question"].tolist() == ["Who?", "Which?" + OPTIONS, "Who?", "How many?"]
    assert frame["references"].tolist() == [["I", "me"], ["B", "blue"], ["you"], ["1,250"]]
    assert frame["answer_kind"].tolist() == ["text", "choice", "text", "number"]
    assert json.loads(tables.provenance(tmp_path / "t.parquet")["spec"]) == spec


def test_choices_of_a_file(tmp_path: Path) -> None:
    rows = [
        {"question": "Which?", "references": ["B"], "options": ["red", "blue"]},
        {"question": "Who?", "references": ["I"], "options": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "answers.parquet")
    build_task(imported_spec(columns={"choices": "options"}), tmp_path / "t.parquet", tmp_path / "answers.parquet")
    frame = tables.read(tmp_path / "t.parquet", tables.TASK)
    assert frame["choices"].tolist() == [["red", "blue"], None]
    assert frame["answer_kind"].tolist() == ["choice", "text"]


@pytest.mark.parametrize(
    ("entry", "questions", "says"),
    [
        ({}, (0.0, 1e-9), "no question of task 't' is in the range [0.0, 1e-09]; widen tasks.imported.t.question_split"),
        ({"columns": {"question": "prompt"}}, (0.0, 1.0), "no column 'prompt' for the question"),
        ({"columns": {"choices": "options"}}, (0.0, 1.0), "no column 'options' for the choices"),
        ({"where": {"model": "c"}}, (0.0, 1.0), "no row is left where 'model' is 'c'; the column holds 'a'"),
    ],
)
def test_a_file_without_questions(tmp_path: Path, entry: dict[str, Any], questions: tuple[float, float], says: str) -> None:
    source = write(tmp_path / "answers.jsonl", [{"question": "Who?", "references": ["I"], "model": "a"}])
    with pytest.raises(InputError) as caught:
        build_task(imported_spec(questions, **entry), tmp_path / "t.parquet", source)
    assert str(caught.value).startswith(str(source))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("question", "references", "choices", "kind"),
    [
        ("Which?" + OPTIONS, ["B", "blue"], None, "choice"),
        ("Which?" + OPTIONS, ["blue"], None, "text"),
        ("Which?", ["B", "blue"], None, "text"),
        ("Which?", ["B"], ["red", "blue"], "choice"),
        ("How many?", ["18"], None, "number"),
        ("How many?", ["-3.5", "1,234.50", "$18", "12 %", ".5", "2e10", "€ 7"], None, "number"),
        ("How many?", ["18", "eighteen"], None, "text"),
        ("When?", ["12:30"], None, "text"),
        ("When?", ["1,2,3"], None, "text"),
        ("Not?", ["nan"], None, "text"),
    ],
)
def test_what_an_answer_looks_like(question: str, references: list[str], choices: list[str] | None, kind: str) -> None:
    assert answer_kind(question, references, choices) == kind


@pytest.mark.real_data
@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="needs the folder named by BERT_JUDGE_DATA")
def test_real_questions_are_parted_without_loss(tmp_path: Path) -> None:
    source = Path(os.environ["BERT_JUDGE_DATA"], "nq_open_human.parquet")
    parts = []
    for number, questions in enumerate([(0.0, 0.6), (0.6, 1.0), (0.0, 1.0)]):
        build_task(imported_spec(questions), tmp_path / f"{number}.parquet", source)
        parts.append(set(tables.read(tmp_path / f"{number}.parquet", tables.TASK)["question"]))
    assert parts[0] | parts[1] == parts[2]
    assert not parts[0] & parts[1]
    assert 0.57 < len(parts[0]) / len(parts[2]) < 0.63
