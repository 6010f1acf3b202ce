"""Features of many rows, by several processes where that pays: they are what a judge that seldom asks its encoder waits for.

The processes are joblib's, which start without a second run of the caller's script. They leave when nothing more is asked of them,
within a minute also when the caller was killed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import joblib
import numpy as np

from bert_judge.judges.bert.features import feature_table

# A process costs half a second and a tenth of a gigabyte, which the first rows would not give back; nor would few rows now and
# then, between which the processes leave.
ROWS_ALONE, LEAST_ROWS = 4_096, 256
MOST_PROCESSES = 8
# Rows differ in length, so each process gets several parts, one after the other.
PARTS_EACH = 4
SECONDS_IDLE = 30


class FeaturePool:
    """Makes feature tables; of long ones, or of many, with several processes.

    Args:
        cores: that this process may use.
    """

    def __init__(self, cores: int) -> None:
        self.processes = min(cores, MOST_PROCESSES)
        self._seen = 0

    def table(self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
        """As `features.feature_table`."""
        self._seen += len(candidates)
        if self.processes == 1 or self._seen <= ROWS_ALONE or len(candidates) < LEAST_ROWS:
            return feature_table(questions, references, candidates)
        # A column of a data frame is not divided by place.
        columns = list(questions), list(references), list(candidates)
        ends = np.linspace(0, len(candidates), self.processes * PARTS_EACH + 1).astype(int).tolist()
        parts = [[column[start:end] for column in columns] for start, end in itertools.pairwise(ends)]
        with joblib.parallel_config("loky", n_jobs=self.processes, inner_max_num_threads=1, idle_worker_timeout=SECONDS_IDLE):
            tables = joblib.Parallel(batch_size=1, pre_dispatch="all")(joblib.delayed(feature_table)(*part) for part in parts)
        return np.concatenate(tables)
