"""A judge of a configuration, for files that are no part of a run: `CONFIG.yaml:NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import plan, tables
from bert_judge.assets.prepare import prepare
from bert_judge.config import LocalModel
from bert_judge.config import files as config_files
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.lexical.config import LexicalJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.judges.protocol import Judge
from bert_judge.plan import Plan
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

# What stands for the model and the task of answers that nobody knows the origin of.
ANY = "_any"
# A file that holds judges and nothing else is a configuration when these are added; nobody asks the model.
_REST = {"models": {"nobody": {"generator": "simulated", "p_correct": 0.5}}, "tasks": {"test": ["facts_test"]}}


def from_file(file: Path, name: str, threshold: float | None, results: Path) -> tuple[str, Judge]:
    """What the judge's verdicts depend on, and the judge; see `of_block`.

    Raises:
        InputError: the file is no sound configuration, or has no such judge.
    """
    raw = config_files.load([file])
    if name not in (judges := raw.get("judges") or {}):
        raise InputError(f"--judge {file}:{name}: the file has no such judge; there are: {', '.join(map(str, judges))}")
    missing = {key: value for key, value in _REST.items() if key not in raw}
    return of_raw({**missing, "scorers": [name], **raw}, name, threshold, results, [file])


def of_block(block: Mapping[str, Any], name: str, threshold: float | None, results: Path) -> tuple[str, Judge]:
    """The same for a judge's block alone, as it stands under `judges`."""
    return of_raw({**_REST, "judges": {name: dict(block)}, "scorers": [name]}, name, threshold, results)


def of_raw(
    raw: Mapping[str, Any], name: str, threshold: float | None, results: Path, written: list[Path] | None = None
) -> tuple[str, Judge]:
    """What a judge's verdicts depend on, and the judge.

    Args:
        raw: a whole configuration.
        threshold: lowest score that counts as correct; what the configuration says when left out.
        results: folder of a run: trained judges are looked for there, and what a model says stays in its store.
        written: the files of the configuration.

    Raises:
        InputError: the configuration has faults, or the judge judges the answers of a run only.
    """
    made = plan.make(raw, written or [])
    entry = made.config.judges[name]
    if not isinstance(entry, LexicalJudgeConfig | LLMJudgeConfig | BertJudgeConfig):
        raise InputError(f"--judge {name}: of kind {entry.kind}, which judges the answers of a run only; name another judge")
    spec = made.labels_spec(name, ANY, ANY)
    if threshold is not None:
        spec["settings"]["threshold"] = threshold
    judge = _loaded(made, raw, spec, results)
    return tables.canonical({"settings": spec["settings"], "revisions": judge.revisions}), judge


def _loaded(made: Plan, raw: Mapping[str, Any], spec: Mapping[str, Any], results: Path) -> Judge:
    name, entry = spec["judge"], made.config.judges[spec["judge"]]
    manifest = results / ".work" / "prepared" / f"judge-{name}.json"
    if isinstance(entry, LexicalJudgeConfig):
        from bert_judge.judges.lexical.judge import LexicalJudge as Lexical

        return Lexical(spec["settings"])
    if isinstance(entry, LLMJudgeConfig):
        from bert_judge.judges.llm.rubric import prompted_judge

        local = isinstance(entry.model, LocalModel)
        if local:
            prepare(made.assets[f"judge-{name}"], manifest)
        # As in a run: what is asked once is not asked again, whatever is changed in the reading of it.
        store = resume.store_folder(f"verdicts/{name}/{ANY}", results)
        return prompted_judge(spec, manifest if local else None, store, raw["judges"][name])
    from bert_judge.judges.bert.judge import BERTJudge

    assert isinstance(entry, BertJudgeConfig)
    checkpoint = results / "judges" / name / "judge.json"
    if entry.checkpoint:
        prepare(made.assets[f"judge-{name}"], manifest)
        checkpoint = manifest
    elif not checkpoint.is_file():
        raise InputError(f"{checkpoint}: no such file; train it with snakemake --cores 2 {checkpoint}")
    judge = BERTJudge.from_run(checkpoint, spec["settings"], name, results / ".work" / "encoders" / name)
    judge.check_trained()
    return judge
