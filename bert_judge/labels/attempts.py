"""Tell answers that attempt nothing from incorrect ones."""

from dataclasses import replace

from bert_judge.judges.protocol import Label, Row
from bert_judge.text.abstention import is_attempted


def with_attempt(label: Label, row: Row, *, is_truncated: bool = False) -> Label:
    """Return a label that tells whether its answer attempts the question, unless the judge itself has told or found it correct.

    `is_truncated`: the generation of the answer stopped at its limit.
    """
    if label.verdict == "correct" or label.is_attempted is not None:
        return label
    return replace(label, is_attempted=is_attempted(row.question, row.references, row.candidate, is_truncated=is_truncated))
