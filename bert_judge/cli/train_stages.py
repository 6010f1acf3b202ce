"""Train a judge on one file of labelled answers, and measure it on held-out questions."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import plan, tables
from bert_judge.assets.prepare import load_manifest, local_folder, prepare
from bert_judge.cli.configurations import FILE, LABELS, LONGER, START, TEST, TRAIN, FileRun
from bert_judge.datasets.merge import build_dataset, check_overlap
from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs.agreement import import_pairs
from bert_judge.evaluation.standings import build_standings
from bert_judge.importers import files
from bert_judge.judges import registry
from bert_judge.judges.imported.judge import AspectColumnsReader
from bert_judge.judges.model_card import markdown_table
from bert_judge.judges.registry import LoadContext, TrainingContext
from bert_judge.labels.judge_loading import RULES
from bert_judge.labels.stage import loaded_judge
from bert_judge.plan import Plan
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tables import question_point

log = logging.getLogger(__name__)

# With fewer questions in a part, no judge can be trained or measured; with fewer held-out answers, the measurement tells nothing:
# the 95% interval of an accuracy is 30 points wide.
MIN_QUESTIONS, MIN_TEST_ANSWERS = 5, 30
# Labels that recalibrate a judge, and labels from which on its weights are trained too (docs/own_judge.md).
MIN_RECALIBRATION_LABELS, MIN_TRAINING_LABELS = 20, 150
# With fewer held-out questions, the difference between two judges has a 95% interval of about ±5 points or more.
FEW_TEST_QUESTIONS = 100
# Columns of `tables.AGREEMENT` in metrics.json and in the model card.
MEASURES = ["agreement", "low", "high", "macro_f1", "kappa", "invalid"]
CARD_SECTION = """\
## Held-out questions

{n:,} answers to {questions:,} questions of the same file, of which no answer was used for training, against the labels of the file:

{table}

{gain}

