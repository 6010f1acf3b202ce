"""Forecast of the cost of a run's missing tables: answers and verdicts, tokens, GPU hours.

Rates are those of finished tables of the same model or judge. Without finished tables they are rough estimates from the number of
parameters, which most models have in their names: 2 operations per parameter and token (Kaplan et al. 2020, section 2.1).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_judge import tables
from bert_judge.config import ImportedModel, JudgeConfig, LocalModel, OpenAIModel, SimulatedModel, VLLMModel
from bert_judge.evaluation.cost import INSTRUCTION_TOKENS, Usage, generation_timings, measure_usage
from bert_judge.judges.prompted import FREE_REPLY_TOKENS
from bert_judge.plan import Plan

TABLE_PATH = re.compile(r"(?P<stage>candidates|labels/(?P<judge>[^/]+))/(?P<model>[^/]+)/(?P<task>[^/]+)\.parquet")
# Assumed tokens of a question with its prompt, and of an answer.
QUESTION_TOKENS, ANSWER_TOKENS = 150, 300
# Assumed operations per second on one data-centre GPU: language models with large batches (vLLM) and small ones, and encoders.
VLLM_RATE, HF_RATE, ENCODER_RATE = 1e14, 1e13, 5e13
# Parameters of the models that come with the package, and in names: `Qwen3-0.6B`, `EuroBERT-210m`, `Mixtral-8x7B`, `Qwen3-30B-A3B`.
SMALL_ENCODERS = {"general": 22e6, "minilm": 22e6}
PARAMETERS = re.compile(r"(?<![A-Za-z\d.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![A-Za-z\d])", re.IGNORECASE)
ACTIVE_PARAMETERS = re.compile(r"(?<=-A)()(\d+(?:\.\d+)?)([bm])(?![A-Za-z\d])", re.IGNORECASE)


@dataclass(frozen=True)
class Rates:
    """Means per answer or verdict over the finished tables of a model or judge, or estimates; None: unknown."""

    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    seconds: float | None = None
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class PendingWork:
    """The tables that one model or judge still has to produce.

    Attributes:
        output: `answers` or `verdicts`.
        rows: answers or verdicts in them; None if a task has neither a table yet nor a known size.
        gpus: GPUs that its job uses; 0 for a server.
    """

    component: str
    output: str
    tables: int
    rows: int | None
    gpus: int
    rates: Rates

    def total(self, rate: float | None) -> float | None:
        """Return a rate times the rows; None if either is unknown."""
        return None if rate is None or self.rows is None else rate * self.rows

    @property
    def gpu_hours(self) -> float | None:
        """Return the GPU hours; None for a server, or if the time is unknown."""
        seconds = self.total(self.rates.seconds)
        return None if seconds is None or self.gpus == 0 else seconds * self.gpus / 3600


def forecast(plan: Plan, pending: Iterable[str], results: str | Path = "results") -> list[PendingWork]:
    """List the pending work of each generating model and of each costly judge, in the plan's order.

    `pending`: paths of the missing tables, such as `results/candidates/m/t.parquet`; other files are skipped.
    """
    results = Path(results)
    missing = [match for path in pending if (match := TABLE_PATH.fullmatch(path.removeprefix("results/")))]
    work = []

    def add(component: str, output: str, pairs: Sequence[tuple[str, str]], gpus: int, measured: Rates, estimated: Rates) -> None:
        rates = estimated if measured == Rates() else measured
        rows = _count_rows(plan, pairs, results)
        work.append(PendingWork(component=component, output=output, tables=len(pairs), rows=rows, gpus=gpus, rates=rates))

    for model, entry in plan.models.items():
        pairs = [(model, m["task"]) for m in missing if m["model"] == model and not m["judge"]]
        if pairs and not isinstance(entry, SimulatedModel | ImportedModel):
            timings = generation_timings(results, model) if isinstance(entry, VLLMModel) else None
            estimated = _estimate_rates(entry, QUESTION_TOKENS, min(ANSWER_TOKENS, entry.max_new_tokens))
            add(model, "answers", pairs, _num_gpus(entry), _mean_rates(results / "candidates" / model, timings), estimated)
    for judge, block in plan.config.judges.items():
        pairs = [(m["model"], m["task"]) for m in missing if m["judge"] == judge]
        # Judges that run neither a language model nor an encoder take no time worth a forecast.
        if pairs and any(getattr(block, name, None) for name in ("model", "checkpoint", "backbone")):
            gpus = plan.kind_of(judge).gpus(block)
            add(judge, "verdicts", pairs, gpus, _mean_rates(results / "labels" / judge), _estimate_judge_rates(block))
    return work


def _num_gpus(model: LocalModel | OpenAIModel) -> int:
    if isinstance(model, VLLMModel):
        return model.tensor_parallel_size
    return 0 if isinstance(model, OpenAIModel) else 1


def _mean_rates(folder: Path, timings: Sequence[tuple[float, int]] | None = None) -> Rates:
    """Average over the finished tables of a folder; `timings` are those of batch jobs, if these wrote the tables."""
    paths = sorted(folder.rglob("*.parquet"))
    usage = measure_usage(paths, timings) if paths else Usage()
    prompt, completion = (
        None if tokens is None else tokens / usage.rows for tokens in (usage.prompt_tokens, usage.completion_tokens)
    )
    seconds = None if usage.seconds is None or not usage.timed_rows else usage.seconds / usage.timed_rows
    return Rates(prompt, completion, seconds)


def _estimate_rates(model: LocalModel | OpenAIModel, prompt_tokens: float, completion_tokens: float) -> Rates:
    """Estimate the tokens and the time of a language model."""
    parameters, gpus = _num_parameters(model.model), max(_num_gpus(model), 1)
    rate = gpus * (VLLM_RATE if isinstance(model, VLLMModel) else HF_RATE)
    seconds = 2 * parameters * (prompt_tokens + completion_tokens) / rate if parameters else None
    return Rates(prompt_tokens, completion_tokens, seconds, estimated=True)


def _estimate_judge_rates(block: JudgeConfig) -> Rates:
    """Estimate the tokens and the time of a judge: a prompted language model, or an encoder."""
    num_read = QUESTION_TOKENS + ANSWER_TOKENS
    if isinstance(model := getattr(block, "model", None), LocalModel | OpenAIModel):
        return _estimate_rates(model, INSTRUCTION_TOKENS + num_read, FREE_REPLY_TOKENS)
    encoder = getattr(block, "checkpoint", None) or getattr(block, "backbone", None)
    parameters = _num_parameters(encoder) if isinstance(encoder, str) else None
    return Rates(seconds=2 * parameters * num_read / ENCODER_RATE, estimated=True) if parameters else Rates()


def _num_parameters(name: str) -> float | None:
    """Return the number of parameters that a name states, of a mixture of experts those of a token; None without a number."""
    if name in SMALL_ENCODERS:
        return SMALL_ENCODERS[name]
    match = ACTIVE_PARAMETERS.search(name) or PARAMETERS.search(name.rpartition("/")[2])
    return None if match is None else float(match[1] or 1) * float(match[2]) * {"b": 1e9, "m": 1e6}[match[3].lower()]


def _count_rows(plan: Plan, pairs: Sequence[tuple[str, str]], results: Path) -> int | None:
    """Count the rows of these (model, task), with the known size of a task that is not built yet; None if one is unknown."""
    total = 0
    for model, task in pairs:
        table = results / "tasks" / f"{task}.parquet"
        questions = tables.count(table) if table.exists() else _known_size(plan, task)
        if questions is None:
            return None
        total += questions * getattr(plan.models[model], "attempts", 1)
    return total


def _known_size(plan: Plan, task: str) -> int | None:
    """Return the published size of a task, or its limit if that is lower; None if neither is known."""
    source = plan.source_of(task)
    sizes = [plan.config.tasks.limit.get(task), source.questions if source else None]
    return min((size for size in sizes if size is not None), default=None)
