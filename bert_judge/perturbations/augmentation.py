"""Data augmentation: synthetic rows with a certain label, of kinds that labelled answers seldom show.

Each kind is a function from a labelled answer to a synthetic row, or to None if the kind does not fit the answer. Draws depend on
the seed and on the content of the row only; borrowed answers also depend on the other rows.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from bert_judge.perturbations.labelled_answers import AnswerPool, AugmentedRow, LabelledAnswer
from bert_judge.perturbations.synthetic_answers import (
    contradicted,
    denied,
    misspelled,
    near_miss,
    no_answer,
    other_answer,
    paraphrased,
    reformatted,
    restated,
    shortened,
    swapped_reference,
    truncated,
)
from bert_judge.perturbations.synthetic_sentences import misstated, padded, retracted, self_corrected, stated, undecided, verbose
from bert_judge.runtime.keyed_random import KeyedRandom

AugmentationKind = Callable[[LabelledAnswer, KeyedRandom, AnswerPool], AugmentedRow | None]

KINDS: Mapping[str, AugmentationKind] = {
    kind.__name__: kind
    for kind in (
        *(
            restated,
            reformatted,
            shortened,
            stated,
            misstated,
            paraphrased,
            contradicted,
            other_answer,
            near_miss,
            swapped_reference,
        ),
        *(denied, no_answer, truncated, undecided, retracted, self_corrected, padded, verbose, misspelled),
    )
}
# Start of the model's name in synthetic rows.
SYNTHETIC = "synthetic-"
# Names of random streams that differ from their kind: another name gives other draws, and so another trained judge.
STREAMS = {
    "truncated": "cut_short",
    "retracted": "taken_back",
    "self_corrected": "settled",
    "padded": "surrounded",
    "verbose": "talk",
    "misspelled": "mistyped",
}


def augment(rows: pd.DataFrame, augmentations: Sequence[Mapping[str, Any]], seed: int) -> pd.DataFrame:
    """Make synthetic rows from labelled ones.

    Args:
        rows: of the schema `dataset`, without `weight`.
        augmentations: dumped `config.Augmentation` entries: a kind, and the share of rows to apply it to, in [0, 1].

    Returns:
        Only the synthetic rows, with the columns of `rows`; `model` names the kind, such as `synthetic-near_miss`.
    """
    records = rows.to_dict("records")
    answers = [LabelledAnswer(r["question"], tuple(r["references"]), r["candidate"], r["label"] >= 0.5) for r in records]
    pool = AnswerPool(rows["references"], answers)
    synthetic_records: list[dict[Hashable, Any]] = []
    for record, answer in zip(records, answers, strict=True):
        for augmentation in augmentations:
            kind = augmentation["kind"]
            rng = KeyedRandom((seed, STREAMS.get(kind, kind), answer))
            if rng.bernoulli(augmentation["share"], "take") and (row := KINDS[kind](answer, rng, pool)):
                changes: dict[Hashable, Any] = {
                    "references": list(row.references),
                    "candidate": row.candidate,
                    "label": float(row.correct),
                    "model": f"{SYNTHETIC}{kind}",
                }
                synthetic_records.append(record | changes)
    synthetic = pd.DataFrame(synthetic_records, columns=rows.columns)
    # A kind may apply to several answers to one question.
    return synthetic.assign(attempt=synthetic.groupby(["sample_id", "model"]).cumcount().astype("int32"))
