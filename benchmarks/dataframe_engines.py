"""Score one file with `bert-judge score` and with the examples for Spark, Ray Data and Daft, and compare every row.

    BERT_JUDGE_DATA=… python benchmarks/dataframe_engines.py [--rows 100000] [--engines spark ray daft] [--cores 1 2]

Needs the extra `frameworks`, and Java for Spark. Rows are drawn from ten files of real answers, with replacement. Prints per engine
and number of cores the rows per second behind the start, the seconds for a file of one row, the memory of the largest Python
process, and the rows whose verdict or reason differs from the command's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import psutil
import timing

ROOT = Path(__file__).parents[1]
# Row groups of the file, so that there is more than one partition to read.
GROUPS = 8


def answers(rows: int) -> pd.DataFrame:
    drawn = timing.mixed(rows)
    columns = {"question": drawn.questions, "references": [[text] for text in drawn.references], "candidate": drawn.candidates}
    return pd.DataFrame(columns).sample(rows, replace=True, random_state=0).reset_index(drop=True).rename_axis("id").reset_index()


def run(*command: object, folder: Path, cores: int) -> tuple[float, float]:
    """Return the seconds that Python takes with these arguments on so many cores, and the memory of its largest process in MB."""
    started = time.monotonic()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable, "HF_HUB_OFFLINE": "1"}
    here = psutil.Process()
    all_cores = here.cpu_affinity()
    # Children inherit it, and the engines start as many workers.
    here.cpu_affinity(all_cores[:cores])
    process = psutil.Popen([sys.executable, *map(str, command)], cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    here.cpu_affinity(all_cores)
    memory = 0
    while process.poll() is None:
        for member in [process, *process.children(recursive=True)]:
            try:
                memory = max(memory, member.memory_info().rss if member.name().startswith(("python", "ray::")) else 0)
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}")
    return time.monotonic() - started, memory / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--judge", default="general")
    parser.add_argument("--engines", nargs="+", default=["spark", "ray", "daft"], choices=["spark", "ray", "daft"])
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2])
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = answers(options.rows)
        table.to_parquet(folder / "answers.parquet", row_group_size=-(-options.rows // GROUPS))
        table.head(1).to_parquet(folder / "one.parquet")
        distinct = len(table.astype(str).drop_duplicates(["question", "references", "candidate"]))
        print(f"{timing.machine()}\n{len(table)} rows, {distinct} of them distinct; judge: {options.judge}\n", flush=True)
        expected = None
        for cores in options.cores:
            for engine in ("command", *options.engines):
                seconds, memory = score(engine, "answers.parquet", options.judge, folder, cores)
                start, _ = score(engine, "one.parquet", options.judge, folder, cores)
                score_file = folder / f"{engine}-answers.parquet"
                scored = pd.read_parquet(score_file).sort_values("id", ignore_index=True)
                expected = scored if expected is None else expected
                assert scored["id"].equals(expected["id"]), f"{engine}: rows are missing or repeated"
                differ = (scored[["verdict", "reason"]].fillna("") != expected[["verdict", "reason"]].fillna("")).any(axis=1).sum()
                lines.append([engine, cores, f"{len(table) / (seconds - start):.0f}", f"{start:.0f}", f"{memory:.0f}", differ])
                print(f"{engine}, {cores} cores: {seconds:.0f} s", file=sys.stderr, flush=True)
    header = (
        "engine",
        "cores",
        "rows/s",
        "seconds for one row",
        "MB of the largest Python process",
        "verdicts or reasons that differ",
    )
    print(timing.table(header, lines))


def score(engine: str, source: str, judge: str, folder: Path, cores: int) -> tuple[float, float]:
    target = f"{engine}-{source}"
    if engine == "command":
        (folder / target).unlink(missing_ok=True)
        call = "from bert_judge.cli import app; app()"
        return run("-c", call, "score", source, "--judge", judge, "-o", target, folder=folder, cores=cores)
    shutil.rmtree(folder / target, ignore_errors=True)
    return run(ROOT / "examples" / f"{engine}_scores.py", source, target, judge, folder=folder, cores=cores)


if __name__ == "__main__":
    main()
