"""The page in a real browser: judge an answer by hand, and compare two answers."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from helpers.serve_clients import Exact, Longer, running
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bert_judge.judges.protocol import Judge, Label, Row, decided
from bert_judge.judges.registry import ScoreDescription
from bert_judge.labels import judge_loading
from bert_judge.serve.app import make_app
from bert_judge.serve.guard import Guard
from bert_judge.serve.judge_pool import JudgePool, pairwise, pointwise
from bert_judge.serve.limits import Limits, Metrics

CHROMIUM = os.environ.get("BERT_JUDGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium, or name one in BERT_JUDGE_CHROMIUM")
# What it draws or runs shows in the document's title or as an element of this id.
ATTACK = (
    "<script>document.title='x'</script><img id=evil src=x onerror=\"document.title='x'\"> ![evil](http://evil.example/x.png) "
    "[evil](javascript:alert(1)) **bold** $x^2$ ${document.title='x'} {{title}} Größe 東京 <b id=evil>bold</b>"
)


@contextmanager
def serving(
    judges: Mapping[str, Callable[[], Judge]], needs_references: bool = True, scores: Mapping[str, ScoreDescription] | None = None
) -> Iterator[str]:
    """Serve judges of single answers, and one of two; the value is the address."""
    limits, metrics = Limits(rate=0), Metrics()
    pool = JudgePool(
        {name: pointwise(name, load, limits, metrics, needs_references=needs_references) for name, load in judges.items()},
        {"longer": pairwise("longer", Longer, limits, metrics)},
        scores=scores or {},
    )
    pool.load()
    with running(Guard(make_app(pool, limits, metrics), limits, "127.0.0.1", None, metrics=metrics), pool, limits) as (address, _):
        yield address


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving({"contains": lambda: judge_loading.load_judges(["contains"])[0].judge, "exact": Exact}) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def open_page(browser: Browser, address: str, width: int = 1200, scheme: str = "light") -> tuple[Page, list[str]]:
    """The page, and a list that gathers whatever is complained of and every request to another server."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((address, "data:")) else errors.append(request.url))
    page.goto(address)
    expect(page.get_by_label("longer")).to_be_checked()
    for box in page.locator("#judges input").all():
        box.check()
    return page, errors


def check_unharmed(page: Page, errors: list[str]) -> None:
    assert page.title() == "bert-judge"
    assert page.locator("#evil").count() == 0
    assert errors == []
    page.close()


def cells(page: Page) -> list[list[str]]:
    return [row.locator("td").all_inner_texts() for row in page.locator("#verdicts tbody tr").all()]


def test_an_answer_is_judged_by_hand_under_every_judge(browser: Browser, address: str) -> None:
    page, errors = open_page(browser, address)
    page.fill("#references", "Lyon\nMarseille")
    page.fill("#answer", f"It is Marseille. {ATTACK}")
    page.get_by_role("button", name="Judge").click()
    expect(page.locator("#verdicts")).to_contain_text("incorrect")
    contains, exact = cells(page)
    assert contains[:3] == ["contains", "✓ correct", "1.000"] and exact == ["exact", "✗ incorrect", "0.000", ""]
    # What was found, and nothing of the answer again.
    assert contains[3] == 'contains: found "Marseille"'
    page.fill("#references", " ")
    page.get_by_role("button", name="Judge").click()
    expect(page.get_by_text("no reference given; enter one per line")).to_be_visible()
    check_unharmed(page, errors)


def test_two_answers_are_compared(browser: Browser, address: str) -> None:
    page, errors = open_page(browser, address)
    page.fill("#answer", ATTACK)
    page.fill("#other", "Paris")
    page.get_by_role("button", name="Judge").click()
    expect(page.locator("#verdicts")).to_contain_text("exact")
    assert cells(page)[1][4] == 'A: contains: did not find "Paris"\nB: identical to a reference'
    assert [row[:4] for row in cells(page)] == [
        ["longer", "A", "1.000", "0.000"],
        ["contains", "B", "✗ incorrect 0.000", "✓ correct 1.000"],
        ["exact", "B", "✗ incorrect 0.000", "✓ correct 1.000"],
    ]
    check_unharmed(page, errors)


