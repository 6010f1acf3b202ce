"""Which judges are served: those that are named, those of a run's configuration, or all that are at hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bert_judge import plan
from bert_judge.config import BertJudge, LexicalJudge, LLMJudge, LocalModel
from bert_judge.config import files as config_files
from bert_judge.errors import InputError
from bert_judge.judges.protocol import Judge, Row
from bert_judge.scoring import which_judge
from bert_judge.serve.batcher import Listener
from bert_judge.serve.limits import Limits
from bert_judge.serve.roster import Roster, pointwise

log = logging.getLogger(__name__)

# What stands for the model and the task of answers that nobody knows the origin of.
SERVED = "_served"
Load = Callable[[], Judge]


def choose(names: Sequence[str], files: Sequence[Path], results: Path, limits: Limits, listener: Listener) -> Roster:
    """The judges to serve, not loaded yet.

    Args:
        names: as `bert-judge score --judge` takes them; with a configuration, those of its judges that are wanted.
        files: the configuration; with none, `names`, or without these the trained judges in `results` and all rules.
        results: folder of the run.

    Raises:
        InputError: there is no such judge, or none at all.
    """
    loads = _configured(names, files, results) if files else _named(names, results)
    return Roster({name: pointwise(name, load, limits, listener) for name, load in loads.items()})


def marks(files: Sequence[Path]) -> Path:
    """The file of the audit's marks that a configuration names, or `labels.csv`."""
    audit = config_files.merge(files).get("audit") if files else None
    named = audit.get("labels") if isinstance(audit, dict) else None
    return Path(named or "labels.csv")


def _named(names: Sequence[str], results: Path) -> dict[str, Load]:
    folder = results / "judges"
    names = names or [*which_judge.trained(folder), which_judge.DEFAULT_RULE, *which_judge.RULES]
    loads: dict[str, Load] = {}
    for name in dict.fromkeys(names):
        short = name if name in which_judge.RULES else Path(name).expanduser().name or name
        if short in loads:
            raise InputError(f"--judge: two judges are called {short!r}; serve them on two ports")
        loads[short] = lambda name=name: _ready(which_judge.choose([name], judges=folder)[0].judge)  # type: ignore[misc]
    return loads


def _configured(names: Sequence[str], files: Sequence[Path], results: Path) -> dict[str, Load]:
    """Of each judge of a configuration that can judge an answer of its own, how it is loaded."""
    raw = config_files.merge(files)
    made = plan.make(raw, files)
    if unknown := [name for name in names if name not in made.config.judges]:
        raise InputError(f"--judge {unknown[0]}: not in {files[-1]}; there are: {', '.join(made.config.judges)}")
    loads: dict[str, Load] = {}
    for name in names or made.config.judges:
        load, missing = _of_configuration(made, raw, name, results)
        if load is not None:
            loads[name] = load
        elif names:
            raise InputError(f"--judge {name}: {missing}")
        else:
            log.warning("%s is not served: %s", name, missing)
    if not loads:
        raise InputError(f"{files[-1]}: none of its judges can be served; train one, or add a rule (kind: lexical)")
    return loads


def _of_configuration(made: plan.Plan, raw: dict[str, Any], name: str, results: Path) -> tuple[Load | None, str]:
    """How a judge of a configuration is loaded, or why it cannot be."""
    entry = made.config.judges[name]
    manifest = results / "prepared" / f"judge-{name}.json"
    match entry:
        case BertJudge():
            checkpoint = results / "judges" / name / "judge.json" if entry.dataset else manifest
            settings = made.labels_spec(name, SERVED, SERVED)["settings"]
            work = results / ".work" / "encoders" / name
            return (lambda: _encoder(checkpoint, settings, name, work)) if checkpoint.is_file() else None, _make(checkpoint)
        case LexicalJudge():
            return lambda: _rule(made.labels_spec(name, SERVED, SERVED)["settings"]), ""
        case LLMJudge():
            local = isinstance(entry.model, LocalModel)
            spec = made.labels_spec(name, SERVED, SERVED)
            there = manifest.is_file() or not local
            return (lambda: _prompted(spec, raw["judges"][name], manifest if local else None)) if there else None, _make(manifest)
        case _:
            return None, f"of kind {entry.kind}, which judges the answers of a run only"


def _make(path: Path) -> str:
    return f"{path}: no such file; make it with snakemake --cores 2 {path}"


def _encoder(checkpoint: Path, settings: dict[str, Any], name: str, work: Path) -> Judge:
    from bert_judge.judges.bert import BERTJudge

    return _ready(BERTJudge.from_run(checkpoint, settings, name, work))


def _ready(judge: Judge) -> Judge:
    """The judge, after an answer on which it converts what it must: the first client would wait for it."""
    judge.judge([Row("", 0, "", "", ("Paris",), "It is Paris.")])
    return judge


def _rule(settings: dict[str, Any]) -> Judge:
    from bert_judge.judges.lexical import LexicalJudge as Lexical

    return Lexical(settings)


def _prompted(spec: dict[str, Any], entry: dict[str, Any], manifest: Path | None) -> Judge:
    """Without the store that a run has: what clients send is nowhere kept."""
    from bert_judge.candidates import with_run_time
    from bert_judge.generators.factory import make_generator
    from bert_judge.judges.llm import LLMJudge as Prompted

    asked = with_run_time(spec["settings"]["model"], entry["model"])
    return Prompted(spec["judge"], spec["settings"], make_generator(spec["judge"], asked, manifest))
