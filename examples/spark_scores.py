"""Score a table of answers with Spark; each worker loads the judge once.

python examples/spark_scores.py answers.parquet scored.parquet general
"""

from __future__ import annotations

import sys
from functools import partial

from pyspark.sql import SparkSession

from bert_judge.integrations.dataframes import SPARK_SCHEMA, predict_batches


def main(source: str, target: str, judge: str) -> None:
    spark = SparkSession.builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "10000").getOrCreate()
    answers = spark.read.parquet(source)
    scored = answers.mapInPandas(partial(predict_batches, judge=judge), f"{answers.schema.toDDL()}, {SPARK_SCHEMA}")
    scored.write.mode("overwrite").parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
