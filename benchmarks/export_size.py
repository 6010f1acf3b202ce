"""Processor time and peak memory of `bert-judge export` for a scored file with a million answers.

    python benchmarks/export_size.py [--rows 1000000] [--forms lm_eval inspect …]

Prints one line per format. Formats of accuracies share almost the same work. The last column is the peak memory for ten rows.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from import_size import jsonl, measured, question

from bert_judge.cli.export_files import FORMATS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--forms", nargs="+", choices=FORMATS, default=FORMATS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        many, few = scored(Path(name) / "many.jsonl", chosen.rows), scored(Path(name) / "few.jsonl", 10)
        print(f"{chosen.rows:,} scored answers, {many.stat().st_size / 1e6:,.0f} MB\n")
        print("| form | processor, s | peak, MB | of ten rows |\n|---|---|---|---|")
        for form in chosen.forms:
            (_, seconds, peak), (_, _, least) = (exported(path, form) for path in (many, few))
            print(f"| {form} | {seconds:.0f} | {peak:.0f} | {least:.0f} |", flush=True)


def scored(path: Path, rows: int) -> Path:
    same = {"references": ["Paris"], "candidate": "Lyon", "model": "m", "task": "gsm8k_test", "verdict": "incorrect", "score": 0.1}
    return jsonl(path, ({"id": str(n), "attempt": 0, "question": question(n), "reason": "", **same} for n in range(rows)))


def exported(path: Path, form: str) -> tuple[str, float, float]:
    with tempfile.TemporaryDirectory() as name:
        return measured(["export", str(path), "--to", form, "-o", f"{name}/out.{form}"])


if __name__ == "__main__":
    main()
