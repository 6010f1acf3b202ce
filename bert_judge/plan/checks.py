"""What a configuration of sound shape still gets wrong: files that are not there, tasks nobody knows, parts that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bert_judge import tasks
from bert_judge.assets.prepare import local_folder
from bert_judge.candidates.importers import files
from bert_judge.config import Attacks, Audit, Config, Import, ImportedModel, SimulatedModel
from bert_judge.config.validation import entries, listed_tasks, texts
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.cascade.config import CascadeJudgeConfig
from bert_judge.judges.imported.config import ImportedJudgeConfig
from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.probe.config import ProbeJudgeConfig
from bert_judge.judges.simulated.config import SimulatedJudgeConfig
from bert_judge.plan.resolved_config import from_data, import_path
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.sources import published_sources

if TYPE_CHECKING:
    from bert_judge.plan import Plan

# Kinds of judges whose scores can be read as probabilities.
ADAPTABLE = ("bert", "llm", "probe")
# Those that a dataset may have made what they are.
FITTED = BertJudgeConfig | ProbeJudgeConfig | CascadeJudgeConfig | PriorShiftJudgeConfig


def of_paths(raw: Mapping[str, Any], data: Path | None) -> list[str]:
    """Imported files that are not there."""
    sound = {name: checked for name, entry in entries(raw, "imports").items() if (checked := _sound(entry))}
    faults = []
    # Those that start in the data folder share its fault.
    relative = [name for name, entry in sound.items() if not Path(entry.path).expanduser().is_absolute()]
    if relative and data is None:
        faults.append(
            f"data: no folder is given, and the paths of {', '.join(relative)} under imports are relative to it; "
            "add --config data=FOLDER or set BERT_JUDGE_DATA"
        )
    elif relative and data is not None and not data.is_dir():
        faults.append(f"data: {data}: no such folder; mend --config data=FOLDER or BERT_JUDGE_DATA")
    if faults:
        sound = {name: entry for name, entry in sound.items() if name not in relative}
    for name, entry in sound.items():
        path = import_path(entry, data)
        if path.is_file():
            continue
        fault = "is a folder; name a file in it" if path.is_dir() else "no such file; mend the path or the data folder"
        faults.append(f"imports.{name}.path: {path}: {fault}")
    for name, raw_source in entries(raw, "tasks", "sources").items():
        told = raw_source.get("path")
        if isinstance(told, str) and not (path := from_data(told, data)).is_file():
            faults.append(f"tasks.sources.{name}.path: {path}: no such file; mend the path or the data folder")
    return faults


def of_folders(raw: Mapping[str, Any]) -> list[str]:
    """Models and checkpoints that can only be local folders, and are not there."""
    uses = [(f"models.{name}.model", entry.get("model")) for name, entry in entries(raw, "models").items()]
    for name, entry in entries(raw, "judges").items():
        uses += [(f"judges.{name}.{key}", entry.get(key)) for key in ("checkpoint", "backbone")]
        model = entry.get("model")
        uses.append((f"judges.{name}.model.model", model.get("model") if isinstance(model, Mapping) else None))
    faults = []
    for where, repository in uses:
        if not isinstance(repository, str):
            continue
        try:
            local_folder(repository)
        except InputError as error:
            faults.append(f"{where}: {str(error).removeprefix('model ')}")
    return faults


def _sound(entry: Mapping[str, Any]) -> Import | None:
    """An import whose shape has no fault; the others' faults are told already."""
    try:
        return Import.model_validate(entry, by_alias=True, by_name=False)
    except ValidationError:
        return None