"""


@dataclass(frozen=True)
class TrainedJudge:
    """A judge and its comparison with the rules on the held-out questions.

    Attributes:
        folder: of the judge, inside the work folder.
        standings: of the judge, the rules, the judge that it started from and the labels.
        best_rule: the rule that agrees best with the labels.
        problem: why the judge is of no use; None if it is better than the best rule and the majority class, and not worse than the
            judge that it started from.
        questions: in the test.
        gain: how much better it is than the judge that it started from, in words; empty if it started from an encoder.
    """

    folder: Path
    standings: Path
    best_rule: str
    problem: str | None
    questions: int
    gain: str


def is_seen(rows: pd.DataFrame, start: str, answer: str = "candidate") -> np.ndarray:
    """Return which rows the judge that a training starts from has seen, shape (n,); none without a record.

    On these it agrees with the labels more often than on new answers, so they may measure nothing.
    """
    folder = local_folder(start)
    hashes = None if folder is None else read_seen_rows(folder)
    return np.isin(hash_rows(rows["question"], rows[answer]), [] if hashes is None else hashes)


def train(raw: Mapping[str, Any], judge: str, work: Path, start: str, force: bool = False) -> TrainedJudge:
    """Run the stages of a configuration from `configurations.training`.

    Args:
        work: folder for unfinished work, so that an interrupted call resumes. Cleared by the caller.
        start: judge, encoder or language model that the training starts from.
        force: train on any number of answers.

    Raises:
        InputError: the file, its labels or the settings are invalid, or there are too few answers to measure the judge.
    """
    run = _Run(plan.build_plan(raw), judge, work, start)
    run.check_size(read_labelled_rows(raw), force)
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
    split_files = {name: work / f"{name}.parquet" for name in (TRAIN, TEST)}
    for name, path in split_files.items():
        import_pairs(planned.pairs_spec(name, "imported"), file, path)
    test = labelled_pairs(tables.read(split_files[TEST], tables.PAIRS))
    if len(test) < MIN_TEST_ANSWERS:
        raise InputError(f"{file}: {len(test)} held-out pairs are too few to measure a judge; label more, or raise --test")
    spec, start = planned.training_spec(judge), work / "start.json"
    prepare(planned.assets[f"judge-{judge}"], start)
    rows = tables.fingerprint(tables.read(split_files[TRAIN], tables.PAIRS))
    folder = work / "judges" / resume.content_key(tables.canonical(spec), load_manifest(start).revision, rows)
    if not registry.is_trained_judge(folder):
        inputs = {"pairs": [split_files[TRAIN]], "backbone": start}
        registry.train_judge(TrainingContext(spec, inputs, folder, work / "training"))
    context = LoadContext(planned.preferences_spec(judge, TEST), {"checkpoint": str(folder / "judge.json")}, {})
    judges = {judge: planned.kind_of(judge).load(context), LONGER: PairRuleJudge(LONGER)}
    measures = {name: measure(loaded, to_pairs(test), test["target"].to_numpy()) for name, loaded in judges.items()}
    content = json.loads((folder / "metrics.json").read_text("utf-8"))
    tables.write_json(folder / "metrics.json", content | {"held_out": measures})
    shares = {name: values["agreement"] for name, values in measures.items()}
    shares[MAJORITY] = test["label"].value_counts(normalize=True).max()
    problem = _describe_problem(shares, judge, [name for name in shares if name != judge], f"{len(test):,} held-out pairs")
    return folder, pd.DataFrame(measures).T.round(3).to_string(), problem


def read_labelled_rows(raw: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with a label of the file of a configuration from `configurations.training`.

    Columns: question, references, candidate, label. Raises InputError: the file is invalid.
    """
    planned = plan.build_plan(raw)
    spec, columns = planned.task_spec(TRAIN)["import"], ["question", "references", "candidate"]
    if aspects := planned.config.imports[FILE].aspects:
        reader = AspectColumnsReader(aspects.model_dump(mode="json"))
        rows = files.read_rows(reader.map_columns(spec), planned.import_path(FILE), None, [*columns, *reader.required])
        low, high = aspects.range
        rows = rows.assign(label=(rows[reader.required].mean(axis=1) - low) / (high - low))
    else:
        rows = files.read_rows(spec, planned.import_path(FILE), None, [*columns, "label"])
    return rows[rows["label"].notna()]


def recalibrate(raw: Mapping[str, Any], judge: str, rows: pd.DataFrame, work: Path) -> tuple[Path, dict[str, float]]:
    """Recalibrate the judge that a configuration from `configurations.training` starts from, on all labelled rows of its file.

    Args:
        rows: from `read_labelled_rows`.
        work: folder for the new judge. Cleared by the caller.

    Returns:
        The folder of the new judge in `work`, and the statistics of `BERTJudge.recalibrate`.

    Raises:
        InputError: too few labels, equal labels only, or what it starts from is not a judge.
    """
    planned = plan.build_plan(raw)
    file = planned.import_path(FILE)
    if len(rows) < MIN_RECALIBRATION_LABELS:
        raise InputError(
            f"{file}: {len(rows)} labelled answers; label at least {MIN_RECALIBRATION_LABELS} to recalibrate a judge, "
            f"or {MIN_TRAINING_LABELS} to train one"
        )
    _check_labels(file, rows)
    folder, backbone = work / "judges" / "recalibrated", work / "backbone.json"
    prepare(planned.assets[f"judge-{judge}"], backbone)
    # Only now: it loads torch.
    from bert_judge.judges.bert.train import recalibrate_judge

    return folder, recalibrate_judge(planned.training_spec(judge), rows, backbone, folder)


def _check_labels(file: Path, rows: pd.DataFrame) -> None:
    if (is_correct := rows["label"] >= 0.5).sum() in (0, len(rows)):
        side = "at least" if is_correct.all() else "below"
        what = "equal" if rows["label"].nunique() == 1 else f"{side} 0.5"
        raise InputError(f"{file}: all {len(rows)} labels are {what}; a judge needs correct and incorrect answers")


