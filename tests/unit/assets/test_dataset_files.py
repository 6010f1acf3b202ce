"""Which files make up a split: by the README, by name; and fetching them from a hub that is there, refuses, or is gone."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from helpers.hub_server import local_hub
from huggingface_hub import constants
from typer.testing import CliRunner

from bert_judge.assets import repository_files
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.cli import app
from bert_judge.runtime.errors import InputError

CARD = """---
license: mit
configs:
- config_name: main
  default: true
  data_files:
  - split: test
    path: data/eval-*
  - {split: train, path: [a.jsonl, b.jsonl]}
- config_name: flat
  data_files: "flat/*.csv"
- config_name: deep
  data_dir: deep
  data_files: [{split: test, path: "**/t.csv"}]
---
# A data set
"""
CARD_FILES = [
    "README.md",
    "a.jsonl",
    "b.jsonl",
    "data/eval-1.parquet",
    "data/eval-1.csv",
    "flat/x.csv",
    "deep/t.csv",
    "deep/v/t.csv",
]

# Files, configurations, split → files of the split.
NAMED: dict[str, tuple[list[str], list[str] | None, str, list[str]]] = {
    "gsm8k": (
        ["main/test-00000-of-00001.parquet", "main/train-00000-of-00001.parquet", "socratic/test-00000-of-00001.parquet"],
        ["main"],
        "test",
        ["main/test-00000-of-00001.parquet"],
    ),
    "arc": (
        [
            "ARC-Challenge/test-00000-of-00001.parquet",
            "ARC-Easy/test-00000-of-00001.parquet",
            "ARC-Easy/train-00000-of-00001.parquet",
        ],
        ["ARC-Easy"],
        "test",
        ["ARC-Easy/test-00000-of-00001.parquet"],
    ),
    "mmlu": (
        ["all/auxiliary_train-00000-of-00001.parquet", "all/dev-00000-of-00001.parquet", "all/test-00000-of-00001.parquet"],
        ["all"],
        "auxiliary_train",
        ["all/auxiliary_train-00000-of-00001.parquet"],
    ),
    "mmlu_pro": (
        ["data/test-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"],
        None,
        "test",
        ["data/test-00000-of-00001.parquet"],
    ),
    "gpqa": (["gpqa_diamond.csv", "gpqa_main.csv", "dataset.zip"], ["gpqa_main"], "train", ["gpqa_main.csv"]),
    "hotpotqa in parts": (
        [
            "distractor/train-00000-of-00002.parquet",
            "distractor/train-00001-of-00002.parquet",
            "fullwiki/train-00000-of-00001.parquet",
        ],
        ["distractor"],
        "train",
        ["distractor/train-00000-of-00002.parquet", "distractor/train-00001-of-00002.parquet"],
    ),
    "the hub's parquet copy": (
        ["asdiv/validation/0000.parquet", "asdiv/test/0000.parquet"],
        None,
        "validation",
        ["asdiv/validation/0000.parquet"],
    ),
    "several configurations": (
        ["algebra/test-00000-of-00001.parquet", "geometry/test-00000-of-00001.parquet"],
        ["geometry", "algebra"],
        "test",
        ["geometry/test-00000-of-00001.parquet", "algebra/test-00000-of-00001.parquet"],
    ),
    "a plain file": (["README.md", "test.jsonl", "train.jsonl"], None, "test", ["test.jsonl"]),
    "dev for validation": (["dev.csv", "train.csv"], None, "validation", ["dev.csv"]),
    "parquet before csv": (["data/test.csv", "data/test.parquet"], None, "test", ["data/test.parquet"]),
    "the only file is training data": (["questions.jsonl"], None, "train", ["questions.jsonl"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_names_tell_the_split(case: str) -> None:
    names, configs, split, files = NAMED[case]
    assert repository_files.select_split_files(names, configs, split, [], dataset="set") == files


@pytest.mark.parametrize(
    ("config", "split", "files"),
    [
        (None, "test", ["data/eval-1.parquet"]),
        ("main", "train", ["a.jsonl", "b.jsonl"]),
        ("flat", "train", ["flat/x.csv"]),
        ("deep", "test", ["deep/t.csv", "deep/v/t.csv"]),
    ],
)
def test_the_readme_tells_the_split(config: str | None, split: str, files: list[str]) -> None:
    card = repository_files.parse_card_configs(CARD)
    assert repository_files.select_split_files(CARD_FILES, [config] if config else None, split, card, dataset="set") == files


@pytest.mark.parametrize(
    "readme", ["", "# No block", "---\nlicense: mit\n---\n", "---\nconfigs: 3\n---\n", "---\n: [\n---\n", "---\n- a\n---"]
)
def test_a_readme_without_a_list_of_configurations(readme: str) -> None:
    assert repository_files.parse_card_configs(readme) == []


FAULTS: dict[str, tuple[list[str], list[str] | None, str, str]] = {
    "nothing": ([], None, "test", "has no files of split 'test'; its data files are: none in parquet, JSONL or CSV"),
    "a script": (["drop.py", "README.md"], None, "test", "has no files of split 'test'; its data files are: none"),
    "no such config": (
        ["main/test.csv"],
        ["easy"],
        "test",
        "has no files of config 'easy', split 'test'; its data files are: main/test.csv",
    ),
    "no such split": (["main/test.csv"], ["main"], "train", "has no files of config 'main', split 'train'"),
    "ambiguous": (["a/test.csv", "b/test.csv"], None, "test", "has split 'test' in several folders (a, b); name one as config"),
    "a part is missing": (["test-00000-of-00002.csv"], None, "test", "lacks test-00001-of-00002.csv, a shard of the split"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_split_that_cannot_be_told(case: str) -> None:
    names, configs, split, fault = FAULTS[case]
    with pytest.raises(InputError) as told:
        repository_files.select_split_files(names, configs, split, [], dataset="dataset 'set'")
    assert str(told.value).startswith(f"dataset 'set' {fault}") and "\n" not in str(told.value)


ROWS = b'{"question": "q", "answer": "1"}\n'


@dataclass
class Hub:
    """A server that answers like the hub for the data set owner/set. `branches`: name → files; refusals end every request."""

    branches: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None
    asked: list[str] = field(default_factory=list)

    def commit(self, branch: str) -> str:
        return hashlib.sha1(branch.encode()).hexdigest()

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        path = unquote(path.partition("?")[0])
        self.asked.append(path)
        if self.refusal:
            status, code = self.refusal
            return status, {"X-Error-Code": code}, b'{"error": "no"}'
        if path.startswith("/api/datasets/owner/set/tree/"):
            files = next(files for name, files in self.branches.items() if path.endswith(self.commit(name)))
            entries = [
                {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for name, content in files.items()
            ]
            return 200, {}, json.dumps(entries).encode()
        if path.startswith("/api/datasets/owner/set"):
            asked = path.removeprefix("/api/datasets/owner/set").removeprefix("/revision/") or "main"
            branch = next((name for name in self.branches if asked in (name, self.commit(name))), None)
            if branch is None:
                return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
            files = [{"rfilename": name, "size": len(content)} for name, content in self.branches[branch].items()]
            return 200, {}, json.dumps({"id": "owner/set", "sha": self.commit(branch), "siblings": files}).encode()
        for branch, files in self.branches.items():
            name = path.removeprefix(f"/datasets/owner/set/resolve/{self.commit(branch)}/")
            if name in files:
                tag = hashlib.sha1(files[name]).hexdigest()
                return 200, {"ETag": f'"{tag}"', "X-Repo-Commit": self.commit(branch)}, files[name]
        return 404, {"X-Error-Code": "EntryNotFound"}, b""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> Iterator[Hub]:
    state = Hub()
    with local_hub(state.answer, tmp_path / "cache", monkeypatch):
        yield state


def asset(config: list[str] | None = None, split: str = "test", revision: str | None = None) -> dict[str, Any]:
    return {"repository": "owner/set", "revision": revision, "data_set": {"config": config, "split": split}}


def test_only_the_split_is_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.branches["main"] = {"README.md": b"# Set", "a/test.jsonl": ROWS, "a/train.jsonl": ROWS * 2, "b/test.jsonl": ROWS * 3}
    prepare(asset(["a"]), tmp_path / "m.json")
    manifest = load_manifest(tmp_path / "m.json")
    assert manifest.revision == hub.commit("main")
    assert [file.name for file in manifest.files] == ["a/test.jsonl"]
    assert (manifest.path / "a/test.jsonl").read_bytes() == ROWS
    assert not any("train" in path or "/b/" in path for path in hub.asked)


def test_a_script_is_taken_from_the_parquet_copy(hub: Hub, tmp_path: Path) -> None:
    hub.branches["main"] = {"set.py": b"print('never run')", "README.md": b""}
    hub.branches["refs/convert/parquet"] = {"default/validation/0000.parquet": b"PAR1"}
    prepare(asset(split="validation"), tmp_path / "m.json")
    manifest = load_manifest(tmp_path / "m.json")
    assert manifest.revision == hub.commit("refs/convert/parquet")
    assert [file.name for file in manifest.files] == ["default/validation/0000.parquet"]
    assert not any(path.endswith(".py") for path in hub.asked)


def test_a_pinned_revision_is_taken_as_it_is(hub: Hub, tmp_path: Path) -> None:
    hub.branches = {"main": {"test.jsonl": ROWS * 2}, "v1": {"test.jsonl": ROWS}}
    prepare(asset(revision=hub.commit("v1")), tmp_path / "m.json")
    manifest = load_manifest(tmp_path / "m.json")
    assert manifest.revision == hub.commit("v1")
    assert (manifest.path / "test.jsonl").read_bytes() == ROWS


def test_a_hub_that_is_gone_leaves_the_cache(hub: Hub, tmp_path: Path) -> None:
    hub.branches["main"] = {"test.jsonl": ROWS}
    prepare(asset(), tmp_path / "first.json")
    hub.refusal = (503, "")
    prepare(asset(), tmp_path / "second.json")
    assert (tmp_path / "second.json").read_text() == (tmp_path / "first.json").read_text()
    with pytest.raises(InputError, match="answers 503"):
        prepare(asset(split="train", revision=hub.commit("v1")), tmp_path / "third.json")


@pytest.mark.parametrize(
    ("refusal", "fault"),
    [
        ((401, "GatedRepo"), "dataset 'owner/set' is gated: accept its licence at {address}/datasets/owner/set and set HF_TOKEN"),
        ((404, "RepoNotFound"), "dataset 'owner/set' is not on the hub, or is private"),
        ((404, "RevisionNotFound"), "dataset 'owner/set' has no revision 'v9'"),
        ((500, ""), "dataset 'owner/set': the hub answers 500"),
    ],
)
def test_a_refusal_is_one_line(hub: Hub, tmp_path: Path, refusal: tuple[int, str], fault: str) -> None:
    hub.refusal = refusal
    with pytest.raises(InputError) as told:
        prepare(asset(revision="v9"), tmp_path / "m.json")
    assert str(told.value).startswith(fault.format(address=constants.ENDPOINT)) and "\n" not in str(told.value)
    assert not (tmp_path / "m.json").exists()


def test_no_network_is_one_line(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"put the dataset.s folder under LOCAL_DATASETS_DIR/owner/set$"):
        prepare(asset(), tmp_path / "m.json")


def test_a_script_without_a_parquet_copy_is_told(hub: Hub, tmp_path: Path) -> None:
    hub.branches["main"] = {"set.py": b""}
    with pytest.raises(InputError, match="has no files of split 'test'; its data files are: none in parquet, JSONL or CSV"):
        prepare(asset(), tmp_path / "m.json")


# --- answers on the hub ---

ANSWERS = '{"question": "Größe?", "references": ["1"], "candidate": "%s", "model": "m"}\n'


def test_answers_of_a_data_set_are_imported(hub: Hub, tmp_path: Path) -> None:
    hub.branches["main"] = {f"{part}/test.jsonl": (ANSWERS % part).encode() for part in "ab"}
    hub.branches["v1"] = {"train.jsonl": (ANSWERS % "old").encode()}
    output = tmp_path / "answers.jsonl"
    for name, options, expected in (("owner/set", ["--subset", "b", "--split", "test"], "b"), ("owner/set@v1", [], "old")):
        done = CliRunner().invoke(app, ["import", f"hf:{name}", *options, "-o", str(output), "--force"])
        assert (done.exit_code, done.stdout) == (0, f"{output}: 1 answers\n"), done.output
        assert json.loads(output.read_text("utf-8"))["candidate"] == expected


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["hf:owner/set", "--split", "test"],
            "dataset 'owner/set' has split 'test' in several folders (a, b)",
        ),
        (["hf:owner/set"], "dataset 'owner/set' has no files of split 'train'"),
        (["hf:set"], "hf:set: not a dataset of the hub; write hf:OWNER/NAME, or hf:OWNER/NAME@REVISION"),
        (["a.jsonl", "--split", "test"], "a.jsonl: a file has neither subsets nor splits; leave out --subset and --split"),
    ],
)
def test_what_is_no_data_set_is_one_line(hub: Hub, tmp_path: Path, arguments: list[str], says: str) -> None:
    hub.branches["main"] = {f"{part}/test.jsonl": (ANSWERS % part).encode() for part in "ab"}
    done = CliRunner().invoke(app, ["import", *arguments, "-o", str(tmp_path / "answers.jsonl")])
    assert done.exit_code == 1 and done.stderr.startswith(f"error: {says}") and done.stderr.count("\n") == 1
    assert not (tmp_path / "answers.jsonl").exists()
