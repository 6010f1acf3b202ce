"""Escalation of rows to a second judge: the order in which it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bert_judge.judges.protocol import Label, Row
from bert_judge.labels.escalation import draw_number, judge_inputs, make_escalation
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file import store_of


class StoppingJudge:
    """Gives a verdict on the first three rows that it sees, as a server that fails or whose budget ends."""

    revisions: dict[str, str] = {}  # noqa: RUF012

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [Label("correct" if n < 3 else "invalid", 1.0 if n < 3 else None) for n in range(len(rows))]


def test_the_rows_before_a_failure_are_a_random_sample(tmp_path: Path) -> None:
    rows = [Row(str(n), 0, "m", f"Question {n}?", ("yes",), "perhaps") for n in range(20)]
    cascade = make_escalation(NamedJudge("second", "origin", StoppingJudge(), is_served=True))
    labels = judge_inputs(cascade, rows, store_of(tmp_path, 0), lambda count: None)
    decided = [row.sample_id for row, label in zip(rows, labels, strict=True) if label and label.verdict == "correct"]
    drawn = sorted(rows, key=draw_number)[:3]
    assert sorted(decided) == sorted(row.sample_id for row in drawn) and decided != ["0", "1", "2"]
