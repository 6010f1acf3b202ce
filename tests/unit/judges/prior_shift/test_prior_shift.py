"""Prior shift correction: the estimated base rate, the shifted scores, and the stage."""

from __future__ import annotations

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
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, label_with_prior_shift, shift_prior
from bert_judge.runtime.errors import InputError

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=60)
RATES = st.floats(0.02, 0.98)


def simulate(base_rate: float, n: int, prior: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Simulate answers: whether each is correct, and its score, calibrated at the base rate `prior`."""
    rng = np.random.default_rng(0)
    correct = rng.random(n) < base_rate
    # For two unit normals 2 apart, the log-odds are twice the distance from the midpoint.
    observed = rng.normal(np.where(correct, 1, -1), 1)
    return correct, shift_prior(expit(2 * observed), 0.5, prior)


# --- base rate ---


@pytest.mark.parametrize("base_rate", [0.05, 0.3, 0.8, 0.95])
@pytest.mark.parametrize("prior", [0.25, 0.5, 0.7])
def test_base_rate_is_recovered_at_any_prior(base_rate: float, prior: float) -> None:
    correct, scores = simulate(base_rate, 20_000, prior)
    estimate = estimate_base_rate(scores, prior, prior_strength=1)
    assert estimate == pytest.approx(correct.mean(), abs=0.015)
    shifted = shift_prior(scores, prior, estimate)
    accuracy_before, accuracy_after = (((values >= 0.5) == correct).mean() for values in (scores, shifted))
    assert accuracy_after >= accuracy_before - 0.001
    assert shifted.mean() == pytest.approx(correct.mean(), abs=0.015)


@given(scores=SCORES, prior=RATES, prior_strength=st.floats(0.5, 100))
def test_estimate_is_a_fixed_point(scores: list[float], prior: float, prior_strength: float) -> None:
    base_rate = estimate_base_rate(scores, prior, prior_strength)
    assert 0 < base_rate < 1
    # The published iteration, with the prior counted as answers.
    shifted = shift_prior(scores, prior, base_rate)
    assert (shifted.sum() + prior_strength * prior) / (len(scores) + prior_strength) == pytest.approx(base_rate, abs=1e-6)


def test_estimate_without_scores_is_the_prior() -> None:
    assert estimate_base_rate([], 0.3, 20) == pytest.approx(0.3)


def test_prior_dominates_few_answers() -> None:
    few, many = estimate_base_rate([0.9] * 3, 0.5, 20), estimate_base_rate([0.9] * 3000, 0.5, 20)
    assert 0.5 < few < 0.58
    assert many > 0.95
    assert estimate_base_rate([0.9] * 3, 0.5, 200) < few


# --- scores ---


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_certain_scores_stay_certain(score: float) -> None:
    base_rate = estimate_base_rate([score] * 500, 0.5, 20)
    assert shift_prior([score], 0.5, base_rate)[0] == pytest.approx(score, abs=1e-4)


@given(scores=SCORES, prior=RATES, base_rate=RATES)
def test_shift_preserves_order(scores: list[float], prior: float, base_rate: float) -> None:
    shifted = shift_prior(np.sort(scores), prior, base_rate)
    assert (np.diff(shifted) >= 0).all()
    assert ((shifted > 0) & (shifted < 1)).all()


@given(scores=st.lists(st.floats(0.001, 0.999), min_size=1), prior=RATES, base_rate=RATES)
def test_shift_is_invertible(scores: list[float], prior: float, base_rate: float) -> None:
    assert shift_prior(shift_prior(scores, prior, base_rate), base_rate, prior) == pytest.approx(np.array(scores), abs=1e-6)


# --- stage ---


SPEC: dict[str, Any] = {
    "judge": "shifted",
    "model": "m",
    "task": "t",
    "settings": {"judge": "bert", "dataset": "mine", "prior": None, "prior_strength": 20.0, "threshold": 0.5},
}


def write_labels(path: Path, scores: list[float | None], reason: str | None = None) -> Path:
    """Write a label table; without a score the verdict is invalid."""
    frame = pd.DataFrame({"score": pd.array(scores, dtype="Float64")})
    verdicts = ["invalid" if score is None else "correct" if score >= 0.5 else "incorrect" for score in scores]
    ids = [f"{n:016x}" for n in range(len(scores))]
    frame = frame.assign(
        sample_id=ids, attempt=0, model="m", judge="bert", verdict=verdicts, outcome=verdicts, reason=reason, raw=None
    )
    frame = frame.assign(truncated=False, prompt_tokens=None, completion_tokens=None, aspects=None)
    tables.write(frame[tables.LABELS.names], path, tables.LABELS, {"judge": "bert"}, {"backbone": "abc"})
    return path


def spec_with(**settings: Any) -> dict[str, Any]:
    return {**SPEC, "settings": {**SPEC["settings"], **settings}}


def run(labels: Path, output: Path, validation: Path | None = None, **settings: Any) -> pd.DataFrame:
    label_with_prior_shift(spec_with(**settings), labels, validation, output)
    return tables.read(output, tables.LABELS)


def test_verdicts_follow_the_shifted_scores_and_other_columns_stay(tmp_path: Path) -> None:
    # Nearly all answers are correct, so the doubtful one becomes correct too.
    labels = write_labels(tmp_path / "bert.parquet", [0.99] * 200 + [0.4, None, 0.01], reason="“Größe”, 名前")
    before, after = tables.read(labels, tables.LABELS), run(labels, tmp_path / "shifted.parquet", prior=0.5)
    assert after["judge"].unique().tolist() == ["shifted"]
    assert after["verdict"].tolist()[200:] == ["correct", "invalid", "incorrect"]
    assert after["score"].isna().tolist() == before["score"].isna().tolist()
    assert after["score"][200] > 0.9
    unchanged = [name for name in tables.LABELS.names if name not in ("judge", "verdict", "outcome", "score")]
    pd.testing.assert_frame_equal(after[unchanged], before[unchanged])
    assert tables.provenance(tmp_path / "shifted.parquet")["revisions"] == {"backbone": "abc"}


def test_threshold_applies_to_shifted_scores(tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "bert.parquet", [0.6, 0.4])
    assert set(run(labels, tmp_path / "shifted.parquet", prior=0.5, threshold=0.9)["verdict"]) == {"incorrect"}


def test_batches_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = write_labels(tmp_path / "bert.parquet", simulate(0.8, 1000)[1].tolist())
    one_batch = run(labels, tmp_path / "one.parquet", prior=0.5)
    monkeypatch.setattr("bert_judge.judges.prior_shift.estimate.BATCH_ROWS", 77)
    pd.testing.assert_frame_equal(one_batch, run(labels, tmp_path / "several.parquet", prior=0.5))


@pytest.mark.parametrize("scores", [[], [None, None]], ids=["no answers", "no valid verdict"])
def test_table_without_scores_stays(scores: list[float | None], tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "bert.parquet", scores)
    assert run(labels, tmp_path / "shifted.parquet", prior=0.5)["verdict"].tolist() == ["invalid"] * len(scores)


def write_validation(path: Path, labels: list[float]) -> Path:
    frame = pd.DataFrame({"label": labels}).assign(
        sample_id=[f"{n:016x}" for n in range(len(labels))], attempt=0, model="m", task="t", question="q?", candidate="a"
    )
    frame = frame.assign(references=[["a"]] * len(labels))
    missing = {name: None for name in tables.DATASET.names if name not in frame}
    tables.write(frame.assign(**{**missing, "weight": 1.0})[tables.DATASET.names], path, tables.DATASET, {})
    return path


def test_prior_comes_from_validation_rows(tmp_path: Path) -> None:
    labels = write_labels(tmp_path / "bert.parquet", simulate(0.8, 1000)[1].tolist())
    validation = write_validation(tmp_path / "v.parquet", [1, 1, 1, 0])
    from_rows = run(labels, tmp_path / "rows.parquet", validation)
    pd.testing.assert_frame_equal(from_rows, run(labels, tmp_path / "settings.parquet", prior=0.75))


@pytest.mark.parametrize(("labels", "verdict"), [([1.0, 1.0], "correct"), ([0.0, 0.0], "incorrect")])
def test_validation_rows_of_one_class_are_an_error(labels: list[float], verdict: str, tmp_path: Path) -> None:
    table, validation = write_labels(tmp_path / "bert.parquet", [0.5]), write_validation(tmp_path / "v.parquet", labels)
    with pytest.raises(InputError, match=f"v.parquet: all answers are {verdict}; .*prior"):
        run(table, tmp_path / "shifted.parquet", validation)
    assert not (tmp_path / "shifted.parquet").exists()


def test_invalid_input_leaves_the_existing_output(tmp_path: Path) -> None:
    output = write_labels(tmp_path / "shifted.parquet", [0.5])
    existing = output.read_bytes()
    pd.DataFrame({"score": [0.5]}).to_parquet(tmp_path / "bert.parquet")
    with pytest.raises(InputError, match=r"bert\.parquet"):
        run(tmp_path / "bert.parquet", output, prior=0.5)
    (tmp_path / "bert.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"bert\.parquet"):
        run(tmp_path / "bert.parquet", output, prior=0.5)
    assert output.read_bytes() == existing


def test_kill_leaves_the_existing_output(tmp_path: Path) -> None:
    labels, output = write_labels(tmp_path / "bert.parquet", [0.5] * 50), write_labels(tmp_path / "shifted.parquet", [0.5])
    existing = output.read_bytes()
    script = f"""
        import os, signal
        from bert_judge.judges.prior_shift import estimate as stage
        stage.BATCH_ROWS = 10
        shift_prior, calls = stage.shift_prior, []
        def kill_at_third_call(*args):
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return shift_prior(*args)
        stage.shift_prior = kill_at_third_call
        stage.label_with_prior_shift({spec_with(prior=0.5)!r}, {str(labels)!r}, None, {str(output)!r})
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert result.returncode == -9
    assert output.read_bytes() == existing
