"""Reading of the YAML files of this package."""

from pathlib import Path
from typing import Any

import yaml


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file. Parsed in C where PyYAML has it: the word lists take half a second otherwise."""
    return yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
