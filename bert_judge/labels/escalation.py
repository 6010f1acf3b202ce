"""Escalation of a file's rows to a language model: which rows it is asked about, what that costs, and what both judges said.

Rows are selected by a random number that depends on their content only, so that a repeated call selects the same rows, in whatever
order they come, and a larger sample contains a smaller one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bert_judge.judges.cascade.escalation import combine, is_certain
from bert_judge.judges.prompted import MODEL_FAILED, RETRY_SEPARATOR
from bert_judge.judges.protocol import Label, Row, invalid
from bert_judge.labels.judge_loading import NamedCascade, NamedJudge
from bert_judge.labels.judging import JudgeInput, LabelStore, judge_rows
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import count_causes

if TYPE_CHECKING:
    import pandas as pd

# Rows that a server is asked about together; after a slice without any reply it is given up.
SLICE_ROWS = 256
NOT_ASKED = "not asked"
# Of a reply without a verdict, in a message.
REPLY_CHARACTERS = 60
# Returns the store of a judge's labels on some rows.
StoreOf = Callable[[str], LabelStore]


def draw_number(row: Row) -> float:
    """Return the random number of a row, in [0, 1)."""
    return keyed_random.fraction(row.question, row.references, row.candidate)


class RowRecord(NamedTuple):
    """What two judges said about a row.

    Attributes:
        score: of the first judge, NaN if it has none.
        second: 1 if the second judge's verdict is correct, 0 if incorrect, NaN if it has none or was not asked.
        failure: why the second judge has none although it was asked; `reply`: what it replied then, if anything.
    """

    model: str
    question: str
    certain: bool
    score: float
    verdict: str
    second: float = np.nan
    failure: str | None = None
    reply: str | None = None


@dataclass(frozen=True)
class Escalation(NamedCascade):
    """A cascade whose last judge is a language model behind a server, with the rows that it may be asked about.

    Attributes:
        bounds: the uncertain and the certain rows with lower random numbers are asked about; 1: all of them, 0: none.
        share: expected share of the rows that it is asked about.
        records: of the rows of the present pass over a file.
    """

    bounds: tuple[float, float] = (1.0, 0.0)
    share: float = 1.0
    records: list[RowRecord] = field(default_factory=list)

    @property
    def served(self) -> NamedJudge:
        """The judge that asks the server."""
        return self.members[-1]

    def to_frame(self) -> pd.DataFrame:
        """Return the records as a table."""
        import pandas as pd

        return pd.DataFrame(self.records, columns=RowRecord._fields)

    def count_failures(self) -> list[tuple[str, int]]:
        """Return why the language model gave no verdict, with its first reply, and on how many rows; the most frequent reason
        first."""
        replies = {record.failure: record.reply for record in reversed(self.records) if record.failure and record.reply}
        causes = count_causes(record.failure for record in self.records if record.failure)
        return [
            (f"{reason} ({textwrap.shorten(replies[reason], REPLY_CHARACTERS, placeholder=' …')!r})", count)
            if reason in replies
            else (reason, count)
            for reason, count in causes
        ]

    def check_verdicts(self) -> None:
        """Raise an `InputError` if the language model was asked, and gave no verdict on any row."""
        failures = self.count_failures()
        if failures and all(np.isnan(record.second) for record in self.records):
            total = sum(count for _, count in failures)
            where = f"{self.served.name} gave no verdict on any of {total:,} answers: {failures[0][0]}"
            raise InputError(f"{where}; nothing was written; check the server and repeat the call")


class _NoJudge:
    """Leaves every row to the next judge."""

    revisions: dict[str, str] = {}  # noqa: RUF012

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [invalid(NOT_ASKED) for _ in rows]


def make_escalation(judge: NamedJudge) -> Escalation:
    """Return a loaded judge that asks a server, alone or last in a cascade, as an escalation of all uncertain rows."""
    if isinstance(judge, NamedCascade):
        members, confidences = judge.members, judge.confidences
    else:
        members, confidences = [NamedJudge("", "", _NoJudge()), judge], [1.0]
    fields = {name: getattr(judge, name) for name in ("name", "origin", "judge", "folder", "needs_references", "is_served")}
    return Escalation(**fields, members=members, confidences=confidences)


def judge_inputs(
    cascade: Escalation, inputs: Sequence[JudgeInput], store_of: StoreOf, on_progress: Callable[[int], None]
) -> list[Label | None]:
    """Return one label per input, as `judge_rows` does, and record the rows.

    The judges before the last one keep their labels; the last one's generator keeps its replies.
    """
    first, *middle, _ = cascade.members
    # A server alone: only the rows that it is asked about count.
    report = on_progress if first.name else lambda rows: None
    labels = judge_rows(first, inputs, store=store_of(first.name), on_progress=report)
    for row in _judged(inputs, labels):
        labels[row.position] = replace(row.label, decided_by=first.name or None)
    for member, confidence in zip(middle, cascade.confidences, strict=False):
        open_rows = [row for row in _judged(inputs, labels) if not is_certain(row.label, confidence)]
        answers = judge_rows(member, [row.row for row in open_rows], store=store_of(member.name), on_progress=on_progress)
        for row, answer in zip(open_rows, answers, strict=True):
            labels[row.position] = combine(row.label, answer, member.name) if answer else row.label
    judged = [(row, is_certain(row.label, cascade.confidences[-1])) for row in _judged(inputs, labels)]
    asked = [row for row, certain in judged if draw_number(row.row) < cascade.bounds[certain]]
    # In random order, so that the rows of a chunk that are answered before a server fails or a budget ends are a random sample.
    asked.sort(key=lambda row: draw_number(row.row))
    replies = _ask(cascade.served, [row.row for row in asked], on_progress)
    seconds = {row.position: reply for row, reply in zip(asked, replies, strict=True)}
    for row, certain in judged:
        second = seconds.get(row.position)
        cascade.records.append(_record(row.row, row.label, second, certain=certain))
        if second is not None and not certain:
            labels[row.position] = combine(row.label, second, cascade.served.name)
    return labels


class _JudgedRow(NamedTuple):
    position: int
    row: Row
    label: Label


def _judged(inputs: Sequence[JudgeInput], labels: Sequence[Label | None]) -> list[_JudgedRow]:
    """Return the rows that judges have seen; the others were invalid before any judge."""
    pairs = enumerate(zip(inputs, labels, strict=True))
    return [_JudgedRow(index, row, label) for index, (row, label) in pairs if isinstance(row, Row) and label is not None]


def _ask(judge: NamedJudge, rows: Sequence[Row], on_progress: Callable[[int], None]) -> list[Label | None]:
    labels: list[Label | None] = []
    for start in range(0, len(rows), SLICE_ROWS):
        answers = judge_rows(judge, rows[start : start + SLICE_ROWS], on_progress=on_progress)
        labels += answers
        if len(labels) < len(rows) and all(answer is not None and has_failed(answer) for answer in answers):
            labels += [invalid(f"{MODEL_FAILED}: {NOT_ASKED}, since the server gave no reply to {len(answers)} others")] * (
                len(rows) - len(labels)
            )
            break
    return labels


def has_failed(label: Label) -> bool:
    """Return whether the server gave no reply about a row."""
    return label.verdict == "invalid" and MODEL_FAILED in (label.reason or "")


def _record(row: Row, label: Label, second: Label | None, *, certain: bool) -> RowRecord:
    score = np.nan if label.score is None else label.score
    record = RowRecord(row.model, row.question, certain, score, label.verdict)
    if second is None:
        return record
    if second.verdict != "invalid":
        return record._replace(second=float(second.verdict == "correct"))
    return record._replace(failure=second.reason, reply=(second.raw or "").partition(RETRY_SEPARATOR)[0].strip())


# --- before the server is asked ---


@dataclass(frozen=True)
class RequestPlan:
    """The requests that an escalation of a file would make.

    Attributes:
        rows: with an answer to judge; `uncertain` of them are uncertain.
        bounds: see `Escalation`.
        requests: uncertain rows, and certain rows of the check, that are asked about or have a stored reply.
        answered: of them, those with a stored reply.
        prompt_tokens, completion_tokens: estimates, of those that are not answered yet.
    """

    rows: int
    uncertain: int
    bounds: tuple[float, float]
    requests: tuple[int, int]
    answered: int
    prompt_tokens: float
    completion_tokens: float


def plan_requests(
    cascade: Escalation,
    chunks: Iterable[tuple[Sequence[JudgeInput], StoreOf]],
    *,
    max_rows: int | None,
    check_rows: int,
    on_progress: Callable[[int], None],
) -> RequestPlan:
    """Judge a file with all judges but the last, and select the rows for the last one.

    Args:
        chunks: inputs of the judges, and where their labels are kept.
        max_rows: requests at most, for rows without a stored reply.
        check_rows: certain rows to ask about, to measure the agreement on them.

    Raises:
        InputError: the check alone needs more requests than `max_rows`.
    """
    judge, idle = cascade.served.judge, replace(cascade, bounds=(0.0, 0.0))
    numbers: list[float] = []
    tokens: list[float] = []
    missing: list[bool] = []
    for inputs, store_of in chunks:
        judge_inputs(idle, inputs, store_of, on_progress)
        rows = [row for row in inputs if isinstance(row, Row)]
        numbers += map(draw_number, rows)
        prompts, is_missing = judge.plan_requests(rows)
        tokens += prompts
        missing += is_missing
    number, certain = np.array(numbers), np.array([record.certain for record in idle.records], dtype=bool)
    is_new = np.array(missing, dtype=bool)
    idle.records.clear()
    certain_limit = _limit(number[certain], check_rows)
    check = certain & (number < certain_limit)
    uncertain_limit = 1.0
    if max_rows is not None:
        new_checks = len(np.unique(number[check & is_new]))
        if new_checks > max_rows:
            raise InputError(f"--check {check_rows}: needs {new_checks:,} requests, and --max-rows allows {max_rows:,}; raise it")
        uncertain_limit = _limit(number[~certain & is_new], max_rows - new_checks)
    asked = ~certain & (number < uncertain_limit)
    new = (asked | check) & is_new
    # Equal rows share one request.
    _, first = np.unique(number[new], return_index=True)
    return RequestPlan(
        rows=len(number),
        uncertain=int((~certain).sum()),
        bounds=(uncertain_limit, certain_limit),
        requests=(int(asked.sum()), int(check.sum())),
        answered=int((asked | check).sum() - new.sum()),
        prompt_tokens=float(np.array(tokens)[new][first].sum()),
        completion_tokens=float(len(first) * judge.reply_tokens),
    )


def _limit(numbers: np.ndarray, count: int) -> float:
    """Return the number below which `count` distinct numbers are, or all of them."""
    distinct = np.unique(numbers)
    return float(distinct[count]) if count < len(distinct) else 1.0
