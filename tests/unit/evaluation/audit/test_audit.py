"""From score tables to a sheet, and from a filled sheet to corrected accuracies."""

import csv
import math
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from helpers.default_run import DEFAULT_RUN
from helpers.score_files import write_scores

from bert_judge import plan, tables
from bert_judge.evaluation.audit import sampling
from bert_judge.evaluation.audit.corrected import build_corrected
from bert_judge.evaluation.score_tables import MODEL
from bert_judge.evaluation.standings import build_standings, load_verdicts
from bert_judge.report import audit_sheet
from bert_judge.report.build import build_report
from bert_judge.runtime.errors import InputError

DRAW = {"judge": "bert", "size": 10, "design": "uniform", "seed": 0, "tables": [["ada", "sums"], ["bob", "sums"]]}
SPEC = {**DRAW, "judges": ["bert", "strict"], "labels_from": None, "min_sensitivity": 0.8, "min_specificity": 0.8}
ODD = ['=HYPERLINK("http://evil.example")', "<script>alert('x')</script>", "פריז", "x" * 1_000_000, "a\x00b", "", '"quoted",\n2']


@pytest.fixture
def scores(tmp_path: Path) -> list[Path]:
    texts = [*ODD, *(f"answer {i}" for i in range(33))]
    return [
        write_scores(tmp_path, "ada", "sums", {"gold": "ccci" * 10, "bert": "cccx" * 10, "strict": "iici" * 10}, candidates=texts),
        write_scores(tmp_path, "bob", "sums", {"gold": "ciii" * 10, "bert": "ccii" * 10, "strict": "xxxx" * 10}),
    ]


def filled(path: Path, rows: list[audit_sheet.SheetRow], said: list[str], annotator: str = "") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = ((row.id, row.rate, word, annotator) for row, word in zip(rows, said, strict=True))
        csv.writer(file).writerows([("id", "rate", "verdict", "annotator"), *lines])
    return path


def draw(files: list[Path], size: int, seed: int = 3, design: str = "uniform") -> pd.DataFrame:
    return sampling.draw_sample(sampling.order_answers(load_verdicts(files, ["bert"]), "bert", design, seed), size)


@pytest.mark.parametrize("design", get_args(sampling.Design))
def test_sample_is_reproducible_and_grows_by_the_next_answers(scores, design):
    first, again = draw(scores, 20, design=design), draw(scores[::-1], 20, design=design)
    assert list(sampling.answer_keys(first)) == list(sampling.answer_keys(again))
    assert first[MODEL].value_counts().tolist() == [20, 20]
    larger = set(sampling.answer_keys(draw(scores, 30, design=design)))
    assert set(sampling.answer_keys(first)) < larger
    assert len(draw(scores, 1000)) == 80


def test_uniform_samples_of_all_models_are_about_the_same_questions(scores):
    sample = draw(scores, 10)
    assert sample["sample_id"].nunique() == 10
    assert list(sampling.answer_keys(sample)) != list(sampling.answer_keys(draw(scores, 10, seed=4)))


def test_new_models_do_not_change_the_sample(scores, tmp_path):
    more = [*scores, write_scores(tmp_path, "zoe", "sums", {"bert": "ci" * 20})]
    before, after = (set(sampling.answer_keys(draw(files, 12))) for files in (scores, more))
    assert before < after
    assert len(after) == 36


def test_sheet_is_blind_escaped_and_complete(scores, tmp_path):
    audit_sheet.write_sheet(
        {**DRAW, "size": 40}, scores=scores, labels=[], sheet=tmp_path / "sheet.csv", page=tmp_path / "sheet.html"
    )
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["id"] for row in rows}) == len(rows) == 80
    assert {row["verdict"] for row in rows} == {""}
    assert {row["rate"] for row in rows} == {"1"}
    assert not any(row["candidate"].startswith("=") for row in rows)
    assert max(len(row["candidate"]) for row in rows) < 32_767
    assert any(row["candidate"] == ODD[-1] for row in rows)
    page = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    for hidden in ("bert", "strict", "gold", "0.9", "0.1"):
        assert hidden not in page.partition("</style>")[2].partition("<script>")[0]
    assert "<script>alert" not in page
    assert "http" not in page.partition("</style>")[2].replace("http://evil.example", "")
    assert page.count('type="radio"') == 240
    assert "a␀b" in page


def test_labels_correct_the_accuracies(scores, tmp_path):
    rows = audit_sheet.sample_rows({**DRAW, "size": 40}, scores)
    gold = load_verdicts(scores, ["gold"])
    truth = dict(zip(sampling.answer_keys(gold), gold["gold_verdict"].astype(str), strict=True))
    texts = {sampling.answer_id(key, text): truth[key] for key, text in _texts(scores).items()}
    said = ["cannot tell" if number == 0 else texts[row.id].title() for number, row in enumerate(rows)]
    build_corrected(SPEC, scores=scores, sheets=[filled(tmp_path / "labels.csv", rows, said)], folder=tmp_path)
    result = tables.read(tmp_path / "corrected_accuracy.parquet", tables.CORRECTED_ACCURACY).set_index(["model", "judge", "method"])
    assert result.loc[("all", "bert", "ppi"), ["answers", "labels", "unclear"]].tolist() == [80, 79, 1]
    # Everything is labelled: what remains is the one of which people could not tell.
    assert result.loc[("ada", "bert", "ppi"), "accuracy"] == pytest.approx(0.75, abs=0.02)
    assert result.loc[("bob", "bert", "human_labels"), "accuracy"] == pytest.approx(0.25, abs=0.02)
    assert result.loc[("bob", "bert", "judge"), "accuracy"] == 0.5
    assert result.loc[("ada", "bert", "judge"), "invalid"] == 0.25
    # A judge that never decides tells nothing, and harms nothing.
    assert result.loc[("bob", "strict", "ppi"), "accuracy"] == pytest.approx(0.25, abs=0.03)


