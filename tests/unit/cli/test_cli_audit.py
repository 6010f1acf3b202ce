"""`bert-judge audit` on a file of answers: a sheet, then corrected accuracies, without a configuration."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest
from helpers.chat_server import serving
from helpers.commands import run
from helpers.framework_files import FIXTURES, choice, helm, helm_state, jsonl, made

from bert_judge.cli.model_labels import fill_sheet
from bert_judge.encoder.judge_folder import hash_rows
from bert_judge.evaluation.audit.sampling import read_labels
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.protocol import Label, Row
from bert_judge.labels.judge_loading import find_judge
from bert_judge.report.audit_sheet import SheetRow
from bert_judge.runtime.errors import InputError

MODELS = {"good": 9, "bad": 3}


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers of two models to 20 questions; the good one is correct on nine of ten, the bad one on three."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"question": f"What is {n} + {n}?", "reference": 2 * n, "answer": 2 * n if n % 10 < correct else 2 * n + 1, "model": model}
        for n in range(20)
        for model, correct in MODELS.items()
    ]
    return write(tmp_path / "answers.csv", rows)


def fill(sheet: Path, labels: Path) -> None:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = "correct" if row["candidate"] == row["references"] else "incorrect"
    write(labels, rows)


def test_a_file_is_audited_in_two_calls(answers: Path, tmp_path: Path) -> None:
    first = run("audit", answers, "--size", 10)
    assert first.exit_code == 0, first.output
    assert "next answers to label: answers.audit/sheet.html" in first.stderr.replace(f"{tmp_path}/", "")
    assert "judge: general\n" in first.stderr
    assert re.search(
        r"Accuracy in %, not corrected yet\nmodel +answers +general +\ngood +20 +90\.0 .*\nbad +20 +30\.0 ", first.stdout
    )
    folder = tmp_path / "answers.audit"
    assert {path.name for path in folder.iterdir()} == {"sheet.csv", "sheet.html", ".verdicts"}
    fill(folder / "sheet.csv", tmp_path / "labels.csv")
    second = run("audit", answers, "--size", 10, "--labels", tmp_path / "labels.csv")
    assert second.exit_code == 0, second.output
    assert "not corrected yet" not in second.stdout
    assert "Accuracy in %, corrected with human labels" in second.stdout and "good – bad" in second.stdout.replace(
        "bad – good", "good – bad"
    )
    table = pd.read_parquet(folder / "corrected_accuracy.parquet")
    labels = table[(table["method"] == "ppi") & (table["level"] == "model")].set_index("model")["labels"]
    assert dict(labels) == {"good": 10, "bad": 10}
    # Nothing is left of the work but the verdicts, and the labelled answers are not drawn again.
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"answers.audit"}
    drawn = pd.read_csv(folder / "sheet.csv")
    assert len(drawn) == 20 and not set(drawn["id"]) & set(pd.read_csv(tmp_path / "labels.csv")["id"])


CHAT = [{"role": "user", "content": "Capital of France?"}, {"role": "assistant", "content": "It is Paris."}]


@pytest.mark.parametrize(
    ("make", "line", "model"),
    [
        (lambda folder: next((FIXTURES / "inspect").glob("planets.eval")), "a log of inspect_ai", "told-answers"),
        (lambda folder: helm(folder / "scenario_state.json", [helm_state()]), "a scenario state of HELM", "openai-gpt2"),
        (lambda folder: made(folder, "lm_eval", [choice()]), "samples of lm-evaluation-harness", "org-name"),
        # Plain rows of objects.
        (
            lambda folder: jsonl(
                folder / "a.jsonl", [{"messages": CHAT, "meta": {"expected_answer": text}} for text in ("Paris", "is Paris")]
            ),
            "references: 'meta.expected_answer'",
            "answers",
        ),
    ],
)
def test_what_score_reads_is_audited(tmp_path: Path, make: Callable[[Path], Path], line: str, model: str) -> None:
    done = run("audit", make(tmp_path), "--judge", "contains", "-o", tmp_path / "audit")
    assert done.exit_code == 0, done.output
    assert line in done.stderr and re.search(rf"\n{model} +\d +100\.0 ", done.stdout)
    assert len(pd.read_csv(tmp_path / "audit" / "sheet.csv"))


def test_an_order_that_uncertain_verdicts_leave_open_comes_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same lines as those of `score`, before any label."""
    monkeypatch.chdir(tmp_path)
    reference = "They turn most of the electricity into light rather than heat, so little is lost"
    texts = {
        "small": "Because hardly any of the electricity is wasted as heat",
        "large": "They turn most of the electricity into heat",
    }
    rows = [
        {"question": f"Why, of lamp {n}?", "reference": reference, "answer": text, "model": model}
        for n in range(2)
        for model, text in texts.items()
    ]
    file = write(tmp_path / "a.csv", rows)
    audited, scored = run("audit", file), run("score", file)
    assert audited.exit_code == scored.exit_code == 0, audited.output
    warnings = [line for line in scored.stderr.splitlines() if line.startswith("warning: general: ") and "range" in line]
    assert [line for line in audited.stderr.splitlines() if line.startswith("warning: ")] == warnings
    assert "100% of the verdicts are uncertain, most of them on references of a sentence" in warnings[0]
    assert "the ranges of the two models overlap or are within 5 points, so " in warnings[1]
    assert audited.stdout.count("0.0 to 100.0") == 2


