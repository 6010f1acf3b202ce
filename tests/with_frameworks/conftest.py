"""The frameworks themselves, with tiny models. `make test-frameworks` installs all; elsewhere those that are there are run."""

from __future__ import annotations

import pytest
from helpers.needed_packages import need


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    """A test names its frameworks: `@pytest.mark.framework("lm_eval")`."""
    marks = list(request.node.iter_markers("framework"))
    assert marks, "which framework does this test run? Mark it with @pytest.mark.framework"
    for mark in marks:
        need(*mark.args)
