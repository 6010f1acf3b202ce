"""The set-up installs one known version of everything that the project names."""

import tomllib
from itertools import chain

import pytest
from helpers.workspace import PROJECT
from packaging.requirements import Requirement

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
EXTRAS = DECLARED["optional-dependencies"]
# vLLM pins torch and transformers itself, to other versions than constraints.txt, so nobody installs it with these.
WITH_PINS_OF_ITS_OWN = {"vllm"}
LISTS = [DECLARED["dependencies"], *(EXTRAS[extra] for extra in EXTRAS if extra not in WITH_PINS_OF_ITS_OWN)]
NEEDED = [need for need in map(Requirement, chain(*LISTS)) if need.name != DECLARED["name"]]
PINNED = {
    pin.name.lower(): pin
    for line in (PROJECT / "constraints.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
    for pin in [Requirement(line)]
}


@pytest.mark.parametrize("need", NEEDED, ids=lambda need: need.name)
def test_every_dependency_is_pinned_within_its_range(need: Requirement) -> None:
    (pin,) = PINNED[need.name.lower()].specifier
    assert pin.operator == "=="
    assert need.specifier.contains(pin.version)
