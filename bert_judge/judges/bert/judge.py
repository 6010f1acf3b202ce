"""The trained encoder as a judge."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from bert_judge.config import Input, Training
from bert_judge.judges.bert import calibration
from bert_judge.judges.bert import checkpoint as checkpoints
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.bert.early_exit import learn_reach, reach
from bert_judge.judges.bert.engine import Engine
from bert_judge.judges.bert.feature_pool import FeaturePool
from bert_judge.judges.bert.features import is_cut
from bert_judge.judges.bert.judge_folder import JUDGE_FILE, resolve_checkpoint
from bert_judge.judges.bert.references import closest
from bert_judge.judges.bert.stacker import fit_stack, fit_trees, load_trees, save_trees, tree_logits
from bert_judge.judges.metric import AsMetric
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.judges.visible_text import is_blank_answer, normalize_inputs, normalize_text
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.metrics import classification_metrics

log = logging.getLogger(__name__)
# Which of several the encoder reads.
REFERENCES = get_args(BertJudgeConfig.model_fields["references"].annotation)
# The reason of a verdict that the encoder could not have turned.
EARLY_EXIT_REASON = "clear without the encoder"


@dataclass(frozen=True)
class Prediction:
    """What the encoder says of rows; every array has shape (n,).

    Attributes:
        scores: how right, by the whole judge, in [0, 1].
        raw: by the encoder alone, sigmoid of the difference of its logits, in [0, 1]; NaN where it did not read.
        truncated: something of the row was cut, for the encoder or, where it did not read, for the features.
        tokens: tokens read, over all references of the row; 0 where the encoder did not read.
    """

    scores: np.ndarray
    raw: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True)
class CalibrationRows:
    """Labelled rows beside those that a judge is measured on; all lists have length n.

    Attributes:
        questions, references, candidates: as in `BERTJudge.predict`.
        labels: in [0, 1].
        weights: how much each row counts; 1 when there are none.
    """

    questions: Sequence[str] = ()
    references: Sequence[Sequence[str]] = ()
    candidates: Sequence[str] = ()
    labels: Sequence[float] = ()
    weights: Sequence[float] = ()


class BERTJudge(AsMetric):
    """Scores candidates against references with an encoder.

        judge = BERTJudge("results/judges/judge")
        judge.predict(["Capital of France?"], [["Paris"]], ["It is Paris."])   # array([0.99…])

    Args:
        path: local folder of a judge, a published checkpoint, or a backbone that `fit` will train.
        threshold: lowest score that counts as correct.
        calibrated: scores of the whole judge: lexical features heard, calibrated on the validation rows. False: the encoder's raw
            sigmoid.
        input: format of the input for a backbone; a judge has its own.
        batch_tokens: tokens per batch, padding included; fitting the device when left out.
        backend: `torch`, `onnx` or `openvino`, the program that runs the encoder; `auto` takes the fastest one that is installed.
        precision: `float32`, `bfloat16` or `int8`; `auto` takes the fastest one of the back end and this hardware.
        work_folder: keeps a converted model for the next process; None: it is converted anew.
        name: of the judge in the provenance of its labels.
        revision: of the checkpoint in that provenance.
        references: of several ones the encoder reads `all`, and the best one wins, or the `closest` to the answer by its words.
        early_exit: where trees are heard and it is known how far the encoder reaches beside them, it reads only those rows whose
            verdict it could turn. False: it reads every row.

    Raises:
        InputError: the folder holds no such judge, or an argument names nothing that there is.
    """

    def __init__(
        self,
        path: str | Path,
        threshold: float = 0.5,
        calibrated: bool = True,
        input: Input | None = None,
        batch_tokens: int | None = None,
        backend: str = "auto",
        precision: str = "auto",
        work_folder: str | Path | None = None,
        name: str = "bert",
        revision: str = "local",
        references: str = "all",
        early_exit: bool = True,
    ) -> None:
        if references not in REFERENCES:
            raise InputError(f"references: {references!r} is none; choose one of {', '.join(REFERENCES)}")
        self.checkpoint = checkpoints.load(path, input)
        if self.checkpoint.metadata.pairwise:
            raise InputError(f"{path}: a judge of two answers; load it with bert_judge.judges.pairwise.encoder.PairEncoderJudge")
        self.threshold = threshold
        self.calibrated = calibrated
        self.references = references
        self.early_exit = early_exit
        self.revisions = {name: revision}
        self.path = Path(path)
        self.trees = load_trees(self.path) if self.checkpoint.metadata.stacker else None
        self.features = FeaturePool(cores=torch.get_num_threads())
        try:
            reach(self.checkpoint.metadata.logit_bounds)
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.path / JUDGE_FILE}: broken: {error}; train the judge anew") from error
        self.engine = Engine(self.checkpoint, backend, precision, batch_tokens, work_folder)
        choice = self.engine.choice
        log.info("%s: %s on %s, %s: %s", path, choice.backend, self.engine.device, choice.precision, choice.reason)

    @classmethod
    def from_run(
        cls, checkpoint: str | Path, settings: Mapping[str, Any], name: str, work_folder: str | Path | None = None
    ) -> BERTJudge:
        """The judge of a workflow run.

        Args:
            checkpoint: as for `judge_folder.resolve_checkpoint`.
            settings: threshold, calibrated, references, backend, precision and, where it is off, early_exit, as in the judge's
                configuration.
            name: of the judge in the configuration.
            work_folder: as above.
        """
        folder, revision = resolve_checkpoint(checkpoint)
        chosen = {key: settings[key] for key in ("threshold", "calibrated", "references", "backend", "precision")}
        chosen |= {key: settings[key] for key in ("early_exit",) if key in settings}
        return cls(folder, **chosen, work_folder=work_folder, name=name, revision=revision)

    def predict(self, questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
        """How right each candidate is: scores in [0, 1], shape (n,).

        Args:
            questions, candidates: one text per row.
            references: per row one right answer, or several of which the best one wins.

        Raises:
            InputError: the lists differ in length, a row has no reference, or the judge was never trained.
        """
        return self.explain(questions, references, candidates).scores

    def explain(self, questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]) -> Prediction:
        """Like `predict`, with raw scores, truncation and token counts."""
        self.check_trained()
        listed, candidates = normalize_inputs(questions, references, candidates)
        shown = listed if self.references == "all" else [[text] for text in _closest(candidates, listed)]
        trees = self._tree_logits(questions, listed, candidates) if self.calibrated and self.checkpoint.metadata.stacker else None
        logits, left = self._left_to_read(trees, len(candidates))
        # A column of a data frame is not told by place.
        asked = list(questions)
        rows = [asked[i] for i in left], [shown[i] for i in left], [candidates[i] for i in left]
        read = self.engine.score(*rows)
        beside = None if trees is None else trees[left]
        logits[left] = self._made_sure(read.logits, beside, *rows) if self.engine.error else read.logits
        empty = np.array([is_blank_answer(*row) for row in zip(candidates, listed, strict=True)], dtype=bool)
        scores = np.where(empty, 0.0, self._scores(logits, trees))
        raw, tokens = np.full(len(logits), np.nan), np.zeros(len(logits), int)
        raw[left], tokens[left] = calibration.scores(logits[left]), read.tokens
        truncated = np.zeros(len(logits), bool)
        truncated[left] = read.truncated
        for i in np.flatnonzero(tokens == 0):
            truncated[i] = is_cut(listed[i], candidates[i])
        return Prediction(scores, raw, truncated, tokens)

    def check_trained(self) -> None:
        """Raise an `InputError` for a backbone that has not learnt to judge."""
        if not self.checkpoint.trained:
            raise InputError(f"{self.path}: a backbone that was never trained to judge; call fit, or give a judge's folder")

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. A candidate in which nobody sees an answer is incorrect without a look by the encoder."""
        empty = [is_blank_answer(normalize_text(row.candidate), row.references) for row in rows]
        shown = [row for row, nothing in zip(rows, empty, strict=True) if not nothing]
        found = self.explain([r.question for r in shown], [r.references for r in shown], [r.candidate for r in shown])
        columns = zip(found.scores.tolist(), found.raw.tolist(), found.truncated.tolist(), found.tokens.tolist(), strict=True)
        labels = iter([self._label(*row) for row in columns])
        return [decided(0.0, reason="empty answer") if nothing else next(labels) for nothing in empty]

    def _label(self, score: float, raw: float, truncated: bool, tokens: int) -> Label:
        said = {"raw": json.dumps({"raw_score": raw})} if tokens else {"reason": EARLY_EXIT_REASON}
        return decided(score, self.threshold, truncated=truncated, prompt_tokens=tokens, **said)

    def fit(
        self,
        questions: Sequence[str],
        references: Sequence[str | Sequence[str]],
        candidates: Sequence[str],
        labels: Sequence[float],
        weights: Sequence[float] | None = None,
        training: Training | None = None,
        features: bool = True,
        work_folder: str | Path = "results/.work/fit",
    ) -> dict[str, float]:
        """Train on labelled rows; a call that was killed goes on when it is repeated with the same `work_folder`.

        Args:
            labels: the teacher's scores in [0, 1].
            weights: of the rows in the loss; 1 when left out.
            features: train trees on lexical features too; `calibrate` then weighs them against the encoder.

        Returns:
            Figures of the training run.
        """
        # Only here: the Trainer takes longer to import than a small table takes to judge.
        from bert_judge.judges.bert import trainer

        training = training or Training()
        listed, candidates = normalize_inputs(questions, references, candidates)
        rows = self.checkpoint.encoder.encode(questions, candidates, _closest(candidates, listed))
        examples = trainer.Examples(rows, labels, weights if weights is not None else [1.0] * len(rows))
        figures = trainer.fit(self.checkpoint, examples, training, work_folder)
        if features:
            table = self._features(questions, listed, candidates)
            self.trees = fit_trees(table, examples.labels, examples.weights, training.seed)
        self.checkpoint.trained = True
        self.engine.stay_on_torch("a model that was trained in this process")
        self.checkpoint.metadata.temperature, self.checkpoint.metadata.stacker, self.checkpoint.metadata.logit_bounds = 1.0, {}, {}
        return figures

    def calibrate(
        self,
        questions: Sequence[str],
        references: Sequence[str | Sequence[str]],
        candidates: Sequence[str],
        labels: Sequence[float],
        weak: CalibrationRows | None = None,
        synthetic: CalibrationRows | None = None,
    ) -> tuple[dict[str, float], np.ndarray]:
        """Fit temperature and weights of the head on labelled rows that were not trained on.

        Args:
            questions, references, candidates, labels: rows as in `predict`, labels in [0, 1].
            weak: rows with labels of less authority: they weigh and calibrate the head, and nothing is measured on them.
            synthetic: rows that only help to weigh encoder and trees against each other.

        Returns:
            Metrics of the whole judge on these rows; beside them `temperature`, and accuracy and calibration error of the encoder
            alone (`accuracy_encoder`, `ece_uncalibrated`), accuracy of the trees alone (`accuracy_features`), and the share of rows
            that an early exit leaves to the encoder (`share_read`). And the scores, calibrated, of an encoder that reads all, shape
            (n,).
        """
        listed, candidates = normalize_inputs(questions, references, candidates)
        logits = self.engine.score(questions, listed, candidates, exact=True).logits
        card = self.checkpoint.metadata
        card.temperature, card.stacker, card.logit_bounds = calibration.fit_temperature(logits, labels), {}, {}
        encoder = classification_metrics(labels, calibration.scores(logits))
        parts = {"accuracy_encoder": encoder["accuracy"], "ece_uncalibrated": encoder["ece"], "temperature": card.temperature}
        trees = self._tree_logits(questions, listed, candidates)
        if trees is not None:
            card.stacker = self._weighed(logits, trees, labels, weak or CalibrationRows(), synthetic or CalibrationRows())
            parts["accuracy_features"] = classification_metrics(labels, calibration.scores(trees))["accuracy"]
            parts["share_read"] = len(self._left_to_read(trees, len(trees))[1]) / len(trees)
        scores = calibration.scores(self._whole(logits, trees))
        return {**classification_metrics(labels, scores, self.threshold), **parts}, scores

    def _weighed(
        self, logits: np.ndarray, trees: np.ndarray, labels: Sequence[float], weak: CalibrationRows, synthetic: CalibrationRows
    ) -> dict[str, float]:
        """What encoder and trees are worth, by rows with these logits and by those beside them; and how far the encoder reaches."""
        encoder, features, truth, weights = [logits], [trees], [*labels], [1.0] * len(labels)
        for rows in (weak, synthetic):
            if not rows.labels:
                continue
            listed, candidates = normalize_inputs(rows.questions, rows.references, rows.candidates)
            encoder.append(self.engine.score(rows.questions, listed, candidates, exact=True).logits)
            more = self._tree_logits(rows.questions, listed, candidates)
            assert more is not None
            features.append(more)
            truth += rows.labels
            weights += rows.weights or [1.0] * len(rows.labels)
        real = len(labels) + len(weak.labels)
        beside, said = np.concatenate(features), np.concatenate(encoder)
        self.checkpoint.metadata.logit_bounds = learn_reach(said, beside)
        return fit_stack(said, beside, truth, weights, real)

    def save(self, folder: str | Path) -> None:
        """Write weights, trees, tokenizer and judge.json, the last of them last."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_trees(self.trees if self.checkpoint.metadata.stacker else None, folder)
        self.checkpoint.save(folder)

    def _left_to_read(self, trees: np.ndarray | None, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """The encoder's logits to be expected, and the positions of the rows that it has to read."""
        known = reach(self.checkpoint.metadata.logit_bounds)
        if not self.early_exit or trees is None or known is None:
            return np.zeros(rows), np.arange(rows)
        low, mean, high = known.at(trees)
        below, above = (self._scores(end, trees) >= self.threshold for end in (low, high))
        left = np.flatnonzero(below != above)
        log.debug("%d of %d rows are left to the encoder", len(left), rows)
        return mean, left

    def _made_sure(
        self,
        logits: np.ndarray,
        trees: np.ndarray | None,
        questions: Sequence[str],
        references: Sequence[Sequence[str]],
        candidates: Sequence[str],
    ) -> np.ndarray:
        """The logits, in float32 for those rows whose verdict the rounding to 8 bits could have turned."""
        below, above = (self._scores(logits + error, trees) >= self.threshold for error in (-self.engine.error, self.engine.error))
        doubtful = np.flatnonzero(below != above).tolist()
        log.debug("%d of %d rows are read again in float32", len(doubtful), len(logits))
        if doubtful:
            logits[doubtful] = self.engine.score(
                [questions[i] for i in doubtful], [references[i] for i in doubtful], [candidates[i] for i in doubtful], exact=True
            ).logits
        return logits

    def _scores(self, logits: np.ndarray, trees: np.ndarray | None) -> np.ndarray:
        return calibration.scores(self._whole(logits, trees) if self.calibrated else logits)

    def _whole(self, logits: np.ndarray, trees: np.ndarray | None) -> np.ndarray:
        """Calibrated logits of the whole judge from those of the encoder and, where it listens to them, of the trees."""
        stack = self.checkpoint.metadata.stacker
        if not stack or trees is None:
            return logits / self.checkpoint.metadata.temperature
        return stack["encoder"] * logits + stack["features"] * trees + stack["bias"]

    def _tree_logits(
        self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]
    ) -> np.ndarray | None:
        """What the trees make of the features, shape (n,); None for a judge without trees."""
        return None if self.trees is None else tree_logits(self.trees, self._features(questions, references, candidates))

    def _features(self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
        shown = questions if self.checkpoint.metadata.input.question else [""] * len(questions)
        return self.features.table(shown, references, candidates)


def _closest(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
    """Per row its closest reference."""
    return [closest(candidate, texts) for candidate, texts in zip(candidates, references, strict=True)]
