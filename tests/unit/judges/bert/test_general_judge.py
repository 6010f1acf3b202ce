"""The judge in the package: its files, its card and its verdicts belong together."""

import csv
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder.judge_folder import CHECKSUMS
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import UNFINISHED_FLAG, Row
from bert_judge.labels.judge_loading import RULES
from bert_judge.text import TEXT_VERSION

VERDICTS = yaml.safe_load((Path(__file__).parent / "general_verdicts.yaml").read_text(encoding="utf-8"))
CONFIG = Path(__file__).parents[4] / "configs" / "general.yaml"
FIELD_ROWS = sorted((Path(__file__).parents[2] / "text" / "data" / "cases2").glob("*.jsonl"))
# Older classes, beside the data.
OLDER_ROWS = (
    sorted(Path(os.environ["BERT_JUDGE_DATA"]).parent.glob("cases/*/input.jsonl")) if "BERT_JUDGE_DATA" in os.environ else []
)


@pytest.fixture(scope="module")
def judge() -> BERTJudge:
    return BERTJudge()


def test_the_files_are_those_of_version_3() -> None:
    """Another training gives other files: a new version and a new card, and SHA256SUMS of its own."""
    lines = [line.split("  ") for line in (GENERAL_FOLDER / CHECKSUMS).read_text("utf-8").splitlines()]
    assert {hashlib.sha256((GENERAL_FOLDER / name).read_bytes()).hexdigest() for _, name in lines} == {
        digest for digest, _ in lines
    }
    decisive = {
        "weights.int8.safetensors",
        "inputs.safetensors",
        "trees.safetensors",
        "judge.json",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert {name for _, name in lines} == decisive
    metadata = json.loads((GENERAL_FOLDER / "judge.json").read_text(encoding="utf-8"))
    assert (metadata["version"], metadata["languages"], metadata["simulated"]) == ("v3", ["en"], False)
    # Measured with these rules about texts: python benchmarks/train_general.py --measure.
    assert metadata["text_version"] == TEXT_VERSION
    # It has both policies, fitted and measured by python benchmarks/policy.py, and the card says the offset.
    assert f"adds {metadata['partial_offset']:.3f} to the logit" in (GENERAL_FOLDER / "README.md").read_text(encoding="utf-8")
    assert sum(file.stat().st_size for file in GENERAL_FOLDER.iterdir()) <= 25_000_000


def test_the_documentation_names_every_training_file_and_its_licence() -> None:
    with (CONFIG.parents[1] / "docs" / "real_answers.csv").open(encoding="utf-8") as file:
        licences = {row["file"]: row["licence"] for row in csv.DictReader(file)}
    for entry in yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["imports"].values():
        assert re.search("Apache-2.0|MIT|CC BY|CC0|public domain|free use", licences[entry["path"]]), entry["path"]


@pytest.mark.parametrize("topic", VERDICTS)
def test_expected_verdicts(judge: BERTJudge, topic: str) -> None:
    questions, references, candidates, correct = zip(*VERDICTS[topic], strict=True)
    scores = judge.predict(questions, references, candidates)
    wrong = [
        (candidate, round(score, 2))
        for candidate, score, label in zip(candidates, scores, correct, strict=True)
        if (score >= 0.5) != label
    ]
    assert not wrong


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows for `general` that have references; a row names the judges that it is for, or is for all."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if "general" in row.get("judges", ["general"]) and row.get("references") and "right_verdict" in row]


def count_right(judge: BERTJudge, rows: list[dict[str, Any]]) -> int:
    scores = judge.predict(*([row[key] or "" for row in rows] for key in ("question", "references", "candidate")))
    return sum((score >= 0.5) == (row["right_verdict"] == "correct") for row, score in zip(rows, scores, strict=True))


def test_answers_of_the_field_are_judged_as_a_careful_person_would(judge: BERTJudge) -> None:
    rows = [row for path in FIELD_ROWS for row in read_rows(path)]
    # 342 with version 3 and rules about texts 11; docs/log.md has the numbers of other versions.
    assert len(rows) == 347 and count_right(judge, rows) >= 340


@pytest.mark.parametrize(
    "path", [*FIELD_ROWS, *OLDER_ROWS], ids=lambda path: path.stem if path.stem != "input" else path.parent.name
)
def test_no_class_of_answers_is_judged_better_by_a_rule(judge: BERTJudge, rules: dict[str, LexicalJudge], path: Path) -> None:
    rows = read_rows(path)
    answers = [
        Row(str(i), 0, "model", row["question"] or "", tuple(row["references"]), row["candidate"]) for i, row in enumerate(rows)
    ]
    right = {
        name: sum(
            (label.verdict == "correct") == (row["right_verdict"] == "correct") for label, row in zip(labels, rows, strict=True)
        )
        for name, labels in ((name, rule.judge(answers)) for name, rule in rules.items())
    }
    assert count_right(judge, rows) >= max(right.values()), f"of {len(rows)}: {right}"


def test_the_table_has_sixty_verdicts() -> None:
    assert sum(map(len, VERDICTS.values())) == 60


@pytest.mark.parametrize("references", ["Paris", ["Paris"], ["Lutetia", "Paris"]], ids=["text", "list", "several"])
def test_example_of_the_published_package(references: str | list[str]) -> None:
    judge = BERTJudge(model_path="general", trust_remote_code=True, dtype="bfloat16")
    candidates = [
        "Paris.",
        "The capital of France is Paris.",
        "I'm hesitating between Paris and London. I would say Paris.",
        "London.",
        "The capital of France is London.",
        "I'm hesitating between Paris and London. I would say London.",
    ]
    questions = ["What is the capital of France?"] * 6
    scores = judge.predict(questions=questions, references=[references] * 6, candidates=candidates, batch_size=1)
    assert all(isinstance(score, float) for score in scores)
    assert [score >= 0.5 for score in scores] == [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("candidate", "correct"), [("Paris", True), ("paris", True), ("London", False), ("Yes", False), ("", False)]
)
def test_one_word_answers(judge: BERTJudge, candidate: str, correct: bool) -> None:
    [score] = judge.predict(["What is the capital of France?"], [["Paris"]], [candidate])
    assert (score >= 0.5) == correct


def test_agreement_with_the_authors_on_answers_of_a_language_model(judge: BERTJudge) -> None:
    frame = pd.read_csv(CONFIG.with_name("smollm2_labels.csv"), keep_default_na=False, na_values={"label": [""]})
    rows = frame.dropna(subset="label")
    references = [json.loads(texts) for texts in rows["references"]]
    scores = np.array(judge.predict(rows["question"].tolist(), references, rows["candidate"].tolist()))
    labels = rows["label"].to_numpy() == 1
    assert (len(frame), len(rows), labels.sum()) == (240, 231, 48)
    # 98.3 when it was measured; another CPU rounds differently.
    assert ((scores >= 0.5) == labels).mean() == pytest.approx(0.983, abs=0.01)


def test_int8_changes_no_verdict(judge: BERTJudge) -> None:
    frame = pd.read_csv(CONFIG.with_name("smollm2_labels.csv"), keep_default_na=False)
    rows = frame["question"].tolist(), [json.loads(texts) for texts in frame["references"]], frame["candidate"].tolist()
    exact, rounded = (BERTJudge(early_exit=False, backend="openvino", precision=kind) for kind in ("float32", "int8"))
    scores, expected = np.array(rounded.predict(*rows)), np.array(exact.predict(*rows))
    assert not np.array_equal(scores, expected)
    np.testing.assert_array_equal(scores >= 0.5, expected >= 0.5)
    assert np.abs(scores - expected).max() < 0.1


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("100 °C", "100 degrees Celsius"),
        ("100 °C", "100C"),
        ("3 hours", "3h"),
        ("60 mph", "60 miles per hour"),
        ("10 m/s", "10 meters per second"),
        ("2 L", "2 liters"),
        ("10 m²", "10 square meters"),
    ],
)
def test_units_written_otherwise(judge: BERTJudge, reference: str, candidate: str) -> None:
    scores = judge.predict(["How much is it?"] * 2, [reference, candidate], [candidate, reference])
    assert min(scores) >= 0.5


