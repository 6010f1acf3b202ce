"""A copy of the workflow in a folder of its own, and its runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from helpers.forked import SITE, run_snakemake
from helpers.script_server import start_server

PROJECT = Path(__file__).parents[2]
WORKFLOW = ("Snakefile", "rules", "workflow_scripts", "profiles", "envs", "report")
NOTHING = "Nothing to be done"
MESSAGE = re.compile(r"^(?:Job \d+|localrule \S+|rule \S+): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """A run of Snakemake that has ended.

    Attributes:
        code: exit status.
        text: all that it printed.
    """

    code: int
    text: str

    @property
    def jobs(self) -> set[str]:
        """Messages of the jobs that ran or would run."""
        return set(MESSAGE.findall(self.text))

    def told(self, start: str) -> set[str]:
        """What it printed from `start` to the end of the line; jobs that say the same count once.

        Whatever stands before it is left out: Snakemake ends its own lines in a second write, and a job's can come between.
        """
        return set(re.findall(re.escape(start) + ".*", self.text))

    @property
    def idle(self) -> bool:
        return self.code == 0 and NOTHING in self.text


def edited_library(folder: Path, name: str, old: str, new: str) -> Path:
    """A copy of the library in which a text of a file is replaced."""
    package = folder / "bert_judge"
    if not package.exists():
        ignored = shutil.ignore_patterns("__pycache__", "general", "vendor")
        shutil.copytree(PROJECT / "bert_judge", package, ignore=ignored)
        (package / "judges/bert/general").symlink_to(PROJECT / "bert_judge/judges/bert/general")
    source = (package / name).read_text("utf-8")
    assert old in source
    (package / name).write_text(source.replace(old, new, 1), "utf-8")
    return folder


class Workspace:
    """A folder with the workflow, a configuration and results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, config: Mapping[str, Any]) -> Workspace:
        folder.mkdir(parents=True, exist_ok=True)
        for name in WORKFLOW:
            source = PROJECT / name
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy2(source, folder / name)
        shutil.copy2(Path(__file__).with_name("mini_tasks.py"), folder)
        made = cls(folder)
        made.configure(config)
        return made

    def copy(self, folder: Path) -> Workspace:
        """The same with all results and Snakemake's memory of them."""
        shutil.copytree(self.folder, folder)
        return Workspace(folder)

    @property
    def config(self) -> dict[str, Any]:
        return yaml.safe_load((self.folder / "config.yaml").read_text())

    def configure(self, config: Mapping[str, Any]) -> None:
        (self.folder / "config.yaml").write_text(yaml.safe_dump(dict(config), sort_keys=False))

    def run(self, *arguments: str) -> Result:
        """Run Snakemake to its end."""
        with tempfile.NamedTemporaryFile(suffix=".log") as output:
            environment = self.environment() | {"SCRIPT_SERVER": start_server()}
            code = run_snakemake(self._options(*arguments), self.folder, environment, Path(output.name))
            return Result(code, Path(output.name).read_text("utf-8", errors="replace"))

    def done(self, *arguments: str) -> Result:
        """Run Snakemake and insist that it succeeds."""
        result = self.run(*arguments)
        assert result.code == 0, result.text[-6000:]
        return result

    def planned(self, *arguments: str) -> set[str]:
        """Messages of the jobs that a run would start."""
        return self.done("--dry-run", *arguments).jobs

    def planned_with(self, library: Path, *arguments: str) -> set[str]:
        """Messages of the jobs that a run would start if the library in the folder `library` were installed."""
        paths = os.pathsep.join([str(SITE), str(library)])
        command = self._command("--dry-run", *arguments)
        environment = self.environment() | {"PYTHONPATH": paths}
        ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, (ended.stdout + ended.stderr)[-6000:]
        return Result(ended.returncode, ended.stdout + ended.stderr).jobs

    def kill_when(self, ready: Callable[[], bool], *arguments: str) -> None:
        """Start a run and kill it with all its jobs, SIGKILL, as soon as `ready()`."""
        process = subprocess.Popen(
            self._command(*arguments),
            cwd=self.folder,
            env=self.environment() | {"PAUSE_AFTER_SHARD": "1"},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 600
        while not ready():
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline, "the moment to kill the run never came"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def found(self, pattern: str) -> list[Path]:
        return sorted(self.folder.glob(pattern))

    def has_checkpoint(self, stage: str) -> bool:
        """Whether a training has saved its state to the end: the file that comes last is there before it is whole."""
        for path in self.found(f"results/.work/{stage}/*/checkpoint-*/trainer_state.json"):
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                json.loads(path.read_text())
                return True
        return False

    def log(self, job: str) -> str:
        return (self.folder / "logs" / f"{job}.log").read_text()

    def contents(self) -> dict[str, bytes]:
        """Path → content of every result; of a table its rows only, because its metadata hold the time."""
        return {
            str(path.relative_to(self.folder)): pq.read_table(path).replace_schema_metadata().to_pandas().to_json().encode()
            if path.suffix == ".parquet"
            else path.read_bytes()
            for path in self._results()
        }

    def times(self) -> dict[str, int]:
        """Path → time of the last change of every result."""
        return {str(path.relative_to(self.folder)): path.stat().st_mtime_ns for path in self._results()}

    def changed_since(self, before: Mapping[str, int]) -> set[str]:
        """Results that were written after `before = times()`."""
        return {path for path, changed in self.times().items() if before.get(path) != changed}

    def _results(self) -> list[Path]:
        # The note of whose summary it is: not a result.
        hidden = {".work", "benchmarks", "configuration.txt"}
        folder = self.folder / "results"
        return [p for p in sorted(folder.rglob("*")) if p.is_file() and not hidden & set(p.relative_to(folder).parts)]

    def _options(self, *arguments: str) -> list[str]:
        # Several test processes share the cores already.
        return ["--cores", "1" if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)) > 1 else "2", *arguments]

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *self._options(*arguments)]

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("BERT_JUDGE_DATA", "PYTHONPATH")}
        # The library of this checkout, wherever the installed one lies.
        return kept | {"PYTHONPATH": os.pathsep.join([str(SITE), str(PROJECT)])}
