"""Imports go down only, and what a lexical job imports never loads torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from bert_judge.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGE = "bert_judge"

# From the bottom up, as in the picture of the architecture. A folder imports from itself and from those above it in this list, also
# inside functions, so that there is no circle.
LAYERS = (
    "runtime",
    "statistics",
    "tables",
    "config",
    "text",
    "assets",
    "encoder",
    "importers",
    "tasks",
    "perturbations",
    "candidates",
    "judges",
    "plan",
    "labels",
    "datasets",
    "students",
    "evaluation",
    "report",
    "integrations",
    "testing",
    "serve",
    "cli",
    "__main__",
)
KINDS = sorted(path.parent.name for path in (ROOT / PACKAGE / "judges").glob("*/__init__.py"))
LAYER = {name: height for height, name in enumerate(LAYERS)}
HEAVY = {"torch", "transformers", "vllm", "datasets", "accelerate", "peft"}
# Whose jobs must start at once: the scripts of the light rules, and the program.
LIGHT_SCRIPTS = (
    "build_ranks",
    "build_report",
    "build_scores",
    "build_standings",
    "build_task",
    "check_filter_overlap",
    "check_overlap",
    "compare",
    "correct_accuracies",
    "draw_audit",
    "filter_answers",
    "held_out_answers",
    "import_candidates",
    "import_pairs",
    "select_undecided",
    "label",
    "make_attacks",
    "measure_attacks",
    "measure_cascades",
    "measure_students",
    "merge_dataset",
    "pair_answers",
    "simulate_candidates",
)
LIGHT_MODULES = (
    "plan",
    "config.files",
    "runtime.logs",
    "cli",
    "cli.show",
    "cli.standings_tables",
    "cli.measure",
    "cli.workflow",
    "cli.score",
    "cli.train",
    "cli.generate",
    "cli.predict",
    "cli.export_files",
    "cli.serve",
    "cli.options",
    "serve.server",
    "judges.bert.judge",
    "encoder.openvino",
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_of(path): path for path in sorted((ROOT / PACKAGE).rglob("*.py"))}


def imports(tree: ast.AST, whole: bool) -> Iterator[str]:
    """Full names of what is imported: everywhere, or only when the module itself is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import: write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif whole or not (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_for_types(node)):
            yield from imports(node, whole)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def part_of(name: str) -> str | None:
    """The part of the library that a full name belongs to: `bert_judge.tasks.registry.task` → `tasks`."""
    package, _, rest = name.partition(".")
    return rest.split(".")[0] if package == PACKAGE and rest else None


def ups(module: str, tree: ast.AST) -> list[str]:
    """Imports of a module that go up."""
    own = part_of(module)
    return [name for name in imports(tree, whole=True) if own and (part := part_of(name)) in LAYER and LAYER[part] > LAYER[own]]


def other_kinds(module: str, tree: ast.AST) -> set[str]:
    """Kinds of judges that a module of a kind imports, without its own."""
    owner, *names = (name.split(".")[2:3] for name in [module, *imports(tree, whole=True)] if name.startswith(f"{PACKAGE}.judges."))
    return {name for [name] in names if name in KINDS} - set(owner)


@pytest.mark.parametrize("module", [name for name in SOURCES if name != PACKAGE])
def test_every_module_has_a_layer_and_imports_from_no_higher_one(module: str) -> None:
    assert part_of(module) in LAYER, f"{module}: add its folder to LAYERS"
    assert ups(module, parsed(SOURCES[module])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_imports_no_other_kind(kind: str) -> None:
    modules = [name for name in SOURCES if f"{name}.".startswith(f"{PACKAGE}.judges.{kind}.")]
    assert modules and not {other for module in modules for other in other_kinds(module, parsed(SOURCES[module]))}


@pytest.mark.parametrize(
    ("module", "code", "found"),
    [
        ("bert_judge.tables", "from bert_judge import plan", ["bert_judge.plan"]),
        ("bert_judge.tables", "def f():\n    from bert_judge.judges.bert.judge import X", ["bert_judge.judges.bert.judge.X"]),
        ("bert_judge.judges.bert.judge", "from bert_judge import tables\nimport torch", []),
        ("bert_judge.tasks.a", "from bert_judge.tasks import b", []),
    ],
)
def test_the_check_sees_an_import_that_goes_up(module: str, code: str, found: list[str]) -> None:
    assert ups(module, ast.parse(code)) == found


def loaded(names: Iterable[str]) -> set[str]:
    """All modules that are imported with these, this package's and others'."""
    done: set[str] = set()
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        # `from a.b import c` loads a, a.b and, when it is a module, a.b.c.
        for end in range(1, name.count(".") + 2):
            module = ".".join(name.split(".")[:end])
            if module in done or (module.startswith(f"{PACKAGE}.") and module not in SOURCES):
                continue
            done.add(module)
            if module in SOURCES:
                open_names += imports(parsed(SOURCES[module]), whole=False)
    return done


@pytest.mark.parametrize("script", LIGHT_SCRIPTS)
def test_a_light_script_imports_nothing_heavy(script: str) -> None:
    # A script's own body runs as a whole, so its imports inside `with` count.
    names = imports(parsed(ROOT / "workflow_scripts" / f"{script}.py"), whole=True)
    assert loaded(names) & HEAVY == set()


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_a_light_module_imports_nothing_heavy(module: str) -> None:
    assert loaded([f"{PACKAGE}.{module}"]) & HEAVY == set()


def test_commands_do_not_import_each_other() -> None:
    """What two of them share is in a module that has no command."""
    modules = {f"{PACKAGE}.cli.{place.split(':')[0]}" for place, *_ in COMMANDS.values()}
    imported = {module: {name.rpartition(".")[0] for name in imports(parsed(SOURCES[module]), whole=True)} for module in modules}
    assert {(module, other) for module in modules for other in modules & imported[module]} == set()


def test_the_check_sees_what_is_heavy() -> None:
    assert "torch" in loaded([f"{PACKAGE}.encoder.trainer"])


def test_torch_stays_out_of_a_lexical_job() -> None:
    """The same in a real process: also what other packages import counts."""
    code = "import sys, bert_judge.labels.stage, bert_judge.judges.lexical.judge, bert_judge.plan; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[0] for name in done.stdout.split()} & HEAVY == set()


@pytest.mark.parametrize("modules", ["evaluation.score_tables", "candidates.stage, bert_judge.candidates.generators.simulated"])
def test_jobs_that_read_no_configuration_do_not_load_its_classes(modules: str) -> None:
    code = f"import sys, bert_judge.{modules}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pydantic", "bert_judge.config", "scipy"} & set(done.stdout.split()) == set()


def test_the_program_answers_without_pandas() -> None:
    code = "import sys, bert_judge.cli; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "openvino", "pandas", "pyarrow", "pydantic", "snakemake", "torch"} & set(done.stdout.split()) == set()
