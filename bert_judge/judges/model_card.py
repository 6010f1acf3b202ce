"""The model card, `README.md`, in the form that model hubs read: front matter, title, introduction, sections, specification."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import yaml

from bert_judge import __version__, tables

if TYPE_CHECKING:
    from bert_judge.encoder.checkpoint import JudgeMetadata


def write_model_card(
    folder: str | Path,
    *,
    title: str,
    introduction: str,
    sections: Mapping[str, str] | None = None,
    base_model: str | None = None,
    pipeline_tag: str | None = None,
    tags: Sequence[str] = (),
    spec: Mapping[str, Any] | None = None,
) -> None:
    """Write `README.md` into the folder of a model.

    Args:
        introduction: Markdown, which may have sections.
        sections: heading → Markdown; empty ones are left out.
        tags: of the front matter, after `bert-judge`.
        spec: everything the model depends on, shown as JSON in the last section.
    """
    front_matter = {
        "library_name": "transformers",
        "pipeline_tag": pipeline_tag,
        "base_model": base_model,
        "tags": ["bert-judge", *tags],
    }
    fields = {key: value for key, value in front_matter.items() if value is not None}
    blocks = [f"---\n{yaml.safe_dump(fields, sort_keys=False)}---", f"# {title}", introduction]
    specification = "" if spec is None else f"```json\n{json.dumps(spec, indent=2, ensure_ascii=False)}\n```"
    for heading, text in [*(sections or {}).items(), ("Full specification", specification)]:
        if text:
            blocks += [f"## {heading}", text]
    with tables.atomic(Path(folder) / "README.md") as temporary:
        temporary.write_text("\n\n".join(block.strip("\n") for block in blocks) + "\n", encoding="utf-8")


def describe_tuning(tuning: Mapping[str, Any], statistics: Mapping[str, float]) -> dict[str, str]:
    """Return how a language model was fine-tuned, from settings of `config.Tuning` and the metrics of the run, for its card."""
    method = f"LoRA of rank {tuning['lora']['rank']}" if tuning["method"] == "lora" else "all weights"
    epochs, rate = f"{tuning['epochs']:g} epochs, {statistics['steps']:g} steps", f"learning rate {tuning['learning_rate']:g}"
    return {
        "method": f"{method}, {epochs}, {rate}",
        "training loss": f"{statistics['loss']:.4f} (mean over the run, completions only)",
    }


def write_encoder_card(folder: Path, metadata: JudgeMetadata, introduction: str, tag: str) -> None:
    """Write the card of a judge that is an encoder, of answers or of pairs."""
    write_model_card(
        folder,
        title=metadata.spec["judge"],
        introduction=introduction,
        base_model=metadata.backbone,
        pipeline_tag="text-classification",
        tags=("evaluation", tag),
        spec=metadata.spec,
    )


def render(template: str, **values: Any) -> str:
    """Render a Markdown template in the folder of judges, such as `bert/card.md.jinja`."""
    loader = jinja2.PackageLoader("bert_judge", "judges")
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(version=__version__, **values)


def set_section(folder: Path, heading: str, text: str) -> None:
    """Add a section to the model card of a folder, at the end, or replace it."""
    path = folder / "README.md"
    before, _, rest = path.read_text("utf-8").partition(f"## {heading}\n")
    after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
    with tables.atomic(path) as temporary:
        temporary.write_text(f"{before.rstrip()}\n\n## {heading}\n\n{text.strip()}\n{after and chr(10) + after}", encoding="utf-8")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render a Markdown table, one line per row; the caller formats numbers."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def metrics_table(metrics: Mapping[str, float], exclude: Sequence[str] = ("n",)) -> str:
    """Render metric → value as a Markdown table, four significant digits."""
    return markdown_table(("metric", "value"), [(name, f"{value:.4g}") for name, value in metrics.items() if name not in exclude])
