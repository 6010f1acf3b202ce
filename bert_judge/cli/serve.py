"""`bert-judge serve`: judges behind an HTTP interface and a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bert_judge.cli.file_commands import Judges
from bert_judge.runtime.errors import InputError


def serve(
    judge: Judges = None,
    configfile: Annotated[list[Path] | None, typer.Option("--configfile", "-c", help="Serve its judges.")] = None,
    results: Annotated[Path, typer.Option(help="Folder of the run: its judges, its answers, its audit sheet.")] = Path("results"),
    host: Annotated[str, typer.Option(help="Address to serve on; beyond this machine only with a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    token_file: Annotated[Path | None, typer.Option(help="File with the token; else the variable BERT_JUDGE_TOKEN.")] = None,
    labels: Annotated[Path | None, typer.Option(help="The audit's marks (CSV); the configuration's, or labels.csv.")] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the web page too.")] = True,
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of a request.")] = 1000,
    queue_rows: Annotated[int, typer.Option(min=1, help="Most rows that wait for a judge.")] = 20_000,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second of one client; 0: any number.")] = 100.0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Longest time from a request to its answer.")] = 120.0,
) -> None:
    """Judge over HTTP (POST /v1/judge) and on a web page, with the verdicts of `bert-judge score`.

    SIGTERM or Ctrl-C ends it when all it has taken is answered.
    """
    from bert_judge.runtime.logs import job_log

    with job_log(None, offline=False):
        try:
            from bert_judge.serve.limits import Limits
            from bert_judge.serve.server import ServeOptions
            from bert_judge.serve.server import serve as run
        except ModuleNotFoundError as error:
            raise InputError(f"serve: {error.name} is not installed; pip install 'bert-judge[serve]'") from error

        limits = Limits(rows=max_rows, queue_rows=queue_rows, rate=rate, answer_seconds=seconds)
        run(ServeOptions(host, port, judge or [], configfile or [], results, token_file, labels, page, limits))
