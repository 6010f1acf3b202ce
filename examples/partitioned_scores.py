"""Score a folder of parquet files on object storage into one with the same partitions.

python examples/partitioned_scores.py s3://answers/run s3://answers/scored general

A repeated call skips the files that are there: one appears only when it is complete.
"""

from __future__ import annotations

import io
import sys

import fsspec
import pyarrow.dataset
import pyarrow.parquet

from bert_judge.integrations.dataframes import predict_batch


def main(source: str, target: str, judge: str) -> None:
    (storage, answers), (target_storage, scored) = (fsspec.url_to_fs(url.rstrip("/")) for url in (source, target))
    for part in pyarrow.dataset.dataset(answers, filesystem=storage, format="parquet").get_fragments():
        path = scored + part.path.removeprefix(answers)
        if not target_storage.exists(path):
            content = io.BytesIO()
            pyarrow.parquet.write_table(predict_batch(part.to_table(), judge), content)
            target_storage.pipe_file(path, content.getvalue())
            print(path, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
