"""Score a table of answers with Daft.

python examples/daft_scores.py answers.parquet scored general
"""

from __future__ import annotations

import sys

import daft
import pyarrow as pa
from daft import DataType, Series

from bert_judge.integrations.dataframes import ADDED, predict_batch

STRUCT = DataType.struct({name: DataType.from_arrow_type(kind) for name, kind in ADDED.items()})


# Without a process of its own, Daft would call the judge in several threads at once.
@daft.func.batch(return_dtype=STRUCT, unnest=True, batch_size=10_000, use_process=True)
def score(question: Series, references: Series, candidate: Series, judge: str) -> pa.Array:
    columns = {"question": question, "references": references, "candidate": candidate}
    table = pa.table({name: series.to_arrow() for name, series in columns.items()})
    return predict_batch(table, judge).select(list(ADDED)).to_struct_array().combine_chunks()


def main(source: str, target: str, judge: str) -> None:
    answers = daft.read_parquet(source)
    scores = score(answers["question"], answers["references"], answers["candidate"], judge)
    answers.select("*", scores).write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
