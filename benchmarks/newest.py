"""Whether the program works with the newest releases of its dependencies, which `pip install` takes and the lock does not.

    python benchmarks/newest.py [--keep FOLDER]

Installs this checkout with `test` into an environment of its own, without constraints, prints the packages whose versions differ
from the lock, and runs there: the example (its file compared with that of the environment that runs this script), a small training,
a small run, and the golden results. Exits with code 1 if one of them fails. Run it by hand: what it prints depends on the day.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Rows of the small training: every third answer is wrong. `contains` is right on all of them, so the judge is kept by force only.
ROWS, CITIES = 180, ("Paris", "Rome", "Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Delhi", "Tunis", "Seoul", "Doha", "Bern")
TESTS = ("tests/unit/test_golden.py", "tests/workflow/test_reruns.py")


def locked_versions() -> dict[str, str]:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE))


def installed_versions(python: Path) -> dict[str, str]:
    listing = run([str(python), "-m", "pip", "list", "--format", "freeze"], ROOT)
    return dict(line.split("==") for line in listing.splitlines() if "==" in line)


def run(command: Sequence[str], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_CONSTRAINT")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def score_example(program: str, folder: Path) -> str:
    folder.mkdir()
    run([program, "score", "--example"], folder)
    return (folder / "example.scored.csv").read_text("utf-8")


def write_labelled_rows(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "reference", "answer", "label"])
        for row in range(ROWS):
            city, is_correct = CITIES[row % len(CITIES)], row % 3 > 0
            answer = city if is_correct else CITIES[(row + 1) % len(CITIES)]
            writer.writerow([f"Which city has the number {row}?", city, f"I think that it is {answer}.", int(is_correct)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="folder of the environment, which is kept; by default a temporary one")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = (options.keep or folder / "environment").absolute()
        venv.create(environment, with_pip=True)
        python, program = environment / "bin" / "python", str(environment / "bin" / "bert-judge")
        run([str(python), "-m", "pip", "install", "--quiet", "--no-compile", f"{ROOT}[test]"], folder)
        locked = locked_versions()
        print(f"{datetime.date.today()}: versions that differ from the lock")
        for name, version in sorted(installed_versions(python).items()):
            if name.lower() in locked and locked[name.lower()] != version:
                print(f"  {name} {locked[name.lower()]} -> {version}", flush=True)
        write_labelled_rows(folder / "labelled.csv")
        reference = score_example(str(Path(sys.executable).with_name("bert-judge")), folder / "locked")
        checks = {
            "example": lambda: score_example(program, folder / "newest") == reference,
            "training": lambda: run([program, "train", "labelled.csv", "-o", "judge", "--force"], folder),
            "golden results, small run": lambda: run([str(python), "-m", "pytest", "-q", *TESTS], ROOT),
        }
        for name, check in checks.items():
            try:
                passed = bool(check())
            except RuntimeError as error:
                print(error)
                passed = False
            print(f"{name}: {'passed' if passed else 'FAILED'}", flush=True)
            failures += [] if passed else [name]
    sys.exit(f"failed: {', '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
