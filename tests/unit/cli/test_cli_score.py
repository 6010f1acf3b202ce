"""`bert-judge score` and `predict`: a stranger's file in, the same file with verdicts out, whatever happens."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import tiny_models
from helpers.commands import read, run, write
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from bert_judge import tables
from bert_judge.config import Training
from bert_judge.encoder.judge_folder import hash_rows, read_unseen_auroc
from bert_judge.importers import column_names
from bert_judge.importers.answers import make_column_reader
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.protocol import Label, Row
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge, load_judges
from bert_judge.labels.score_file import score_file
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows

ROWS: list[dict[str, Any]] = [
    {"id": 1, "question": "Capital of France?", "references": ["Paris"], "candidate": "It is Paris, of course.", "model": "a"},
    {"id": 2, "question": "Was ist 大きい?", "references": ["big", "large"], "candidate": 'say "small",\nor tiny', "model": "b"},
    {"id": 3, "question": "Half?", "references": ["0.5"], "candidate": None, "model": "b"},
    {"id": 4, "question": "Thought?", "references": ["yes"], "candidate": "<think>the answer is yes", "model": "b"},
]
VERDICTS = ["correct", "incorrect", "incorrect", "invalid"]
REASONS = ['contains: found "Paris"', 'contains: did not find "big"', "empty answer", "unfinished reasoning"]


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained judges are looked for in the current folder."""
    monkeypatch.chdir(tmp_path)


# --- the same file with verdicts ---


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_input_column_is_untouched_and_verdicts_stand_behind(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"answers.{ending}", ROWS)
    result = run("score", path, "--judge", "contains")
    assert result.exit_code == 0, result.output
    before, after = read(path), read(tmp_path / f"answers.scored.{ending}")
    assert [{name: row[name] for name in old} for old, row in zip(before, after, strict=True)] == before
    assert [row["verdict"] for row in after] == VERDICTS
    assert [row["reason"] for row in after] == REASONS
    assert [row["score"] for row in after][:2] == ([1.0, 0.0] if ending != "csv" else ["1.0", "0.0"])
    assert list(after[0])[-5:] == ["verdict", "outcome", "score", "certain", "reason"]
    # Nothing is left of the work.
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"answers.{ending}", f"answers.scored.{ending}"]


def test_a_line_of_json_is_kept_to_the_letter(tmp_path: Path) -> None:
    line = '{ "id":1e3, "big": 12345678901234567890.10,"references": "Paris" , "candidate":"Paris", "é": "\\u00e9" }'
    path = tmp_path / "answers.jsonl"
    path.write_text(f"\ufeff{line}\n\n", "utf-8")
    assert run("score", path, "--judge", "contains").exit_code == 0
    [scored] = (tmp_path / "answers.scored.jsonl").read_text("utf-8").splitlines()
    assert scored.startswith(line.removesuffix(" }") + ", ") and json.loads(scored)["verdict"] == "correct"


def test_a_parquet_file_keeps_its_types_and_metadata(tmp_path: Path) -> None:
    schema = pa.schema(
        [("n", pa.int8()), ("references", pa.list_(pa.large_string())), ("candidate", pa.dictionary(pa.int32(), pa.string()))],
        metadata={"kept": "yes"},
    )
    table = pa.table({"n": [1, None], "references": [["a"], None], "candidate": ["a", "b"]}, schema=schema)
    pq.write_table(table, tmp_path / "answers.parquet")
    result = run("score", "answers.parquet", "--judge", "contains")
    assert result.exit_code == 0
    # Half of the verdicts are invalid, and the valid one is correct.
    assert [cell.strip() for cell in result.stdout.splitlines()[3].split("│")][5:-1] == ["50.0", "100.0"]
    scored = pq.read_table(tmp_path / "answers.scored.parquet")
    assert scored.schema.metadata[b"kept"] == b"yes"
    assert scored.select(table.column_names).equals(table)
    assert scored["verdict"].to_pylist() == ["correct", "invalid"]
    assert scored["reason"].to_pylist() == ["identical to a reference", "no reference"]


