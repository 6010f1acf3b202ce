"""Which judges are served: those that are named, those of a run's configuration, or all that are at hand."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge import plan
from bert_judge.config import LocalModel
from bert_judge.config import files as config_files
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.lexical.config import LexicalJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.judges.pairwise.config import PairwiseJudgeConfig
from bert_judge.labels.score_file import judge_loading
from bert_judge.runtime.errors import InputError
from bert_judge.serve import loading
from bert_judge.serve.batcher import Listener
from bert_judge.serve.judge_pool import JudgePool, pairwise, pointwise
from bert_judge.serve.limits import Limits
from bert_judge.serve.loading import Loads

log = logging.getLogger(__name__)

# What stands for the model and the task of answers that nobody knows the origin of.
SERVED = "_served"


def choose(names: Sequence[str], files: Sequence[Path], results: Path, limits: Limits, listener: Listener) -> JudgePool:
    """The judges to serve, not loaded yet.

    Args:
        names: as `bert-judge score --judge` takes them; with a configuration, those of its judges that are wanted.
        files: the configuration; with none, `names`, or without these the trained judges in `results` and all rules.
        results: folder of the run.

    Raises:
        InputError: there is no such judge, or none at all.
    """
    loads = _configured(names, files, results) if files else _named(names, results)
    return JudgePool(
        {name: pointwise(name, load, limits, listener) for name, load in loads.pointwise.items()},
        {name: pairwise(name, load, limits, listener) for name, load in loads.pairwise.items()},
    )


def marks(files: Sequence[Path]) -> Path:
    """The file of the audit's marks that a configuration names, or `labels.csv`."""
    audit = config_files.merge(files).get("audit") if files else None
    named = audit.get("labels") if isinstance(audit, dict) else None
    return Path(named or "labels.csv")


def _named(names: Sequence[str], results: Path) -> Loads:
    judges = results / "judges"
    loads = Loads()
    for name in dict.fromkeys(names or [*judge_loading.trained(judges), judge_loading.DEFAULT_RULE, *judge_loading.RULES]):
        folder = next((path for path in (judges / name, Path(name).expanduser()) if (path / "judge.json").is_file()), None)
        short = name if name in judge_loading.RULES or folder is None else folder.resolve().name
        short = short.split("/")[-1]
        if short in loads.pointwise or short in loads.pairwise:
            raise InputError(f"--judge: two judges are called {short!r}; serve them on two ports")
        if folder is not None and name not in judge_loading.RULES and judge_loading.is_of_pairs(folder):
            loads.pairwise[short] = partial(loading.pair_folder, folder)
        else:
            loads.pointwise[short] = partial(loading.by_name, name, judges)
    return loads


def _configured(names: Sequence[str], files: Sequence[Path], results: Path) -> Loads:
    """Of each judge of a configuration that can judge what clients send, how it is loaded."""
    raw = config_files.merge(files)
    made = plan.make(raw, files)
    if unknown := [name for name in names if name not in made.config.judges]:
        raise InputError(f"--judge {unknown[0]}: not in {files[-1]}; there are: {', '.join(made.config.judges)}")
    loads = Loads()
    for name in names or made.config.judges:
        missing = _add(loads, made, raw, name, results)
        if missing and names:
            raise InputError(f"--judge {name}: {missing}")
        if missing:
            log.warning("%s is not served: %s", name, missing)
    if not loads.pointwise and not loads.pairwise:
        raise InputError(f"{files[-1]}: none of its judges can be served; train one, or add a rule (kind: lexical)")
    return loads


def _add(loads: Loads, made: plan.Plan, raw: dict[str, Any], name: str, results: Path) -> str | None:
    """Add a judge of a configuration; or say why it cannot be served."""
    entry = made.config.judges[name]
    manifest, trained = results / "prepared" / f"judge-{name}.json", results / "judges" / name / "judge.json"
    match entry:
        case BertJudgeConfig():
            checkpoint = trained if entry.dataset else manifest
            needed: Path | None = checkpoint
            settings, work = made.labels_spec(name, SERVED, SERVED)["settings"], results / ".work" / "encoders" / name
            loads.pointwise[name] = partial(loading.encoder, checkpoint, settings, name, work)
        case LexicalJudgeConfig():
            needed = None
            loads.pointwise[name] = partial(loading.rule, made.labels_spec(name, SERVED, SERVED)["settings"])
        case LLMJudgeConfig():
            needed = manifest if isinstance(entry.model, LocalModel) else None
            loads.pointwise[name] = partial(loading.prompted, made.labels_spec(name, SERVED, SERVED), raw["judges"][name], needed)
        case PairwiseJudgeConfig() if entry.model is not None:
            own = trained.with_name("manifest.json") if entry.tuned else manifest
            needed = own if isinstance(entry.model, LocalModel) else None
            spec = made.preferences_spec(name, SERVED)
            loads.pairwise[name] = partial(loading.pair_prompted, spec, raw["judges"][name], needed)
        case PairwiseJudgeConfig():
            needed = trained if entry.pairs else manifest
            loads.pairwise[name] = partial(loading.pair_trained, needed, name)
        case _:
            return f"of kind {entry.kind}, which judges the answers of a run only"
    if needed is None or needed.is_file():
        return None
    loads.pointwise.pop(name, None)
    loads.pairwise.pop(name, None)
    return f"{needed}: no such file; make it with snakemake --cores 2 {needed}"