def of_tasks(raw: Mapping[str, Any]) -> list[str]:
    """Tasks that no function and no imported file defines."""
    faults = []
    for path in texts(raw.get("task_files")):
        try:
            tasks.load_files([path])
        except InputError as error:
            faults.append(str(error))
    imported, sources = entries(raw, "tasks", "imported"), entries(raw, "tasks", "sources")
    functions = set(tasks.names())
    faults += [
        f"task_files: {name!r} is the name of a published task; choose another" for name in functions & set(published_sources())
    ]
    # A published task may be defined anew, from a file or with a revision; a function has no such second place.
    taken = dict.fromkeys(functions, "a task function")
    faults += [f"tasks.imported.{name}: {taken[name]} has this name; choose another" for name in imported if name in taken]
    taken |= dict.fromkeys(imported, "an imported task")
    faults += [f"tasks.sources.{name}: {taken[name]} has this name; choose another" for name in sources if name in taken]
    known = {*functions, *imported, *sources}
    if not faults:
        # A task file that fails hides its tasks; to call them unknown would lead astray.
        faults = [
            f"tasks.{part}: unknown task {name!r}; known are: {', '.join(sorted(known))}, "
            "and the published ones (bert-judge tasks list)"
            for part in ("train", "test")
            for name in listed_tasks(raw, part)
            if name not in known and name not in published_sources()
        ]
    return faults


def _limit_faults(config: Config) -> list[str]:
    """Limits of tasks that are not asked, or whose answers lie in a file."""
    asked = [*config.tasks.train, *config.tasks.test]
    faults = [
        f"tasks.limit: {name!r} is listed neither under train nor under test" for name in config.tasks.limit if name not in asked
    ]
    faults += [
        f"tasks.limit: {name!r} is an imported task; take a part of it with tasks.imported.{name}.question_split"
        for name in config.tasks.limit
        if name in config.tasks.imported
    ]
    return faults


def of_fit(config: Config) -> list[str]:
    """Parts of a configuration that are each right but do not fit together; no file is looked at."""
    faults = [
        f"tasks.imported.{name}.question_split: {list(part.question_split)} is empty; the first number must be the smaller"
        for name, part in config.tasks.imported.items()
        if part.question_split[0] >= part.question_split[1]
    ]
    faults += _limit_faults(config)
    for name, dataset in config.datasets.items():
        faults += [
            f"datasets.{name}.tasks: {task!r} is a test task; list it under tasks.train, or set allow_test_questions: true"
            for task in dataset.tasks
            if task in config.tasks.test and not dataset.allow_test_questions
        ]
        if name in _taught_by(config, name):
            teachers = " or ".join(map(repr, dataset.teachers))
            faults.append(f"datasets.{name}.teacher: {teachers} would be trained on its own labels; choose another")
        if dataset.weak_teacher and dataset.weak_teacher.teacher == dataset.teacher:
            faults.append(f"datasets.{name}.weak_teacher.teacher: {dataset.teacher!r} is the teacher itself; choose another")
    for name, judge in config.judges.items():
        faults += _cascade_faults(config, name, judge) if isinstance(judge, CascadeJudgeConfig) else []
        faults += _adapted_faults(config, name, judge) if isinstance(judge, PriorShiftJudgeConfig) else []
        faults += _probe_faults(config, name, judge) if isinstance(judge, ProbeJudgeConfig) else []
    if config.gold is not None and config.gold not in config.scorers:
        faults.append(f"gold: {config.gold!r} must be listed under scorers too")
    faults += _attack_faults(config, config.attacks) if config.attacks else []
    return faults + (_audit_faults(config, config.audit) if config.audit else [])


def _attack_faults(config: Config, attacks: Attacks) -> list[str]:
    """Judges that look answers up instead of judging them, and questions that a judge may have been trained on."""
    judges = config.judges
    cascades = [judge for name in attacks.judges if isinstance(judge := judges[name], CascadeJudgeConfig)]
    asked = dict.fromkeys([*attacks.judges, *(member for cascade in cascades for member in cascade.judges)])
    faults = [
        f"attacks.judges: {name!r} is of kind {judges[name].kind} and knows no verdict on made-up answers; choose another"
        for name in asked
        if isinstance(judges[name], ImportedJudgeConfig | SimulatedJudgeConfig)
    ]
    faults += [
        f"attacks.judges: {name!r} adapts to the answers of a model, and attacks are none; name its judge {entry.judge!r}"
        for name in attacks.judges
        if isinstance(entry := judges[name], PriorShiftJudgeConfig)
    ]
    unknown = [] if attacks.tasks == "all" else [name for name in attacks.tasks if name not in config.tasks.test]
    return faults + [f"attacks.tasks: {name!r} must be listed under tasks.test too" for name in unknown]


