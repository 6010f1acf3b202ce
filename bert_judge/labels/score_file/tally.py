"""Verdict counts of a file, collected chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from bert_judge.judges.languages import UNKNOWN_LANGUAGE, UNKNOWN_SCRIPT
from bert_judge.judges.protocol import EMPTY_ANSWER, VERDICT_CODES, Label

# In place of a verdict: no answer to judge.
SKIPPED = -2


@dataclass
class Tally:
    """Verdicts by judge and model, in eleven bytes per row plus one byte per judge.

    Attributes:
        rows: of the file, so far.
        models: name → code, in the order of their first answer; "" if the file does not name a model.
        reasons: number of invalid verdicts by reason, over all judges.
        decided: number of valid verdicts on answers that are not empty, over all judges.
        unfamiliar: number of verdicts on text that a judge was not trained on, by reason, over all judges.
    """

    judges: Sequence[str]
    rows: int = 0
    models: dict[str, int] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    decided: int = 0
    unfamiliar: Counter[str] = field(default_factory=Counter)
    _models: list[np.ndarray] = field(default_factory=list)
    _truth: list[np.ndarray] = field(default_factory=list)
    _questions: list[np.ndarray] = field(default_factory=list)
    _verdicts: list[np.ndarray] = field(default_factory=list)

    def add(
        self,
        models: Sequence[str],
        questions: Sequence[str],
        truth: Sequence[float | None],
        labels: Sequence[Sequence[Label | None]],
    ) -> None:
        """Count some rows.

        Args:
            truth: labels of the file, 0 to 1, None if there is none.
            labels: per judge one label per row, None if there was no answer to judge.
        """
        self.rows += len(models)
        codes = [self.models.setdefault(model, len(self.models)) for model in models]
        self._models.append(np.array(codes, np.int16))
        self._questions.append(np.array([hash_text(question) for question in questions], np.uint64))
        self._truth.append(np.array([SKIPPED if value is None else int(value >= 0.5) for value in truth], np.int8))
        verdicts = [[SKIPPED if label is None else VERDICT_CODES[label.verdict] for label in column] for column in labels]
        self._verdicts.append(np.array(verdicts, np.int8).reshape(len(labels), len(models)))
        for label in (label for column in labels for label in column if label is not None):
            reason = label.reason or "no reason"
            if label.verdict == "invalid":
                self.reasons[reason] += 1
            elif reason != EMPTY_ANSWER:
                self.decided += 1
            self.unfamiliar.update(text for text in (UNKNOWN_SCRIPT, UNKNOWN_LANGUAGE) if text in reason)

    def by_model(self) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
        """Yield (judge, model, verdict codes, question hashes) for each judge and model, without skipped rows; shapes (n,)."""
        if not self.rows:
            return
        models, questions = np.concatenate(self._models), np.concatenate(self._questions)
        verdicts = np.concatenate(self._verdicts, axis=1)
        for judge, judge_verdicts in zip(self.judges, verdicts, strict=True):
            for name, code in self.models.items():
                rows = (models == code) & (judge_verdicts != SKIPPED)
                if rows.any():
                    yield judge, name, judge_verdicts[rows], questions[rows]

    def labelled(self) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (judge, verdict codes, codes of the file's labels, question hashes) of the labelled rows of each judge."""
        if not self.rows:
            return
        truth, questions = np.concatenate(self._truth), np.concatenate(self._questions)
        for judge, verdicts in zip(self.judges, np.concatenate(self._verdicts, axis=1), strict=True):
            rows = (truth != SKIPPED) & (verdicts != SKIPPED)
            if rows.any():
                yield judge, verdicts[rows], truth[rows], questions[rows]

    @property
    def skipped(self) -> int:
        """Rows without an answer to judge."""
        return sum(int((verdicts[0] == SKIPPED).sum()) for verdicts in self._verdicts) if self.judges else 0


def hash_text(text: str) -> int:
    """Return a 64-bit hash of a text, to distinguish questions in little memory."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
