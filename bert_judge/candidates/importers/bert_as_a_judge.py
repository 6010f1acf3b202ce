"""BERT-as-a-Judge's `{folder}/{task}/{model}/candidates.json`: a list of answers, in the order of the task's questions.

Questions and references come from a second file, in the same order. A `scores.json` of a judge, a list in the same order, goes with
`--scores` into the column `label`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from bert_judge.candidates.importers.answers import Record
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.json_items import items

LIST = "item"


def records(path: Path, questions: Iterator[Record], scores: Path | None) -> Iterator[tuple[str, Record]]:
    """Answers with their questions as plain rows.

    Args:
        questions: rows with `question` and `references`.
        scores: the judge's list.

    Raises:
        InputError: the lists differ in length, or a member is no text.
    """
    given = items(scores, LIST) if scores else iter(())
    for count, (row, said, score) in enumerate(zip_longest(questions, items(path, LIST), given)):
        if row is None and said is None:
            raise InputError(f"{scores}: has more scores than there are answers ({count}); give the scores of these answers")
        if row is None or said is None:
            # What is left of the questions is counted for the message alone.
            asked = count if row is None else count + 1 + sum(1 for _ in questions)
            raise InputError(
                f"{path}: has {'more' if row is None else 'fewer'} answers than the references have questions ({asked}); "
                "give the questions that were asked, in their order"
            )
        place, text = said
        if not isinstance(text, str | None):
            raise InputError(f"{path}: {place} is {str(text)[:60]!r}; candidates.json is a list of texts")
        if scores and score is None:
            raise InputError(f"{scores}: has fewer scores ({count}) than there are answers; give the scores of these answers")
        label = values.parse_label(score[1]) if score else None
        task, model = path.resolve().parent.parent.name, path.resolve().parent.name
        yield place, {**row, "candidate": text, "model": model, "task": task, "label": label}
