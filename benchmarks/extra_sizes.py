"""Size of each extra beside the plain installation: packages and megabytes, without bytecode, in the environment that runs this.

    python benchmarks/extra_sizes.py

torch counts as it is installed: its build for CPUs, or the one with CUDA and the packages that this brings.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ("api", "hub", "excel", "gguf", "workflow", "train", "llm", "all")


def closure(requirements: list[str], extras: dict[str, list[str]]) -> set[str]:
    """Return the names of the installed packages that requirements bring; `extras` are those of this project."""
    names: set[str] = set()
    pending = [(Requirement(text), "") for text in requirements]
    while pending:
        requirement, extra = pending.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name == "bert-judge":
            pending += [(Requirement(text), "") for inner in requirement.extras for text in extras[inner]]
            continue
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if name not in names or requirement.extras:
            names.add(name)
            pending += [(Requirement(text), inner) for text in needed for inner in ("", *requirement.extras)]
    return names


def megabytes(name: str) -> float:
    files = importlib.metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    extras = PROJECT["optional-dependencies"]
    plain = closure(PROJECT["dependencies"], extras)
    print("| extra | packages | MB |\n|---|---|---|")
    print(f"| (plain) | {len(plain)} | {sum(map(megabytes, plain)):,.0f} |")
    for extra in EXTRAS:
        added = closure(extras[extra], extras) - plain
        print(f"| `{extra}` | +{len(added)} | +{sum(map(megabytes, added)):,.0f} |")


if __name__ == "__main__":
    main()
