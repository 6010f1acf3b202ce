"""The BERT judge: an encoder and gradient-boosted trees on lexical features that score candidates against references."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from bert_judge.assets.prepare import GENERAL
from bert_judge.config import Input, Training
from bert_judge.encoder import checkpoint as checkpoints
from bert_judge.encoder.checkpoint import LogitBounds, StackerWeights
from bert_judge.encoder.encoding import closest_references
from bert_judge.encoder.inference import EncoderOutput, Engine
from bert_judge.encoder.judge_folder import CHECKSUMS, TREES_FILE, find_folder, resolve_checkpoint, write_checksums
from bert_judge.encoder.unread_words import TextReader
from bert_judge.judges.bert import BertJudgeConfig, stacker, unread
from bert_judge.judges.bert.certainty import ANY_KIND, fit_own_certain_scores, is_certain, is_doubtful
from bert_judge.judges.bert.trees import Trees
from bert_judge.judges.protocol import BACKEND, Label, Row, decided, empty_answer, unfinished
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.logistic import expit, logit
from bert_judge.statistics.metrics import classification_metrics
from bert_judge.text import TEXT_VERSION
from bert_judge.text.answer_kinds import answer_kind
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.evidence import describe_words
from bert_judge.text.features import FeatureExtractor, is_truncated
from bert_judge.text.languages import UNFAMILIAR_FLAGS, UNREAD, unfamiliar_row, unfamiliar_text
from bert_judge.text.rules import Decision, decide
from bert_judge.text.visible_text import is_blank_answer, normalize_text

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
REFERENCE_MODES, POLICIES = (get_args(BertJudgeConfig.model_fields[name].annotation) for name in ("references", "policy"))
STRICT, LENIENT = POLICIES
References = Sequence[str | Sequence[str]]
# Weight of the stacker that training starts from, in validation rows.
PRIOR_ROWS = 100
# Score of an answer that a rule module accepts, and one minus that of an answer that it rejects: their measured error is below 1%.
RULE_SCORE = 0.99
# What decides where no rule module does: the encoder together with the trees, or the trees alone (early exit).
ENCODER, FEATURES = "encoder", "features"
# The same for a reader of the verdict; what follows are words to check it by.
COMPARED_BY = {ENCODER: "by meaning", FEATURES: "by words"}
# Nothing decides where the comparison of a rule module reached a limit.
UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Prediction:
    """Scores of n rows; every array has shape (n,).

    Attributes:
        scores: of the judge, in [0, 1]; NaN where a rule module did not finish.
        raw_scores: sigmoid of the encoder's logit, in [0, 1]; NaN where the encoder was skipped.
        truncated: text was cut, for the encoder or, where it was skipped, for the features.
        tokens: encoder tokens over all references; 0 where the encoder was skipped.
        decided_by: `ENCODER`, `FEATURES` where the encoder was skipped, the module of rules or of `unread` that decided, or
            `UNFINISHED`.
        reasons: of the rule module that decided or gave the same verdict, such as "number: 1,000 = 1000"; None where none did.
    """

    scores: np.ndarray
    raw_scores: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray
    decided_by: np.ndarray
    reasons: np.ndarray


class CalibrationRows(NamedTuple):
    """Labelled rows for `BERTJudge.calibrate` that no metric is computed on: labels in [0, 1], weights of 1 if empty; all of length
    n."""

    questions: Sequence[str] = ()
    references: Sequence[Sequence[str]] = ()
    candidates: Sequence[str] = ()
    labels: Sequence[float] = ()
    weights: Sequence[float] = ()


class _Texts(NamedTuple):
    """Texts of n rows, normalised."""

    questions: Sequence[str]
    references: list[list[str]]
    candidates: list[str]

    def select(self, rows: np.ndarray) -> _Texts:
        """Select rows by position, also from columns of a data frame, whose index is not the position."""
        return _Texts(*([values[i] for i in rows.tolist()] for values in map(list, self)))


def _normalize(questions: Sequence[str], references: References, candidates: Sequence[str]) -> _Texts:
    return _Texts(questions, *normalize_inputs(questions, references, candidates))


class BERTJudge:
    """Scores candidates against references with an encoder.

        judge = BERTJudge()
        judge.predict(["Capital of France?"], [["Paris"]], ["It is Paris."])   # [0.99…]

    Args:
        model_path: `general` (the judge in this package), the folder of a judge, a published checkpoint (folder or hub id), or a
            backbone to `fit`.
        threshold: lowest score of a correct answer.
        calibrated: combine the encoder with the lexical features and calibrate the sum; False: the encoder's raw sigmoid.
        input: input format for a backbone; a judge has its own.
        batch_tokens: tokens per batch, padding included; by default chosen for the device.
        backend: `torch` or `openvino`; `auto` takes the faster one that is installed.
        precision: `float32`, `bfloat16` or `int8`; `auto` takes the fastest one of the backend and the hardware.
        name, revision: of the judge in the provenance of its labels.
        references: the encoder reads `all` of several references and the highest score counts, or only the `closest` one.
        early_exit: skip the encoder where it cannot change the verdict; needs a judge with trees.
        policy: `strict` or `lenient`: scores are the probability of a fully, or of an at least partly correct answer.
        dtype: `float32` or `bfloat16`, as in the published package; the same as `precision`.
        trust_remote_code, device_map: accepted, as in the published package, and ignored: no code of a checkpoint runs, and the
            device is chosen automatically.

    Raises:
        InputError: the folder holds no such judge, or an argument has an unknown value.
    """

    def __init__(
        self,
        model_path: str | Path = GENERAL,
        threshold: float = 0.5,
        calibrated: bool = True,
        input: Input | None = None,
        batch_tokens: int | None = None,
        backend: str = "auto",
        precision: str = "auto",
        name: str = "bert",
        revision: str = "local",
        references: str = "all",
        early_exit: bool = True,
        dtype: str | torch.dtype | None = None,
        trust_remote_code: bool = False,
        device_map: str | None = None,
        policy: str = STRICT,
    ) -> None:
        for key, value, allowed in (("references", references, REFERENCE_MODES), ("policy", policy, POLICIES)):
            if value not in allowed:
                raise InputError(f"{key}: unknown value {value!r}; choose one of {', '.join(allowed)}")
        if trust_remote_code or device_map:
            log.info("trust_remote_code and device_map are ignored: no code of a checkpoint runs, and the device is chosen here")
        path = find_folder(model_path)
        self.checkpoint = checkpoints.load(path, input)
        if self.checkpoint.metadata.pairwise:
            raise InputError(f"{path}: a pairwise judge; load it with bert_judge.judges.pairwise.encoder.PairEncoderJudge")
        if self.checkpoint.metadata.simulated and revision == "local":
            log.warning("%s: trained on simulated answers; do not use it on answers of real models", path)
        self.threshold = threshold
        self.calibrated = calibrated
        self.references = references
        self.early_exit = early_exit
        self.policy = policy
        self._revision = {name: revision}
        self.path = path
        self.trees = stacker.load_trees(self.path) if self.checkpoint.metadata.stacker else None
        # Stacker of a judge that is trained further.
        self._prior: StackerWeights | None = None
        self.feature_extractor = FeatureExtractor()
        precision = str(dtype).removeprefix("torch.") if dtype is not None else precision
        self.engine = Engine(self.checkpoint, backend, precision, batch_tokens)
        choice = self.engine.choice
        log.info("%s: %s on %s, %s: %s", path, choice.backend, self.engine.device, choice.precision, choice.reason)

    @property
    def revisions(self) -> dict[str, str]:
        """See `judges.protocol.Judge`. Backend and precision round scores differently, so they belong to the provenance."""
        choice = self.engine.choice
        engine = f"{choice.backend}, {self.engine.device}, {choice.precision}"
        return {**self._revision, **{f"{name}{BACKEND}": engine for name in self._revision}}

    @classmethod
    def from_run(cls, checkpoint: str | Path, settings: Mapping[str, Any], name: str) -> BERTJudge:
        """Load the judge of a workflow run from its checkpoint, see `resolve_checkpoint`, with the settings of its block."""
        folder, revision = resolve_checkpoint(checkpoint)
        options = {key: settings[key] for key in BertJudgeConfig.inference_keys & settings.keys()}
        return cls(folder, **options, name=name, revision=revision)

    def predict(
        self, questions: Sequence[str], references: References, candidates: Sequence[str], batch_size: int | None = None
    ) -> list[float]:
        """Return the score of each candidate, in [0, 1]; NaN if a comparison of formulas reached a limit.

        Args:
            questions, candidates: one text per row; a question and a candidate that are texts are the only row.
            references: per row one correct answer, or several of which the best match counts.
            batch_size: accepted, as in the published package, and ignored: batches are filled by tokens (`batch_tokens`).

        Raises:
            InputError: the lists differ in length, a row has no reference, or the judge was never trained.
        """
        return self.explain(questions, references, candidates).scores.tolist()

    def explain(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> Prediction:
        """Like `predict`, with raw scores, truncation, token counts and the reasons of rule modules."""
        self.check_trained()
        if isinstance(questions, str) and isinstance(candidates, str):
            texts_of_row = [references] if isinstance(references, str) else [text for text in references if isinstance(text, str)]
            questions, references, candidates = [questions], [texts_of_row], [candidates]
        texts = _normalize(questions, references, candidates)
        decisions = self._ask_rules(texts)
        references, decisions = unread.decide_unread(
            self._reader,
            texts.references,
            texts.candidates,
            [(decision, self._decides(decision)) for decision in decisions],
            checks_long_words=self._uses_trees,
        )
        texts = texts._replace(references=references)
        decides = np.array([self._decides(decision) for decision in decisions], bool)
        rows = np.flatnonzero(~decides)
        rule_logits = self.checkpoint.metadata.rule_logit * np.array([_sign(decisions[row]) for row in rows])
        undecided = self._explain_undecided(texts.select(rows), rule_logits)
        n = len(decisions)
        prediction = Prediction(
            scores=np.zeros(n),
            raw_scores=np.full(n, np.nan),
            truncated=np.zeros(n, bool),
            tokens=np.zeros(n, int),
            decided_by=np.full(n, None, object),
            reasons=np.full(n, None, object),
        )
        for name, values in vars(undecided).items():
            getattr(prediction, name)[rows] = values
        for row, decision in enumerate(decisions):
            if decision and decision.correct is None:
                prediction.scores[row], prediction.decided_by[row] = np.nan, UNFINISHED
                prediction.reasons[row] = decision.reason
                continue
            if decision and decides[row]:
                prediction.scores[row] = _shift_score(RULE_SCORE if decision.correct else 1 - RULE_SCORE, self._policy_offset)
                prediction.decided_by[row] = decision.module
            has_weight = decides[row] or self.checkpoint.metadata.rule_logit > 0
            if decision and has_weight and decision.correct == (prediction.scores[row] >= self.threshold):
                prediction.reasons[row] = f"{decision.module}: {decision.reason}"
        return prediction

    def _ask_rules(self, texts: _Texts) -> list[Decision | None]:
        """Return per row the decision of a module that may decide and that no earlier one contradicts, else that of another."""
        allowed = self.checkpoint.metadata.rules if self.calibrated else {}
        if not allowed:
            return [None] * len(texts.candidates)
        decisions = []
        for row in zip(*texts, strict=True):
            decision = decide(*row)
            if decision and not self._may_decide(decision):
                permitted = decide(*row, allowed=allowed)
                # The earlier module reads more: an identifier may be a formula in another notation.
                decision = permitted if permitted and decision.correct in (permitted.correct, None) else decision
            decisions.append(decision)
        return decisions

    @cached_property
    def _reader(self) -> TextReader:
        return TextReader(self.checkpoint.encoder)

    @property
    def _uses_trees(self) -> bool:
        return self.calibrated and self.checkpoint.metadata.stacker is not None

    def _decides(self, decision: Decision | None) -> bool:
        return self._may_decide(decision) or _is_unfinished(decision)

    def _may_decide(self, decision: Decision | None) -> bool:
        if decision is None or decision.module in unread.MODULES:
            return decision is not None
        return decision.verdict in self.checkpoint.metadata.rules.get(decision.module, ())

    def _explain_undecided(self, texts: _Texts, rule_logits: np.ndarray) -> Prediction:
        tree_logits = self._predict_trees(texts) if self._uses_trees else None
        offsets = self._logit_offsets(tree_logits, rule_logits)
        rows, logits = self._rows_for_encoder(tree_logits, offsets)
        encoded = self._encode(rows, offsets[rows], texts)
        logits[rows] = encoded.logits
        scores = expit(self._combined_logits(logits, offsets))
        return _assemble_prediction(scores, rows, encoded, texts)

    def logits(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of the encoder and of the trees for all rows, without early exit, each of shape (n,)."""
        texts = _normalize(questions, references, candidates)
        return self.engine.score(*texts).logits, self._predict_trees(texts)

    def predict_proba(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> np.ndarray:
        """Return the probabilities of incorrect and correct, shape (n, 2), as scikit-learn's classifiers do."""
        scores = self.explain(questions, references, candidates).scores
        return np.column_stack([1 - scores, scores])

    def predict_grades(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> np.ndarray:
        """Return the probabilities of a fully and of an at least partly correct answer, shape (n, 2); the second is never lower.

        Raises:
            InputError: the judge was not fitted to partial credit.
        """
        exact = self._exact(LENIENT)
        scores = exact.explain(questions, references, candidates).scores
        return np.column_stack([_shift_score(scores, -exact._policy_offset), scores])

    def check_trained(self) -> None:
        """Raise an `InputError` for a backbone that was not trained to judge, and for a policy that the judge cannot apply."""
        if not self.checkpoint.trained:
            raise InputError(f"{self.path}: a backbone that was never trained to judge; call fit, or give a judge's folder")
        if self.policy == LENIENT and not self.calibrated:
            raise InputError(f"{self.path}: policy lenient needs calibrated scores; remove calibrated: false")
        if self.policy == LENIENT and self.checkpoint.metadata.partial_offset is None:
            raise InputError(
                f"{self.path}: this judge was not fitted to partial credit, so it has no policy lenient; use policy strict, or "
                f"recalibrate it with labels of which at least {stacker.MIN_PARTIAL_ROWS} are between 0 and 1"
            )

    def _exact(self, policy: str = STRICT) -> BERTJudge:
        """Return the judge with another policy, calibrated and without early exit."""
        exact = copy.copy(self)
        exact.policy, exact.early_exit, exact.calibrated = policy, False, True
        return exact

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. A blank candidate is incorrect; the encoder does not run on it."""
        blank = [is_blank_answer(normalize_text(row.candidate), row.references) for row in rows]
        answered = [row for row, is_blank in zip(rows, blank, strict=True) if not is_blank]
        prediction = self.explain(
            [row.question for row in answered], [row.references for row in answered], [row.candidate for row in answered]
        )
        columns = [column.tolist() for column in vars(prediction).values()]
        labels = iter([self._label(*values) for values in zip(answered, *columns, strict=True)])
        return [empty_answer() if is_blank else next(labels) for is_blank in blank]

    def _label(
        self, row: Row, score: float, raw_score: float, truncated: bool, tokens: int, decided_by: str, rule: str | None
    ) -> Label:
        if decided_by == UNFINISHED:
            return unfinished(rule or "")
        unfamiliar = unfamiliar_row(row.question, row.references, row.candidate, self.checkpoint.metadata.languages)
        # Computed here, and not for callers of `predict` and `explain`, which need no reason.
        reason = rule or f"{COMPARED_BY[decided_by]}: {describe_words(row.question, row.references, row.candidate)}"
        notes = [unfamiliar, UNREAD if decided_by == unread.EXACT else None]
        return decided(
            score,
            self.threshold,
            certain=self._is_certain(row, score, decided_by),
            truncated=truncated,
            prompt_tokens=tokens,
            raw=json.dumps({"raw_score": raw_score}) if tokens else None,
            reason="; ".join(filter(None, [reason, unfamiliar])),
            decided_by=decided_by,
            flags=tuple(UNFAMILIAR_FLAGS[note] for note in notes if note),
        )

    def _is_certain(self, row: Row, score: float, decided_by: str) -> bool | None:
        """See `Label.certain`; measured for calibrated scores of the policy `strict`, and for the rule modules that decide."""
        if not self.checkpoint.metadata.certain_scores or not self.calibrated or self.policy != STRICT:
            return None
        if decided_by not in (ENCODER, FEATURES):
            # Exact comparison cannot tell a paraphrase from a wrong answer.
            return decided_by not in unread.MODULES
        kind = answer_kind(row.question, row.references, row.candidate)
        is_correct = score >= self.threshold
        certain = is_certain(self.checkpoint.metadata.certain_scores, kind, score, is_correct=is_correct)
        return certain and not is_doubtful(kind, row.question, row.references, row.candidate, is_correct=is_correct)

    def fit(
        self,
        questions: Sequence[str],
        references: References,
        candidates: Sequence[str],
        labels: Sequence[float],
        weights: Sequence[float] | None = None,
        training: Training | None = None,
        features: bool = True,
        work_folder: str | Path = "results/.work/fit",
    ) -> dict[str, float]:
        """Train on labelled rows; a call that was killed resumes when it is repeated with the same `work_folder`.

        A trained judge is trained further: its trees are added to, and `calibrate` starts from its stacker.

        Args:
            labels: the teacher's scores in [0, 1].
            weights: of the rows in the loss; 1 by default.
            features: train trees on lexical features too; `calibrate` then fits their weight.
        """
        # The Trainer takes longer to import than a small table takes to judge.
        from bert_judge.encoder import trainer
        from bert_judge.encoder.torch_model import round_weights

        training = training or Training()
        texts = _normalize(questions, references, candidates)
        closest = closest_references(texts.references, texts.candidates)
        rows = self.checkpoint.encoder.encode(questions, texts.candidates, closest)
        examples = trainer.Examples(rows, labels, weights if weights is not None else [1.0] * len(rows))
        statistics = trainer.fit(self.checkpoint, examples, training, work_folder)
        if training.round_weights:
            round_weights(self.checkpoint.model)
        start, self.trees = self.trees, None
        if features:
            table = self._extract_features(texts)
            self.trees = stacker.fit_trees(table, examples.labels, examples.weights, training.seed, start)
        self.checkpoint.trained = True
        self.engine.stay_on_torch("a model that was trained in this process")
        metadata = self.checkpoint.metadata
        self._prior = metadata.stacker
        is_familiar = not any(unfamiliar_text(text, metadata.languages) for text in texts.candidates)
        languages = metadata.languages if is_familiar else []
        uncalibrated: dict[str, Any] = {
            "temperature": 1.0,
            "stacker": None,
            "logit_bounds": None,
            "partial_offset": None,
            "certain_scores": {},
        }
        self.checkpoint.update(**uncalibrated, languages=languages, version="", text_version=TEXT_VERSION)
        return statistics

    def calibrate(
        self,
        questions: Sequence[str],
        references: References,
        candidates: Sequence[str],
        labels: Sequence[float],
        weak: CalibrationRows | None = None,
        synthetic: CalibrationRows | None = None,
    ) -> tuple[dict[str, float], np.ndarray]:
        """Fit temperature, stacker, early exit and, if labels give partial credit, its offset on rows that were not trained on.

        Args:
            labels: in [0, 1].
            weak: rows labelled by a weaker teacher; they calibrate too.
            synthetic: augmented rows; they affect only the weights of encoder and trees, because their base rate is arbitrary.

        Returns:
            `classification_metrics` on the given rows, of which it also has accuracy_encoder, ece_uncalibrated, temperature and,
            for a judge with trees, accuracy_features and share_read (rows that need the encoder); and the calibrated scores without
            early exit, shape (n,).
        """
        texts = _normalize(questions, references, candidates)
        logits = self.engine.score(*texts, exact=True).logits
        encoder_metrics = classification_metrics(labels, expit(logits))
        temperature = stacker.fit_temperature(logits, labels)
        components = {
            "accuracy_encoder": encoder_metrics["accuracy"],
            "ece_uncalibrated": encoder_metrics["ece"],
            "temperature": temperature,
        }
        tree_logits = None if self.trees is None else self._predict_trees(texts)
        weights, bounds = None, None
        if tree_logits is not None:
            weights, bounds = self._fit_stacker(logits, tree_logits, labels, weak, synthetic)
        self.checkpoint.update(temperature=temperature, stacker=weights, logit_bounds=bounds, partial_offset=None)
        if tree_logits is not None:
            components["accuracy_features"] = classification_metrics(labels, expit(tree_logits))["accuracy"]
            components["share_read"] = len(self._rows_for_encoder(tree_logits, self._logit_offsets(tree_logits))[0]) / len(logits)
        combined = self._combined_logits(logits, self._logit_offsets(tree_logits))
        if (lenient_labels := stacker.find_lenient_labels(labels)) is not None:
            self.checkpoint.update(partial_offset=stacker.fit_partial_offset(combined, lenient_labels))
        scores = expit(combined)
        certain_scores = fit_own_certain_scores(zip(*texts, strict=True), scores, labels, texts.questions, self.threshold)
        self.checkpoint.update(certain_scores=certain_scores)
        return {**classification_metrics(labels, scores, self.threshold), **components}, scores

    def recalibrate(
        self, questions: Sequence[str], references: References, candidates: Sequence[str], labels: Sequence[float]
    ) -> dict[str, float]:
        """Refit slope and offset of a trained judge's logit to a few labelled rows; about 20 adapt it to another kind of answers.

        Encoder, trees and the order of the answers stay as they are.

        Args:
            labels: in [0, 1].

        Returns:
            slope, offset and number of questions; `classification_metrics` by cross-validation, on rows whose questions did not
            refit the judge; and accuracy_before and ece_before of the judge before.
        """
        prediction, rows, logits = self._calibrated_logits(questions, references, candidates)
        y = np.asarray(labels, float)[rows]
        slope, offset = stacker.fit_recalibration(logits, y)
        metadata = self.checkpoint.metadata
        partial_offset = None if metadata.partial_offset is None else slope * metadata.partial_offset
        if (lenient_labels := stacker.find_lenient_labels(y)) is not None:
            partial_offset = stacker.fit_partial_offset(slope * logits + offset, lenient_labels)
        if metadata.stacker is None:
            self.trees = Trees.empty()
        weights = metadata.stacker or StackerWeights(1 / metadata.temperature, 0.0, 0.0)
        scaled = {"rule_logit": slope * metadata.rule_logit, "partial_offset": partial_offset}
        self.checkpoint.update(stacker=weights.rescale(slope, offset), **scaled, version="", text_version=TEXT_VERSION)
        certain_scores = {kind: values.rescale(slope, offset) for kind, values in metadata.certain_scores.items()}
        before = classification_metrics(labels, prediction.scores, self.threshold)
        scores = prediction.scores.copy()
        distinct, codes = np.unique(np.asarray(questions, object), return_inverse=True)
        scores[rows] = stacker.cross_validate_recalibration(logits, y, codes[rows])
        texts = _normalize(questions, references, candidates)
        fitted = fit_own_certain_scores(zip(*texts, strict=True), scores, labels, texts.questions, self.threshold)
        self.checkpoint.update(certain_scores=fitted | certain_scores | {kind: fitted[kind] for kind in fitted if kind != ANY_KIND})
        return {
            **classification_metrics(labels, scores, self.threshold),
            **{"accuracy_before": before["accuracy"], "ece_before": before["ece"]},
            **{"questions": float(len(distinct)), "slope": slope, "offset": offset},
        }

    def fit_partial_offset(
        self,
        questions: Sequence[str],
        references: References,
        candidates: Sequence[str],
        lenient_labels: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> float:
        """Fit the offset of the policy `lenient` of a calibrated judge, see `stacker.fit_partial_offset`, and return it.

        Args:
            lenient_labels: 1 for an at least partly correct answer, else 0; of rows that the judge was not trained on.
            weights: of the rows; 1 by default.
        """
        _, rows, logits = self._calibrated_logits(questions, references, candidates)
        w = None if weights is None else np.asarray(weights, float)[rows]
        offset = stacker.fit_partial_offset(logits, np.asarray(lenient_labels, float)[rows], w)
        self.checkpoint.update(partial_offset=offset)
        return offset

    def _calibrated_logits(
        self, questions: Sequence[str], references: References, candidates: Sequence[str]
    ) -> tuple[Prediction, np.ndarray, np.ndarray]:
        """Return strict predictions without early exit, the positions of the rows that the encoder read, and their logits."""
        prediction = self._exact().explain(questions, references, candidates)
        # Blank answers have a constant score.
        rows = np.flatnonzero((prediction.tokens > 0) & (prediction.scores > 0) & (prediction.scores < 1))
        return prediction, rows, logit(prediction.scores[rows])

    def _fit_stacker(
        self,
        logits: np.ndarray,
        tree_logits: np.ndarray,
        labels: Sequence[float],
        weak: CalibrationRows | None,
        synthetic: CalibrationRows | None,
    ) -> tuple[StackerWeights, LogitBounds | None]:
        all_logits, all_tree_logits, all_labels, weights = [logits], [tree_logits], [*labels], [1.0] * len(labels)
        for rows in (weak, synthetic):
            if rows is None or not rows.labels:
                continue
            texts = _normalize(*rows[:3])
            all_logits.append(self.engine.score(*texts, exact=True).logits)
            all_tree_logits.append(self._predict_trees(texts))
            all_labels += rows.labels
            weights += rows.weights or [1.0] * len(rows.labels)
        num_real = len(labels) + (len(weak.labels) if weak else 0)
        encoder, trees = np.concatenate(all_logits), np.concatenate(all_tree_logits)
        bounds = stacker.fit_logit_bounds(encoder, trees)
        if self._prior is not None:
            # A few validation rows say less about the weights than the judge that training started from.
            n = len(labels)
            encoder, trees = (np.concatenate([values[:n], values]) for values in (encoder, trees))
            all_labels = [*expit(self._prior.combine(logits, tree_logits)).tolist(), *all_labels]
            weights = [*[PRIOR_ROWS / n] * n, *weights]
            num_real += n
        return stacker.fit_stacker(encoder, trees, all_labels, weights, num_real), bounds

    def save(self, folder: str | Path, int8: bool = False) -> None:
        """Write weights, trees, tokenizer and, last, judge.json; see `Checkpoint.save`. With `int8`, for a judge that is
        distributed, also `SHA256SUMS`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        trees = self.trees if self.checkpoint.metadata.stacker and self.trees else Trees.empty()
        trees.save(folder / TREES_FILE)
        # Those of an earlier save are not true any more.
        (folder / CHECKSUMS).unlink(missing_ok=True)
        self.checkpoint.save(folder, int8)
        if int8:
            write_checksums(folder)

    def _extract_features(self, texts: _Texts) -> np.ndarray:
        questions = texts.questions if self.checkpoint.metadata.input.question else [""] * len(texts.questions)
        return self.feature_extractor.extract(questions, texts.references, texts.candidates)

    def _predict_trees(self, texts: _Texts) -> np.ndarray:
        assert self.trees is not None
        if not self.trees.features:
            return np.zeros(len(texts.candidates))
        return stacker.predict_tree_logits(self.trees, self._extract_features(texts))

    def _rows_for_encoder(self, tree_logits: np.ndarray | None, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows that need the encoder, and the encoder's expected logit for all rows, shape (n,)."""
        n, bounds = len(offsets), self.checkpoint.metadata.logit_bounds
        if not self.early_exit or tree_logits is None or bounds is None:
            return np.arange(n), np.zeros(n)
        low, mean, high = bounds.interpolate(tree_logits)
        rows = self._undecided(low, high, offsets)
        log.debug("%d of %d rows need the encoder", len(rows), n)
        return rows, mean

    def _encode(self, rows: np.ndarray, offsets: np.ndarray, texts: _Texts) -> EncoderOutput:
        """Read rows of the texts; `offsets` are those of these rows."""
        texts = texts.select(rows)
        if self.references == "closest":
            closest = closest_references(texts.references, texts.candidates)
            texts = texts._replace(references=[[text] for text in closest])
        output = self.engine.score(*texts)
        if not len(rows):
            # The encoder is compiled for the first row that it has to read.
            return output
        # Rounding must not flip a verdict.
        logits, error = output.logits, self.engine.logit_error
        close = self._undecided(logits - error, logits + error, offsets)
        log.debug("%d of %d rows are scored again in float32", len(close), len(logits))
        logits[close] = self.engine.score(*texts.select(close), exact=True).logits
        return output

    def _undecided(self, low: np.ndarray, high: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the positions where encoder logits of `low` and of `high` give different verdicts."""
        below, above = (expit(self._combined_logits(logits, offsets)) >= self.threshold for logits in (low, high))
        return np.flatnonzero(below != above)

    def _logit_offsets(self, tree_logits: np.ndarray | None, rule_logits: ArrayLike = 0.0) -> np.ndarray:
        """Return what trees, bias and rule modules add to the weighted logits of the encoder, shape (n,)."""
        weights = self.checkpoint.metadata.stacker
        if weights is None or tree_logits is None:
            return np.asarray(rule_logits, float)
        return weights.combine(0.0, tree_logits) + rule_logits

    @property
    def _policy_offset(self) -> float:
        """What the policy adds to every calibrated logit."""
        return (self.checkpoint.metadata.partial_offset or 0.0) if self.policy == LENIENT else 0.0

    def _combined_logits(self, logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the calibrated logits of the policy from the encoder's, shape (n,); without calibration, the encoder's own."""
        metadata = self.checkpoint.metadata
        if not self.calibrated:
            return logits
        weight = 1 / metadata.temperature if metadata.stacker is None else metadata.stacker.encoder
        return weight * logits + offsets + self._policy_offset


def _shift_score(score: Any, offset: float) -> Any:
    """Add an offset to the logits of scores; 0 and 1 stay as they are."""
    return score if offset == 0 else expit(logit(score) + offset)


def _is_unfinished(decision: Decision | None) -> bool:
    return decision is not None and decision.correct is None


def _sign(decision: Decision | None) -> float:
    return 0.0 if decision is None else 1.0 if decision.correct else -1.0


def _assemble_prediction(scores: np.ndarray, rows: np.ndarray, encoded: EncoderOutput, texts: _Texts) -> Prediction:
    """Score blank candidates 0, and add the encoder's output for the rows that it read."""
    pairs = list(zip(texts.references, texts.candidates, strict=True))
    blank = [is_blank_answer(candidate, references) for references, candidate in pairs]
    raw_scores, tokens = np.full(len(scores), np.nan), np.zeros(len(scores), int)
    raw_scores[rows], tokens[rows] = expit(encoded.logits), encoded.tokens
    truncated = np.zeros(len(scores), bool)
    truncated[rows] = encoded.truncated
    for i in np.flatnonzero(tokens == 0).tolist():
        truncated[i] = is_truncated(*pairs[i])
    return Prediction(
        scores=np.where(blank, 0.0, scores),
        raw_scores=raw_scores,
        truncated=truncated,
        tokens=tokens,
        decided_by=np.where(tokens > 0, ENCODER, FEATURES).astype(object),
        reasons=np.full(len(scores), None, object),
    )
