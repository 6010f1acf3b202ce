"""Labels of an audit by a language model behind a server, in place of a person's: a sheet that it fills."""

import csv
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bert_judge import tables
from bert_judge.cli.terminal import log
from bert_judge.evaluation.audit.sampling import CANNOT_TELL
from bert_judge.judges.protocol import Row
from bert_judge.labels.escalation import has_failed
from bert_judge.labels.judge_loading import JudgeReference
from bert_judge.labels.judging import judge_rows, without_reasoning
from bert_judge.report.audit_sheet import SheetRow
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import count_causes

COLUMNS = ("id", "rate", "verdict", "annotator", "reason")


def label_file(source: Path, judge: JudgeReference) -> Path:
    """Return the file of a language model's labels on the answers of a file, which grows with every round."""
    return source.with_suffix(f".{judge.name}.labels.csv")


def fill_sheet(rows: Sequence[SheetRow], judge: JudgeReference, path: Path) -> None:
    """Append a language model's verdicts on the rows of a sheet; rows on which the server failed stay open for another call.

    Raises:
        InputError: the server does not respond, rejects the key, does not have the model, or fails on all rows.
    """
    with closing(judge.load()) as loaded:
        loaded.judge.generator.check_features()
        inputs = [without_reasoning(Row(row.id, 0, "", row.question, tuple(row.references), row.candidate)) for row in rows]
        labels = [label for label in judge_rows(loaded, inputs) if label is not None]
    if labels and all(label.verdict == "invalid" for label in labels):
        cause, _ = count_causes(str(label.reason) for label in labels)[0]
        raise InputError(
            f"{judge.name} gave no verdict on any of {len(labels):,} answers: {cause}; check the server and repeat the call"
        )
    failures = count_causes(str(label.reason) for label in labels if has_failed(label))
    for reason, count in failures:
        log(f"{judge.name} failed on {count:,} answers, which another call asks about again: {reason}")
    if undecided := sum(label.verdict == "invalid" and not has_failed(label) for label in labels):
        log(f"{judge.name} gave no verdict on {undecided:,} answers; {path} says why")
    earlier: list[dict[str, str]] = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            earlier = list(csv.DictReader(file))
    with tables.atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(earlier)
        for row, label in zip(rows, labels, strict=True):
            verdict = CANNOT_TELL if label.verdict == "invalid" else label.verdict
            if not has_failed(label):
                writer.writerow(dict(zip(COLUMNS, (row.id, f"{row.rate:.6g}", verdict, judge.name, label.reason), strict=True)))
