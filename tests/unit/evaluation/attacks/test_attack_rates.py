"""Error rates of judges on attacks: rates, intervals, examples, the command and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from helpers import tiny_models
from helpers.default_run import DEFAULT_RUN
from helpers.score_files import write_scores
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner, Result

from bert_judge import plan, tables
from bert_judge.cli import app
from bert_judge.config import Training
from bert_judge.evaluation import attacks as suite
from bert_judge.evaluation.standings import build_standings
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.perturbations.attacks import FAMILIES
from bert_judge.plan import ATTACKS
from bert_judge.report.build import build_report
from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.text import TEXT_VERSION

LETTERS = {"c": "correct", "i": "incorrect", "x": "invalid"}


NAMES = ("Ann Adler", "Bob Bach", "Cat Cranach", "Dan Dürer", "Eva Eyck", "Flo Fontane", "Ида Кант")


class Gullible:
    """Calls answers that contain the reference correct, and empty ones invalid."""

    revisions = {"gullible": "r1"}  # noqa: RUF012

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [
            decided(float(any(r in row.candidate for r in row.references))) if row.candidate.strip() else invalid("empty")
            for row in rows
        ]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    rows = [(f"Who was number {i}?", [name]) for i, name in enumerate(NAMES)]
    frame = pd.DataFrame(rows, columns=["question", "references"])
    frame["sample_id"] = [tables.sample_id("people", *row) for row in rows]
    tables.write(frame.assign(choices=None, answer_kind="text"), tmp_path / "people.parquet", tables.TASK, {"task": "people"})
    return tmp_path / "people.parquet"


def verdicts(family: str, letters: str, judge: str = "j") -> pd.DataFrame:
    entry = FAMILIES[family]
    rows = [(judge, "t", f"{i:016x}", 0, family, entry.theme, entry.kind, LETTERS[x]) for i, x in enumerate(letters)]
    columns = ["judge", "task", "sample_id", "attempt", "family", "theme", "kind", "verdict"]
    return pd.DataFrame(rows, columns=columns).assign(score=0.5)


def rate(table: pd.DataFrame, group: str) -> dict[str, Any]:
    [row] = table[table["group"] == group].to_dict("records")
    return {str(key): value for key, value in row.items()}


def test_rates_have_wilson_intervals() -> None:
    table = suite.error_rates(pd.concat([verdicts("html", "cciix"), verdicts("upper_case", "ciiiii")]))
    row = rate(table, "html")
    assert (row["n"], row["questions"], row["error_rate"], row["invalid"]) == (5, 5, 0.4, 0.2)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 5, method="wilson"))
    assert rate(table, "upper_case")["error_rate"] == pytest.approx(5 / 6)
    assert rate(table, "attack")["error_rate"] == 0.4
    assert pd.isna(rate(table, "benign_perturbation")["theme"])


def test_many_answers_to_one_question_count_as_one_observation() -> None:
    one = verdicts("html", "c" * 40).assign(sample_id="0" * 16, attempt=range(40))
    row = rate(suite.error_rates(one), "html")
    assert row["questions"] == 1
    assert row["low"] < 0.5


def test_families_are_in_the_order_of_the_registry() -> None:
    table = suite.error_rates(pd.concat([verdicts("upper_case", "c"), verdicts("denied", "i"), verdicts("empty", "i")]))
    assert table["group"][table["level"] == "family"].tolist() == ["empty", "denied", "upper_case"]


def test_suite_runs_and_reports_errors_of_a_judge(task: Path, tmp_path: Path) -> None:
    outputs = suite.attack_judge(
        Gullible(), labels_spec={"judge": "gullible", "task": "people"}, task_table=task, rows=5, seed=0, folder=tmp_path / "trial"
    )
    table = tables.read(outputs.rates, tables.ATTACK_RATES)
    assert rate(table, "denied")["error_rate"] == 1.0
    assert rate(table, "other_question")["error_rate"] == 0.0
    assert rate(table, "upper_case")["error_rate"] == 1.0
    assert rate(table, "in_a_sentence")["error_rate"] == 0.0
    assert rate(table, "empty")["invalid"] == 1.0
    assert tables.provenance(outputs.rates)["revisions"] == {"gullible": "r1"}
    examples = tables.read(outputs.examples, tables.ATTACK_EXAMPLES)
    assert examples.groupby("family").size().max() == suite.EXAMPLES
    assert all(any(text in row.candidate for text in row.references) for row in examples[examples["kind"] == "attack"].itertuples())
    again = suite.attack_judge(
        Gullible(), labels_spec={"judge": "gullible", "task": "people"}, task_table=task, rows=5, seed=0, folder=tmp_path / "trial"
    )
    assert tables.read(again.rates, tables.ATTACK_RATES).equals(table)


def test_missing_label_tables_are_an_error(task: Path, tmp_path: Path) -> None:
    outputs = suite.attack_judge(
        Gullible(), labels_spec={"judge": "gullible", "task": "people"}, task_table=task, rows=2, seed=0, folder=tmp_path
    )
    with pytest.raises(InputError, match=r"nowhere\.parquet: no such file"):
        suite.build_rates(
            {"judges": ["g"], "tasks": ["people"]},
            candidates={"people": outputs.candidates},
            attacks={"people": outputs.families},
            labels={("g", "people"): tmp_path / "nowhere.parquet"},
            rates=tmp_path / "r.parquet",
            examples=tmp_path / "e.parquet",
        )
    assert not (tmp_path / "r.parquet").exists()


def test_labels_of_another_suite_are_an_error(task: Path, tmp_path: Path) -> None:
    small = suite.attack_judge(
        Gullible(), labels_spec={"judge": "g", "task": "people"}, task_table=task, rows=2, seed=0, folder=tmp_path / "small"
    )
    large = suite.attack_judge(
        Gullible(), labels_spec={"judge": "g", "task": "people"}, task_table=task, rows=4, seed=0, folder=tmp_path / "large"
    )
    with pytest.raises(InputError, match=r"labels\.parquet: \d+ of \d+ answers have no verdict"):
        suite.build_rates(
            {"judges": ["g"], "tasks": ["people"]},
            candidates={"people": large.candidates},
            attacks={"people": large.families},
            labels={("g", "people"): small.labels},
            rates=tmp_path / "r.parquet",
            examples=tmp_path / "e.parquet",
        )


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["attack", *map(str, arguments)])


def test_command_attacks_a_judge_of_the_configuration(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(DEFAULT_RUN))
    done = run("--judge", "regex_lenient", "--task", task, "--rows", 3)
    assert done.exit_code == 0, done.output
    for text in (
        "Attacks: called correct, in %",
        "Benign perturbations",
        "denied",
        "Tables: results/attacks/trials/regex_lenient/people",
    ):
        assert text in done.output
    assert (tmp_path / "results/attacks/trials/regex_lenient/people/rates.parquet").is_file()


def test_command_attacks_with_the_questions_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"Who is number {number}?,{name},no idea" for number, name in enumerate(["Ann", "Bob", "Eve", "Zoë"])]
    Path("mine.csv").write_text("\n".join(["Prompt,gold,output", *lines, lines[0]]), "utf-8")
    done = run("--judge", "contains", "--answers", "mine.csv")
    assert done.exit_code == 0, done.output
    assert "question: 'Prompt'; references: 'gold'" in done.stderr and "Tables: results/attacks/trials/contains/mine" in done.stdout
    rates_table = tables.read(tmp_path / "results/attacks/trials/contains/mine/rates.parquet", tables.ATTACK_RATES)
    assert rate(rates_table, "white_space")["n"] % 4 == 0
    pd.DataFrame({"a": [1]}).to_parquet("labels.parquet")
    before = Path("labels.parquet").read_bytes()
    for words, fault in (
        (["--answers", "mine.csv", "-o", "."], "labels.parquet: not a table of this program, and would be overwritten"),
        (["--answers", "none.csv"], "none.csv: no such file"),
        (["--answers", "mine.csv", "--question", "q"], "mine.csv: no column 'q' for the question"),
        (["--answers", "mine.csv", "--task", "facts_test"], "set either --answers FILE"),
        ([], "set either --answers FILE"),
    ):
        refused = run("--judge", "contains", *words)
        assert refused.exit_code == 1 and refused.stderr.splitlines()[-1].startswith(f"error: {fault}"), refused.stderr
    assert Path("labels.parquet").read_bytes() == before


def test_command_attacks_a_trained_judge(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_judge.judges.bert.judge import BERTJudge

    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone"))
    texts = (["Who?"] * 4, [["Ann"]] * 4, ["Ann", "Bob", "It is Ann.", "It is Bob."])
    judge.fit(*texts, [1.0, 0.0, 1.0, 0.0], training=Training(epochs=1), features=False, work_folder=tmp_path / "work")
    judge.save(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    done = run("--judge", tmp_path / "mine", "--task", task, "--rows", 1, "--output", "out")
    assert done.exit_code == 0, done.output
    rates_table = tables.read(tmp_path / "out/rates.parquet", tables.ATTACK_RATES)
    assert set(rates_table["judge"]) == {"mine"}
    assert rate(rates_table, "white_space")["error_rate"] == 0


@pytest.mark.parametrize(
    ("judge", "task_name", "fault"),
    [
        ("truth", None, "error: --judge truth: is of kind imported, which only judges the answers of a run; choose another judge"),
        (
            "nobody",
            None,
            "error: --judge nobody: no such folder, rule, judge of a configuration (FILE.yaml:NAME), hub checkpoint "
            "(owner/name) or server (http://HOST/v1#MODEL, openai:MODEL); choose one of: both, ",
        ),
        ("demo_judge", None, "error: results/judges/demo_judge/judge.json: no such file; make it with bert-judge run CONFIG"),
        (
            "regex_lenient",
            "facts_test",
            "error: results/tasks/facts_test.parquet: no such file; build it with bert-judge",
        ),
        (
            "both",
            None,
            "error: --judge both: is a fitted cascade and only judges the answers of a run; name one of its judges",
        ),
    ],
)
def test_command_rejects_other_judges(
    judge: str, task_name: str | None, fault: str, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw = {**DEFAULT_RUN, "judges": {**DEFAULT_RUN["judges"], "both": CASCADE}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(raw))
    done = run("--judge", judge, "--task", task_name or task)
    assert done.exit_code == 1
    assert done.output.startswith(fault)
    assert done.output.count("\n") == 1


def test_report_shows_rates_and_examples(task: Path, tmp_path: Path) -> None:
    scores = [write_scores(tmp_path, "ada", "sums", {"strict": "cci"})]
    spec: dict[str, Any] = {
        "judges": ["strict"],
        "gold": None,
        "trained": [],
        "families": {"sums": "math"},
        "tables": [["ada", "sums"]],
    }
    build_standings(spec, scores, tmp_path)
    outputs = suite.attack_judge(
        Gullible(), labels_spec={"judge": "gullible", "task": "people"}, task_table=task, rows=5, seed=0, folder=tmp_path / "trial"
    )
    spec |= {"kinds": {}, "simulated_models": [], "attacks": {"judges": ["gullible"], "tasks": ["people"]}}
    build_report(
        spec, folder=tmp_path, scores=scores, judges={}, output=tmp_path / "report.html", attacks=(outputs.rates, outputs.examples)
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    for text in (
        "Robustness to attacks",
        "denied for another",
        "Source: arXiv",
        'href="#attacks"',
        "Answers that fooled a judge",
    ):
        assert text in page
    # What an attack wrote is text.
    assert "&lt;!-- " in page
    assert "<!-- answer" not in page
    build_report(spec, folder=tmp_path, scores=scores, judges={}, output=tmp_path / "without.html")
    assert "#attacks" not in (tmp_path / "without.html").read_text("utf-8")


def configured(**attacks: object) -> dict[str, Any]:
    return {**DEFAULT_RUN, "attacks": {"judges": ["demo_judge", "regex_lenient"], **attacks}}


def test_plan_of_attacks() -> None:
    outputs = plan.build_plan(configured(tasks=["facts_test"], rows=7))
    assert outputs.attacks_spec("facts_test") == {"task": "facts_test", "rows": 7, "seed": 0, "text_version": TEXT_VERSION}
    assert outputs.attack_rates_spec() == {"judges": ["demo_judge", "regex_lenient"], "tasks": ["facts_test"]}
    assert outputs.labels_spec("demo_judge", ATTACKS, "facts_test")["model"] == ATTACKS
    assert outputs.report_spec()["attacks"] == outputs.attack_rates_spec()
    assert "attacks" not in plan.build_plan(DEFAULT_RUN).report_spec()
    assert len(plan.build_plan(configured()).attack_tasks) == 3
    assert ATTACKS not in outputs.models


CASCADE = {"kind": "cascade", "judges": ["regex_lenient", "demo_judge"], "dataset": "demo", "budget": 0.5}


def with_cascade(**members: object) -> dict[str, Any]:
    judges = {**DEFAULT_RUN["judges"], "both": {**CASCADE, **members}}
    return {**DEFAULT_RUN, "judges": judges, "attacks": {"judges": ["both"], "tasks": ["facts_test"]}}


def test_cascades_label_attacks_by_escalation() -> None:
    outputs = plan.build_plan(with_cascade())
    needed = outputs.required_labels(["attacks"])
    assert {("both", ATTACKS, "facts_test"), ("regex_lenient", ATTACKS, "facts_test")} <= needed
    assert ("demo_judge", f"{ATTACKS}@both@demo_judge", "facts_test") in needed
    assert ATTACKS in outputs.answer_sources
    assert f"{ATTACKS}@both@demo_judge" in outputs.selections
    with pytest.raises(ConfigError, match=r"attacks\.judges: 'teacher' is of kind imported"):
        plan.build_plan(with_cascade(judges=["regex_lenient", "teacher"]))


def test_targets_of_attacks() -> None:
    outputs = plan.build_plan(configured(tasks=["facts_test"]))
    wanted = {("demo_judge", ATTACKS, "facts_test"), ("regex_lenient", ATTACKS, "facts_test")}
    needed = outputs.required_labels(["attacks"])
    assert wanted <= needed
    assert {judge for judge, _, _ in needed} == {"demo_judge", "regex_lenient", "teacher"}
    assert wanted <= outputs.required_labels(["all"])
    assert plan.build_plan(DEFAULT_RUN).required_labels(["attacks"]) == set()


@pytest.mark.parametrize(
    ("attacks", "fault"),
    [
        ({"judges": ["nobody"]}, "attacks.judges: 'nobody'"),
        (
            {"judges": ["truth"]},
            "attacks.judges: 'truth' is of kind imported and has no verdicts on attacks; choose another judge",
        ),
        ({"judges": []}, "attacks.judges"),
        ({"judges": ["demo_judge", "demo_judge"]}, "attacks.judges: 'demo_judge' is listed twice; remove one"),
        ({"judges": ["demo_judge"], "tasks": ["facts_train"]}, "attacks.tasks: 'facts_train' must be listed under tasks.test too"),
        ({"judges": ["demo_judge"], "rows": 0}, "attacks.rows"),
        ({"judges": ["demo_judge"], "row": 5}, "attacks.row"),
        ({}, "attacks.judges"),
    ],
)
def test_invalid_attack_settings(attacks: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan.build_plan({**DEFAULT_RUN, "attacks": attacks})
    assert len(caught.value.errors) == 1
    assert caught.value.errors[0].startswith(fault)
