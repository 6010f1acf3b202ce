"""Certificate of a judge: whether a labelled sample that it never saw shows it to be good enough.

It passes if the one-sided 95% lower bounds of its sensitivity and its specificity reach their minimum. An invalid verdict counts
against both. A sample that a flawless judge could not pass, as ten rows are, is refused.
"""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bert_judge import tables
from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows
from bert_judge.evaluation.audit.sampling import LABEL, RATE, UNLABELLED, inclusion_probabilities, majority
from bert_judge.evaluation.score_tables import MODEL
from bert_judge.importers.answers import RecordReader
from bert_judge.judges.protocol import CORRECT, INCORRECT, INVALID, VERDICT_CODES, Row
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import judge_rows, parse_record
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import metrics
from bert_judge.statistics.bootstrap import CONFIDENCE, QuestionBootstrap, classification_resamples, percentile_interval
from bert_judge.statistics.intervals import proportion, proportion_lower_bound
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import LocatedRecord

MIN_SENSITIVITY = MIN_SPECIFICITY = 0.8


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The result of `certify`; the fields are described with the table `certificate`."""

    passed: bool | None
    reason: str
    n: int
    questions: int
    correct: int
    sensitivity: float
    sensitivity_low: float
    min_sensitivity: float
    specificity: float
    specificity_low: float
    min_specificity: float
    agreement: float
    agreement_low: float
    agreement_high: float
    kappa: float
    kappa_low: float
    kappa_high: float
    ece: float
    attack_rate: float = math.nan
    annotators: int = 1
    human_kappa: float = math.nan

    def sentence(self) -> str:
        """Return the result in words."""
        if self.passed is None:
            return f"not certified: {self.reason}"
        bounds = f"sensitivity at least {self.sensitivity_low:.1%}, specificity at least {self.specificity_low:.1%} (95% bounds)"
        return f"passed: {bounds}" if self.passed else f"failed: {self.reason}; {bounds}"


def certify(
    verdicts: ArrayLike,
    truth: ArrayLike,
    questions: ArrayLike,
    *,
    scores: ArrayLike | None = None,
    votes: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    min_sensitivity: float = MIN_SENSITIVITY,
    min_specificity: float = MIN_SPECIFICITY,
    attack_rate: float = math.nan,
) -> Certificate:
    """Test a judge on labelled answers.

    Args:
        verdicts: of the judge, 1 correct, 0 incorrect, -1 invalid, shape (n,).
        truth: labels, 0 or 1, or NaN where the annotators are divided; such rows only count for `votes`, shape (n,).
        questions: question of each answer, shape (n,).
        scores: of the judge, NaN where there is none, shape (n,).
        votes: labels of each annotator, 0, 1 or NaN, shape (n, annotators).
        weights: 1 / inclusion probability of each answer, shape (n,).
        attack_rate: share of attack answers that the judge calls correct.

    Raises:
        InputError: no answers, one class only, or so few that a flawless judge would fail.
    """
    decided = ~np.isnan(np.asarray(truth, float))
    label = np.asarray(truth, float)[decided].astype(int)
    verdict, question = np.asarray(verdicts, int)[decided], np.asarray(questions)[decided]
    weight = np.ones(len(label)) if weights is None else np.asarray(weights, float)[decided]
    for name, value, minimum in (("correct", CORRECT, min_sensitivity), ("incorrect", INCORRECT, min_specificity)):
        _check_size(name, len(np.unique(question[label == value])), minimum)
    hits, correct = verdict == label, label == CORRECT
    sensitivity, specificity = (proportion_lower_bound(hits[rows], question[rows], weight[rows]) for rows in (correct, ~correct))
    bounds = {"sensitivity": (sensitivity[1], min_sensitivity), "specificity": (specificity[1], min_specificity)}
    problems = [
        f"the lower bound of the {name} is {bound:.3f}, below {minimum:g}"
        for name, (bound, minimum) in bounds.items()
        if bound < minimum
    ]
    bootstrap = QuestionBootstrap.over(question)
    agreement = proportion(hits, question)
    kappa = percentile_interval(classification_resamples(bootstrap, label, verdict)["kappa"])
    score = np.full(len(label), np.nan) if scores is None else np.asarray(scores, float)[decided]
    scored = ~np.isnan(score)
    return Certificate(
        passed=not problems,
        reason="; ".join(problems),
        n=len(label),
        questions=len(np.unique(question)),
        correct=int(correct.sum()),
        sensitivity=sensitivity[0],
        sensitivity_low=sensitivity[1],
        min_sensitivity=min_sensitivity,
        specificity=specificity[0],
        specificity_low=specificity[1],
        min_specificity=min_specificity,
        agreement=agreement.value,
        agreement_low=agreement.low,
        agreement_high=agreement.high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
        ece=metrics.expected_calibration_error(correct[scored], score[scored]),
        attack_rate=attack_rate,
        **({} if votes is None else _annotator_agreement(np.asarray(votes, float))),
    )


def _check_size(name: str, questions: int, minimum: float) -> None:
    if not questions:
        raise InputError(f"no answer is labelled {name}; a certificate needs both classes")
    # A flawless judge on n questions has the lower bound 0.05 ** (1 / n).
    needed = math.ceil(math.log(1 - CONFIDENCE) / math.log(minimum))
    if questions < needed:
        raise InputError(
            f"answers to {questions} questions are labelled {name}, and even a flawless judge needs {needed} to reach {minimum:g}; "
            "label answers to more questions"
        )


def _annotator_agreement(votes: NDArray[np.float64]) -> dict[str, Any]:
    """Return the number of annotators and the mean kappa of every two, on the answers that both labelled."""
    people, labelled = votes.shape[1], ~np.isnan(votes)
    shared = [
        (votes[both, a], votes[both, b])
        for a, b in combinations(range(people), 2)
        if (both := labelled[:, a] & labelled[:, b]).any()
    ]
    kappas = [kappa for pair in shared if not math.isnan(kappa := metrics.cohen_kappa(*pair))]
    return {"annotators": people, "human_kappa": float(np.mean(kappas)) if kappas else math.nan}


def read_attack_rates(path: Path) -> dict[str, float]:
    """Return judge → share of attack answers that it calls correct, from a table `attack_rates`."""
    rates = tables.read(path, tables.ATTACK_RATES)
    rates = rates[(rates["kind"] == "attack") & (rates["level"] == "kind")]
    return {str(judge): float(rate) for judge, rate in zip(rates["judge"], rates["error_rate"], strict=True)}


def certificate_table(
    answers: pd.DataFrame,
    votes: pd.DataFrame | None,
    spec: Mapping[str, Any],
    attack_rates: Mapping[str, float],
    num_seen: Mapping[str, int],
) -> pd.DataFrame:
    """Certify each judge with the labels of an audit, in the schema `tables.CERTIFICATE`.

    Args:
        answers: from `sampling.order_answers`, with `LABEL`.
        votes: from `labels.attach_labels`; None if nobody labelled.
        attack_rates: from `read_attack_rates`.
        num_seen: judge → number of the answers that it was trained on, with which it is not tested.
    """
    labelled = (answers[LABEL] >= 0).to_numpy()
    # The probabilities make the labels of a model stand for all of its answers.
    probabilities = inclusion_probabilities(answers[MODEL].astype(str), answers[RATE], labelled)
    in_sample = (answers[LABEL] != UNLABELLED).to_numpy()
    sample, weights = answers[in_sample], 1 / probabilities[in_sample]
    minima = {name: spec[name] for name in ("min_sensitivity", "min_specificity")}
    rows = [
        {
            "judge": judge,
            **_certify_judge(
                judge,
                sample=sample,
                weights=weights,
                votes=votes,
                minima=minima,
                attack_rate=attack_rates.get(judge, math.nan),
                num_seen=num_seen.get(judge, 0),
            ),
        }
        for judge in spec["judges"]
    ]
    return pd.DataFrame(rows, columns=tables.CERTIFICATE.names).astype({"passed": "boolean"})


def _certify_judge(
    judge: str,
    *,
    sample: pd.DataFrame,
    weights: NDArray[np.float64],
    votes: pd.DataFrame | None,
    minima: Mapping[str, float],
    attack_rate: float,
    num_seen: int,
) -> dict[str, Any]:
    verdict, truth = sample[f"{judge}_verdict"].astype(str).map(VERDICT_CODES), sample[LABEL]
    questions = sample["sample_id"].astype(str)
    opinions = None if votes is None else votes.reindex(sample.index).to_numpy(float)
    settings = {**minima, "attack_rate": attack_rate}
    try:
        if num_seen:
            raise InputError(f"{num_seen:,} of the answers were used to train or calibrate it")
        return asdict(certify(verdict, truth, questions, scores=sample[judge], votes=opinions, weights=weights, **settings))
    except InputError as error:
        counts = {"n": int(truth.notna().sum()), "questions": questions.nunique(), "correct": int((truth == 1).sum())}
        people = 1 if votes is None else votes.shape[1]
        return {"passed": None, "reason": str(error), **counts, **settings, "annotators": people}


# --- a file of labelled answers ---

log = logging.getLogger(__name__)


def certify_file(
    file: Path,
    records: Iterable[LocatedRecord],
    reader: RecordReader,
    labels: Sequence[str],
    judge: NamedJudge,
    *,
    min_sensitivity: float,
    min_specificity: float,
    attack_rate: float = math.nan,
) -> Certificate:
    """Certify a judge on the rows of a file that have a label; see `certify`.

    Args:
        file: that the records are of, for messages.
        labels: columns with labels, one per annotator; the majority decides.

    Raises:
        InputError: no labels, one class only, too few rows, or rows that the judge has seen.
    """
    rows, votes, undecided = [], [], 0
    for position, record in records:
        row = parse_record(reader, record).input
        where = f"{file}: {position}: column"
        cells = [values.parse_cell(f"{where} {name!r}", values.parse_label, record.get(name)) for name in labels]
        undecided += cells.count(0.5)
        cells = list(map(values.round_label, cells))
        if row is not None and any(value is not None for value in cells):
            rows.append(row)
            votes.append([math.nan if value is None else value for value in cells])
    if undecided:
        log.warning("%s: %d labels are 0.5, neither correct nor incorrect, and are left out", file, undecided)
    if not rows:
        raise InputError(f"{file}: no row has a label in {', '.join(map(repr, labels))}; label some answers")
    opinions = pd.DataFrame(votes)
    truth = majority(opinions)
    texts = [(row.question, row.candidate) if isinstance(row, Row) else ("", "") for row in rows]
    _check_unseen(file, judge.folder, texts)
    judged = judge_rows(judge, rows)
    verdicts = [INVALID if label is None else VERDICT_CODES[label.verdict] for label in judged]
    scores = [math.nan if label is None or label.score is None else label.score for label in judged]
    try:
        return certify(
            verdicts,
            truth,
            # Rows without a question are questions of their own.
            np.array([question or f"row {number}" for number, (question, _) in enumerate(texts)]),
            scores=scores,
            votes=opinions,
            min_sensitivity=min_sensitivity,
            min_specificity=min_specificity,
            attack_rate=attack_rate,
        )
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _check_unseen(path: Path, folder: Path | None, texts: Sequence[tuple[str, str]]) -> None:
    """Refuse rows that a judge was trained, validated or calibrated on, and warn if it keeps no record of them."""
    if folder is None:
        return
    hashes = read_seen_rows(folder)
    if hashes is None:
        log.warning("%s: no record of its training rows; make sure that it has seen none of these answers", folder)
        return
    if leaked := int(np.isin(hash_rows(*zip(*texts, strict=True)), hashes).sum()):
        raise InputError(
            f"{path}: {leaked:,} of {len(texts):,} labelled answers were used to train or calibrate {folder}; "
            "certify it with answers that it has not seen"
        )
