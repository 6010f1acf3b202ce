"""Start and end of a workflow run: to which configuration the summary belongs, where its pages are, and what failed first."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bert_judge.runtime.errors import ConfigError
from bert_judge.runtime.outputs import atomic

# The files directly in these folders summarise a run; other tables belong to a model, a task or a judge.
FOLDERS = tuple(map(Path, ("results", "results/audit", "results/attacks")))
# The configuration whose summary is there.
OWNER_FILE = Path("results/configuration.txt")
# What a run may end with, in this order.
PAGES = {
    "Report": "results/report.html",
    "Ranks": "results/ranks.md",
    "Attack rates": "results/attacks/rates.parquet",
    "Sheet to label": "results/audit/sheet.html",
    "Corrected accuracies": "results/audit/corrected_accuracy.parquet",
    "Certificates of the judges": "results/audit/certificate.parquet",
    "Students": "results/students.parquet",
}
_FAILED_JOB = re.compile(r"^Error in (?:rule|group) (?P<rule>\S+):\n(?P<details>(?: {4}.*\n)*)", re.MULTILINE)
_JOB_LOG = re.compile(r"^ {4}log: (\S+?)(?: \(check log|,|$)", re.MULTILINE)
# Lines that are no reason: records below ERROR, and what belongs to them or to a traceback.
_NO_REASON = re.compile(r"\d{4}-\d\d-\d\d \S+ (?!ERROR)[A-Z]+ |\s|$")
_ERROR_LINE = re.compile(r"^\S+ \S+ ERROR \S+: (?!the job failed$)(.+)$", re.MULTILINE)

# In the line before the error of a job that a signal ended, of Snakemake 9.27.
_SIGNAL = re.compile(r"^Command '.*' died with <Signals\.(\w+)", re.MULTILINE)


def claim(outputs: Iterable[Path], config: Path, *, workflow: Path) -> None:
    """Note that the summary in results/ belongs to a configuration, if a run is going to write it.

    Args:
        config: its configuration file; of several, the first, whose keys the others override.
        workflow: folder of the workflow, whose configurations have the same name wherever it is.

    Raises:
        ConfigError: there is a summary of another configuration.
    """
    if not any(path.parent in FOLDERS for path in outputs):
        return
    config, workflow = config.resolve(), workflow.resolve()
    name = os.path.relpath(config, workflow if config.is_relative_to(workflow) else None)
    owner = OWNER_FILE.read_text("utf-8") if OWNER_FILE.exists() else name
    if owner != name and any(path.suffix in (".parquet", ".csv") for folder in FOLDERS for path in folder.glob("*.*")):
        raise ConfigError(
            [
                f"results/ has the standings and the report of {owner}, which a run of {name} would replace: "
                f"choose another folder with --directory runs/{config.stem}, or delete {OWNER_FILE} to replace them"
            ]
        )
    if not OWNER_FILE.exists() or owner != name:
        with atomic(OWNER_FILE) as temporary:
            temporary.write_text(name, "utf-8")


def new_pages(since: float) -> Iterator[str]:
    """Yield a line per page that was written after a time in seconds."""
    for title, path in PAGES.items():
        if Path(path).exists() and Path(path).stat().st_mtime >= since:
            yield f"{title}: {Path(path).absolute()}"


def first_failure(snakemake_logs: Sequence[str]) -> str:
    """Describe the first failed job in the logs of Snakemake: how many failed, its rule, the reason, and its own log."""
    snakemake_log = "\n".join(Path(path).read_text("utf-8", errors="replace") for path in snakemake_logs)
    failures = list(_FAILED_JOB.finditer(snakemake_log))
    if not failures:
        return f"The run stopped before the first job; the reason is in {', '.join(snakemake_logs)}"
    job_log = _JOB_LOG.search(failures[0]["details"])
    text = Path(job_log[1]).read_text("utf-8", errors="replace") if job_log and Path(job_log[1]).exists() else ""
    reasons = _ERROR_LINE.findall(text) or [line for line in text.splitlines() if not _NO_REASON.match(line)]
    reason = reasons[-1].strip() if reasons else _describe_end(snakemake_log[: failures[0].start()])
    count = "1 job failed" if len(failures) == 1 else f"{len(failures)} jobs failed, first"
    return f"{count}: {failures[0]['rule']}: {reason}" + (f"\nIts log: {job_log[1]}" if job_log else "")


def _describe_end(log_before: str) -> str:
    """Describe how a job ended that left no reason, such as one that the system killed, from the log before its error."""
    signals = _SIGNAL.findall(log_before)
    if not signals:
        return "ended without a message; if it ran on another machine, ask its scheduler"
    is_killed = signals[-1] == "SIGKILL"
    return f"was ended by {signals[-1]}{', perhaps for its memory' if is_killed else ''}; the next run resumes it"
