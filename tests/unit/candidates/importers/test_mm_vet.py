"""MM-Vet's files: accepted answers with synonyms, answers by id or as JudgeLM's samples, scored by judges of single answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framework_files import document, jsonl, read
from typer.testing import CliRunner

from bert_judge.candidates.importers import frameworks, mm_vet
from bert_judge.candidates.importers.companion_files import CompanionFiles
from bert_judge.cli import app
from bert_judge.runtime.errors import InputError

QUESTIONS = {
    "v1_0": {
        "imagename": "v1_0.png",
        "question": "What is x in the equation?",
        "answer": "-1<AND>-5",
        "capability": ["ocr", "math"],
    },
    "v1_1": {"imagename": "v1_1.png", "question": "What is d?", "answer": "1.25<OR>5/4", "capability": ["ocr", "math"]},
    "v1_2": {"imagename": "v1_2.png", "question": "עם או בלי?", "answer": "עם", "capability": ["rec"]},
}
ANSWERS = {"v1_0": "x is -1 or -5", "v1_1": "It is 5/4.", "v1_2": "בלי"}
ACCEPTED = [
    ("no", ["no"]),
    ("1.25<OR>5/4", ["1.25", "5/4"]),
    ("eight <OR> 8.0 <OR> eight", ["eight", "8.0"]),
    ("-1<AND>-5", ["-1 and -5"]),
    ("a<AND>b<OR>c", ["a and b", "c"]),
    ("a<and>b<or>", ["a and b"]),
    ("x < 3 <OR> y", ["x < 3", "y"]),
    ("<AND>", []),
    ("", []),
]


def sample(**changes: Any) -> dict[str, Any]:
    """A line of JudgeLM's `mm-vet-judge-samples.jsonl`."""
    return QUESTIONS["v1_1"] | {"question_id": 1, "answer1_body": "It is 5/4."} | changes


def by_id(folder: Path, answers: Any = ANSWERS, questions: Any = QUESTIONS) -> tuple[Path, CompanionFiles]:
    return document(folder / "emu.json", answers), CompanionFiles(document(folder / "mm-vet.json", questions))


@pytest.mark.parametrize(("answer", "references"), ACCEPTED)
def test_accepted_answers(answer: str, references: list[str]) -> None:
    assert mm_vet.split_accepted(answer) == references


def test_answers_by_id(tmp_path: Path) -> None:
    path, beside = by_id(tmp_path)
    assert frameworks.detect(path) == "mm_vet"
    answers, found = read(path, "mm_vet", beside)
    assert [(a.id, a.references, a.candidate, a.model, a.task) for a in answers] == [
        ("v1_0", ("-1 and -5",), "x is -1 or -5", "emu", "mm_vet"),
        ("v1_1", ("1.25", "5/4"), "It is 5/4.", "emu", "mm_vet"),
        ("v1_2", ("עם",), "בלי", "emu", "mm_vet"),
    ]
    assert not found.unreadable


def test_samples_of_judgelm(tmp_path: Path) -> None:
    rows = [sample(), sample(answer2_body="Six", answer2_model_id="kosmos"), sample(answer=" ")]
    path = jsonl(tmp_path / "samples.jsonl", rows)
    assert frameworks.detect(path) == "mm_vet"
    answers, found = read(path, "mm_vet")
    assert [(a.model, a.candidate) for a in answers] == [("samples", "It is 5/4."), ("samples", "It is 5/4."), ("kosmos", "Six")]
    assert dict(found.unreadable) == {"no reference": 1}


@pytest.mark.parametrize(
    ("answers", "questions", "says"),
    [
        (QUESTIONS, QUESTIONS, "emu.json: v1_0 is not a text; give a file of answers by id"),
        (ANSWERS | {"v1_9": "x"}, QUESTIONS, "mm-vet.json: has no question 'v1_9'"),
        (ANSWERS, ["x"], "mm-vet.json: has no question 'v1_0'"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path: Path, answers: Any, questions: Any, says: str) -> None:
    path, beside = by_id(tmp_path, answers, questions)
    with pytest.raises(InputError, match=says) as caught:
        read(path, "mm_vet", beside)
    assert "\n" not in str(caught.value)


def test_answers_alone_and_broken_files_are_refused(tmp_path: Path) -> None:
    path, beside = by_id(tmp_path)
    with pytest.raises(InputError, match=r"contains answers only; name MM-Vet's file of questions \(mm-vet.json\)"):
        read(path, "mm_vet")
    path.write_text(json.dumps(ANSWERS)[:30], "utf-8")
    with pytest.raises(InputError, match=r"emu\.json: not a complete JSON file"):
        read(path, "mm_vet", beside)
    with pytest.raises(InputError, match="no such file"):
        read(path, "mm_vet", CompanionFiles(tmp_path / "none.json"))
    twice = tmp_path / "twice.json"
    twice.write_text('{"v1_0": {}, "v1_0": {}}', "utf-8")
    with pytest.raises(InputError, match=r"twice\.json: item 2: duplicate question 'v1_0'"):
        read(path, "mm_vet", CompanionFiles(twice))


def test_a_judge_of_single_answers_scores_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    by_id(tmp_path)
    run = CliRunner()
    made = run.invoke(app, ["import", "emu.json", "--references", "mm-vet.json", "-o", "answers.jsonl"])
    assert (made.exit_code, made.stdout) == (0, "answers.jsonl: 3 answers\n")
    scored = run.invoke(app, ["score", "answers.jsonl", "-o", "scored.jsonl", "--judge", "contains"])
    assert scored.exit_code == 0, scored.output
    verdicts = [json.loads(line)["verdict"] for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
    # "-1 or -5" holds both, but not as the reference says it: a rule is no reader.
    assert verdicts == ["incorrect", "correct", "incorrect"]
