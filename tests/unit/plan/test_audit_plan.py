"""Faults of the block `audit`, in the configuration of the demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.default_run import DEFAULT_RUN

from bert_judge import plan
from bert_judge.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("audit", "fault"),
    [
        ({"judge": "teacher"}, "audit.judge: 'teacher' must be listed under scorers too"),
        ({"judge": "nobody"}, "audit.judge: 'nobody' is not defined under judges"),
        ({"judge": "truth", "labels_from": "gold"}, "audit.judge: 'truth' is gold and would be corrected by itself"),
        ({"labels": "gone.csv"}, "audit.labels: gone.csv: no such file"),
        ({"labels": "results/labels.csv"}, "keep human labels elsewhere"),
        ({"labels": "labels.csv", "labels_from": "gold"}, "remove labels or labels_from"),
        ({"size": 5}, "audit.size: must be greater than or equal to 10; got 5"),
    ],
)
def test_faults_of_the_block_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audit: dict[str, object], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    for name in ("labels.csv", "results/labels.csv"):
        (tmp_path / name).write_text("id,verdict\n")
    with pytest.raises(ConfigError, match=re.escape(fault)):
        plan.build_plan({**DEFAULT_RUN, "audit": {"judge": "demo_judge", "size": 20, **audit}})
