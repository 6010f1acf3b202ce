"""`bert-judge compare`: compare the answers to each question, and rank them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.cli.answer_reader import make_reader
from bert_judge.cli.options import Candidate, Conversation, Force, ModelColumn, Question, References, without_none
from bert_judge.cli.terminal import console, echo, format_number, format_percent, log, make_table
from bert_judge.cli.uncertainty import describe_uncertainty, format_range, needs_ranges
from bert_judge.importers import column_names
from bert_judge.importers.answers import NO_REFERENCE, Answer, RecordReader, parse_question
from bert_judge.importers.frameworks import AnswerFile, open_answers
from bert_judge.importers.judge_benchmarks import JudgeLMReader
from bert_judge.judges.protocol import Label, Pair, Row, invalid
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import LabelStore, judge_rows, without_reasoning
from bert_judge.labels.score_file import SHARD_ROWS, Tally, describe_reason, work_folder
from bert_judge.labels.stage import PAIR_SHARD_ROWS
from bert_judge.labels.writers import check_new_columns, open_writer
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars
from bert_judge.runtime.program import program
from bert_judge.statistics.accuracy_range import AccuracyRange
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, RowFile
from bert_judge.text.visible_text import strip_reasoning

PAIR_COLUMNS = ("answer_a", "answer_b")
# Answers whose values differ by no more are equally good.
TIE_MARGIN = 0.005
# Verdict → wins of the first answer; of another verdict each answer gets half.
WINS = {"A": 1.0, "B": 0.0}


class Result(NamedTuple):
    """What a judge says of an answer.

    Attributes:
        score: how good it is among those to its question, 0 to 1; None if the judge cannot tell.
        value: what it is ranked by: the score or, of a verdict that is certain, 1 for correct and 0 for incorrect. Scores of
            certain verdicts depend on the length of the answer: .90 of a correct sentence and .99 of a correct word.
    """

    score: float | None
    reason: str | None
    value: float | None


class Group(NamedTuple):
    """The answers to one question, and the number of the row of each in the file."""

    answers: list[Answer]
    rows: list[int]

    @property
    def names(self) -> list[str]:
        """The models of the answers, or their positions."""
        return [answer.model or f"answer {position}" for position, answer in enumerate(self.answers, 1)]


class Judged(NamedTuple):
    """The result of each answer of a group, and what a judge of two answers said of the last two."""

    results: list[Result]
    preference: str | None = None

    @property
    def verdict(self) -> str:
        """Of two answers: A, B, tie, inconsistent (it depends on the order) or invalid."""
        a, *rest = self.ranks
        b = rest[0] if rest else None
        return self.preference or ("invalid" if a is None or b is None else "tie" if a == b else "A" if a < b else "B")

    @property
    def ranks(self) -> list[int | None]:
        """The place of each answer, from 1; equally good answers share one, and an answer without a score has none."""
        values = [result.value for result in self.results]
        rivals = [value for value in values if value is not None]
        return [None if value is None else 1 + sum(rival > value + TIE_MARGIN for rival in rivals) for value in values]


def compare(
    file: Annotated[Path, typer.Argument(help="Several answers to each question, each in a row of its own or all in one.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.compared.SUFFIX.")] = None,
    judge: Annotated[
        str, typer.Option("--judge", "-j", help="Judge of two answers or of single ones, named as for bert-judge score.")
    ] = GENERAL,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: ModelColumn = None,
    conversation: Conversation = False,
    force: Force = False,
) -> None:
    """Compare the answers to each question and rank them: 1 is the best, and equally good answers share a rank.

    Rows with the same question are compared, or the answers within a row: answer_a and answer_b, or JudgeLM's answer1_body,
    answer2_body, …. A judge of two answers compares every two of them, in both orders. An interrupted call resumes when repeated.
    """
    columns = without_none(question=question, references=references, candidate=candidate, model=model)
    answers = open_answers(file, is_plain=bool(columns))
    source = answers.source
    if source is None:
        raise InputError(f"{file}: not a file of rows; convert it first: bert-judge import {file} -o answers.jsonl")
    suffix = source.container.output_suffix
    output = output or file.with_suffix(f".compared{suffix}")
    if output.suffix.lower() != suffix.lower():
        raise InputError(f"{output}: is written in the format of {file.name}; let its name end in {suffix}")
    disable_progress_bars()
    with tables.claim_output(output, file, force=force):
        reference = judge_loading.find_cascade(judge)
        reader = _make_reader(answers, source, columns, reference.needs_references, conversation)
        groups, is_in_one_row, left_out = _read_groups(source, reader)
        loaded, work = reference.load(), work_folder(output)
        tally = Tally([loaded.name])
        judged = (
            _compare_pairs(loaded, groups, work) if reference.kind.compares_pairs else _score_answers(loaded, groups, work, tally)
        )
        cells = (_describe_rows if is_in_one_row else _describe_answers)(groups, judged)
        _write(source, output, {**cells, **{number: {"reason": reason} for number, reason in left_out.items()}})
        resume.clear(work)
    _report(groups, judged, {model: answers.range for _, model, answers in tally.by_model()})
    for line in describe_uncertainty(tally, None if is_in_one_row else file, [loaded]):
        log(line)
    skipped = f"; {len(left_out):,} rows are left out" if left_out else ""
    echo(f"{output}: {sum(len(group.answers) for group in groups):,} answers to {len(groups):,} questions{skipped}")


def _make_reader(
    opened: AnswerFile, source: RowFile, columns: Mapping[str, str], needs_references: bool, is_conversation: bool
) -> RecordReader:
    """Return the reader of the answers in a row."""
    if opened.framework == "judgelm":
        return JudgeLMReader(opened.path, {}, needs_references)
    if not set(PAIR_COLUMNS) <= set(source.columns):
        return make_reader(opened, source, columns, needs_references=needs_references, is_conversation=is_conversation)[0]
    extra_columns = [name for name in source.columns if name not in PAIR_COLUMNS]
    detected = column_names.detect_columns(opened.path, extra_columns, columns, ("question",), sample=source.sample)

    def read_pair(record: Record) -> list[Answer]:
        asked, right = (values.get_cell(record, detected.get(role, "")) for role in ("question", "references"))
        question, references = parse_question(asked, is_conversation), tuple(values.parse_texts(right))
        texts = (values.parse_message(record.get(name), values.ASSISTANT) for name in PAIR_COLUMNS)
        models = (values.parse_text(record.get(name) or "") for name in ("model_a", "model_b"))
        return [Answer(question, references, text, name) for text, name in zip(texts, models, strict=True)]

    return read_pair


def _read_groups(source: RowFile, reader: RecordReader) -> tuple[list[Group], bool, dict[int, str]]:
    """Return the answers to each question, whether those of a group are in one row, and why other rows are left out."""
    rows: list[list[Answer]] = []
    left_out: dict[int, str] = {}
    for number, (_, record) in enumerate(source.records()):
        try:
            rows.append(list(reader(record)))
        except (values.SkippedRecord, values.UnreadableCell) as error:
            rows.append([])
            left_out[number] = str(error)
    if any(len(answers) > 1 for answers in rows):
        return [Group(answers, [number]) for number, answers in enumerate(rows) if answers], True, left_out
    groups: dict[tuple[str, tuple[str, ...]], Group] = {}
    for number, answers in enumerate(rows):
        for answer in answers:
            group = groups.setdefault((answer.question, answer.references), Group([], []))
            group.answers.append(answer)
            group.rows.append(number)
    if all(len(group.answers) < 2 for group in groups.values()):
        raise InputError(f"{source.path}: no question has two answers to compare")
    return list(groups.values()), False, left_out


def _score_answers(judge: NamedJudge, groups: Sequence[Group], work: Path, tally: Tally) -> list[Judged]:
    """Judge each answer by itself, and count the verdicts in `tally`."""
    inputs = [
        without_reasoning(Row("", 0, answer.model, answer.question, answer.references, answer.candidate))
        if answer.references or not judge.needs_references
        else invalid(NO_REFERENCE)
        for group in groups
        for answer in group.answers
    ]
    judge = replace(judge, origin=f"{program()} {judge.origin}")
    column = judge_rows(judge, inputs, store=LabelStore(work, SHARD_ROWS))
    tally.add_uncertain(inputs, [column])
    models = [name for group in groups for name in group.names]
    questions = [answer.question for group in groups for answer in group.answers]
    tally.add(models, questions, [None] * len(models), [column], groups=[""] * len(models))
    labels = iter(column)
    # Labels are None only for rows that are None.
    of_groups = ([label for label in islice(labels, len(group.answers)) if label] for group in groups)
    return [Judged(list(map(_to_result, of_group))) for of_group in of_groups]


def _to_result(label: Label) -> Result:
    value = label.score
    if label.certain and value is not None:
        value = float(label.verdict == "correct")
    return Result(label.score, describe_reason(label), value)


def _compare_pairs(judge: NamedJudge, groups: Sequence[Group], work: Path) -> list[Judged]:
    """Compare every two answers of a group. The score is the share of the comparisons that an answer won; a tie, and a verdict that
    depends on the order, are half a win for both."""
    positions = [list(combinations(range(len(group.answers)), 2)) for group in groups]
    pairs = [
        _to_pair(group.answers[a], group.answers[b]) for group, of_group in zip(groups, positions, strict=True) for a, b in of_group
    ]
    keys = [resume.content_key(program(), judge.origin, pair) for pair in pairs]

    def compute(shard: Sequence[Pair]) -> list[dict[str, Any]]:
        preferences = judge.judge.compare(shard)
        return [{"verdict": each.verdict, "reason": tables.storable(each.reason)} for each in preferences]

    comparisons = iter(resume.run_resumable(pairs, keys, partial(map, compute), work, shard_rows=PAIR_SHARD_ROWS, unit="pairs"))
    judged = []
    for group, of_group in zip(groups, positions, strict=True):
        wins: list[list[float]] = [[] for _ in group.answers]
        last: Mapping[str, Any] = {"verdict": None, "reason": "no other answer"}
        for a, b in of_group:
            last = next(comparisons)
            if last["verdict"] != "invalid":
                won = WINS.get(last["verdict"], 0.5)
                wins[a].append(won)
                wins[b].append(1 - won)
        reasons = [f"{sum(won):g} of {len(won)} comparisons won" for won in wins] if len(wins) > 2 else [last["reason"]] * len(wins)
        shares = [sum(won) / len(won) if won else None for won in wins]
        results = [Result(share, why, share) for share, why in zip(shares, reasons, strict=True)]
        judged.append(Judged(results, last["verdict"]))
    return judged


def _to_pair(a: Answer, b: Answer) -> Pair:
    first, second = (strip_reasoning(answer.candidate) or "" for answer in (a, b))
    return Pair(a.question, first, second, a.references)


def _describe_rows(groups: Sequence[Group], judged: Sequence[Judged]) -> dict[int, dict[str, Any]]:
    """Return row number → new cells of rows with several answers each; a verdict if no row has more than two."""
    has_verdict = all(len(group.answers) <= 2 for group in groups)
    return {
        group.rows[0]: {
            **({"verdict": each.verdict} if has_verdict else {}),
            "ranks": " ".join("–" if rank is None else str(rank) for rank in each.ranks),
            "scores": " ".join(format_number(result.score, 3) for result in each.results),
            "reason": "\n".join(dict.fromkeys(result.reason for result in each.results if result.reason)),
        }
        for group, each in zip(groups, judged, strict=True)
    }


def _describe_answers(groups: Sequence[Group], judged: Sequence[Judged]) -> dict[int, dict[str, Any]]:
    """Return row number → new cells of rows with one answer each."""
    return {
        row: {"rank": rank, "score": result.score, "reason": result.reason}
        for group, each in zip(groups, judged, strict=True)
        for row, rank, result in zip(group.rows, each.ranks, each.results, strict=True)
    }


def _write(source: RowFile, output: Path, cells: Mapping[int, Mapping[str, Any]]) -> None:
    """Write the rows of a file with new cells; those that a row does not have are empty. The first row has all of them."""
    names = list(next(iter(cells.values())))
    check_new_columns(source.path, source.columns, names)
    number = 0
    with tables.atomic(output) as unfinished, open_writer(source, unfinished, names) as write:
        for chunk in source.chunks():
            rows = range(number, number := number + len(chunk.records))
            write(chunk, {name: [cells.get(row, {}).get(name) for row in rows] for name in names})


def _report(groups: Sequence[Group], judged: Sequence[Judged], ranges: Mapping[str, AccuracyRange]) -> None:
    """Print how often the answers of each model are the best, their mean score, and the range of their accuracy if it is open."""
    by_model: dict[str, list[tuple[int, float]]] = {}
    for group, each in zip(groups, judged, strict=True):
        for name, rank, result in zip(group.names, each.ranks, each.results, strict=True):
            answer_positions = by_model.setdefault(name, [])
            if rank is not None and result.score is not None:
                answer_positions.append((rank, result.score))
    has_ranges = needs_ranges(ranges)
    extra = ["range of accuracy, %"] if has_ranges else []
    table = make_table("model", numbers=("answers", "best, %", "mean rank", "mean score", *extra))
    for model, answer_positions in by_model.items():
        ranks, scores = np.array(answer_positions, float).reshape(-1, 2).T
        means = (np.mean(ranks), np.mean(scores)) if answer_positions else (None, None)
        best = format_percent(np.mean(ranks == 1)) if answer_positions else "–"
        texts = [f"{len(answer_positions):,}", best, *(format_number(mean, 2) for mean in means)]
        table.add_row(model, *texts, *([format_range(ranges[model])] if has_ranges else []))
    console().print(table)
