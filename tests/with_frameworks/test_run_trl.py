"""TRL itself: GRPO on a judge's scores."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_models
from programs import ROOT, run

pytestmark = pytest.mark.framework("trl")


def test_trl_trains_on_a_judges_scores(tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "model")
    done = run(ROOT / "examples" / "trl_reward.py", model, "token_f1", folder=tmp_path)
    assert 0 <= float(done.splitlines()[-1].removeprefix("mean reward: ")) <= 1
