"""Read configuration files strictly: PyYAML silently keeps only the last of duplicate keys, which would drop a model."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bert_judge.runtime.errors import ConfigError

PACKAGE = Path(__file__).parents[1]
# Where the workflow and its configurations are: at the top of a clone, or inside an installed package (setup.py puts them there).
WORKFLOW_FOLDERS = (PACKAGE.parent, PACKAGE / "workflow")

# A table of answers, which is no configuration.
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".gz", ".zst")

# Far more than any configuration has; a few lines of aliases of aliases stand for billions.
MAX_VALUES = 100_000


def workflow_folder() -> Path:
    """Return the folder that holds the Snakefile of this library.

    Raises:
        ConfigError: the library was installed without its workflow.
    """
    for folder in WORKFLOW_FOLDERS:
        if (folder / "Snakefile").is_file() and (folder / "rules").is_dir():
            return folder
    raise ConfigError([f"{PACKAGE}: bert-judge was installed without its workflow; reinstall it: pip install FOLDER_OF_THE_CLONE"])


def find(path: Path, must_exist: bool = True) -> Path:
    """Return a configuration file: `path` itself or, if there is none, the file of this name that comes with the workflow.

    Raises:
        ConfigError: there is neither.
    """
    if path.exists():
        return path
    folder = workflow_folder()
    if not must_exist and not (folder / path).is_file():
        return path
    if not path.is_absolute() and (folder / path).resolve().is_relative_to(folder.resolve()) and (folder / path).is_file():
        return folder / path
    names = ", ".join(sorted(file.stem for file in (folder / "configs").glob("*.yaml")))
    raise ConfigError(
        [f"{path}: no such file; fix the path, or name config.yaml or configs/NAME.yaml of bert-judge, NAME being {names}"]
    )


def load(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Read and deep-merge configuration files; later files override earlier ones, as in Snakemake.

    Raises:
        ConfigError: one line per file that is missing or not a YAML mapping, and per duplicate key.
    """
    paths = list(paths)
    if lines := problems(paths):
        raise ConfigError(lines)
    return merge(paths)


def merge(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Deep-merge configuration files; skip files that cannot be read, without reporting problems."""
    merged: dict[str, Any] = {}
    for path in paths:
        merged = deep_merge(merged, _load_file(Path(path))[0])
    return merged


def origin(paths: Iterable[str | Path], keys: Sequence[str], value: Any) -> Path:
    """Return the folder of the last file in which nested keys have a value; the working folder if none has, e.g. of an option."""
    folder = Path()
    for path in paths:
        content: Any = _load_file(Path(path))[0]
        for key in keys:
            content = content.get(key) if isinstance(content, Mapping) else None
        if content is not None and content == value:
            folder = Path(path).parent
    return folder


def problems(paths: Iterable[str | Path]) -> list[str]:
    """Return the problems of reading configuration files, one line each."""
    return [line for path in paths for line in _load_file(Path(path))[1]]


class _Loader(yaml.SafeLoader):
    """YAML loader that collects duplicate keys as (key, line, line of the first); lines start at 1."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.duplicates: list[tuple[Any, int, int]] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            # Keys merged with `<<` may be overridden.
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                if key.value in first:
                    self.duplicates.append((key.value, line, first[key.value]))
                first.setdefault(key.value, line)
        return super().construct_mapping(node, deep)


def is_table(path: Path) -> bool:
    """Return whether a file is a table of answers, by its name."""
    return path.suffix.lower() in TABLE_ENDINGS


def _load_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    if is_table(path):
        use = f"bert-judge score {path} judges its answers, and bert-judge audit {path} draws a sample of them to label"
        return {}, [f"{path}: a table, and this needs a configuration (a YAML file); {use}"]
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}, [f"{path}: no such file; fix the path"]
    except IsADirectoryError:
        return {}, [f"{path}: is a folder; name a YAML file"]
    except UnicodeDecodeError as error:
        return {}, [f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"]
    except OSError as error:
        return {}, [f"{path}: cannot be read: {error.strerror}"]
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None and _expanded_size(node, {}) > MAX_VALUES:
            return {}, [f"{path}: has more than {MAX_VALUES:,} values once its aliases (*name) are replaced; write a smaller file"]
        content = None if node is None else loader.construct_document(node)
    except RecursionError:
        return {}, [f"{path}: is nested too deeply, or contains itself; a configuration has a few levels"]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return {}, [f"{path}:{mark.line + 1 if mark else 1}: not YAML: {error.problem or error.context}"]
    except yaml.YAMLError as error:
        return {}, [f"{path}: not YAML: {' '.join(str(error).split())}"]
    if content is not None and not isinstance(content, dict):
        kind = "list" if isinstance(content, list) else "single value"
        return {}, [f"{path}: holds a {kind}; a configuration is a mapping of keys (models: …, tasks: …)"]
    duplicates = [
        f"{path}:{line}: {key!r} is there twice, first in line {first}; rename or remove one"
        for key, line, first in loader.duplicates
    ]
    return content or {}, duplicates


def _expanded_size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return the number of values below a node, in which an alias counts as all values that it stands for."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in sizes:
        children = node.value if isinstance(node, yaml.SequenceNode) else [member for pair in node.value for member in pair]
        sizes[id(node)] = 1 + sum(_expanded_size(child, sizes) for child in children)
    return sizes[id(node)]


def deep_merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        current = merged.get(key)
        merged[key] = deep_merge(current, value) if isinstance(current, Mapping) and isinstance(value, Mapping) else value
    return merged
