"""Certificates: their bounds, refusals, and the command on a file."""

import json
import math
import re
import shutil
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.framework_files import choice, jsonl
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from bert_judge import tables
from bert_judge.cli import app
from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows, write_seen_rows
from bert_judge.evaluation.audit.certificate import certify
from bert_judge.judges.model_card import set_section
from bert_judge.labels import judge_loading
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.intervals import proportion_lower_bound


def judged(correct: int, missed: int, incorrect: int, passed: int) -> tuple[list[int], list[int]]:
    """(verdicts, truth) of so many correct and incorrect answers, of which some are missed or wrongly passed."""
    verdicts = [*[1] * (correct - missed), *[0] * missed, *[0] * (incorrect - passed), *[1] * passed]
    return verdicts, [*[1] * correct, *[0] * incorrect]


@pytest.mark.parametrize(("hits", "n"), [(50, 50), (45, 50), (40, 50), (0, 20)])
def test_bound_is_that_of_clopper_and_pearson(hits, n):
    share, low = proportion_lower_bound(np.arange(n) < hits, np.arange(n))
    assert share == hits / n
    assert low == pytest.approx(stats.beta.ppf(0.05, hits, n - hits + 1) if hits else 0.0)


def test_repeated_answers_and_weights_lower_the_bound():
    hits = np.arange(60) % 10 > 0
    once, repeated = (proportion_lower_bound(np.repeat(hits, k), np.repeat(np.arange(60), k)) for k in (1, 3))
    assert repeated[1] == pytest.approx(once[1], abs=0.01)
    weights = np.where(np.arange(60) < 30, 1.0, 5.0)
    assert proportion_lower_bound(hits, np.arange(60), weights)[1] < once[1]
    assert proportion_lower_bound(hits, np.arange(60), 7 * weights) == proportion_lower_bound(hits, np.arange(60), weights)


@pytest.mark.parametrize(
    ("counts", "passed", "reason"),
    [
        ((100, 5, 100, 5), True, ""),
        ((100, 30, 100, 0), False, "the lower bound of the sensitivity is 0.616, below 0.8"),
        ((100, 0, 100, 30), False, "the lower bound of the specificity is 0.616, below 0.8"),
        ((14, 0, 14, 0), True, ""),
    ],
)
def test_bounds_decide(counts, passed, reason):
    verdicts, truth = judged(*counts)
    result = certify(verdicts, truth, np.arange(len(truth)))
    assert (result.passed, result.reason) == (passed, reason)
    assert result.agreement == np.mean(np.array(verdicts) == np.array(truth))
    assert (result.sentence().startswith("passed")) == passed


def test_invalid_verdicts_count_against_the_judge():
    verdicts, truth = judged(100, 0, 100, 0)
    assert certify([-1] * 30 + verdicts[30:], truth, np.arange(200)).passed is False


@pytest.mark.parametrize(
    ("counts", "fault"),
    [
        ((0, 0, 40, 2), "no answer is labelled correct; a certificate needs both classes"),
        ((40, 0, 0, 0), "no answer is labelled incorrect"),
        ((5, 0, 5, 0), "answers to 5 questions are labelled correct, and even a flawless judge needs 14 to reach 0.8"),
    ],
)
def test_samples_that_no_judge_could_pass_are_refused(counts, fault):
    with pytest.raises(InputError, match=fault):
        certify(*judged(*counts), np.arange(sum(counts[::2])))


def test_annotators_are_compared_with_each_other():
    random = np.random.default_rng(0)
    truth = random.random(400) < 0.6
    votes = np.stack([np.where(random.random(400) < 0.05, ~truth, truth).astype(float) for _ in range(3)], axis=1)
    result = certify(truth.astype(int), truth, np.arange(400), votes=votes)
    assert result.annotators == 3
    assert result.human_kappa == pytest.approx(
        np.mean([cohen_kappa_score(votes[:, a], votes[:, b]) for a, b in combinations(range(3), 2)])
    )
    # A row without majority counts for the annotators only.
    divided = certify(truth.astype(int), np.where(np.arange(400) < 9, math.nan, truth), np.arange(400), votes=votes)
    assert (divided.n, divided.human_kappa) == (391, result.human_kappa)
    # Two sheets, each labelled by one person.
    sheets = np.stack([np.where(np.arange(400) < 200, truth, math.nan), np.where(np.arange(400) < 200, math.nan, truth)], axis=1)
    apart = certify(truth.astype(int), truth, np.arange(400), votes=sheets)
    assert apart.annotators == 2 and math.isnan(apart.human_kappa)


def test_attack_rate_is_that_of_all_attacks(tmp_path):
    rows = [
        ("kind", "attack", "attack", 0.25),
        ("theme", "attack", "claims", 0.5),
        ("kind", "benign_perturbation", "benign_perturbation", 0.1),
    ]
    table = pd.DataFrame(rows, columns=["level", "kind", "group", "error_rate"])
    table = table.assign(judge="contains", theme=None, n=8, questions=4, low=0.0, high=1.0, invalid=0.0)
    rates = tmp_path / "rates.parquet"
    tables.write(table[tables.ATTACK_RATES.names], rates, tables.ATTACK_RATES, {})
    file = write_answers(tmp_path / "answers.jsonl", 60)
    done = CliRunner().invoke(app, ["certify", str(file), "--judge", "contains", "--label", "label", "--attacks", str(rates)])
    assert done.exit_code == 0, done.output
    assert re.search(r"attacks that succeed, % +│ +25\.0", done.stdout)


