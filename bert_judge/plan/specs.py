"""Build the spec of each table.

A spec is plain JSON that contains everything that determines the content of a table, and nothing else: no paths, thread counts or
batch sizes. Equal specs mean equal tables, so the workflow reruns a job only when its spec changes.

The comparisons of pairs of models are scheduled so that appending a model to the configuration keeps the others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path

from bert_judge import tables, text
from bert_judge.config import ImportedModel, LocalModel, PairSet, StudentModel
from bert_judge.config.datasets import CONTROLS
from bert_judge.judges.registry import RESULTS, LabelTable, Spec, TrainingResources
from bert_judge.plan.configuration import ATTACKS, ResolvedConfig, Student, dump, list_students
from bert_judge.runtime import keyed_random
from bert_judge.tables import selections

# Settings of a fine-tuned model's prompts, in training and in inference.
CHAT_SETTINGS = {"dtype", "system", "thinking", "reasoning_end", "trust_remote_code"}
# The only part of an imported set. Names of generated parts contain a `@`.
IMPORTED = "imported"
# Raised when simulated models answer questions of the user otherwise.
WRONG_ANSWERS_VERSION = 2
# Names of two models, sorted.
ModelPair = tuple[str, str]


class Specs(ResolvedConfig):
    """Names and specs of all tables."""

    # Pairs

    @property
    def compared_sets(self) -> list[tuple[str, str]]:
        """Return (judge, set) of every table of preferences, sorted."""
        return sorted((judge, name) for name, entry in self.config.pairs.items() for judge in entry.judges)

    def pair_parts(self, name: str) -> list[str]:
        """Return the names of the tables of a set, sorted: one per two models, or one for an imported set."""
        return [IMPORTED] if self.config.pairs[name].source else sorted(self._model_pairs[name])

    def pair_files(self, name: str) -> list[str]:
        """Return the paths of the tables of a set."""
        return [str(RESULTS / "pairs" / name / f"{subset}.parquet") for subset in self.pair_parts(name)]

    @cached_property
    def _model_pairs(self) -> dict[str, dict[str, ModelPair]]:
        """Return set → part → the two models."""
        generated = {name: entry for name, entry in self.config.pairs.items() if not entry.source}
        return {name: {"@".join(pair): pair for pair in self._schedule(entry)} for name, entry in generated.items()}

    def _schedule(self, entry: PairSet) -> set[ModelPair]:
        # In the order of the configuration.
        models = list(self.models) if entry.models == "all" else entry.models
        if entry.schedule == "sampled":
            return sample_pairs(models, entry.opponents, lambda *models: bool(self._shared_tasks(entry, models)), entry.seed)
        everyone = combinations(models, 2)
        pairs = everyone if entry.baseline is None else ((m, entry.baseline) for m in models if m != entry.baseline)
        return {pair for first, second in pairs if self._shared_tasks(entry, pair := _sorted(first, second))}

    def _shared_tasks(self, entry: PairSet, pair: ModelPair) -> list[str]:
        """Return the tasks of the set that both models have answers to."""
        return sorted(task for task in entry.tasks if all(self.answers(model, task) for model in pair))

    def pair_tables(self, name: str, subset: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return (model, task) of the answer tables of a part: those of the first model, and those of the second."""
        pair = self._model_pairs[name][subset]
        tasks = self._shared_tasks(self.config.pairs[name], pair)
        return [(pair[0], task) for task in tasks], [(pair[1], task) for task in tasks]

    def pair_answers(self, name: str) -> list[tuple[str, str]]:
        """Return (model, task) of all answer tables of a set; empty for an imported set."""
        if self.config.pairs[name].source:
            return []
        return sorted({table for subset in self.pair_parts(name) for tables in self.pair_tables(name, subset) for table in tables})

    def pair_file(self, pair_set: str) -> Path:
        source = self.config.pairs[pair_set].source
        assert source is not None
        return self.import_path(source)

    def pairs_spec(self, pair_set: str, part: str) -> Spec:
        """Return the spec of one table of a set."""
        entry = self.config.pairs[pair_set]
        if entry.source:
            imported = dump(self.config.imports[entry.source], only={"format", "where"})
            columns = dump(self.config.imports[entry.source].pair_columns)
            content = tables.file_content(self.pair_file(pair_set))
            return {
                "set": pair_set,
                "import": {**imported, "columns": columns, "content": content},
                **dump(entry, only={"where", "question_split"}),
            }
        pair = self._model_pairs[pair_set][part]
        return {
            "set": pair_set,
            "models": list(pair),
            "tasks": self._shared_tasks(entry, pair),
            **dump(entry, only={"rows", "gold", "seed"}),
        }

    def preferences_spec(self, judge: str, pair_set: str) -> Spec:
        """Return the spec of a judge's verdicts on a set. The models are not part of it, so adding a model keeps the verdicts."""
        kind = self.kind_of(judge)
        return {
            "judge": judge,
            "set": pair_set,
            **kind.verdict_spec(self.config.judges[judge]),
            **kind.content_spec(self.config.judges[judge]),
        }

    @property
    def ranked_sets(self) -> dict[str, list[str]]:
        """Return set → its judges in the order of the configuration; sets are sorted."""
        return {name: list(entry.judges) for name, entry in sorted(self.config.pairs.items()) if entry.judges}

    @property
    def rank_score_tables(self) -> list[tuple[str, str]]:
        """Return (model, task) of the score tables whose model order is compared with the pairwise ranks."""
        tasks = {task for name in self.ranked_sets for task in self.config.pairs[name].tasks}
        return [(model, task) for model, task in self.score_tables if task in tasks]

    def ranks_spec(self) -> Spec:
        """Return the spec of agreement, ranks and rank correlations."""
        tables = [[model, task] for model, task in self.rank_score_tables]
        return {"sets": self.ranked_sets, "judges": self.config.scorers, "tables": tables}

    # Tasks, answers, labels and training

    @cached_property
    def selections(self) -> list[str]:
        """Return the names of all selections of answers that judges define."""
        return list(dict.fromkeys(name for judge in self.config.judges for name in self.kind_of(judge).selections(self, judge)))

    def source_tables(self, judge: str, model: str, task: str) -> list[LabelTable]:
        """Return the label tables of other judges that a label table is combined from."""
        return self.kind_of(judge).source_tables(self, judge, model, task)

    def task_spec(self, task: str) -> Spec:
        imported = self.config.tasks.imported.get(task)
        if imported is None:
            spec: Spec = {"task": task}
            if source := self.source_of(task):
                spec["source"] = dump(source, without={"path", "questions", "judge"})
            if file := self.source_file(task):
                spec["content"] = tables.file_content(file)
            if limit := self.config.tasks.limit.get(task):
                spec["limit"] = limit
            return spec
        return {
            "task": task,
            "part": dump(imported, without={"source", "family", "judge"}),
            "import": self.import_spec(imported.source),
        }

    def candidates_spec(self, model: str, task: str) -> Spec:
        """Return the spec of answers; a student's contains its training, and ignores other filters of its key."""
        if model == ATTACKS:
            return self.attacks_spec(task)
        entry = self.models[model]
        settings = dump(entry, without={"source", "filters", "training", *entry.run_time})
        if isinstance(entry, ImportedModel):
            settings["model_name"] = entry.model_name or model
            return {"model": model, "settings": settings, **self.task_spec(task)}
        spec: Spec = {
            "model": model,
            "task": task,
            "family": self.family(task),
            "settings": settings,
            "prompt_style": self.config.prompt_style,
        }
        if settings["generator"] == "simulated":
            spec["wrong_answers"] = WRONG_ANSWERS_VERSION
        return {**spec, "student": self.student_spec(model)} if model in self.students else spec

    def labels_spec(self, judge: str, model: str, task: str) -> Spec:
        """Return the spec of a judge's labels on the answers of a model, or on a selection of them."""
        if isinstance(selection := selections.parse(model), selections.Escalated):
            return {**self.labels_spec(judge, selection.model, task), "selection": model}
        kind = self.kind_of(judge)
        return {
            "judge": judge,
            "model": model,
            "task": task,
            **kind.verdict_spec(self.config.judges[judge]),
            **kind.content_spec(self.config.judges[judge]),
            **kind.extra_spec(self, judge, model, task),
        }

    def dataset_spec(self, dataset: str) -> Spec:
        entry = self.config.datasets[dataset]
        # Synthetic rows are made, and checked, by the rules about texts.
        versions = {"text_version": text.TEXT_VERSION} if entry.augment else {}
        # Reasons of other judges say how they decided.
        rationales = {"rationales": True} if self.kind_of(entry.teacher).looks_up_labels else {}
        weak = {"tables": [[m, t] for m, t in self.weakly_labelled_tables(dataset)]}
        return {
            "dataset": dataset,
            **dump(entry, without={"allow_test_questions", "weak_teacher", "models", "tasks"}),
            "tables": [[m, t] for m, t in self.dataset_tables(dataset)],
            "weak_teacher": {**dump(entry.weak_teacher, without={"tasks"}), **weak} if entry.weak_teacher else None,
            **versions,
            **rationales,
        }

    def overlap_spec(self, dataset: str, task: str) -> Spec:
        """Return the spec of the check that no question of a test task is in a dataset."""
        allowed = self.config.datasets[dataset].allow_test_questions
        return {"dataset": dataset, "allow_test_questions": allowed, "test": [task]}

    @cached_property
    def trained_judges(self) -> list[str]:
        """Return the judges that the run trains; others have a checkpoint or need none."""
        return [name for name, block in self.config.judges.items() if self.kind_of(name).trains(block)]

    def training_spec(self, judge: str) -> Spec:
        return self.kind_of(judge).training_spec(self, judge)

    def training_resources(self, judge: str) -> TrainingResources:
        return self.kind_of(judge).training_resources(self.config.judges[judge])

    def cascades_spec(self) -> Spec:
        return {**self.standings_spec(), "cascades": self.measured_cascades}

    @cached_property
    def feature_sets(self) -> dict[str, Spec]:
        """Return the name of each set of hidden states → the settings that the states depend on; judges may share a set."""
        return {features: spec for features, (spec, _) in self._feature_sets.items()}

    def backbone_of(self, features: str) -> str:
        """Return the asset of the model that produces a set of hidden states."""
        return self._feature_sets[features][1]

    @cached_property
    def _feature_sets(self) -> dict[str, tuple[Spec, str]]:
        return {
            features: (spec, next(iter(self.kind_of(name).assets(name, block))))
            for name, block in self.config.judges.items()
            for features, spec in self.kind_of(name).features(block).items()
        }

    def features_spec(self, features: str, model: str, task: str) -> Spec:
        """Return the spec of the hidden states of a model's answers to a task, or of a selection of answers."""
        return {"features": features, "model": model, "task": task, **self.feature_sets[features]}

    def scores_spec(self, model: str, task: str) -> Spec:
        return {"model": model, "task": task, "judges": self.config.scorers}

    def standings_spec(self) -> Spec:
        return {
            "judges": self.config.scorers,
            "gold": self.config.gold,
            "trained": [name for name in self.config.scorers if self.kind_of(name).is_trained],
            "families": {task: self.family(task) for task in sorted(self.config.tasks.test)},
            "styles": self.styles(),
            "cost": self.cost_spec(),
            "tables": [[m, t] for m, t in self.score_tables],
        }

    def cost_spec(self) -> Spec:
        """Return the spec of the cost table: whose tokens and times are counted, and their prices."""
        judges = self.config.judges
        datasets = {n: self.kind_of(n).depends_on(judges[n]).datasets for n in self.config.scorers}
        trained = {n: names[0] for n, names in datasets.items() if names and self.kind_of(n).counts_training}
        teacher_tables: dict[str, list[list[str]]] = {}
        for name in sorted(set(trained.values())):
            for teacher, m, t in self.training_tables(name):
                teacher_tables.setdefault(teacher, []).append([m, t])
        trained_on = sorted({(m, t) for pairs in teacher_tables.values() for m, t in pairs})
        combining = [name for name in self.config.scorers if self.kind_of(name).combines_labels]
        combined = {name: list(self.kind_of(name).depends_on(judges[name]).judges) for name in combining}
        sources = {table for n in combined for m, t in self.score_tables for table in self.source_tables(n, m, t)}
        requests: dict[str, list[list[str]]] = {}
        for member, m, t in sorted(sources):
            if member not in self.config.scorers:
                requests.setdefault(member, []).append([m, t])
        # Only judges in use, so that an unused judge in the configuration makes no table stale.
        used_judges = sorted({*self.config.scorers, *requests, *teacher_tables})
        language_models = {n: model for n in used_judges if (model := getattr(judges[n], "model", None))}
        models = {m: self.models[m] for m, _ in [*self.score_tables, *trained_on]}
        gpus = {n: getattr(m, "tensor_parallel_size", 1) for n, m in sorted(models.items()) if isinstance(m, LocalModel)}
        judging = {n: count for n in used_judges if (count := self.kind_of(n).gpus(judges[n]))}
        return {
            "tables": [[m, t] for m, t in self.score_tables],
            "trained_on": [[m, t] for m, t in trained_on],
            "answered_in_batches": [name for name in sorted(models) if models[name].generator == "vllm"],
            "judges": self.config.scorers,
            "combined": combined,
            "asked": requests,
            "taught": teacher_tables,
            "trained": trained,
            "prompted": sorted(language_models),
            "prices": {
                "answers": {n: dump(p) for n, m in sorted(models.items()) if (p := getattr(m, "price", None))},
                "verdicts": {n: dump(model.price) for n, model in language_models.items() if model.price},
            },
            "assumed_price": dump(self.config.assumed_price),
            "currency": self.config.currency,
            "gpus": {"models": gpus, "judges": judging},
        }

    def audit_spec(self) -> Spec:
        assert self.config.audit is not None
        sample = dump(self.config.audit, only={"judge", "size", "design", "seed"})
        return {**sample, "tables": [[m, t] for m, t in self.score_tables]}

    def corrected_spec(self) -> Spec:
        """Return the spec of the accuracies corrected with human labels, or with gold labels of the sampled answers."""
        assert self.config.audit is not None
        gold = self.config.gold if self.config.audit.labels_from == "gold" else None
        judges = [name for name in self.config.scorers if name != gold]
        minima = dump(self.config.audit, only={"min_sensitivity", "min_specificity"})
        return {**self.audit_spec(), **minima, "judges": judges, "labels_from": gold}

    def attacks_spec(self, task: str) -> Spec:
        """Return the spec of the attack answers to a task."""
        assert self.config.attacks is not None
        return {"task": task, **dump(self.config.attacks, only={"rows", "seed"}), "text_version": text.TEXT_VERSION}

    def attack_rates_spec(self) -> Spec:
        assert self.config.attacks is not None
        return {"judges": self.config.attacks.judges, "tasks": self.attack_tasks}

    def report_spec(self) -> Spec:
        kinds = {name: self.config.judges[name].kind for name in [*self.config.scorers, *self.trained_judges]}
        simulated = self.models_of_generator("simulated")
        spec = {**self.standings_spec(), "kinds": kinds, "simulated_models": sorted(simulated), "cascades": self.measured_cascades}
        if self.config.attacks:
            spec["attacks"] = self.attack_rates_spec()
        if self.config.audit:
            spec["audit"] = self.corrected_spec() if self.corrects_accuracy else self.audit_spec()
        return spec

    def import_spec(self, name: str) -> Spec:
        # Aspects belong to labels, not to questions and answers; pairs have their own spec.
        entry = dump(self.config.imports[name], without={"path", "aspects", "pair_columns"})
        return {**entry, "content": tables.file_content(self.import_path(name))}

    # Filters and students

    @cached_property
    def students(self) -> dict[str, Student]:
        """Return model name → student."""
        return {student.name: student for student in list_students(self.config)}

    @cached_property
    def filtered(self) -> list[tuple[str, str]]:
        """Return (filter, percentage) of every table of filtered answers, as written in its path."""
        return [(name, f"{percent:g}") for name, entry in self.config.filters.items() for percent in entry.percents]

    def filter_judge(self, name: str) -> str | None:
        """Return the judge whose labels a filter uses; None for a control."""
        judge = self.config.filters[name].judge
        return None if judge in CONTROLS else judge

    def filtered_spec(self, filter: str, keep: str) -> Spec:
        """Return the spec of the answers that a filter keeps."""
        entry = self.config.filters[filter]
        settings = dump(entry, only={"judge", "per_question", "seed"})
        tables = [[m, t] for m, t in self.filter_tables(filter)]
        return {"filter": filter, "keep": float(keep), **settings, "tables": tables}

    def filter_overlap_spec(self, filter: str, task: str) -> Spec:
        """Return the spec of the check that no question of a test task is in a filter's tasks."""
        entry = self.config.filters[filter]
        return {"filter": filter, "allow_test_questions": entry.allow_test_questions, "train": entry.tasks, "test": [task]}

    def student_spec(self, model: str) -> Spec:
        """Return the spec of a student's training."""
        student, entry = self.students[model], self.models[model]
        assert isinstance(entry, StudentModel)
        return {
            "student": model,
            "recipe": student.key,
            "base": dump(entry, only={"model", "revision"}),
            "settings": dump(entry, only=CHAT_SETTINGS),
            "training": dump(entry.training, without={*entry.training.run_time}),
            "prompt_style": self.config.prompt_style,
            "families": {task: self.family(task) for task in sorted(self.config.filters[student.filter].tasks)},
            "filter": self.filtered_spec(student.filter, student.keep),
        }

    def students_spec(self) -> Spec:
        """Return the spec of the comparison of students with each other and with their base models."""
        scored = {model for model, _ in self.score_tables}
        described = {
            name: {
                "recipe": student.key,
                "filter": student.filter,
                "chooser": self.config.filters[student.filter].judge,
                "keep": float(student.keep),
            }
            for name, student in sorted(self.students.items())
            if name in scored
        }
        recipes = sorted({self.students[name].key for name in described})
        bases = {recipe: base for recipe in recipes if (base := self._base_of(recipe)) and base in scored}
        return {"judges": self.config.scorers, "students": described, "bases": bases}

    def _base_of(self, recipe: str) -> str | None:
        """Return the model that is the base of a key's students; None if the configuration does not list it."""
        entry = self.config.models[recipe]
        assert isinstance(entry, StudentModel)
        origin = (entry.model, entry.revision)
        local_models = {name: m for name in self.base_models if isinstance(m := self.models[name], LocalModel)}
        return next((name for name, model in local_models.items() if (model.model, model.revision) == origin), None)


def sample_pairs(
    models: Sequence[str], opponents: int, are_comparable: Callable[[str, str], bool], *seed: int | str
) -> set[ModelPair]:
    """Pair each model with some of the models before it: those with the fewest opponents so far, ties broken at random.

    The comparison graph is connected as far as models are comparable, opponents are spread evenly, and the models after a model
    do not influence its opponents among the models before it.

    Args:
        models: in the order of the configuration.
        opponents: maximum number of earlier models that a model is paired with.
        are_comparable: whether two models share a task.
        seed: seed of the random tie-breaks.
    """
    num_opponents: Counter[str] = Counter()
    pairs: set[ModelPair] = set()
    for index, model in enumerate(models):
        previous = [second for second in models[:index] if are_comparable(model, second)]
        previous.sort(key=lambda second: (num_opponents[second], keyed_random.fraction("opponents", *seed, model, second)))
        for second in previous[:opponents]:
            pairs.add(_sorted(model, second))
            num_opponents.update((model, second))
    return pairs


def _sorted(first: str, second: str) -> ModelPair:
    return (first, second) if first < second else (second, first)
