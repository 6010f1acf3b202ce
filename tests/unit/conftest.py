"""Fixtures of the unit tests: no time limit on drawn examples, tasks restored after each file, and the rules by name."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.labels.judge_loading import RULES
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


@pytest.fixture(scope="module")
def rules() -> Iterator[dict[str, LexicalJudge]]:
    """The rules that have a name, such as `contains`."""
    judges = {name: LexicalJudge(settings) for name, settings in RULES.items()}
    yield judges
    for judge in judges.values():
        judge.close()