def test_a_formula_without_end_leaves_its_row_undecided(judge: BERTJudge) -> None:
    rows = [Row(str(i), 0, "m", "Simplify.", (r"x^2+1",), text) for i, text in enumerate(("$9^{9^{9^{9}}}$", "$1+x^2$"))]
    [bomb, right] = judge.judge(rows)
    assert (bomb.verdict, bomb.score, bomb.flags) == ("invalid", None, (UNFINISHED_FLAG,))
    assert bomb.reason == "Math-Verify did not finish: a number of more than 1,000,000 bits"
    assert right == judge.judge(rows[1:])[0] and right.verdict == "correct"


@pytest.mark.parametrize(
    ("reference", "candidate", "certain"),
    [
        # Refused, though the name is there: nobody can say why.
        ("Joseph Lister", "Lister, the British surgeon.", False),
        ("Joseph Lister", "It was Joseph Lister, the British surgeon", False),
        ("47", "Forty-seven, one more than usual.", False),
        ("Joseph Lister", "Robert Koch", True),
        # In another script.
        ("Москва", "Moscow", False),
        ("Moscow", "Москва", False),
        # The rules leave open what may be the same number or date.
        ("18.015", "18.02", False),
        ("3.14159", "3.14", False),
        ("5 July 1948", "July 1948", False),
        ("500 µg", "0.5 mg (0.5 mL of 1:1000)", False),
        # One may abbreviate the other.
        ("hydrochloric acid", "HCl", False),
        ("HCl", "hydrogen chloride", False),
        ("uranium-235", "²³⁵₉₂U", False),
        ("James Webb Space Telescope", "The JWST, on an Ariane 5 from Kourou.", False),
        # Yes or no without the word.
        ("yes", "The Sun is a star.", False),
        # A year of the century.
        ("19th century", "In 1804", False),
        # Or be spelled in another language.
        ("Leo Tolstoy", "Lev Tolstoi", False),
        ("Michelangelo", "Michel-Ange", False),
        # A description, which may be of the reference.
        ("Mars", "the red planet", False),
        ("Alexander Graham Bell", "The inventor of the telephone.", False),
        # A notation, or another form of the word.
        ("calcium carbonate", "CaCO3", False),
        ("bill of lading", "B/L", False),
        ("Privy Council", "JCPC", False),
        ("July 1987", "07/1987", False),
        ("18 March 1967", "18.03.67", False),
        ("12th century", "C12", False),
        ("4 May, 14:30", "04/05 1430 hrs", False),
        ("once daily", "o.d.", False),
        ("1906", "nineteen oh six", False),
        ("$12.99", "twelve ninety-nine", False),
        ("Panama", "the Panamanian flag", False),
        # The number of a rule, a unit with two meanings.
        ("12 months", "Article III rule 6 sets a limit of one year.", False),
        ("12 nautical miles", "12 nm", False),
        ("1920", "'20", False),
        ("uranium-235", "U-238", True),
        ("18.015", "28.02", True),
        ("12 months", "6 months", True),
        ("12 nautical miles", "12 km", True),
    ],
)
def test_a_refusal_that_the_words_contradict_is_not_certain(
    judge: BERTJudge, reference: str, candidate: str, certain: bool
) -> None:
    [label] = judge.judge([Row("0", 0, "m", "Which is it?", (reference,), candidate)])
    assert (label.verdict, label.certain) == ("incorrect", certain)


