"""Verdicts on disk never go stale: results change with a version, and a version makes the tables stale that depend on it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import golden_results
import pytest
from golden_results import SUBJECTS, Entry, current, problem, stored
from test_layers import PACKAGE, SOURCES, imports, parsed

from bert_judge import plan, tables, text
from bert_judge.assets import prepare
from bert_judge.encoder import checkpoint
from bert_judge.encoder.judge_folder import CHECKSUMS
from bert_judge.encoder.weights import INPUTS_FILE
from bert_judge.judges import registry

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SUBJECTS)
def test_results_change_only_with_a_version(name: str) -> None:
    assert problem(name, current(name), stored().get(name)) is None


def test_every_kind_has_golden_results() -> None:
    built_in = {path.parent.name for path in (ROOT / PACKAGE / "judges").glob("*/__init__.py")}
    assert built_in <= SUBJECTS.keys() == stored().keys()


@pytest.mark.parametrize("kind", registry.kinds(), ids=lambda kind: kind.name)
def test_a_kind_that_imports_rules_about_texts_says_so(kind: registry.JudgeKind) -> None:
    modules = [name for name in SOURCES if f"{name}.".startswith(f"{PACKAGE}.judges.{kind.name}.")]
    names = {name for module in modules for name in imports(parsed(SOURCES[module]), whole=True)}
    rules = {name for name in names if name.startswith(f"{PACKAGE}.text.") and not name.startswith(f"{PACKAGE}.text.visible_text.")}
    assert kind.reads_text == bool(rules)


OLD = Entry({"text": 1}, {"features": "a", "options": "b"})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (OLD, None),
        (OLD._replace(digests={"features": "c", "options": "b"}), r"text: other results \(features\) .* raise TEXT_VERSION"),
        (OLD._replace(digests={"features": "a"}), "text: new versions or parts: .* --write"),
        (Entry({"text": 2}, {"features": "c", "options": "b"}), "text: new versions or parts: .* --write"),
        (OLD._replace(versions={"text": 2}), "text: new versions or parts: .* --write"),
    ],
    ids=["unchanged", "other results", "a part is gone", "new version", "new version of the same results"],
)
def test_what_must_be_done(entry: Entry, expected: str | None) -> None:
    found = problem("text", entry, OLD)
    assert found is None if expected is None else re.match(expected, found or "")


EDITS = {
    "text/units.yaml": ("km: [kilometer, ", "km: ["),
    "text/normalization.py": (
        "\ndef normalize_words(text: str) -> list[str]:",
        "\ndef normalize_words(text: str) -> list[str]:\n    text = text.replace('q', 'k')",
    ),
    "judges/prompted.py": ('NO_VERDICT = "no verdict', 'NO_VERDICT = "no clear verdict'),
    "judges/llm/prompts.yaml": ("Reply with your verdict only", "Say your verdict only"),
}


def edit(library: Path, name: str, old: str, new: str) -> None:
    path = library / PACKAGE / name
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), "utf-8")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A copy of the library to edit."""
    ignored = shutil.ignore_patterns("__pycache__", "general", "vendor")
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=ignored)
    (tmp_path / PACKAGE / "judges/bert/general").symlink_to(prepare.GENERAL_FOLDER)
    return tmp_path


def check(library: Path, *arguments: str) -> dict[str, str]:
    """Return subject → line of the golden check with a library."""
    command = [sys.executable, golden_results.__file__, *arguments]
    environment = os.environ | {"PYTHONPATH": str(library)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


# All rows are read again, twice for an edit of the rules.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("text/units.yaml", {"text": "raise TEXT_VERSION", "lexical": "raise TEXT_VERSION if a rule"}),
        ("text/normalization.py", {"text": "raise TEXT_VERSION", "lexical": "raise TEXT_VERSION if a rule"}),
        ("judges/prompted.py", {"llm": "raise stage_version of the kind llm"}),
        ("judges/llm/prompts.yaml", {"llm": "new versions"}),
    ],
)
def test_an_edit_asks_for_a_version(library: Path, name: str, expected: dict[str, str]) -> None:
    edit(library, name, *EDITS[name])
    subjects = ("text", "lexical", "llm")
    found = check(library, *subjects)
    assert found.keys() == expected.keys() and all(line in found[subject] for subject, line in expected.items()), found
    if "text" in expected:
        edit(library, "text/__init__.py", f"TEXT_VERSION = {text.TEXT_VERSION}", f"TEXT_VERSION = {text.TEXT_VERSION + 1}")
        assert all("new versions" in line for line in check(library, *subjects).values())


MODEL = {"generator": "openai", "model": "m", "base_url": "http://localhost:1/v1"}
JUDGES = {
    "rule": {"kind": "lexical", "metric": "contains"},
    "truth": {"kind": "imported"},
    "teacher": {"kind": "llm", "model": MODEL},
    "encoder": {"kind": "bert", "dataset": "mix"},
    "general": {"kind": "bert", "checkpoint": "general"},
    "probe": {"kind": "probe", "dataset": "plain"},
    "both": {"kind": "cascade", "judges": ["rule", "teacher"], "dataset": "plain", "budget": 0.5},
}
PAIR_JUDGES = {
    "longer": {"kind": "pairwise", "rule": "longer"},
    "asked": {"kind": "pairwise", "model": MODEL},
    "trained": {"kind": "pairwise", "pairs": ["set"]},
}
DATASETS = {"mix": {"augment": "default"}, "plain": {}}
CONFIG: dict[str, Any] = {
    "models": {name: {"generator": "simulated", "p_correct": 0.5} for name in ("ada", "bob")},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "datasets": {name: {"teacher": "truth", "tasks": ["facts_train"], **entry} for name, entry in DATASETS.items()},
    "judges": JUDGES | PAIR_JUDGES,
    "scorers": list(JUDGES),
    "attacks": {"judges": ["rule", "teacher"]},
    "pairs": {"set": {"judges": ["longer", "asked"], "tasks": ["facts_test"], "gold": "truth"}},
}


