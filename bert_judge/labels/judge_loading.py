"""Find and load a judge by the name that a user gives, for `score`, `predict`, `attack`, `serve` and the integrations.

A name is one of: a judge of the given configuration, `general` (the judge in this package), a built-in rule, a language model
behind a server (`http://HOST/v1#MODEL`, `openai:MODEL`), `FILE.yaml:NAME` (a judge of a configuration file), the name of a trained
judge in `results/judges`, the folder of a trained judge, or `owner/name` (a checkpoint on the hub); or two and more of them joined
by `+`, a cascade.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.judges import registry
from bert_judge.judges.registry import JudgeKind, LoadContext
from bert_judge.labels.server_judges import find_server_block, is_server_name
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.runtime.package_data import read_yaml

log = logging.getLogger(__name__)
RESULTS = Path("results")
JUDGES = RESULTS / "judges"
# The rules by name.
RULES: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("rules.yaml"))
# The best rule over ten files of real answers (docs/log.md).
DEFAULT_RULE = "contains"
# Placeholder for the model and the task of answers of unknown origin.
UNKNOWN = "_any"
# Completes a file that contains only judges to a valid configuration; the model is never run.
_MINIMAL_CONFIG = {"models": {"placeholder": {"generator": "simulated", "p_correct": 0.5}}, "tasks": {"test": ["facts_test"]}}


@dataclass(frozen=True)
class NamedJudge:
    """A loaded judge with its name, its origin and, if it is trained, its folder; equal origins give equal verdicts.

    Attributes:
        needs_references: see `JudgeKind.needs_references`.
        is_served: it asks a language model behind a server.
        price: of a million tokens of its `prompt` and `completion`, if known.
    """

    name: str
    origin: str
    judge: Any
    folder: Path | None = None
    needs_references: bool = True
    is_served: bool = False
    price: Mapping[str, float] | None = None

    def close(self) -> None:
        """End the processes of the judge, if it has any."""
        if hasattr(self.judge, "close"):
            self.judge.close()


@dataclass(frozen=True)
class NamedCascade(NamedJudge):
    """A loaded cascade; `judge` decides like its members one after the other.

    Attributes:
        members: the judges, the cheapest first.
        confidences: see `CascadeJudge`.
    """

    members: Sequence[NamedJudge] = ()
    confidences: Sequence[float | None] = ()


@dataclass(frozen=True)
class JudgeReference:
    """A resolved judge that is not loaded yet.

    Attributes:
        context: what `JudgeKind.load` needs; its spec is that of a label table, or of preferences.
        required: files of `context.inputs` that must exist: a trained judge, or the manifest of a model.
        assets: name → input of `prepare`, for manifests that do not exist.
        folder: of a trained judge that was found by its folder.
    """

    name: str
    kind: JudgeKind
    context: LoadContext
    required: Mapping[str, Path] = field(default_factory=dict)
    assets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    results: Path = RESULTS
    folder: Path | None = None

    @property
    def needs_references(self) -> bool:
        return self.kind.needs_references(self.context.settings)

    def missing(self) -> str | None:
        """Describe the first file that is missing to load the judge; None if all exist."""
        path = next((path for path in self.required.values() if not path.is_file()), None)
        return None if path is None else f"{path}: no such file; make it with bert-judge run CONFIG {path}"

    def load(self) -> NamedJudge:
        """Load the judge; download its model first if that is missing. Raises InputError: a file is missing or broken."""
        inputs = dict(self.context.inputs)
        for key, path in self.required.items():
            if path.is_file():
                continue
            if path.stem not in self.assets:
                raise InputError(self.missing() or "")
            from bert_judge.assets.prepare import prepare

            inputs[key] = self.results / ".work" / "prepared" / path.name
            prepare(self.assets[path.stem], inputs[key])
        judge = self.kind.load(replace(self.context, inputs=inputs))
        spec = self.context.spec
        depends_on = {"spec": {key: spec[key] for key in ("settings", "prompts", "versions")}, "revisions": judge.revisions}
        return NamedJudge(
            self.name,
            tables.canonical(depends_on),
            judge,
            self.folder,
            needs_references=self.needs_references,
            is_served=self.is_served,
            price=(self.context.block.get("model") or {}).get("price"),
        )

    @property
    def is_served(self) -> bool:
        """Whether the judge asks a language model behind a server."""
        return (self.context.settings.get("model") or {}).get("generator") == "openai"

    def without_store(self) -> "JudgeReference":
        """Return the judge without a store of its requests."""
        return replace(self, context=replace(self.context, store=None))


@dataclass(frozen=True)
class CascadeReference(JudgeReference):
    """A cascade of judges of single answers, the cheapest first.

    Attributes:
        confidences: see `CascadeJudge`; None: the accuracy that each judge after the first had on its validation rows.
    """

    members: Sequence[JudgeReference] = ()
    confidences: Sequence[float | None] | None = None

    @property
    def needs_references(self) -> bool:
        return any(member.needs_references for member in self.members)

    def load(self) -> NamedJudge:
        from bert_judge.judges.cascade.escalation import CascadeJudge

        loaded = [member.load() for member in self.members]
        confidences = self.confidences or [_read_accuracy(judge) for judge in loaded[1:]]
        judge = CascadeJudge({judge.name: judge.judge for judge in loaded}, confidences)
        origin = tables.canonical({"judges": [judge.origin for judge in loaded], "confidences": confidences})
        return NamedCascade(
            self.name,
            origin,
            judge,
            needs_references=self.needs_references,
            is_served=self.is_served,
            members=loaded,
            confidences=confidences,
        )

    def missing(self) -> str | None:
        return next((problem for member in self.members if (problem := member.missing())), None)

    @property
    def is_served(self) -> bool:
        return any(member.is_served for member in self.members)

    def without_store(self) -> JudgeReference:
        return replace(self, members=[member.without_store() for member in self.members])


def _read_accuracy(judge: NamedJudge) -> float | None:
    """Return the accuracy of a trained judge on the validation rows of its training; None for a language model behind a server."""
    if judge.is_served:
        return None
    try:
        metrics = "" if judge.folder is None else (judge.folder / "metrics.json").read_text("utf-8")
        return float(json.loads(metrics)["validation"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"--judge {judge.name}: its accuracy, which decides what a cascade leaves to it, is not known; "
            "name the folder of a judge from bert-judge train after the +"
        ) from error


def find_cascade(name: str, results: Path = RESULTS) -> JudgeReference:
    """Find a judge, or a cascade of judges whose names are joined by `+`; raises like `find_judge`."""
    names = _split_cascade(name)
    if len(names) == 1 or Path(name).expanduser().exists():
        return find_judge(name if Path(name).expanduser().exists() else names[0], results=results)
    if not all(names):
        raise InputError(f"--judge {name}: a name is missing before or after a +; give two judges, such as general+FOLDER")
    members = [find_judge(member, results=results) for member in names]
    if pairs := [member.name for member in members if member.kind.compares_pairs]:
        raise InputError(f"--judge {name}: {pairs[0]} is a judge of two answers, which cannot be part of a cascade")
    context = LoadContext({"judge": "+".join(member.name for member in members), "settings": {}}, {}, {})
    return CascadeReference(context.name, registry.find("cascade"), context, members=members)


def _split_cascade(name: str) -> list[str]:
    """Return the names joined by `+`; the address of a server, which may contain one, comes last."""
    first, plus, rest = name.strip().partition("+")
    return [name.strip()] if is_server_name(name.strip()) or not plus else [first.strip(), *_split_cascade(rest)]


def find_judges(names: Sequence[str], threshold: float | None = None, policy: str | None = None) -> list[JudgeReference]:
    """Find the judges of single answers with these names.

    Args:
        threshold: lowest score that counts as correct; by default each judge's own.
        policy: on partly correct answers, `strict` or `lenient`; by default each judge's own.

    Raises:
        InputError: a judge does not exist, or two have the same name.
    """
    references = [override_settings(find_cascade(name), threshold, policy) for name in names]
    for reference in references:
        if reference.kind.compares_pairs:
            raise InputError(f"--judge {reference.name}: a judge of two answers, for bert-judge compare; name another judge")
        if [named.name for named in references].count(reference.name) > 1:
            raise InputError(f"--judge: two judges are called {reference.name!r}; score the file with one after the other")
    return references


def load_judges(names: Sequence[str], threshold: float | None = None, policy: str | None = None) -> list[NamedJudge]:
    """Load judges; see `find_judges`. Raises InputError also if one cannot be loaded."""
    return [reference.load() for reference in find_judges(names, threshold, policy)]


def trained_judges(judges: Path) -> list[str]:
    """Return the names of the trained judges of a run."""
    return sorted(card.parent.name for card in judges.glob("*/judge.json"))


def find_judge(
    name: str,
    *,
    config_files: Sequence[Path] = (),
    results: Path = RESULTS,
    model: str = UNKNOWN,
    task: str = UNKNOWN,
) -> JudgeReference:
    """Find a judge; see the top of this module for names.

    Args:
        config_files: a configuration, whose judges come first.
        results: folder of a run.

    Raises:
        InputError: no such judge, a judge of the answers of a run only, or an invalid configuration.
    """
    about: dict[str, Any] = {"results": results, "model": model, "task": task}
    configured: Sequence[str] = ()
    if config_files:
        from bert_judge.config import files as config_file_reader

        raw = config_file_reader.merge(config_files)
        configured = list(raw.get("judges") or {})
        if name in configured:
            return from_config(raw, name, config_files=config_files, **about)
    if name == GENERAL:
        return _of_folder(GENERAL_FOLDER, name, **about)
    if name in RULES:
        return _of_block(name, "lexical", {"kind": "lexical", **RULES[name]}, {}, **about)
    if is_server_name(name):
        short_name, block = find_server_block(name)
        reference = _of_block(short_name, "llm", block, {}, **about)
        store = resume.store_folder(f"verdicts/{short_name}/{model}", results)
        return replace(reference, context=replace(reference.context, store=store))
    file, _, in_file = name.rpartition(":")
    if file.lower().endswith((".yaml", ".yml")):
        return _from_file(Path(file), in_file, **about)
    # A path is not the name of a judge of the run; joining an absolute path to the folder of judges would ignore the folder.
    if Path(name).name == name and registry.is_trained_judge(results / "judges" / name):
        return _of_folder(results / "judges" / name, name, **about)
    if (folder := Path(name).expanduser()).is_dir():
        return _of_folder(folder, folder.resolve().name, **about)
    if "," in name:
        raise InputError(f"--judge {name}: one judge per option: {' '.join(f'--judge {one.strip()}' for one in name.split(','))}")
    if name.count("/") != 1 or ":" in name or name.startswith((".", "/", "~")):
        known_names = [*configured, GENERAL, *RULES, *trained_judges(results / "judges")]
        raise InputError(
            f"--judge {name}: no such folder, rule, judge of a configuration (FILE.yaml:NAME), hub checkpoint (owner/name) or "
            f"server (http://HOST/v1#MODEL, openai:MODEL); {suggest(name, known_names)}"
        )
    # Imported lazily: local judges do not need the hub's client.
    from bert_judge.assets import hub

    folder, *_ = hub.snapshot(name, None, remote_code=False)
    return _of_folder(folder, name.split("/")[1], **about)


def from_config(
    raw: Mapping[str, Any],
    name: str,
    *,
    config_files: Sequence[Path] = (),
    results: Path = RESULTS,
    model: str = UNKNOWN,
    task: str = UNKNOWN,
) -> JudgeReference:
    """Find a judge in a configuration; models, tasks and scorers may be missing there.

    Raises:
        InputError: the configuration is invalid, or the judge judges the answers of a run only.
    """
    # Imported lazily: it loads the configuration's classes.
    from bert_judge import plan

    missing: dict[str, Any] = {key: value for key, value in _MINIMAL_CONFIG.items() if key not in raw}
    judges = raw["judges"]
    kind_name = judges[name].get("kind") if isinstance(judges[name], Mapping) else None
    if "scorers" not in raw and kind_name in registry.names() and registry.find(kind_name).compares_pairs:
        # A judge of two answers is no scorer.
        missing["scorers"], judges = [DEFAULT_RULE], {DEFAULT_RULE: {"kind": "lexical", **RULES[DEFAULT_RULE]}} | judges
    resolved = plan.build_plan({"scorers": [name], **missing, **raw, "judges": judges}, config_files)
    block, kind = resolved.config.judges[name], resolved.kind_of(name)
    if problem := kind.standalone_problem(block):
        raise InputError(f"--judge {name}: {problem}")
    if kind.combines_labels:
        names = kind.depends_on(block).judges
        members = [from_config(raw, name, config_files=config_files, results=results, model=model, task=task) for name in names]
        if served := [member.name for member in members[:-1] if member.is_served]:
            raise InputError(f"--judge {name}: outside a run only its last judge may ask a server; put {served[0]} last")
        context = LoadContext({"judge": name, "settings": {}}, {}, {})
        return CascadeReference(name, kind, context, members=members, confidences=[None] * len(members[1:]))
    spec = resolved.preferences_spec(name, task) if kind.compares_pairs else resolved.labels_spec(name, model, task)
    inputs = kind.inputs(name, block, results)
    required = {key: Path(str(path)) for key, path in inputs.items()}
    assets = {asset: resolved.assets[asset] for asset in kind.assets(name, block)}
    context = LoadContext(
        spec,
        inputs,
        raw["judges"][name],
        # As in a run: no completion is requested twice, even if its parsing changes.
        resume.store_folder(f"verdicts/{name}/{model}", results),
    )
    return JudgeReference(name, kind, context, required, assets, results)


def _from_file(file: Path, name: str, **about: Any) -> JudgeReference:
    from bert_judge.config import files as config_file_reader

    raw = config_file_reader.load([file])
    if name not in (judges := raw.get("judges") or {}):
        raise InputError(f"--judge {file}:{name}: the file has no such judge; {suggest(name, map(str, judges))}")
    return from_config(raw, name, config_files=[file], **about)


def _of_folder(folder: Path, name: str, **about: Any) -> JudgeReference:
    kind = next((kind for kind in registry.kinds() if kind.recognizes(folder)), None)
    if kind is None:
        raise InputError(f"--judge {folder}: not the folder of a trained judge; name a folder with judge.json")
    if kind.combines_labels:
        raise InputError(f"--judge {folder}: {kind.standalone_problem(None)}")
    if registry.read_card(folder).get("simulated"):
        log.warning("judge %s: trained on simulated answers; do not use it on answers of real models", name)
    inputs, block = kind.folder_inputs(folder), kind.folder_block(folder)
    return replace(_of_block(name, kind.name, block, inputs, **about), folder=folder)


def _of_block(
    name: str,
    kind_name: str,
    block: Mapping[str, Any],
    inputs: Mapping[str, Any],
    *,
    results: Path,
    model: str,
    task: str,
) -> JudgeReference:
    kind = registry.find(kind_name)
    config = kind.config.model_validate(block)
    spec = {"judge": name, "model": model, "task": task, **kind.verdict_spec(config)}
    return JudgeReference(name, kind, LoadContext(spec, inputs, block), results=results)


def override_settings(reference: JudgeReference, threshold: float | None = None, policy: str | None = None) -> JudgeReference:
    """Return a judge with another threshold or policy. Raises InputError: it is to be lenient and has no policy."""
    if isinstance(reference, CascadeReference):
        first, *rest = reference.members
        members = [override_settings(first, threshold, policy), *(override_settings(member, threshold) for member in rest)]
        return replace(reference, members=members)
    spec = reference.context.spec
    settings = dict(spec["settings"])
    if threshold is not None:
        settings["threshold"] = threshold
    if "policy" in settings:
        settings["policy"] = policy or settings["policy"]
    elif policy == "lenient":
        raise InputError(f"--policy lenient: the judge {reference.name} cannot tell partly correct answers; --judge general can")
    return replace(reference, context=replace(reference.context, spec={**spec, "settings": settings}))