@pytest.mark.parametrize(
    ("reference", "candidate", "certain"),
    [
        ("Manchester United", "Manchester United won.", True),
        ("Manchester United", "Manchester City", False),
        ("cos x", "-cos x", False),
        ("100", "fewer than 100", False),
        ("Mars", "Mars and Venus", False),
        ("gold", "Lead is denser than gold.", False),
        ("green", "It is red, while the other is green.", False),
    ],
)
def test_what_is_accepted_though_it_may_say_something_else_is_not_certain(
    judge: BERTJudge, reference: str, candidate: str, certain: bool
) -> None:
    [label] = judge.judge([Row("0", 0, "m", "Which is it?", (reference,), candidate)])
    assert (label.verdict, label.certain) == ("correct", certain)


def test_the_documented_reasons_are_given(judge: BERTJudge) -> None:
    section = (CONFIG.parents[1] / "docs" / "scoring.md").read_text("utf-8").partition("\n## Reasons\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert len(table) == 5
    for name, reference, candidate, verdict, reason in table:
        row = Row("", 0, "", "", (reference,), candidate)
        [label] = (judge if name == "`general`" else LexicalJudge(RULES[name.strip("`")])).judge([row])
        uncertain = ", but uncertain" if label.certain is False else ""
        assert (f"{label.verdict}{uncertain}", label.reason) == (verdict, reason)
