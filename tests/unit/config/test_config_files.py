"""Configuration files as files: strict YAML, several files over each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bert_judge.config import files as config_files
from bert_judge.runtime.errors import ConfigError

BAD = {
    "two models with one name": (
        "models:\n  gpt-4: {generator: hf}\n  bing: {generator: hf}\n  gpt-4: {generator: openai}\n",
        "{file}:4: 'gpt-4' is there twice, first in line 2; rename or remove one",
    ),
    "a block twice": (
        "judges: {}\nmodels: {}\njudges: {}\n",
        "{file}:3: 'judges' is there twice, first in line 1; rename or remove one",
    ),
    "a key twice in one line": ("a: {b: 1, c: 2, b: 3}\n", "{file}:1: 'b' is there twice, first in line 1; rename or remove one"),
    "a list at the top": (
        "- models\n- tasks\n",
        "{file}: holds a list; a configuration is a mapping of keys (models: …, tasks: …)",
    ),
    "a text at the top": ("models\n", "{file}: holds a single value; a configuration is a mapping of keys (models: …, tasks: …)"),
    "a bracket left open": ("models: {a: 1\ntasks: 2\n", "{file}:2: not YAML: "),
    "a tab": ("models:\n\ta: 1\n", "{file}:2: not YAML: found character '\\t' that cannot start any token"),
    "wrong indent": ("models:\n  a: 1\n b: 2\n", "{file}:3: not YAML: "),
    "a Python object": ("a: !!python/object/apply:os.system [ls]\n", "{file}:1: not YAML: could not determine a constructor"),
    "two documents": ("a: 1\n---\nb: 2\n", "{file}:2: not YAML: "),
    "a control character": ("a: \x07\n", "{file}: not YAML: "),
    "aliases of aliases": (
        "judges:\n a0: &a0 [x]\n" + "".join(f" a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)),
        "{file}: has more than 100,000 values once its aliases",
    ),
    "an alias of itself": ("judges: &a\n b: *a\n", "{file}: is nested too deeply, or contains itself"),
    "deep brackets": ("judges: " + "[" * 20_000 + "]" * 20_000, "{file}: is nested too deeply"),
    "deep lists": ("judges:\n " + "- " * 20_000 + "1\n", "{file}: is nested too deeply"),
    "a list as a key": ("? [a, b]\n: 1\n", "{file}:1: not YAML: found unhashable key"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_gives_one_line(case: str, tmp_path: Path) -> None:
    text, line = BAD[case]
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        config_files.load([path])
    assert len(caught.value.errors) == 1
    assert caught.value.errors[0].startswith(line.replace("{file}", str(path)))
    assert "\n" not in caught.value.errors[0]


def test_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    (tmp_path / "twice.yaml").write_text("a: 1\na: 2\nb: 1\nb: 2\n", "utf-8")
    (tmp_path / "fine.yaml").write_text("a: 1\n", "utf-8")
    lines = config_files.problems([tmp_path / name for name in ("none.yaml", "latin.yaml", "twice.yaml", "fine.yaml", "")])
    assert [line.removeprefix(f"{tmp_path}") for line in lines] == [
        "/none.yaml: no such file; fix the path",
        "/latin.yaml: not UTF-8 text (byte 3); save it as UTF-8",
        "/twice.yaml:2: 'a' is there twice, first in line 1; rename or remove one",
        "/twice.yaml:4: 'b' is there twice, first in line 3; rename or remove one",
        ": is a folder; name a YAML file",
    ]


def test_a_later_file_goes_over_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("models: {a: {x: 1, y: [1, 2]}, b: 1}\ngold: human\n", "utf-8")
    (tmp_path / "two.yaml").write_text("models: {a: {y: [3]}, c: Zoë}\n", "utf-8")
    merged = config_files.load([tmp_path / "one.yaml", tmp_path / "two.yaml"])
    assert merged == {"models": {"a": {"x": 1, "y": [3]}, "b": 1, "c": "Zoë"}, "gold": "human"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_says_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text(text, "utf-8")
    assert config_files.load([tmp_path / "empty.yaml"]) == {}


def test_a_merged_key_may_be_overridden(tmp_path: Path) -> None:
    (tmp_path / "merge.yaml").write_text("base: &base {x: 1, y: 2}\nmore: {<<: *base, x: 3}\n", "utf-8")
    assert config_files.load([tmp_path / "merge.yaml"])["more"] == {"x": 3, "y": 2}
