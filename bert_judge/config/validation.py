"""Validate a configuration and report one line per problem: location, problem and remedy.

The checks read the raw mapping, so an invalid value in one section does not hide problems in another.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from bert_judge.config.base import NAMES
from bert_judge.config.datasets import CONTROLS
from bert_judge.runtime.errors import suggest

Raw = Mapping[str, Any]
Fragment = Mapping[str, Any]
NAME = "letters, digits and . _ + -, the first a letter or digit"


def check_shape(raw: Raw, errors: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[str]:
    """Translate pydantic's errors into the terms of the configuration file."""
    # A value that matches no member of a union has one error per member at the same location; report one line.
    grouped: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for error in errors:
        path, _ = _locate(schema, error["loc"])
        grouped.setdefault((tuple(path), error["type"] == "missing"), []).append(error)
    lines = [_shape_line(raw, group, *_locate(schema, group[0]["loc"]), schema) for group in grouped.values()]
    # A misspelt key comes before the key that it was meant to be, which is missing.
    return sorted([*_misspelt_kinds(raw, errors, schema), *lines], key=lambda line: ": unknown key; did you mean" not in line)


def _misspelt_kinds(raw: Raw, errors: Sequence[Mapping[str, Any]], schema: Fragment) -> Iterator[str]:
    """Yield a line per key that is close to the missing one that says which block it is, such as `kind`; pydantic stops there."""
    for error in errors:
        if error["type"] == "union_tag_not_found":
            path, _ = _locate(schema, error["loc"])
            tag = str(error["ctx"]["discriminator"]).strip("'")
            for key in difflib.get_close_matches(tag, map(str, _lookup(raw, path)), n=1):
                yield f"{'.'.join(map(str, path))}.{key}: unknown key; did you mean {tag!r}?"


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
            current = resolve(schema, {"$ref": current["discriminator"]["mapping"][level]})
            continue
        current = resolve(schema, current)
        if "anyOf" in current or "prefixItems" in current:
            break
        path.append(level)
        if level in current.get("properties", {}):
            current = current["properties"][level]
        elif (inner := value_schema(current) or current.get("items")) is not None:
            current = inner
        else:
            # An unknown key: the caller needs the schema of its block.
            break
    return path, current


def resolve(schema: Fragment, fragment: Fragment) -> Fragment:
    """Follow a reference into `$defs`."""
    return schema["$defs"][block_name(fragment)] if "$ref" in fragment else fragment


def block_name(fragment: Fragment) -> str:
    """Return the name of the block that a reference points to."""
    return str(fragment["$ref"]).removeprefix("#/$defs/")


def value_schema(fragment: Fragment) -> Fragment | None:
    """Return the schema of the values of a mapping with arbitrary keys; None for other schemas."""
    values = next(iter(fragment.get("patternProperties", {}).values()), None) or fragment.get("additionalProperties")
    return values if isinstance(values, Mapping) else None


