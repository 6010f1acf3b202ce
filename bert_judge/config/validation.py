"""What is wrong with a configuration, in one line per fault: its place, the fault and the remedy.

Works on the raw mapping, as it stands in the file, so that a fault of shape in one block hides no fault in another.
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


def of_shape(raw: Raw, errors: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[str]:
    """pydantic's errors in the words of the configuration file.

    Args:
        raw: the configuration.
        errors: `ValidationError.errors()`.
        schema: the JSON schema of the configuration.
    """
    # A value that fits no member of a union has one error per member; the place is the same, and one line is enough.
    lines: dict[tuple[Any, ...], str] = {}
    for error in errors:
        path, fragment = _locate(schema, error["loc"])
        lines.setdefault((tuple(path), error["type"] == "missing"), _shape_line(raw, error, path, fragment, schema))
    return list(lines.values())


def _locate(schema: Mapping[str, Any], loc: Sequence[str | int]) -> tuple[list[str | int], Mapping[str, Any]]:
    """The path in the reader's file, without the levels that pydantic inserts for unions, and the schema at that path."""
    path: list[str | int] = []
    here: Mapping[str, Any] = schema
    for part in loc:
        if part == "[key]":
            break
        # What may be left out adds no level.
        here = _if_given(here)
        if "discriminator" in here:
            here = schema_text.resolve(schema, {"$ref": here["discriminator"]["mapping"][part]})
            continue
        here = schema_text.resolve(schema, here)
        if "anyOf" in here or "prefixItems" in here:
            break
        path.append(part)
        if part in here.get("properties", {}):
            here = here["properties"][part]
        elif (inner := schema_text.member(here) or here.get("items")) is not None:
            here = inner
        else:
            # An unknown key: the caller looks at the block it stands in.
            break
    return path, here


