"""`bert-judge score` on object storage, which is in memory here."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from typer.testing import CliRunner, Result

from bert_judge.cli import app, remote_files, score

ANSWERS = "question,reference,candidate\nCapital of France?,Paris,It is Paris.\nCapital of Italy?,Rome,It is Oslo.\n"
SOURCE, TARGET = "memory://answers/day.csv", "memory://answers/scored.csv"


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    storage = fsspec.filesystem("memory")
    storage.pipe("/answers/day.csv", ANSWERS.encode())
    yield storage
    storage.rm("/answers", recursive=True)


def score_files(*arguments: str, judge: str = "contains") -> Result:
    return CliRunner().invoke(app, ["score", *arguments, "--judge", judge])


def copies(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_file_is_scored_from_storage_to_storage(storage: MemoryFileSystem, tmp_path: Path) -> None:
    result = score_files(SOURCE, "-o", TARGET)
    assert result.exit_code == 0, result.output
    lines = storage.cat("/answers/scored.csv").decode().splitlines()
    assert lines[0].startswith("question,reference,candidate,verdict") and len(lines) == 3
    assert copies(tmp_path) == []


def test_the_output_may_be_on_this_machine_and_so_may_the_input(storage: MemoryFileSystem, tmp_path: Path) -> None:
    assert score_files(SOURCE, "-o", str(tmp_path / "scored.csv")).exit_code == 0
    (tmp_path / "day.csv").write_text(ANSWERS)
    assert score_files(str(tmp_path / "day.csv"), "-o", TARGET).exit_code == 0
    assert storage.cat("/answers/scored.csv") == (tmp_path / "scored.csv").read_bytes()


def test_an_existing_output_is_replaced_only_if_asked(storage: MemoryFileSystem) -> None:
    storage.pipe("/answers/scored.csv", b"mine")
    refused = score_files(SOURCE, "-o", TARGET)
    assert refused.exit_code != 0 and "exists" in refused.output
    assert storage.cat("/answers/scored.csv") == b"mine"
    assert score_files(SOURCE, "-o", TARGET, "--force").exit_code == 0
    assert storage.cat("/answers/scored.csv") != b"mine"


def test_a_repeated_call_continues(storage: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the network is down")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", fail)
        assert score_files(SOURCE, "-o", TARGET).exit_code != 0
    assert {path.name for path in copies(tmp_path)} == {"day.csv", "scored.csv"}
    monkeypatch.setattr(score, "judge_file", fail)
    assert score_files(SOURCE, "-o", TARGET).exit_code == 0
    assert storage.exists("/answers/scored.csv") and copies(tmp_path) == []


def test_another_judge_does_not_continue(storage: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the network is down")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", fail)
        assert score_files(SOURCE, "-o", TARGET).exit_code != 0
    assert score_files(SOURCE, "-o", TARGET, judge="exact_match").exit_code == 0
    # "It is Paris." contains the reference, but is not it.
    assert b",correct," not in storage.cat("/answers/scored.csv")


def test_a_file_that_has_changed_is_scored_anew(storage: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(score, "judge_file", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        score_files(SOURCE, "-o", TARGET)
    assert {path.name for path in copies(tmp_path)} == {"day.csv"}
    storage.pipe("/answers/day.csv", ANSWERS.replace("Oslo", "Rome").encode())
    assert score_files(SOURCE, "-o", TARGET).exit_code == 0
    assert b"It is Rome." in storage.cat("/answers/scored.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("memory://answers/night.csv", "-o", TARGET), "memory://answers/night.csv"),
        ((SOURCE,), "name the output with -o"),
        (("nowhere://answers/day.csv", "-o", TARGET), "bert-judge[remote]"),
    ],
)
def test_what_cannot_be_read_is_one_line(storage: MemoryFileSystem, arguments: tuple[str, ...], message: str) -> None:
    result = score_files(*arguments)
    assert result.exit_code != 0 and message in result.output.replace("\n", "")
    assert not storage.exists("/answers/scored.csv")


@pytest.mark.parametrize(("method", "url"), [("exists", TARGET), ("checksum", SOURCE), ("get_file", SOURCE), ("put_file", TARGET)])
def test_errors_of_a_storage_are_one_line(
    storage: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, method: str, url: str
) -> None:
    class NoCredentialsError(Exception):
        """Of no class that every storage has."""

    def fail(*_: object, **__: object) -> None:
        raise NoCredentialsError("Unable to locate credentials")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, method, fail)
        result = score_files(SOURCE, "-o", TARGET)
    assert result.exit_code == 1 and f"error: {url}: Unable to locate credentials" in result.output


@pytest.mark.parametrize(
    ("path", "url"), [("s3://bucket/a/b.csv", "s3://bucket/a/b.csv"), ("C:/a.csv", None), ("a.csv", None), ("/tmp/gs/a.csv", None)]
)
def test_urls_are_found_in_paths(path: str, url: str | None) -> None:
    assert remote_files.find_url(Path(path)) == url
