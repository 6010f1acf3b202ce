"""Hooks of MkDocs, which builds the site with `make docs`: pages that are generated, and links that only work in the repository.

Generated are the first page (README.md), a page per command, the reference of the configuration, the families of attacks, the kinds
of augmented rows, the files of real answers, the model card of `general` and the notebook.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import reference
import typer
from typer.main import get_command

from bert_judge.cli import GROUPS, app
from bert_judge.config.datasets import DEFAULT_SHARES
from bert_judge.perturbations.attacks import FAMILIES
from bert_judge.perturbations.augmentation import KINDS

ROOT = Path(__file__).parents[1]
CARD = "bert_judge/judges/bert/general/README.md"
NOTEBOOK = "docs/from_csv_to_plot.ipynb"
# File of the repository → page of the site.
PAGES = {"README.md": "index.md", CARD: "card.md", NOTEBOOK: "from_csv_to_plot.md"}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
# Badges: the site loads nothing from other servers.
_BADGE = re.compile(r"!\[[^\]]*\]\(https://img\.shields\.io/[^)]*\) ?")
_ITEM = re.compile(r"( *)(?:[*-]|\d+\.) +")
_FENCE = re.compile(r" *```")


def generated_pages() -> dict[str, str | bytes]:
    """Return path on the site → content of every page, and image of one, that is no file in docs/."""
    pages: dict[str, str | bytes] = {
        "index.md": (ROOT / "README.md").read_text("utf-8"),
        "card.md": (ROOT / CARD).read_text("utf-8").partition("\n---\n")[2],
        "configuration_reference.md": f"# Configuration reference\n\n{reference.reference()}",
        "attack_families.md": attack_families(),
        "augmentation.md": augmentation_kinds(),
        "real_answers_files.md": real_answers_files(),
        "commands/index.md": command_index(),
        **{f"commands/{name}.md": command_page(name) for commands in GROUPS.values() for name in commands},
    }
    notebook = json.loads((ROOT / NOTEBOOK).read_text("utf-8"))
    pages["from_csv_to_plot.md"] = "\n\n".join(notebook_parts(notebook, pages))
    return pages


def attack_families() -> str:
    """Return the page with all attacks and all benign perturbations, a table per theme."""
    parts = ["# Attack families", "What each family of [attacks](attacks.md) is, and where it was described first."]
    for kind, heading in (("attack", "Attacks: incorrect"), ("benign_perturbation", "Benign perturbations: correct")):
        parts.append(f"## {heading}")
        families = [family for family in FAMILIES.values() if family.kind == kind]
        for theme in dict.fromkeys(family.theme for family in families):
            rows = [f"| `{f.name}` | {f.description} | {f.source} |" for f in families if f.theme == theme]
            parts += [f"### {theme}", "\n".join(["| family | description | source |", "|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def augmentation_kinds() -> str:
    """Return the page with a table of the kinds of augmented rows, from their docstrings."""
    text = "# Data augmentation\n\nThe rows of [each kind](judges.md#data-augmentation), and its share in `augment: default`.\n\n"
    rows = [f"| `{name}` | {str(kind.__doc__).splitlines()[0]} | {DEFAULT_SHARES[name]} |\n" for name, kind in KINDS.items()]
    return text + "".join(["| kind | row | share |\n|---|---|---|\n", *rows])


def real_answers_files() -> str:
    """Return the page with the table of docs/real_answers.csv, in columns that fit on a page."""
    text = "# Files of real answers\n\nWhere the [real answers](real_answers.md) come from.\n\n"
    rows = csv.DictReader((ROOT / "docs" / "real_answers.csv").read_text("utf-8").splitlines())
    lines = [
        "| file, configuration | rows | answers, and who labelled them | source with its commit, licence |",
        "|---|---|---|---|",
    ]
    for row in rows:
        configuration, file, count, answers, labels, source, licence = map(_cell, row.values())
        lines.append(f"| {file}<br>{configuration} | {int(count):,} | {answers}<br>*{labels}* | {_linked(source)}<br>{licence} |")
    return text + "\n".join(lines) + "\n"


def _linked(cell: str) -> str:
    return re.sub(r"https://github\.com/([\w./-]+\w)", r"[\1](\g<0>)", cell)


def command_index() -> str:
    """Return the page that lists the commands by what they are for."""
    lines = ["# Commands", ""]
    for group, commands in GROUPS.items():
        lines += [f"## {group}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`{name}`]({name}.md) | {line} |" for name, (_, line) in commands.items()]
        lines.append("")
    return "\n".join(lines)


def command_page(name: str) -> str:
    """Return the page of a command: its help, its arguments and its options."""
    program: Any = get_command(app)
    command = program.get_command(None, name).load()
    parts = [f"# bert-judge {name}", *_describe(f"bert-judge {name}", command)]
    for word, member in getattr(command, "commands", {}).items():
        parts += [f"## {name} {word}", *_describe(f"bert-judge {name} {word}", member)]
    return "\n\n".join(parts) + "\n"


def _describe(usage: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=usage)
    yield textwrap.dedent(command.help or "").strip()
    yield f"```text\n{' '.join([usage, *command.collect_usage_pieces(context)])}\n```"
    for kind, heading in (("argument", "argument"), ("option", "option")):
        rows = [
            f"| {_names(parameter)} | {_cell(parameter.help)} | {_default(parameter)} |"
            for parameter in command.params
            if parameter.param_type_name == kind and not getattr(parameter, "hidden", False)
        ]
        if rows:
            yield "\n".join([f"| {heading} | meaning | default |", "|---|---|---|", *rows])


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value in (None, "", False) or callable(value) else f"`{value}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", r"\|")


def notebook_parts(notebook: Mapping[str, Any], images: dict[str, str | bytes]) -> Iterator[str]:
    """Yield the cells of a notebook and their saved outputs as Markdown; `images` receives path → content of its plots."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield f"```{'sh' if source.startswith('!') else 'python'}\n{source.removeprefix('!')}\n```"
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                path = f"images/notebook_{len(images)}.png"
                images[path] = base64.b64decode(data["image/png"])
                yield f"![Plot of the notebook]({path})"
            elif "text/html" in data:
                yield re.sub(r"<style.*?</style>|\n\s*", "", "".join(data["text/html"]), flags=re.DOTALL)
            else:
                yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def site_link(page: str, target: str) -> str | None:
    """Return the link to a file of the repository as seen from a page of the site; None if the site does not have the file.

    Args:
        page: path on the site, such as `commands/run.md`.
        target: as written in the page's source, relative to it.
    """
    source = next((name for name, place in PAGES.items() if place == page), f"docs/{page}")
    path = (ROOT / source).parent.joinpath(target).resolve()
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    place = PAGES.get(name, name.removeprefix("docs/") if name.startswith("docs/") else None)
    return None if place is None else "../" * page.count("/") + place