def write_answers(path: Path, n: int, label: object = None) -> Path:
    with path.open("w") as file:
        for i in range(n):
            right = i % 2 == 0
            row = {"question": f"{i} + 1?", "reference": str(i + 1), "answer": f"Adding one gives {i + 1 if right else i + 50}."}
            file.write(json.dumps({**row, "label": int(right) if label is None else label, "second": int(right)}) + "\n")
    return path


def test_command(tmp_path):
    runner = CliRunner()
    file = write_answers(tmp_path / "answers.jsonl", 60)
    done = runner.invoke(app, ["certify", str(file), "--judge", "contains", "--label", "label", "--label", "second"])
    assert done.exit_code == 0, done.output
    assert "contains: passed: sensitivity at least 90.5%, specificity at least 90.5% (95% bounds)" in done.stdout
    assert re.search(r"kappa among annotators +│ +1\.00", done.stdout)
    failed = runner.invoke(app, ["certify", str(file), "--judge", "exact_match", "--label", "label"])
    assert failed.exit_code == 2
    assert "exact_match: failed: the lower bound of the sensitivity is 0.000, below 0.8" in failed.stdout


@pytest.mark.parametrize(
    ("rows", "label", "fault"),
    [
        (60, "", "no row has a label in 'label'; label some answers"),
        (60, 1, "no answer is labelled incorrect; a certificate needs both classes"),
        (10, None, "even a flawless judge needs 14 to reach 0.8; label answers to more questions"),
    ],
)
def test_bad_files_get_one_line(tmp_path, rows, label, fault):
    file = write_answers(tmp_path / "answers.jsonl", rows, label)
    done = CliRunner().invoke(app, ["certify", str(file), "--judge", "contains", "--label", "label"])
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(f"error: {file}: ")
    assert fault in done.stderr


def test_a_half_is_no_label(tmp_path, caplog):
    file = write_answers(tmp_path / "answers.jsonl", 60)
    lines = file.read_text().splitlines()
    # Incorrect answers that would count as correct.
    halves = [line.replace('"label": 0', '"label": 0.5') for line in lines[:20]]
    file.write_text("\n".join([*halves, *lines[20:]]) + "\n")
    done = CliRunner().invoke(app, ["certify", str(file), "--judge", "contains", "--label", "label"])
    assert done.exit_code == 0 and "contains on 50 labelled answers" in done.stdout, done.output
    assert "10 labels are 0.5, neither correct nor incorrect, and are left out" in caplog.text


def test_a_file_of_a_framework_is_certified_on_its_own_verdicts(tmp_path):
    """As score, audit and train read it."""
    rows = [
        choice(
            doc_id=number,
            doc={"question": f"Which letter follows the {number}th?"},
            target=str(1 if number % 2 else 2),
            acc=float(number % 2),
        )
        for number in range(60)
    ]
    file = jsonl(tmp_path / "samples_letters_2026-11-28T12-00-00.000000.jsonl", rows)
    done = CliRunner().invoke(app, ["certify", str(file), "--judge", "exact_match"])
    assert done.exit_code == 0 and "exact_match on 60 labelled answers" in done.stdout, done.output


def test_rows_that_the_judge_has_seen_are_refused(tmp_path):
    from bert_judge.evaluation.audit.certificate import certify_file
    from bert_judge.importers.answers import make_column_reader
    from bert_judge.labels.judge_loading import load_judges
    from bert_judge.tables.readers.rows import open_rows

    file = write_answers(tmp_path / "answers.jsonl", 60)
    write_seen_rows(tmp_path, hash_rows(["3 + 1?", "unseen"], ["adding one gives  53.", "x"]))
    assert read_seen_rows(tmp_path).shape == (2,)
    reader = make_column_reader({"question": "question", "references": "reference", "candidate": "answer"})
    with pytest.raises(InputError, match=r"1 of 60 labelled answers were used to train or calibrate"):
        judge = replace(load_judges(["contains"])[0], folder=tmp_path)
        records = open_rows(file).records(["question", "reference", "answer", "label"])
        certify_file(file, records, reader, ["label"], judge, min_sensitivity=0.8, min_specificity=0.8)


def test_rows_that_the_general_judge_has_seen_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "general"
    shutil.copytree(judge_loading.GENERAL_FOLDER, folder)
    file = write_answers(tmp_path / "answers.jsonl", 60)
    seen = [json.loads(line) for line in file.read_text().splitlines()[:5]]
    write_seen_rows(folder, hash_rows([row["question"] for row in seen], [row["answer"].upper() for row in seen]))
    monkeypatch.setattr(judge_loading, "GENERAL_FOLDER", folder)
    done = CliRunner().invoke(app, ["certify", str(file), "--label", "label"])
    assert done.exit_code == 1
    assert f"error: {file}: 5 of 60 labelled answers were used to train or calibrate" in done.stderr
    assert "make sure" not in done.output


def test_section_of_the_card_is_replaced(tmp_path):
    (tmp_path / "README.md").write_text("# Judge\n\n## Data\n\ntext\n")
    for text in ("first", "second"):
        set_section(tmp_path, "Certificate", text)
    set_section(tmp_path, "Data", "new")
    assert (tmp_path / "README.md").read_text() == "# Judge\n\n## Data\n\nnew\n\n## Certificate\n\nsecond\n"