def test_an_example_fills_the_form_and_is_judged(browser: Browser, address: str) -> None:
    page, errors = open_page(browser, address)
    page.get_by_role("button", name="two answers").click()
    expect(page.locator("#verdicts")).to_contain_text("contains")
    assert page.input_value("#question") == "Who wrote Faust?" and page.input_value("#other")
    assert ["contains", "A"] in [row[:2] for row in cells(page)]
    check_unharmed(page, errors)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.csv",
            '\ufeffquestion,reference,answer,note\n"Who, then?",Goethe,"It is ""Goethe"", I\nthink.",a\n?,Paris,London,"b;c"\n',
        ),
        ("a.tsv", "prompt\tgold\tresponse\n?\tGoethe\tGoethe!\n?\tParis\tLondon\n"),
        (
            "a.jsonl",
            '{"question": "?", "references": ["x", "Goethe"], "candidate": "Goethe."}\n{"question": "?", "references": "x"}\n',
        ),
    ],
)
def test_a_file_is_judged_and_saved_with_its_verdicts(browser: Browser, address: str, name: str, text: str) -> None:
    page, errors = open_page(browser, address)
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": text.encode()})
    expect(page.locator("#summary")).to_contain_text("contains: 1 of 2 answers are correct (50.0%).")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save with verdicts").click()
    saved = pd.read_csv(download.value.path())
    assert download.value.suggested_filename == "a.scored.csv" and list(saved["verdict"]) == ["correct", "incorrect"]
    assert saved["reason"][1] == 'contains: did not find "Paris"' or name == "a.jsonl"
    if name == "a.csv":
        assert saved["answer"][0] == 'It is "Goethe", I\nthink.' and list(saved["note"]) == ["a", "b;c"]
    check_unharmed(page, errors)


def test_a_file_without_a_column_is_refused_with_the_names_that_count(browser: Browser, address: str) -> None:
    page, errors = open_page(browser, address)
    page.set_input_files("#file", {"name": "b.csv", "mimeType": "text/csv", "buffer": b"question,text\n?,x\n"})
    expect(page.locator("#error")).to_contain_text("b.csv: no column for the references; name one references or reference")
    check_unharmed(page, errors)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "dark"), (420, "light")])
def test_the_page_fits_a_phone_and_the_night(browser: Browser, address: str, width: int, scheme: str) -> None:
    page, errors = open_page(browser, address, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate("getComputedStyle(document.getElementById('error')).color")
    page.fill("#other", "Paris")
    page.get_by_role("button", name="Judge").click()
    expect(page.locator("#verdicts")).to_contain_text("exact")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Neither a number nor a name is broken within its word.
    heights = [cell.bounding_box()["height"] for cell in page.locator("#verdicts tbody td:not(:last-child)").all()]
    assert all(row.bounding_box()["height"] < 40 for row in page.locator("#verdicts thead tr").all()), heights
    assert colours == ("rgb(255, 139, 148)" if scheme == "dark" else "rgb(164, 14, 38)")
    check_unharmed(page, errors)


def test_several_answers_are_ranked(browser: Browser, address: str) -> None:
    """Judges of single answers rank by score, those of two answers by the comparisons that each wins."""
    page, errors = open_page(browser, address)
    page.fill("#answer", "It is Paris.")
    page.fill("#other", ATTACK)
    for text in ("Paris", "Rome"):
        page.get_by_role("button", name="Another answer").click()
        page.locator("#answers textarea").last.fill(text)
    page.get_by_role("button", name="Judge", exact=True).click()
    expect(page.locator("#verdicts")).to_contain_text("exact")
    assert cells(page) == [
        ["longer", "2 (0.667)", "1 (1.000)", "3 (0.333)", "4 (0.000)"],
        ["contains", "1 (1.000)", "3 (0.000)", "1 (1.000)", "3 (0.000)"],
        ["exact", "2 (0.000)", "2 (0.000)", "1 (1.000)", "2 (0.000)"],
    ]
    check_unharmed(page, errors)


def test_a_judge_reads_the_conversation_and_a_person_sees_the_image(browser: Browser, address: str, tmp_path: Path) -> None:
    page, errors = open_page(browser, address)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data_json["question"]) if request.method == "POST" else None)
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
    (tmp_path / "flag.png").write_bytes(base64.b64decode(pixel))
    page.get_by_text("Conversation or image").click()
    page.set_input_files("#image", tmp_path / "flag.png")
    expect(page.locator("#picture")).to_be_visible()
    page.fill("#history", "User: Capital of France?\nAssistant: Paris.")
    page.fill("#question", "And of this country?")
    page.get_by_role("button", name="Judge", exact=True).click()
    expect(page.locator("#verdicts")).to_contain_text("exact")
    conversation = "Conversation so far:\nUser: Capital of France?\nAssistant: Paris.\n\nQuestion: And of this country?"
    assert asked and set(asked) == {conversation}
    check_unharmed(page, errors)


