"""Print the part of requirements.lock that an extra needs, without torch: which build of it is installed depends on your index.

python envs/locked.py EXTRA
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# A package of the lock: its lines, with the packages that need it as comments.
ENTRY = re.compile(r"^([\w.-]+)==.*\n(?:[ \t]+.*\n)*", re.MULTILINE)
# torch with CUDA brings them, and its build for CPUs does not.
OF_TORCH_BUILD = re.compile(r"torch|triton|nvidia-.*|cuda-.*")


def locked(extra: str) -> str:
    """Return the entries of the packages that the program needs with an extra. Raises KeyError: no such extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entries = {match[1]: match[0] for match in ENTRY.finditer((ROOT / "requirements.lock").read_text("utf-8"))}
    needed = roots(project, extra) & entries.keys()
    while more := {name for name, entry in entries.items() if needed & set(parents(entry))} - needed:
        needed |= more
    return "".join(entry for name, entry in entries.items() if name in needed and not OF_TORCH_BUILD.fullmatch(name))


def roots(project: dict, extra: str) -> set[str]:
    """Return the packages that pyproject.toml names for an extra, and for those that it contains."""
    names = {normalize(text) for text in project["dependencies"]}
    for text in project["optional-dependencies"][extra]:
        if inner := re.match(r"bert-judge\[([\w,-]+)\]", text):
            names = names.union(*(roots(project, name) for name in inner[1].split(",")))
        else:
            names.add(normalize(text))
    return names


def parents(entry: str) -> list[str]:
    """Return the packages that need the package of an entry."""
    return re.findall(r"^ +#(?: via)? +([\w.-]+)$", entry, re.MULTILINE)


def normalize(requirement: str) -> str:
    """Return the name of a requirement as the lock spells it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


if __name__ == "__main__":
    print(locked(sys.argv[1]), end="")
