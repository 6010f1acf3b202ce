"""What `score` says about uncertain verdicts: the range of an accuracy, the kinds of answers, and an order that may be another."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.cli.uncertainty import describe_label_order, describe_uncertainty, format_range
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.labels.judge_loading import NamedCascade, NamedJudge
from bert_judge.labels.score_file import Tally
from bert_judge.statistics.accuracy_range import accuracy_range
from bert_judge.text.answer_kinds import KINDS

EXPLANATION, NAME = "They turn most of the electricity into light rather than heat, so little is lost", "Paris"
FILE = Path("my answers.csv")


def _tally(**verdicts: str) -> Tally:
    """Count verdicts of the judge `j`: model → letters as in `helpers.score_files`; uncertain ones are on explanations."""
    models = [model for model, letters in verdicts.items() for _ in letters]
    letters = "".join(verdicts.values())
    rows = [Row("", 0, "", "Why?", (EXPLANATION if letter.isupper() else NAME,), "x") for letter in letters]
    labels: list[Label | None] = [decided(float(letter in "cC"), certain=letter.islower()) for letter in letters]
    tally = Tally(["j"])
    tally.add_uncertain(rows, [labels])
    tally.add(models, ["Why?"] * len(models), [None] * len(models), [labels], groups=[""] * len(models))
    return tally


def test_a_reversed_order_comes_with_a_warning() -> None:
    """`worse` has a fifth of its answers called correct; `better` only a tenth, but most of its verdicts are uncertain."""
    lines = list(describe_uncertainty(_tally(better="c" * 10 + "I" * 70 + "i" * 20, worse="c" * 20 + "i" * 80), FILE))
    start = "warning: j: 35% of the verdicts are uncertain, most of them on references of a sentence; the ends of a range"
    assert lines[0].startswith(start)
    assert (
        lines[1]
        == "warning: j: the ranges of the two models overlap or are within 5 points, so better may be as good as worse or better"
    )
    assert "bert-judge audit 'my answers.csv'" in lines[2] and "general+LLM" in lines[2]
    assert "--recalibrate -o my-judge (20 labels" in lines[2]
    assert len(lines) == 3


def test_advice_leaves_out_what_was_done(tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_text('{"spec": {"recalibrate": true}}', "utf-8")
    tally, recalibrated = _tally(a="I" * 50), NamedJudge("j", "", None, tmp_path)
    served = NamedCascade("j+m", "", None, is_served=True, members=[recalibrated, NamedJudge("m", "", None)])
    audit = "to narrow a range: bert-judge audit 'my answers.csv' (label a sample)"
    ask = ", or --judge general+LLM (a language model judges the uncertain answers)"
    for judges, advice in (([recalibrated], audit + ask), ([served], audit)):
        assert list(describe_uncertainty(tally, FILE, judges))[-1] == advice


def test_models_whose_ranges_do_not_overlap_have_an_order() -> None:
    lines = list(describe_uncertainty(_tally(good="c" * 90 + "i" * 10, bad="c" * 30 + "I" * 30 + "i" * 40), FILE))
    assert [line.startswith("warning") for line in lines] == [True, False]


def test_an_order_is_open_whatever_the_share_of_uncertain_verdicts() -> None:
    """Of `better` a fifth of the verdicts are uncertain, of `worse` none: 60 to 80 and 70."""
    lines = list(describe_uncertainty(_tally(better="c" * 12 + "I" * 4 + "i" * 4, worse="c" * 14 + "i" * 6), FILE))
    assert lines[0].startswith("warning: j: 10% of the verdicts are uncertain")
    assert (
        lines[1]
        == "warning: j: the ranges of the two models overlap or are within 5 points, so better may be as good as worse or better"
    )


def test_groups_with_an_open_order_are_named() -> None:
    """On numbers `a` is ahead with certain verdicts; on names 4 of its 10 are uncertain, which may reverse a lead of 20 points."""
    rows = [("a", "numbers", "c" * 9 + "i"), ("b", "numbers", "c" * 5 + "i" * 5), ("a", "names", "c" * 4 + "C" * 4 + "i" * 2)]
    rows += [("b", "names", "c" * 6 + "i" * 4)]
    tally = Tally(["j"])
    for model, group, letters in rows:
        labels: list[Label | None] = [decided(float(letter in "cC"), certain=letter.islower()) for letter in letters]
        tally.add([model] * len(letters), ["Why?"] * len(letters), [None] * len(letters), [labels], groups=[group] * len(letters))
    assert "warning: j: in 1 of 2 groups by kind, the order of models is open: names" in describe_uncertainty(
        tally, FILE, by="kind"
    )
    assert not any("groups" in line for line in describe_uncertainty(tally, FILE))


GOOD, FAIR, POOR = "c" * 95 + "i" * 5, "c" * 30 + "I" * 30 + "i" * 40, "c" * 20 + "I" * 30 + "i" * 50


@pytest.mark.parametrize(
    ("models", "says"),
    [
        (
            {"good": GOOD, "fair": FAIR, "poor": POOR},
            "1 of 3 pairs of models overlap or are within 5 points, so the second may be …: fair – poor",
        ),
        (
            {"a": "I" * 10, "b": "I" * 10, "c": "I" * 10},
            "3 of 3 pairs of models overlap or are within 5 points, so none has a certain order",
        ),
        (
            {"good": GOOD, "fair": FAIR, "poor": POOR, "low": POOR},
            "3 of 6 pairs of models overlap or are within 5 points, so the second may be …: fair – poor, fair – low, poor – low",
        ),
        (
            {"high": "c" * 8 + "I" * 1 + "i", "good": "c" * 9 + "I" * 1, "fair": "c" * 7 + "I" * 3, "bad": "i" * 10},
            "3 of 6 pairs of models overlap or are within 5 points, so the second may be …: good – high, good – fair, high – fair",
        ),
        (
            {"a": "c" * 8 + "I" * 2, "b": "c" * 7 + "I" * 3, "c": "c" * 6 + "I" * 4, "d": "c" * 5 + "I" * 2 + "i" * 3},
            "5 of 6 pairs of models overlap or are within 5 points; only these have an order: a > d",
        ),
        (
            {f"m{n}": "c" * 4 * n + "I" + "i" * (99 - 4 * n) for n in range(24)},
            ", ".join(f"m{n} – m{n - 1}" for n in range(23, 13, -1)) + " and 13 more",
        ),
    ],
)
def test_of_several_models_the_open_or_the_settled_pairs_are_named(models: dict[str, str], says: str) -> None:
    [line] = [line for line in describe_uncertainty(_tally(**models), FILE) if "overlap" in line]
    assert line.replace("as good as the first or better", "…").endswith(says)


def test_labels_that_order_models_the_other_way_round_are_named() -> None:
    """By the labels a > b > c and c = d; the judge puts b before a and d before c."""
    accuracies = {"a": (0.8, 0.6), "b": (0.7, 0.7), "c": (0.5, 0.1), "d": (0.5, 0.2)}
    assert list(describe_label_order("j", accuracies, "the column 'label'")) == [
        "warning: j: 1 of 6 pairs of models have the opposite order by the column 'label': a > b"
    ]
    assert list(describe_label_order("j", {"a": (0.8, 0.8), "b": (0.7, 0.8)}, "the column 'label'")) == []


def test_kinds_in_words() -> None:
    """Neither kind has more than half of the uncertain verdicts; each is named in words that follow "on"."""
    labels = [decided(0.0, certain=False)] * 3
    references = ("Vor allem ist das nicht die Hauptstadt und auch nicht der Sitz", EXPLANATION, "42")
    rows = [Row("", 0, "", "Why?", (reference,), "x") for reference in references]
    tally = Tally(["j"])
    tally.add_uncertain(rows, [labels])
    tally.add(["m"] * 3, ["Why?"] * 3, [None] * 3, [labels], groups=[""] * 3)
    [line, _] = describe_uncertainty(tally, FILE)
    assert "most of them on texts in other languages than English and on references of a sentence; the ends" in line
    assert set(tally.uncertain["j"]) == {"languages", "sentences", "numbers"} <= set(KINDS)


def test_few_uncertain_verdicts_need_no_words() -> None:
    assert list(describe_uncertainty(_tally(a="c" * 80 + "I" * 15 + "i" * 5, b="c" * 100), FILE)) == []


def test_a_range_in_percent() -> None:
    """A dash where no verdict is uncertain, or the judge makes no claim."""
    uncertain = [True] * 53 + [False] * 47
    correct = [True] * 8 + [False] * 45 + [True] * 11 + [False] * 36
    assert format_range(accuracy_range(correct, uncertain, uncertain)) == "11.0 to 64.0"
    assert format_range(accuracy_range([True], [False], [True])) == "–"
    assert format_range(accuracy_range([True], [False], [False])) == "–"


def test_the_judge_in_the_package_does_not_order_models_by_explanations(tmp_path: Path) -> None:
    """A paraphrase and its opposite are sentences, of which it is never certain; an identical name is decided by a rule."""
    paraphrase, opposite = "Because hardly any of the electricity is wasted as heat", "They turn most of the electricity into heat"
    answers = [(EXPLANATION, paraphrase, "small"), (EXPLANATION, opposite, "large"), (NAME, NAME, "small"), (NAME, NAME, "large")]
    with (tmp_path / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("question", "reference", "answer", "model"), *(("Why?", *row) for row in answers)])
    done = CliRunner().invoke(app, ["score", str(tmp_path / "answers.csv")])
    assert done.exit_code == 0, done.output
    with (tmp_path / "answers.scored.csv").open(encoding="utf-8", newline="") as file:
        assert [row["certain"] for row in csv.DictReader(file)] == ["False", "False", "True", "True"]
    lines = " ".join(done.output.split())
    assert "warning: general: 50% of the verdicts are uncertain, most of them on references of a sentence; the ends" in lines
    assert "warning: general: the ranges of the two models overlap" in lines
    single = CliRunner().invoke(app, ["predict", opposite, "--reference", EXPLANATION])
    assert single.output.strip().endswith(", uncertain")