class _Run(FileRun):
    """The run of a training."""

    def __init__(self, planned: Plan, judge: str, work: Path, start: str) -> None:
        super().__init__(planned, work)
        self.judge, self.start = judge, start

    def check_size(self, rows: pd.DataFrame, force: bool) -> None:
        """Reject a file with too few labelled questions or answers, or with equal labels only."""
        split_point = self.plan.task_spec(TRAIN)["part"]["question_split"][1]
        is_test = rows["question"].map(lambda question: question_point(question) >= split_point).astype(bool)
        is_leaked = is_test & is_seen(rows, self.start)
        if is_leaked.any():
            log.info(
                "%s: %d of %d held-out answers were used to train %s, and measure nothing",
                *(self.file, is_leaked.sum(), is_test.sum(), self.start),
            )
            rows, is_test = rows[~is_leaked], is_test[~is_leaked]
        questions, test_questions = rows["question"].nunique(), rows.loc[is_test, "question"].nunique()
        if min(test_questions, questions - test_questions) < MIN_QUESTIONS:
            raise InputError(
                f"{self.file}: {questions} labelled questions, {test_questions} of them held out for testing; "
                f"add more, or change --test: each part needs {MIN_QUESTIONS}"
            )
        _check_labels(self.file, rows)
        log.info(
            "%s: %d labelled answers to %d questions, %d correct; %d answers are held out for testing",
            *(self.file, len(rows), questions, (rows["label"] >= 0.5).sum(), is_test.sum()),
        )
        if is_test.sum() < MIN_TEST_ANSWERS and not force:
            raise InputError(
                f"{self.file}: {is_test.sum()} held-out answers are too few to tell whether the judge may be used; "
                f"label more, or raise --test ({MIN_TEST_ANSWERS} answers are needed); --recalibrate needs none; "
                "--force trains it anyway"
            )

    def build_tables(self, task: str) -> None:
        """Build the tables of a part: questions, and per model answers and labels; no test answers that the start has seen."""
        self.build_answers(task)
        if task == TEST:
            for path in self.paths("answers", task):
                answers = tables.read(path, tables.CANDIDATES)
                if (is_trained_on := is_seen(answers, self.start)).any():
                    tables.write(answers[~is_trained_on], path, tables.CANDIDATES, json.loads(tables.provenance(path)["spec"]))
        self.label(LABELS, task, {"source": str(self.file)})

    def label(self, name: str, task: str, inputs: Mapping[str, str]) -> None:
        """Label the answers to the questions of a part with a judge, which is loaded once."""
        with loaded_judge(self.plan.labels_spec(name, next(iter(self.plan.models)), task), inputs, {}) as judge:
            self.apply_judge(judge, name, task)

    def train_judge(self) -> Path:
        """Train the judge, unless an earlier call has, and return its folder."""
        train_rows, validation_rows, weak_rows, summary = (self.work / name for name in registry.DATASET_FILES)
        row_files, backbone = [train_rows, validation_rows, weak_rows], self.work / "backbone.json"
        answers, labels = self.paths("answers", TRAIN), self.paths(LABELS, TRAIN)
        build_dataset(
            self.plan.dataset_spec(FILE),
            answers,
            labels,
            train_rows,
            validation=validation_rows,
            validation_weak=weak_rows,
            summary=summary,
        )
        check_overlap(self.plan.overlap_spec(FILE, TEST), row_files, {TEST: self.path("task", TEST)}, self.work / "overlap.json")
        prepare(self.plan.assets[f"judge-{self.judge}"], backbone)
        spec = self.plan.training_spec(self.judge)
        rows = (tables.fingerprint(tables.read(file, tables.DATASET)) for file in row_files)
        folder = self.work / "judges" / resume.content_key(tables.canonical(spec), load_manifest(backbone).revision, *rows)
        if not registry.is_trained_judge(folder):
            inputs = {path.stem: path for path in (*row_files, summary, backbone)}
            registry.train_judge(TrainingContext(spec, inputs, folder, self.work / "training"))
        return folder

    def measure(self, folder: Path) -> TrainedJudge:
        """Compare the judge with the rules on the held-out questions, and write the result into its metrics and card."""
        inputs = {**{rule: {} for rule in RULES}, self.judge: {"checkpoint": str(folder / "judge.json")}}
        if START in self.plan.config.judges:
            inputs[START] = {"checkpoint": str(self.work / "start.json")}
            prepare(self.plan.assets[f"judge-{START}"], inputs[START]["checkpoint"])
        for name, files_of_judge in inputs.items():
            self.label(name, TEST, files_of_judge)
        self.build_scores(TEST)
        # Costs are computed for whole runs only.
        spec_without_cost = {key: value for key, value in self.plan.standings_spec().items() if key != "cost"}
        build_standings(spec_without_cost, self.paths("scores", TEST), self.work)
        agreement = tables.read(self.work / "agreement.parquet", tables.AGREEMENT)
        agreement = agreement[agreement["level"] == "all"].set_index("judge")
        best_rule = str(agreement.loc[list(RULES), "agreement"].idxmax())
        shares = {str(name): float(share) for name, share in agreement["agreement"].items()}
        baselines = [best_rule, MAJORITY, *([START] if START in shares else [])]
        problem = _describe_problem(shares, self.judge, baselines, f"{agreement['n'].max():,} held-out answers")
        gain = self._gain() if START in shares else {}
        _write_result(folder, agreement, gain)
        return TrainedJudge(
            folder, self.work / "standings.parquet", best_rule, problem, int(agreement["questions"].max()), _describe_gain(gain)
        )

    def _gain(self) -> dict[str, float]:
        """Return the difference in agreement to the judge that the training started from, with its interval."""
        table = tables.read(self.work / "comparisons.parquet", tables.COMPARISONS)
        rows = table[(table["level"] == "all") & (table["judge"] == self.judge) & (table["other"] == START)]
        return {name: round(float(rows[name].iloc[0]), 4) for name in ("difference", "low", "high")}


