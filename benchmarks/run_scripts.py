"""Run scripts of the workflow without Snakemake: a file of jobs (`grids.Job.line`), one after the other in this process.

    python benchmarks/run_scripts.py JOBS.jsonl [FIRST]

Prints the processor seconds (including child processes) of the jobs from number FIRST on, and the memory of this process in
megabytes before them and at its peak. It imports almost nothing itself, so that one job costs what its script costs.
"""

import json
import resource
import runpy
import sys
import time
from pathlib import Path
from types import SimpleNamespace


class Files(list):
    """What Snakemake calls a named list: by number, and by name."""

    def __init__(self, named):
        super().__init__(path for value in named.values() for path in (value if isinstance(value, list) else [value]))
        self.__dict__.update(named)
        self.get, self.items = named.get, named.items


def seconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(path, first=0):
    started, before = seconds(), megabytes()
    with Path(path).open() as lines:
        for number, line in enumerate(lines):
            if number == first:
                started, before = seconds(), megabytes()
            job = json.loads(line)
            snakemake = SimpleNamespace(
                input=Files(job["input"]),
                output=Files(job["output"]),
                log=[job["log"]],
                params=SimpleNamespace(spec=job["spec"]),
                config=job["config"],
                resources={},
            )
            runpy.run_path(job["script"], {"snakemake": snakemake})
    print(json.dumps({"seconds": seconds() - started, "before": before, "peak": megabytes()}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
