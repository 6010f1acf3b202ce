"""A language model that `bert-judge score` asks about the rows of a file: what it will cost, and what it decided."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import typer

from bert_judge.cli.terminal import console, echo, format_interval, format_percent, log, make_table
from bert_judge.importers.answers import RecordReader
from bert_judge.judges.prompted import MODEL_FAILED
from bert_judge.labels.escalation import Escalation, RequestPlan, make_escalation, plan_requests
from bert_judge.labels.judge_loading import CascadeReference, JudgeReference, NamedJudge
from bert_judge.labels.judging import parse_record
from bert_judge.labels.score_file import CHUNK_ROWS, store_of, with_program
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import RowFile

MAX_FAILURES = 3
# A model of which the language model saw fewer, and not all, certain or uncertain answers has no corrected accuracy of its own.
MIN_CHECKED = 10

Price = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="IN OUT", help="Price of a language model behind a server, per million tokens of prompt and reply."),
]
MaxCost = Annotated[float | None, typer.Option(help="Refuse to ask a language model for more than this; needs --price.")]
MaxRows = Annotated[int | None, typer.Option(min=0, help="Ask a language model on a server about at most this many answers more.")]
Check = Annotated[
    int,
    typer.Option(
        "--check", min=0, help="Of general+SERVER: also ask about this many certain answers, and correct the accuracies with them."
    ),
]
CheckError = Annotated[
    float,
    typer.Option(min=0, max=0.5, help="With --check: largest share of the language model's verdicts that may be wrong."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print how many answers a language model would be asked about, and exit.")]


class RequestLimits(NamedTuple):
    """Options about the requests to a server.

    Attributes:
        price: of a million tokens of prompts and of replies.
        check_error: largest share of the second judge's verdicts that may be wrong.
    """

    price: tuple[float, float] | None = None
    max_cost: float | None = None
    max_rows: int | None = None
    check: int = 0
    check_error: float = 0.0
    dry_run: bool = False

    def set_price(self, reference: JudgeReference) -> JudgeReference:
        """Return a judge whose language model has the price and the budget.

        Raises:
            InputError: a budget without a price, or options for a judge that asks no server.
        """
        if isinstance(reference, CascadeReference):
            members = [self.set_price(member) if member.is_served else member for member in reference.members]
            return replace(reference, members=members)
        if not reference.is_served:
            return reference
        model: dict[str, Any] = dict(reference.context.block["model"])
        if self.price is not None:
            if not all(0 <= price < math.inf for price in self.price):
                raise InputError(f"--price {self.price[0]:g} {self.price[1]:g}: must be finite numbers of at least 0")
            model["price"] = dict(zip(("prompt", "completion"), self.price, strict=True))
        if self.max_cost is not None:
            if not 0 < self.max_cost < math.inf:
                raise InputError(f"--max-cost {self.max_cost:g}: must be a finite number above 0; --dry-run asks about no answer")
            if not model.get("price"):
                raise InputError(f"--max-cost: the price of {reference.name} is not known; add --price IN OUT, per million tokens")
            model["budget_cost"] = self.max_cost
        block: Mapping[str, Any] = {**reference.context.block, "model": model}
        return replace(reference, context=replace(reference.context, block=block))

    def check_use(self, judges: Sequence[JudgeReference]) -> None:
        """Refuse the options where no judge asks a server, and a check where no judge stands before it."""
        used = [f"--{name.replace('_', '-')}" for name, value in self._asdict().items() if value not in (None, 0, False)]
        if used and not any(judge.is_served for judge in judges):
            raise InputError(
                f"{used[0]}: is for a language model behind a server, such as --judge general+http://localhost:8080/v1"
            )
        if self.check and not any(judge.is_served and isinstance(judge, CascadeReference) for judge in judges):
            raise InputError(
                f"--check {self.check}: checks the certain verdicts of a judge before the language model, as in --judge "
                "general+SERVER; a language model alone is asked about every answer, so leave it out"
            )
        if self.check_error and not self.check:
            raise InputError("--check-error: widens the accuracies that --check corrects; add --check 50")


def prepare_requests(
    judges: Sequence[NamedJudge],
    source: RowFile,
    reader: RecordReader,
    work: Path,
    limits: RequestLimits,
    on_progress: Callable[[float, int], None],
) -> list[NamedJudge]:
    """Probe the servers, unless this is a dry run, print what they will be asked, and return the judges with the rows selected.

    Args:
        work: folder of the verdicts; see `score_file.work_folder`.

    Raises:
        InputError: a server does not respond, or the requests are more, or cost more, than allowed.
    """
    prepared: list[NamedJudge] = []
    for judge in judges:
        if not judge.is_served:
            prepared.append(judge)
            continue
        cascade = make_escalation(judge)
        unknown = "not asked; without --dry-run, a few harmless questions test how it restricts replies"
        log(f"{cascade.served.name}: {unknown if limits.dry_run else cascade.served.judge.generator.check_features().describe()}")

        def chunks() -> Iterator[Any]:
            for number, chunk in enumerate(source.chunks(CHUNK_ROWS)):
                yield [parse_record(reader, record).input for record in chunk.records], store_of(work, number)
                on_progress(chunk.fraction_read, 0)

        traced = with_program(cascade)
        assert isinstance(traced, Escalation)
        plan = plan_requests(
            traced,
            chunks(),
            max_rows=limits.max_rows,
            check_rows=limits.check,
            on_progress=lambda rows: on_progress(0.0, rows),
        )
        _print_plan(cascade, plan, limits)
        prepared.append(replace(cascade, bounds=plan.bounds, share=sum(plan.requests) / max(plan.rows, 1)))
    return prepared


def _print_plan(cascade: Escalation, plan: RequestPlan, limits: RequestLimits) -> None:
    first, second = cascade.members[-2].name, cascade.served.name
    uncertain, check = plan.requests
    subject = f"{plan.uncertain:,} of {plan.rows:,} answers on which {first} is uncertain" if first else f"{plan.rows:,} answers"
    parts = [f"{uncertain:,} of the {subject}" if uncertain < plan.uncertain else f"the {subject}"]
    if check:
        parts.append(f"{check:,} others as a check")
    stored = f"; {plan.answered:,} replies are stored" if plan.answered else ""
    price = cascade.served.price or {}
    cost = (plan.prompt_tokens * price["prompt"] + plan.completion_tokens * price["completion"]) / 1e6 if price else 0.0
    money = (
        "cost unknown, set --price IN OUT"
        if not price
        else f"about {cost:,.4g} at {price['prompt']:g} and {price['completion']:g} per million"
    )
    log(
        f"{second} will be asked about {' and '.join(parts)}{stored}: about {plan.prompt_tokens:,.0f} tokens of prompts and "
        f"{plan.completion_tokens:,.0f} of replies, {money}"
    )
    if limits.max_cost is not None and cost > limits.max_cost:
        raise InputError(
            f"--max-cost {limits.max_cost:g}: the requests to {second} cost about {cost:,.4g}; raise it, or set --max-rows"
        )


def report_second_judge(judges: Sequence[NamedJudge], error_rate: float = 0.0) -> None:
    """Print how many rows each judge decided, the agreement on the check, and the corrected accuracies.

    `error_rate`: see `correct_accuracy`.
    """
    for cascade in judges:
        if isinstance(cascade, Escalation):
            rows, first, second = cascade.to_frame(), cascade.members[-2].name, cascade.served.name
            if first:
                uncertain = int((~rows["certain"]).sum())
                decided = int((~rows["certain"] & rows["second"].notna()).sum())
                rest = f"; {uncertain - decided:,} uncertain verdicts of {first} stay" if uncertain > decided else ""
                echo(f"{first} decided {len(rows) - uncertain:,} answers, {second} {decided:,}{rest}")
                for reason, count in cascade.count_failures()[:MAX_FAILURES]:
                    echo(f"{second} gave no verdict on {count:,}: {reason}")
            if failed := int(rows["failure"].str.contains(MODEL_FAILED, na=False).sum()):
                echo(f"failed requests to {second}: {failed:,}; repeat the call with --force, the other replies are stored")
            if (rows["certain"] & rows["second"].notna()).any():
                _report_check(rows, first, second, error_rate)


def _report_check(rows: pd.DataFrame, first: str, second: str, error_rate: float) -> None:
    """Print the agreement on the certain answers that the second judge saw, and the accuracies corrected with its verdicts."""
    from bert_judge.evaluation.audit.ppi import correct_accuracy, second_judge_agreement
    from bert_judge.statistics.intervals import proportion

    equal, questions = second_judge_agreement(rows)
    share = proportion(equal, questions)
    interval = format_interval(share.low, share.high)
    echo(f"{first} and {second} agree on {format_percent(share.value)}% {interval} of {len(equal):,} certain answers")
    column = f"corrected with {second}" if error_rate else f"corrected to {second}"
    table = make_table("model", numbers=("answers", f"seen by {second}", "accuracy, %", f"{column}, %"))
    by_model = rows.groupby("model", sort=True) if rows["model"].nunique() > 1 else ()
    for name, group in [("all", rows), *by_model]:
        seen = group["second"].notna()
        strata = [seen[group["certain"] == certain] for certain in (True, False)]
        is_enough = all(stratum.all() or int(stratum.sum()) >= MIN_CHECKED for stratum in strata)
        corrected = correct_accuracy(group, error_rate) if is_enough else None
        value = "–" if corrected is None else f"{format_percent(corrected.value)} {format_interval(corrected.low, corrected.high)}"
        verdicts = group["second"].where(~group["certain"]).fillna((group["verdict"] == "correct").astype(float))
        table.add_row(str(name) or "–", f"{len(group):,}", f"{int(seen.sum()):,}", format_percent(verdicts.mean()), value)
    console().print(table)
    if error_rate:
        echo(f"{column}: the interval has the true accuracy if {second} is wrong on at most {error_rate:.0%} of the answers")
    else:
        echo(f"{column}: the accuracy that {second} would find on all answers; --check-error adds its own errors to the interval")
