"""Scoring of a file: the same file with verdict columns appended, in chunks, so that it may have any size and scoring can resume.

Until the output is complete, verdicts are stored in `.{output}.parts` in the same folder. A repeated call reuses every stored
verdict of the same judge on the same answer, if the same state of this program gave it.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bert_judge import tables
from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows
from bert_judge.importers.answers import RecordReader
from bert_judge.judges.protocol import CORRECT, EMPTY_FLAG, INCORRECT, NOT_ATTEMPTED, VERDICT_CODES, Label, Row
from bert_judge.labels.escalation import Escalation, StoreOf, judge_inputs
from bert_judge.labels.judge_loading import NamedCascade, NamedJudge
from bert_judge.labels.judging import JudgeInput, LabelStore, ParsedRecord, judge_rows, parse_record
from bert_judge.labels.writers import check_new_columns, open_writer
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.program import program
from bert_judge.statistics.accuracy_range import AccuracyRange, accuracy_range
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Chunk, Record, RowFile
from bert_judge.text.answer_kinds import answer_kind
from bert_judge.text.languages import UNFAMILIAR_FLAGS

# Rows held in memory at once, and rows per shard: the most that a kill can lose, besides labels that are computed ahead.
CHUNK_ROWS, SHARD_ROWS = 4096, 256
# Disagreements of judges that are shown.
NUM_SUREST = 5
# Columns per judge, which are the names of attributes of a label.
ADDED_COLUMNS = ("verdict", "outcome", "score", "certain", "reason")
# Returns the group that a record counts in, such as the category of its question.
GroupReader = Callable[[Record], str]
# Called after each shard with the fraction of the work that is done, and the number of newly judged rows over all judges.
OnProgress = Callable[[float, int], None]


def score_file(
    source: RowFile,
    reader: RecordReader,
    output: Path,
    judges: Sequence[NamedJudge],
    *,
    prefix: str = "",
    group_of: GroupReader = lambda record: "",
    on_progress: OnProgress = lambda fraction, rows: None,
    top_share: float | None = None,
) -> Tally:
    """Write the source's rows with the judges' verdicts, in the source's format. The caller has claimed the output.

    Args:
        reader: of the source's records.
        top_share: write only this share of the rows, above 0 and up to 1: those with the highest scores of the only judge, the
            earlier of equal ones; at least one. All rows count in the result.

    Raises:
        InputError: the source is damaged, or already has a column with the name of a new one, or rows cannot be left out of it, or
            a language model that was asked gave no verdict.
        SystemExit: stopped by SIGTERM; the verdicts so far are saved.
    """
    if top_share is not None and source.format == "xlsx":
        raise InputError(f"{source.path}: rows cannot be left out of a copy of a workbook; save it as CSV")
    work, tally = work_folder(output), Tally([judge.name for judge in judges])
    new_columns = [prefix + name for name in output_columns(judges)]
    check_new_columns(source.path, source.columns, new_columns)
    seen_hashes = [_read_seen(judge) for judge in judges]
    # Another state of the program may judge otherwise.
    judges = [with_program(judge) for judge in judges]
    escalations = [judge for judge in judges if isinstance(judge, Escalation)]
    # The judges before a server have judged the rows when the requests were planned.
    shares = sum(judge.share for judge in escalations) + len(judges) - len(escalations)

    def judged_chunks() -> Iterator[tuple[Chunk, list[ParsedRecord], list[list[Label | None]]]]:
        start = 0.0
        for cascade in escalations:
            cascade.records.clear()
        for number, chunk in enumerate(source.chunks(CHUNK_ROWS)):
            records = [parse_record(reader, record) for record in chunk.records]
            inputs = [record.input for record in records]
            report = _ChunkProgress(on_progress, start, chunk.fraction_read, len(records) * shares)
            yield chunk, records, [_judge_chunk(judge, inputs, store_of(work, number), report) for judge in judges]
            on_progress(start := chunk.fraction_read, 0)

    is_kept = None if top_share is None else _select_best((column for _, _, [column] in judged_chunks()), top_share)
    with tables.atomic(output) as unfinished, open_writer(source, unfinished, new_columns) as write:
        for chunk, records, labels in judged_chunks():
            rows = [row for row in range(len(records)) if is_kept is None or is_kept[tally.rows + row]]
            cells = [
                [describe_reason(column[row]) if name == "reason" else getattr(column[row], name, None) for row in rows]
                for judge, column in zip(judges, labels, strict=True)
                for name in added_columns(judge)
            ]
            write(chunk if is_kept is None else chunk.select(rows), dict(zip(new_columns, cells, strict=True)))
            tally.written += len(rows)
            models, questions = [record.model for record in records], [record.question for record in records]
            tally.add_uncertain([record.input for record in records], labels)
            if len(judges) > 1:
                tally.add_disagreements([record.input for record in records], labels)
            groups = [group_of(record) for record in chunk.records]
            truth = [record.label for record in records]
            seen = [_find_seen(hashes, records) for hashes in seen_hashes]
            tally.add(models, questions, truth, labels, groups=groups, seen=seen)
        for cascade in escalations:
            cascade.check_verdicts()
    resume.clear(work)
    return tally


def _read_seen(judge: NamedJudge) -> np.ndarray:
    """Return the hashes of the rows that a judge, or a member of a cascade, was trained on; empty without a record."""
    members = judge.members if isinstance(judge, NamedCascade) else [judge]
    records = [read_seen_rows(member.folder) for member in members if member.folder]
    return np.concatenate([np.empty(0, np.uint64), *(hashes for hashes in records if hashes is not None)])


def _find_seen(hashes: np.ndarray, records: Sequence[ParsedRecord]) -> np.ndarray:
    """Return which labelled records are among hashed rows, shape (n,)."""
    is_seen = np.zeros(len(records), bool)
    rows = [(index, record.input) for index, record in enumerate(records) if record.label is not None] if len(hashes) else []
    judged = [(index, row) for index, row in rows if isinstance(row, Row)]
    if judged:
        texts = hash_rows([row.question for _, row in judged], [row.candidate for _, row in judged])
        is_seen[[index for index, _ in judged]] = np.isin(texts, hashes)
    return is_seen


def with_program(judge: NamedJudge) -> NamedJudge:
    """Return a judge whose origin names the state of the program, since another one may judge otherwise."""
    judge = replace(judge, origin=f"{program()} {judge.origin}")
    return replace(judge, members=[with_program(member) for member in judge.members]) if isinstance(judge, Escalation) else judge


def store_of(work: Path, chunk: int) -> StoreOf:
    """Return the function from a judge's name to the store of its labels on a chunk."""
    return lambda name: LabelStore(work / "verdicts" / name / f"{chunk:06d}", SHARD_ROWS)


