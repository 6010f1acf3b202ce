"""Train a judge on one file of labelled answers, and measure it on held-out questions."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import plan, tables
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.candidates.stage import import_candidates
from bert_judge.cli.quickstart.configurations import FILE, LABELS, LONGER, TEST, TRAIN
from bert_judge.datasets.merge import build_dataset
from bert_judge.datasets.overlap import check_overlap
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs.pair_tables import import_pairs
from bert_judge.evaluation.score_tables import build_scores
from bert_judge.evaluation.standings import build_standings
from bert_judge.importers import files
from bert_judge.judges.imported.judge import ImportedJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.model_card import markdown_table
from bert_judge.judges.protocol import Judge
from bert_judge.judges.registry import LoadContext
from bert_judge.labels.judge_loading import RULES
from bert_judge.labels.stage import label_table
from bert_judge.plan import Plan
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tables import question_point
from bert_judge.tasks.build import build_task

log = logging.getLogger(__name__)

# With fewer questions in a part, no judge can be trained or measured; with fewer held-out answers, the measurement tells nothing:
# the 95% interval of an accuracy is 30 points wide.
MIN_QUESTIONS, MIN_TEST_ANSWERS = 5, 30
# Columns of `tables.AGREEMENT` in metrics.json and in the model card.
MEASURES = ["agreement", "low", "high", "macro_f1", "kappa", "invalid"]
CARD_SECTION = """\
## Held-out questions

{n:,} answers to {questions:,} questions of the same file, of which no answer was used for training, against the labels of the file:

{table}

