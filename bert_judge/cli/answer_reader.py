"""The reader of the answers in a file of a user, or of a framework, for the commands that judge a file."""

from collections.abc import Mapping
from pathlib import Path

from bert_judge.cli.terminal import log
from bert_judge.importers import column_names, label_columns
from bert_judge.importers.answers import RecordReader, make_column_reader
from bert_judge.importers.companion_files import CompanionFiles, JoiningReader
from bert_judge.importers.frameworks import FRAMEWORKS, PLAIN_COLUMNS, AnswerFile
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import RowFile


def make_reader(
    answers: AnswerFile,
    source: RowFile,
    columns: Mapping[str, str],
    by: str | None = None,
    *,
    needs_references: bool = True,
    is_conversation: bool = False,
) -> tuple[RecordReader, str]:
    """Return the reader of the rows and a name for their labels; log the detected format or columns.

    Args:
        by: column of the groups of rows, which a file of references may have instead.
        needs_references, is_conversation: see `make_column_reader`.
    """
    file = answers.path
    if answers.framework is not None:
        kind = FRAMEWORKS[answers.framework]
        log(f"{file}: {kind.description}")
        plain = make_column_reader(PLAIN_COLUMNS, needs_references=needs_references)
        return kind.make_reader(file, CompanionFiles()) if answers.is_annotatable else plain, "the file's own verdicts"
    references = columns.get("references", "")
    if references and references not in source.columns and Path(references).is_file():
        named = {role: column for role, column in columns.items() if role != "references"}
        joined = JoiningReader(
            source, Path(references), named, None if by in source.columns else by, is_conversation=is_conversation
        )
        log(f"references: {references}, joined by {joined.key!r}; candidate: {joined.columns['candidate']!r}")
        return joined, f"the column {joined.columns.get('label')!r}"

    def remedy(role: str) -> str:
        companion = " or --references FILE, a second file with the same ids" if role == "references" else ""
        return f"set {column_names.column_option(role)} COLUMN{companion}"

    required = column_names.REQUIRED if needs_references else ("candidate",)
    detected = column_names.detect_columns(file, source.columns, columns, required, sample=source.sample, remedy=remedy)
    if labels := label_columns.verdict_columns(source.columns, detected, source.sample):
        detected.setdefault("label", labels[0])
        if label_columns.are_grade_letters(labels[0], [values.get_cell(record, labels[0]) for record in source.sample]):
            log(f"{file}: {labels[0]!r} holds the letters of SimpleQA: A is correct, B incorrect, C not attempted")
    roles = [f"{role}: {column!r}" for role, column in detected.items()]
    log("; ".join(roles if "model" in detected else [*roles, "model: no column"]))
    for column, cell in label_columns.unread_labels(source.columns, detected, source.sample):
        log(f"{file}: the column {column!r} is not read as labels, because {str(cell)!r} is no verdict")
    labels_name = (
        f"the column {detected['label']!r}" if "label" in detected else f"the marks in the column {detected['candidate']!r}"
    )
    reader = make_column_reader(
        detected, source.holds_texts, source.sample, needs_references=needs_references, is_conversation=is_conversation
    )
    return reader, labels_name