class Grader:
    """Grades every answer with 7, without looking at a reference."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [decided(0.7, reason="fluent", aspects={"grade": 7.0}) for _ in rows]


def test_grades_are_shown_of_a_judge_that_needs_no_reference(browser: Browser) -> None:
    with serving({"grader": Grader}, needs_references=False) as address:
        page, errors = open_page(browser, address)
        page.fill("#references", "")
        page.get_by_role("button", name="Judge", exact=True).click()
        expect(page.locator("#verdicts")).to_contain_text("grade 7: fluent")
        check_unharmed(page, errors)


class Similar:
    """Scores an answer by its length; verdicts on two letters are uncertain."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        lengths = [min(len(row.candidate), 9) for row in rows]
        return [decided(length / 10, 0.3, reason=f"{length} letters", certain=length != 2) for length in lengths]


SCORES = {
    "general": ScoreDescription(0.5, is_probability=True),
    "exact_match": ScoreDescription(suits="names and short facts"),
    "rouge_l_recall": ScoreDescription(0.3, suits="sentences and longer answers"),
}


@pytest.fixture(scope="module")
def three_judges() -> Iterator[str]:
    with serving(dict.fromkeys(SCORES, Similar), scores=SCORES) as address:
        yield address


def test_two_judges_are_selected_and_the_others_stand_with_what_they_are_for(browser: Browser, three_judges: str) -> None:
    page = browser.new_page()
    page.goto(three_judges)
    expect(page.get_by_label("longer")).to_be_checked()
    assert [box.is_checked() for box in map(page.get_by_label, SCORES)] == [True, True, False]
    assert page.locator("#judges div").all_inner_texts()[-1].split() == [
        "For",
        "sentences",
        "and",
        "longer",
        "answers:",
        "rouge_l_recall",
    ]
    page.close()


@pytest.mark.parametrize("width", [1200, 420])
def test_a_threshold_stands_beside_a_similarity_and_no_name_breaks(browser: Browser, three_judges: str, width: int) -> None:
    page, errors = open_page(browser, three_judges, width)
    page.fill("#answer", "ab")
    page.fill("#other", "abc")
    page.get_by_role("button", name="Judge", exact=True).click()
    expect(page.locator("#verdicts")).to_contain_text("rouge_l_recall")
    rows = {row[0]: row[2:4] for row in cells(page)}
    assert rows["rouge_l_recall"] == ["✗ incorrect 0.200 < 0.3", "✓ correct 0.300 ≥ 0.3"]
    assert rows["general"] == ["✗ incorrect 0.200 uncertain", "✓ correct 0.300"]
    note = page.locator("#meaning").inner_text()
    assert "score of general is how sure" in note and "score of rouge_l_recall is compared with the threshold" in note
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = page.locator("#verdicts tbody td:first-child").all()
    assert all(
        name.evaluate("e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length }") == 1
        for name in names
    )
    check_unharmed(page, errors)


@pytest.mark.parametrize("width", [1200, 420])
def test_a_file_shows_its_rows_and_the_uncertain_first(browser: Browser, three_judges: str, width: int) -> None:
    page, errors = open_page(browser, three_judges, width)
    text = "question,reference,answer,model\nHow?,So,abcdefgh,large\nWhy?,Thus,abcd,small\nWho?,Me,ab,large\n"
    page.set_input_files("#file", {"name": "m.csv", "mimeType": "text/csv", "buffer": text.encode()})
    expect(page.locator("#rows tbody tr")).to_have_count(3)
    rows = lambda: [row.locator("td").all_inner_texts() for row in page.locator("#rows tbody tr").all()]  # noqa: E731
    assert rows()[0] == ["How?", "So", "abcdefgh", "large", "✓ correct 0.800", "8 letters"]
    page.get_by_role("button", name="Uncertain first").click()
    assert [row[0] for row in rows()] == ["Who?", "Why?", "How?"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as download:
        page.get_by_role("link", name="Save with verdicts").click()
    saved = pd.read_csv(download.value.path())
    assert list(saved.columns[4:]) == ["verdict", "outcome", "score", "certain", "reason"]
    assert list(saved["certain"]) == [True, True, False] and saved["reason"][2] == "2 letters"
    check_unharmed(page, errors)
