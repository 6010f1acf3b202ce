"""What a judge does with texts before and after its encoder: it asks rule modules and trees and tokenises; it gives reasons.

This takes more processor time than a fast encoder, so worker processes do it for long tables (`runtime/workers.py`). The encoder
runs in the calling process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from bert_judge.encoder.checkpoint import JudgeMetadata
from bert_judge.encoder.encoding import EncodedRow, RowEncoder, closest_references
from bert_judge.encoder.inference import EncoderOutput
from bert_judge.encoder.unread_words import TextReader
from bert_judge.judges.bert import BertJudgeConfig, stacker, unread
from bert_judge.judges.bert.certainty import is_certain, is_doubtful
from bert_judge.judges.bert.trees import Trees
from bert_judge.judges.protocol import Label, Row, decided, empty_answer, unfinished
from bert_judge.runtime.errors import InputError
from bert_judge.statistics.logistic import expit, logit
from bert_judge.tables import storable
from bert_judge.text.answer_kinds import answer_kind
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.evidence import describe_words
from bert_judge.text.features import feature_table, is_truncated
from bert_judge.text.languages import UNFAMILIAR_FLAGS, UNREAD, unfamiliar_row
from bert_judge.text.rules import Decision, decide
from bert_judge.text.visible_text import is_blank_answer, normalize_text

REFERENCE_MODES, POLICIES = (get_args(BertJudgeConfig.model_fields[name].annotation) for name in ("references", "policy"))
(ALL, CLOSEST), (STRICT, LENIENT) = REFERENCE_MODES, POLICIES
# Score of an answer that a rule module accepts, and one minus that of an answer that it rejects: their measured error is below 1%.
RULE_SCORE = 0.99
# What decides where no rule module does: the encoder together with the trees, or the trees alone (early exit).
ENCODER, FEATURES = "encoder", "features"
# The same for a reader of the verdict; what follows are words to check it by.
COMPARED_BY = {ENCODER: "by meaning", FEATURES: "by words"}
# Nothing decides where the comparison of a rule module reached a limit.
UNFINISHED = "unfinished"


class Texts(NamedTuple):
    """Texts of n rows, normalised."""

    questions: list[str]
    references: list[list[str]]
    candidates: list[str]

    def select(self, rows: np.ndarray | slice) -> Texts:
        """Select rows by position."""
        positions = range(len(self.candidates))[rows] if isinstance(rows, slice) else rows.tolist()
        return Texts(*([values[i] for i in positions] for values in self))  # type: ignore[arg-type]


def normalize(questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]) -> Texts:
    """Normalise texts, see `normalize_inputs`; a lone surrogate, half of a character, becomes a replacement character."""
    reference_lists, answers = normalize_inputs(questions, references, candidates)
    return Texts(_repair(questions), [_repair(texts) for texts in reference_lists], _repair(answers))


@dataclass(frozen=True)
class PreparedRows:
    """n rows before the encoder reads some of them.

    Attributes:
        decisions: of the rule modules and of `unread`.
        decides: whether the decision is the verdict. m rows remain undecided; the next fields describe them, in order.
        offsets: what is added to the weighted logits of the encoder, shape (m,).
        expected_logits: the likely logits of the encoder, shape (m,).
        encoder_rows: positions among the m rows of those that the encoder has to read, shape (k,).
        encoded: these, with one encoded row per reference.
        blank: the candidate has no text, shape (m,).
        shortened: the features, which are all that decides, leave out the middle of a text, shape (m,).
    """

    decisions: list[Decision | None]
    decides: np.ndarray
    offsets: np.ndarray
    expected_logits: np.ndarray
    encoder_rows: np.ndarray
    encoded: list[list[EncodedRow]]
    blank: np.ndarray
    shortened: np.ndarray


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


@dataclass(frozen=True)
class TextSteps:
    """Reads the texts of rows, combines what the encoder says with the rest, and says why; can be pickled.

    Attributes:
        trees: of a judge with a stacker, else None.
        threshold, calibrated, references, early_exit, policy: see `BERTJudge`.
    """

    metadata: JudgeMetadata
    encoder: RowEncoder
    trees: Trees | None
    threshold: float
    calibrated: bool
    references: str
    early_exit: bool
    policy: str

    # --- before the encoder ---

    def prepare(
        self, questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]
    ) -> PreparedRows:
        """Ask rule modules and trees, and encode the rows that the encoder has to read."""
        texts, decisions = self.decide_texts(normalize(questions, references, candidates))
        decides = np.array([self.decides(decision) for decision in decisions], bool)
        undecided = np.flatnonzero(~decides)
        texts = texts.select(undecided)
        tree_logits = self.predict_trees(texts) if self._uses_trees else None
        rule_logits = self.metadata.rule_logit * np.array([_sign(decisions[row]) for row in undecided])
        offsets = self.logit_offsets(tree_logits, rule_logits)
        encoder_rows, expected_logits = self.rows_for_encoder(tree_logits, offsets)
        pairs = list(zip(texts.references, texts.candidates, strict=True))
        shortened = np.zeros(len(pairs), bool)
        for row in np.setdiff1d(np.arange(len(pairs)), encoder_rows):
            shortened[row] = is_truncated(*pairs[row])
        return PreparedRows(
            decisions,
            decides,
            offsets,
            expected_logits,
            encoder_rows,
            encoded=self._encode(texts.select(encoder_rows)),
            blank=np.array([is_blank_answer(candidate, references) for references, candidate in pairs], bool),
            shortened=shortened,
        )

    def prepare_rows(self, rows: Sequence[Row]) -> PreparedRows:
        """Like `prepare`, for the rows whose candidate has text."""
        answered = [row for row in rows if not _is_blank(row)]
        # A position among these rows would say nothing.
        if missing := [row.question for row in answered if not row.references]:
            raise InputError(f"the question {missing[0]!r:.60} has no reference; this judge needs at least one per row")
        return self.prepare(
            [row.question for row in answered], [row.references for row in answered], [row.candidate for row in answered]
        )

    def decide_texts(self, texts: Texts) -> tuple[Texts, list[Decision | None]]:
        """Return the texts with the references that can be read, and per row the decision of a rule module or of `unread`."""
        decisions = self.ask_rules(texts)
        pairs = [(decision, self.decides(decision)) for decision in decisions]
        references, decisions = unread.decide_unread(
            self._reader, texts.references, texts.candidates, pairs, checks_long_words=self._uses_trees
        )
        return texts._replace(references=references), decisions

    def ask_rules(self, texts: Texts) -> list[Decision | None]:
        """Return per row the decision of a module that may decide and that no earlier one contradicts, else that of another."""
        allowed = self.metadata.rules if self.calibrated else {}
        if not allowed:
            return [None] * len(texts.candidates)
        decisions = []
        for row in zip(*texts, strict=True):
            decision = decide(*row)
            if decision and not self.may_decide(decision):
                permitted = decide(*row, allowed=allowed)
                # The earlier module reads more: an identifier may be a formula in another notation.
                decision = permitted if permitted and decision.correct in (permitted.correct, None) else decision
            decisions.append(decision)
        return decisions

    def decides(self, decision: Decision | None) -> bool:
        """Return whether a decision is the verdict, or says that there is none."""
        return self.may_decide(decision) or (decision is not None and decision.correct is None)

    def may_decide(self, decision: Decision | None) -> bool:
        """Return whether a decision is the verdict."""
        if decision is None or decision.module in unread.MODULES:
            return decision is not None
        return decision.verdict in self.metadata.rules.get(decision.module, ())

    def features(self, texts: Texts) -> np.ndarray:
        """Return the features of each row as the trees see them."""
        questions = texts.questions if self.metadata.input.question else [""] * len(texts.questions)
        return feature_table(questions, texts.references, texts.candidates)

    def predict_trees(self, texts: Texts) -> np.ndarray:
        """Return the logits of the trees, shape (n,)."""
        assert self.trees is not None
        if not self.trees.features:
            return np.zeros(len(texts.candidates))
        return stacker.predict_tree_logits(self.trees, self.features(texts))

    def rows_for_encoder(self, tree_logits: np.ndarray | None, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows that need the encoder, and the encoder's expected logit for all rows, shape (n,)."""
        n, bounds = len(offsets), self.metadata.logit_bounds
        if not self.early_exit or tree_logits is None or bounds is None:
            return np.arange(n), np.zeros(n)
        low, mean, high = bounds.interpolate(tree_logits)
        return self.undecided(low, high, offsets), mean

    def _encode(self, texts: Texts) -> list[list[EncodedRow]]:
        if self.references == CLOSEST:
            texts = texts._replace(references=[[text] for text in closest_references(texts.references, texts.candidates)])
        return self.encoder.encode_answers(*texts)

    @cached_property
    def _reader(self) -> TextReader:
        return TextReader(self.encoder)

    @property
    def _uses_trees(self) -> bool:
        return self.calibrated and self.metadata.stacker is not None

    # --- with the encoder's logits ---

    def undecided(self, low: np.ndarray, high: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the positions where encoder logits of `low` and of `high` give different verdicts."""
        below, above = (expit(self.combine(logits, offsets)) >= self.threshold for logits in (low, high))
        return np.flatnonzero(below != above)

    def logit_offsets(self, tree_logits: np.ndarray | None, rule_logits: ArrayLike = 0.0) -> np.ndarray:
        """Return what trees, bias and rule modules add to the weighted logits of the encoder, shape (n,)."""
        weights = self.metadata.stacker
        if weights is None or tree_logits is None:
            return np.asarray(rule_logits, float)
        return weights.combine(0.0, tree_logits) + rule_logits

    @property
    def policy_offset(self) -> float:
        """What the policy adds to every calibrated logit."""
        return (self.metadata.partial_offset or 0.0) if self.policy == LENIENT else 0.0

    def combine(self, logits: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the calibrated logits of the policy from the encoder's, shape (n,); without calibration, the encoder's own."""
        if not self.calibrated:
            return logits
        weight = 1 / self.metadata.temperature if self.metadata.stacker is None else self.metadata.stacker.encoder
        return weight * logits + offsets + self.policy_offset

    def predict(self, prepared: PreparedRows, output: EncoderOutput) -> Prediction:
        """Return the scores of prepared rows; `output`: of those that the encoder read."""
        n = len(prepared.decisions)
        undecided = np.flatnonzero(~prepared.decides)
        read = undecided[prepared.encoder_rows]
        logits = prepared.expected_logits.copy()
        logits[prepared.encoder_rows] = output.logits
        prediction = Prediction(
            scores=np.zeros(n),
            raw_scores=np.full(n, np.nan),
            truncated=np.zeros(n, bool),
            tokens=np.zeros(n, int),
            decided_by=np.full(n, FEATURES, object),
            reasons=np.full(n, None, object),
        )
        prediction.scores[undecided] = np.where(prepared.blank, 0.0, expit(self.combine(logits, prepared.offsets)))
        prediction.truncated[undecided] = prepared.shortened
        prediction.raw_scores[read], prediction.tokens[read] = expit(output.logits), output.tokens
        prediction.truncated[read], prediction.decided_by[read] = output.truncated, ENCODER
        for row, decision in enumerate(prepared.decisions):
            if decision and decision.correct is None:
                prediction.scores[row], prediction.decided_by[row] = np.nan, UNFINISHED
                prediction.reasons[row] = decision.reason
                continue
            if decision and prepared.decides[row]:
                prediction.scores[row] = shift_score(RULE_SCORE if decision.correct else 1 - RULE_SCORE, self.policy_offset)
                prediction.decided_by[row] = decision.module
            has_weight = prepared.decides[row] or self.metadata.rule_logit > 0
            if decision and has_weight and decision.correct == (prediction.scores[row] >= self.threshold):
                prediction.reasons[row] = f"{decision.module}: {decision.reason}"
        return prediction

    # --- after the encoder ---

    def label(self, rows: Sequence[Row], prediction: Prediction) -> list[Label]:
        """Return the labels of rows, of which the prediction has those whose candidate has text; a blank one is incorrect."""
        columns = zip(*(column.tolist() for column in vars(prediction).values()), strict=True)
        return [empty_answer() if _is_blank(row) else self._label(row, *next(columns)) for row in rows]

    def _label(
        self, row: Row, score: float, raw_score: float, truncated: bool, tokens: int, decided_by: str, rule: str | None
    ) -> Label:
        if decided_by == UNFINISHED:
            return unfinished(rule or "")
        unfamiliar = unfamiliar_row(row.question, row.references, row.candidate, self.metadata.languages)
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
        if not self.metadata.certain_scores or not self.calibrated or self.policy != STRICT:
            return None
        if decided_by not in (ENCODER, FEATURES):
            # Exact comparison cannot tell a paraphrase from a wrong answer.
            return decided_by not in unread.MODULES
        kind = answer_kind(row.question, row.references, row.candidate)
        is_correct = score >= self.threshold
        certain = is_certain(self.metadata.certain_scores, kind, score, is_correct=is_correct)
        return certain and not is_doubtful(kind, row.question, row.references, row.candidate, is_correct=is_correct)


def shift_score(score: Any, offset: float) -> Any:
    """Add an offset to the logits of scores, any shape; 0 and 1 stay as they are."""
    return score if offset == 0 else expit(logit(score) + offset)


def _repair(texts: Sequence[str]) -> list[str]:
    # A tokenizer refuses lone surrogates.
    return list(map(storable, texts))


def _sign(decision: Decision | None) -> float:
    return 0.0 if decision is None else 1.0 if decision.correct else -1.0


def _is_blank(row: Row) -> bool:
    return is_blank_answer(normalize_text(row.candidate), row.references)
