"""The BERT judge: an encoder and gradient-boosted trees on lexical features that score candidates against references."""

from __future__ import annotations

import copy
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bert_judge.assets.prepare import GENERAL
from bert_judge.config import Input, Training
from bert_judge.encoder import checkpoint as checkpoints
from bert_judge.encoder.checkpoint import LogitBounds, StackerWeights
from bert_judge.encoder.encoding import closest_references
from bert_judge.encoder.inference import EncoderOutput, Engine
from bert_judge.encoder.judge_folder import CHECKSUMS, TREES_FILE, find_folder, resolve_checkpoint, write_checksums
from bert_judge.judges.bert import BertJudgeConfig, stacker
from bert_judge.judges.bert.certainty import ANY_KIND, fit_own_certain_scores
from bert_judge.judges.bert.text_steps import (
    ALL,
    LENIENT,
    POLICIES,
    REFERENCE_MODES,
    STRICT,
    Prediction,
    PreparedRows,
    Texts,
    TextSteps,
    normalize,
    shift_score,
)
from bert_judge.judges.bert.trees import Trees
from bert_judge.judges.protocol import BACKEND, Label, Row
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import ProgressLogger
from bert_judge.runtime.workers import Workers, possible_processes
from bert_judge.statistics.logistic import expit, logit
from bert_judge.statistics.metrics import classification_metrics
from bert_judge.text import TEXT_VERSION
from bert_judge.text.answer_text import check_inputs
from bert_judge.text.languages import unfamiliar_text

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
References = Sequence[str | Sequence[str]]
# Rows that a process prepares in one go; the encoder reads several such batches together, sorted by length.
ROWS_PER_BATCH, BATCHES_PER_ENCODER_CALL = 128, 8
# A process takes half a second to start and 0.1 GB, so short tables are prepared in this process.
SINGLE_PROCESS_ROWS, MIN_PARALLEL_ROWS = 4_096, 256
MAX_PROCESSES = 16
SECONDS_BETWEEN_LOG_LINES = 30
# Weight of the stacker that training starts from, in validation rows.
PRIOR_ROWS = 100


