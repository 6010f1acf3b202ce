"""What came out of a file, counted while its rows pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from bert_judge.judges.protocol import Label

# Of a verdict: no answer to judge, no decision, wrong, right.
SKIPPED, INVALID, WRONG, RIGHT = -2, -1, 0, 1
CODES = {"invalid": INVALID, "incorrect": WRONG, "correct": RIGHT}


@dataclass
class Tally:
    """Verdicts by judge and model: ten bytes a row and a byte a judge.

    Attributes:
        rows: of the file, so far.
        models: names in the order of their first answer; "" where the file does not tell.
        reasons: how often each reason for a verdict that is none was given, over all judges.
    """

    judges: Sequence[str]
    rows: int = 0
    models: dict[str, int] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    _model: list[np.ndarray] = field(default_factory=list)
    _question: list[np.ndarray] = field(default_factory=list)
    _verdict: list[np.ndarray] = field(default_factory=list)

    def add(self, models: Sequence[str], questions: Sequence[str], labels: Sequence[Sequence[Label | None]]) -> None:
        """Count some rows.

        Args:
            models, questions: one text per row.
            labels: per judge one label per row, None where there was no answer to judge.
        """
        self.rows += len(models)
        codes = [self.models.setdefault(model, len(self.models)) for model in models]
        self._model.append(np.array(codes, np.int16))
        self._question.append(np.array([hashed(question) for question in questions], np.uint64))
        verdicts = [[SKIPPED if label is None else CODES[label.verdict] for label in column] for column in labels]
        self._verdict.append(np.array(verdicts, np.int8).reshape(len(labels), len(models)))
        self.reasons.update(
            label.reason or "no reason" for column in labels for label in column if label is not None and label.verdict == "invalid"
        )

    def by_model(self) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
        """(judge, model, verdict codes, question hashes) of each judge and model, without skipped rows; shapes (n,)."""
        if not self.rows:
            return
        model, question = np.concatenate(self._model), np.concatenate(self._question)
        verdict = np.concatenate(self._verdict, axis=1)
        for place, judge in enumerate(self.judges):
            for name, code in self.models.items():
                chosen = (model == code) & (verdict[place] != SKIPPED)
                if chosen.any():
                    yield judge, name, verdict[place][chosen], question[chosen]

    @property
    def skipped(self) -> int:
        """Rows without an answer to judge."""
        return sum(int((part[0] == SKIPPED).sum()) for part in self._verdict) if self.judges else 0


def hashed(text: str) -> int:
    """64 bits of a question, to tell it from others: as good as the text and smaller."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
