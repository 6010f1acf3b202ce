"""The pages of the documentation site that are generated, and what is changed in the others for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import site_pages
import yaml
from typer.main import get_command

from bert_judge.cli import COMMANDS, app
from bert_judge.config.datasets import DEFAULT_SHARES
from bert_judge.perturbations.attacks import FAMILIES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_a_command_has_all_its_options(name: str) -> None:
    page = site_pages.command_page(name)
    program: Any = get_command(app)
    command = program.get_command(None, name).load()
    members = [command, *getattr(command, "commands", {}).values()]
    options = {option for member in members for parameter in member.params for option in parameter.opts if option.startswith("-")}
    assert page.startswith(f"# bert-judge {name}\n")
    assert {option for option in options if f"`{option}`" not in page} == set()


def test_the_page_of_the_attacks_has_every_family() -> None:
    page = site_pages.attack_families()
    lines = [f"| `{family.name}` | {family.description} | {family.source} |" for family in FAMILIES.values()]
    assert len(lines) > 80 and [line for line in lines if page.count(line) != 1] == []
    assert page.index("### padding") < page.index("`long_without_answer`") < page.index("### phrasing")
    attacks, benign = (page.index(name) for name in ("`gibberish`", "`typing_error`"))
    assert page.index("## Attacks") < attacks < page.index("## Benign") < benign


def test_the_page_of_the_real_answers_has_every_file_and_its_licence() -> None:
    page = site_pages.real_answers_files()
    source = "[openai/grade-school-math](https://github.com/openai/grade-school-math), 3101c7d50724"
    answers = "GSM8K; GPT-3 6B and 175B, fine-tuned<br>*rule, final number*"
    assert f"| gsm8k_gpt3.parquet<br>gsm8k.yaml | 2,788 | {answers} | {source}<br>MIT |\n" in page
    assert {line.count(" | ") for line in page.splitlines()[6:]} == {3}


def test_the_page_of_the_augmentation_has_every_kind() -> None:
    page = site_pages.augmentation_kinds()
    named = re.findall(r"^\| `(\w+)` \| [A-Z].*\. \| [\d.]+ \|$", page, re.MULTILINE)
    assert sorted(named) == sorted(DEFAULT_SHARES) and "| `denied` | A denied reference. | 0.03 |" in page
    section = (ROOT / "docs" / "judges.md").read_text("utf-8").partition("### Data augmentation")[2].partition("###")[0]
    assert [name for name in named if f"`{name}`" not in section] == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"[\w/]+\.md", text))
    written = {path.name for path in (ROOT / "docs").glob("*.md")}
    generated = {name for name in site_pages.generated_pages() if name.endswith(".md")}
    of_commands = set(re.findall(r"commands/\w+\.md", str(site_pages.command_pages())))
    assert listed | of_commands == written | generated and len(of_commands) == len(COMMANDS) + 1
    assert yaml.safe_load(text.partition("markdown_extensions")[0])["docs_dir"] == "docs"


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("index.md", "[a](docs/audit.md#steps) [b](LICENSE)", "[a](audit.md#steps) b"),
        (
            "audit.md",
            "[c](../README.md) [d](../configs/paper.yaml) [e](https://x.org/y.md)",
            "[c](index.md) d [e](https://x.org/y.md)",
        ),
        ("results.md", "[card](../bert_judge/judges/bert/general/README.md)", "[card](card.md)"),
        ("index.md", "![no](https://img.shields.io/x) ![plan](docs/images/pipeline.svg)", "![plan](images/pipeline.svg)"),
        (
            "a.md",
            "1. one\n\n   two\n\n       code\n   * three\n     four\n\nfive",
            "1. one\n\n    two\n\n        code\n    * three\n        four\n\nfive",
        ),
        ("a.md", "* a\n  ```sh\n  x\n    y\n  ```\nb", "* a\n    ```sh\n    x\n      y\n    ```\nb"),
    ],
)
def test_pages_of_the_repository_are_adapted(page: str, text: str, expected: str) -> None:
    assert site_pages.adapt(page, text) == f"{expected}\n"


def test_the_glossary_has_twelve_words() -> None:
    assert len(re.findall(r"^\| \*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)) == 12


def test_the_navigation_is_shown_from_1140_pixels_on() -> None:
    styles = "@media (max-width:76.234375em){.md-tabs{display:none}}@media (min-width:76.25em){.md-nav{display:block}}"
    assert site_pages.narrow_breakpoints(styles) == styles.replace("76.", "71.")
    # The widths of the installed theme are the ones that are replaced.
    theme = Path(pytest.importorskip("material").__file__).parent / "templates" / "assets"
    for pattern in ("stylesheets/main.*.css", "javascripts/bundle.*.js"):
        [path] = theme.glob(pattern)
        widths = set(re.findall(r"76\.\d+em", path.read_text("utf-8")))
        assert widths and widths <= {"76.25em", "76.234375em"}