class CalibrationRows(NamedTuple):
    """Labelled rows for `BERTJudge.calibrate` that no metric is computed on: labels in [0, 1], weights of 1 if empty; all of length
    n."""

    questions: Sequence[str] = ()
    references: Sequence[Sequence[str]] = ()
    candidates: Sequence[str] = ()
    labels: Sequence[float] = ()
    weights: Sequence[float] = ()


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
        references: str = ALL,
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
        self._rows_seen = 0
        self._last_steps: TextSteps | None = None
        self._workers: Workers | None = None
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

    @cached_property
    def processes(self) -> int:
        """Worker processes for the texts of long tables; 1: none."""
        return min(hardware.num_threads(), MAX_PROCESSES)

    def __getstate__(self) -> dict[str, Any]:
        # A copy starts its own processes.
        return {**vars(self), "_workers": None}

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
        columns = list(questions), check_inputs(questions, references, candidates), list(candidates)
        batches = [tuple(column[rows] for column in columns) for rows in _slices(len(candidates))]
        workers = self._start_workers(len(candidates))
        predictions = list(self._predict(self._map(workers, "prepare", batches), len(candidates)))
        return Prediction(
            *(np.concatenate([getattr(prediction, name) for prediction in predictions]) for name in vars(predictions[0]))
        )

    def _predict(self, batches: Iterator[PreparedRows], rows: int) -> Iterator[Prediction]:
        """Let the encoder read prepared rows, several batches at a time."""
        steps, progress, done = self.text_steps, ProgressLogger("rows", seconds=SECONDS_BETWEEN_LOG_LINES), 0
        while group := list(itertools.islice(batches, BATCHES_PER_ENCODER_CALL)):
            yield from map(steps.predict, group, self._run_encoder(steps, group))
            done += sum(len(batch.decisions) for batch in group)
            progress.update(done, fraction=done / max(rows, 1))

    def _run_encoder(self, steps: TextSteps, batches: Sequence[PreparedRows]) -> Iterator[EncoderOutput]:
        """Yield the encoder's output for each batch; logits near the threshold are computed again in float32."""
        answers = [answer for batch in batches for answer in batch.encoded]
        output = self.engine.score(answers)
        if answers:
            # Rounding must not flip a verdict.
            offsets = np.concatenate([batch.offsets[batch.encoder_rows] for batch in batches])
            logits, error = output.logits, self.engine.logit_error
            near_threshold = steps.undecided(logits - error, logits + error, offsets)
            log.debug("%d of %d rows are scored again in float32", len(near_threshold), len(logits))
            logits[near_threshold] = self.engine.score([answers[row] for row in near_threshold], exact=True).logits
        ends = itertools.accumulate(len(batch.encoded) for batch in batches)
        for batch, end in zip(batches, ends, strict=True):
            rows = slice(end - len(batch.encoded), end)
            yield EncoderOutput(*(values[rows] for values in vars(output).values()))

    def _start_workers(self, rows: int) -> Workers | None:
        """Return worker processes for a call of so many rows, if it is part of a long table."""
        self._rows_seen += rows
        if rows < MIN_PARALLEL_ROWS or self._rows_seen <= SINGLE_PROCESS_ROWS or possible_processes(self.processes) == 1:
            return None
        if self._workers is None or not self._workers.is_usable or self._workers.target is not self.text_steps:
            self._workers = Workers(self.text_steps, self.processes)
        return self._workers

    def _map(self, workers: Workers | None, method: str, items: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Call a method of the text steps with the values of each item, ahead in the workers, if any; yield the results."""
        if workers is None:
            return itertools.starmap(getattr(self.text_steps, method), items)
        # What the encoder reads next, and a batch that each process works on.
        return workers.map(method, items, ahead=BATCHES_PER_ENCODER_CALL + workers.processes)

    @property
    def text_steps(self) -> TextSteps:
        """The steps beside the encoder with the current settings; the same object until a setting changes."""
        checkpoint = self.checkpoint
        settings = self.threshold, self.calibrated, self.references, self.early_exit, self.policy
        steps = TextSteps(checkpoint.metadata, checkpoint.encoder, self.trees, *settings)
        if steps != self._last_steps:
            self._last_steps = steps
        return self._last_steps

    def logits(self, questions: Sequence[str], references: References, candidates: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits of the encoder and of the trees for all rows, without early exit, each of shape (n,)."""
        texts = normalize(questions, references, candidates)
        return self._encoder_logits(texts), self._map_texts("predict_trees", texts)

    def _map_texts(self, method: str, texts: Texts) -> np.ndarray:
        """Return the results of a method of the text steps, shape (n, …)."""
        batches = [(texts.select(rows),) for rows in _slices(len(texts.candidates))]
        return np.concatenate(list(self._map(self._start_workers(len(texts.candidates)), method, batches)))

    def _encoder_logits(self, texts: Texts, *, exact: bool = False) -> np.ndarray:
        return self.engine.score(self.checkpoint.encoder.encode_answers(*texts), exact=exact).logits

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
        return np.column_stack([shift_score(scores, -exact.text_steps.policy_offset), scores])

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
        return [label for labels in self.judge_shards([rows]) for label in labels]

    def judge_shards(self, shards: Sequence[Sequence[Row]]) -> Iterator[list[Label]]:
        """Yield the labels of each of several lists of rows; in a long table, the texts of the next are prepared ahead."""
        self.check_trained()
        workers = self._start_workers(sum(map(len, shards)))
        for group in [shards] if workers else [[shard] for shard in shards]:
            batches = [(shard[rows],) for shard in group for rows in _slices(len(shard))]
            predictions = self._predict(self._map(workers, "prepare_rows", batches), sum(map(len, group)))
            items = ((*batch, prediction) for batch, prediction in zip(batches, predictions, strict=True))
            labels = self._map(workers, "label", items)
            for shard in group:
                yield [label for _ in _slices(len(shard)) for label in next(labels)]

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
        texts = normalize(questions, references, candidates)
        closest = closest_references(texts.references, texts.candidates)
        rows = self.checkpoint.encoder.encode(questions, texts.candidates, closest)
        examples = trainer.Examples(rows, labels, weights if weights is not None else [1.0] * len(rows))
        statistics = trainer.fit(self.checkpoint, examples, training, work_folder)
        if training.round_weights:
            round_weights(self.checkpoint.model)
        start, self.trees = self.trees, None
        if features:
            table = self._map_texts("features", texts)
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
        texts = normalize(questions, references, candidates)
        logits = self._encoder_logits(texts, exact=True)
        encoder_metrics = classification_metrics(labels, expit(logits))
        temperature = stacker.fit_temperature(logits, labels)
        components = {
            "accuracy_encoder": encoder_metrics["accuracy"],
            "ece_uncalibrated": encoder_metrics["ece"],
            "temperature": temperature,
        }
        tree_logits = None if self.trees is None else self._map_texts("predict_trees", texts)
        weights, bounds = None, None
        if tree_logits is not None:
            weights, bounds = self._fit_stacker(logits, tree_logits, labels, weak, synthetic)
        self.checkpoint.update(temperature=temperature, stacker=weights, logit_bounds=bounds, partial_offset=None)
        steps = self.text_steps
        offsets = steps.logit_offsets(tree_logits)
        if tree_logits is not None:
            components["accuracy_features"] = classification_metrics(labels, expit(tree_logits))["accuracy"]
            components["share_read"] = len(steps.rows_for_encoder(tree_logits, offsets)[0]) / len(logits)
        combined = steps.combine(logits, offsets)
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
        texts = normalize(questions, references, candidates)
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
            texts = normalize(*rows[:3])
            all_logits.append(self._encoder_logits(texts, exact=True))
            all_tree_logits.append(self._map_texts("predict_trees", texts))
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


def _slices(rows: int) -> list[slice]:
    """Return the positions of each batch of rows; at least one."""
    return [slice(start, start + ROWS_PER_BATCH) for start in range(0, max(rows, 1), ROWS_PER_BATCH)]