@settings(max_examples=30)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=20))
def test_rows_in_are_rows_out_whatever_they_say(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("any")
    rows = [{"references": text, "candidate": text, "n": number} for number, text in enumerate(texts)]
    for ending in ("csv", "jsonl", "parquet"):
        path = write(folder / f"x.{ending}", rows)
        source = open_rows(path)
        reader = make_column_reader({"references": "references", "candidate": "candidate"}, ending == "csv")
        tally = score_file(source, reader, folder / f"y.{ending}", judge_loading.load_judges(["exact_match"]))
        after = read(folder / f"y.{ending}")
        assert [(row["references"], row["candidate"]) for row in after] == [(text, text) for text in texts]
        assert tally.rows == len(texts)


class Grader:
    """A judge that grades every answer with 8 of 10."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [Label("correct", 7 / 9, "Names the city.", aspects={"quality": 8.0}) for _ in rows]


def test_grades_stand_in_the_scored_file_with_their_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"references": "Paris", "candidate": "Paris"}])
    reader = make_column_reader({"references": "references", "candidate": "candidate"}, False)
    score_file(open_rows(path), reader, tmp_path / "y.jsonl", [NamedJudge("grader", "1", Grader())])
    [row] = read(tmp_path / "y.jsonl")
    assert (row["verdict"], row["reason"]) == ("correct", "quality 8: Names the city.")


def test_several_judges_have_columns_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ROWS[:2])
    result = run("score", "a.jsonl", "-j", "contains", "-j", "exact_match", "--prefix", "x.")
    assert [name for name in read(tmp_path / "a.scored.jsonl")[0] if name.startswith("x.")] == [
        f"x.{judge}_{name}"
        for judge in ("contains", "exact_match")
        for name in ("verdict", "outcome", "score", "certain", "reason")
    ]
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith(("│ contains", "│ exact_match"))]
    assert len(lines) == 4 and {line[3] for line in lines} == {"a", "b"}


def test_a_cell_that_makes_no_sense_costs_its_row_only(tmp_path: Path) -> None:
    rows = [
        {"references": "a", "candidate": "a"},
        {"references": "a", "candidate": {"n": 1}},
        {"references": " ", "candidate": "c"},
    ]
    write(tmp_path / "a.jsonl", rows)
    result = run("score", "a.jsonl", "--judge", "contains")
    assert [(row["verdict"], row["reason"]) for row in read(tmp_path / "a.scored.jsonl")] == [
        ("correct", "identical to a reference"),
        ("invalid", "is {'n': 1}; give a text"),
        ("invalid", "no reference"),
    ]
    assert "invalid: 1 × no reference" in result.stdout


# --- which column, which judge ---


@pytest.mark.parametrize(
    ("columns", "told", "found"),
    [
        (["question", "references", "candidate", "model"], {}, {"question": "question", "references": "references"}),
        (["Prompt", "Ground Truth", "Model-Output"], {}, {"question": "Prompt", "references": "Ground Truth"}),
        (["input", "target", "prediction"], {}, {"question": "input", "references": "target", "candidate": "prediction"}),
        (["question", "answer", "response"], {}, {"references": "answer", "candidate": "response"}),
        (["question", "gold", "answer"], {}, {"references": "gold", "candidate": "answer"}),
        (["prompt", "question", "gold", "output"], {}, {"question": "question"}),
        (["a", "b"], {"references": "a", "candidate": "b"}, {"references": "a", "candidate": "b"}),
        (["prompt", "input", "gold", "output"], {"question": "input"}, {"question": "input", "candidate": "output"}),
    ],
)
def test_columns_are_known_by_their_usual_names(columns: list[str], told: dict[str, str], found: dict[str, str]) -> None:
    assert column_names.detect_columns(Path("x.csv"), columns, told).items() >= found.items()


@pytest.mark.parametrize(
    ("columns", "told", "says"),
    [
        (
            ["question", "answer"],
            {},
            "cannot tell which column holds the references; set --references COLUMN; available:",
        ),
        (["gold", "text"], {}, "cannot tell which column holds the candidate; set --candidate COLUMN"),
        (["prompt", "input", "gold", "output"], {}, "the question may be in the column 'prompt' or 'input'; set --question COLUMN"),
        (["gold", "response", "output"], {}, "the candidate may be in the column 'response' or 'output'"),
        (["gold", "output"], {"candidate": "said"}, "no column 'said' for the candidate; available: 'gold', 'output'"),
        (["gold", "output"], {"question": "gold"}, "the column 'gold' cannot hold both question and references"),
    ],
)
def test_columns_that_nobody_could_tell(columns: list[str], told: dict[str, str], says: str) -> None:
    with pytest.raises(InputError) as caught:
        column_names.detect_columns(Path("x.csv"), columns, told)
    assert str(caught.value).startswith(f"x.csv: {says}") and "\n" not in str(caught.value)


def judge_folder(folder: Path) -> Path:
    judge = BERTJudge(tiny_models.encoder(folder.parent / f"backbone of {folder.name}"))
    texts = ["q"], [["Paris"]], ["Paris"]
    judge.fit(*texts, [1.0], training=Training(epochs=1), features=False, work_folder=folder.parent / f"work of {folder.name}")
    judge.save(folder)
    return folder


def test_the_general_judge_is_the_default(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", ROWS)
    judge_folder(tmp_path / "results" / "judges" / "mine")
    result = run("score", "a.csv")
    assert result.exit_code == 0 and "judge: general v" in result.stderr
    scores = [float(row["score"]) for row in read(tmp_path / "a.scored.csv")[:2]]
    texts = [[row[column] for row in ROWS[:2]] for column in ("question", "references", "candidate")]
    assert scores == pytest.approx(BERTJudge().predict(*texts), abs=1e-6)
    # By its name, by its folder, and as published checkpoints are, without a card.
    judge_folder(tmp_path / "results" / "judges" / "other")
    (tmp_path / "results/judges/other/judge.json").unlink()
    names = ["mine", "general", "contains"]
    assert [chosen.name for chosen in judge_loading.load_judges(names)] == names
    with pytest.raises(InputError, match="never trained"):
        judge_loading.load_judges(["results/judges/other"])


def test_the_example_is_written_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("score", "--example")
    assert result.exit_code == 0, result.output
    rows = read(tmp_path / "example.scored.csv")
    assert [row["verdict"] == "correct" for row in rows] == [row["model"] == "large" for row in rows]
    assert [row["outcome"] for row in rows].count("not_attempted") == 1


def test_the_example_replaces_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.csv").write_text("mine")
    result = run("score", "--example")
    assert result.exit_code == 1 and Path("example.csv").read_text() == "mine"
    assert run("score").exit_code == 1


def test_batches_need_a_file_of_references(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    answer = {"id": "1", "custom_id": "q1", "response": {"status_code": 200, "body": body}, "error": None}
    batch, gold = (
        write(tmp_path / "out.jsonl", [answer]),
        write(tmp_path / "gold.jsonl", [{"custom_id": "q1", "reference": "Paris"}]),
    )
    result = run("score", batch, "--judge", "contains")
    assert result.exit_code == 1 and "bert-judge import" in result.output
    result = run("score", batch, "--judge", "contains", "--references", gold)
    [row] = read(tmp_path / "out.scored.jsonl")
    assert result.exit_code == 0 and (row["references"], row["candidate"], row["verdict"]) == (["Paris"], "Paris", "correct")


@pytest.mark.parametrize("arguments", [("-5", "--reference", "-5"), ("--reference=-5", "--", "-5")])
def test_an_answer_may_begin_with_a_minus(arguments: tuple[str, ...]) -> None:
    result = run("predict", "--judge", "contains", *arguments)
    assert result.exit_code == 0 and "correct 1.000" in result.output


def test_a_judge_of_simulated_answers_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "a.csv", ROWS)
    card = judge_folder(tmp_path / "mine") / "judge.json"
    card.write_text(json.dumps({**json.loads(card.read_text("utf-8")), "simulated": True}), "utf-8")
    assert run("score", "a.csv", "--judge", "mine").exit_code == 0
    assert "judge mine: trained on simulated answers" in caplog.text


@pytest.mark.parametrize("column", ["label", "human_label", "mine"])
def test_labels_in_the_file_give_an_agreement(tmp_path: Path, column: str) -> None:
    labels = [1, "incorrect", None, 1, 1]
    rows = [{"question": f"{n}?", "gold": "a", "response": "a" if n != 4 else "b", column: label} for n, label in enumerate(labels)]
    write(tmp_path / "a.csv", rows)
    result = run("score", "a.csv", "-j", "contains", *(["--label", column] if column == "mine" else []))
    assert result.exit_code == 0, result.output
    # Right, wrong, without a label, right, wrong.
    line = next(line for line in result.stdout.splitlines() if line.startswith("contains: "))
    assert line.startswith(f"contains: agreement with the column '{column}' 50.0% [15.0, 85.0] on 4 answers, kappa ")
    assert line.endswith("; the constant verdict correct agrees on 75.0%")


@pytest.mark.parametrize(
    ("labels", "agreement", "line"),
    [
        # Of right, right, wrong, wrong answers.
        (
            [1, 0.5, 0, 0.5],
            "100.0% [34.2, 100.0] on 2 answers",
            "2 labels are 0.5, neither correct nor incorrect, and no agreement",
        ),
        ([0.75, 0.25, 0.25, 0], "75.0% [30.1, 95.4] on 4 answers", "3 labels are between 0 and 1; above 0.5 they count as correct"),
        ([0.5, "", "0.5", 0.5], "", "3 labels are 0.5, neither correct nor incorrect, and no agreement counts them"),
        ([1, 1, 0, "0.0"], "100.0% [51.0, 100.0] on 4 answers", ""),
    ],
)
def test_labels_between_correct_and_incorrect(tmp_path: Path, labels: list[object], agreement: str, line: str) -> None:
    answers = zip("aabb", labels, strict=True)
    rows = [{"question": f"{n}?", "gold": "a", "answer": text, "label": label} for n, (text, label) in enumerate(answers)]
    result = run("score", write(tmp_path / "a.csv", rows), "-j", "contains")
    assert result.exit_code == 0, result.output
    assert f"the column 'label' {agreement}" in result.stdout if agreement else "agreement" not in result.stdout
    assert f"the column 'label': {line}" in result.stderr if line else "labels are" not in result.stderr


def test_a_file_in_which_every_row_is_skipped_says_why(tmp_path: Path) -> None:
    row = {"doc": {}, "target": "", "resps": [["-9.5"]], "filtered_resps": ["-9.5"], "word_perplexity": ["-9.5", "3"]}
    result = run("score", write(tmp_path / "samples_t.jsonl", [row] * 2), "-j", "contains")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith("no row can be judged: a task scored by perplexity, without an answer")


def test_labels_that_a_judge_was_trained_on_do_not_measure_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of four labelled answers for `general`; a rule was trained on none, and of a file without labels nothing is said."""
    rows = [
        {"question": f"Capital {n}?", "reference": "Paris", "answer": "Paris" if n % 2 else "Rome", "label": n % 2}
        for n in range(4)
    ]
    path = write(Path("labelled.jsonl"), rows)
    seen = hash_rows([str(row["question"]) for row in rows[:3]], [str(row["answer"]) for row in rows[:3]])
    monkeypatch.setattr("bert_judge.labels.score_file.read_seen_rows", lambda folder: seen)
    result = run("score", path, "--judge", "general", "--judge", "contains")
    assert result.exit_code == 0, result.output
    assert "general: 3 of 4 labelled answers were used to train it, and are left out of its agreement" in result.stderr
    assert re.search(r"general: agreement with .* 100\.0% .* on 1 answers", result.stdout)
    assert re.search(r"contains: agreement with .* 100\.0% .* on 4 answers", result.stdout)
    assert "contains: 3 of 4" not in result.stderr
    plain = write(Path("plain.jsonl"), [{key: row[key] for key in ("question", "reference", "answer")} for row in rows])
    assert "used to train" not in run("score", plain).stderr


def test_answers_that_attempt_nothing(tmp_path: Path) -> None:
    rows = [ROWS[0] | {"references": "Paris", "candidate": text} for text in ("Paris", "Rome", "I don't know.", "Je ne sais pas.")]
    result = run("score", write(tmp_path / "a.csv", rows), "--judge", "contains")
    assert [row["outcome"] for row in read(tmp_path / "a.scored.csv")] == ["correct", "incorrect", *["not_attempted"] * 2]
    assert [row["verdict"] for row in read(tmp_path / "a.scored.csv")] == ["correct", *["incorrect"] * 3]
    # Two of four are attempted, and one of these is correct; nothing is invalid.
    [line] = [line for line in result.stdout.splitlines() if line.startswith("│ contains")]
    assert [cell.strip() for cell in line.split("│")][-3:-1] == ["50.0", "50.0"]
    [heading] = [line for line in result.stdout.splitlines() if "attempted" in line]
    assert [cell.strip() for cell in heading.split("┃")][3:-1] == ["answers", "accuracy, %", "attempted, %", "of attempted, %"]


def test_scores_of_another_judge_are_no_labels(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [{"gold": "a", "response": "a", "score": 0.3}])
    assert "agreement" not in run("score", "a.csv", "-j", "contains").stdout


def test_text_in_other_scripts_is_counted_in_one_warning(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [{**ROWS[0], "question": "首都は？", "references": "パリ", "candidate": "パリです"}, *ROWS[:2]])
    result = run("score", "a.csv", "-j", "general", "-j", "contains")
    assert "warning: general: 1 of 3 verdicts are on text in a script that the judge was not trained on" in result.stderr


def test_a_judge_is_named_by_its_folder_and_nothing_is_left_in_that(tmp_path: Path) -> None:
    folder = judge_folder(tmp_path / "mine")
    before = sorted(folder.iterdir())
    write(tmp_path / "a.csv", ROWS)
    for name in (folder, "mine", "./mine"):
        assert run("score", "a.csv", "--judge", name, "--judge", "contains", "--force").exit_code == 0
        assert {"mine_verdict", "contains_verdict"} < set(read(tmp_path / "a.scored.csv")[0])
    assert sorted(folder.iterdir()) == before and not (tmp_path / ".a.scored.csv.parts").exists()


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (
            ["nothing"],
            "--judge nothing: no such folder, rule, judge of a configuration (FILE.yaml:NAME), hub checkpoint (owner/name) or "
            "server (http://HOST/v1#MODEL, openai:MODEL); choose one of: general, exact_match, contains",
        ),
        (
            ["conains"],
            "--judge conains: no such folder, rule, judge of a configuration (FILE.yaml:NAME), hub checkpoint (owner/name) or "
            "server (http://HOST/v1#MODEL, openai:MODEL); did you mean 'contains'?",
        ),
        (["./none"], "--judge ./none: no such folder"),
        (["contains", "contains"], "--judge: two judges are called 'contains'"),
    ],
)
def test_a_judge_that_is_not_there(names: list[str], says: str) -> None:
    with pytest.raises(InputError) as caught:
        judge_loading.load_judges(names)
    assert str(caught.value).startswith(says) and "\n" not in str(caught.value)