def specs(raw: dict[str, Any]) -> dict[str, str]:
    """Return table or file → its spec in a run."""
    run = plan.build_plan(raw)
    found: dict[str, Any] = {f"labels of {name}": run.labels_spec(name, "ada", "facts_test") for name in JUDGES}
    found |= {f"preferences of {name}": run.preferences_spec(name, "set") for name in PAIR_JUDGES}
    found |= {f"dataset {name}": run.dataset_spec(name) for name in run.config.datasets}
    found |= {"questions": run.task_spec("facts_test"), "answers": run.candidates_spec("ada", "facts_test")}
    found |= {"attacks": run.attacks_spec("facts_test"), "judge encoder": run.training_spec("encoder")}
    found |= {"judge trained": run.training_spec("trained"), "judge both": run.training_spec("both")}
    found |= {"judge probe": run.training_spec("probe"), "hidden states": run.features_spec(*run.feature_sets, "ada", "facts_test")}
    found |= {f"asset {name}": spec for name, spec in run.assets.items()}
    return {name: tables.canonical(spec) for name, spec in found.items()}


def changed(before: dict[str, str], raw: dict[str, Any] = CONFIG) -> set[str]:
    after = specs(raw)
    assert after.keys() == before.keys()
    return {name for name in before if after[name] != before[name]}


def test_a_text_version_makes_what_reads_words_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are made of these, of probes and cascades too, are stale because their inputs are."""
    before = specs(CONFIG)
    monkeypatch.setattr(text, "TEXT_VERSION", text.TEXT_VERSION + 1)
    labels = {f"labels of {name}" for name in ("rule", "encoder", "general")}
    trained = {"dataset mix", "judge encoder", "judge trained"}
    assert changed(before) == labels | trained | {"attacks", "preferences of longer", "preferences of trained"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("llm", {"labels of teacher"}),
        ("lexical", {"labels of rule"}),
        ("bert", {"labels of encoder", "labels of general"}),
        ("probe", {"labels of probe"}),
        ("pairwise", {f"preferences of {name}" for name in PAIR_JUDGES}),
    ],
)
def test_a_stage_version_makes_the_tables_of_its_kind_stale(kind: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before, found = specs(CONFIG), registry.find(kind)
    monkeypatch.setattr(found, "stage_version", found.stage_version + 1)
    assert changed(before) == expected


def test_the_label_stage_makes_all_labels_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    before = specs(CONFIG)
    monkeypatch.setattr(registry, "STAGE_VERSION", registry.STAGE_VERSION + 1)
    assert changed(before) == {f"labels of {name}" for name in JUDGES} | {f"preferences of {name}" for name in PAIR_JUDGES}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Matching any one reference is enough", "Any one reference is enough", {"labels of teacher"}),
        ("You compare two answers", "Compare two answers", {"preferences of asked"}),
        ("# Prompts of the kind", "# All prompts of the kind", set()),
    ],
    ids=["judge", "pairwise judge", "comment"],
)
def test_a_prompt_makes_stale_what_it_asked(old: str, new: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before, read_text = specs(CONFIG), Path.read_text
    registry.hash_data.cache_clear()
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda path, *a: read_text(path, *a).replace(old, new) if path.name == "prompts.yaml" else read_text(path, *a),
    )
    assert changed(before) == expected
    registry.hash_data.cache_clear()


@pytest.mark.parametrize(
    "file", ["trees.safetensors", "tokenizer.json", "judge.json", "config.json", "weights.int8.safetensors", INPUTS_FILE]
)
def test_another_file_of_a_judge_makes_its_labels_stale(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name may stay, also that of the judge in the package."""
    folder = Path(shutil.copytree(prepare.GENERAL_FOLDER, tmp_path / "general"))
    monkeypatch.setattr(prepare, "GENERAL_FOLDER", folder)
    before = specs(CONFIG)
    with (folder / file).open("ab") as content:
        content.write(b" ")
    assert changed(before) == {"labels of general", "asset judge-general"}
    manifest = prepare.make_manifest("general", folder)
    assert manifest["revision"] == prepare.folder_revision(folder) in specs(CONFIG)["labels of general"]


def test_the_card_of_a_judge_makes_nothing_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(prepare.GENERAL_FOLDER, tmp_path / "general"))
    monkeypatch.setattr(prepare, "GENERAL_FOLDER", folder)
    before = specs(CONFIG)
    (folder / "README.md").write_text("Another card.", "utf-8")
    assert changed(before) == set()


def test_a_judge_that_was_trained_with_other_rules_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = Path(shutil.copytree(prepare.GENERAL_FOLDER, tmp_path / "mine"))
    assert checkpoint.load(folder).metadata.text_version == text.TEXT_VERSION and not caplog.messages
    (folder / CHECKSUMS).unlink()
    card = json.loads((folder / "judge.json").read_text("utf-8"))
    (folder / "judge.json").write_text(json.dumps(card | {"text_version": text.TEXT_VERSION - 1}), "utf-8")
    checkpoint.load(folder)
    [line] = caplog.messages
    assert f"trained with version {text.TEXT_VERSION - 1} of the rules" in line
    assert f"bert-judge train FILE --recalibrate --from {folder}" in line
