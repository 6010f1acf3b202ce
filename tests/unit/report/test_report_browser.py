"""Test the report in a real browser: charts are drawn, answers filtered and sorted, without console errors or external requests."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pictures
import pytest
from helpers.score_files import write_scores
from playwright.sync_api import Browser, Page, expect, sync_playwright
from test_report import ATTACK, HEBREW, run

from bert_judge.report.audit_sheet import write_sheet

CHROMIUM = os.environ.get("BERT_JUDGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium, or name one in BERT_JUDGE_CHROMIUM")
MODELS = {
    "ada": {"gold": "ccci" * 20, "strict": "icxi" * 20, "bert": "cccc" * 20},
    "bob": {"gold": "ciii" * 20, "strict": "ciix" * 20, "bert": "ciii" * 20},
    "cyd": {"gold": "cici" * 20, "strict": "xxxx" * 20, "bert": "cici" * 20},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    files = []
    for model, verdicts in MODELS.items():
        texts = [ATTACK, HEBREW, *(f"{model} says {i}" for i in range(78))]
        files.append(write_scores(folder, model, "sums", verdicts, candidates=texts))
        files.append(write_scores(folder, model, "proofs", verdicts, status="truncated"))
    return run(folder, files, metrics={"accuracy": 0.9})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def open_report(
    browser: Browser, report: Path, fragment: str = "", width: int = 1200, scheme: str = "light"
) -> tuple[Page, list[str]]:
    """Return the page, and a list that collects console errors and external requests."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else errors.append(request.url))
    page.goto(f"{report.as_uri()}{fragment}")
    page.wait_for_selector("html[data-rows=ready]", state="attached")
    return page, errors


def answer_count(page: Page) -> str:
    return page.locator("#count").inner_text()


def column(page: Page, field: str) -> list[str]:
    return page.locator(f".tabulator-row [tabulator-field={field}]").all_inner_texts()


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (420, "light")])
def test_charts_are_drawn_and_the_page_fits_the_screen(browser: Browser, report: Path, width: int, scheme: str) -> None:
    page, errors = open_report(browser, report, width=width, scheme=scheme)
    assert page.locator("#chart-ranks .trace").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") == width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    # Charts follow the colour scheme.
    ink = page.evaluate("getComputedStyle(document.querySelector('#chart-ranks .trace path.js-line')).stroke")
    assert ink == ("rgb(89, 99, 110)" if scheme == "light" else "rgb(154, 165, 177)")
    assert errors == []
    page.close()


@pytest.fixture(scope="module")
def eleven_judges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eleven")
    judges = ["gold", "bert", *(f"rule_with_a_long_name_{i}" for i in range(9))]
    letters = {judge: "ccix" if judge.startswith("rule") else "ccii" for judge in judges}
    models = ("simulated-expert-freestyle", "bob")
    files = [write_scores(folder, model, task, letters) for model in models for task in ("sums", "proofs")]
    return run(folder, files, judges=judges)


@pytest.mark.parametrize("width", [1200, 420])
def test_eleven_judges_are_readable(browser: Browser, eleven_judges: Path, width: int) -> None:
    page, errors = open_report(browser, eleven_judges, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # Only the first chart of accuracies is open.
    assert page.locator("#accuracy details").count() == 3 and page.locator("#accuracy details[open]").count() == 1
    colours = page.evaluate("[...document.querySelectorAll('.legend .shape')].map((mark) => getComputedStyle(mark).borderColor)")
    assert len(set(colours)) == 11
    # Every number of a cell is on its own line.
    cell = page.locator("#standings-table td.number", has_text="invalid").first
    further_lines = ["25.0% invalid", "66.7\xa0without\xa0invalid"]
    assert cell.inner_text().split("\n") == ["50.0", "21.5–78.5", *(further_lines if width > 500 else [])]
    # On a phone, a tap shows the others; nothing there depends on a pointer that hovers.
    cell.click()
    assert page.locator("#detail").inner_text() == ("" if width > 500 else "; ".join(further_lines))
    assert "hover" not in page.locator("main").inner_text().lower()
    page.evaluate("document.querySelectorAll('details').forEach((panel) => { panel.open = true; })")
    page.wait_for_timeout(200)
    for index in range(page.locator(".scroll table").count()):
        table = page.locator(".scroll").filter(has=page.locator("table")).nth(index)
        is_wide = table.evaluate("(element) => element.scrollWidth > element.clientWidth + 1")
        assert table.evaluate("(element) => element.classList.contains('cut-off')") == is_wide
        table.evaluate("(element) => { element.scrollLeft = element.scrollWidth; }")
        expect(table).not_to_have_class(re.compile("cut-off"))
        last = table.locator("tr").first.locator("th, td").last
        assert last.evaluate("(cell) => cell.getBoundingClientRect().right") <= width
    answers = page.locator("#answers .tabulator-tableholder")
    answers.evaluate("(element) => { element.scrollLeft = element.scrollWidth; }")
    last = page.locator(".tabulator-row").first.locator("[tabulator-field=judge10]")
    assert last.evaluate("(cell) => cell.getBoundingClientRect().right") <= width
    assert errors == []
    page.close()


def test_answers_can_be_filtered_and_sorted_and_the_url_stores_it(browser: Browser, report: Path) -> None:
    page, errors = open_report(browser, report)
    assert answer_count(page) == "480"
    page.select_option("[name=task]", "sums")
    page.select_option("[name=show]", "errs")
    expect(page.locator("#count")).to_have_text("20")
    assert set(column(page, "model")) == {"ada"}
    page.select_option("[name=show]", "")
    page.fill("[name=q]", "SAYS 1")
    expect(page.locator("#count")).to_have_text("33")
    page.locator("[tabulator-field=model].tabulator-col").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("sort=model"))
    assert column(page, "model") == sorted(column(page, "model"))
    address = page.evaluate("location.hash")
    assert "q=SAYS+1" in address and "task=sums" in address
    reopened, more_errors = open_report(browser, report, address)
    assert answer_count(reopened) == "33"
    assert column(reopened, "model") == column(page, "model")
    assert reopened.input_value("[name=q]") == "SAYS 1"
    assert errors == more_errors == []
    page.close()
    reopened.close()