def test_the_threshold_is_the_users(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"references": "brick house with garden", "candidate": "brick house"}])
    for threshold, verdict in ((0.5, "correct"), (0.6, "incorrect")):
        assert run("score", "a.jsonl", "-j", "rouge_l_recall", "--threshold", threshold, "--force").exit_code == 0
        assert read(tmp_path / "a.scored.jsonl")[0]["verdict"] == verdict


def test_the_policy_is_the_users(tmp_path: Path) -> None:
    reference = "The circuit was open, because the wire was no longer connected to the battery."
    # Read by the encoder under both policies, and so far from the threshold that it is not computed again in float32.
    candidate = "The bulb was broken."
    write(tmp_path / "a.csv", [{"question": "Why did the bulb go out?", "references": reference, "candidate": candidate}])
    scores = {}
    for policy in ("strict", "lenient"):
        result = run("score", "a.csv", "--policy", policy, "--force")
        assert result.exit_code == 0 and f", policy {policy} (comes with bert-judge" in result.stderr, result.output
        [scored] = read(tmp_path / "a.scored.csv")
        scores[policy] = float(scored["score"])
        one = run("predict", scored["candidate"], "-r", reference, "-q", scored["question"], "--policy", policy)
        # Certain verdicts were measured under the policy strict only.
        assert scored["certain"] == {"strict": "False", "lenient": ""}[policy]
        uncertain = ", uncertain" if scored["certain"] == "False" else ""
        assert one.stdout == f"{scored['verdict']} {scores[policy]:.3f}{uncertain}\n"
    offset = BERTJudge().checkpoint.metadata.partial_offset
    assert logit(scores["lenient"]) - logit(scores["strict"]) == pytest.approx(offset, abs=1e-4)
    (tmp_path / "a.scored.csv").unlink()
    result = run("score", "a.csv", "-j", "contains", "--policy", "lenient")
    assert result.exit_code == 1 and result.stderr.splitlines()[-1].startswith("error: --policy lenient: the judge contains cannot")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