def _without_null(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional value without its null alternative."""
    kinds = [kind for kind in fragment.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else fragment


def _shape_line(raw: Raw, errors: Sequence[Mapping[str, Any]], path: list[str | int], fragment: Fragment, schema: Fragment) -> str:
    error, *_ = errors
    location = ".".join(map(str, path)) or "the configuration"
    if error["loc"] and error["loc"][-1] == "[key]":
        remedy = f"write {NAME}" if isinstance(path[-1], str) else "put quotes around it"
        return f"{location}: bad name {path[-1]!r}; {remedy}"
    match error["type"]:
        case "extra_forbidden":
            return f"{location}: unknown key; {suggest(str(path[-1]), fragment.get('properties', {}))}"
        case "missing":
            return f"{location}: is missing; {_meaning(schema, fragment)}"
        case "union_tag_invalid" | "union_tag_not_found":
            tag = str(error["ctx"]["discriminator"]).strip("'")
            known_names = _without_null(fragment)["discriminator"]["mapping"]
            if error["type"] == "union_tag_not_found":
                return f"{location}.{tag}: is missing; add one of {', '.join(known_names)}"
            return f"{location}.{tag}: unknown {tag} {error['ctx']['tag']!r}; {suggest(error['ctx']['tag'], known_names)}"
        case "value_error":
            return f"{location}: {error['msg'].removeprefix('Value error, ')}"
        case _:
            value = _lookup(raw, path)
            expects_string = "string" in {kind.get("type") for kind in fragment.get("anyOf", [fragment])}
            unquoted = expects_string and isinstance(value, bool | int | float | date)
            remedy = "; put quotes around it" if unquoted else f"; write {NAME}" if "pattern" in fragment else ""
            return f"{location}: {_requirement(errors)}; got {_quote(value)}{remedy}"


def _requirement(errors: Sequence[Mapping[str, Any]]) -> str:
    """Say what a value must be, in the words of pydantic."""
    blocks = dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a block of keys")
    names = {**blocks, "string_pattern_mismatch": "a name", "too_short": "a longer list"}
    texts = dict.fromkeys(names.get(error["type"], error["msg"].removeprefix("Input should be ")) for error in errors)
    return f"must be {' or '.join(texts)}"


def _meaning(schema: Fragment, fragment: Fragment) -> str:
    description = fragment.get("description") or resolve(schema, fragment).get("description") or "see docs/configuration.md"
    return f"expected: {description.splitlines()[0]}"


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
    """Return the strings of a list, or the keys of a mapping; a single value counts as a list of one."""
    if isinstance(value, Mapping):
        return list(map(str, value))
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]


def listed_tasks(raw: Raw, *splits: str) -> list[str]:
    """Return the names under `tasks.train` and `tasks.test`, or under the given splits."""
    return [name for split in splits or ("train", "test") for _, names in find_names(raw, f"tasks.{split}") for name in names]


def unknown_name(where: str, name: str, requirement: str, known_names: Iterable[str]) -> str:
    """Describe a name that does not meet a requirement, for example `defined under judges`."""
    return f"{where}: {name!r} is not {requirement}; {suggest(name, known_names)}"


def find_names(raw: Raw, path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (location, names) of every value at a path; `*` stands for any key."""
    values: list[tuple[str, Any]] = [("", raw)]
    for step in path.split("."):
        values = [
            (f"{where}.{key}", value)
            for where, block in values
            if isinstance(block, Mapping)
            for key, value in block.items()
            if step in ("*", str(key))
        ]
    yield from ((where.removeprefix("."), strings(value)) for where, value in values)


def _undefined_names(raw: Raw) -> list[str]:
    lines = [
        unknown_name(where, name, f"defined under {section}", strings(raw.get(section, {})))
        for path, section in NAMES["references"].items()
        for where, names in find_names(raw, path)
        for name in names
        if name not in strings(raw.get(section, {})) and not (path == "filters.*.judge" and name in CONTROLS)
    ]
    tasks = listed_tasks(raw)
    lines += [
        unknown_name(where, name, "listed under tasks.train", tasks)
        for path in ("filters.*.tasks", "datasets.*.tasks")
        for where, names in find_names(raw, path)
        for name in names
        if name not in tasks
    ]
    lines += [
        unknown_name(f"datasets.{key}.{where}", name, "a task of the dataset", strings(dataset.get("tasks")))
        for key, dataset in entries(raw, "datasets").items()
        for path in ("mix.per_task", "weak_teacher.tasks")
        for where, names in find_names(dataset, path)
        for name in names
        if name not in strings(dataset.get("tasks"))
    ]
    return lines


def _duplicate_names(raw: Raw) -> list[str]:
    lists = [
        ("tasks.train and tasks.test", listed_tasks(raw)),
        *(entry for path in NAMES["distinct"] for entry in find_names(raw, path)),
    ]
    return [
        f"{where}: {name!r} is listed twice; remove one"
        for where, names in lists
        for name, count in Counter(names).items()
        if count > 1
    ]


def _column_collisions(raw: Raw) -> list[str]:
    """Return judges whose columns, such as `{judge}` and `{judge}_verdict`, collide with a column of the score tables."""
    judges = strings(raw.get("judges", {}))
    taken = {"sample_id", "attempt", "question", "references", "candidate", "status"}
    taken |= {f"{judge}_{column}" for judge in judges for column in ("verdict", "outcome", "certain")}
    return [f"judges.{name}: the score tables have a column of this name; choose another" for name in judges if name in taken]
