"""A judge as a metric of lm-evaluation-harness: every document records its answer, and all are judged together at the end.

`lm_eval_tasks/` holds tasks that use it, and `judged.yaml`, which other tasks include. As a program, this module prints its path:

    lm_eval run … --tasks gsm8k_judged --include_path "$(python -m bert_judge.integrations.lm_eval_metric)"
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge import integrations
from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.column_names import detect_columns
from bert_judge.importers.harnesses import final_answers

METRIC = "bert_judge"
TASKS = Path(__file__).with_name("lm_eval_tasks")
# Names the judge: the harness has no option for it.
JUDGE_VARIABLE = "BERT_JUDGE"
# No key of a document.
_CANDIDATE = "\0"


class JudgedDoc(NamedTuple):
    """The part of a document that the judge needs."""

    question: str
    references: list[str]
    candidate: str


def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, JudgedDoc]:
    """Return the value of `process_results` for a document whose question and references have usual names.

    A reference that is a solution is replaced by its final answer, after `####` or in the last box.

    Raises:
        InputError: which key holds the references cannot be told; then write a function that calls `record_answer`.
    """
    remedy = "write a process_results that calls bert_judge.integrations.lm_eval_metric.record_answer".format
    columns = detect_columns(Path("the document"), list(doc), {}, ("references",), sample=[doc], remedy=remedy)
    read_document = make_column_reader(columns | {"candidate": _CANDIDATE}, sample=[doc])
    [answer] = read_document({**doc, _CANDIDATE: ""})
    references = [form for reference in answer.references for form in final_answers(reference)]
    return record_answer(answer.question, references, results)


def record_answer(question: str, references: str | Sequence[str], results: Sequence[Any]) -> dict[str, JudgedDoc]:
    """Return the value of `process_results`. `results`: as the harness passes them; of several generations the first is judged."""
    result = results[0]
    candidate = str(result[0] if isinstance(result, list | tuple) else result)
    return {METRIC: JudgedDoc(question, [references] if isinstance(references, str) else list(references), candidate)}


def accuracy(items: Sequence[JudgedDoc], judge: str | None = None) -> float:
    """Return the share of correct answers, with invalid verdicts counted as incorrect; NaN for no answers.

    Args:
        items: of all documents.
        judge: name as for `bert-judge score --judge`; default: the environment variable BERT_JUDGE, or else `general`.
    """
    if not items:
        return math.nan
    questions, references, candidates = map(list, zip(*items, strict=True))
    named = integrations.load_judge(judge or os.environ.get(JUDGE_VARIABLE))
    labels = integrations.label_texts(named, questions=questions, references=references, candidates=candidates)
    return integrations.accuracy([integrations.to_number(label) for label in labels])


if __name__ == "__main__":
    print(TASKS)
