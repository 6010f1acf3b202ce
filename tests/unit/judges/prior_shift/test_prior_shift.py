"""Scores moved to another share of right answers: what the share is told from, and what stays as it was."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from bert_judge import tables
from bert_judge.judges.prior_shift.estimate import moved, share_of_right
from bert_judge.judges.prior_shift.stage import label_adapted
from bert_judge.runtime.errors import InputError

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=60)
SHARES = st.floats(0.02, 0.98)


def drawn(right: float, n: int, prior: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Simulated answers: whether each is right, and its score, which is its probability where `prior` of the answers are right."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < right
    # Of two normal distributions a distance of 2 apart, the log-odds are twice the value seen from the middle.
    seen = rng.normal(np.where(truth, 1, -1), 1)
    return truth, moved(expit(2 * seen), 0.5, prior)


# --- the share ---


@pytest.mark.parametrize("right", [0.05, 0.3, 0.8, 0.95])
@pytest.mark.parametrize("prior", [0.25, 0.5, 0.7])
def test_the_share_is_found_whatever_the_scores_took_for_granted(right: float, prior: float) -> None:
    truth, scores = drawn(right, 20_000, prior)
    share = share_of_right(scores, prior, caution=1)
    assert share == pytest.approx(truth.mean(), abs=0.015)
    plain, better = ((np.asarray(said) >= 0.5) == truth for said in (scores, moved(scores, prior, share)))
    assert better.mean() >= plain.mean() - 0.001
    assert moved(scores, prior, share).mean() == pytest.approx(truth.mean(), abs=0.015)


@given(scores=SCORES, prior=SHARES, caution=st.floats(0.5, 100))
def test_the_share_is_the_mean_of_the_scores_that_it_gives(scores: list[float], prior: float, caution: float) -> None:
    share = share_of_right(scores, prior, caution)
    assert 0 < share < 1
    # The fixed point of the published iteration, with the cautious answers counted.
    told = moved(scores, prior, share)
    assert (told.sum() + caution * prior) / (len(scores) + caution) == pytest.approx(share, abs=1e-6)


def test_no_score_tells_nothing() -> None:
    assert share_of_right([], 0.3, 20) == pytest.approx(0.3)


def test_few_answers_move_little_and_less_with_more_caution() -> None:
    few, many = share_of_right([0.9] * 3, 0.5, 20), share_of_right([0.9] * 3000, 0.5, 20)
    assert 0.5 < few < 0.58
    assert many > 0.95
    assert share_of_right([0.9] * 3, 0.5, 200) < few


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_certain_scores_stay_certain(score: float) -> None:
    share = share_of_right([score] * 500, 0.5, 20)
    assert moved([score], 0.5, share)[0] == pytest.approx(score, abs=1e-4)


# --- the scores ---


@given(scores=SCORES, prior=SHARES, share=SHARES)
def test_the_order_stays(scores: list[float], prior: float, share: float) -> None:
    ordered = np.sort(scores)
    new = moved(ordered, prior, share)
    assert (np.diff(new) >= 0).all()
    assert ((new > 0) & (new < 1)).all()


@given(scores=st.lists(st.floats(0.001, 0.999), min_size=1), prior=SHARES, share=SHARES)
def test_the_way_back_leads_to_the_same_scores(scores: list[float], prior: float, share: float) -> None:
    assert moved(moved(scores, prior, share), share, prior) == pytest.approx(np.array(scores), abs=1e-6)


# --- the stage ---


SPEC: dict[str, Any] = {
    "judge": "adapted",
    "model": "m",
    "task": "t",
    "settings": {"kind": "adapted", "judge": "bert", "dataset": "mine", "prior": None, "caution": 20.0, "threshold": 0.5},
}


def labels(path: Path, scores: list[float | None], reason: str | None = None) -> Path:
    """A table of verdicts; without a score the verdict is invalid."""
    frame = pd.DataFrame({"score": pd.array(scores, dtype="Float64")})
    said = ["invalid" if score is None else "correct" if score >= 0.5 else "incorrect" for score in scores]
    ids = [f"{n:016x}" for n in range(len(scores))]
    frame = frame.assign(sample_id=ids, attempt=0, model="m", judge="bert", verdict=said, reason=reason, raw=None, truncated=False)
    frame = frame.assign(prompt_tokens=None, completion_tokens=None, aspects=None)
    tables.write(frame[tables.LABELS.names], path, tables.LABELS, {"judge": "bert"}, {"backbone": "abc"})
    return path


def with_settings(**settings: Any) -> dict[str, Any]:
    return {**SPEC, "settings": {**SPEC["settings"], **settings}}


def test_verdicts_follow_the_moved_scores_and_all_else_stays(tmp_path: Path) -> None:
    # Most of these are surely right, so the doubtful one is too.
    before = labels(tmp_path / "bert.parquet", [0.99] * 200 + [0.4, None, 0.01], reason="“Größe”, 名前")
    label_adapted(with_settings(prior=0.5), before, None, tmp_path / "adapted.parquet")
    old, new = (tables.read(path, tables.LABELS) for path in (before, tmp_path / "adapted.parquet"))
    assert new["judge"].unique().tolist() == ["adapted"]
    assert new["verdict"].tolist()[200:] == ["correct", "invalid", "incorrect"]
    assert new["score"].isna().tolist() == old["score"].isna().tolist()
    assert new["score"][200] > 0.9
    same = [name for name in tables.LABELS.names if name not in ("judge", "verdict", "score")]
    pd.testing.assert_frame_equal(new[same], old[same])
    assert tables.provenance(tmp_path / "adapted.parquet")["revisions"] == {"backbone": "abc"}


def test_the_threshold_is_its_own(tmp_path: Path) -> None:
    before = labels(tmp_path / "bert.parquet", [0.6, 0.4])
    label_adapted(with_settings(prior=0.5, threshold=0.9), before, None, tmp_path / "adapted.parquet")
    assert set(tables.read(tmp_path / "adapted.parquet", tables.LABELS)["verdict"]) == {"incorrect"}


def test_many_rows_come_in_parts_and_give_what_one_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = labels(tmp_path / "bert.parquet", drawn(0.8, 1000)[1].tolist())
    label_adapted(with_settings(prior=0.5), before, None, tmp_path / "one.parquet")
    monkeypatch.setattr("bert_judge.judges.prior_shift.stage.ROWS_AT_ONCE", 77)
    label_adapted(with_settings(prior=0.5), before, None, tmp_path / "parts.parquet")
    one, parts = (tables.read(tmp_path / name, tables.LABELS) for name in ("one.parquet", "parts.parquet"))
    pd.testing.assert_frame_equal(one, parts)


@pytest.mark.parametrize("scores", [[], [None, None]], ids=["no answers", "no valid verdict"])
def test_nothing_to_adapt_to_changes_nothing(scores: list[float | None], tmp_path: Path) -> None:
    before = labels(tmp_path / "bert.parquet", scores)
    label_adapted(with_settings(prior=0.5), before, None, tmp_path / "adapted.parquet")
    assert tables.read(tmp_path / "adapted.parquet", tables.LABELS)["verdict"].tolist() == ["invalid"] * len(scores)


def validation(path: Path, right: list[float]) -> Path:
    frame = pd.DataFrame({"label": right}).assign(
        sample_id=[f"{n:016x}" for n in range(len(right))], attempt=0, model="m", task="t", question="q?", candidate="a"
    )
    frame = frame.assign(references=[["a"]] * len(right))
    missing = {name: None for name in tables.DATASET.names if name not in frame}
    tables.write(frame.assign(**{**missing, "weight": 1.0})[tables.DATASET.names], path, tables.DATASET, {})
    return path


def test_the_validation_rows_tell_the_prior(tmp_path: Path) -> None:
    before, rows = labels(tmp_path / "bert.parquet", drawn(0.8, 1000)[1].tolist()), validation(tmp_path / "v.parquet", [1, 1, 1, 0])
    label_adapted(with_settings(), before, rows, tmp_path / "told.parquet")
    label_adapted(with_settings(prior=0.75), before, None, tmp_path / "said.parquet")
    told, said = (tables.read(tmp_path / name, tables.LABELS) for name in ("told.parquet", "said.parquet"))
    pd.testing.assert_frame_equal(told, said)


@pytest.mark.parametrize(("right", "which"), [([1.0, 1.0], "right"), ([0.0, 0.0], "wrong")])
def test_validation_rows_of_one_kind_tell_no_prior(right: list[float], which: str, tmp_path: Path) -> None:
    before, rows = labels(tmp_path / "bert.parquet", [0.5]), validation(tmp_path / "v.parquet", right)
    with pytest.raises(InputError, match=f"v.parquet: its answers are all {which}; .*prior"):
        label_adapted(with_settings(), before, rows, tmp_path / "adapted.parquet")
    assert not (tmp_path / "adapted.parquet").exists()


def test_a_table_of_something_else_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    out = labels(tmp_path / "adapted.parquet", [0.5])
    old = out.read_bytes()
    pd.DataFrame({"score": [0.5]}).to_parquet(tmp_path / "bert.parquet")
    with pytest.raises(InputError, match=r"bert\.parquet"):
        label_adapted(with_settings(prior=0.5), tmp_path / "bert.parquet", None, out)
    (tmp_path / "bert.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"bert\.parquet"):
        label_adapted(with_settings(prior=0.5), tmp_path / "bert.parquet", None, out)
    assert out.read_bytes() == old


def test_a_kill_in_the_middle_leaves_the_old_table(tmp_path: Path) -> None:
    before, out = labels(tmp_path / "bert.parquet", [0.5] * 50), labels(tmp_path / "adapted.parquet", [0.5])
    old = out.read_bytes()
    killed = f"""
        import os, signal
        from bert_judge import adaptation
        adaptation.ROWS_AT_ONCE = 10
        plain, calls = adaptation.moved, []
        def moved(*args):
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*args)
        adaptation.moved = moved
        adaptation.label_adapted({json.dumps(with_settings(prior=0.5))!s}, {str(before)!r}, None, {str(out)!r})
    """.replace("null", "None")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(killed)], check=False)
    assert done.returncode == -9
    assert out.read_bytes() == old
