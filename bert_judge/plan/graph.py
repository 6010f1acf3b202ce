"""The graph of a run: which files each file of `results/` is made from.

It is written once. The rules take their inputs from here, and `Plan.required_files` follows them back from the targets of a run,
so that a job that labels or answers several tables knows which of them the run needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bert_judge.config import ImportedModel, LocalModel, StudentModel
from bert_judge.judges.registry import DATASET_FILES, Inputs, LabelTable, judge_file
from bert_judge.plan.checks import PAIRS_FOLDER
from bert_judge.plan.configuration import ATTACKS
from bert_judge.plan.specs import Specs
from bert_judge.tables import selections

STANDINGS = "results/standings.parquet"
STANDINGS_TABLES = ["model_pairs", "agreement", "comparisons", "judge_pairs", "rank_shifts", "reliability", "thresholds", "cost"]
STANDINGS_FILES = [STANDINGS, *(f"results/{name}.parquet" for name in STANDINGS_TABLES)]
EXPORTS = [f"results/standings.{suffix}" for suffix in ("csv", "md", "tex", "svg")]
AUDIT_TABLES = [f"results/audit/{name}.parquet" for name in ("corrected_accuracy", "corrected_pairs", "certificate")]
# Targets of a run, beside the paths of files.
TARGETS = (
    *("prepare", "candidates", "labels", "datasets", "judges", "students", "scores", "standings"),
    *("audit", "certificate", "attacks", "pairs", "preferences", "ranks", "report", "all"),
)


def table_path(folder: str, *key: str) -> str:
    return f"results/{folder}/{'/'.join(key)}.parquet"


class Plan(Specs):
    """A validated configuration with resolved names, a specification for each table, the input files of each job by name, and the
    files of each target."""

    # Tables of a task, a model or a judge

    def task_inputs(self, task: str) -> Inputs:
        source, asset = self.source_file(task), f"task-{task}"
        inputs: Inputs = {"source": str(source)} if source else {}
        return {**inputs, "manifest": f"results/prepared/{asset}.json"} if asset in self.assets else inputs

    def candidates_inputs(self, model: str, task: str) -> Inputs:
        """Return the inputs of a table of answers: of a model, of attacks or of a selection."""
        match selections.parse(model):
            case selections.HeldOut(dataset):
                return {"validation": table_path("datasets", dataset, "validation")}
            case selections.Escalated(base, cascade, judge):
                sources = self.source_tables(cascade, base, task)[: len(self.previous_judges(cascade, judge))]
                labels = [table_path("labels", *table) for table in sources]
                fitted = self.kind_of(cascade).inputs(cascade, self.config.judges[cascade])
                return {"candidates": table_path("candidates", base, task), "labels": labels, **fitted}
        inputs: Inputs = {"table": table_path("tasks", task)}
        entry = None if model == ATTACKS else self.models[model]
        if isinstance(entry, ImportedModel):
            inputs["source"] = str(self.source_file(task))
        elif isinstance(entry, StudentModel):
            inputs["manifest"] = f"results/students/{model}/manifest.json"
            # A student must not answer a test task whose questions it was trained on.
            if task in self.config.tasks.test:
                inputs["overlap"] = f"results/filtered/{self.students[model].filter}/overlap/{task}.json"
        elif isinstance(entry, LocalModel):
            inputs["manifest"] = f"results/prepared/model-{model}.json"
        return inputs

    def previous_judges(self, cascade: str, judge: str) -> list[str]:
        """Return the judges of a cascade before this one."""
        judges = list(self.kind_of(cascade).depends_on(self.config.judges[cascade]).judges)
        return judges[: judges.index(judge)]

    def features_inputs(self, features: str, model: str, task: str) -> Inputs:
        manifest = f"results/prepared/{self.backbone_of(features)}.json"
        return {"candidates": table_path("candidates", model, task), "manifest": manifest}

    def label_inputs(self, judge: str, model: str, task: str) -> Inputs:
        kind = self.kind_of(judge)
        return {**kind.label_inputs(self, judge, model, task), "candidates": table_path("candidates", model, task)}

    def scores_inputs(self, model: str, task: str) -> Inputs:
        labels = [table_path("labels", judge, model, task) for judge in self.config.scorers]
        return {"candidates": table_path("candidates", model, task), "labels": labels}

    # Training

    def dataset_inputs(self, dataset: str) -> Inputs:
        entry, answers = self.config.datasets[dataset], self.dataset_tables(dataset)
        weak = [(name, *table) for name in entry.teachers[1:] for table in self.weakly_labelled_tables(dataset)]
        return {
            "candidates": [table_path("candidates", *table) for table in answers],
            "labels": [table_path("labels", entry.teacher, *table) for table in answers],
            "weak_labels": [table_path("labels", *table) for table in weak],
        }

    def overlap_inputs(self, dataset: str, task: str) -> Inputs:
        files = [f"results/datasets/{dataset}/{file}" for file in DATASET_FILES if file.endswith(".parquet")]
        return {"dataset": files, "tests": table_path("tasks", task)}

    def training_inputs(self, judge: str) -> Inputs:
        return self.kind_of(judge).training_inputs(self, judge)

    def filtered_inputs(self, filter: str) -> Inputs:
        answers, judge = self.filter_tables(filter), self.filter_judge(filter)
        labels = [table_path("labels", judge, *table) for table in answers] if judge else []
        return {"candidates": [table_path("candidates", *table) for table in answers], "labels": labels}

    def filter_overlap_inputs(self, filter: str, task: str) -> Inputs:
        train = [table_path("tasks", name) for name in self.config.filters[filter].tasks]
        return {"train": train, "tests": table_path("tasks", task)}

    def student_inputs(self, model: str) -> Inputs:
        student = self.students[model]
        return {
            "filtered": table_path("filtered", student.filter, student.keep),
            "base": f"results/prepared/base-{student.key}.json",
        }

    # Pairs

    def pair_inputs(self, pair_set: str, part: str) -> Inputs:
        entry = self.config.pairs[pair_set]
        if entry.source:
            return {"source": str(self.pair_file(pair_set))}
        inputs: Inputs = {}
        for side, answers in zip(("one", "other"), self.pair_tables(pair_set, part), strict=True):
            inputs[side] = [table_path("candidates", *table) for table in answers]
            inputs[f"gold_{side}"] = [table_path("labels", entry.gold, *table) for table in answers] if entry.gold else []
        return inputs

    def preference_inputs(self, judge: str, pair_set: str) -> Inputs:
        return {**self.kind_of(judge).inputs(judge, self.config.judges[judge]), "pairs": self.pair_files(pair_set)}

    def preference_files(self) -> list[str]:
        return [table_path("labels", judge, "pairs", name) for judge, name in self.compared_sets]

    # Summaries

    def score_files(self) -> list[str]:
        return [table_path("scores", *table) for table in self.score_tables]

    def standings_inputs(self) -> Inputs:
        return {"scores": self.score_files()}

    def cascades_inputs(self) -> Inputs:
        labels = [table_path("labels", name, *table) for name in self.measured_cascades for table in self.score_tables]
        return {"scores": self.score_files(), "labels": labels}

    def students_inputs(self) -> Inputs:
        metrics = [f"results/students/{model}/metrics.json" for model in self.students]
        return {"standings": STANDINGS, "pairs": "results/model_pairs.parquet", "metrics": metrics}

    def attack_rates_inputs(self) -> Inputs:
        judges = self.config.attacks.judges if self.config.attacks else []
        return {
            "candidates": [table_path("candidates", ATTACKS, task) for task in self.attack_tasks],
            "attacks": [table_path("attacks/families", task) for task in self.attack_tasks],
            "labels": [table_path("labels", judge, ATTACKS, task) for judge in judges for task in self.attack_tasks],
        }

    def audit_inputs(self) -> Inputs:
        """Return the inputs of the annotation sheet; its labels are the sheets that people have filled in."""
        sheets = self.config.audit.sheets if self.config.audit else []
        return {"scores": self.score_files(), "labels": [str(Path(sheet).expanduser()) for sheet in sheets]}

    def corrected_inputs(self) -> Inputs:
        return {**self.audit_inputs(), "attacks": self.summary_files("attacks")}

    def ranks_inputs(self) -> Inputs:
        pairs = [path for name in self.ranked_sets for path in self.pair_files(name)]
        scores = [table_path("scores", *table) for table in self.rank_score_tables]
        return {"pairs": pairs, "preferences": self.preference_files(), "scores": scores}

    def report_inputs(self) -> Inputs:
        metrics = [f"results/judges/{judge}/metrics.json" for judge in self.trained_judges]
        optional = {name: self.summary_files(name) for name in ("audit", "attacks", "cascades", "ranks", "students")}
        return {"standings": STANDINGS_FILES, "scores": self.score_files(), "judges": metrics, **optional}

    def summary_files(self, name: str) -> list[str]:
        """Return the files of a part of the report; empty if it is not configured."""
        sheet = ["results/audit/sheet.csv", "results/audit/sheet.html"] if self.config.audit else []
        ranks = [f"results/{name}.parquet" for name in ("pair_agreement", "ranks", "rank_correlations")]
        files = {
            "audit": [*sheet, *(AUDIT_TABLES if self.corrects_accuracy else [])],
            "attacks": ["results/attacks/rates.parquet", "results/attacks/examples.parquet"] if self.config.attacks else [],
            "cascades": ["results/cascades.parquet"] if self.measured_cascades else [],
            "ranks": ranks if self.ranked_sets else [],
            "students": ["results/students.parquet"] if self.students else [],
        }
        return files[name]

    # Targets

    def inputs_of(self, path: str) -> Inputs:
        """Return the input files of the job that writes a file. Raises KeyError: the file belongs to no configured part."""
        if not path.startswith("results/"):
            return {}
        match path.removesuffix(".parquet").split("/")[1:]:
            case ["tasks", task]:
                return self.task_inputs(task)
            case ["candidates", model, task]:
                return self.candidates_inputs(model, task)
            case ["attacks", "families", task]:
                return self.candidates_inputs(ATTACKS, task)
            case ["features", features, model, task]:
                return self.features_inputs(features, model, task)
            case ["labels", judge, "pairs", pair_set]:
                return self.preference_inputs(judge, pair_set)
            case ["labels", judge, model, task]:
                return self.label_inputs(judge, model, task)
            case ["datasets", dataset, "overlap", file]:
                return self.overlap_inputs(dataset, Path(file).stem)
            case ["datasets", dataset, _]:
                return self.dataset_inputs(dataset)
            case ["judges", judge, _]:
                return self.training_inputs(judge)
            case ["pairs", pair_set, part]:
                return self.pair_inputs(pair_set, part)
            case ["filtered", filter, "overlap", file]:
                return self.filter_overlap_inputs(filter, Path(file).stem)
            case ["filtered", filter, _]:
                return self.filtered_inputs(filter)
            case ["students", model, _]:
                return self.student_inputs(model)
            case ["scores", model, task]:
                return self.scores_inputs(model, task)
            case ["attacks", _]:
                return self.attack_rates_inputs()
            case ["audit", _]:
                return self.corrected_inputs()
            case ["report.html"]:
                return self.report_inputs()
            case ["cascades"]:
                return self.cascades_inputs()
            case ["students"]:
                return self.students_inputs()
            case ["pair_agreement" | "rank_correlations" | "ranks" | "ranks.csv" | "ranks.md"]:
                return self.ranks_inputs()
            case [_]:
                return self.standings_inputs()
        return {}

    def target_files(self, name: str) -> list[str]:
        """Return the files of a target of the run."""
        match name:
            case "all":
                return [file for goal in ("report", "scores", "judges", "preferences", "ranks") for file in self.target_files(goal)]
            case "prepare":
                return [f"results/prepared/{asset}.json" for asset in self.assets]
            case "candidates":
                return [table_path(name, *table) for table in sorted(self.required_answers(["all"]))]
            case "labels":
                return [table_path(name, *table) for table in sorted(self.required_labels(["all"]))]
            case "datasets":
                files = [*DATASET_FILES, *(f"overlap/{task}.json" for task in self.config.tasks.test)]
                return [f"results/datasets/{dataset}/{file}" for dataset in self.config.datasets for file in files]
            case "judges":
                return [judge_file(judge) for judge in self.trained_judges]
            case "students":
                return [*(f"results/students/{model}/manifest.json" for model in self.students), *self.summary_files(name)]
            case "scores":
                return self.score_files()
            case "standings":
                return STANDINGS_FILES
            case "certificate":
                return [file for file in self.summary_files("audit") if file in AUDIT_TABLES]
            case "pairs":
                return [path for pair_set in self.config.pairs for path in self.pair_files(pair_set)]
            case "preferences":
                return self.preference_files()
            case "ranks":
                return [*self.summary_files(name), *(["results/ranks.csv", "results/ranks.md"] if self.ranked_sets else [])]
            case "report":
                return ["results/report.html", *STANDINGS_FILES, *EXPORTS]
            case _:
                return self.summary_files(name)

    def required_files(self, targets: Iterable[str]) -> set[str]:
        """Return the files of these targets, and all that they are made from. Snakemake reports a path that no rule writes."""
        pending = [path for name in targets for path in (self.target_files(name) if name in TARGETS else [name])]
        requested, required = set(pending), set[str]()
        while pending:
            path = pending.pop()
            if path in required:
                continue
            required.add(path)
            try:
                inputs = self.inputs_of(path)
            except KeyError:
                if path not in requested:
                    raise
                continue
            pending += _paths(inputs)
        return required

    def required_answers(self, targets: Iterable[str]) -> set[tuple[str, str]]:
        """Return (model, task) of every answer table that the targets require, including those that train their judges."""
        tables = self._required_tables(targets, "candidates")
        return {(model, task) for model, task in tables if model != ATTACKS and not selections.parse(model)}

    def required_labels(self, targets: Iterable[str]) -> set[LabelTable]:
        """Return (judge, model, task) of every label table that the targets require, including those that train their judges."""
        return {(judge, model, task) for judge, model, task in self._required_tables(targets, "labels") if model != PAIRS_FOLDER}

    def _required_tables(self, targets: Iterable[str], folder: str) -> list[list[str]]:
        start = f"results/{folder}/"
        paths = (path for path in self.required_files(targets) if path.startswith(start))
        return [path.removeprefix(start).removesuffix(".parquet").split("/") for path in paths]


def _paths(inputs: Inputs) -> Iterator[str]:
    for value in inputs.values():
        yield from [value] if isinstance(value, str) else value
