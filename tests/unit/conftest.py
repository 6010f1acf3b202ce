"""No test on drawn examples has a time limit, and tasks registered by one test file are unknown to the next."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from bert_judge.tasks import registry

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True, scope="module")
def restored_task_registry() -> Iterator[None]:
    """Undo the registrations of a test file, so that no test depends on the order of the files."""
    registry.names()
    tasks, files = dict(registry._tasks), dict(registry._files)
    yield
    for current, before in ((registry._tasks, tasks), (registry._files, files)):
        current.clear()
        current.update(before)
