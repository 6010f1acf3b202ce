"""What the cards of all trained judges share: front matter, version, spec, and the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import yaml

from bert_judge import __version__, tables


def write_readme(
    folder: str | Path, template: str, base_model: str, task: str, purpose: str, spec: Mapping[str, Any], **values: Any
) -> None:
    """Write `README.md` in the form that model hubs read.

    Args:
        folder: of the judge.
        template: of Jinja; it may name `front_matter`, `version`, `spec` and all of `values`, and nothing else.
        base_model: what the judge was trained from.
        task: `pipeline_tag` of the hub.
        purpose: the last tag of the front matter.
        spec: all that the judge depends on.
    """
    front_matter = {
        "library_name": "transformers",
        "pipeline_tag": task,
        "base_model": base_model,
        "tags": ["bert-judge", "evaluation", purpose],
    }
    text = (
        jinja2.Environment(undefined=jinja2.StrictUndefined)
        .from_string(template)
        .render(
            front_matter=yaml.safe_dump(front_matter, sort_keys=False),
            version=__version__,
            spec=json.dumps(spec, indent=2, ensure_ascii=False),
            **values,
        )
    )
    with tables.atomic(Path(folder) / "README.md") as temporary:
        temporary.write_text(text, encoding="utf-8")