def _describe_problem(shares: Mapping[str, float], judge: str, baselines: Sequence[str], subject: str) -> str | None:
    """Say which baselines agree with the labels as often as the judge, or for the judge that it started from, more often."""
    lost = [name for name in baselines if shares[judge] < shares[name] or (shares[judge] == shares[name] and name != START)]
    described = " and ".join(f"{name} on {shares[name]:.1%}" for name in lost)
    return f"it agrees with the labels on {shares[judge]:.1%} of {subject}, {described}" if lost else None


def _describe_gain(gain: Mapping[str, float]) -> str:
    if not gain:
        return ""
    difference, low, high = (100 * gain[name] for name in ("difference", "low", "high"))
    return f"{difference:+.1f} points [{low:+.1f}, {high:+.1f}] against the judge that the training started from ({START})"


def _write_result(folder: Path, agreement: pd.DataFrame, gain: Mapping[str, float]) -> None:
    """Add the agreement of the judge and the baselines on the held-out questions to a judge's metrics and model card."""
    counts = {"n": int(agreement["n"].max()), "questions": int(agreement["questions"].max())}
    measures = agreement[MEASURES].astype(float).round(4)
    metrics, card = folder / "metrics.json", folder / "README.md"
    content = json.loads(metrics.read_text("utf-8"))
    if "held_out" in content:
        return
    content["held_out"] = counts | {"judges": json.loads(measures.to_json(orient="index"))} | ({"gain": dict(gain)} if gain else {})
    table = markdown_table(("judge", *MEASURES), measures.reset_index().to_numpy())
    section, heading = CARD_SECTION.format(**counts, table=table, gain=_describe_gain(gain)), "## Training"
    text = card.read_text("utf-8").replace(heading, section + heading, 1)
    tables.write_json(metrics, content)
    with tables.atomic(card) as temporary:
        temporary.write_text(text, encoding="utf-8")
