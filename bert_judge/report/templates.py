"""What the pages of this folder have in common: how templates are read, and what a page may run."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """Of the templates: whatever they are given is text, and what they are not given is a fault."""
    return Environment(
        loader=PackageLoader("bert_judge", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def resource(name: str) -> str:
    """A file of this folder, such as a style sheet."""
    return resources.files("bert_judge.report").joinpath(name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """The script's name in the page's content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
