"""JudgeLM's judge samples and judgements as pairs: every two answers of a line, with the better one where the line holds scores.

Scores are the first line of a judgement, a number per answer: `text` in its training and validation data, `pred_text` in what
JudgeLM itself wrote. A judgement whose first line is something else (JudgeLM's [-1, -1]) is no label. What follows is the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers import judgelm
from bert_judge.candidates.importers.answers import Record
from bert_judge.tables.readers import values

JUDGEMENTS = ("text", "pred_text")
COLUMNS = ("question", "reference", "answer_a", "answer_b", "model_a", "model_b", "label", "reason", "task", "id")


class Reader:
    """Reads the lines of one file.

    Args:
        references: question_id → reference, from the second file.
    """

    def __init__(self, path: Path, references: Mapping[str, list[str]] | None = None) -> None:
        self.answers = judgelm.Reader(path, references, needed=False)

    def __call__(self, record: Record) -> Iterator[dict[str, Any]]:
        """Rows with `COLUMNS`.

        Raises:
            values.UnreadableCell: fewer than two answers, or one that is no text.
        """
        found = self.answers(record)
        if len(found) < 2:
            raise values.UnreadableCell("no answer2_body")
        judged = ((said, record[key]) for key in JUDGEMENTS if (said := _scores(record.get(key), len(found))))
        scores, judgement = next(judged, (None, ""))
        # A judgement of more than two answers speaks of all of them.
        reason = judgement.partition("\n")[2].strip() if len(found) == 2 else ""
        for a, b in combinations(range(len(found)), 2):
            one, other = found[a], found[b]
            yield {
                "question": one.question,
                "reference": list(one.references),
                "answer_a": one.candidate,
                "answer_b": other.candidate,
                "model_a": one.model,
                "model_b": other.model,
                "label": None if scores is None else _better(scores[a], scores[b]),
                "reason": reason or None,
                "task": one.task,
                "id": one.id,
            }


def _scores(judgement: Any, answers: int) -> Sequence[float] | None:
    """The scores of a judgement, as many as there are answers; None where its first line holds something else."""
    if not isinstance(judgement, str):
        return None
    first = judgement.partition("\n")[0].replace(",", " ").split()
    scores = [values.to_float(word) for word in first]
    # Not a number and -1 fail this.
    return scores if len(scores) == answers and all(score >= 0 for score in scores) else None


def _better(one: float, other: float) -> str:
    return "tie" if one == other else "A" if one > other else "B"
