"""Verdict counts of a file, collected chunk by chunk."""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from bert_judge.judges.protocol import EMPTY_ANSWER, NOT_ATTEMPTED, VERDICT_CODES, Label
from bert_judge.text.languages import UNKNOWN_LANGUAGE, UNKNOWN_SCRIPT

# In place of a verdict: no answer to judge.
SKIPPED = -2


class ModelVerdicts(NamedTuple):
    """A judge's verdict codes on the answers of a model, whether these attempt anything, and question hashes; shapes (n,)."""

    verdicts: np.ndarray
    attempted: np.ndarray
    questions: np.ndarray


class Tally:
    """Verdicts by judge and model, in eleven bytes per row plus two bytes per judge.

    Attributes:
        models: name → code, in the order of their first answer; "" if the file does not name a model.
        reasons: number of invalid verdicts by reason, over all judges.
        decided: number of valid verdicts on answers that are not empty, over all judges.
        unfamiliar: number of verdicts on text that a judge was not trained on, by reason, over all judges.
    """

    def __init__(self, judges: Sequence[str]) -> None:
        self.judges = judges
        self.models: dict[str, int] = {}
        self.reasons: Counter[str] = Counter()
        self.decided = 0
        self.unfamiliar: Counter[str] = Counter()
        shape = (len(judges),)
        fields = [("model", np.int16), ("question", np.uint64), ("truth", np.int8), ("verdicts", np.int8, shape)]
        fields.append(("attempted", np.int8, shape))
        self._chunks = [np.empty(0, np.dtype(fields))]

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
        chunk = np.empty(len(models), self._chunks[0].dtype)
        chunk["model"] = [self.models.setdefault(model, len(self.models)) for model in models]
        chunk["question"] = [hash_text(question) for question in questions]
        chunk["truth"] = [SKIPPED if value is None else int(value >= 0.5) for value in truth]
        for index, column in enumerate(labels):
            chunk["verdicts"][:, index] = [SKIPPED if label is None else VERDICT_CODES[label.verdict] for label in column]
            chunk["attempted"][:, index] = [label is not None and label.outcome != NOT_ATTEMPTED for label in column]
        self._chunks.append(chunk)
        for label in (label for column in labels for label in column if label is not None):
            reason = label.reason or "no reason"
            if label.verdict == "invalid":
                self.reasons[reason] += 1
            elif reason != EMPTY_ANSWER:
                self.decided += 1
            self.unfamiliar.update(text for text in (UNKNOWN_SCRIPT, UNKNOWN_LANGUAGE) if text in reason)

    def by_model(self) -> Iterator[tuple[str, str, ModelVerdicts]]:
        """Yield (judge, model, verdicts) for each judge and model, without skipped rows."""
        for index, (judge, rows, verdicts) in enumerate(self._by_judge()):
            for name, code in self.models.items():
                if (of_model := rows["model"] == code).any():
                    attempted = rows["attempted"][:, index].astype(bool)
                    yield judge, name, ModelVerdicts(verdicts[of_model], attempted[of_model], rows["question"][of_model])

    def labelled(self) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (judge, verdict codes, codes of the file's labels, question hashes) of the labelled rows of each judge."""
        for judge, rows, verdicts in self._by_judge():
            if (has_label := rows["truth"] != SKIPPED).any():
                yield judge, verdicts[has_label], rows["truth"][has_label], rows["question"][has_label]

    def _by_judge(self) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        rows = np.concatenate(self._chunks)
        for index, judge in enumerate(self.judges):
            verdicts = rows["verdicts"][:, index]
            judged = verdicts != SKIPPED
            yield judge, rows[judged], verdicts[judged]

    @property
    def rows(self) -> int:
        """Rows of the file, so far."""
        return sum(map(len, self._chunks))

    @property
    def skipped(self) -> int:
        """Rows without an answer to judge."""
        return sum(int((chunk["verdicts"][:, 0] == SKIPPED).sum()) for chunk in self._chunks) if self.judges else 0


def hash_text(text: str) -> int:
    """Return a 64-bit hash of a text, to distinguish questions in little memory."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
