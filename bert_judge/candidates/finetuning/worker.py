"""A process started by `launch.run`: `python -m bert_judge.candidates.finetuning.worker FILE` calls the stage that FILE names."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from pathlib import Path

from bert_judge.runtime.logs import job_log


def main(file: Path) -> None:
    """Call the stage that a file names; what it logs goes to stderr, which the starting process reads."""
    asked = json.loads(file.read_text("utf-8"))
    with job_log(None):
        if os.environ.get("RANK", "0") != "0":
            # All say the same.
            logging.getLogger("bert_judge").setLevel(logging.WARNING)
        getattr(importlib.import_module(asked["module"]), asked["function"])(**asked["arguments"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