# --- several judges, and known-wrong answers ---

CAPITALS: list[dict[str, Any]] = [
    {"question": "Capital of France?", "references": "Paris", "candidate": "Not Paris but Lyon."},
    {"question": "Capital of Austria?", "references": "Vienna", "candidate": "Linz"},
    {"question": "Capital of Italy?", "references": "Rome", "candidate": "Rome"},
    {"question": "Thought?", "references": "yes", "candidate": "<think>yes"},
]


def test_judges_are_compared(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", CAPITALS)
    output = run("score", "a.csv", "-j", "contains", "-j", "exact_match").stdout
    assert "contains and exact_match disagree on 1 of 3 answers: 1 are correct for contains only, 0 for exact_match only" in output
    shown = [line for line in output.partition("Surest disagreements")[2].splitlines() if "Not Paris but Lyon." in line]
    assert [re.findall(r"correct 1.00|incorrect 0.00", line) for line in shown] == [["correct 1.00", "incorrect 0.00"]]
    assert "disagree" not in run("score", "a.csv", "-j", "contains", "--force").stdout


def test_labels_that_put_models_in_the_opposite_order_come_with_a_warning(tmp_path: Path) -> None:
    """By people a is better; by the words b."""
    rows = [("a", "The capital of France", 1), ("a", "Paris", 1), ("b", "Paris", 0), ("b", "It is Paris.", 1), ("c", "Rome", 0)]
    records = [{"question": "?", "reference": "Paris", "model": model, "answer": text, "label": y} for model, text, y in rows]
    done = run("score", write(tmp_path / "a.csv", records), "--judge", "contains")
    assert done.exit_code == 0, done.output
    warning = "warning: contains: 1 of 3 pairs of models have the opposite order by the column 'label': a > b\n"
    assert warning in done.stderr and done.stderr.count("pairs of models") == 1


def test_the_surest_disagreements_come_first(tmp_path: Path) -> None:
    """One word too many counts less in a long answer, so that one judge is surer of later rows."""
    words = [" ".join(f"w{place}" for place in range(size)) for size in range(2, 12)]
    write(
        tmp_path / "a.csv",
        [{"question": f"q{size}", "references": text, "candidate": f"{text} x"} for size, text in enumerate(words)],
    )
    output = run("score", "a.csv", "-j", "token_f1", "-j", "exact_match", "--threshold", "0.1").stdout
    shown = re.findall(r"│ (\d+) +│ q", output.partition("Surest disagreements")[2])
    assert shown == ["10", "9", "8", "7", "6"]


def test_a_judge_that_accepts_known_wrong_answers_voids_the_call(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", CAPITALS)
    write(tmp_path / "wrong.csv", CAPITALS[:2])
    result = run("score", "a.csv", "-j", "exact_match", "-j", "contains", "--known-wrong", "wrong.csv")
    assert result.exit_code == 3 and sorted(tmp_path.iterdir()) == [tmp_path / "a.csv", tmp_path / "wrong.csv"]
    assert "exact_match: accepts 0.0% [0.0, 65.8] of 2 known-wrong answers" in result.stdout
    assert "error: contains: accepts 50.0% [9.5, 90.5] of wrong.csv, and --max-accepted is 0.1; nothing was scored" in result.stderr
    result = run("score", "a.csv", "-j", "contains", "--known-wrong", "wrong.csv", "--max-accepted", "0.5")
    assert result.exit_code == 0 and len(read(tmp_path / "a.scored.csv")) == 4


def test_known_wrong_answers_have_the_named_columns_or_their_own(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [{"question": "?", "references": "Paris", "mine": "Paris", "other": "x"}])
    write(tmp_path / "wrong.csv", [{"question": "?", "gold": "Paris", "mine": "Lyon", "response": "Paris"}])
    result = run("score", "a.csv", "-j", "exact_match", "--candidate", "mine", "--known-wrong", "wrong.csv")
    assert (result.exit_code, "accepts 0.0%" in result.stdout) == (0, True)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (None, "wrong.csv: "),
        ([{"question": "?", "references": "", "candidate": "x"}], "no reference in any row"),
        ([{"x": 1, "y": 2}], "set --"),
    ],
)
def test_a_bad_file_of_known_wrong_answers(tmp_path: Path, rows: list[dict[str, Any]] | None, line: str) -> None:
    write(tmp_path / "a.csv", CAPITALS)
    if rows is not None:
        write(tmp_path / "wrong.csv", rows)
    result = run("score", "a.csv", "-j", "contains", "--known-wrong", "wrong.csv")
    assert result.exit_code == 1 and line in result.stderr and not (tmp_path / "a.scored.csv").exists()


