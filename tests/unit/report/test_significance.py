"""No two places of a report may disagree about which differences are significant."""

import re
from pathlib import Path

import pytest
from helpers.score_files import write_scores

from bert_judge import tables
from bert_judge.evaluation.audit.corrected import build_corrected
from bert_judge.evaluation.standings import build_standings
from bert_judge.report.build import build_report

MODELS = ["ada", "bob", "cyd"]
# Verdicts of 24 questions per model. Close: McNemar's p of ada and bob is 0.039, and 0.117 after adjustment for three pairs.
CLOSE = {"ada": "c" * 15 + "i" * 9, "bob": "c" * 7 + "i" * 8 + "c" + "i" * 8, "cyd": "c" * 6 + "i" * 9 + "cc" + "i" * 7}
CLEAR = {"ada": "c" * 24, "bob": "c" * 12 + "i" * 12, "cyd": "i" * 24}
AUDIT = {"judge": "bert", "size": 24, "design": "uniform", "seed": 0, "judges": ["bert"], "labels_from": "gold"}


@pytest.mark.parametrize("letters", [CLOSE, CLEAR], ids=["close", "clear"])
@pytest.mark.parametrize("labelled", [False, True])
def test_all_places_of_a_report_agree(tmp_path: Path, letters: dict[str, str], labelled: bool) -> None:
    scores = [write_scores(tmp_path, model, "sums", {"gold": letters[model], "bert": letters[model]}) for model in MODELS]
    spec = {"judges": ["gold", "bert"], "gold": "gold", "trained": ["bert"], "families": {"sums": "math"}}
    build_standings(spec, scores, tmp_path)
    pairs = tables.read(tmp_path / "model_pairs.parquet", tables.MODEL_PAIRS)
    pairs = pairs[(pairs["judge"] == "bert") & (pairs["level"] == "task")]
    audit = AUDIT | {"min_sensitivity": 0.8, "min_specificity": 0.8}
    if labelled:
        build_corrected(audit, scores=scores, sheets=[], folder=tmp_path / "audit")
        corrected = tables.read(tmp_path / "audit" / "corrected_pairs.parquet", tables.CORRECTED_PAIRS)
        pairs = corrected[corrected["method"] == "ppi"]
    report = {**spec, "kinds": {}, "simulated_models": [], "audit": audit}
    build_report(
        report,
        folder=tmp_path,
        scores=scores,
        judges={},
        output=tmp_path / "report.html",
        audit=tmp_path / "audit" if labelled else None,
    )
    page = (tmp_path / "report.html").read_text("utf-8")
    significant = {(row.model, row.other) for row in pairs[pairs["significant"]].itertuples()}
    assert _better_than(page) == significant
    assert _shaded_cells(page) == significant
    leader, second = _ranked(page)[:2]
    assert ("The lead is significant" in page) == ((leader, second) in significant)
    assert ("The lead is not significant" in page) == ((leader, second) not in significant)
    if "Stop: every difference" in page:
        assert len(significant) == 3
    assert set(re.findall(r"(\w+) &gt; (\w+) is settled", page)) <= significant
    assert "significantly" not in page.partition("<body>")[2].replace("significantly better", "")


def _ranking_rows(page: str) -> list[tuple[str, str]]:
    """Return (model, cell of the models that it is significantly better than) in the order of the ranking."""
    table = page.partition("Significantly better than")[2].partition("</table>")[0]
    return re.findall(r'<th scope="row"><div>(\w+).*?class="names">([^<]*)</td>', table, re.DOTALL)


def _ranked(page: str) -> list[str]:
    return [model for model, _ in _ranking_rows(page)]


def _better_than(page: str) -> set[tuple[str, str]]:
    pairs = set()
    for model, cell in _ranking_rows(page):
        others = [name for name in MODELS if name != model] if cell == "all others" else cell.split(", ")
        pairs |= {(model, other) for other in others if other != "none"}
    return pairs


def _shaded_cells(page: str) -> set[tuple[str, str]]:
    cells = re.findall(r'class="number ?(ahead|behind)?" title="(\w+) − (\w+):', page)
    assert len(cells) >= 6
    ahead = {(row, column) for side, row, column in cells if side == "ahead"}
    behind = {(column, row) for side, row, column in cells if side == "behind"}
    assert ahead == behind
    return ahead
