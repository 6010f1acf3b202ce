"""Select the judges of a server, each behind its queue: those that are named, those of a run's configuration, or all that exist."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.config import files as config_files
from bert_judge.judges.protocol import Judge, Label, Pair, PairJudge, Preference, Row
from bert_judge.judges.registry import ScoreDescription
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import JudgeReference, NamedJudge
from bert_judge.labels.judging import judge_rows
from bert_judge.runtime.errors import ConfigError, InputError, suggest
from bert_judge.serve.batcher import Batcher
from bert_judge.serve.bodies import PairBody, RowBody
from bert_judge.serve.limits import Limits, Metrics, RequestRejected

log = logging.getLogger(__name__)

BatcherT = TypeVar("BatcherT")
# Fixed cost of a row in addition to its texts.
ROW_OVERHEAD = 64


@dataclass(frozen=True)
class JudgePool:
    """Pointwise and pairwise judges by name, the default of each first.

    Attributes:
        aliases: further names of the default pointwise judge; the name of a judge is its own.
        scores: what the scores of the pointwise judges mean, where it is known.
    """

    pointwise: Mapping[str, Batcher[RowBody, Label]]
    pairwise: Mapping[str, Batcher[PairBody, Preference]] = field(default_factory=dict)
    aliases: Sequence[str] = ()
    scores: Mapping[str, ScoreDescription] = field(default_factory=dict)

    @property
    def all(self) -> list[Batcher[Any, Any]]:
        return [*self.pointwise.values(), *self.pairwise.values()]

    def load(self) -> None:
        """Load the judges one after the other, to limit peak memory. Raises InputError: a judge cannot be loaded."""
        for batcher in self.all:
            batcher.load()

    def close(self) -> None:
        """Stop the judges' threads."""
        for batcher in self.all:
            batcher.close()

    def judge(self, name: str | None) -> Batcher[RowBody, Label]:
        """Return the pointwise judge of this name, or the default. Raises RequestRejected: it does not exist."""
        return _get(self.pointwise, None if name in self.aliases and name not in self.pointwise else name, "pointwise judge")

    def pair_judge(self, name: str | None) -> Batcher[PairBody, Preference]:
        """Return the pairwise judge of this name, or the default; raises like `judge`."""
        return _get(self.pairwise, name, "pairwise judge")


def pointwise(
    name: str,
    load: Callable[[], Judge],
    limits: Limits,
    metrics: Metrics,
    *,
    row_by_row: bool = False,
    needs_references: bool = True,
) -> Batcher[RowBody, Label]:
    """Return a pointwise judge behind its queue; `load` is called, and rows are converted, in the judge's thread."""

    def loaded() -> Callable[[Sequence[RowBody]], list[Label]]:
        judge = NamedJudge(name, "", load())
        # Labels are None only for rows that are None.
        return lambda rows: [
            label for label in judge_rows(judge, [row.to_item(needs_references) for row in rows]) if label is not None
        ]

    return Batcher(name, loaded, _row_cost, limits, metrics=metrics, row_by_row=row_by_row)


def pairwise(name: str, load: Callable[[], PairJudge], limits: Limits, metrics: Metrics) -> Batcher[PairBody, Preference]:
    """Return a pairwise judge behind its queue; see `pointwise`."""

    def loaded() -> Callable[[Sequence[PairBody]], Sequence[Preference]]:
        judge = load()
        return lambda pairs: judge.compare([pair.to_item() for pair in pairs])

    return Batcher(name, loaded, _pair_cost, limits, metrics=metrics)


def _pair_cost(pair: PairBody) -> int:
    # Both orders are encoded.
    return 2 * (pair.characters + ROW_OVERHEAD)


def _row_cost(row: RowBody) -> int:
    return row.characters + ROW_OVERHEAD * max(1, len(row.list_references()))


