"""Where the frameworks should be there, a missing one fails."""

from __future__ import annotations

import pytest
from helpers import needed_packages


@pytest.mark.parametrize(("told", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, told: str, outcome: type[BaseException]) -> None:
    monkeypatch.setenv(needed_packages.ALL_THERE, told)
    needed_packages.need("json", "pytest")
    with pytest.raises(outcome, match="no_such_package is not installed"):
        needed_packages.need("json", "no_such_package")