def test_an_answer_opens_by_keyboard_and_is_escaped(browser: Browser, report: Path) -> None:
    page, errors = open_report(browser, report)
    page.fill("[name=q]", "alert('x')")
    expect(page.locator("#count")).to_have_text("3")
    page.locator(".tabulator-row").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#answer-text").inner_text() == ATTACK
    assert page.locator("#answer-question").inner_text() == "question 0 of sums"
    assert page.locator("#answer-verdicts li").count() == 3
    first = page.locator("#answer-where").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#answer-where").inner_text() != first
    assert "row=" in page.evaluate("location.hash")
    page.keyboard.press("Escape")
    assert not page.locator("#answer").is_visible()
    assert errors == []
    page.close()


def test_hostile_names_and_texts_run_nothing(browser: Browser, tmp_path: Path) -> None:
    """In the report and on the audit sheet. Models and tasks are names of files, so they have no slash."""
    hostile = "<img id=evil src=x onerror=document.title='owned'>"
    verdicts = {"gold": "ci", hostile: "cc"}
    files = [write_scores(tmp_path, model, f"task {hostile}", verdicts, candidates=[ATTACK, hostile]) for model in (hostile, "bob")]
    report = run(tmp_path, files, judges=["gold", hostile], trained=[])
    draw = {"judge": hostile, "size": 10, "design": "uniform", "seed": 0}
    write_sheet(draw, scores=files, labels=[], sheet=tmp_path / "sheet.csv", page=tmp_path / "sheet.html")
    page, errors = open_report(browser, report)
    assert answer_count(page) == "4" and page.locator("#evil").count() == 0
    page.goto((tmp_path / "sheet.html").as_uri())
    assert hostile in page.inner_text("main") and ATTACK in page.inner_text("main")
    assert page.locator("#evil").count() == 0 and page.title() != "owned"
    assert errors == []
    page.close()


def test_empty_run(browser: Browser, tmp_path: Path) -> None:
    report = run(tmp_path, [write_scores(tmp_path, "ada", "sums", dict.fromkeys(("gold", "strict", "bert"), ""))])
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(report.as_uri())
    assert "There are no answers yet" in page.inner_text("#rows")
    assert errors == []
    page.close()


def test_tables_take_the_width_and_the_rank_shift_is_in_sight_on_a_phone(browser: Browser, report: Path) -> None:
    page, _ = open_report(browser, report)
    room = page.locator("main").evaluate("e => e.clientWidth - 32")
    widths = page.locator(".scroll > .sortable").evaluate_all("tables => tables.map((table) => table.offsetWidth).filter(Boolean)")
    assert widths and min(widths) >= room - 1
    assert page.get_by_text("Accuracy of the row’s model minus").first.evaluate("e => e.getClientRects().length") == 1
    page.close()
    page, _ = open_report(browser, report, width=420)
    box = page.get_by_role("columnheader", name="Largest rank shift").bounding_box()
    assert box and box["x"] + box["width"] <= 420
    page.close()


def test_the_pictures_of_the_gallery_are_taken(browser: Browser, report: Path, tmp_path: Path) -> None:
    # Its judges have no scores to calibrate.
    of_report = {name: picture for name, picture in pictures.REPORT.items() if name != "report_calibration"}
    pictures.take(browser, report, of_report, tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == of_report.keys()
    assert pictures.REPORT.keys() | pictures.SHEET.keys() < {path.stem for path in pictures.IMAGES.iterdir()}
    # Not the same part of the page twice.
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == len(of_report)
