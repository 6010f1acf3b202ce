"""A server of its own process whose judge waits for a file: `python -m helpers.serve_slow FILE`."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bert_judge.judges.protocol import Label, Row
from bert_judge.runtime.logs import job_log
from bert_judge.serve import server
from bert_judge.serve.judge_pool import JudgePool, pointwise
from bert_judge.serve.limits import Limits
from helpers.serve_clients import Exact


class Waiting(Exact):
    """Judges when the file is there."""

    def __init__(self, gate: Path) -> None:
        super().__init__()
        self.gate = gate

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        while not self.gate.exists():
            time.sleep(0.02)
        return super().judge(rows)


if __name__ == "__main__":
    judge = Waiting(Path(sys.argv[1]))
    server.select_judges = lambda _, __, ___, limits, *, metrics, policy: JudgePool(
        {"exact": pointwise("exact", lambda: judge, limits, metrics)}
    )
    with job_log(None):
        server.serve(port=0, limits=Limits(rate=0))