def _audit_faults(config: Config, audit: Audit) -> list[str]:
    """Judges that cannot be audited, and a filled sheet that is not there or would be lost."""
    faults = []
    if audit.judge not in config.scorers:
        faults.append(f"audit.judge: {audit.judge!r} must be listed under scorers too")
    if audit.labels_from == "gold" and config.gold is None:
        faults.append("audit.labels_from: no judge is named under gold; name one, or have people label the sheet")
    elif audit.labels_from == "gold" and audit.judge == config.gold:
        faults.append(f"audit.judge: {audit.judge!r} is gold and would be corrected by itself; choose another")
    if audit.labels is None:
        return faults
    path = Path(audit.labels).expanduser()
    if not path.is_file():
        faults.append(
            f"audit.labels: {path}: no such file; fill results/audit/sheet.html and save it there, or leave the key out until then"
        )
    elif path.resolve().is_relative_to(Path("results").resolve()):
        faults.append(f"audit.labels: {path}: a run writes in that folder anew; keep people's labels elsewhere")
    return faults


def _cascade_faults(config: Config, name: str, cascade: CascadeJudgeConfig) -> list[str]:
    """Judges that cannot be part of a cascade, or not in their place."""
    teacher = config.datasets[cascade.dataset].teacher
    faults = []
    for place, judge in enumerate(cascade.judges, start=1):
        kind = config.judges[judge].kind
        if kind == "cascade":
            faults.append(f"judges.{name}.judges: {judge!r} is a cascade itself; list its judges here")
        elif kind == "prior_shift":
            faults.append(f"judges.{name}.judges: {judge!r} adapts to all answers of a model, not to some; list its judge here")
        elif judge == teacher and place < len(cascade.judges):
            faults.append(f"judges.{name}.judges: {judge!r} teaches {cascade.dataset!r}, so it is right there; put it last")
        elif judge != teacher and kind in ("imported", "simulated"):
            faults.append(
                f"judges.{name}.judges: {judge!r} knows no verdict on the validation rows of {cascade.dataset!r}; "
                f"of its kind only the teacher can be here, {teacher!r}"
            )
    return faults


def _adapted_faults(config: Config, name: str, adapted: PriorShiftJudgeConfig) -> list[str]:
    """A judge whose scores are no probabilities."""
    kind = config.judges[adapted.judge].kind
    if kind in ADAPTABLE:
        return []
    return [
        f"judges.{name}.judge: {adapted.judge!r} is of kind {kind}; only scores of the kinds {', '.join(ADAPTABLE)} can be moved"
    ]


def _probe_faults(config: Config, name: str, probe: ProbeJudgeConfig) -> list[str]:
    """Datasets with rows that no model gave as an answer, whose hidden states nobody stores."""
    kinds = [augmentation.kind for augmentation in config.datasets[probe.dataset].augment]
    error = f"judges.{name}.dataset: {probe.dataset!r} is augmented ({', '.join(kinds)}); use a dataset without `augment`"
    return [error] if kinds else []


def _taught_by(config: Config, dataset: str) -> set[str]:
    """The datasets behind the labels of a dataset: what its teacher was trained or fitted on, what those teachers were, …"""
    found: set[str] = set()
    teachers = [*config.datasets[dataset].teachers]
    while teachers:
        judge = config.judges[teachers.pop()]
        behind = {judge.dataset} if isinstance(judge, FITTED) and judge.dataset else set()
        teachers += [teacher for name in behind - found for teacher in config.datasets[name].teachers]
        teachers += judge.judges if isinstance(judge, CascadeJudgeConfig) else []
        teachers += [judge.judge] if isinstance(judge, PriorShiftJudgeConfig) else []
        found |= behind
    return found