def _judge_chunk(
    judge: NamedJudge, inputs: Sequence[JudgeInput], stores: StoreOf, on_progress: Callable[[int], None]
) -> list[Label | None]:
    if isinstance(judge, Escalation):
        return judge_inputs(judge, inputs, stores, on_progress)
    return judge_rows(judge, inputs, store=stores(judge.name), on_progress=on_progress)


class _ChunkProgress:
    """Reports the rows of a chunk as fractions of the whole file.

    Args:
        start, end: fractions of the file that are read before the chunk and with it.
        rows: expected to be judged in the chunk, over all judges.
    """

    def __init__(self, on_progress: OnProgress, start: float, end: float, rows: float) -> None:
        self._on_progress, self._start, self._end, self._rows, self._judged = on_progress, start, end, max(rows, 1.0), 0

    def __call__(self, rows: int) -> None:
        self._judged += rows
        self._on_progress(self._start + (self._end - self._start) * min(self._judged / self._rows, 1.0), rows)


def _select_best(chunks: Iterable[Sequence[Label | None]], share: float) -> np.ndarray:
    """Return whether each row is among the share with the highest scores; one without a score is last."""
    scores = np.array([-1.0 if label is None or label.score is None else label.score for labels in chunks for label in labels])
    best = np.argsort(-scores, kind="stable")[: math.ceil(len(scores) * share)]
    return np.isin(np.arange(len(scores)), best)


def describe_reason(label: Label | None) -> str | None:
    """Return the reason of a label, which begins with the grades, if the judge gives any."""
    if label is None or not label.aspects:
        return None if label is None else label.reason
    grades = ", ".join(f"{aspect} {grade:g}" for aspect, grade in label.aspects.items())
    return f"{grades}: {label.reason}" if label.reason else grades


def work_folder(output: Path) -> Path:
    """Return the folder of the verdicts until the output is complete."""
    return tables.hidden_path(output, ".parts")


def added_columns(judge: NamedJudge) -> Sequence[str]:
    """Return the columns of a judge; those of a cascade name the judge that decided a row."""
    return (*ADDED_COLUMNS, "decided_by") if isinstance(judge, NamedCascade) else ADDED_COLUMNS


def output_columns(judges: Sequence[NamedJudge]) -> list[str]:
    """Return the names of the new columns; with several judges they have the judge's name as a prefix."""
    return [f"{judge.name}_{name}" if len(judges) > 1 else name for judge in judges for name in added_columns(judge)]


