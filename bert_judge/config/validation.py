"""Validate a configuration and report one line per problem: location, problem and remedy.

The checks read the raw mapping, so an invalid value in one section does not hide problems in another.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from bert_judge.config import schema_text
from bert_judge.config.datasets import CONTROLS

Raw = Mapping[str, Any]
NAME = "letters, digits and . _ + -, the first a letter or digit"


def check_shape(raw: Raw, errors: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[str]:
    """Translate pydantic's errors into the terms of the configuration file.

    Args:
        raw: the configuration.
        errors: `ValidationError.errors()`.
        schema: the JSON schema of the configuration.
    """
    # A value that matches no member of a union has one error per member at the same location; report one line.
    lines: dict[tuple[Any, ...], str] = {}
    for error in errors:
        path, fragment = _locate(schema, error["loc"])
        lines.setdefault((tuple(path), error["type"] == "missing"), _shape_line(raw, error, path, fragment, schema))
    return list(lines.values())


def _locate(schema: Mapping[str, Any], loc: Sequence[str | int]) -> tuple[list[str | int], Mapping[str, Any]]:
    """Return the path in the user's file, without the levels that pydantic inserts for unions, and the schema at that path."""
    path: list[str | int] = []
    current: Mapping[str, Any] = schema
    for level in loc:
        if level == "[key]":
            break
        # An optional value adds no level.
        current = _without_null(current)
        if "discriminator" in current:
            current = schema_text.resolve(schema, {"$ref": current["discriminator"]["mapping"][level]})
            continue
        current = schema_text.resolve(schema, current)
        if "anyOf" in current or "prefixItems" in current:
            break
        path.append(level)
        if level in current.get("properties", {}):
            current = current["properties"][level]
        elif (inner := schema_text.value_schema(current) or current.get("items")) is not None:
            current = inner
        else:
            # An unknown key: the caller needs the schema of its block.
            break
    return path, current