def of_use(plan: Plan, in_files: Mapping[str, Sequence[str]]) -> list[str]:
    """What is asked of models and judges that cannot give it.

    Args:
        plan: the resolved configuration.
        in_files: import → names of the models in the file.
    """
    faults = _model_faults(plan, in_files)
    for name, dataset in plan.config.datasets.items():
        chosen = [] if dataset.models == "all" else dataset.models
        uses = (("models", chosen), ("mix.per_model", dataset.mix.per_model))
        faults += [
            f"datasets.{name}.{key}: {model!r} is not defined under models; there are: {', '.join(plan.models)}"
            for key, models in uses
            for model in models
            if model not in plan.models
        ]
        if all(model in plan.models for model in chosen):
            if not plan.labelled(name):
                faults.append(f"datasets.{name}: none of its models has answers to its tasks; mend its models or tasks")
            faults += verdict_faults(plan, f"datasets.{name}.teacher", dataset.teacher, plan.labelled(name))
            if dataset.weak_teacher:
                where = f"datasets.{name}.weak_teacher.teacher"
                faults += verdict_faults(plan, where, dataset.weak_teacher.teacher, plan.undecided(name))
    if not plan.scored:
        faults.append("tasks.test: no model has answers to any test task; add a model, or a task of the models' files")
    for judge in plan.config.scorers:
        faults += verdict_faults(plan, "scorers", judge, plan.scored)
    return faults


def _model_faults(plan: Plan, in_files: Mapping[str, Sequence[str]]) -> list[str]:
    faults = []
    for key, model in plan.models.items():
        if not isinstance(model, ImportedModel):
            continue
        named = model.model_name or key
        present = sorted({name for source in model.source for name in in_files.get(source, ())})
        if present and named not in (*present, files.EVERY_MODEL):
            faults.append(f"models.{key}: {named!r} is not in its files; say lambda with one of: {', '.join(present)}")
    return faults


def verdict_faults(plan: Plan, where: str, name: str, tables: Iterable[tuple[str, str]]) -> list[str]:
    """One line when a judge that does not read answers has no verdicts on a table that is asked of it."""
    judge = plan.config.judges[name]
    if isinstance(judge, CascadeJudgeConfig):
        tables = list(tables)
        return [fault for member in judge.judges for fault in verdict_faults(plan, f"judges.{name}.judges", member, tables)]
    for model, task in tables:
        if isinstance(judge, SimulatedJudgeConfig) and not isinstance(plan.models[model], SimulatedModel):
            return [f"{where}: {name!r} knows the truth about simulated models only, and {model!r} is none; use another judge"]
        if isinstance(judge, ImportedJudgeConfig) and plan.verdict_import(name, task) is None:
            return [
                f"{where}: {name!r} has no verdicts on task {task!r}; add the task's file, or one file of verdicts, "
                f"to judges.{name}.from"
            ]
    return []


def models_in_files(config: Config, data: Path | None) -> tuple[dict[str, list[str]], list[str]]:
    """Import → names of the models in the file, for the imports that models come from; and what is wrong with the files."""
    # A file whose answers are taken all together need not name models.
    named = [
        model for model in config.models.values() if isinstance(model, ImportedModel) and model.model_name != files.EVERY_MODEL
    ]
    sources = dict.fromkeys(source for model in named for source in model.source)
    found: dict[str, list[str]] = {}
    faults: list[str] = []
    for source in sources:
        entry = config.imports[source]
        try:
            found[source] = files.distinct_models(entry, import_path(entry, data))
        except InputError as error:
            faults.append(f"imports.{source}: {error}")
    return found, faults
