"""Score one file with `bert-judge score` and with the examples for Spark, Ray Data and Daft, and compare every row.

    BERT_JUDGE_DATA=… python benchmarks/dataframe_engines.py [--rows 100000] [--judge general] [--engines spark ray daft]

Needs the extra `frameworks`, and Java for Spark. Rows are drawn from ten files of real answers, with replacement. Prints per engine
the seconds with its start, rows whose verdict or reason differs from the command's, and the largest difference of a score.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import timing

ROOT = Path(__file__).parents[1]
# Rows of a batch of the engines, and of a row group of the file, so that there is more than one partition to read.
GROUP_ROWS = 10_000


def answers(rows: int) -> pd.DataFrame:
    drawn = timing.mixed(rows)
    columns = {"question": drawn.questions, "references": [[text] for text in drawn.references], "candidate": drawn.candidates}
    return pd.DataFrame(columns).sample(rows, replace=True, random_state=0).reset_index(drop=True).rename_axis("id").reset_index()


def run(*command: object, folder: Path) -> float:
    """Return the seconds that Python takes with these arguments."""
    started = time.monotonic()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "HF_HUB_OFFLINE": "1"}
    subprocess.run([sys.executable, *map(str, command)], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--judge", default="general")
    parser.add_argument("--engines", nargs="+", default=["spark", "ray", "daft"])
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = answers(options.rows)
        table.to_parquet(folder / "answers.parquet", row_group_size=GROUP_ROWS)
        distinct = len(table.astype(str).drop_duplicates(["question", "references", "candidate"]))
        print(f"{timing.machine()}\n{len(table)} rows, {distinct} of them distinct; judge: {options.judge}\n", flush=True)
        call = "from bert_judge.cli import app; app()"
        seconds = run("-c", call, "score", "answers.parquet", "--judge", options.judge, "-o", "command.parquet", folder=folder)
        expected = pd.read_parquet(folder / "command.parquet")
        lines.append(["bert-judge score", f"{seconds:.0f}", f"{len(table) / seconds:.0f}", "–", "–"])
        for engine in options.engines:
            seconds = run(ROOT / "examples" / f"{engine}_scores.py", "answers.parquet", engine, options.judge, folder=folder)
            scored = pd.read_parquet(folder / engine).sort_values("id", ignore_index=True)
            assert scored["id"].equals(expected["id"]), f"{engine}: rows are missing or repeated"
            differ = (scored[["verdict", "reason"]].fillna("") != expected[["verdict", "reason"]].fillna("")).any(axis=1).sum()
            gap = np.nanmax((scored["score"] - expected["score"]).abs())
            lines.append([engine, f"{seconds:.0f}", f"{len(table) / seconds:.0f}", differ, f"{gap:.5f}"])
            print(f"{engine}: {seconds:.0f} s", file=sys.stderr, flush=True)
    header = ("engine", "seconds", "rows/s", "verdicts or reasons that differ", "largest difference of a score")
    print(timing.table(header, lines))


if __name__ == "__main__":
    main()