def _without_null(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional value without its null alternative."""
    kinds = [kind for kind in fragment.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else fragment


def _shape_line(
    raw: Raw, error: Mapping[str, Any], path: list[str | int], fragment: Mapping[str, Any], schema: Mapping[str, Any]
) -> str:
    location = ".".join(map(str, path)) or "the configuration"
    if error["loc"] and error["loc"][-1] == "[key]":
        remedy = f"write {NAME}" if isinstance(path[-1], str) else "put quotes around it"
        return f"{location}: bad name {path[-1]!r}; {remedy}"
    match error["type"]:
        case "extra_forbidden":
            return f"{location}: unknown key; {_hint(str(path[-1]), list(fragment.get('properties', {})))}"
        case "missing":
            return f"{location}: is missing; {_meaning(schema, fragment)}"
        case "union_tag_invalid" | "union_tag_not_found":
            tag = str(error["ctx"]["discriminator"]).strip("'")
            known_names = ", ".join(_without_null(fragment)["discriminator"]["mapping"])
            if error["type"] == "union_tag_not_found":
                return f"{location}.{tag}: is missing; add one of {known_names}"
            return f"{location}.{tag}: unknown {tag} {error['ctx']['tag']!r}; known are: {known_names}"
        case "value_error":
            return f"{location}: {error['msg'].removeprefix('Value error, ')}"
        case _:
            value = _lookup(raw, path)
            expects_string = "string" in {kind.get("type") for kind in fragment.get("anyOf", [fragment])}
            unquoted = expects_string and isinstance(value, bool | int | float | date)
            remedy = "; put quotes around it" if unquoted else f"; write {NAME}" if "pattern" in fragment else ""
            return f"{location}: needs {schema_text.describe(fragment)}; got {_quote(value)}{remedy}"


def _hint(name: str, known_names: list[str]) -> str:
    close = difflib.get_close_matches(name, known_names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known_names)}"


def _meaning(schema: Mapping[str, Any], fragment: Mapping[str, Any]) -> str:
    description = fragment.get("description") or schema_text.resolve(schema, fragment).get("description") or ""
    return f"expected: {description.splitlines()[0]}" if description else f"it must be {schema_text.describe(fragment)}"


def _lookup(raw: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        # pydantic's path contains the string form of every key.
        members = enumerate(raw) if isinstance(raw, list) else raw.items()
        raw = next(value for key, value in members if str(key) == str(step))
    return raw


def _quote(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_names(raw: Raw) -> list[str]:
    """Return names that are undefined, listed twice, or collide with a column of the score tables."""
    return [*_undefined_names(raw), *_duplicate_names(raw), *_column_collisions(raw)]


def entries(raw: Raw, *path: str) -> dict[str, dict[str, Any]]:
    """Return the named blocks under a path; skip values that are not mappings."""
    block: Any = raw
    for key in path:
        block = block.get(key) if isinstance(block, Mapping) else None
    return {str(k): dict(v) for k, v in block.items() if isinstance(v, Mapping)} if isinstance(block, Mapping) else {}


def strings(value: Any) -> list[str]:
    """Return the strings of a list; a single value counts as a list of one."""
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]


def listed_tasks(raw: Raw, *splits: str) -> list[str]:
    """Return the names under `tasks.train` and `tasks.test`, or under the given splits."""
    tasks = raw.get("tasks")
    return (
        [name for split in splits or ("train", "test") for name in strings(tasks.get(split))] if isinstance(tasks, Mapping) else []
    )


def _keys(raw: Raw, block: str) -> list[str]:
    value = raw.get(block)
    return list(map(str, value)) if isinstance(value, Mapping) else []


def _undefined_names(raw: Raw) -> list[str]:
    defined = {block: _keys(raw, block) for block in ("imports", "judges", "datasets", "pairs", "filters")}
    tasks = listed_tasks(raw)
    lines = [
        f"{where}: {name!r} is not defined under {block}; there are: {', '.join(defined[block]) or 'none'}"
        for where, name, block in _references(raw)
        if name not in defined[block]
    ]
    for key, entry in entries(raw, "filters").items():
        lines += [
            f"filters.{key}.tasks: {name!r} is not listed under tasks.train; there are: {', '.join(tasks) or 'none'}"
            for name in strings(entry.get("tasks"))
            if name not in tasks
        ]
    for key, dataset in entries(raw, "datasets").items():
        allowed = strings(dataset.get("tasks"))
        lines += [
            f"datasets.{key}.tasks: {name!r} is not listed under tasks.train; there are: {', '.join(tasks) or 'none'}"
            for name in allowed
            if name not in tasks
        ]
        mix = dataset.get("mix")
        per_task = mix.get("per_task") if isinstance(mix, Mapping) else None
        lines += [
            f"datasets.{key}.mix.per_task: {name!r} is not a task of the dataset; there are: {', '.join(allowed) or 'none'}"
            for name in (per_task if isinstance(per_task, Mapping) else ())
            if name not in allowed
        ]
        weak_teacher = dataset.get("weak_teacher")
        lines += [
            f"datasets.{key}.weak_teacher.tasks: {name!r} is not a task of the dataset; there are: {', '.join(allowed) or 'none'}"
            for name in strings(weak_teacher.get("tasks") if isinstance(weak_teacher, Mapping) else None)
            if name not in allowed
        ]
    return lines


def _references(raw: Raw) -> Iterator[tuple[str, str, str]]:
    """Yield (location, name, block that must define the name)."""
    for path in (("models",), ("judges",), ("tasks", "imported")):
        for key, entry in entries(raw, *path).items():
            yield from ((f"{'.'.join(path)}.{key}.from", name, "imports") for name in strings(entry.get("from")))
    for key, entry in entries(raw, "judges").items():
        yield from ((f"judges.{key}.dataset", name, "datasets") for name in strings(entry.get("dataset")))
        yield from (
            (f"judges.{key}.{field}", name, "judges") for field in ("judge", "judges") for name in strings(entry.get(field))
        )
        yield from ((f"judges.{key}.pairs", name, "pairs") for name in strings(entry.get("pairs")))
    for key, entry in entries(raw, "pairs").items():
        yield from ((f"pairs.{key}.from", name, "imports") for name in strings(entry.get("from")))
        yield from ((f"pairs.{key}.{field}", name, "judges") for field in ("gold", "judges") for name in strings(entry.get(field)))
    for key, entry in entries(raw, "datasets").items():
        yield from ((f"datasets.{key}.teacher", name, "judges") for name in strings(entry.get("teacher")))
        if isinstance(weak_teacher := entry.get("weak_teacher"), Mapping):
            yield from ((f"datasets.{key}.weak_teacher.teacher", name, "judges") for name in strings(weak_teacher.get("teacher")))
    for key, entry in entries(raw, "models").items():
        yield from ((f"models.{key}.filters", name, "filters") for name in strings(entry.get("filters")))
    for key, entry in entries(raw, "filters").items():
        yield from ((f"filters.{key}.judge", name, "judges") for name in strings(entry.get("judge")) if name not in CONTROLS)
    for where in ("scorers", "gold"):
        yield from ((where, name, "judges") for name in strings(raw.get(where)))
    if isinstance(audit := raw.get("audit"), Mapping):
        yield from (("audit.judge", name, "judges") for name in strings(audit.get("judge")))
    if isinstance(attacks := raw.get("attacks"), Mapping):
        yield from (("attacks.judges", name, "judges") for name in strings(attacks.get("judges")))


def _duplicate_names(raw: Raw) -> list[str]:
    lists = {"tasks.train and tasks.test": listed_tasks(raw)}
    lists |= {key: strings(raw.get(key)) for key in ("scorers", "task_files")}
    if isinstance(attacks := raw.get("attacks"), Mapping):
        lists |= {f"attacks.{key}": strings(attacks.get(key)) for key in ("judges", "tasks")}
    for block in ("models", "judges"):
        lists |= {f"{block}.{key}.from": strings(entry.get("from")) for key, entry in entries(raw, block).items()}
    lists |= {f"judges.{key}.judges": strings(entry.get("judges")) for key, entry in entries(raw, "judges").items()}
    lists |= {f"judges.{key}.pairs": strings(entry.get("pairs")) for key, entry in entries(raw, "judges").items()}
    for key, entry in entries(raw, "pairs").items():
        lists |= {f"pairs.{key}.{field}": strings(entry.get(field)) for field in ("tasks", "models", "judges")}
    lists |= {f"models.{key}.filters": strings(entry.get("filters")) for key, entry in entries(raw, "models").items()}
    for block in ("datasets", "filters"):
        for key, entry in entries(raw, block).items():
            lists |= {f"{block}.{key}.{field}": strings(entry.get(field)) for field in ("tasks", "models")}
    return [
        f"{where}: {name!r} is listed twice; remove one"
        for where, names in lists.items()
        for name, count in Counter(names).items()
        if count > 1
    ]


def _column_collisions(raw: Raw) -> list[str]:
    """Return judges whose columns `{judge}` and `{judge}_verdict` collide with a column of the score tables."""
    judges = _keys(raw, "judges")
    taken = {"sample_id", "attempt", "question", "references", "candidate", "status", *(f"{judge}_verdict" for judge in judges)}
    return [f"judges.{name}: the score tables have a column of this name; choose another" for name in judges if name in taken]