def adapt(page: str, text: str) -> str:
    """Return Markdown of the repository for the site: its links, and lists indented by four spaces for Python-Markdown."""

    def replace(link: re.Match[str]) -> str:
        image, label, target, anchor = link.groups()
        if "://" in target or page.startswith("commands/"):
            return link[0]
        place = site_link(page, target)
        return f"{image}[{label}]({place}{anchor or ''})" if place else label

    return _indent_lists(_LINK.sub(replace, _BADGE.sub("", text)))


def _indent_lists(text: str) -> str:
    lines: list[str] = []
    # Columns at which the text of each open list item starts.
    levels: list[int] = []
    is_code = False
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        item = None if is_code else _ITEM.match(line)
        if line.strip() and not is_code:
            while levels and indent < levels[-1] and not (item and indent >= levels[-1]):
                levels.pop()
        depth = sum(indent >= level for level in levels)
        outer = levels[depth - 1] if depth else 0
        lines.append(" " * 4 * depth + line[min(outer, indent) :] if line.strip() else line)
        if item and (depth or indent == 0):
            levels = [*levels[:depth], item.end()]
        if _FENCE.match(line):
            is_code = not is_code
    return "\n".join(lines) + "\n"


def command_pages() -> list[Any]:
    """Return the part of the navigation that lists the commands, by group."""
    return ["commands/index.md", *({group: [f"commands/{name}.md" for name in names]} for group, names in GROUPS.items())]


def on_config(config: Any) -> Any:
    """Fill the section of the commands."""
    next(section for section in config["nav"] if "Commands" in section)["Commands"] = command_pages()
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the files of the site."""
    from mkdocs.structure.files import File

    for path, content in generated_pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Adapt a page of the repository to the site."""
    return adapt(page.file.src_uri, markdown)


def on_post_build(config: Any) -> None:
    """Show the navigation from 1,140 px on; mkdocs-material 9.x hides it behind a button below 1,220 px, in styles and script."""
    assets = Path(config["site_dir"]) / "assets"
    for path in [*assets.glob("stylesheets/main.*.css"), *assets.glob("javascripts/bundle.*.js")]:
        path.write_text(narrow_breakpoints(path.read_text("utf-8")), "utf-8")


def narrow_breakpoints(text: str) -> str:
    """Replace the widths at which mkdocs-material shows its navigation: 76.25em, and just below it."""
    return text.replace("76.25em", "71.25em").replace("76.234375em", "71.234375em")
