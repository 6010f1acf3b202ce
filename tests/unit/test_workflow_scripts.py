"""Scripts of the workflow call functions of the library with arguments that these accept."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "workflow_scripts").glob("*.py"))


def imported_objects(tree: ast.Module) -> dict[str, Any]:
    """The objects that a script imports from the library, by the name they have in the script."""
    objects = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bert_judge"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
                objects[alias.asname or alias.name] = getattr(module, alias.name)
    return objects


def resolve(expression: ast.expr, objects: dict[str, Any]) -> Any:
    """The object behind a name or an attribute; None for what a script computes itself."""
    if isinstance(expression, ast.Name):
        return objects.get(expression.id)
    if isinstance(expression, ast.Attribute):
        owner = resolve(expression.value, objects)
        known = inspect.ismodule(owner) or inspect.isclass(owner)
        return getattr(owner, expression.attr) if known else None
    return None


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_calls_match_the_signatures_of_the_library(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    objects = imported_objects(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (function := resolve(node.func, objects)) is None:
            continue
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
            continue
        inspect.signature(function).bind(*node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords})
