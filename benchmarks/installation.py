"""Size and speed of the plain installation, in an environment of its own.

    python benchmarks/installation.py [--keep FOLDER]
    python benchmarks/installation.py --extras

Builds the wheel, installs it into an empty environment (`pip install --no-compile`, from the configured index) and prints packages
and megabytes, without pip and setuptools, which every environment has, and processor seconds and peak memory of `--help`, of the
first verdict on a file with one row that the encoder reads, and of one that needs no encoder. It scores the example, and serves one
request. With BERT_JUDGE_DATA, it compares scores in float32 and the verdicts of the automatic choice with those of torch in
float32, on 3,000 rows of five files, in the environment that runs this script. Exits with code 1 if packages or megabytes exceed
their limit; seconds and memory depend on the processor, and are printed beside those of `import pandas`.

`--extras` prints the packages and megabytes of each extra instead, without bytecode, in the environment that runs this script.
torch counts as it is installed: its build for CPUs, or the one with CUDA and the packages that this brings.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import venv
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
ROW = {
    "question": "Why do leaves change color in autumn?",
    "reference": "Chlorophyll breaks down and other pigments become visible",
    "answer": "The green pigment decays, so that the yellow and red ones show",
}
# It needs no encoder.
SHORT_ROW = {"question": "Capital of France?", "reference": "Paris", "answer": "It is Paris."}
NOT_COUNTED = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
EXTRAS = ("api", "hub", "excel", "gguf", "rouge", "workflow", "train", "llm", "all")
LIMITS = {"packages": 60.0, "megabytes": 700.0}
FILES = ("nq_open_human", "truthfulqa_human", "sra_scientsbank", "gsm8k_44_models", "simpleqa_czech")
ROWS_PER_FILE = 600
MAX_SCORE_DIFFERENCE = 1e-3
PREDICT = """
import json, sys
from bert_judge.judges.bert.judge import BERTJudge
rows = json.load(open(sys.argv[1], encoding="utf-8"))
judge = BERTJudge(**json.loads(sys.argv[2]))
json.dump(judge.predict(*rows), open(sys.argv[3], "w"))
"""


def install(environment: Path) -> Path:
    """Install the wheel of this checkout; return the environment's Python."""
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(environment / "wheel"), str(ROOT)], check=True)
    [wheel] = (environment / "wheel").glob("*.whl")
    subprocess.run([*pip, "install", "--no-compile", "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    return python


def measure_size(packages: Path) -> tuple[int, float]:
    """Return the number of packages and their megabytes."""
    names = [path.name for path in packages.glob("*.dist-info") if not path.name.startswith(NOT_COUNTED)]
    files = [path for path in packages.rglob("*") if path.is_file() and path.relative_to(packages).parts[0] not in NOT_COUNTED]
    return len(names), sum(path.stat().st_size for path in files) / 1e6


def measure(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its processor seconds and peak megabytes, the largest process counting."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], cwd=folder, capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    return seconds, kilobytes * 1024 / 1e6


def ask_server(program: str) -> str:
    """Serve the default judge and return its verdict on an answer that is correct."""
    server = subprocess.Popen([program, "serve", "--judge", "general", "--port", "0"], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        host, port = next(found for line in server.stderr if (found := re.findall(r"http://([\d.]+):(\d+)", line)))[0]
        # A full pipe would stop it.
        threading.Thread(target=list, args=(server.stderr,), daemon=True).start()
        # It logs its address just before it listens.
        while server.poll() is None:
            with suppress(ConnectionRefusedError):
                socket.create_connection((host, int(port))).close()
                break
        body = json.dumps({"references": "Paris", "candidate": "It is Paris."}).encode()
        request = Request(f"http://{host}:{port}/v1/judge", body, {"Content-Type": "application/json"})
        with urlopen(request) as response:
            return str(json.load(response)["verdict"])
    finally:
        server.terminate()
        server.wait()


def compare_scores(python: Path, data: Path, folder: Path) -> tuple[int, float, int]:
    """Return the number of rows, the largest difference of scores from torch's, and the number of other verdicts.

    Scores are compared in float32; the verdicts are those of the automatic choice, which rounds, and rechecks close ones.
    """
    import pandas as pd

    parts = [pd.read_parquet(data / f"{name}.parquet", columns=["question", "references", "candidate"]) for name in FILES]
    frame = pd.concat([part.sample(min(ROWS_PER_FILE, len(part)), random_state=0) for part in parts])
    rows = [frame["question"].tolist(), [list(texts) for texts in frame["references"]], frame["candidate"].tolist()]
    (folder / "rows.json").write_text(json.dumps(rows), "utf-8")
    scores = []
    for interpreter, settings in (
        (str(python), {"precision": "float32"}),
        (str(python), {}),
        (sys.executable, {"backend": "torch", "precision": "float32"}),
    ):
        output = folder / "scores.json"
        subprocess.run([interpreter, "-c", PREDICT, str(folder / "rows.json"), json.dumps(settings), str(output)], check=True)
        scores.append(json.loads(output.read_text("utf-8")))
    exact, automatic, expected = scores
    difference = max(abs(a - b) for a, b in zip(exact, expected, strict=True))
    verdicts = sum((a >= 0.5) != (b >= 0.5) for a, b in zip(automatic, expected, strict=True))
    return len(expected), difference, verdicts


def closure(requirements: list[str], extras: dict[str, list[str]]) -> set[str]:
    """Return the names of the installed packages that requirements bring; `extras` are those of this project."""
    names: set[str] = set()
    pending = [(Requirement(text), "") for text in requirements]
    while pending:
        requirement, extra = pending.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name == "bert-judge":
            pending += [(Requirement(text), "") for inner in requirement.extras for text in extras[inner]]
            continue
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if name not in names or requirement.extras:
            names.add(name)
            pending += [(Requirement(text), inner) for text in needed for inner in ("", *requirement.extras)]
    return names


def megabytes(name: str) -> float:
    files = importlib.metadata.files(name) or []
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def print_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    plain = closure(project["dependencies"], extras)
    print("| extra | packages | MB |\n|---|---|---|")
    print(f"| (plain) | {len(plain)} | {sum(map(megabytes, plain)):,.0f} |")
    for extra in EXTRAS:
        added = closure(extras[extra], extras) - plain
        print(f"| `{extra}` | +{len(added)} | +{sum(map(megabytes, added)):,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="folder of the environment, which is kept; by default a temporary one")
    parser.add_argument("--extras", action="store_true", help="print the size of each extra, and measure nothing else")
    options = parser.parse_args()
    if options.extras:
        print_extras()
        return
    # It would make every call compile every module.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as temporary:
        environment, folder = options.keep or Path(temporary) / "environment", Path(temporary)
        started = time.monotonic()
        python = install(environment.absolute())
        print(f"installed in {time.monotonic() - started:.0f} s", flush=True)
        [packages] = environment.glob("lib/python3*/site-packages")
        results = dict(zip(("packages", "megabytes"), measure_size(packages), strict=True))
        for name, row in (("answers", ROW), ("short", SHORT_ROW)):
            (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        program, score = str(python.with_name("bert-judge")), ["score", "answers.jsonl", "--force"]
        for arguments in (["--help"], score):
            # The first call compiles the modules.
            measure([program, *arguments], folder)
        for name, value in results.items():
            print(f"{name}: {value:.4g} (at most {LIMITS[name]:g})", flush=True)
        for name, command in {
            "import pandas": [str(python), "-c", "import pandas"],
            "--help": [program, "--help"],
            "first verdict": [program, *score],
            "first verdict without the encoder": [program, "score", "short.jsonl", "--force"],
        }.items():
            print("{}: {:.2f} s of processor time, {:.0f} MB".format(name, *measure(command, folder)), flush=True)
        failed = [name for name, value in results.items() if value > LIMITS[name]]
        subprocess.run([program, "score", "--example"], cwd=folder, check=True)
        print(f"served: {(served := ask_server(program))}", flush=True)
        failed += ["served"] if served != "correct" else []
        if data := os.environ.get("BERT_JUDGE_DATA"):
            count, difference, verdicts = compare_scores(python, Path(data), folder)
            print(f"{count} rows: scores differ from torch's by at most {difference:.1e}, {verdicts} verdicts differ")
            failed += ["scores"] if difference > MAX_SCORE_DIFFERENCE or verdicts else []
        compileall.compile_dir(packages, quiet=2)
        print(f"megabytes with all modules compiled, as pip does by default: {measure_size(packages)[1]:.0f}")
    sys.exit(f"exceeded: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
