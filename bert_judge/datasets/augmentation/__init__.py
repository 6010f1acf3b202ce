"""Made-up rows beside the labelled ones: what a judge must know, and what labelled answers seldom show.

Each kind is one function: a labelled row in, an answer with a certain label out, or nothing where the kind does not fit the row.
Which rows are taken depends on the seed and on each row's content alone; only what is borrowed from other rows depends on those.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import pandas as pd

from bert_judge.datasets.augmentation.answer_as_reference import contradicted, paraphrased
from bert_judge.datasets.augmentation.blank import cut_short, no_answer
from bert_judge.datasets.augmentation.correct import reformatted, restated
from bert_judge.datasets.augmentation.incorrect import denied, near_miss, other_answer, swapped_reference
from bert_judge.datasets.augmentation.rows import Made, Others, Row
from bert_judge.datasets.augmentation.self_corrected import settled, taken_back, undecided
from bert_judge.datasets.augmentation.shortened import shortened
from bert_judge.datasets.augmentation.statements import misstated, stated
from bert_judge.datasets.augmentation.verbose import mistyped, surrounded, talk
from bert_judge.runtime.keyed_random import KeyedRandom

Kind = Callable[[Row, KeyedRandom, Others], Made | None]

KINDS: Mapping[str, Kind] = {
    "restated": restated,
    "reformatted": reformatted,
    "shortened": shortened,
    "stated": stated,
    "misstated": misstated,
    "paraphrased": paraphrased,
    "contradicted": contradicted,
    "other_answer": other_answer,
    "near_miss": near_miss,
    "swapped_reference": swapped_reference,
    "denied": denied,
    "no_answer": no_answer,
    "cut_short": cut_short,
    "undecided": undecided,
    "taken_back": taken_back,
    "settled": settled,
    "surrounded": surrounded,
    "talk": talk,
    "mistyped": mistyped,
}


def augment(rows: pd.DataFrame, shares: Mapping[str, float], seed: int) -> pd.DataFrame:
    """Rows made up from labelled ones.

    Args:
        rows: of the schema `dataset`, without `weight`.
        shares: kind → share of the rows for which one is made, in [0, 1]; where a kind does not fit, there is none.
        seed: another seed, other draws.

    Returns:
        Only the made-up rows, with the columns of `rows`; `model` says what they are, as `synthetic-near_miss`.
    """
    records = rows.to_dict("records")
    labelled_rows = [Row(r["question"], tuple(r["references"]), r["candidate"], r["label"] >= 0.5) for r in records]
    others = Others(rows["references"], labelled_rows)
    made: list[dict[Hashable, Any]] = []
    for labelled, row in zip(records, labelled_rows, strict=True):
        for kind, share in shares.items():
            rng = KeyedRandom((seed, kind, row))
            if rng.bernoulli(share, "take") and (result := KINDS[kind](row, rng, others)):
                changed: dict[Hashable, Any] = {
                    "references": list(result.references),
                    "candidate": result.candidate,
                    "label": float(result.right),
                    "model": f"synthetic-{kind}",
                }
                made.append(labelled | changed)
    synthetic = pd.DataFrame(made, columns=rows.columns)
    # One answer of one question may be made up more than once.
    return synthetic.assign(attempt=synthetic.groupby(["sample_id", "model"]).cumcount().astype("int32"))
