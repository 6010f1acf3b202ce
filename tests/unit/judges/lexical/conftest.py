"""No worker of a rule outlives its test module."""

from collections.abc import Iterator

import named_rules
import pytest


@pytest.fixture(scope="module", autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    named_rules.close()
