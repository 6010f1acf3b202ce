"""What the tables that a run still has to make will cost: answers and verdicts, tokens, hours of GPU.

Nothing is guessed: tokens and times are those of finished tables of the same model or judge, read off the tables and Snakemake's
benchmark files, and unknown where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from bert_judge.config import HFModel, ImportedModel, OpenAIModel, SimulatedModel, StudentModel, VLLMModel
from bert_judge.evaluation import timings
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.plan import Plan

TABLE = re.compile(r"(?P<stage>candidates|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
TOKENS = ["prompt_tokens", "completion_tokens"]


@dataclass(frozen=True)
class Rates:
    """Means over the finished tables of a model or judge, per answer or verdict; None: nothing was measured."""

    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Work:
    """What one model or one judge still has to do.

    Attributes:
        who: the model, or the judge.
        what: `answers` or `verdicts`.
        tables: tables to make.
        rows: answers or verdicts in them; None when a task has neither a table yet nor a limit.
        gpus: GPUs that its job holds; 0 for a server.
        rates: what one of them took so far.
    """

    who: str
    what: str
    tables: int
    rows: int | None
    gpus: int
    rates: Rates

    def total(self, rate: float | None) -> float | None:
        """A rate times the rows; None when either is unknown."""
        return None if rate is None or self.rows is None else rate * self.rows

    @property
    def gpu_hours(self) -> float | None:
        """None for a server, and without a measured time."""
        seconds = self.total(self.rates.seconds)
        return None if seconds is None or self.gpus == 0 else seconds * self.gpus / 3600


def forecast(plan: Plan, pending: Iterable[str], root: str | Path = "results") -> list[Work]:
    """One entry per model that has answers to give and per judge with a model that has verdicts to give, in the plan's order.

    Args:
        pending: paths of the tables to make, as in a run: `results/candidates/m/t.parquet`; others do not count.
        root: folder of the results, finished tables and benchmark files in it.
    """
    root = Path(root)
    found = [match for path in pending if (match := TABLE.fullmatch(path.removeprefix("results/")))]
    works = []
    for model, entry in plan.models.items():
        tasks = [m["task"] for m in found if m["model"] == model and not m["judge"]]
        if tasks and not isinstance(entry, SimulatedModel | ImportedModel):
            rates = measured(root, f"candidates/{model}", answered=isinstance(entry, VLLMModel))
            works.append(Work(model, "answers", len(tasks), _rows(plan, [(model, t) for t in tasks], root), gpus(entry), rates))
    for judge, kind in plan.config.judges.items():
        pairs = [(m["model"], m["task"]) for m in found if m["judge"] == judge]
        if pairs and isinstance(kind, BertJudgeConfig | LLMJudgeConfig):
            count = 1 if isinstance(kind, BertJudgeConfig) else gpus(kind.model)
            works.append(Work(judge, "verdicts", len(pairs), _rows(plan, pairs, root), count, measured(root, f"labels/{judge}")))
    return works


def gpus(model: HFModel | StudentModel | VLLMModel | OpenAIModel) -> int:
    """GPUs that a job of the model holds."""
    if isinstance(model, VLLMModel):
        return model.tensor_parallel_size
    return 0 if isinstance(model, OpenAIModel) else 1


def measured(root: Path, part: str, answered: bool = False) -> Rates:
    """The rates of the finished tables below a folder.

    Args:
        part: `candidates/{model}` or `labels/{judge}`.
        answered: the answers come from jobs for several tables each, whose times stand under `answer_batches/{model}`.
    """
    tables = sorted((root / part).rglob("*.parquet"))
    if not tables:
        return Rates()
    frames = [pq.read_table(path, columns=TOKENS).to_pandas() for path in tables]
    means = pd.concat(frames, ignore_index=True).astype("Float64").mean()
    prompt, completion = (None if pd.isna(means[name]) else float(means[name]) for name in TOKENS)
    timed = timings.of_batches(root, part.split("/")[1]) if answered else timings.of_tables(root, tables)
    rows = sum(count for _, count in timed)
    return Rates(prompt, completion, sum(seconds for seconds, _ in timed) / rows if rows else None)


def _rows(plan: Plan, pairs: Sequence[tuple[str, str]], root: Path) -> int | None:
    """Answers of these models to these tasks; None when the questions of one are not counted yet."""
    total = 0
    for model, task in pairs:
        table = root / "tasks" / f"{task}.parquet"
        questions = timings.rows_of(table) if table.exists() else plan.config.tasks.limit.get(task)
        if questions is None:
            return None
        total += questions * getattr(plan.models[model], "attempts", 1)
    return total
