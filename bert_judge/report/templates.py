"""Load templates and resources of HTML pages, and hash their scripts for the content security policy."""

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """Return a template environment that escapes every value and fails on undefined ones."""
    return Environment(
        loader=PackageLoader("bert_judge", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def resource(name: str) -> str:
    """Return the text of a file of this package, such as a style sheet."""
    return resources.files("bert_judge.report").joinpath(name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """Return the source expression that allows a script in the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