"""


@dataclass(frozen=True)
class TrainedJudge:
    """A judge and its comparison with the rules on the held-out questions.

    Attributes:
        folder: of the judge, inside the work folder.
        standings: of the judge, the rules and the labels.
        best_rule: the rule that agrees best with the labels.
        problem: why the judge is of no use; None if it is better than the best rule and the majority class.
    """

    folder: Path
    standings: Path
    best_rule: str
    problem: str | None


def train(raw: Mapping[str, Any], judge: str, work: Path, force: bool = False) -> TrainedJudge:
    """Run the stages of a configuration from `configurations.training`.

    Args:
        work: folder for unfinished work, so that an interrupted call resumes. Cleared by the caller.
        force: train on any number of answers.

    Raises:
        InputError: the file, its labels or the settings are invalid, or there are too few answers to measure the judge.
    """
    run = _Run(plan.build_plan(raw), judge, work)
    run.check_size(force)
    for task in (TRAIN, TEST):
        run.build_tables(task)
    return run.measure(run.train_judge())


def train_on_pairs(raw: Mapping[str, Any], judge: str, work: Path) -> tuple[Path, str, str | None]:
    """Run the stages of a configuration from `configurations.pair_training`; arguments as for `train`.

    Returns:
        Folder of the judge, a table of its measures and those of the longer answer on held-out pairs, and why it is of no use.
    """
    from bert_judge.judges.pairwise.rules import PairRuleJudge
    from bert_judge.judges.pairwise.train import labelled_pairs, measure, to_pairs

    planned, file = plan.build_plan(raw), plan.build_plan(raw).import_path(FILE)
    parts = {name: work / f"{name}.parquet" for name in (TRAIN, TEST)}
    for name, path in parts.items():
        import_pairs(planned.pairs_spec(name, "imported"), file, path)
    test = labelled_pairs(tables.read(parts[TEST], tables.PAIRS))
    if len(test) < MIN_TEST_ANSWERS:
        raise InputError(f"{file}: {len(test)} held-out pairs are too few to measure a judge; label more, or raise --test")
    spec, start = planned.pair_judge_spec(judge), work / "start.json"
    prepare(planned.assets[f"judge-{judge}"], start)
    rows = tables.fingerprint(tables.read(parts[TRAIN], tables.PAIRS))
    folder = work / "judges" / resume.content_key(tables.canonical(spec), load_manifest(start).revision, rows)
    if not (folder / "judge.json").is_file():
        if "base" in spec:
            from bert_judge.judges.pairwise.fine_tuned import train_judge as fine_tune

            fine_tune(spec, [parts[TRAIN]], start, folder, work / "training")
        else:
            from bert_judge.judges.pairwise.train import train_pair_judge

            train_pair_judge(spec, [parts[TRAIN]], start, folder, work / "training")
    context = LoadContext(planned.preferences_spec(judge, TEST), {"checkpoint": str(folder / "judge.json")}, {})
    judges = {judge: planned.kind_of(judge).load(context), LONGER: PairRuleJudge(LONGER)}
    measures = {name: measure(loaded, to_pairs(test), test["target"].to_numpy()) for name, loaded in judges.items()}
    content = json.loads((folder / "metrics.json").read_text("utf-8"))
    tables.write_json(folder / "metrics.json", content | {"held_out": measures})
    shares = {name: values["agreement"] for name, values in measures.items()} | {
        MAJORITY: test["label"].value_counts(normalize=True).max()
    }
    lost = [f"{name} on {share:.1%}" for name, share in shares.items() if name != judge and shares[judge] <= share]
    problem = (
        f"it agrees with the labels on {shares[judge]:.1%} of {len(test):,} held-out pairs, {' and '.join(lost)}" if lost else None
    )
    return folder, pd.DataFrame(measures).T.round(3).to_string(), problem


class _Run:
    """The stages of the run, each with its spec from the plan."""

    def __init__(self, planned: Plan, judge: str, work: Path) -> None:
        self.plan, self.judge, self.work = planned, judge, work
        self.file = planned.import_path(FILE)

    def path(self, kind: str, task: str, model: str = "") -> Path:
        return self.work / kind / model / f"{task}.parquet"

    def paths(self, kind: str, task: str) -> list[Path]:
        """Return the tables of all models, in the order of the plan's dataset."""
        return [self.path(kind, task, model) for model in sorted(self.plan.models)]

    def check_size(self, force: bool) -> None:
        """Reject a file with too few labelled questions or answers, or with equal labels only."""
        spec = self.plan.task_spec(TRAIN)
        rows = files.read_rows(spec["import"], self.file, None, ["question", "references", "candidate", "label"])
        rows = rows[rows["label"].notna()]
        split_point = spec["part"]["question_split"][1]
        is_test = rows["question"].map(lambda question: question_point(question) >= split_point).astype(bool)
        questions, test_questions = rows["question"].nunique(), rows.loc[is_test, "question"].nunique()
        if min(test_questions, questions - test_questions) < MIN_QUESTIONS:
            raise InputError(
                f"{self.file}: {questions} labelled questions, {test_questions} of them held out for testing; "
                f"add more, or change --test: each part needs {MIN_QUESTIONS}"
            )
        correct = int((rows["label"] >= 0.5).sum())
        if correct in (0, len(rows)):
            raise InputError(f"{self.file}: all {len(rows)} labels are equal; a judge needs correct and incorrect answers")
        log.info(
            "%s: %d labelled answers to %d questions, %d correct; %d answers are held out for testing",
            *(self.file, len(rows), questions, correct, is_test.sum()),
        )
        if is_test.sum() < MIN_TEST_ANSWERS and not force:
            raise InputError(
                f"{self.file}: {is_test.sum()} held-out answers are too few to tell whether the judge may be used; "
                f"label more, or raise --test ({MIN_TEST_ANSWERS} answers are needed); --force trains it anyway"
            )

    def build_tables(self, task: str) -> None:
        """Build the tables of a part of the file: questions, and per model answers and labels."""
        build_task(self.plan.task_spec(task), self.path("task", task), self.file)
        for model in self.plan.models:
            answers, spec = self.path("answers", task, model), self.plan.labels_spec(LABELS, model, task)
            import_candidates(self.plan.candidates_spec(model, task), self.path("task", task), self.file, answers)
            label_table(spec, answers, self.path(LABELS, task, model), ImportedJudge(spec, self.file))

    def train_judge(self) -> Path:
        """Train the judge, unless an earlier call has, and return its folder."""
        train_rows, validation_rows, weak_rows = (
            self.work / f"{split}.parquet" for split in ("train", "validation", "validation_weak")
        )
        parts, summary, backbone = [train_rows, validation_rows, weak_rows], self.work / "summary.json", self.work / "backbone.json"
        answers, labels = self.paths("answers", TRAIN), self.paths(LABELS, TRAIN)
        build_dataset(self.plan.dataset_spec(FILE), answers, labels, train_rows, validation_rows, weak_rows, summary)
        check_overlap(self.plan.overlap_spec(FILE, TEST), parts, {TEST: self.path("task", TEST)}, self.work / "overlap.json")
        prepare(self.plan.assets[f"judge-{self.judge}"], backbone)
        spec = self.plan.judge_spec(self.judge)
        rows = (tables.fingerprint(tables.read(part, tables.DATASET)) for part in parts)
        folder = self.work / "judges" / resume.content_key(tables.canonical(spec), load_manifest(backbone).revision, *rows)
        if (folder / "judge.json").is_file():
            return folder
        training = self.work / "training"
        # Only now: both load torch.
        if spec["kind"] == "llm":
            from bert_judge.judges.llm.train import train_judge as fine_tune

            fine_tune(spec, train_rows, validation_rows, summary, backbone, folder, training)
        else:
            from bert_judge.judges.bert.train import train_judge

            train_judge(spec, train_rows, validation_rows, weak_rows, summary, backbone, folder, training)
        return folder

    def measure(self, folder: Path) -> TrainedJudge:
        """Compare the judge with the rules on the held-out questions, and write the result into its metrics and card."""
        for rule in RULES:
            with LexicalJudge(self.plan.labels_spec(rule, FILE, TEST)["settings"]) as lexical:
                self._label(rule, lexical)
        spec = self.plan.labels_spec(self.judge, FILE, TEST)
        context = LoadContext(spec, {"checkpoint": str(folder / "judge.json")}, {})
        self._label(self.judge, self.plan.kind_of(self.judge).load(context))
        for model in self.plan.models:
            labels = {name: self.path(name, TEST, model) for name in self.plan.config.scorers}
            scores = self.path("scores", TEST, model)
            build_scores(self.plan.scores_spec(model, TEST), self.path("answers", TEST, model), labels, scores)
        # Costs are computed for whole runs only.
        spec_without_cost = {key: value for key, value in self.plan.standings_spec().items() if key != "cost"}
        build_standings(spec_without_cost, self.paths("scores", TEST), self.work)
        agreement = tables.read(self.work / "agreement.parquet", tables.AGREEMENT)
        agreement = agreement[agreement["level"] == "all"].set_index("judge")
        best_rule = str(agreement.loc[list(RULES), "agreement"].idxmax())
        _write_result(folder, agreement)
        shares = {str(name): float(share) for name, share in agreement["agreement"].items()}
        own = shares[self.judge]
        lost = [f"{baseline} on {shares[baseline]:.1%}" for baseline in (best_rule, MAJORITY) if own <= shares[baseline]]
        answers = f"{agreement['n'].max():,} held-out answers"
        problem = f"it agrees with the labels on {own:.1%} of {answers}, {' and '.join(lost)}" if lost else None
        return TrainedJudge(folder, self.work / "standings.parquet", best_rule, problem)

    def _label(self, name: str, judge: Judge) -> None:
        for model in self.plan.models:
            answers, labels = self.path("answers", TEST, model), self.path(name, TEST, model)
            label_table(self.plan.labels_spec(name, model, TEST), answers, labels, judge)


def _write_result(folder: Path, agreement: pd.DataFrame) -> None:
    """Add the agreement of the judge and the baselines on the held-out questions to a judge's metrics and model card."""
    counts = {"n": int(agreement["n"].max()), "questions": int(agreement["questions"].max())}
    measures = agreement[MEASURES].astype(float).round(4)
    metrics, card = folder / "metrics.json", folder / "README.md"
    content = json.loads(metrics.read_text("utf-8"))
    if "held_out" in content:
        return
    content["held_out"] = counts | {"judges": json.loads(measures.to_json(orient="index"))}
    table = markdown_table(("judge", *MEASURES), measures.reset_index().to_numpy())
    section, heading = CARD_SECTION.format(**counts, table=table), "## Training"
    text = card.read_text("utf-8").replace(heading, section + heading, 1)
    tables.write_json(metrics, content)
    with tables.atomic(card) as temporary:
        temporary.write_text(text, encoding="utf-8")
