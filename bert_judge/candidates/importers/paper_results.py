"""Result files of two papers: BERT-as-a-Judge and Representation-as-a-Judge.

BERT-as-a-Judge: `{folder}/{task}/{model}/candidates.json`, a list of answers in the order of the task's questions. Questions and
references come from a second file in the same order; a judge's `scores.json`, a list in the same order, becomes the column `label`.

Representation-as-a-Judge: `{model}_{dataset}_results.json`, a list of questions with gold answers and one prediction each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bert_judge.candidates.importers.answers import Answer, make_answers
from bert_judge.candidates.importers.companion_files import CompanionFiles, questions_in_order
from bert_judge.candidates.importers.options import letter_options
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.json_documents import iterate_list
from bert_judge.tables.readers.rows import LocatedRecord, Record

REPRESENTATION_KEYS = frozenset({"question", "prediction"})


def read_bert_as_a_judge(path: Path, companions: CompanionFiles) -> Iterator[LocatedRecord]:
    """Yield the answers with their questions as plain rows.

    Raises:
        InputError: there is no file of references, the lists differ in length, or a member is not a text.
    """
    if companions.references is None:
        raise InputError(f"{path}: contains answers only; name the file of questions and references with --references")
    questions, scores = questions_in_order(companions.references), companions.scores
    task, model = path.resolve().parent.parent.name, path.resolve().parent.name
    lists = (questions, iterate_list(path, "item"), iterate_list(scores, "item") if scores else iter(()))
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


class RepresentationReader:
    """Reader of the members of one file of Representation-as-a-Judge."""

    def __init__(self, path: Path) -> None:
        name = path.stem.removesuffix("_results")
        self.model, _, self.task = name.rpartition("_") if "_" in name else (name, "", "")

    def __call__(self, record: Record) -> list[Answer]:
        question, final = values.parse_text(record.get("question")), record.get("final_answer")
        references: Sequence[Any] = [final]
        if final is None:
            references = _parse_solution(values.parse_text(record.get("gold_answer")))
        options = record.get("options")
        options = list(options.values()) if isinstance(options, Mapping) else options
        if isinstance(options, list) and options and all(isinstance(option, str) for option in options):
            answer = values.parse_text(final)
            letters = [chr(ord("A") + index) for index in range(len(options))]
            correct = [
                index
                for index, (letter, option) in enumerate(zip(letters, options, strict=True))
                if answer in (option, letter, f"({letter})")
            ]
            question, references = letter_options(question, options, correct) if correct else (question, [answer])
        candidates = [record["prediction"]] if record.get("prediction") is not None else []
        identity = values.parse_text(record.get("id"))
        return make_answers(references, candidates, question=question, model=self.model, task=self.task, id=identity)


def _parse_solution(solution: str) -> list[str]:
    """Return the last box of a solution: MATH has no separate final answer in these files."""
    from bert_judge.tasks.cells import UnusableRow, last_box

    try:
        return last_box(solution)
    except UnusableRow as error:
        raise values.UnreadableCell(f"no final_answer, and {error}") from error
