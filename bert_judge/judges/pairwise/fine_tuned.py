"""A language model that is fine-tuned to decide which of two answers is better, after JudgeLM (Zhu et al. 2023).

Three augmentations, drawn for each pair in each epoch: the answers change places (swap augmentation), the references are left out
(reference drop), or both; a pair with references is otherwise read with them (reference support).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bert_judge.config.models import JudgeTuning
from bert_judge.judges.fine_tuned import Calibration, FineTuned, FineTuning, PromptWriter, explanation
from bert_judge.judges.pairwise.llm import CHOICES, PairLLMJudge, RenderedPair, read_probabilities, render_pair
from bert_judge.judges.pairwise.train import measure, read_split, to_pairs
from bert_judge.judges.prompted import Reading
from bert_judge.judges.protocol import SWAPPED_VERDICTS, Pair
from bert_judge.judges.registry import TrainingContext
from bert_judge.runtime import keyed_random

# Settings of the judge that do not change what it learns.
DEFAULTS = {"seed": 0, "max_answer_chars": 20_000, "reasoning": False}
# Letter or number of an answer → that of the other.
SWAPPED = dict(zip("ABab12", "BAba21", strict=True))
# Names of the answers in an explanation: "Assistant 1", "answer A and answer B".
_NAME = re.compile(r"\b((?:answer|assistant|response|candidate|model)\s)([AB12])\b", re.IGNORECASE)


class FineTunedPairJudge(FineTuned[RenderedPair], PairLLMJudge):
    """Implements `judges.protocol.PairJudge`; the score is P(A) + P(tie)/2 and the verdict the likeliest of the three."""

    choices = CHOICES

    def _prompt(self, case: RenderedPair, instructions: str) -> str:
        return write_prompt(self.prompts, case)[0] + instructions

    def _to_reading(self, probabilities: Sequence[float]) -> Reading:
        return read_probabilities(probabilities)

    def _word(self, reading: Reading) -> str:
        return str(reading.verdict)


def write_prompt(writer: PromptWriter, case: RenderedPair) -> tuple[str, bool]:
    return writer.write(case.pair.question, case.pair.references, {"Answer A": case.first, "Answer B": case.second})


def train_judge(context: TrainingContext) -> None:
    """Fine-tune a language model on tables of labelled pairs, calibrate and measure it on held-out questions."""
    spec, tuning = context.spec, context.settings(JudgeTuning)
    rows, held_out, fingerprint = read_split(spec, context.inputs["pairs"], tuning.seed)
    augmented = augment(rows, tuning)

    def write_examples(writer: PromptWriter) -> list[tuple[str, str, str]]:
        return [write_example(writer, row) for row in augmented.to_dict("records")]

    # The rows of all epochs are different, so training sees each once.
    training = FineTuning(context, FineTunedPairJudge, DEFAULTS, tuning.model_copy(update={"epochs": 1.0}))
    judge, statistics = training.run(write_examples, fingerprint)
    orders = pd.concat([held_out, swap(held_out)])
    targets = np.array([[float(label == choice) for choice in CHOICES] for label in orders["label"]])
    judge.card.calibration = Calibration.fit(judge.log_probabilities(list(map(render, to_pairs(orders)))), targets)
    result = measure(judge, to_pairs(held_out), held_out["target"].to_numpy())
    training.write(judge, result, {"rows": len(rows), **statistics}, f"{len(rows):,} pairs of {', '.join(spec['pairs'])}")


def augment(rows: pd.DataFrame, tuning: JudgeTuning) -> pd.DataFrame:
    """Return the rows of all epochs, some of them with swapped answers, and some without references."""
    epochs = []
    for epoch in range(math.ceil(tuning.epochs)):
        share = min(1.0, tuning.epochs - epoch)
        selected_rows = rows[_draw(rows, "epoch", tuning.seed, epoch) < share]
        is_swapped = _draw(selected_rows, "swap", tuning.seed, epoch) < tuning.swap_ratio
        epochs.append(pd.concat([selected_rows[~is_swapped], swap(selected_rows[is_swapped])]).sort_index())
        dropped = _draw(epochs[-1], "reference", tuning.seed, epoch) < tuning.reference_drop_ratio
        epochs[-1] = epochs[-1].assign(references=epochs[-1]["references"].astype(object).mask(dropped, None))
    return pd.concat(epochs, ignore_index=True)


def _draw(rows: pd.DataFrame, *key: str | int) -> np.ndarray:
    """Draw a number in [0, 1) for each row, which depends on the key and the pair only."""
    return np.array([keyed_random.fraction(*key, pair_id) for pair_id in rows["pair_id"]], float)


def swap(rows: pd.DataFrame) -> pd.DataFrame:
    """Swap the answers of pairs, with label, grades, and the names of the answers in the explanation."""
    columns = {f"{name}_{side}": f"{name}_{SWAPPED[side]}" for name in ("answer", "grade") for side in "ab"}
    return rows.assign(
        **{column: rows[swapped] for column, swapped in columns.items()},
        label=rows["label"].replace(SWAPPED_VERDICTS),
        rationale=rows["rationale"].map(swap_names, na_action="ignore"),
    )


def swap_names(text: str) -> str:
    """Swap the names of two answers: Assistant 1 and Assistant 2, answer A and answer B."""
    return _NAME.sub(lambda match: match[1] + SWAPPED[match[2]], text)


def render(pair: Pair) -> RenderedPair:
    return render_pair(pair, DEFAULTS["seed"], DEFAULTS["max_answer_chars"])


def write_example(writer: PromptWriter, row: Mapping[Any, Any]) -> tuple[str, str, str]:
    [pair] = to_pairs(pd.DataFrame([row]))
    prompt, _ = write_prompt(writer, render(pair))
    return prompt, row["label"], explanation((row["grade_a"], row["grade_b"]), row["rationale"])
