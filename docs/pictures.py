"""Take the pictures of the report and of the audit sheet that the gallery shows, with headless Chromium.

    make demo && bert-judge score --example && bert-judge audit example.csv
    python docs/pictures.py results/report.html example.audit/sheet.html [--folder docs/images]

Needs playwright, Pillow and an installed Chromium (or BERT_JUDGE_CHROMIUM).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

# Picture → size of the window, what is scrolled to, and what is shown; empty: the top of the page, and the window.
REPORT = {
    "report_top": (900, 760, "", ""),
    "report_ranks": (900, 760, "", "#judges svg"),
    "report_calibration": (900, 760, "", "#trust .pair"),
    "report_rows": (1120, 640, "#rows", ""),
}
SHEET = {"audit_sheet": (900, 560, "", "")}
COLORS = 256
IMAGES = Path(__file__).with_name("images")


def take(browser: Browser, file: Path, pictures: dict[str, tuple[int, int, str, str]], folder: Path) -> None:
    """Write each picture of a page to a PNG file in the folder."""
    for name, (width, height, place, element) in pictures.items():
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(file.absolute().as_uri())
        page.wait_for_load_state("networkidle")
        if place:
            page.locator(place).evaluate("section => section.scrollIntoView({behavior: 'instant'})")
        path = folder / f"{name}.png"
        shown = page.locator(element).first if element else page
        shown.screenshot(path=path)
        page.close()
        Image.open(path).convert("RGB").quantize(COLORS).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("sheet", type=Path)
    parser.add_argument("--folder", type=Path, default=IMAGES)
    options = parser.parse_args()
    if missing := [path for path in (options.report, options.sheet, options.folder) if not path.exists()]:
        sys.exit(f"{missing[0]}: no such file or folder")
    chromium = os.environ.get("BERT_JUDGE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no browser: install chromium, or name one in BERT_JUDGE_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        take(browser, options.report, REPORT, options.folder)
        take(browser, options.sheet, SHEET, options.folder)
        browser.close()


if __name__ == "__main__":
    main()
