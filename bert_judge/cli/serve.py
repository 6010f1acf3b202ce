"""`bert-judge serve`: serve judges over HTTP and on a web page."""

from pathlib import Path
from typing import Annotated

import typer

from bert_judge.cli.options import Judges, Policy
from bert_judge.runtime.logs import job_log


def serve(
    judge: Judges = None,
    policy: Policy = None,
    config: Annotated[
        list[Path] | None, typer.Option("--config", "-c", metavar="CONFIG", help="Configuration whose judges are served.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Results folder of a run.")] = Path("results"),
    host: Annotated[str, typer.Option(help="Address; any other than localhost needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8000,
    token_file: Annotated[Path | None, typer.Option(help="File with the token. Default: the variable BERT_JUDGE_TOKEN.")] = None,
    as_: Annotated[list[str] | None, typer.Option("--as", help="Further name of the first judge, such as gpt-4o-mini.")] = None,
    templates: Annotated[
        Path | None, typer.Option(help="YAML file of judge prompts that chat clients send, in addition to the known ones.")
    ] = None,
    max_rows: Annotated[int, typer.Option(min=1, help="Maximum rows per request.")] = 1000,
    queue_rows: Annotated[int, typer.Option(min=1, help="Maximum rows queued per judge.")] = 20_000,
    rate: Annotated[float, typer.Option(min=0, help="Maximum requests per second and client; 0: unlimited.")] = 100.0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per request.")] = 120.0,
) -> None:
    """Serve judges over HTTP (POST /v1/judge) and on a web page.

    On SIGTERM or Ctrl-C, accepted requests are answered before the server exits.
    """
    with job_log(None, offline=False):
        # Imported lazily, so that `--help` responds at once.
        from bert_judge.serve import server
        from bert_judge.serve.limits import Limits

        server.serve(
            host=host,
            port=port,
            judges=judge or [],
            policy=policy,
            config_files=config or [],
            results=results,
            token_file=token_file,
            aliases=as_ or [],
            templates=templates,
            limits=Limits(rows=max_rows, queue_rows=queue_rows, rate=rate, answer_seconds=seconds),
        )
