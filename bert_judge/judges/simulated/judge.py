"""Ground truth of simulated answers, obtained by generating each answer again; a share of the verdicts can be flipped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.generators.simulated import simulate
from bert_judge.candidates.stage import read_samples
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.keyed_random import fraction
from bert_judge.tasks.prompts import prompt


class SimulatedJudge:
    """Implements `judges.protocol.Judge` for the answers of simulated models, whose ground truth is known.

    Raises:
        InputError: the task table cannot be read, or an answer differs from the one that its model generates.
    """

    def __init__(self, spec: Mapping[str, Any], task_table: str | Path) -> None:
        self.revisions: dict[str, str] = {}
        self._spec = spec
        self._task_table = task_table
        # Other models have no ground truth, so their table is not read.
        self._samples = read_samples(task_table) if self._is_simulated() else {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """Return the ground truth of each row, flipped for the share `label_noise` of the rows."""
        if not self._is_simulated():
            return [invalid(f"only simulated models have a known ground truth; {row.model} is not simulated") for row in rows]
        return [self._label(row) for row in rows]

    def _is_simulated(self) -> bool:
        return self._spec["source"]["settings"].get("generator") == "simulated"

    def _label(self, row: Row) -> Label:
        source, settings = self._spec["source"], self._spec["settings"]
        if row.sample_id not in self._samples:
            raise InputError(
                f"{self._task_table}: has no question {row.sample_id}; delete the candidates of {row.model} and run again"
            )
        sample = self._samples[row.sample_id]
        request = Request(row.sample_id, row.attempt, prompt(sample, source["family"], source["prompt_style"]), sample)
        completion, truth = simulate(source["model"], source["settings"], request)
        if completion.text != row.candidate:
            raise InputError(
                f"candidates of {row.model}: the answer to {row.sample_id} is {row.candidate!r:.60}, but the model generates "
                f"{completion.text!r:.60}; delete this candidates table and run again"
            )
        flipped = fraction("flip", settings["seed"], row.model, row.sample_id, row.attempt) < settings["label_noise"]
        return decided(float(truth != flipped), reason="simulated truth, flipped" if flipped else "simulated truth")
