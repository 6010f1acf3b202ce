"""Damaged judge folders and hostile files of answers: whatever they hold, a verdict or one line; no signal, no traceback, no hang.

`make test-slow` runs these; BERT_JUDGE_SEED chooses the bytes that are flipped. Each judge is loaded in a child of one process
that has imported everything; each file of answers is scored by a process of its own, whose memory is measured.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.workspace import PROJECT

from bert_judge.assets.prepare import GENERAL_FOLDER

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc"),
]
SEED = int(os.environ.get("BERT_JUDGE_SEED", time.time_ns() % 100_000))
# Each takes seconds, and every run draws other bytes.
FLIPS, SECONDS = 70, 900
FILES = (
    "config.json",
    "judge.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "trees.safetensors",
    "weights.int8.safetensors",
    "inputs.safetensors",
)

# Reads folders from stdin, and forks for each: prints how the child ended, and what it said.
LOADER = """
import io, os, sys, traceback
from contextlib import redirect_stderr
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.protocol import Row
from bert_judge.runtime.errors import InputError
for line in sys.stdin:
    read, write = os.pipe()
    if not (child := os.fork()):
        os.close(read)
        try:
            judge = BERTJudge(line.rstrip("\\n"), backend="torch", precision="float32")
            [label] = judge.judge([Row("", 0, "", "Capital?", ("Paris",), "It is Paris.")])
            said = f"verdict {label.verdict}"
        except InputError as error:
            said = "refused" if "\\n" not in str(error) else f"several lines: {error}"
        except BaseException:
            said = traceback.format_exc()
        os.write(write, said.encode()[-60_000:])
        os._exit(0)
    os.close(write)
    with open(read) as stream:
        said = stream.read()
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), repr(said), flush=True)
"""


@pytest.fixture(scope="module")
def load() -> Iterator[Callable[[Path], tuple[int, str]]]:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", LOADER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def load_folder(folder: Path) -> tuple[int, str]:
            process.stdin.write(f"{folder}\n")
            process.stdin.flush()
            code, said = process.stdout.readline().split(" ", 1)
            return int(code), said

        yield load_folder
        process.stdin.close()


def copy(folder: Path) -> Path:
    """A copy of the general judge without its sums, which would refuse any change before it is read."""
    return Path(shutil.copytree(GENERAL_FOLDER, folder, ignore=shutil.ignore_patterns("SHA256SUMS")))


def assert_handled(code: int, said: str, what: str) -> None:
    assert code == 0, f"{what}: ended with {code}"
    assert re.match(r"'(refused|verdict (correct|incorrect|invalid))'", said), f"{what}: {said}"


def test_flipped_bytes_of_a_judge(load: Callable[[Path], tuple[int, str]], tmp_path: Path) -> None:
    print(f"BERT_JUDGE_SEED={SEED}")
    draw, folder = random.Random(SEED), copy(tmp_path / "judge")
    for number in range(FLIPS):
        path = folder / FILES[number % len(FILES)]
        original = path.read_bytes()
        # Every other flip is in the header of the file, where shapes and offsets are.
        position = draw.randrange(min(len(original), 2000) if number % 2 else len(original))
        content = bytearray(original)
        content[position] ^= draw.randrange(1, 256)
        path.write_bytes(content)
        assert_handled(*load(folder), f"byte {position} of {path.name}")
        path.write_bytes(original)


def edit(file: str, *keys: str, to: object) -> Callable[[Path], object]:
    def alter(folder: Path) -> None:
        content = part = json.loads((folder / file).read_text("utf-8"))
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = to
        (folder / file).write_text(json.dumps(content), "utf-8")

    return alter


def replace(file: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_bytes(content)


def instead(file: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def alter(folder: Path) -> None:
        (folder / file).unlink(missing_ok=True)
        make(folder / file)

    return alter


def pickle_alone(folder: Path) -> None:
    replace("pytorch_model.bin", b"cos\nsystem\n(S'exit 1'\ntR.")(folder)
    for name in ("judge.json", "weights.int8.safetensors", "trees.safetensors"):
        (folder / name).unlink()


CRAFTED: dict[str, Callable[[Path], object]] = {
    "no files": lambda folder: [path.unlink() for path in folder.iterdir()],
    "trees of LightGBM": replace("trees.safetensors", b"tree\nversion=v4\nsplit_feature=90000000e-7\n"),
    "empty trees": replace("trees.safetensors", b""),
    "a header of 2^60 bytes": replace("trees.safetensors", (2**60).to_bytes(8, "little") + b"{}"),
    "weights with a nested header": replace("weights.int8.safetensors", (50_000).to_bytes(8, "little") + b"[" * 50_000),
    "trees in a circle": instead("trees.safetensors", lambda path: path.symlink_to(path.name)),
    "trees from elsewhere": instead("trees.safetensors", lambda path: path.symlink_to("/etc/passwd")),
    "endless weights": instead("weights.int8.safetensors", lambda path: path.symlink_to("/dev/zero")),
    "a pipe": instead("tokenizer.json", os.mkfifo),
    "a folder as a file": instead("judge.json", Path.mkdir),
    "a pickle": replace("pytorch_model.bin", b"cos\nsystem\n(S'exit 1'\ntR."),
    "a pickle alone": pickle_alone,
    "nested JSON": replace("judge.json", b"[" * 200_000),
    "no JSON": replace("config.json", b"\xff\xfe"),
    "a list": replace("config.json", b"[]"),
    "NaN": edit("judge.json", "temperature", to=float("nan")),
    "no temperature": edit("judge.json", "temperature", to=0),
    "a text as number": edit("judge.json", "temperature", to="1"),
    "another input": edit("judge.json", "input", to={"format": "tags", "max_length": 10**9}),
    "many layers": edit("config.json", "num_hidden_layers", to=10**9),
    "many words": edit("config.json", "vocab_size", to=2**31),
    "no heads": edit("config.json", "num_attention_heads", to=0),
    "negative size": edit("config.json", "hidden_size", to=-384),
    "few positions": edit("config.json", "max_position_embeddings", to=1),
    "an unknown model": edit("config.json", "model_type", to="evil"),
    "an unknown activation": edit("config.json", "hidden_act", to="__import__"),
    "code of the hub": edit("config.json", "_attn_implementation", to="owner/repo"),
    "a model's code": edit("config.json", "auto_map", to={"AutoConfig": "evil--evil.py"}),
    "an id without an embedding": edit("tokenizer.json", "model", "vocab", "the", to=2**31),
    "a pattern that backtracks": edit(
        "tokenizer.json", "normalizer", to={"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": ""}
    ),
    "another tokenizer": edit("tokenizer_config.json", "tokenizer_class", to="EvilTokenizer"),
    "no padding": edit("tokenizer_config.json", "pad_token", to=None),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_judges(load: Callable[[Path], tuple[int, str]], tmp_path: Path, name: str) -> None:
    folder = copy(tmp_path / "judge")
    CRAFTED[name](folder)
    assert_handled(*load(folder), name)


ROW = b'{"question": "q", "reference": "r", "answer": "a"}\n'
MEGABYTE = 2**20


def parquet(**columns: Any) -> bytes:
    pq.write_table(pa.table(columns), stream := io.BytesIO(), compression="zstd")
    return stream.getvalue()


def zipped(content: bytes, name: str = "a.jsonl", count: int = 1) -> bytes:
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(count):
            archive.writestr(f"{number or ''}{name}", content)
    return stream.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, 1),
    ".bz2": lambda content: bz2.compress(content, 1),
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zip": zipped,
    ".zst": zstd,
}
# Ending → content, each packed in all ways: 8 × 6 files.
TEXTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "one long line": (".jsonl", lambda: b"x" * (80 * MEGABYTE)),
    "one long text": (".jsonl", lambda: b'{"answer": "' + b"x" * (40 * MEGABYTE) + b'"}\n'),
    "many rows": (".jsonl", lambda: ROW * 200_000),
    "a document of empty objects": (".json", lambda: b"[" + b"{}," * (8 * MEGABYTE) + b"{}]"),
    "lists of lists": (".jsonl", lambda: b'{"answer": [' + b"[]," * (8 * MEGABYTE) + b"[]]}\n"),
    "nested": (".json", lambda: b"[" * 500_000),
    "many columns": (".csv", lambda: b",".join(b"c%d" % number for number in range(500_000)) + b"\n1\n"),
    "an open quote": (".csv", lambda: b'question,reference,answer\nq,r,"' + b"x,\n" * (10 * MEGABYTE)),
}
# 18 others.
OTHERS: dict[str, Callable[[], bytes]] = {
    "dictionary.parquet": lambda: parquet(
        answer=pa.DictionaryArray.from_arrays(pa.array(np.zeros(200_000, np.int32)), pa.array(["x" * 3_000_000])),
        reference=["r"] * 200_000,
    ),
    "lists.parquet": lambda: parquet(answer=[["x" * 100_000] * 50] * 400, reference=["r"] * 400),
    "long_list.parquet": lambda: parquet(answer=pa.array([np.zeros(50_000_000, np.int64)]), reference=["r"]),
    "one_cell.parquet": lambda: parquet(answer=["x" * (300 * MEGABYTE)], reference=["r"]),
    "many_columns.parquet": lambda: parquet(**{f"c{number}": [1] for number in range(12_000)}),
    "objects.parquet": lambda: parquet(answer=[{"text": "x" * 100_000}] * 5000, reference=["r"] * 5000),
    "cut.parquet": lambda: parquet(answer=["x"] * 1000, reference=["r"] * 1000)[:-100],
    "only_magic.parquet": lambda: b"PAR1",
    "flipped.parquet": lambda: bytes(byte ^ (number % 97 == 50) for number, byte in enumerate(parquet(answer=["x"] * 999))),
    "empty.csv": lambda: b"",
    "zeros.csv": lambda: bytes(10 * MEGABYTE),
    "utf16.csv": lambda: ("question,reference,answer\n" + "q,r,a\n" * 1000).encode("utf-16")[:-1],
    "bomb.xlsx": lambda: zipped(b"x" * (400 * MEGABYTE), "xl/workbook.xml"),
    "archive.zip": lambda: zipped(ROW, count=5),
    "samples.eval": lambda: zipped(b"[" * (400 * MEGABYTE), "header.json"),
    "twice.gz": lambda: gzip.compress(gzip.compress(bytes(400 * MEGABYTE), 9)),
    "cut.jsonl.gz": lambda: gzip.compress(ROW * 1000)[:-20],
    "surrogates.jsonl": lambda: b'{"question": "\\ud800", "reference": "\\udfff", "answer": "\\ud83d"}\n' * 100,
}
HOSTILE = [f"{name}{packed}" for name in TEXTS for packed in PACKERS] + list(OTHERS)
# Runs the program, and prints its peak of memory last.
SCORE = """
import re, sys
from bert_judge.__main__ import main
try:
    main()
finally:
    print("peak", re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def test_there_are_66_hostile_files() -> None:
    assert len(HOSTILE) == 66


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_of_answers(tmp_path: Path, name: str) -> None:
    if name in OTHERS:
        path, content = tmp_path / name, OTHERS[name]()
    else:
        kind = name.removesuffix(Path(name).suffix)
        packed = Path(name).suffix if name not in TEXTS else ""
        ending, make = TEXTS[kind if packed else name]
        path, content = tmp_path / f"answers{ending}{packed}", PACKERS[packed](make())
    path.write_bytes(content)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", SCORE, "score", str(path), "--judge", "exact_match", "-o", str(tmp_path / "scored.jsonl")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode in (0, 1, 2), (result.returncode, result.stderr[-2000:])
    assert "Traceback" not in result.stderr, result.stderr[-2000:]
    peak = int(result.stdout.split()[-1])
    assert peak < 2**20, f"{peak // 1024} MB"
