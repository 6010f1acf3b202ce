"""`bert-judge attack`: one judge through the suite of attacks, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bert_judge import plan, tables
from bert_judge.cli.terminal import console
from bert_judge.config import files as config_files
from bert_judge.evaluation.attacks.runner import AttackTables, attack_judge
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.cascade.config import CascadeJudgeConfig
from bert_judge.judges.imported.config import ImportedJudgeConfig
from bert_judge.judges.lexical.config import LexicalJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.judges.pairwise.config import PairwiseJudgeConfig
from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.probe.config import ProbeJudgeConfig
from bert_judge.judges.protocol import Judge
from bert_judge.judges.simulated.config import SimulatedJudgeConfig
from bert_judge.plan import ATTACKS, Plan
from bert_judge.plan.specs import READING
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

SHOWN = 160
HEADINGS = {"attack": "Attacks: called correct, in %", "benign_perturbation": "Benign perturbations: called incorrect, in %"}

# How a judge is read that no configuration says anything of.
_READ_AS_USUAL = BertJudgeConfig(kind="bert", checkpoint="a folder").model_dump(mode="json", include=READING)


def show(
    judge: str, task: str, rows: int, seed: int, files: Sequence[Path], output: Path | None, screen: Console | None = None
) -> None:
    """Try a judge and print its rates and some answers that fooled it.

    Args:
        judge: folder of a trained judge, or name of a judge of the configuration.
        task: name of a task whose table is in results/tasks, or path of such a table.
        files: configuration files, for a judge's name.
        output: folder for the tables; results/attacks/trials/{judge}/{task} when left out.

    Raises:
        InputError: there is no such judge or table, or the judge refuses its input.
    """
    table = _table(task)
    with _opened(judge, table.stem, files) as (opened, spec):
        folder = output or Path("results/attacks/trials", spec["judge"], table.stem)
        made = attack_judge(opened, spec, table, rows, seed, folder)
    _print(made, folder, screen or console())


def _table(task: str) -> Path:
    path = Path(task) if task.endswith(".parquet") else Path("results/tasks", f"{task}.parquet")
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with snakemake --cores 1 {path}, or name the table of another task")
    return path


@contextmanager
def _opened(judge: str, task: str, files: Sequence[Path]) -> Iterator[tuple[Judge, dict[str, Any]]]:
    """The judge with what `Plan.labels_spec` says of it."""
    if Path(judge, "judge.json").is_file():
        from bert_judge.judges.bert.judge import BERTJudge

        folder = Path(judge)
        name = folder.resolve().name
        trained = BERTJudge.from_run(folder / "judge.json", _READ_AS_USUAL, name, _converted(name))
        yield trained, {"judge": name, "model": ATTACKS, "task": task, "settings": _READ_AS_USUAL}
        return
    raw = config_files.merge(files)
    made = plan.make(raw, files)
    if judge not in made.config.judges:
        there = ", ".join(made.config.judges)
        raise InputError(f"{judge}: neither the folder of a trained judge nor a judge of the configuration; there are: {there}")
    if isinstance(entry := made.config.judges[judge], ImportedJudgeConfig | SimulatedJudgeConfig):
        raise InputError(f"{judge}: of kind {entry.kind}, which knows no verdict on made-up answers; choose another judge")
    if isinstance(entry, PairwiseJudgeConfig):
        raise InputError(f"{judge}: compares two answers, and an attack is a single one; choose another judge")
    if isinstance(entry, PriorShiftJudgeConfig):
        raise InputError(f"{judge}: adapts to the answers of a model, and attacks are none; name its judge {entry.judge}")
    if isinstance(entry, CascadeJudgeConfig):
        raise InputError(f"{judge}: a cascade judges in a run only; list it under attacks.judges, and snakemake --cores 2 attacks")
    spec = made.labels_spec(judge, ATTACKS, task)
    with _of_configuration(made, raw, spec) as opened:
        yield opened, spec


def _converted(name: str) -> Path:
    return resume.work_folder(f"results/encoders/{name}")


@contextmanager
def _of_configuration(made: Plan, raw: dict[str, Any], spec: dict[str, Any]) -> Iterator[Judge]:
    """The judge of a spec.

    Raises:
        InputError: it is not trained or prepared yet.
    """
    name, entry = spec["judge"], made.config.judges[spec["judge"]]
    manifest = Path(f"results/prepared/judge-{name}.json")
    match entry:
        case BertJudgeConfig():
            from bert_judge.judges.bert.judge import BERTJudge

            checkpoint = Path(f"results/judges/{name}/judge.json") if entry.dataset else manifest
            yield BERTJudge.from_run(_there(checkpoint), spec["settings"], name, _converted(name))
        case LLMJudgeConfig():
            from bert_judge.judges.llm.rubric import prompted_judge

            store = resume.store_folder(f"verdicts/{name}/{ATTACKS}")
            local = _there(manifest) if f"judge-{name}" in made.assets else None
            yield prompted_judge(spec, local, store, raw["judges"][name])
        case ProbeJudgeConfig():
            from bert_judge.judges.probe.judge import Probe

            yield Probe(_there(Path(f"results/judges/{name}/probe.json")).parent, entry.threshold)
        case LexicalJudgeConfig():
            from bert_judge.judges.lexical.judge import LexicalJudge as Lexical

            with Lexical(spec["settings"]) as lexical:
                yield lexical


def _there(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with snakemake --cores 2 {path}")
    return path


def _print(made: AttackTables, folder: Path, screen: Console) -> None:
    rates = tables.read(made.rates, tables.ATTACK_RATES)
    for kind, heading in HEADINGS.items():
        table = Table("theme", "family", title=heading, title_justify="left")
        for name in ("answers", "error_rate", "95% interval", "invalid"):
            table.add_column(name, justify="right")
        for row in rates[(rates["kind"] == kind) & (rates["level"] != "theme")].to_dict("records"):
            shares = [f"{100 * row[name]:.1f}" for name in ("error_rate", "low", "high", "invalid")]
            family = row["group"] if row["level"] == "family" else "all"
            table.add_row(
                row["theme"] if row["level"] == "family" else "",
                family,
                f"{row['n']:,}",
                shares[0],
                f"{shares[1]} to {shares[2]}",
                shares[3],
            )
        screen.print(table)
    for row in tables.read(made.examples, tables.ATTACK_EXAMPLES).drop_duplicates("family").to_dict("records"):
        text = " ".join(row["candidate"].split())[:SHOWN]
        screen.print(f"{row['family']}: {text!r} for {row['references'][0]!r:.60} is {row['verdict']} ({row['score']:.2f})")
    screen.print(f"Tables: {folder}")