# --- what is refused, before anything is written ---


@pytest.mark.parametrize(
    ("name", "content", "arguments", "says"),
    [
        ("a.csv", None, [], "a.csv: no such file"),
        ("a.csv", b"", [], "a.csv: the file has no rows"),
        ("a.csv", b"gold,output\n", [], "a.csv: the file has no rows"),
        ("a.jsonl", b"\n", [], "a.jsonl: the file has no rows"),
        ("a.txt", b"x", [], "a.txt: unknown file format"),
        ("a.parquet", b"gold,output\n", [], "a.parquet: not a readable parquet file"),
        ("a.csv", "gold,output\nНет ответа,1\n".encode("cp1251"), [], "a.csv: not UTF-8 text"),
        ("a.csv", b"gold,gold\n1,2\n", [], "a.csv: the column 'gold' occurs 2 times"),
        ("a.csv", b"gold,output" + b",c" * 100_000 + b"\na,a" + b",1" * 100_000, [], "a.csv: has 100,002 columns, limit 10,000"),
        ("a.csv", b"gold,output\na," + b"x" * 2**25, [], "a.csv: a line has more than 33,554,432 characters"),
        (
            "a.csv",
            b'gold,output\na,"' + b"x x\n" * (2**20 + 9) + b'"',
            [],
            "a.csv: broken CSV near line 1048578: field larger than field",
        ),
        ("a.jsonl", b'{"gold": "a", "output": "' + b"x" * 2**25 + b'"}', [], "a.jsonl: a line has more than 33,554,432 characters"),
        ("a.csv", b"gold,output\n1,2,3\n", [], "a.csv: line 2 has 3 cells and the header 2"),
        ("a.csv", b'gold,output\n"1,2\n', [], "a.csv: broken CSV near line 2"),
        ("a.jsonl", b"[1]\n", [], "a.jsonl: line 1 is a JSON list"),
        (
            "a.jsonl",
            b'{"gold": "a", "output": "b", "x_score": 1}\n',
            ["--prefix", "x_"],
            "a.jsonl: already has a column 'x_score'; add --prefix TEXT",
        ),
        ("a.csv", b"gold,output\n1,2\n", ["-o", "a.csv"], "a.csv: is the input file; choose another with -o"),
        ("a.csv", b"gold,output\n1,2\n", ["-o", "b.jsonl"], "b.jsonl: is written in the format of a.csv; let its name end in .csv"),
        ("a.csv", b"gold,output\n1,2\n", ["-o", "none/b.csv"], "none/b.csv: its folder does not exist"),
        ("a.csv", b"gold,output\n1,2\n", ["-o", "there.csv"], "there.csv: already exists; add --force"),
    ],
)
def test_what_is_refused_is_one_line_and_destroys_nothing(
    tmp_path: Path, name: str, content: bytes | None, arguments: list[str], says: str
) -> None:
    (tmp_path / "there.csv").write_text("dear", "utf-8")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("score", name, *arguments)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"error: {says}")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ('{"references": "a", "candidate": "a", "score": 0}\n', "already has a column 'score'; add --prefix TEXT"),
        ('{"references": "a", "candid\n', "line 101 is not JSON"),
    ],
)
def test_damage_far_down_the_file_leaves_no_output(tmp_path: Path, bad: str, says: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"references": "a", "candidate": "a"}\n' * 100 + bad, "utf-8")
    result = run("score", "a.jsonl", "--judge", "contains")
    assert result.exit_code == 1 and says in result.stderr
    assert not (tmp_path / "a.scored.jsonl").exists()


