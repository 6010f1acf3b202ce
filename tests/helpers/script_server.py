"""Run the jobs' scripts in forks of one process that has already imported the library and torch: a start takes no imports.

A job still starts `python SCRIPT`. The module `sitecustomize` of the tests, which that process loads first, passes the script on to
the server instead of running it, and ends with its exit code.
"""

from __future__ import annotations

import ast
import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
# Imported by the judges and generators that the scripts load by name.
PRELOADED = (
    "snakemake.script",
    "snakemake.logging",
    "snakemake.iocontainers",
    "bert_judge.judges.bert.judge",
    "bert_judge.judges.lexical.judge",
    "bert_judge.judges.pairwise.encoder",
    "bert_judge.candidates.generators.hf",
    "transformers.models.bert.modeling_bert",
    "transformers.models.llama.modeling_llama",
)


@cache
def start_server() -> str:
    """Start the server of this test process, which ends with it; return the address."""
    folder = tempfile.TemporaryDirectory(prefix="scripts-")
    atexit.register(folder.cleanup)
    address = str(Path(folder.name, "socket"))
    # The jobs of these scripts are offline; the Hugging Face libraries read that when they are imported.
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).with_name("site")), str(PROJECT)])
    server = subprocess.Popen([sys.executable, __file__, address], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.kill)
    assert server.stdout is not None and server.stdout.readline() == b"ready\n"
    return address


def _scripts_modules() -> set[str]:
    """Return the modules of the library that the scripts import."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (PROJECT / "workflow_scripts").glob("*.py")]
    return {
        node.module or ""
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bert_judge")
    }


def _serve(address: str) -> None:
    for name in sorted({*PRELOADED, *_scripts_modules()}):
        importlib.import_module(name)
    # The garbage collector of a fork would copy every page that it looks at.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    # Finished handlers are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    # At the end of its input, the test process has ended.
    while select.select([listener, sys.stdin], [], [])[0] == [listener]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _handle(connection)
            return
        connection.close()


def _handle(connection: socket.socket) -> None:
    """Run the script of a request in a fork, which returns, and send its exit code."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().readline())
    if script := os.fork():
        _, status = os.waitpid(script, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    connection.close()
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = [request["script"]]
    sys.path[0] = str(Path(request["script"]).parent)
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    os._exit(_run(request["script"]))


def _run(script: str) -> int:
    """Run a script and return its exit code, without the second that the interpreter needs to free all modules."""
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does at its top level
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    _serve(sys.argv[1])
