"""docs/packages.md: the ten packages, with extras and lowest versions of pyproject.toml, and modules that import them."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_envs import EXTRAS, PROJECT, ROOT

PACKAGES = {
    *("snakemake", "torch", "transformers", "datasets", "vllm", "accelerate", "pandas", "pyarrow", "rouge-score", "math-verify"),
}
PAGE = (ROOT / "docs" / "packages.md").read_text("utf-8")
ROWS = {cells[0].strip("`"): cells[1:] for line in re.findall(r"^\| (`.*) \|$", PAGE, re.M) if (cells := line.split(" | "))}


def test_the_page_has_the_ten_packages() -> None:
    assert set(ROWS) == PACKAGES


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_package_can_be_installed_by_the_extras_of_the_page(package: str) -> None:
    extras, version, _, _ = ROWS[package]
    for extra in re.findall(r"`(\w+)`", extras) or [None]:
        lines = map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"])
        (requirement,) = [line for line in lines if canonicalize_name(line.name) == package]
        assert f">={version}" in str(requirement.specifier).split(",")


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_the_modules_of_the_page_import_the_package(package: str) -> None:
    modules = re.findall(r"`([^`]+)`", ROWS[package][-1])
    assert modules
    for module in modules:
        imports = rf"^\s*(?:from|import) {package.replace('-', '_')}\b"
        assert re.search(imports, (ROOT / module).read_text("utf-8"), re.M), module
