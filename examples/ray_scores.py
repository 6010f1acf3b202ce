"""Score a table of answers with Ray Data; each worker loads the judge once.

python examples/ray_scores.py answers.parquet scored general
"""

from __future__ import annotations

import sys

import ray

from bert_judge.integrations.dataframes import predict_batch


def main(source: str, target: str, judge: str) -> None:
    answers = ray.data.read_parquet(source)
    scored = answers.map_batches(predict_batch, batch_format="pyarrow", batch_size=10_000, fn_kwargs={"judge": judge})
    scored.write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
