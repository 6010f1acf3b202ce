"""The page in a real browser, through its real tasks: judge by hand, compare two answers, read a run, mark the audit sheet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from score_files import write_scores
from serve_clients import Exact, Longer, running

from bert_judge.evaluation.audit import labels
from bert_judge.labels import judge_loading
from bert_judge.report.audit_sheet import SheetRow, write_csv
from bert_judge.serve.app import make_app
from bert_judge.serve.guard import Guard
from bert_judge.serve.judge_pool import JudgePool, pairwise, pointwise
from bert_judge.serve.limits import Limits
from bert_judge.serve.metrics import Metrics
from bert_judge.serve.page import mount
from bert_judge.serve.page.requests import JudgeClient

CHROMIUM = os.environ.get("BERT_JUDGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium, or name one in BERT_JUDGE_CHROMIUM")
# What it draws or runs shows in the document's title or as an element of this id.
ATTACK = (
    "<script>document.title='x'</script><img id=evil src=x onerror=\"document.title='x'\"> ![evil](http://evil.example/x.png) "
    "[evil](javascript:alert(1)) **bold** $x^2$ ${document.title='x'} {{title}} Größe 東京 <b id=evil>bold</b>"
)


class Served:
    """The address of the page, its folder, and the file of the marks."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.labels = address, folder / "labels.csv"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("run")
    results = folder / "results"
    for model in ("ada", "bob"):
        texts = [ATTACK, *(f"{model} says {n}" for n in range(24))]
        write_scores(results / "scores", model, "sums", {"gold": "ccicx" * 5, "bert": "cicii" * 5}, candidates=texts)
    asked = [SheetRow(f"{n:016x}", f"question {n}", ["one", "two"], text) for n, text in enumerate([ATTACK, "=2+2", "Größe 東京"])]
    (results / "audit").mkdir()
    write_csv(asked, results / "audit" / "sheet.csv")
    limits, metrics = Limits(rate=0), Metrics()
    judges = {"contains": lambda: judge_loading.load_judges(["contains"])[0].judge, "exact": Exact}
    pool = JudgePool(
        {name: pointwise(name, load, limits, metrics) for name, load in judges.items()},
        {"longer": pairwise("longer", Longer, limits, metrics)},
    )
    pool.load()
    app = mount(make_app(pool, limits, metrics), JudgeClient(pool, limits), results, folder / "labels.csv")
    with running(Guard(app, limits, "127.0.0.1", None, metrics), pool, limits) as (address, _):
        yield Served(address, folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def open_tab(browser: Browser, served: Served, tab: str, width: int = 1200, scheme: str = "light") -> tuple[Page, list[str]]:
    """A tab of the page, and a list that gathers whatever is complained of and every request to another server."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith((served.address, "data:", "blob:")) else errors.append(request.url),
    )
    page.goto(served.address)
    page.get_by_role("tab", name=tab, exact=True).click()
    return page, errors


def box(page: Page, name: str) -> Locator:
    """A box for text, of one line or several."""
    return page.locator(f"#{name}").locator("textarea, input")


def check_unharmed(page: Page, errors: list[str]) -> None:
    assert page.title() == "bert-judge"
    assert page.locator("#evil").count() == 0
    assert errors == []
    page.close()


def cells(page: Page, table: str) -> list[list[str]]:
    """The rows of a table."""
    return [row.locator("td").all_inner_texts() for row in page.locator(f"#{table} tbody tr").all()]


def test_an_answer_is_judged_by_hand_under_every_judge(browser: Browser, served: Served) -> None:
    page, errors = open_tab(browser, served, "Judge")
    page.get_by_label("References, one per line").first.fill("Lyon\nMarseille")
    box(page, "answer").fill(f"It is Marseille. {ATTACK}")
    page.click("#judge")
    expect(page.locator("#verdicts")).to_contain_text("incorrect")
    contains, exact = cells(page, "verdicts")
    assert contains[:3] == ["contains", "✓ correct", "1.000"] and exact[:3] == ["exact", "✗ incorrect", "0.000"]
    # Which part of the answer was compared, in full, and with which reference.
    assert contains[3].startswith("full_text: “It is Marseille. <script>") and contains[3].endswith(
        "closest reference: “Marseille”"
    )
    colours = "[...document.querySelectorAll('#verdicts .verdict')].map((mark) => getComputedStyle(mark).color)"
    assert page.evaluate(colours) == ["rgb(17, 99, 41)", "rgb(164, 14, 38)"]
    check_unharmed(page, errors)


def test_a_fault_is_told_in_words(browser: Browser, served: Served) -> None:
    page, errors = open_tab(browser, served, "Judge")
    page.get_by_label("References, one per line").first.fill(" ")
    page.click("#judge")
    expect(page.get_by_text("no reference given; enter one per line")).to_be_visible()
    check_unharmed(page, errors)


def test_two_answers_are_compared(browser: Browser, served: Served) -> None:
    page, errors = open_tab(browser, served, "Compare")
    box(page, "answer-a").fill(ATTACK)
    box(page, "answer-b").fill("Paris")
    page.click("#compare")
    expect(page.locator("#sides")).to_contain_text("exact")
    assert [row[:4] for row in cells(page, "sides")] == [
        ["longer", "A", "1.000", "0.000"],
        ["contains", "B", "0.000", "1.000"],
        ["exact", "B", "0.000", "1.000"],
    ]
    check_unharmed(page, errors)


def test_a_run_is_read_and_its_texts_are_text(browser: Browser, served: Served) -> None:
    page, errors = open_tab(browser, served, "Answers")
    where = box(page, "summary")
    expect(where).to_have_value("1 to 20 of 25 answers; click one to read it in full")
    page.click("#next-page")
    expect(where).to_have_value("21 to 25 of 25 answers; click one to read it in full")
    page.locator("#show input").click()
    page.get_by_role("option", name="judges disagree").click()
    expect(where).to_have_value("1 to 15 of 15 answers; click one to read it in full")
    page.locator("#show input").click()
    page.get_by_role("option", name="all answers").click()
    box(page, "search").fill("DOCUMENT.title")
    box(page, "search").press("Enter")
    expect(where).to_have_value("1 to 1 of 1 answers; click one to read it in full")
    page.locator("#rows td").nth(1).click()
    expect(box(page, "full-answer")).to_have_value(ATTACK)
    assert cells(page, "answer-verdicts") == [["gold", "✓ correct", "0.900"], ["bert", "✓ correct", "0.900"]]
    check_unharmed(page, errors)


def test_an_audit_is_marked_and_the_workflow_reads_it(browser: Browser, served: Served) -> None:
    page, errors = open_tab(browser, served, "Audit")
    progress, candidate = box(page, "progress"), box(page, "candidate")
    expect(candidate).to_have_value(ATTACK)
    page.click("#incorrect")
    expect(candidate).to_have_value("=2+2")
    page.click("#cannot-tell")
    expect(candidate).to_have_value("Größe 東京")
    page.click("#correct")
    expect(progress).to_have_value(f"Answer 3 of 3; 3 labelled; saved in {served.labels}")
    page.click("#clear")
    expect(progress).to_have_value(f"Answer 3 of 3; 2 labelled; saved in {served.labels}")
    page.click("#previous")
    expect(box(page, "label")).to_have_value("cannot tell")
    found = labels.read_labels(served.labels)
    assert list(found) == [f"{0:016x}", f"{1:016x}"]
    assert found[f"{0:016x}"] == 0.0 and found[f"{1:016x}"] != found[f"{1:016x}"]
    check_unharmed(page, errors)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "dark"), (420, "light")])
@pytest.mark.parametrize("tab", ["Judge", "Compare", "Answers", "Audit"])
def test_the_page_fits_a_phone_and_the_night(browser: Browser, served: Served, tab: str, width: int, scheme: str) -> None:
    page, errors = open_tab(browser, served, tab, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    check_unharmed(page, errors)
