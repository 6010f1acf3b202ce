"""The page for those who come from other programs: what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bert_judge import config
from bert_judge.cli import app

ROOT = Path(__file__).parents[2]
PAGES = ("coming_from.md", "ecosystem.md", "scoring.md")
TEXT = {name: (ROOT / "docs" / name).read_text("utf-8") for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_every_command_and_option_exists(name: str) -> None:
    commands = re.findall(r"bert-judge (\w+)((?:[^\n`|]|\\\n)*)", TEXT[name])
    assert commands
    for command, rest in commands:
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300", "TERM": "dumb"})
        assert shown.exit_code == 0, command
        told = set(re.findall(r"--[\w-]+", re.sub(r"\x1b\[[\d;]*m", "", shown.stdout)))
        assert set(re.findall(r"--[\w-]+", rest)) <= told, (command, rest)


@pytest.mark.parametrize("name", ["coming_from.md", "ecosystem.md"])
def test_every_configuration_is_sound(name: str) -> None:
    for block in re.findall(r"```yaml\n(.*?)```", TEXT[name], re.DOTALL):
        assert config.parse(yaml.safe_load(block)).scorers


def test_every_key_that_a_block_names_is_one_of_ours() -> None:
    """In the right column: `training: {epochs, …}` and the like."""
    for block, model in (("training", config.Training), ("input", config.Input)):
        for keys in re.findall(rf"`{block}: {{([^}}:]+)}}`", TEXT["coming_from.md"]):
            assert set(keys.split(", ")) <= set(model.model_fields)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT[name]):
        assert (ROOT / "docs" / target).exists(), target
