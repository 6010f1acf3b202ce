"""README and docs/ agree with the repository: the commands, options, links, paths, configurations and code that they show exist."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter
from typer.main import get_command

from bert_judge import config
from bert_judge.cli import COMMANDS, app
from bert_judge.judges.probe import ProbeJudgeConfig
from bert_judge.plan import configuration
from bert_judge.plan.configuration import config_model
from bert_judge.plan.graph import TARGETS

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
# Model cards of trained judges, and of the one in the package.
CARDS = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("bert_judge/judges/**/*.md*"))]
# Files whose comments and docstrings show commands.
COMMENTED = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for pattern in ("config.yaml", "configs/*.yaml", "examples/**/*.*", "benchmarks/*.py", "profiles/*/*.yaml", "docs/*.ipynb")
    for path in sorted(ROOT.glob(pattern))
    if path.suffix != ".pyc"
}
FOLDERS = (
    *("bert_judge", "benchmarks", "configs", "docs", "envs", "examples", "profiles", "report"),
    *("rules", "tests", "workflow_scripts"),
)
# Folders of the library by which pages shorten a path: `judges/llm/judge.py`.
PARTS = tuple(path.name for path in sorted((ROOT / "bert_judge").iterdir()) if path.is_dir())
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
# The name of our scorer on inspect_ai's command line, which looks like a path.
INSPECT_SCORER = "bert_judge/reference"
# `python -m bert_judge.cli.…` on this page are commands of BERT-as-a-Judge, whose package has the same name.
FOREIGN = re.compile(r"python -m bert_judge\.cli\.\w+[^`\n]*")


def fenced(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language, without their indentation."""
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, name, block in FENCE.findall(text) if name == language]


def code_of(text: str) -> list[str]:
    """Return the lines of code blocks, continued lines joined, and the inline code."""
    blocks = [block for _, _, block in FENCE.findall(text)]
    prose = FENCE.sub("", text)
    blocks += re.findall(r"(?:^ {4,}.*\n?)+", prose, re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", prose)


@cache
@cache
def commands() -> dict[str, set[str]]:
    """Return the options of every command of the program by its name, those of a group by `group command`."""
    program: Any = get_command(app)
    flat = {name: program.get_command(None, name).load() for name in COMMANDS}
    for group, command in [*flat.items()]:
        flat |= {f"{group} {name}": member for name, member in getattr(command, "commands", {}).items()}
    return {
        name: {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
        for name, command in flat.items()
    }


def calls(text: str, program: str) -> Iterator[list[str]]:
    """Yield the words of every call of a program in a text of code."""
    for call in re.findall(rf"(?<![\w./-])(?<!cd )(?<!--tag ){program} +([^`|;>&#\n]*)", text):
        yield call.split()


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_options_exist(page: str) -> None:
    for words in (words for line in code_of(PAGES[page]) for words in calls(line, "bert-judge")):
        if not words or words[0].startswith("-"):
            assert set(words) <= {"--install-completion", "--show-completion", "--version", "--help"}, words
            continue
        name = " ".join(words[:2]) if " ".join(words[:2]) in commands() else words[0]
        assert name in commands(), words
        used = {word.split("=")[0].rstrip(",.") for word in words if re.match(r"--?[a-z]", word)}
        assert used <= commands()[name] | {"--help"}, words


def test_commands_in_comments_exist() -> None:
    for path, text in COMMENTED.items():
        for words in calls(text, "bert-judge"):
            if words and re.fullmatch(r"[a-z]+", words[0]) and path.endswith("yaml"):
                assert words[0] in commands(), (path, words)


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for line in code_of(PAGES[page]):
        for target in re.findall(r"(?:^|= ?\w* )make ([a-z-]+)", line):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def targets() -> set[str]:
    return set(TARGETS) | {
        name
        for path in (ROOT / "rules").glob("*.smk")
        for names in re.findall(r"^\s*rule (\w+):|^use rule \w+ as (\w+)", path.read_text("utf-8"), re.MULTILINE)
        for name in names
    }


@pytest.mark.parametrize("page", [*PAGES, *COMMENTED])
def test_snakemake_calls_put_targets_before_configfile(page: str) -> None:
    """`--configfile` accepts several files, so it would take a target that follows it for one more."""
    code = code_of(PAGES[page]) if page in PAGES else COMMENTED[page].splitlines()
    for words in (words for line in code for words in calls(line, "snakemake")):
        for place, word in enumerate(words):
            if word == "--configfile":
                assert place + 1 < len(words), words
                file = words[place + 1].rstrip(".,)")
                assert "/" not in file or file.startswith("/") or (ROOT / file).is_file(), words
                assert all(following.startswith("-") for following in words[place + 2 : place + 3]), words
            elif word == "--forcerun" and words[place + 1] != "RULE":
                assert words[place + 1] in targets(), words
        if words and re.fullmatch(r"[a-z_]+", words[0]) and page in PAGES:
            assert words[0] in targets(), words


@pytest.mark.parametrize("page", [*PAGES, *COMMENTED])
def test_options_of_benchmarks_and_examples_exist(page: str) -> None:
    code = code_of(PAGES[page]) if page in PAGES else COMMENTED[page].splitlines()
    for script, arguments in (
        call for line in code for call in re.findall(r"python ((?:benchmarks|examples)/[\w/]+\.py)([^`#]*)", line)
    ):
        source = (ROOT / script).read_text("utf-8")
        # The speed benchmarks share some options.
        source += (ROOT / "benchmarks" / "timing.py").read_text("utf-8") if "import timing" in source else ""
        for option in re.findall(r"--[a-z][\w-]*", arguments):
            # A loop declares the options of a data class under the names of its fields.
            field = option.removeprefix("--").replace("-", "_")
            assert f'"{option}"' in source or f'"{field}"' in source, (script, option)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", PAGES[page]):
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), file
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}, anchor


