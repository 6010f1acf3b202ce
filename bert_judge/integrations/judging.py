"""What the loops share: a judge by its name, loaded once, and labels for plain texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bert_judge.candidates.importers.answers import make_column_reader
from bert_judge.judges.protocol import Label
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.score_file.score_file import judge_rows, to_row
from bert_judge.runtime.logs import disable_progress_bars

_READ = make_column_reader({name: name for name in ("question", "references", "candidate")})


@lru_cache(maxsize=8)
def named(name: str | None = None, threshold: float | None = None) -> NamedJudge:
    """A judge by the name that `bert-judge score --judge` takes; of none, the one that the command would take.

    Raises:
        InputError: there is no such judge.
    """
    disable_progress_bars()
    [chosen] = judge_loading.load_judges([name or judge_loading.default_judge()[0]], threshold)
    return chosen


def labels(
    judge: NamedJudge, questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> list[Label]:
    """One label per row; reasoning before the answer is left out, and a row that cannot be judged is invalid.

    Args:
        questions, candidates: one text per row.
        references: per row one right answer, or several any of which is right.
    """
    rows = zip(questions, references, candidates, strict=True)
    records = [
        {"question": question, "references": right if isinstance(right, str) else list(right), "candidate": candidate}
        for question, right, candidate in rows
    ]
    # None stands for a row that its reader skips, and this one skips none.
    return [label for label in judge_rows(judge, [to_row(_READ, record) for record in records]) if label is not None]