def _if_given(fragment: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a value must be that may be left out, when it is given."""
    kinds = [kind for kind in fragment.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else fragment


def _shape_line(
    raw: Raw, error: Mapping[str, Any], path: list[str | int], fragment: Mapping[str, Any], schema: Mapping[str, Any]
) -> str:
    place = ".".join(map(str, path)) or "the configuration"
    if error["loc"] and error["loc"][-1] == "[key]":
        remedy = f"write {NAME}" if isinstance(path[-1], str) else "put quotes around it"
        return f"{place}: bad name {path[-1]!r}; {remedy}"
    match error["type"]:
        case "extra_forbidden":
            return f"{place}: unknown key; {_hint(str(path[-1]), list(fragment.get('properties', {})))}"
        case "missing":
            return f"{place}: is missing; {_meaning(schema, fragment)}"
        case "union_tag_invalid" | "union_tag_not_found":
            tag = str(error["ctx"]["discriminator"]).strip("'")
            known = ", ".join(_if_given(fragment)["discriminator"]["mapping"])
            if error["type"] == "union_tag_not_found":
                return f"{place}.{tag}: is missing; add one of {known}"
            return f"{place}.{tag}: unknown {tag} {error['ctx']['tag']!r}; known are: {known}"
        case "value_error":
            return f"{place}: {error['msg'].removeprefix('Value error, ')}"
        case _:
            value = _at(raw, path)
            text = "string" in {kind.get("type") for kind in fragment.get("anyOf", [fragment])}
            unquoted = text and isinstance(value, bool | int | float | date)
            remedy = "; put quotes around it" if unquoted else f"; write {NAME}" if "pattern" in fragment else ""
            return f"{place}: needs {schema_text.words(fragment)}; got {_shown(value)}{remedy}"


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known)}"


def _meaning(schema: Mapping[str, Any], fragment: Mapping[str, Any]) -> str:
    told = fragment.get("description") or schema_text.resolve(schema, fragment).get("description") or ""
    return f"expected: {told.splitlines()[0]}" if told else f"it must be {schema_text.words(fragment)}"


def _at(raw: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        # A key that is no text has its text in pydantic's path.
        members = enumerate(raw) if isinstance(raw, list) else raw.items()
        raw = next(value for key, value in members if str(key) == str(part))
    return raw


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def of_names(raw: Raw) -> list[str]:
    """Names that are used but not defined, listed twice, or that cannot stand beside each other."""
    return [*_dangling(raw), *_repeated(raw), *_columns(raw)]


def entries(raw: Raw, *path: str) -> dict[str, dict[str, Any]]:
    """The named blocks under a path, leaving out all that has not the shape of a block."""
    here: Any = raw
    for part in path:
        here = here.get(part) if isinstance(here, Mapping) else None
    return {str(k): dict(v) for k, v in here.items() if isinstance(v, Mapping)} if isinstance(here, Mapping) else {}


def texts(value: Any) -> list[str]:
    """The texts of a list, or of a list that is written as its single member."""
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]


def listed_tasks(raw: Raw, *parts: str) -> list[str]:
    """Names under `tasks.train` and `tasks.test`."""
    tasks = raw.get("tasks")
    return [name for part in parts or ("train", "test") for name in texts(tasks.get(part))] if isinstance(tasks, Mapping) else []


def _keys(raw: Raw, block: str) -> list[str]:
    value = raw.get(block)
    return list(map(str, value)) if isinstance(value, Mapping) else []


def _dangling(raw: Raw) -> list[str]:
    defined = {block: _keys(raw, block) for block in ("imports", "judges", "datasets", "pairs", "filters")}
    tasks = listed_tasks(raw)
    lines = [
        f"{where}: {name!r} is not defined under {block}; there are: {', '.join(defined[block]) or 'none'}"
        for where, name, block in _uses(raw)
        if name not in defined[block]
    ]
    for key, entry in entries(raw, "filters").items():
        lines += [
            f"filters.{key}.tasks: {name!r} is not listed under tasks.train; there are: {', '.join(tasks) or 'none'}"
            for name in texts(entry.get("tasks"))
            if name not in tasks
        ]
    for key, dataset in entries(raw, "datasets").items():
        own = texts(dataset.get("tasks"))
        lines += [
            f"datasets.{key}.tasks: {name!r} is not listed under tasks.train; there are: {', '.join(tasks) or 'none'}"
            for name in own
            if name not in tasks
        ]
        mix = dataset.get("mix")
        per_task = mix.get("per_task") if isinstance(mix, Mapping) else None
        lines += [
            f"datasets.{key}.mix.per_task: {name!r} is not one of the dataset's tasks; these are: {', '.join(own) or 'none'}"
            for name in (per_task if isinstance(per_task, Mapping) else ())
            if name not in own
        ]
        weak_teacher = dataset.get("weak_teacher")
        lines += [
            f"datasets.{key}.weak_teacher.tasks: {name!r} is not one of the dataset's tasks; these are: {', '.join(own) or 'none'}"
            for name in texts(weak_teacher.get("tasks") if isinstance(weak_teacher, Mapping) else None)
            if name not in own
        ]
    return lines


def _uses(raw: Raw) -> Iterator[tuple[str, str, str]]:
    """(where, name, block that must define it)."""
    for path in (("models",), ("judges",), ("tasks", "imported")):
        for key, entry in entries(raw, *path).items():
            yield from ((f"{'.'.join(path)}.{key}.from", name, "imports") for name in texts(entry.get("from")))
    for key, entry in entries(raw, "judges").items():
        yield from ((f"judges.{key}.dataset", name, "datasets") for name in texts(entry.get("dataset")))
        yield from ((f"judges.{key}.{part}", name, "judges") for part in ("judge", "judges") for name in texts(entry.get(part)))
        yield from ((f"judges.{key}.pairs", name, "pairs") for name in texts(entry.get("pairs")))
    for key, entry in entries(raw, "pairs").items():
        yield from ((f"pairs.{key}.from", name, "imports") for name in texts(entry.get("from")))
        yield from ((f"pairs.{key}.{part}", name, "judges") for part in ("gold", "judges") for name in texts(entry.get(part)))
    for key, entry in entries(raw, "datasets").items():
        yield from ((f"datasets.{key}.teacher", name, "judges") for name in texts(entry.get("teacher")))
        if isinstance(weak_teacher := entry.get("weak_teacher"), Mapping):
            yield from ((f"datasets.{key}.weak_teacher.teacher", name, "judges") for name in texts(weak_teacher.get("teacher")))
    for key, entry in entries(raw, "models").items():
        yield from ((f"models.{key}.filters", name, "filters") for name in texts(entry.get("filters")))
    for key, entry in entries(raw, "filters").items():
        yield from ((f"filters.{key}.judge", name, "judges") for name in texts(entry.get("judge")) if name not in CONTROLS)
    for where in ("scorers", "gold"):
        yield from ((where, name, "judges") for name in texts(raw.get(where)))
    if isinstance(audit := raw.get("audit"), Mapping):
        yield from (("audit.judge", name, "judges") for name in texts(audit.get("judge")))
    if isinstance(attacks := raw.get("attacks"), Mapping):
        yield from (("attacks.judges", name, "judges") for name in texts(attacks.get("judges")))


def _repeated(raw: Raw) -> list[str]:
    lists = {"tasks.train and tasks.test": listed_tasks(raw)}
    lists |= {key: texts(raw.get(key)) for key in ("scorers", "task_files")}
    if isinstance(attacks := raw.get("attacks"), Mapping):
        lists |= {f"attacks.{key}": texts(attacks.get(key)) for key in ("judges", "tasks")}
    for block in ("models", "judges"):
        lists |= {f"{block}.{key}.from": texts(entry.get("from")) for key, entry in entries(raw, block).items()}
    lists |= {f"judges.{key}.judges": texts(entry.get("judges")) for key, entry in entries(raw, "judges").items()}
    lists |= {f"judges.{key}.pairs": texts(entry.get("pairs")) for key, entry in entries(raw, "judges").items()}
    for key, entry in entries(raw, "pairs").items():
        lists |= {f"pairs.{key}.{part}": texts(entry.get(part)) for part in ("tasks", "models", "judges")}
    lists |= {f"models.{key}.filters": texts(entry.get("filters")) for key, entry in entries(raw, "models").items()}
    for block in ("datasets", "filters"):
        for key, entry in entries(raw, block).items():
            lists |= {f"{block}.{key}.{part}": texts(entry.get(part)) for part in ("tasks", "models")}
    return [
        f"{where}: {name!r} is listed twice; remove one"
        for where, names in lists.items()
        for name, count in Counter(names).items()
        if count > 1
    ]


def _columns(raw: Raw) -> list[str]:
    """A judge has two columns in the score tables, `{judge}` and `{judge}_verdict`, which must be new there."""
    judges = _keys(raw, "judges")
    taken = {"sample_id", "attempt", "question", "references", "candidate", "status", *(f"{judge}_verdict" for judge in judges)}
    return [f"judges.{name}: the score tables have a column of this name; choose another" for name in judges if name in taken]
