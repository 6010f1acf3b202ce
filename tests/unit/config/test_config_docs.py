"""What is generated from the configuration model agrees with it, and with what lies in the repository."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import reference
import yaml
from helpers.default_run import DEFAULT_RUN

from bert_judge import plan
from bert_judge.plan import configuration

ROOT = Path(__file__).parents[3]


def test_the_schema_of_the_repository_is_up_to_date() -> None:
    assert reference.SCHEMA_FILE.read_text("utf-8") == reference.schema_json(), "run `python docs/reference.py`"


def test_the_default_run_has_no_fault() -> None:
    assert plan.build_plan(DEFAULT_RUN).score_tables


def blocks() -> dict[str, Any]:
    schema = configuration.json_schema()
    return {"The top level": schema, **schema["$defs"]}


@pytest.mark.parametrize("name", blocks())
def test_every_key_is_in_the_reference_with_its_meaning(name: str) -> None:
    section = re.search(rf"^### {re.escape(name)}\n(.*?)(?=^### |\Z)", reference.reference(), re.DOTALL | re.MULTILINE)
    assert section
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", section[1], re.MULTILINE)
    assert [key for key, *_ in rows] == list(blocks()[name]["properties"])
    assert all(cell.strip() for row in rows for cell in row)


def test_the_schema_knows_the_words_of_the_file() -> None:
    schema = json.loads(reference.schema_json())
    assert "from" in schema["$defs"]["ImportedModel"]["properties"]
    assert "source" not in schema["$defs"]["ImportedModel"]["properties"]


@pytest.mark.parametrize(
    "path",
    [ROOT / "config.yaml", ROOT / ".test/config.yaml", ROOT / "config/config.yaml", *sorted((ROOT / "configs").glob("*.yaml"))],
    ids=lambda path: path.name,
)
def test_every_configuration_names_its_schema(path: Path) -> None:
    first = path.read_text("utf-8").splitlines()[0]
    named = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert named, first
    assert (path.parent / named[1]).resolve() == reference.SCHEMA_FILE


def test_the_five_lines_for_your_own_answers_have_no_fault(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "real_answers.md").read_text("utf-8")
    lines = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    assert len(lines.splitlines()) == 5
    raw = yaml.safe_load(lines)
    answers, checkpoint = raw["imports"]["mine"], raw["judges"]["judge"]
    assert (Path(answers["path"]).suffix, Path(checkpoint["checkpoint"]).name) == (".csv", "bert")
    answers["path"], checkpoint["checkpoint"] = str(tmp_path / "answers.csv"), str(tmp_path)
    (tmp_path / "answers.csv").write_text("question,references,candidate,model\nCapital?,Paris,Paris!,New Bing\n", "utf-8")
    assert plan.build_plan(raw).score_tables == [("New-Bing", "mine")]


def test_every_file_of_the_configurations_is_described() -> None:
    rows = list(csv.DictReader((ROOT / "docs" / "real_answers.csv").open(encoding="utf-8")))
    files, configurations = {row["file"] for row in rows}, {name for row in rows for name in row["configuration"].split(", ")}
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        paths = {entry["path"] for entry in yaml.safe_load(path.read_text("utf-8")).get("imports", {}).values()}
        assert paths - files == set()
        assert not paths or path.name in configurations


def test_the_two_configurations_of_the_catalogue_are_one_file() -> None:
    assert (ROOT / ".test/config.yaml").resolve() == ROOT / "config/config.yaml"