# --- long files and kills ---

PROGRAM = """
import os, signal, sys
from pathlib import Path
from bert_judge.importers.answers import make_column_reader
from bert_judge.tables.readers.rows import open_rows
from bert_judge.judges.protocol import decided
from bert_judge.labels.score_file import score_file
from bert_judge.labels.judge_loading import NamedJudge, load_judges

class Judge:
    revisions, seen = {}, 0
    def judge(self, rows):
        self.seen += len(rows)
        if self.seen > int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return [decided(float(row.candidate == row.references[0])) for row in rows]

judge = Judge()
reader = make_column_reader({"references": "gold", "candidate": "said", "model": "model"}, sys.argv[1].endswith(".csv"))
tally = score_file(open_rows(Path(sys.argv[1])), reader, Path(sys.argv[2]), [NamedJudge("j", "1", judge)])
print(judge.seen, tally.rows, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def scored_elsewhere(source: Path, output: Path, limit: int, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, str(source), str(output), str(limit)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def long_file(path: Path, rows: int) -> Path:
    lines = (f"m,answer {number},answer {number - number % 2}\n" for number in range(rows))
    path.write_text("model,gold,said\n" + "".join(lines), "utf-8")
    return path


def test_verdicts_of_another_state_of_the_program_are_not_reused(tmp_path: Path) -> None:
    source, output = long_file(tmp_path / "long.csv", 2000), tmp_path / "out.csv"
    assert scored_elsewhere(source, output, limit=1000).returncode == -signal.SIGKILL
    other = "import bert_judge.labels.score_file as m\nm.program = lambda: 'bert-judge 0.1.0+another'\n"
    command = [sys.executable, "-c", PROGRAM.replace("class Judge:", f"{other}class Judge:"), str(source), str(output), "9999"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split()[:2] == ["2000", "2000"]


def test_a_killed_call_goes_on_where_it_was(tmp_path: Path) -> None:
    source, output = long_file(tmp_path / "a.csv", 3000), tmp_path / "b.csv"
    killed = scored_elsewhere(source, output, limit=1000)
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    again = scored_elsewhere(source, output, limit=10_000)
    # 256 rows to a shard: three were whole when the fourth reached the limit.
    assert again.stdout.split()[:2] == [str(3000 - 3 * 256), "3000"], again.stderr
    rows = read(output)
    assert [row["verdict"] for row in rows[:4]] == ["correct", "incorrect", "correct", "incorrect"]
    assert len(rows) == 3000
    # Nothing is left of either call but what it was for.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


# A title of the terminal, colours in both forms, a line from right to left, and a formula of a spreadsheet.
HOSTILE_NAME = "=cmd|' /C calc'!A0\x1b]0;owned\x07\x9b31m\u202e\r"


def test_names_cannot_control_the_terminal_or_a_spreadsheet(tmp_path: Path) -> None:
    rows = [
        {"question": HOSTILE_NAME, "references": HOSTILE_NAME, "candidate": "a", "model": f"{HOSTILE_NAME}{n}"} for n in range(2)
    ]
    file, scored, table = write(tmp_path / "a.jsonl", rows), tmp_path / "b.jsonl", tmp_path / "c.csv"
    results = [
        run("score", file, "-o", scored, "--judge", "contains"),
        run("show", scored),
        run("export", scored, "--to", "csv", "-o", table),
        run("predict", "a", "--reference", HOSTILE_NAME, "--judge", f"x{HOSTILE_NAME}"),
    ]
    output = "".join(result.stdout + result.stderr for result in results)
    assert "\\u001b]0;owned\\u0007\\u009b31m\\u202e" in output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output)
    with table.open(encoding="utf-8", newline="") as lines:
        assert all(row[0].startswith(("'=", "model")) for row in csv.reader(lines))


def test_two_calls_with_one_output_do_not_mix(tmp_path: Path) -> None:
    source, output = long_file(tmp_path / "a.csv", 3000), tmp_path / "b.csv"
    impatient = "from bert_judge.runtime import outputs\noutputs.WAIT_SECONDS = 0.5\n"
    with tables.exclusive(output):
        second = scored_elsewhere(source, output, limit=10_000, program=impatient + PROGRAM)
    assert second.returncode == 1
    assert f"{output}: is being written by process {os.getpid()}; wait for it to end, or choose another" in second.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for rows in (10_000, 60_000):
        done = scored_elsewhere(long_file(tmp_path / f"{rows}.csv", rows), tmp_path / f"{rows}.out.csv", limit=10**9)
        assert done.stdout.split()[:2] == [str(rows), str(rows)], done.stderr
        peaks.append(int(done.stdout.split()[2]))
    # Kilobytes; the larger file has 50,000 rows more, of which all texts together would take some 15 MB as Python objects.
    assert peaks[1] - peaks[0] < 8_000


# --- predict ---


def test_predict_answers_one_line() -> None:
    result = run("predict", "It is Paris.", "-r", "Lyon", "-r", "Paris", "-q", "Capital of France?")
    assert result.exit_code == 0 and re.fullmatch(r"correct 0\.9\d{2}\n", result.stdout), result.output
    assert run("predict", "Rome", "-r", "Paris", "-j", "contains", "-j", "exact_match").stdout == (
        "contains: incorrect 0.000\nexact_match: incorrect 0.000\n"
    )
    assert run("predict", "<think>hm", "-r", "Paris", "-j", "contains").stdout == "invalid: unfinished reasoning\n"
    assert run("predict", "x").stderr.endswith("error: no reference answer is given; set --reference\n")


def test_predict_answers_a_pipe_line_by_line() -> None:
    lines = [{"gold": "Größe", "response": "die GRÖSSE? Größe!", "n": 1}, {"answer": "b", "candidate": "a"}]
    result = run("predict", "-j", "contains", stdin="".join(json.dumps(line) + "\n\n" for line in lines))
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        lines[0] | {"verdict": "correct", "outcome": "correct", "score": 1.0, "certain": None, "reason": 'contains: found "Größe"'},
        lines[1]
        | {"verdict": "incorrect", "outcome": "incorrect", "score": 0.0, "certain": None, "reason": 'contains: did not find "b"'},
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x\n", "stdin: line 1 is not JSON"),
        ('{"a": 1}\n', "stdin: cannot tell which column holds the references"),
    ],
)
def test_predict_refuses_in_one_line(text: str, says: str) -> None:
    result = run("predict", "-j", "contains", stdin=text)
    assert result.exit_code == 1 and result.stderr.startswith(f"error: {says}") and result.stderr.count("\n") == 1


# --- what the judge cannot do, and what labels can do for it ---


@pytest.mark.parametrize(
    ("measured", "says"),
    [
        ({"sentences": {"auroc": 0.71, "n": 400}, "names": {"auroc": 0.9, "n": 400}}, "a sentence (AUROC 0.71)"),
        ({"sentences": {"auroc": 0.76, "n": 400}, "names": {"auroc": 0.6, "n": 400}}, None),
        (None, None),
    ],
)
def test_kinds_on_which_the_judge_is_weak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: dict[str, Any] | None, says: str | None
) -> None:
    text = "The heart pumps blood through the body."
    file = write(tmp_path / "a.csv", [{"question": f"{n}?", "reference": text, "answer": text} for n in range(3)])
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "metrics.json").write_text(json.dumps({} if measured is None else {"unseen_kinds": measured}), "utf-8")
    [contains] = judge_loading.load_judges(["contains"])
    monkeypatch.setattr(judge_loading.JudgeReference, "load", lambda _: replace(contains, folder=tmp_path / "judge"))
    done = run("score", file, "--judge", "contains")
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stderr.splitlines() if "label 20 answers for bert-judge train" in line]
    assert len(lines) == (says is not None)
    assert says is None or (says in lines[0] and lines[0].startswith("warning: 100.0% of a.csv are of a kind"))


def test_broken_measures_of_kinds_get_one_line(tmp_path: Path) -> None:
    (tmp_path / "metrics.json").write_text('{"unseen_kinds": {"names": 0.7}}', "utf-8")
    with pytest.raises(InputError, match="unseen_kinds needs an auroc for every kind"):
        read_unseen_auroc(tmp_path)


def test_labels_are_offered_to_adapt_the_judge(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question": f"{n}?", "gold": "Paris", "answer": "Paris" if n % 2 else "Rome", "mine": n % 2, "note": n} for n in range(4)
    ]
    # A judge that agrees with every label has nothing to learn.
    right = run("score", write(tmp_path / "right.csv", rows), "--label", "mine").stderr
    assert "bert-judge train" not in right and "next: bert-judge certify" in right
    rows[0]["mine"] = 1
    file = write(tmp_path / "a.csv", rows)
    done = run("score", file, "--label", "mine", "--model-column", "note", "-o", "b.csv")
    offer = (
        "4 answers have a label; 20 can adapt general to answers like these, in seconds, and a worse judge is not kept: "
        "bert-judge train"
    )
    assert f"{offer} {file} -o my-judge --model-column note --label mine" in done.stderr
    # A rule learns nothing from labels, and one class says nothing.
    with_rule = run("score", file, "--label", "mine", "-o", "c.csv", "--judge", "contains").stderr
    assert "bert-judge train" not in with_rule and f"next: bert-judge certify {file} --judge contains" in with_rule
    same = write(tmp_path / "d.csv", [row | {"mine": 1} for row in rows])
    assert "bert-judge train" not in run("score", same, "--label", "mine").stderr


def test_without_labels_the_next_step_is_to_get_some(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", [{"question": "Capital?", "gold": "Paris", "answer": "Paris."}])
    assert f"next: bert-judge audit {file} draws answers to label" in run("score", file).stderr.splitlines()[-1]


def test_progress_is_a_share_of_the_rows_of_a_small_file(tmp_path: Path) -> None:
    """The file is read at once; a share of what is read would be 1 from the first line, and always "0 s left"."""
    source = open_rows(write(tmp_path / "a.csv", [{"question": f"{n}?", "gold": "x", "answer": "x"} for n in range(1000)]))
    reader = make_column_reader({"question": "question", "references": "gold", "candidate": "answer"})
    shares: list[float] = []
    score_file(source, reader, tmp_path / "b.csv", load_judges(["contains"]), on_progress=lambda share, rows: shares.append(share))
    assert shares == sorted(shares) and shares[0] == pytest.approx(0.256) and shares[-1] == 1.0
