"""Select the judges to serve: those that are named, those of a run's configuration, or all that exist."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bert_judge.config import files as config_files
from bert_judge.judges.pairwise.protocol import Pair
from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import JudgeReference
from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.serve.batcher import Listener
from bert_judge.serve.judge_pool import JudgePool, pairwise, pointwise
from bert_judge.serve.limits import Limits

log = logging.getLogger(__name__)


def choose(names: Sequence[str], files: Sequence[Path], results: Path, limits: Limits, listener: Listener) -> JudgePool:
    """Return the judges to serve, not loaded yet.

    Args:
        names: as `bert-judge score --judge` takes them; with a configuration, judges of it.
        files: the configuration; with none, `names`, or without these the trained judges in `results` and all rules.
        results: folder of the run.

    Raises:
        InputError: a named judge does not exist, or there is no judge to serve.
    """
    references = _configured_judges(names, files, results) if files else _named_judges(names, results)
    single = {r.name: pointwise(r.name, partial(_load, r), limits, listener) for r in references if not r.kind.compares_pairs}
    pairs = {r.name: pairwise(r.name, partial(_load, r), limits, listener) for r in references if r.kind.compares_pairs}
    return JudgePool(single, pairs)


def marks(files: Sequence[Path]) -> Path:
    """Return the file of audit labels that a configuration names, or `labels.csv`."""
    audit = config_files.merge(files).get("audit") if files else None
    named = audit.get("labels") if isinstance(audit, dict) else None
    return Path(named or "labels.csv")


def _named_judges(names: Sequence[str], results: Path) -> list[JudgeReference]:
    trained = judge_loading.trained_judges(results / "judges")
    served = dict.fromkeys(names or [*trained, judge_loading.DEFAULT_RULE, *judge_loading.RULES])
    short_names = [name.rpartition(":")[2] if ":" in name else Path(name).expanduser().resolve().name for name in served]
    if repeated := [name for name in short_names if short_names.count(name) > 1]:
        raise InputError(f"--judge: two judges are called {repeated[0]!r}; serve them on two ports")
    return [judge_loading.find_judge(name, results=results) for name in served]


def _configured_judges(names: Sequence[str], files: Sequence[Path], results: Path) -> list[JudgeReference]:
    """Return the judges of a configuration that can judge the answers of clients."""
    raw = config_files.merge(files)
    configured = list(raw.get("judges") or {})
    if unknown := [name for name in names if name not in configured]:
        raise InputError(f"--judge {unknown[0]}: not in {files[-1]}; available: {', '.join(configured)}")
    references = []
    for name in names or configured:
        try:
            reference = judge_loading.from_config(raw, name, config_files=files, results=results)
            if missing := reference.missing():
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
    judge = replace(reference, context=replace(reference.context, store=None)).load().judge
    if "model" not in reference.context.settings:
        if reference.kind.compares_pairs:
            judge.compare([Pair("Why?", "Because.", "No.")])
        else:
            judge.judge([Row("", 0, "", "", ("Paris",), "It is Paris.")])
    return judge
