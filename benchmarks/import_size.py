"""Processor time and peak memory of `bert-judge import` for a file with a million answers.

    python benchmarks/import_size.py [--rows 1000000] [--kinds openai_batch helm …]

Each file, with its companion files, is written to a temporary folder, imported to JSONL and removed before the next. Questions
have 300 characters. The last column is the peak memory of an import of ten rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LOG = Path("tests/fixtures/frameworks/inspect/capitals.json")
Make = Callable[[Path, range], list[Any]]
PEAK = """
import sys
from bert_judge.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def question(number: int) -> str:
    return f"{number}: {'which of these is it? ' * 12}"


def jsonl(path: Path, rows: Iterable[Any]) -> Path:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def document(path: Path, rows: Iterable[Any], head: str = "[", foot: str = "]") -> Path:
    """A JSON document round members, which are texts of JSON already if they are texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(head)
        for number, row in enumerate(rows):
            file.write(f"{',' if number else ''}{row if isinstance(row, str) else json.dumps(row)}\n")
        file.write(foot)
    return path


def lm_eval(folder: Path, numbers: range) -> list[Any]:
    asked = {"gen_args_0": {"arg_0": "Question: which of these is it?", "arg_1": {"until": []}}}
    same = {"target": "Paris", "arguments": asked, "resps": [["Lyon"]], "filtered_resps": ["Lyon"], "filter": "none", "metrics": []}
    (folder / "m").mkdir()
    rows = ({"doc_id": n, "doc": {"question": question(n), "answer": "Paris"}, **same} for n in numbers)
    return [jsonl(folder / "m" / "samples_task_2026-01-01T00-00-00.000000.jsonl", rows)]


def lighteval(folder: Path, numbers: range) -> list[Any]:
    said = {"input": "", "text": ["Lyon"], "text_post_processed": None, "logprobs": []}
    path = folder / "details" / "org" / "m" / "2026-01-01T00-00-00.000000"
    path.mkdir(parents=True)
    writer = None
    for start in range(0, len(numbers), 10_000):
        part = numbers[start : start + 10_000]
        docs = [{"query": question(n), "choices": ["Paris"], "gold_index": [0], "id": str(n), "task_name": "t"} for n in part]
        rows = pa.Table.from_pylist([{"doc": doc, "model_response": said, "metric": {"em": 0.0}} for doc in docs])
        writer = writer or pq.ParquetWriter(path / f"details_a|t|0_{path.name}.parquet", rows.schema)
        writer.write_table(rows)
    if writer:
        writer.close()
    return list(path.iterdir())


def inspect(folder: Path, numbers: range) -> list[Any]:
    """A log as inspect_ai writes it, after one that it wrote."""
    log = json.loads(LOG.read_text("utf-8"))
    sample = log.pop("samples")[0] | {"epoch": 1}
    log["eval"]["dataset"]["sample_ids"] = [f"q{n}" for n in numbers]
    log["eval"]["config"]["epochs"] = 1
    with zipfile.ZipFile(folder / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for n in numbers:
            archive.writestr(f"samples/q{n}_epoch_1.json", json.dumps(sample | {"id": f"q{n}", "input": question(n)}))
    return [folder / "log.eval"]


def openai_batch(folder: Path, numbers: range) -> list[Any]:
    said = {"status_code": 200, "body": {"model": "m", "choices": [{"message": {"content": "Lyon"}}]}}
    responses = jsonl(folder / "output.jsonl", ({"custom_id": f"q{n}", "response": said} for n in numbers))
    asked = ({"custom_id": f"q{n}", "body": {"messages": [{"role": "user", "content": question(n)}]}} for n in numbers)
    right = ({"custom_id": f"q{n}", "reference": f"Paris {n}"} for n in numbers)
    return [responses, "--requests", jsonl(folder / "in.jsonl", asked), "--references", jsonl(folder / "gold.jsonl", right)]


def bert_as_a_judge(folder: Path, numbers: range) -> list[Any]:
    answers = document(folder / "task" / "model" / "candidates.json", (f'"Lyon {n}"' for n in numbers))
    questions = jsonl(folder / "task.jsonl", ({"question": question(n), "reference": "Paris"} for n in numbers))
    return [answers, "--references", questions, "--scores", document(folder / "scores.json", ("1" for _ in numbers))]


def judgelm(folder: Path, numbers: range) -> list[Any]:
    told = ({"question_id": n, "question_body": question(n), "answer1_body": "Lyon", "answer1_model_id": "m"} for n in numbers)
    right = jsonl(folder / "gold.jsonl", ({"question_id": n, "reference": {"text": f"Paris {n}"}} for n in numbers))
    return [jsonl(folder / "samples.jsonl", told), "--references", right]


def helm(folder: Path, numbers: range) -> list[Any]:
    right = [{"output": {"text": "Paris"}, "tags": ["correct"]}]
    asked = ({"input": {"text": question(n)}, "references": right, "id": f"id{n}"} for n in numbers)
    result = {"success": True, "completions": [{"text": "Lyon"}]}
    states = ({"instance": one, "request": {"model": "m"}, "result": result} for one in asked)
    head = '{"adapter_spec": {"method": "generation", "model": "m"}, "request_states": ['
    return [document(folder / "scenario_state.json", states, head, "]}")]


def rows_jsonl(folder: Path, numbers: range) -> list[Any]:
    same = {"references": "Paris", "candidate": "Lyon", "model": "m"}
    return [jsonl(folder / "rows.jsonl", ({"question": question(n), **same} for n in numbers))]


def rows_csv(folder: Path, numbers: range) -> list[Any]:
    with (folder / "rows.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["question", "references", "candidate", "model"])
        lines.writerows([question(n), "Paris", "Lyon", "m"] for n in numbers)
    return [folder / "rows.csv"]


def rows_parquet(folder: Path, numbers: range) -> list[Any]:
    """One row group, which is what most writers make of a million rows."""
    texts = pa.array([question(n) for n in numbers])
    same = {
        name: pa.array([said] * len(numbers)) for name, said in (("references", "Paris"), ("candidate", "Lyon"), ("model", "m"))
    }
    pq.write_table(pa.table({"question": texts, **same}), folder / "rows.parquet", row_group_size=len(numbers))
    return [folder / "rows.parquet"]


FRAMEWORKS: tuple[Make, ...] = (lm_eval, lighteval, helm, openai_batch, bert_as_a_judge, judgelm)
KINDS = (*FRAMEWORKS, inspect, rows_jsonl, rows_csv, rows_parquet)


def measured(command: list[str]) -> tuple[str, float, float]:
    """What `bert-judge` prints, its processor seconds, and its peak in megabytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run([sys.executable, "-c", PEAK, *command], stdout=subprocess.PIPE, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(told.split()[-1]) * 1024 / 1e6


def imported(make: Make, rows: int) -> tuple[float, float, float]:
    """Megabytes of the files, processor seconds of the import, and its peak in megabytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = ["import", *map(str, make(folder, range(rows))), "-o", str(folder / "out" / "answers.jsonl")]
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        (folder / "out").mkdir()
        told, seconds, peak = measured(command)
        assert f": {rows:,} answers" in told, told
        return size / 1e6, seconds, peak


def main() -> None:
    names = [make.__name__ for make in KINDS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="+", choices=names, default=names)
    chosen = parser.parse_args()
    print(f"| {chosen.rows:,} rows of | files, MB | processor, s | peak, MB | of ten rows |\n|---|---|---|---|---|")
    for make in KINDS:
        if make.__name__ in chosen.kinds:
            size, seconds, peak = imported(make, chosen.rows)
            print(f"| {make.__name__} | {size:,.0f} | {seconds:.0f} | {peak:.0f} | {imported(make, 10)[2]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
