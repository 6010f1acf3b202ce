"""Tables of answers to label."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from bert_judge import tables

SPEC = {"judge": "j", "model": "m", "task": "t", "settings": {"kind": "lexical"}}


def candidates_table(path: Path, candidates: Sequence[str], statuses: Sequence[str] | None = None) -> Path:
    frame = pd.DataFrame({"candidate": candidates, "status": statuses or ["ok"] * len(candidates)})
    frame = frame.assign(
        sample_id=[f"{n:016x}" for n in range(len(frame))], attempt=0, question="Wer?", references=[["r", "大"]] * len(frame)
    )
    frame = frame.assign(model="m", reasoning=None, reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(frame, path, tables.CANDIDATES, {"model": "m"})
    return path