@pytest.mark.parametrize("page", [*PAGES, *COMMENTED])
def test_paths_of_the_repository_exist(page: str) -> None:
    text = PAGES[page] if page in PAGES else COMMENTED[page]
    folders = "|".join(FOLDERS)
    for path in re.findall(rf"(?<![\w./{{}}<>:-])((?:{folders})/[\w./@*-]*[\w*])(?![\w{{…])", text):
        found = [match for folder in (ROOT, ROOT / "bert_judge", (ROOT / page).parent) for match in folder.glob(path)]
        assert found or path == INSPECT_SCORER, path


@pytest.mark.parametrize("page", PAGES)
def test_shortened_paths_exist(page: str) -> None:
    """`judges/llm/judge.py` is a file of the library; `judge.py` is a file somewhere."""
    code = " ".join(re.findall(r"`([^`\n]+)`", FENCE.sub("", PAGES[page])))
    for path in re.findall(rf"(?<![\w./-])((?:{'|'.join(PARTS)})/[\w./-]*\w\.(?:py|yaml|smk))", code):
        assert (ROOT / "bert_judge" / path).is_file(), path


@cache
def workflow_paths() -> str:
    """Return the text of all rules, with every placeholder replaced by `*`."""
    sources = [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk"), *(ROOT / "bert_judge").rglob("*.py")]
    return re.sub(r"\{\{?[^{}]*\}?\}", "*", "\n".join(path.read_text("utf-8") for path in sources))


@pytest.mark.parametrize("page", [*PAGES, *(path for path in COMMENTED if path.startswith(("config", "benchmarks")))])
def test_result_files_are_those_of_the_workflow(page: str) -> None:
    text = PAGES[page] if page in PAGES else COMMENTED[page]
    for path in re.findall(r"(?<![\w./])results/([\w.]+)", text):
        name = path.rstrip(".")
        assert re.search(rf"results/{re.escape(name)}\b|[\"'/]{re.escape(name)}[\"'/]", workflow_paths()), path


@pytest.mark.parametrize("page", PAGES)
def test_configurations_are_valid(page: str) -> None:
    for block in fenced(PAGES[page], "yaml"):
        raw = yaml.safe_load(block)
        if {"models", "tasks", "judges", "scorers"} <= set(raw):
            configuration.parse(raw)
        for key, value in raw.items():
            field = config_model().model_fields.get(key)
            if field is not None:
                annotation: Any = field.annotation
                TypeAdapter(annotation).validate_python(value)
            else:
                # An excerpt of a judge's block.
                assert page == "docs/probes.md" and key in ProbeJudgeConfig.model_fields, key


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield module and name of every import of this package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bert_judge":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "bert_judge")


def notebook_code(path: Path) -> list[str]:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    lines = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [re.sub(r"^!.*$", "", cell, flags=re.MULTILINE) for cell in lines]


@pytest.mark.parametrize("page", [*PAGES, *CARDS, "docs/from_csv_to_plot.ipynb"])
def test_python_code_compiles_and_its_imports_resolve(page: str) -> None:
    blocks = notebook_code(ROOT / page) if page.endswith(".ipynb") else fenced((ROOT / page).read_text("utf-8"), "python")
    for block in blocks:
        for module, name in imported_names(ast.parse(block.replace("…", "..."))):
            if "judges.length" in module:
                # The example of a judge kind that does not exist yet.
                continue
            resolve(module if name is None else f"{module}.{name}")


def resolve(dotted: str) -> None:
    """Import the modules of a dotted name and look up the attributes that follow them."""
    parts = dotted.split(".")
    found: Any = importlib.import_module(parts[0])
    for end in range(1, len(parts)):
        name = ".".join(parts[: end + 1])
        is_module = inspect.ismodule(found) and hasattr(found, "__path__") and importlib.util.find_spec(name) is not None
        found = importlib.import_module(name) if is_module else getattr(found, parts[end])


@pytest.mark.parametrize("page", [*PAGES, *(path for path in COMMENTED if path.endswith(".py"))])
def test_dotted_names_resolve(page: str) -> None:
    text = FOREIGN.sub("", PAGES[page]) if page in PAGES else " ".join(re.findall(r"`([^`\n]+)`", COMMENTED[page]))
    for dotted in set(re.findall(r"(?<![\w./])(bert_judge(?:\.[A-Za-z_]\w*)+)", text)):
        if "judges.length" not in dotted:
            resolve(dotted)


def test_keys_of_blocks_in_coming_from() -> None:
    """`training: {epochs, …}` and the like, in the right column."""
    for block, model in (("training", config.Training), ("input", config.Input)):
        for keys in re.findall(rf"`{block}: {{([^}}:]+)}}`", PAGES["docs/coming_from.md"]):
            assert set(keys.split(", ")) <= set(model.model_fields)


def methods(source: str) -> dict[str, str]:
    """Return the code of every method by `Class.name`, without docstrings and function-level imports."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    method.body = [line for line in method.body if not isinstance(line, ast.ImportFrom)]
                    found[f"{node.name}.{method.name}"] = ast.unparse(method)
    return found


def test_the_example_of_a_judge_kind_is_the_tested_one() -> None:
    blocks = fenced(PAGES["docs/extending.md"], "python")
    shown = {name: body for block in blocks for name, body in methods(block).items()}
    tested = methods((ROOT / "tests" / "unit" / "judges" / "test_registry.py").read_text("utf-8"))
    names = {name for name in shown if name.startswith("Length")}
    assert names and {name: shown[name] for name in names} == {name: tested.get(name) for name in names}


def test_the_example_of_a_rule_module_is_the_tested_one() -> None:
    tested = (ROOT / "tests" / "unit" / "text" / "test_own_rule_module.py").read_text("utf-8")
    module, line = [block.strip() for block in fenced(PAGES["docs/extending.md"], "python") if "decide_color" in block]
    assert module in tested and line in tested


def test_the_versions_that_were_tested_are_those_that_make_installs() -> None:
    installed = (ROOT / "constraints.txt").read_text("utf-8") + (ROOT / "Makefile").read_text("utf-8")
    rows = [line for line in PAGES["docs/use_it_from.md"].splitlines() if re.search(r"^\|.*`(make test|frameworks)`", line)]
    versions = [version for row in rows for version in re.findall(r"\b\d+\.\d+\.\d+\b", row.rsplit(" | ", 1)[1])]
    assert len(versions) > 20 and [version for version in versions if f"=={version}" not in installed] == []