def test_the_next_call_judges_only_new_answers(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    judge_shards = BERTJudge.judge_shards

    def counted(self: BERTJudge, shards: Sequence[Sequence[Row]]) -> Iterator[list[Label]]:
        judged.extend(row.candidate for rows in shards for row in rows)
        return judge_shards(self, shards)

    monkeypatch.setattr(BERTJudge, "judge_shards", counted)
    assert run("audit", answers, "--size", 10).exit_code == 0
    assert len(judged) == 40
    assert run("audit", answers, "--size", 10).exit_code == 0
    assert len(judged) == 40
    with answers.open("a") as file:
        file.write("What is 50 + 50?,100,It is 100.,good\n")
    assert run("audit", answers, "--size", 10).exit_code == 0
    assert judged[40:] == ["It is 100."]


def test_a_model_whose_name_changes_is_announced(answers: Path) -> None:
    """Names of models become parts of paths; those that stay as they are need no words."""
    assert "names of models" not in run("audit", answers, "--judge", "contains", "--size", 10).stderr
    answers.write_text(answers.read_text("utf-8").replace(",good", ",My Model"), "utf-8")
    result = run("audit", answers, "--judge", "contains", "--size", 10)
    assert "names of models that become parts of paths: 'My Model' is called 'My-Model'\n" in result.stderr
    assert "My-Model" in result.stdout


def test_labels_that_the_judge_was_trained_on_certify_nothing(
    answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corrected accuracies hold all the same; a sample of labels corrects any judge."""
    rows = pd.read_csv(answers, dtype=str)
    seen = hash_rows(rows["question"][:6], rows["answer"][:6])
    monkeypatch.setattr("bert_judge.cli.configurations.read_seen_rows", lambda folder: seen)
    assert run("audit", answers, "--size", 20).exit_code == 0
    fill(tmp_path / "answers.audit" / "sheet.csv", tmp_path / "labels.csv")
    result = run("audit", answers, "--labels", tmp_path / "labels.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"general +not tested: 6 of the answers were used to train or calibrate it", result.stdout)
    assert "Accuracy in %, corrected with human labels" in result.stdout


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("identity", "has_ids"), [("{row}", True), ("q{question}", True), ("{model}_{row}", False)])
def test_a_sheet_names_the_rows_of_the_file_unless_that_names_the_model(tmp_path: Path, identity: str, has_ids: bool) -> None:
    rows = [
        {"id": identity.format(row=f"r{question}{model}0", question=question, model=model), "question": f"Is {question} even?"}
        | {"reference": question % 2 == 0, "answer": "Yes", "model": model}
        for question in range(10)
        for model in ("tiny", "huge")
    ]
    assert run("audit", write(tmp_path / "a.csv", rows), "--judge", "contains", "--size", 10).exit_code == 0
    sheet = read_sheet(tmp_path / "a.audit" / "sheet.csv")
    # As in the file, not "true" and "yes", which the judge compares with.
    assert {row["references"] for row in sheet} == {"True", "False"}
    assert "yes</div>" not in (tmp_path / "a.audit" / "sheet.html").read_text() and len(sheet) == 20
    if has_ids:
        assert sorted(row["source_id"] for row in sheet) == sorted(str(row["id"]) for row in rows)
        assert all(row["question"] == next(r["question"] for r in rows if r["id"] == row["source_id"]) for row in sheet)
    else:
        assert "source_id" not in sheet[0]


def test_a_missing_sheet_is_named_before_anything_is_judged(answers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_judge.importers.frameworks.open_answers", lambda *_, **__: pytest.fail("read the answers first"))
    result = run("audit", answers, "--labels", "typo.csv")
    assert result.exit_code == 1 and "--labels typo.csv: no such file" in result.stderr, result.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["answers.csv", "--labels", "none.csv"], "--labels none.csv: no such file"),
        (["answers.csv", "--labels", "answers.audit/labels.csv"], "every round overwrites files in that folder"),
        (["answers.csv", "--set", "audit={size: 40}"], "--set: is for configurations, and answers.csv is none"),
        (["mine.yaml", "--judge", "general"], "--judge: is for files of answers, and mine.yaml is none"),
        (["mine.yaml", "--model-column", "system"], "--model-column: is for files of answers, and mine.yaml is none"),
        (
            ["answers.csv", "--judge", "contains,general"],
            "--judge contains,general: one judge per option: --judge contains --judge general",
        ),
        (["answers.csv", "--judge", "nobody"], "--judge nobody: no such folder"),
    ],
)
def test_audits_that_make_no_sense(answers: Path, tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "answers.audit").mkdir()
    (tmp_path / "answers.audit" / "labels.csv").write_text("id,rate,verdict\n")
    done = run("audit", *words)
    assert done.exit_code == 1 and says in done.stderr and done.stderr.count("error: ") == 1, done.output
    assert not (tmp_path / "answers.audit" / "sheet.csv").exists()


def test_a_language_model_labels_the_answers(answers: Path, tmp_path: Path) -> None:
    """Its verdicts are those of a person who compares numbers; the output says whose they are."""
    with serving() as server:
        server.honours = {"structured_outputs"}

        def verdict(prompt: str) -> str:
            match = re.search(r"1\. (\d+)\n.*<candidate-\w+>\n(\d+)\n", prompt, re.DOTALL)
            return "violet" if match is None else "correct" if match[1] == match[2] else "incorrect"

        server.verdict = verdict
        for labels in (10, 20):
            result = run("audit", answers, "--size", 10, "--labels", f"{server.url}#m")
            assert result.exit_code == 0, result.output
            table = pd.read_parquet(tmp_path / "answers.audit" / "corrected_accuracy.parquet")
            corrected = table[(table["method"] == "ppi") & (table["level"] == "model")].set_index("model")
            assert dict(corrected["labels"]) == {"good": labels, "bad": labels}
    assert "corrected with the verdicts of m" in result.stdout and "human" not in result.stdout
    assert "the intervals are about agreement with it, not with people" in result.stderr
    # All answers are labelled.
    assert corrected["accuracy"].to_dict() == pytest.approx({"good": 0.9, "bad": 0.3}, abs=0.02)
    refused = run("audit", answers, "--labels", "openai:m", "--labels", "people.csv")
    assert refused.exit_code == 1 and "a language model labels the answers of a file, and nobody else does" in refused.stderr


def test_answers_on_which_the_server_fails_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sheet = tmp_path / "answers.m.labels.csv"
    rows = [SheetRow(name, 1.0, "Capital?", ["Paris"], f"{failure} Paris") for name, failure in (("a", ""), ("b", "fail:400*1"))]
    with serving() as server:
        server.honours, server.verdict = {"grammar"}, lambda prompt: "correct"
        judge = find_judge(f"{server.url}#m")
        with pytest.raises(InputError, match="m gave no verdict on any of 1 answers: the judge's model failed: Error code: 400"):
            fill_sheet([rows[1]._replace(candidate="fail:400*9")], judge, sheet)
        assert not sheet.exists()
        fill_sheet(rows, judge, sheet)
        assert [vote.id for vote in read_labels([sheet])] == ["a"]
        assert "m failed on 1 answers, which another call asks about again: the judge's model failed" in capsys.readouterr().err
        fill_sheet(rows[1:], judge, sheet)
    assert [(vote.id, vote.value) for vote in read_labels([sheet])] == [("a", 1.0), ("b", 1.0)]


def test_empty_replies_are_no_labels_and_are_asked_about_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sheet = tmp_path / "answers.m.labels.csv"
    rows = [SheetRow("a", 1.0, "Capital?", ["Paris"], "Paris")]
    with serving() as server:
        server.honours, server.verdict = {"grammar"}, lambda prompt: "correct"
        server.reply = {"message": {"content": ""}}
        judge = find_judge(f"{server.url}#m")
        with pytest.raises(InputError, match=r"on any of 1 answers: the judge's reply is empty; .*check the server"):
            fill_sheet(rows, judge, sheet)
        assert not sheet.exists()
        server.reply = {}
        fill_sheet(rows, judge, sheet)
    assert [(vote.id, vote.value) for vote in read_labels([sheet])] == [("a", 1.0)]


def test_a_sheet_with_verdicts_is_not_overwritten(answers: Path, tmp_path: Path) -> None:
    assert run("audit", answers, "--size", 10).exit_code == 0
    sheet = tmp_path / "answers.audit" / "sheet.csv"
    fill(sheet, sheet)
    filled = sheet.read_text("utf-8")
    again = run("audit", answers, "--size", 10)
    assert again.exit_code == 1
    assert "sheet.csv: has 20 verdicts, which the next sheet would overwrite" in again.output
    assert sheet.read_text("utf-8") == filled


def test_a_sheet_that_is_named_twice_is_refused_in_one_line(answers: Path, tmp_path: Path) -> None:
    assert run("audit", answers, "--size", 10).exit_code == 0
    labels = tmp_path / "labels.csv"
    fill(tmp_path / "answers.audit" / "sheet.csv", labels)
    result = run("audit", answers, "--size", 10, "--labels", labels, "--labels", labels)
    assert result.exit_code == 1
    assert "labels.csv: named twice; name each sheet once" in result.output


def test_there_is_no_sheet_when_all_answers_are_labelled(answers: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "answers.audit" / "sheet.csv"
    assert run("audit", answers, "--judge", "contains", "--size", 20).exit_code == 0
    fill(sheet, tmp_path / "labels.csv")
    for _ in range(2):
        result = run("audit", answers, "--judge", "contains", "--labels", tmp_path / "labels.csv")
        assert result.exit_code == 0 and "every answer has a label, so there is no further sheet" in result.stderr, result.output
        assert "label:" not in result.stderr and not sheet.exists() and not sheet.with_suffix(".html").exists()


def test_damaged_verdicts_are_computed_again(answers: Path, tmp_path: Path) -> None:
    first = run("audit", answers, "--judge", "contains")
    shard = next((tmp_path / "answers.audit" / ".verdicts").rglob("*.parquet"))
    shard.write_bytes(b"PAR1")
    again = run("audit", answers, "--judge", "contains")
    assert again.exit_code == 0 and again.stdout == first.stdout


def test_a_file_where_the_verdicts_go_is_named(answers: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.audit").mkdir()
    (tmp_path / "answers.audit" / ".verdicts").write_text("")
    result = run("audit", answers, "--judge", "contains")
    assert result.exit_code == 1
    assert result.stderr == "error: answers.audit/.verdicts: is a file where the verdicts go; remove it\n".replace(
        "answers.audit", str(answers.with_suffix(".audit"))
    )
