"""`bert-judge compare`: the answers to each question, ranked with ties, by judges of pairs and of single answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import run, write

from bert_judge.judges.pairwise.rules import PairRuleJudge
from bert_judge.judges.protocol import Label, decided, invalid
from bert_judge.tables.readers.rows import open_rows

ANSWERS = ["Paris", "It is Paris.", "London", "Rome"]
ROWS: list[dict[str, Any]] = [
    *({"question": "Capital of France?", "reference": "Paris", "answer": text, "model": f"m{n}"} for n, text in enumerate(ANSWERS)),
    {"question": "Who wrote Faust?", "reference": "Goethe", "answer": "Goethe", "model": "m0"},
    {"question": "Who wrote Faust?", "reference": "Goethe", "answer": None, "model": "m1"},
]
PAIRS: list[dict[str, Any]] = [
    {"question": "Capital of France?", "answer_a": "London", "answer_b": "It is Paris.", "reference": "Paris", "model_a": "x"},
    {"question": "Name a fruit.", "answer_a": "apple", "answer_b": "apple"},
]
JUDGELM = {"question_id": 1, "question_body": "Capital of France?"} | {
    f"answer{number}_body": text for number, text in enumerate(ANSWERS, 1)
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("j.yaml").write_text("judges:\n  longer: {kind: pairwise, rule: longer}\n", "utf-8")


def cells(path: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(record.get(name) for name in names) for _, record in open_rows(Path(path)).records()]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_rows_with_one_question_are_ranked(ending: str) -> None:
    write(Path(f"a.{ending}"), ROWS)
    done = run("compare", f"a.{ending}", "--judge", "contains")
    assert done.exit_code == 0, done.output
    assert [tuple(map(float, pair)) for pair in cells(f"a.compared.{ending}", "rank", "score")] == [
        *((1, 1), (1, 1), (3, 0), (3, 0)),
        *((1, 1), (2, 0)),
    ]
    assert done.stdout.endswith(f"a.compared.{ending}: 6 answers to 2 questions\n") and "m3" in done.stdout
    # The file itself is the same, and the work is cleared.
    assert [row[0] for row in cells(f"a.compared.{ending}", "answer")][:4] == ANSWERS
    assert not list(Path().glob(".*"))


def test_every_two_answers_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    compare = PairRuleJudge.compare
    monkeypatch.setattr(PairRuleJudge, "compare", lambda self, pairs: compared.append(len(pairs)) or compare(self, pairs))
    write(Path("a.jsonl"), ROWS[:4])
    assert run("compare", "a.jsonl", "--judge", "j.yaml:longer").exit_code == 0
    # Characters: 5, 12, 6, 4.
    assert cells("a.compared.jsonl", "rank", "score", "reason") == [
        (3, pytest.approx(1 / 3), "1 of 3 comparisons won"),
        (1, 1.0, "3 of 3 comparisons won"),
        (2, pytest.approx(2 / 3), "2 of 3 comparisons won"),
        (4, 0.0, "0 of 3 comparisons won"),
    ]
    assert sum(compared) == 6


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        (
            "j.yaml:longer",
            [("B", "2 1", "0.000 1.000", "6 and 12 characters"), ("tie", "1 1", "0.500 0.500", "5 and 5 characters")],
        ),
        ("contains", [("B", "2 1", "0.000 1.000", "contains: "), ("invalid", "– –", "– –", "no reference")]),
    ],
)
def test_two_answers_in_a_row(judge: str, expected: list[tuple[str, ...]]) -> None:
    write(Path("p.jsonl"), PAIRS)
    done = run("compare", "p.jsonl", "--judge", judge)
    assert done.exit_code == 0, done.output
    assert [row[:3] for row in cells("p.compared.jsonl", "verdict", "ranks", "scores")] == [row[:3] for row in expected]
    assert all(words in reason for (reason,), (*_, words) in zip(cells("p.compared.jsonl", "reason"), expected, strict=True))


def test_an_answer_that_cannot_be_read_says_why() -> None:
    write(Path("a.jsonl"), [*ROWS[:3], {**ROWS[3], "answer": {"k": [1, {"z": 2}]}}])
    done = run("compare", "a.jsonl", "--judge", "contains")
    assert done.stdout.endswith("a.compared.jsonl: 3 answers to 1 questions; 1 rows are left out\n")
    assert cells("a.compared.jsonl", "rank", "score", "reason")[3] == (None, None, "is {'k': [1, {'z': 2}]}; give a text")


def test_several_answers_of_judgelm_in_a_row() -> None:
    write(Path("s.jsonl"), [JUDGELM])
    assert run("compare", "s.jsonl", "--judge", "j.yaml:longer").exit_code == 0
    [row] = [json.loads(line) for line in Path("s.compared.jsonl").read_text("utf-8").splitlines()]
    assert (row["ranks"], row["scores"]) == ("3 1 2 4", "0.333 1.000 0.667 0.000") and "verdict" not in row
    refused = run("compare", "s.jsonl", "--judge", "contains", "-o", "t.jsonl")
    assert refused.exit_code == 1 and "no question has two answers" in refused.stderr and not Path("t.jsonl").exists()


def test_an_interrupted_comparison_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("a.csv"), ROWS[:4])
    monkeypatch.setattr("bert_judge.cli.compare.PAIR_SHARD_ROWS", 2)
    compare, calls = PairRuleJudge.compare, []

    def killed(self: PairRuleJudge, pairs: Any) -> Any:
        calls.append(len(pairs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return compare(self, pairs)

    monkeypatch.setattr(PairRuleJudge, "compare", killed)
    assert run("compare", "a.csv", "--judge", "j.yaml:longer").exit_code != 0 and not Path("a.compared.csv").exists()
    assert run("compare", "a.csv", "--judge", "j.yaml:longer").exit_code == 0
    # Two pairs of six were finished.
    assert calls == [2, 2, 2, 2] and [row[0] for row in cells("a.compared.csv", "rank")] == ["3", "1", "2", "4"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS[:1], (), "no question has two answers to compare"),
        (ROWS[:4], ("-o", "a.parquet"), "is written in the format of a.csv; let its name end in .csv"),
        (ROWS[:4], ("--judge", "nothing"), "--judge nothing: no such folder"),
        ([row | {"rank": 1} for row in ROWS[:4]], (), "already has a column 'rank'"),
    ],
)
def test_what_is_refused(rows: list[dict[str, Any]], options: tuple[str, ...], message: str) -> None:
    write(Path("a.csv"), rows)
    done = run("compare", "a.csv", *(options if "--judge" in options else ("--judge", "contains", *options)))
    assert done.exit_code == 1 and message in done.stderr and {path.name for path in Path().glob("a.*")} == {"a.csv"}


@pytest.mark.parametrize("in_one_row", [False, True])
def test_an_order_that_uncertain_verdicts_leave_open_comes_with_a_warning(in_one_row: bool) -> None:
    """The judge in the package is not certain of explanations; an identical name is decided by a rule."""
    reference = "They turn most of the electricity into light rather than heat, so little is lost"
    answers = ("Because hardly any of the electricity is wasted as heat", "They turn most of the electricity into heat")
    if in_one_row:
        rows = [{"question": "Why?", "reference": reference, "answer_a": answers[0], "answer_b": answers[1]}]
        names = ["answer 1", "answer 2"]
    else:
        rows = [{"question": "Why?", "reference": reference, "answer": text, "model": f"m{n}"} for n, text in enumerate(answers)]
        names = ["m0", "m1"]
    write(Path("a.jsonl"), rows)
    done = run("compare", "a.jsonl")
    assert done.exit_code == 0 and "range of accuracy, %" in done.stdout and "0.0 to 100.0" in done.stdout
    assert "warning: general: 100% of the verdicts are uncertain, most of them on references of a sentence" in done.stderr
    assert "warning: general: the ranges of the two models overlap or are within 5 points, so " in done.stderr
    assert all(name in done.stderr for name in names)
    # An audit does not read two answers in a row.
    assert ("bert-judge audit a.jsonl" in done.stderr) == (not in_one_row)


@pytest.mark.parametrize(
    ("labels", "ranks"),
    [
        # A sentence and a word, both certainly correct, and a wrong word.
        ([decided(0.9, certain=True), decided(0.99, certain=True), decided(0.2, certain=True)], [1, 1, 3]),
        ([decided(0.02, certain=True), decided(0.2, certain=True)], [1, 1]),
        # Uncertain, or without a claim: by score.
        ([decided(0.9, certain=False), decided(0.99, certain=False)], [2, 1]),
        ([decided(0.9), decided(0.99)], [2, 1]),
        # A certain verdict counts as 1 or 0 against uncertain ones.
        ([decided(0.9, certain=True), decided(0.95, certain=False)], [1, 2]),
        ([decided(0.2, certain=True), decided(0.1, certain=False)], [2, 1]),
        ([invalid("no reference"), decided(0.2, certain=True)], [None, 1]),
    ],
)
def test_answers_with_the_same_certain_verdict_are_equally_good(
    monkeypatch: pytest.MonkeyPatch, labels: list[Label], ranks: list[int | None]
) -> None:
    monkeypatch.setattr("bert_judge.cli.compare.judge_rows", lambda *_, **__: labels)
    write(Path("a.jsonl"), [{**ROWS[0], "answer": f"answer {n}", "model": f"m{n}"} for n in range(len(labels))])
    done = run("compare", "a.jsonl")
    assert done.exit_code == 0, done.output
    assert cells("a.compared.jsonl", "rank", "score") == list(zip(ranks, [label.score for label in labels], strict=True))


def test_an_order_that_is_certain_comes_without_a_warning() -> None:
    write(Path("a.jsonl"), ROWS[:4])
    done = run("compare", "a.jsonl")
    assert done.exit_code == 0 and "warning" not in done.stderr and "range" not in done.stdout