# In place of a verdict: no answer to judge.
SKIPPED = -2
# In place of whether a verdict is certain: the judge does not say.
NO_CLAIM = -1


class ModelVerdicts(NamedTuple):
    """A judge's verdicts on the answers of a model; shapes (n,).

    Attributes:
        verdicts: codes of `VERDICT_CODES`.
        attempted: whether the answers attempt anything.
        questions: hashes.
        certain: 1 and 0 for certain and uncertain verdicts, `NO_CLAIM` for others.
    """

    verdicts: np.ndarray
    attempted: np.ndarray
    questions: np.ndarray
    certain: np.ndarray

    @property
    def range(self) -> AccuracyRange:
        return accuracy_range(self.verdicts == CORRECT, self.certain == 0, self.certain != NO_CLAIM)


class Tally:
    """Verdicts by judge, model and group of rows, in 17 bytes per row plus four bytes per judge.

    Attributes:
        models: name → code, in the order of their first answer; "" if the file does not name a model.
        groups: the same for the groups of rows; "" if rows are not grouped.
        reasons: number of invalid verdicts by reason, over all judges.
        decided: number of valid verdicts on answers that are not empty, over all judges.
        undecided_labels, graded_labels: number of labels of the file that are 0.5, which no agreement counts, and of other ones
            between 0 and 1, which are rounded.
        written: number of rows in the output.
        unfamiliar: (judge, reason) → number of its verdicts on text that it was not trained on.
        uncertain: judge → number of its uncertain verdicts by kind of answer (`text.answer_kinds`).
        surest: (margin, number of the row from 1, row, label per judge) of the `NUM_SUREST` rows on which judges disagree with the
            largest margin between a score that means correct and one that means incorrect.
    """

    def __init__(self, judges: Sequence[str]) -> None:
        self.judges = judges
        self.models: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self.reasons: Counter[str] = Counter()
        self.decided = 0
        self.undecided_labels = self.graded_labels = 0
        self.written = 0
        self.unfamiliar: Counter[tuple[str, str]] = Counter()
        self.uncertain: dict[str, Counter[str]] = {judge: Counter() for judge in judges}
        self.surest: list[tuple[float, int, Row, Sequence[Label]]] = []
        shape = (len(judges),)
        fields = [
            ("model", np.int32),
            ("group", np.int32),
            ("question", np.uint64),
            ("truth", np.int8),
            ("verdicts", np.int8, shape),
            ("attempted", np.int8, shape),
            ("certain", np.int8, shape),
            ("seen", np.bool_, shape),
        ]
        self._chunks = [np.empty(0, np.dtype(fields))]

    def add(
        self,
        models: Sequence[str],
        questions: Sequence[str],
        truth: Sequence[float | None],
        labels: Sequence[Sequence[Label | None]],
        *,
        groups: Sequence[str],
        seen: Sequence[np.ndarray] | None = None,
    ) -> None:
        """Count some rows.

        Args:
            truth: labels of the file, 0 to 1, None if there is none.
            labels: per judge one label per row, None if there was no answer to judge.
            seen: per judge whether it was trained on each row; None: on none.
        """
        chunk = np.empty(len(models), self._chunks[0].dtype)
        chunk["model"] = [self.models.setdefault(model, len(self.models)) for model in models]
        chunk["group"] = [self.groups.setdefault(group, len(self.groups)) for group in groups]
        chunk["question"] = [hash_text(question) for question in questions]
        chunk["truth"] = [SKIPPED if (rounded := values.round_label(value)) is None else rounded for value in truth]
        self.undecided_labels += truth.count(0.5)
        self.graded_labels += sum(value not in (None, 0, 0.5, 1) for value in truth)
        for index, column in enumerate(labels):
            chunk["verdicts"][:, index] = [SKIPPED if label is None else VERDICT_CODES[label.verdict] for label in column]
            chunk["attempted"][:, index] = [label is not None and label.outcome != NOT_ATTEMPTED for label in column]
            chunk["certain"][:, index] = [NO_CLAIM if label is None or label.certain is None else label.certain for label in column]
        chunk["seen"] = False if seen is None else np.stack(seen, axis=1)
        self._chunks.append(chunk)
        judged = zip(self.judges, labels, strict=True)
        for judge, label in ((judge, label) for judge, column in judged for label in column if label is not None):
            if label.verdict == "invalid":
                self.reasons[label.reason or "no reason"] += 1
            elif EMPTY_FLAG not in label.flags:
                self.decided += 1
            self.unfamiliar.update((judge, reason) for reason, flag in UNFAMILIAR_FLAGS.items() if flag in label.flags)

    def add_uncertain(self, inputs: Sequence[JudgeInput], labels: Sequence[Sequence[Label | None]]) -> None:
        """Count the kinds of answers whose verdicts are uncertain; `labels` as in `add`."""
        for judge, column in zip(self.judges, labels, strict=True):
            self.uncertain[judge].update(
                answer_kind(row.question, row.references, row.candidate)
                for row, label in zip(inputs, column, strict=True)
                if label is not None and label.certain is False and isinstance(row, Row) and row.references
            )

    def add_disagreements(self, inputs: Sequence[JudgeInput], labels: Sequence[Sequence[Label | None]]) -> None:
        """Remember the surest disagreements about some rows, before `add` counts them; `labels` as there."""
        for number, (row, of_row) in enumerate(zip(inputs, zip(*labels, strict=True), strict=True), start=self.rows + 1):
            known = [label for label in of_row if label is not None]
            high = [label.score for label in known if label.verdict == "correct" and label.score is not None]
            low = [label.score for label in known if label.verdict == "incorrect" and label.score is not None]
            if high and low and isinstance(row, Row):
                self.surest.append((max(high) - min(low), number, row, known))
        self.surest = heapq.nlargest(NUM_SUREST, self.surest, key=itemgetter(0))

    def disagreements(self) -> Iterator[tuple[str, str, int, int, int]]:
        """Yield (judge, other judge, answers correct for the first only, for the other only, answers that both decided)."""
        verdicts = np.concatenate(self._chunks)["verdicts"]
        for (judge, first), (other, second) in combinations(zip(self.judges, verdicts.T, strict=True), 2):
            decided = (first >= INCORRECT) & (second >= INCORRECT)
            only_first, only_second = decided & (first > second), decided & (second > first)
            yield judge, other, int(only_first.sum()), int(only_second.sum()), int(decided.sum())

    def by_model(self) -> Iterator[tuple[str, str, ModelVerdicts]]:
        """Yield (judge, model, verdicts) for each judge and model, without skipped rows."""
        for index, (judge, rows, verdicts) in enumerate(self._by_judge()):
            for name, code in self.models.items():
                if (of_model := rows["model"] == code).any():
                    yield judge, name, _select(rows, verdicts, index, of_model)

    def by_group(self) -> Iterator[tuple[str, str, str, ModelVerdicts]]:
        """Yield (judge, model, group, verdicts) for each that has rows, without skipped rows; groups are sorted."""
        for index, (judge, rows, verdicts) in enumerate(self._by_judge()):
            for name, code in self.models.items():
                for group in sorted(self.groups):
                    if (of_group := (rows["model"] == code) & (rows["group"] == self.groups[group])).any():
                        yield judge, name, group, _select(rows, verdicts, index, of_group)

    def label_accuracies(self) -> Iterator[tuple[str, dict[str, tuple[float, float]]]]:
        """Yield (judge, model → accuracy by the labels and by the judge) of the rows that `labelled` yields."""
        for index, (judge, rows, verdicts) in enumerate(self._by_judge()):
            has_label = (rows["truth"] != SKIPPED) & ~rows["seen"][:, index]
            yield (
                judge,
                {
                    name: (float((rows["truth"][of_model] == CORRECT).mean()), float((verdicts[of_model] == CORRECT).mean()))
                    for name, code in self.models.items()
                    if (of_model := has_label & (rows["model"] == code)).any()
                },
            )

    def labelled(self) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (judge, verdict codes, codes of the file's labels, question hashes) of the labelled rows of each judge.

        Rows that it was trained on are left out, on which it agrees with the labels more often than on others.
        """
        for index, (judge, rows, verdicts) in enumerate(self._by_judge()):
            if (has_label := (rows["truth"] != SKIPPED) & ~rows["seen"][:, index]).any():
                yield judge, verdicts[has_label], rows["truth"][has_label], rows["question"][has_label]

    def num_seen(self) -> Iterator[tuple[str, int, int]]:
        """Yield (judge, labelled rows that it was trained on, labelled rows) for each judge with any."""
        for index, (judge, rows, _) in enumerate(self._by_judge()):
            has_label = rows["truth"] != SKIPPED
            if count := int((has_label & rows["seen"][:, index]).sum()):
                yield judge, count, int(has_label.sum())

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


def _select(rows: np.ndarray, verdicts: np.ndarray, judge: int, is_selected: np.ndarray) -> ModelVerdicts:
    attempted = rows["attempted"][:, judge].astype(bool)
    certain = rows["certain"][:, judge]
    return ModelVerdicts(verdicts[is_selected], attempted[is_selected], rows["question"][is_selected], certain[is_selected])


def hash_text(text: str) -> int:
    """Return a 64-bit hash of a text, to distinguish questions in little memory."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
