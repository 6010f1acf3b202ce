"""Test the pairs section in a real browser: its chart is drawn, and the page fits the screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from score_files import write_scores
from test_pair_views import build
from test_report import run
from test_report_browser import CHROMIUM, browser, open_report

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium, or name one in BERT_JUDGE_CHROMIUM")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (420, "dark")])
def test_rank_chart(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    scores = [write_scores(tmp_path, "ada", "sums", {"gold": "ci", "strict": "ci", "bert": "ci"})]
    page, errors = open_report(browser, run(tmp_path, scores, pairs=build(tmp_path)), "#pairs", width, scheme)
    chart = page.locator("#chart-pair-ranks-0")
    # Three judges with ranks, three models each, every marker with its interval.
    assert chart.locator(".trace.scatter").count() == 3
    assert chart.locator(".xerror").count() == 9
    assert chart.locator(".ytick text").all_text_contents() == ["ann", "cyd", "<b>bob</b>"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # Intervals have the colours of their judges.
    strokes = "[...document.querySelectorAll('#chart-pair-ranks-0 .xerror')].map((mark) => getComputedStyle(mark).stroke)"
    assert page.evaluate(f"new Set({strokes}).size") == 3
    assert errors == []
    page.close()
