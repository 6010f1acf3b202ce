"""The reference is an object, a list or a call of a tool: keys have no order, values and names count."""

import ast
import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.text.extraction import strip_fence
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision

MAX_CHARACTERS = 20_000
_START = re.compile(r"[\[{]|[A-Za-z_][\w.]*\(")
_TAG = re.compile(r"\A\s*<(?P<tag>\|?\w{1,30}\|?)>\s*(?P<text>.*?)\s*(?:</(?P=tag)>)?\s*\Z", re.DOTALL)
_BLOCK = re.compile(r"```[\w+-]*\s*\n(.*?)```|<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "kwargs")


def decide_structure(task: Task, text: str) -> Decision | None:
    """See `compare_structures`."""
    return compare_structures(task.references, text)


def compare_structures(references: Sequence[str], text: str) -> Decision | None:
    """Compare by content, if all references are structures and the answer has one."""
    expected = list(map(parse_structure, references))
    if not expected or any(value is None for value in expected):
        return None
    actual = find_structure(text)
    if actual is None:
        return None
    if any(_equal(value, actual) for value in expected):
        return Decision(True, "json", "same content")
    # Spelling and types alone may be a matter of taste, and so may the order of a list.
    if any(_equal(_fold(value), _fold(actual)) for value in expected):
        return None
    return Decision(False, "json", _difference(expected[0], actual))


def is_same_structure(reference: str, answer: str) -> bool:
    """Return whether two whole texts are structures with the same content."""
    expected = parse_structure(reference)
    return expected is not None and (actual := parse_structure(answer)) is not None and _equal(expected, actual)


def find_structure(text: str) -> Any:
    """Return the structure that a text is, or the only one in it; None if there is none or several."""
    if len(text) > MAX_CHARACTERS:
        return None
    if (structure := parse_structure(text)) is not None:
        return structure
    blocks = [parsed for match in _BLOCK.finditer(text) if (parsed := parse_structure(match[1] or match[2] or "")) is not None]
    if blocks:
        return blocks[0] if len(blocks) == 1 else None
    start = min((position for mark in "[{" if (position := text.find(mark)) >= 0), default=-1)
    end = max(text.rfind("]"), text.rfind("}"))
    return parse_structure(text[start : end + 1]) if 0 <= start < end else None


@view
def parse_structure(text: str) -> Any:
    """Return the object, list or calls that a whole text spells in JSON or Python; None for any other text.

    A call is an object of its name and arguments.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    text = strip_fence(text).strip()
    if tagged := _TAG.match(text):
        text = tagged["text"]
    if not _START.match(text) or text[-1] not in "]})":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = _read_node(ast.parse(text, mode="eval").body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    value = _canonical(value)
    # A list without members, or an interval, says little.
    return value if isinstance(value, dict | list) and value else None


def _read_node(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and not any(keyword.arg is None for keyword in node.keywords):
        arguments: dict[str, Any] = {keyword.arg: _read_node(keyword.value) for keyword in node.keywords if keyword.arg}
        arguments |= {str(number): _read_node(argument) for number, argument in enumerate(node.args)}
        return {"name": ast.unparse(node.func), "arguments": arguments}
    if isinstance(node, ast.List):
        return [_read_node(member) for member in node.elts]
    if isinstance(node, ast.Dict) and all(node.keys):
        return {ast.literal_eval(key): _read_node(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    return ast.literal_eval(node)


def _canonical(value: Any) -> Any:
    """Return a structure with calls in one form: {"name": …, "arguments": {…}}."""
    if isinstance(value, Mapping):
        if isinstance(value.get("function"), Mapping) and value.keys() <= {"function", "type", "id"}:
            value = value["function"]
        members = {str(key): _canonical(member) for key, member in value.items()}
        key = next((key for key in _ARGUMENT_KEYS if key in members), None)
        if isinstance(members.get("name"), str) and key and members.keys() <= {"name", key, "id", "type"}:
            arguments = members[key]
            if isinstance(arguments, str) and arguments.strip().startswith("{"):
                with contextlib.suppress(ValueError):
                    arguments = _canonical(json.loads(arguments))
            return {"name": members["name"], "arguments": arguments}
        return members
    if isinstance(value, list | tuple):
        items = [_canonical(member) for member in value]
        is_call = len(items) == 1 and isinstance(items[0], dict) and items[0].keys() == {"name", "arguments"}
        return items[0] if is_call else items
    return value


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_equal(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_equal, first, second))
    return bool(first == second)


def _fold(value: Any) -> Any:
    """Return a structure in which case, white space, types of scalars and order do not count."""
    if isinstance(value, dict):
        return {key.casefold(): _fold(member) for key, member in value.items()}
    if isinstance(value, list):
        return sorted((_fold(member) for member in value), key=repr)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).casefold().split())


def _difference(expected: Any, actual: Any) -> str:
    if isinstance(expected, dict) and isinstance(actual, dict):
        if expected.keys() == actual.keys():
            key = next(key for key in expected if not _equal(expected[key], actual[key]))
            return f"another value of {key}: {json.dumps(actual[key], default=str, ensure_ascii=False)[:60]}"
        if missing := expected.keys() - actual.keys():
            return f"without {', '.join(sorted(missing))[:60]}"
        return f"with {', '.join(sorted(actual.keys() - expected.keys()))[:60]} too"
    return "another content"
