"""`bert-judge score --prior-shift`: scores of a file move to the share of right answers that each model's scores tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tiny_models
from typer.testing import CliRunner

from bert_judge.candidates.importers.answers import make_column_reader
from bert_judge.cli import app
from bert_judge.config import Training
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, label_with_prior_shift, shift_prior
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file import score_file as scoring
from bert_judge.labels.score_file.prior_shift import PRIOR_STRENGTH, Adapter
from bert_judge.labels.score_file.score_file import score_file, work_folder
from bert_judge.runtime.errors import InputError
from bert_judge.tables import LABELS, write
from bert_judge.tables.readers.rows import open_rows

PRIOR = 0.6


class Reads(BERTJudge):
    """Says of each answer the score that the answer names; of "?" and of no answer nothing."""

    def __init__(self, folder: Path, base_rate: object = PRIOR) -> None:
        self.path, self.threshold, self.calibrated, self.asked = folder, 0.5, True, 0
        (folder / "metrics.json").write_text(json.dumps({"validation": {"base_rate": base_rate}}), "utf-8")

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.asked += len(rows)
        return [invalid("no idea") if row.candidate in ("?", "") else decided(float(row.candidate), self.threshold) for row in rows]


def score(tmp_path: Path, answers: list[dict[str, Any]], judge: BERTJudge, output: str = "b.jsonl") -> pd.DataFrame:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"gold": "größer", **answer}) + "\n" for answer in answers), "utf-8")
    judges = [NamedJudge("reads", "1", judge)]
    reader = make_column_reader({"references": "gold", "candidate": "said", "model": "model"})
    score_file(open_rows(path), reader, tmp_path / output, judges, adapter=Adapter(judges))
    return pd.read_json(tmp_path / output, lines=True)


def drawn(count: int, share: float, seed: int) -> np.ndarray:
    """Scores calibrated for PRIOR of answers of which another share is right."""
    right = np.random.default_rng(seed).random(count) < share
    return shift_prior(np.where(right, 0.8, 0.3), 0.5, PRIOR)


def test_each_model_moves_by_itself_as_in_a_run(tmp_path: Path) -> None:
    models = {"schlecht": drawn(300, 0.2, 1), "good": drawn(200, 0.9, 2)}
    rows = [{"said": repr(value), "model": name} for name, scores in models.items() for value in scores.tolist()]
    order = np.random.default_rng(0).permutation(len(rows))
    found = score(tmp_path, [rows[i] for i in order], Reads(tmp_path))
    for name, scores in models.items():
        # The stage of a run, on a table of this model alone.
        table = pd.DataFrame({"sample_id": "s", "attempt": range(len(scores)), "model": name, "task": "t", "judge": "reads"})
        table = table.assign(verdict="correct", score=scores, truncated=False)
        for column in set(LABELS.names) - set(table):
            table[column] = None
        write(table, tmp_path / "labels.parquet", LABELS, {}, {})
        spec = {
            "judge": "reads",
            "model": name,
            "task": "t",
            "settings": {"prior": PRIOR, "prior_strength": PRIOR_STRENGTH, "threshold": 0.5},
        }
        label_with_prior_shift(spec, tmp_path / "labels.parquet", None, tmp_path / "moved.parquet")
        expected = pd.read_parquet(tmp_path / "moved.parquet").sort_values("score")
        mine = found[found["model"] == name].sort_values("score")
        assert mine["score"].to_numpy() == pytest.approx(expected["score"].to_numpy(), abs=1e-9)
        assert mine["verdict"].tolist() == expected["verdict"].tolist()
    shares = found.groupby("model")["score"].mean()
    assert shares["schlecht"] < 0.4 < 0.8 < shares["good"]


def test_verdicts_that_could_not_be_reached_stay_and_tell_nothing(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"said": "0.7", "model": "m"}, {"said": "?", "model": "m"}, {"said": None, "model": "m"}]
    found = score(tmp_path, [*rows, {"said": "?", "model": "silent"}], Reads(tmp_path))
    assert found["verdict"].tolist() == ["correct", "invalid", "invalid", "invalid"]
    assert found["reason"].tolist()[1:] == ["no idea"] * 3
    assert found["score"][0] == pytest.approx(float(shift_prior(0.7, PRIOR, estimate_base_rate([0.7], PRIOR, PRIOR_STRENGTH))))


def test_answers_without_a_model_are_one_table(tmp_path: Path) -> None:
    scores = drawn(100, 0.1, 3)
    found = score(tmp_path, [{"said": repr(value)} for value in scores.tolist()], Reads(tmp_path))
    assert found["score"].to_numpy() == pytest.approx(shift_prior(scores, PRIOR, estimate_base_rate(scores, PRIOR, PRIOR_STRENGTH)))


def test_nobody_is_asked_twice_and_a_kill_loses_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "CHUNK_ROWS", 64)
    rows = [{"said": repr(value), "model": "m"} for value in (np.arange(1, 301) / 301).tolist()]
    judge = Reads(tmp_path)
    whole = score(tmp_path, rows, judge, "whole.jsonl")
    assert judge.asked == len(rows) and not work_folder(tmp_path / "whole.jsonl").exists()

    def killed(*arguments: object) -> float:
        raise KeyboardInterrupt

    # All verdicts are there, and no row is written yet.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("bert_judge.labels.score_file.prior_shift.estimate_base_rate", killed)
        score(tmp_path, rows, judge)
    assert not (tmp_path / "b.jsonl").exists()
    judge.asked = 0
    pd.testing.assert_frame_equal(score(tmp_path, rows, judge), whole)
    assert judge.asked == 0


@pytest.mark.parametrize("share", [0, 1, None, "0.5", float("nan")])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: object) -> None:
    with pytest.raises(
        InputError, match=r"metrics\.json: validation\.base_rate is .*; --prior-shift needs a number between 0 and 1"
    ):
        Adapter([NamedJudge("reads", "1", Reads(tmp_path, share))])


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "has no metrics.json"), ("{", "metrics.json: not JSON"), ("[]", "holds list"), ("{}", "base_rate is None")],
)
def test_a_judge_without_figures_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    judge = Reads(tmp_path)
    (tmp_path / "metrics.json").unlink()
    if text is not None:
        (tmp_path / "metrics.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match=says):
        Adapter([NamedJudge("reads", "1", judge)])


def test_the_command_refuses_a_rule_and_says_what_a_trained_judge_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("question,gold,said,model\nWie groß?,größer,größer,m\nWie groß?,größer,kleiner,m\n", "utf-8")
    command = ["score", "a.csv", "--candidate", "said", "--prior-shift"]
    result = CliRunner().invoke(app, [*command, "-j", "contains"])
    assert result.exit_code == 1 and not Path("a.scored.csv").exists()
    assert result.stderr.splitlines()[-1].startswith("error: --prior-shift: the scores of contains are not calibrated")

    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone"))
    judge.fit(["q"], [["Paris"]], ["Paris"], [1.0], training=Training(epochs=1), features=False, work_folder=tmp_path / "work")
    judge.save(tmp_path / "mine")
    Path("mine/metrics.json").write_text('{"validation": {"base_rate": 0.25}}', "utf-8")
    result = CliRunner().invoke(app, [*command, "-j", "mine"])
    assert result.exit_code == 0, result.output
    scored = pd.read_csv("a.scored.csv")
    plain = judge.explain(scored["question"].tolist(), scored["gold"].tolist(), scored["said"].tolist()).scores
    share = estimate_base_rate(plain, 0.25, PRIOR_STRENGTH)
    assert scored["score"].to_numpy() == pytest.approx(shift_prior(plain, 0.25, share), abs=1e-5)
    assert f"mine, m: base rate estimated at {share:.1%}, 25.0% in training" in result.stdout
