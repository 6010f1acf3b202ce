"""Result files of BERT-as-a-Judge: `{folder}/{task}/{model}/candidates.json`, a list of answers in the order of the questions.

Questions and references come from a second file in the same order; a judge's `scores.json`, a list in the same order, becomes the
column `label`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from bert_judge.candidates.importers.companion_files import CompanionFiles, questions_in_order
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.json_documents import iterate_list
from bert_judge.tables.readers.rows import LocatedRecord


def read_candidates(path: Path, companions: CompanionFiles) -> Iterator[LocatedRecord]:
    """Yield the answers with their questions as plain rows. Raises InputError: no references, or lists of different lengths."""
    if companions.references is None:
        raise InputError(f"{path}: contains answers only; name the file of questions and references with --references")
    questions, scores = questions_in_order(companions.references), companions.scores
    task, model = path.resolve().parent.parent.name, path.resolve().parent.name
    lists = (questions, iterate_list(path), iterate_list(scores) if scores else iter(()))
    for count, (row, member, score) in enumerate(zip_longest(*lists)):
        if row is None and member is None:
            raise InputError(f"{scores}: has more scores than there are answers ({count}); give the scores of these answers")
        if row is None or member is None:
            # The remaining questions are counted for the message only.
            total = count if row is None else count + 1 + sum(1 for _ in questions)
            raise InputError(
                f"{path}: has {'more' if row is None else 'fewer'} answers than the references have questions ({total}); "
                "give the questions of these answers, in their order"
            )
        location, candidate = member
        if not isinstance(candidate, str | None):
            raise InputError(f"{path}: {location} is {str(candidate)[:60]!r}; candidates.json is a list of texts")
        if scores and score is None:
            raise InputError(f"{scores}: has fewer scores ({count}) than there are answers; give the scores of these answers")
        label = values.parse_label(score[1]) if score else None
        yield location, {**row, "candidate": candidate, "model": model, "task": task, "label": label}
