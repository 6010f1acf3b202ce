"""Programs whose judge is a chat model get their verdicts from `bert-judge serve` instead."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.needed_packages import ALL_THERE, need
from helpers.serve_clients import Exact, guarded, running

from bert_judge.serve.limits import Limits

SCRIPT = Path(__file__).with_name("chat_clients.py")
# Programs whose packages do not fit those of the others have an environment of their own.
ENVIRONMENTS = {"deepeval": "deepeval", **dict.fromkeys(("verifiers", "langchain", "llama_index", "ragas"), "harnesses")}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    need("fastapi", "uvicorn")
    limits = Limits(rate=0)
    guard, pool = guarded(Exact(), limits, aliases=["gpt-4o-mini"])
    with running(guard, pool, limits) as (url, _):
        yield f"{url}/v1"


@pytest.mark.framework("fastapi")
@pytest.mark.parametrize(
    ("program", "verdicts"),
    [
        ("verifiers", "1.0 0.0"),
        ("inspect", "C I C I"),
        ("lm_eval", "1 0"),
        ("langchain", "1 0"),
        ("llama_index", "True False"),
        ("ragas", "1.0 0.0"),
        ("deepeval", "1.0 0.0 1 0"),
    ],
)
def test_a_program_gets_its_verdicts(address: str, tmp_path: Path, program: str, verdicts: str) -> None:
    python = Path(sys.executable)
    if environment := ENVIRONMENTS.get(program):
        python = Path(sys.prefix) / environment / "bin" / "python"
        if not python.exists():
            (pytest.fail if os.environ.get(ALL_THERE) else pytest.skip)(f"make test-frameworks installs {program}")
    else:
        need({"inspect": "inspect_ai"}.get(program, program), "openai")
    settings = {
        **{"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none", "MODEL_VERSION": "gpt-4o-mini"},
        **{"BERT_JUDGE_BASE_URL": address, "BERT_JUDGE_API_KEY": "none"},
        **{"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1"},
    }
    command = [str(python), str(SCRIPT), program]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == verdicts