def _get(judges: Mapping[str, BatcherT], name: str | None, kind: str) -> BatcherT:
    if name is None and judges:
        return next(iter(judges.values()))
    if name is None or name not in judges:
        available = ", ".join(judges) or "none"
        raise RequestRejected(404, f"no {kind} {name!r}; available: {available}" if name else f"no {kind} available")
    return judges[name]


def select_judges(
    names: Sequence[str], files: Sequence[Path], results: Path, limits: Limits, *, metrics: Metrics, policy: str | None = None
) -> JudgePool:
    """Return the judges to serve, not loaded yet.

    Args:
        names: as `bert-judge score --judge` takes them; with a configuration, judges of it.
        files: the configuration; with none, `names`, or without these `general`, the trained judges in `results` and all rules.
        results: folder of the run.
        policy: on partly correct answers, `strict` or `lenient`; by default each judge's own.

    Raises:
        InputError: a named judge does not exist, is to be lenient and has no policy, or there is no judge to serve.
    """
    references = _configured_judges(names, files, results) if files else _named_judges(names, results)
    references = [judge_loading.override_settings(reference, policy=policy) for reference in references]
    single = {
        r.name: pointwise(
            r.name,
            partial(_load, r),
            limits,
            metrics,
            row_by_row=r.kind.judges_row_by_row(r.context.settings),
            needs_references=r.needs_references,
        )
        for r in references
        if not r.kind.compares_pairs
    }
    pairs = {r.name: pairwise(r.name, partial(_load, r), limits, metrics) for r in references if r.kind.compares_pairs}
    scores = {r.name: r.kind.describe_score(r.context.settings) for r in references if not r.kind.compares_pairs}
    return JudgePool(single, pairs, scores=scores)


def _named_judges(names: Sequence[str], results: Path) -> list[JudgeReference]:
    trained = judge_loading.trained_judges(results / "judges")
    served = dict.fromkeys(names or [judge_loading.GENERAL, *trained, *judge_loading.RULES])
    # First by the names alone: a judge that is not here would be looked for on the hub.
    _check_distinct([Path(name).expanduser().resolve().name for name in served if ":" not in name])
    references = [judge_loading.find_cascade(name, results) for name in served]
    _check_distinct([reference.name for reference in references])
    return references


def _check_distinct(names: Sequence[str]) -> None:
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(f"--judge: two judges are called {repeated[0]!r}; serve them on two ports")


def _configured_judges(names: Sequence[str], files: Sequence[Path], results: Path) -> list[JudgeReference]:
    """Return the judges of a configuration that can judge the answers of clients."""
    raw = config_files.merge(files)
    configured = list(raw.get("judges") or {})
    if unknown := [name for name in names if name not in configured]:
        raise InputError(f"--judge {unknown[0]}: not in {files[-1]}; {suggest(unknown[0], configured)}")
    references = []
    for name in names or configured:
        try:
            reference = judge_loading.from_config(raw, name, config_files=files, results=results)
            # Without models and tasks there is no run that prepares a judge; loading it does.
            if (raw.get("models") or raw.get("tasks")) and (missing := reference.missing()):
                raise InputError(f"--judge {name}: {missing}")
            references.append(reference)
        except ConfigError:
            raise
        except InputError as error:
            if names:
                raise
            log.warning("not served: %s", error)
    if not references:
        raise InputError(f"{files[-1]}: none of its judges can be served; train one, or add a rule (kind: lexical)")
    return references


def _load(reference: JudgeReference) -> Any:
    """Load a judge in the thread that will run it.

    Requests are not stored. The judge labels one answer first, so that the first client does not wait for the conversion of a
    model; a language model is not called for this.
    """
    judge = reference.without_store().load().judge
    if not reference.is_served and "model" not in reference.context.settings:
        if reference.kind.compares_pairs:
            judge.compare([Pair("Why?", "Because.", "No.")])
        else:
            judge.judge([Row("", 0, "", "", ("Paris",), "It is Paris.")])
    return judge
