"""The stages of a run over one file of answers, in this process and without Snakemake."""

from pathlib import Path

from bert_judge.candidates.stage import import_candidates
from bert_judge.cli.configurations import FILE
from bert_judge.evaluation.score_tables import build_scores
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import label_table
from bert_judge.plan import Plan
from bert_judge.tasks.build import build_task


class FileRun:
    """The tables of a configuration of `configurations`, each with its spec from the plan.

    Args:
        planned: its file is the import `FILE`.
        work: folder of the tables.
    """

    def __init__(self, planned: Plan, work: Path) -> None:
        self.plan, self.work = planned, work
        self.file = planned.import_path(FILE)

    def path(self, kind: str, task: str, model: str = "") -> Path:
        return self.work / kind / model / f"{task}.parquet"

    def paths(self, kind: str, task: str) -> list[Path]:
        """Return the tables of all models, in the order of the plan's dataset."""
        return [self.path(kind, task, model) for model in sorted(self.plan.models)]

    def build_answers(self, task: str) -> None:
        """Write the questions of a task, and the answers of each model to them."""
        build_task(self.plan.task_spec(task), self.path("task", task), self.file)
        for model in self.plan.models:
            spec = self.plan.candidates_spec(model, task)
            import_candidates(spec, self.path("task", task), self.file, self.path("answers", task, model))

    def apply_judge(self, judge: Judge, name: str, task: str) -> None:
        """Write the labels of a judge on the answers of every model to a task."""
        for model in self.plan.models:
            answers, labels = self.path("answers", task, model), self.path(name, task, model)
            label_table(self.plan.labels_spec(name, model, task), answers, labels, judge)

    def build_scores(self, task: str) -> None:
        """Join the answers of every model to a task with the labels of all judges."""
        for model in self.plan.models:
            labels = {name: self.path(name, task, model) for name in self.plan.config.scorers}
            answers, scores = self.path("answers", task, model), self.path("scores", task, model)
            build_scores(self.plan.scores_spec(model, task), answers, labels, scores)