def _texts(scores: list[Path]) -> dict:
    result = {}
    for path in scores:
        frame = pd.read_parquet(path)
        for row in frame.itertuples():
            result[(path.parent.name, path.stem, row.sample_id, row.attempt)] = row.candidate
    return result


def test_gold_verdicts_can_replace_labels(scores, tmp_path):
    spec = {**SPEC, "labels_from": "gold"}
    build_corrected(spec, scores=scores, sheets=[], folder=tmp_path)
    result = tables.read(tmp_path / "corrected_accuracy.parquet", tables.CORRECTED_ACCURACY)
    assert result.groupby("model")["labels"].unique().map(list).to_dict() == {"ada": [10], "all": [20], "bob": [10]}
    assert set(result["judge"]) == {"bert", "strict"}


def test_models_without_labels_are_left_out_of_all(scores, tmp_path):
    rows = audit_sheet.sample_rows({**DRAW, "tables": []}, scores[:1])
    build_corrected(SPEC, scores=scores, sheets=[filled(tmp_path / "labels.csv", rows, ["correct"] * len(rows))], folder=tmp_path)
    result = tables.read(tmp_path / "corrected_accuracy.parquet", tables.CORRECTED_ACCURACY).set_index(
        ["model", "judge", "method"]
    )["accuracy"]
    assert math.isnan(result["bob", "bert", "ppi"])
    assert result["all", "bert", "ppi"] == result["ada", "bert", "ppi"]


def report(tmp_path: Path, scores: list[Path], audit: dict, corrected: Path | None) -> str:
    spec = {"judges": ["strict", "bert"], "gold": None, "trained": [], "families": {"sums": "math"}, "tables": DRAW["tables"]}
    build_standings(spec, scores, tmp_path)
    spec |= {"kinds": {}, "simulated": False, "simulated_models": [], "audit": audit}
    build_report(spec, folder=tmp_path, scores=scores, judges={}, output=tmp_path / "report.html", audit=corrected)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_report_shows_corrections_or_the_open_sheet(scores, tmp_path):
    spec = {**SPEC, "labels_from": "gold"}
    build_corrected(spec, scores=scores, sheets=[], folder=tmp_path)
    page = report(tmp_path, scores, spec, tmp_path)
    for text in ("Accuracy corrected with verdicts of gold", "PPI++", "All models with labels", "Other judges"):
        assert text in page
    page = report(tmp_path, scores, DRAW, None)
    assert "10 answers per model" in page
    assert "PPI++" not in page


def test_configuration_without_audit_has_no_audit_targets():
    made = plan.build_plan(DEFAULT_RUN)
    audited = plan.build_plan({**DEFAULT_RUN, "audit": {"judge": "demo_judge", "labels_from": "gold"}})
    assert "audit" not in made.report_spec()
    assert audited.report_spec() == {**made.report_spec(), "audit": audited.corrected_spec()}
    assert audited.standings_spec() == made.standings_spec()
    assert audited.corrected_spec()["judges"] == ["regex_strict", "regex_lenient", "general", "demo_judge"]


GOOD = "id,verdict\nAAAA,correct\nBBBB,Cannot  tell\nCCCC,\n"


def test_verdicts_of_a_sheet(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    first, second = sampling.read_labels([path])
    assert first == ("AAAA", "labels", 1, None)
    assert (second.id, math.isnan(second.value)) == ("BBBB", True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the file has no rows"),
        ("id,verdict\n", "the file has no rows"),
        ("id,label\na,correct\n", "no column 'verdict'; available: 'id', 'label'"),
        ("id,verdict\na,correct\na,incorrect\n", "the id 'a' occurs at row 1 and again at row 2"),
        ("id,verdict\na,maybe\n", "row 1: the verdict is 'maybe'; use correct, incorrect, cannot tell"),
        ("id,verdict\n,correct\n", "row 1 has no id"),
        ("id,verdict\na,\n", "no row has a verdict"),
        ("id,verdict,rate\na,correct,much\n", "row 1: the rate is 'much', and rates are 0.1 to 10"),
        ("id,verdict,rate\na,correct,57\n", "row 1: the rate is '57', and rates are 0.1 to 10"),
        ("id,verdict\na,correct,x\n", "line 2 has 3 cells"),
    ],
)
def test_errors_in_a_sheet_are_reported_in_one_line(tmp_path, text, fault):
    path = tmp_path / "labels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as error:
        sampling.read_labels([path])
    assert fault in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_unknown_ids_are_an_error(scores, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,verdict\nfeedfeedfeedfeed,correct\n")
    with pytest.raises(
        InputError, match=r"labels\.csv: the id 'feedfeedfeedfeed' belongs to no answer of this run \(1 such rows\)"
    ):
        build_corrected(SPEC, scores=scores, sheets=[path], folder=tmp_path)
    assert not (tmp_path / "corrected_accuracy.parquet").exists()
