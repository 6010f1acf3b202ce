"""The published tasks: rows in the column schema of each data set of the hub become the right questions, without a network."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_judge import tables
from bert_judge.assets.prepare import prepare
from bert_judge.config import TaskSource
from bert_judge.importers import answer_forms
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.values import SkippedRecord
from bert_judge.tasks import Sample, build, families
from bert_judge.tasks.build import build_task
from bert_judge.tasks.registry import published_sources

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sources"
TRAIN = {"arc_challenge_train", "arc_easy_train", "gsm8k_train", "hotpotqa_train", "math_train", "mmlu_train", "squad_v2_train"}
TEST = {f"{name}_test" for name in ("arc_easy", "arc_challenge", "mmlu", "mmlu_pro", "gpqa", "truthfulqa")}
TEST |= {f"{name}_test" for name in ("squad_v2", "hotpotqa", "coqa", "drop", "gsm8k", "math", "asdiv", "aime24", "aime25")}


def fixture(name: str) -> dict[str, Any]:
    return json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))


def spec(**entry: Any) -> dict[str, Any]:
    """A source as the task stage gets it."""
    return TaskSource.model_validate({"path": "unused", **entry}).model_dump(mode="json", exclude={"path"})


def published_spec(name: str) -> dict[str, Any]:
    return published_sources()[name].model_dump(mode="json", exclude={"path"})


def plain(sample: Sample) -> dict[str, Any]:
    choices = None if sample.choices is None else list(sample.choices)
    references = list(sample.references)
    return {"question": sample.question, "references": references, "choices": choices, "answer_kind": sample.answer_kind}


def test_there_are_seven_training_splits_and_fifteen_test_sets() -> None:
    assert set(published_sources()) == TRAIN | TEST
    assert (len(TRAIN), len(TEST)) == (7, 15)


def test_a_pinned_revision_is_a_commit_and_the_same_for_all_tasks_of_a_data_set() -> None:
    pins = {(source.repository, source.revision) for source in published_sources().values()}
    assert len(pins) == len({repository for repository, _ in pins})
    assert all(re.fullmatch("[0-9a-f]{40}", revision) for _, revision in pins if revision)
    assert {repository for repository, revision in pins if revision is None} == {
        f"EleutherAI/{name}" for name in ("asdiv", "coqa", "drop")
    }


@pytest.mark.parametrize("name", sorted(TRAIN | TEST))
def test_rows_of_the_hub_become_questions(name: str) -> None:
    told = fixture(name)
    found, left_out = [], Counter[str]()
    for row in told["rows"]:
        try:
            found += families.make_samples(published_spec(name), row)
        except SkippedRecord as error:
            left_out[str(error)] += 1
    assert [plain(sample) for sample in found] == told["samples"]
    assert dict(left_out) == told["left_out"]


@pytest.mark.parametrize("name", sorted(TRAIN | TEST))
@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_rows_of_files_become_the_same_questions(name: str, format: str, tmp_path: Path) -> None:
    told, path = fixture(name), tmp_path / f"data.{format}"
    if format == "parquet":
        pq.write_table(pa.Table.from_pylist(told["rows"]), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in told["rows"]), "utf-8")
    source = published_spec(name)
    found = build.map_rows(name, source, build.read_rows([path], *build.needed_columns(source)))
    assert [plain(sample) for sample in found] == told["samples"]


@pytest.mark.parametrize("name", ["coqa_test", "drop_test", "squad_v2_test", "hotpotqa_test", "truthfulqa_test", "arc_easy_test"])
def test_lists_of_structures_mean_what_structures_of_lists_mean(name: str) -> None:
    """Older versions of `datasets` turn a list of structures inside out; data sets of both ages lie on the hub."""

    def other_way(value: Any) -> Any:
        if isinstance(value, list):
            return [other_way(item) for item in value]
        if isinstance(value, dict) and value and all(isinstance(item, list) for item in value.values()):
            return [other_way(dict(zip(value, items, strict=True))) for items in zip(*value.values(), strict=True)]
        return {key: other_way(item) for key, item in value.items()} if isinstance(value, dict) else value

    told = fixture(name)
    found = []
    for row in told["rows"]:
        turned = {key: other_way(value) for key, value in row.items()}
        try:
            found += families.make_samples(published_spec(name), turned)
        except SkippedRecord:
            continue
    assert [plain(sample) for sample in found] == told["samples"]


CHOICE = {"family": "multiple_choice", "columns": {"choices": "options"}}
ROWS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a letter": (CHOICE, {"question": "q", "options": ["x", "y"], "answer": "B"}, ["B", "y"]),
    "an option's text": (CHOICE, {"question": "q", "options": ["x", "y"], "answer": " y"}, ["B", "y"]),
    "a digit that is an option": (CHOICE, {"question": "q", "options": ["2", "1"], "answer": "1"}, ["B", "1"]),
    "an index": ({**CHOICE, "answer_form": "index"}, {"question": "q", "options": ["2", "1"], "answer": "1"}, ["B", "1"]),
    "flags as truth values": (
        {**CHOICE, "answer_form": "flags"},
        {"question": "q", "options": ["x", "y"], "answer": [False, True]},
        ["B", "y"],
    ),
    "several columns of answers": (
        {"family": "short_answer", "columns": {"answer": ["answer", "also"]}},
        {"question": "q", "answer": "NO", "also": ["no", "NO", " ", "non"]},
        ["NO", "no", "non"],
    ),
    "a number": ({"family": "short_answer"}, {"question": "q", "answer": 3.0}, ["3"]),
    "non-ASCII": ({"family": "short_answer"}, {"question": "Größe?", "answer": "größer"}, ["größer"]),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_gives_its_references(case: str) -> None:
    entry, row, references = ROWS[case]
    (sample,) = families.make_samples(spec(**entry), row)
    assert list(sample.references) == references


GOLD = [
    (answer_forms.number_forms, "1,234", ["1234", "1,234"]),
    (answer_forms.number_forms, "-12,345.60", ["-12345.60", "-12,345.60"]),
    (answer_forms.number_forms, "1,23", ["1,23"]),
    (answer_forms.number_forms, "1{,}000", ["1000", "1{,}000"]),
    (answer_forms.number_forms, "0", ["0"]),
    (answer_forms.number_forms, "0.5", ["0.5"]),
    (answer_forms.number_forms, "007", ["7", "007"]),
    (answer_forms.number_forms, "$1,000", ["1000", "$1,000"]),
    (answer_forms.last_box, r"\boxed{1}, no, \boxed{\frac{1}{\sqrt{2}}}", [r"\frac{1}{\sqrt{2}}"]),
    (answer_forms.last_box, r"\boxed{\{1, 2\}}", [r"\{1, 2\}"]),
    (answer_forms.after_hashes, "a\n#### 72\n", ["72"]),
    (answer_forms.without_unit, "12 (square feet)", ["12"]),
    (answer_forms.without_unit, "yes", ["yes"]),
]


@pytest.mark.parametrize(("form", "written", "references"), GOLD)
def test_a_written_answer_gives_its_references(form: Any, written: str, references: list[str]) -> None:
    assert form(written) == references


UNUSABLE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "hidden answer": (
        {**CHOICE, "answer_form": "index"},
        {"question": "q", "options": ["x", "y"], "answer": -1},
        "a hidden answer",
    ),
    "two right options": (
        {**CHOICE, "answer_form": "flags"},
        {"question": "q", "options": ["x", "y"], "answer": [1, 1]},
        "2 correct options",
    ),
    "one option": (CHOICE, {"question": "q", "options": ["x"], "answer": "A"}, "1 options"),
    "blank question": ({"family": "math"}, {"question": " ", "answer": "1"}, "no question"),
    "no answer": ({"family": "math"}, {"question": "q", "answer": None}, "no correct answer"),
    "box left open": ({"family": "math", "answer_form": "boxed"}, {"question": "q", "answer": r"\boxed{\frac{1}"}, "no closed box"),
    "nothing after the hashes": (
        {"family": "math", "answer_form": "after_hashes"},
        {"question": "q", "answer": "3 ####"},
        "no ####",
    ),
    "no text": (
        {"family": "reading", "columns": {"context": "text"}},
        {"question": "q", "text": "", "answer": "a"},
        "no text to read",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_row_without_a_question_is_left_out_with_its_reason(case: str, caplog: pytest.LogCaptureFixture) -> None:
    entry, row, reason = UNUSABLE[case]
    with pytest.raises(InputError, match=f"no row of its dataset gives a question: 2 with {reason}"):
        list(build.map_rows("t", spec(**entry), [("row 1", row), ("row 2", row)]))


MISFITS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "missing column": ({"family": "math"}, {"problem": "q", "answer": "1"}, "no column 'question'; available: 'problem', 'answer'"),
    "missing nested column": (
        {"family": "math", "columns": {"answer": "answer.value"}},
        {"question": "q", "answer": {"text": "1"}},
        "no column 'answer.value'; available: 'text'",
    ),
    "index too high": (
        {**CHOICE, "answer_form": "index"},
        {"question": "q", "options": ["x", "y"], "answer": 2},
        "the correct option is 2, and the options count from 0 to 1",
    ),
    "no such option": (
        CHOICE,
        {"question": "q", "options": ["x", "y"], "answer": "z"},
        "the correct option is 'z', which is no label",
    ),
    "options are no list": (CHOICE, {"question": "q", "options": "x, y", "answer": "A"}, "the list of options is 'x, y'"),
    "answer is a structure": (
        {"family": "math"},
        {"question": "q", "answer": {"a": 1}},
        "the correct answer is {'a': 1}; give a text",
    ),
    "half a character": (
        {"family": "math"},
        {"question": "q\ud800", "answer": "1"},
        "the question has a lone surrogate (half a character)",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_source_that_does_not_fit_its_rows_is_told_in_one_line(case: str) -> None:
    entry, row, fault = MISFITS[case]
    with pytest.raises(InputError) as told:
        list(build.map_rows("t", spec(**entry), [("f.parquet: row 7", row)]))
    assert str(told.value).startswith(f"task 't': f.parquet: row 7: {fault}")
    assert "\n" not in str(told.value)


def test_rows_that_are_left_out_are_counted_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    rows = [("row 1", {"question": "q", "answer": "1"}), ("row 2", {"question": "q", "answer": ""})]
    assert len(list(build.map_rows("t", spec(family="math"), rows))) == 1
    assert "t: skipped 1 of 2 rows: 1 with no correct answer" in caplog.text


def built(spec: dict[str, Any], tmp_path: Path, **where_from: Path) -> Any:
    build_task(spec, tmp_path / "task.parquet", **where_from)
    return tables.read(tmp_path / "task.parquet", tables.TASK)


def sums(path: Path, count: int) -> Path:
    rows = [{"question": f"{n} + 1?", "answer": n + 1, "level": n % 3} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_limit_keeps_what_a_lower_one_chose(tmp_path: Path) -> None:
    path, entry = sums(tmp_path / "sums.jsonl", 60), spec(family="math")
    task = {"task": "sums", "source": entry}
    whole = built(task, tmp_path, source=path)["question"].tolist()
    ten = built({**task, "limit": 10}, tmp_path, source=path)["question"].tolist()
    twenty = built({**task, "limit": 20}, tmp_path, source=path)["question"].tolist()
    assert (len(ten), len(twenty), len(whole)) == (10, 20, 60)
    assert set(ten) < set(twenty) < set(whole)
    # Neither the first ones nor another order.
    assert ten != whole[:10] and twenty == [question for question in whole if question in set(twenty)]
    assert built({**task, "limit": 99}, tmp_path, source=path)["question"].tolist() == whole


def test_a_filter_takes_rows(tmp_path: Path) -> None:
    path = sums(tmp_path / "sums.jsonl", 9)
    entry = spec(family="math", where={"level": [0, 2]})
    assert len(built({"task": "sums", "source": entry}, tmp_path, source=path)) == 6
    entry = spec(family="math", where={"level": 7})
    with pytest.raises(InputError, match="none of 9 rows passes the source's where"):
        built({"task": "sums", "source": entry}, tmp_path, source=path)


def test_a_csv_file_with_lists_in_json(tmp_path: Path) -> None:
    path = tmp_path / "quiz.csv"
    path.write_text('q,options,a\n"Which, of these?","[""x"", ""y""]",y\n', "utf-8")
    entry = spec(family="multiple_choice", columns={"question": "q", "choices": "options", "answer": "a"})
    frame = built({"task": "quiz", "source": entry}, tmp_path, source=path)
    assert frame["question"].tolist() == ["Which, of these?\n(A) x\n(B) y"]
    assert frame["references"].tolist() == [["B", "y"]]


FILES = {
    "empty.jsonl": ("", "no rows"),
    "broken.jsonl": ("{", "line 1 is not JSON"),
    "list.json": ("[1]", "item 1 is a JSON int"),
    "other.csv": ("a,b\n1,2\n", "no column 'question'; available: 'a', 'b'"),
    "broken.parquet": ("no parquet", "not a readable parquet file"),
    "notes.txt": ("question\n", "unknown file format"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    content, fault = FILES[name]
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError) as told:
        built({"task": "t", "source": spec(family="math")}, tmp_path, source=path)
    assert name in str(told.value) and fault in str(told.value) and "\n" not in str(told.value)


def test_a_local_copy_of_a_data_set_is_prepared_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_DATASETS_DIR", str(tmp_path / "shelf"))
    name = "math_test"
    source, rows = published_spec(name), fixture(name)["rows"]
    for config in source["config"]:
        folder = tmp_path / "shelf" / "EleutherAI" / "hendrycks_math" / config
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows[:1]), folder / "train-00000-of-00001.parquet")
        told = [{**row, "problem": f"{config}: {row['problem']}"} for row in rows]
        pq.write_table(pa.Table.from_pylist(told), folder / "test-00000-of-00001.parquet")
    asset = {"repository": source["repository"], "revision": None, "data_set": {"config": source["config"], "split": "test"}}
    prepare(asset, tmp_path / "task-math_test.json")
    frame = built({"task": name, "source": source}, tmp_path, manifest=tmp_path / "task-math_test.json")
    assert len(frame) == 7 * len(rows)
    # Configuration after configuration, in the order of the source.
    assert [question.split(":")[0] for question in frame["question"]][:: len(rows)] == source["config"]
    origin = tables.provenance(tmp_path / "task.parquet")
    assert list(origin["revisions"]) == ["EleutherAI/hendrycks_math"]
    assert origin["revisions"]["EleutherAI/hendrycks_math"].startswith("local:")
