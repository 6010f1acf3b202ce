"""Snakemake with one progress line: `python -m bert_judge.cli.snakemake_progress` takes the options of `snakemake`.

Snakemake's own text stays in its log, .snakemake/log. Jobs print their errors themselves, and the workflow prints its results.
"""

import logging
import sys

from snakemake.cli import main
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from bert_judge.cli.terminal import log, progress

NAME = "progress"
# What Snakemake says when a run has no job.
UP_TO_DATE = "Nothing to be done"
# The jobs have printed their errors, and the workflow repeats the first one at the end.
REPORTED_ERRORS = (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR)


class LogHandler(LogHandlerBase):
    """Shows the number of finished jobs, and errors of the run itself; the name is Snakemake's."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.finished = 0
        self._bar = progress("jobs done")
        self._advance = self._bar.__enter__()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.PROGRESS:
            done, total = vars(record)["done"], vars(record)["total"]
            self._advance(done / total, done - self.finished)
            self.finished = done
        elif (record.levelno >= logging.ERROR and event not in REPORTED_ERRORS) or record.getMessage().startswith(UP_TO_DATE):
            log(record.getMessage())

    def close(self) -> None:
        self._bar.__exit__(None, None, None)
        super().close()


if __name__ == "__main__":
    LoggerPluginRegistry().register_plugin(NAME, sys.modules[__name__])
    main(["--logger", NAME, *sys.argv[1:]])
