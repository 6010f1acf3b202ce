"""Cells of files of answers and of datasets, and their parsers. Each raises `UnreadableCell` for a value it does not accept."""

import ast
import datetime
import json
import math
import numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml

T = TypeVar("T")
USER, ASSISTANT = "user", "assistant"
_WORDS: Any = read_yaml(Path(__file__).with_name("words.yaml"))
_KEYS: Mapping[str, list[str]] = _WORDS["keys"]
# Keys of a date in DROP, in the order in which it is written.
_DATE = ("day", "month", "year")
# A question in an object, as exports of traces spell it; an answer may itself be an object.
_QUESTION_OBJECT = re.compile(rf"\s*\{{\s*[\"'](?:{'|'.join(_KEYS[USER])})[\"']\s*:\s*(?:[\"']|\[\s*\{{)")
_VERDICTS = {word: verdict for verdict, words in _WORDS["verdicts"].items() for word in words}
_PREFERENCES = {word: preference for preference, words in _WORDS["preferences"].items() for word in words}
# A list or object in brackets, NumPy's array, and a tuple of texts; a tuple of numbers is an interval or a vector.
_LITERAL = re.compile(r"\[.*\]|\{.*\}|array\(.*\)|\(\s*['\"].*\)", re.DOTALL)
_ARRAY = re.compile(r"\barray\((\[[^][]*\])(?:,\s*dtype=[\w'<>]+)?\)")
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""


# Truth value → the texts that it stands for as a reference.
TRUTH_TEXTS = {True: ("true", "yes"), False: ("false", "no")}


class UnreadableCell(ValueError):
    """An invalid cell. The message states the problem and the fix; `parse_cell` adds the location."""


class SkippedRecord(Exception):
    """A valid record without an answer to judge or a question, e.g. a choice by likelihood. The message gives the reason."""


def parse_cell(where: str, parse: Callable[[Any], T], value: Any) -> T:
    """Apply one of the parsers below to a cell, e.g. "f.csv: row 3: column 'label'". Raises InputError: the cell is invalid."""
    try:
        return parse(value)
    except UnreadableCell as error:
        raise InputError(f"{where} {error}") from error


def parse_text(value: Any) -> str:
    """Return a text; a number becomes its digits, a date its ISO form, a truth value `true` or `false`, null the empty text."""
    if is_null(value):
        return ""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Number):
        return _format_number(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise UnreadableCell(f"is {_preview(value)}; give a text")


def parse_required_text(value: Any) -> str:
    """Return a text that is not blank."""
    if not (text := parse_text(value)).strip():
        raise UnreadableCell("is empty; fill it, or exclude the row with imports.<name>.where")
    return text


def parse_text_list(value: Any) -> list[str]:
    """Return the stripped texts of a list or of a single text, without blank ones; see `parse_text`."""
    members = value if isinstance(value, list | tuple) else [value]
    return [text for member in members if (text := parse_text(member).strip())]


def parse_list(value: Any) -> Sequence[Any]:
    """Return a list unchanged."""
    if not isinstance(value, list | tuple):
        raise UnreadableCell(f"is {value!r:.60}; the column must hold lists")
    return value


def parse_message(value: Any, role: str) -> str:
    """Return the text of a question or answer.

    Args:
        value: a text; a message or a list of messages, of which the last with this role counts; a list of one text or of the parts
            of one; an object with a key such as `question` or `answer`; or a text that spells one of these.
        role: `USER` for a question, `ASSISTANT` for an answer.
    """
    if isinstance(value, str):
        is_question = role == USER and _QUESTION_OBJECT.match(value)
        if not is_question and not re.match(r"\s*[\[{].*[\"'](?:role|from|content)[\"']\s*:", value[:200], re.DOTALL):
            return parse_text(value)
        parsed = parse_literal(value)
        return parse_text(value) if isinstance(parsed, str) else parse_message(parsed, role)
    if isinstance(value, Mapping):
        if is_message(value):
            return parse_message(_first(value, _KEYS["message"]), role)
        if (member := _first(value, _KEYS[role])) is not None:
            return parse_message(member, role)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        # Also items between messages, such as the reasoning of OpenAI's responses.
        value = [element for element in value if not _is_hidden(element)]
        if messages := [member for member in value if is_message(member)]:
            if not (matching := [message for message in messages if message_role(message) == role]):
                raise UnreadableCell(f"has no message of the {role}; it is {_preview(value)}")
            return parse_message(matching[-1], role)
        if len(value) == 1:
            return parse_message(value[0], role)
        if not value:
            return ""
        if all(isinstance(element, Mapping) for element in value) and any("text" in element for element in value):
            return "".join(parse_text(element.get("text")) for element in value)
    return parse_text(value)


def parse_conversation(value: Any) -> str:
    """Return a question with the turns before it, as one text; only the question if the value is no list of messages."""
    parsed = parse_literal(value)
    messages = [element for element in parsed if is_message(element)] if isinstance(parsed, list) else []
    questions = [position for position, message in enumerate(messages) if message_role(message) == USER]
    earlier = messages[: max(questions, default=0)]
    turns = [(role, parse_message(message, role)) for message in earlier if (role := message_role(message))]
    return join_turns(turns, parse_message(value, USER))


def join_turns(turns: Sequence[tuple[str, str]], question: str) -> str:
    """Return a question after earlier turns, (role, text) each, as one text."""
    lines = [f"{role.capitalize()}: {text}" for role, text in turns]
    return "\n".join(["Conversation so far:", *lines, "", f"Question: {question}"]) if lines else question


def parse_answers(value: Any) -> list[str]:
    """Return the answers in a cell: several if it is a list of texts, else one; see `parse_message`."""
    if isinstance(value, list | tuple) and len(value) > 1 and all(isinstance(member, str) for member in value):
        return [parse_text(member) for member in value]
    return [parse_message(value, ASSISTANT)]


def parse_texts(value: Any, is_csv: bool = False) -> list[str]:
    """Return the distinct stripped, non-empty texts of a cell of references.

    Args:
        value: a single value or a list; a truth value stands for two words; an object, as in SQuAD, TriviaQA or verl, for the
            texts in it; messages for the last answer. An inner list is one reference with several parts.
        is_csv: parse a text in brackets as a list or object, as JSON, Python or NumPy write it, and `True` as a truth value. An
            object without one of the keys of references is the answer itself, such as the call of a tool.
    """
    if is_csv and isinstance(value, str):
        parsed = value.casefold() == "true" if value.casefold() in ("true", "false") else parse_alternatives(value)
        if parsed is not value:
            try:
                return parse_texts(parsed)
            except UnreadableCell:
                return parse_texts(value)
    return list(dict.fromkeys(text for member in _members(value) if (text := member.strip())))


def _members(value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield from TRUTH_TEXTS[value]
    elif is_message(value):
        yield parse_message(value, ASSISTANT)
    elif isinstance(value, Mapping) and value and value.keys() <= set(_DATE):
        yield " ".join(parse_text(value[key]) for key in _DATE if value.get(key))
    elif isinstance(value, Mapping):
        folded = {str(key).casefold(): member for key, member in value.items()}
        cells = [folded[key] for key in _KEYS["references"] if folded.get(key) is not None]
        if not cells:
            raise UnreadableCell(f"is {_preview(value)}; give a text")
        for element in cells:
            yield from _members(element)
    elif isinstance(value, list | tuple | set) and value and all(map(is_message, value)):
        yield parse_message(list(value), ASSISTANT)
    elif isinstance(value, list | tuple | set):
        for member in [member for member in value if _is_marked(member)] or value:
            if isinstance(member, list | tuple):
                yield ", ".join(map(parse_text, member))
            else:
                yield from _members(member)
    else:
        yield parse_text(value)


def _is_marked(member: Any) -> bool:
    """Return whether an option is marked as correct, as HELM's are: {"output": {"text": "Rome"}, "tags": ["correct"]}."""
    if not isinstance(member, Mapping):
        return False
    folded = {str(key).casefold(): value for key, value in member.items()}
    tags = folded.get("tags")
    return (isinstance(tags, list) and "correct" in tags) or any(
        folded.get(key) is True for key in ("is_correct", "iscorrect", "correct")
    )


def display_texts(texts: Sequence[str]) -> list[str]:
    """Return references for people to read: the two words for a truth value as the one that was written."""
    return next(([str(truth)] for truth, words in TRUTH_TEXTS.items() if tuple(texts) == words), list(texts))


def parse_required_texts(value: Any, is_csv: bool = False) -> list[str]:
    """Return at least one text, like `parse_texts`."""
    if not (texts := parse_texts(value, is_csv)):
        raise UnreadableCell("contains no text; give at least one reference, or exclude the row with imports.<name>.where")
    return texts


def parse_label(value: Any) -> float | None:
    """Return a verdict as a number from 0 (incorrect) to 1 (correct), or None if there is none."""
    if _is_empty(value):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        if verdict := _VERDICTS.get(_verdict_word(value)):
            return float(verdict == "correct")
        number = to_float(value)
    elif isinstance(value, numbers.Number):
        number = value
    # False for NaN too.
    if 0 <= number <= 1:
        return float(number)
    raise UnreadableCell(
        f"is {_preview(value)}; give 1 or 0, true or false, correct or incorrect, right or wrong, yes or no, pass or fail, "
        "a number in [0, 1], not_attempted, or nothing"
    )


def round_label(label: float | None) -> float | None:
    """Return a label from 0 to 1 as 1 or 0; None if there is none, and for 0.5, which is neither."""
    return None if label is None or label == 0.5 else float(label > 0.5)


def parse_attempt(value: Any) -> bool | None:
    """Return whether a verdict says that the answer attempts the question, or None if there is no verdict."""
    if parse_label(value) is None:
        return None
    return not (isinstance(value, str) and _VERDICTS.get(_verdict_word(value)) == "not_attempted")


def _verdict_word(text: str) -> str:
    # \ufe0f asks for a sign in colours.
    return re.sub(r"[\s_-]+", " ", text.casefold().replace("\ufe0f", "")).strip(" .!")


def parse_number(value: Any) -> float | None:
    """Return a finite number, or None if there is none."""
    if _is_empty(value):
        return None
    number: Any = math.nan
    if isinstance(value, str):
        number = to_float(value)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
    if math.isfinite(number):
        return float(number)
    raise UnreadableCell(f"is {_preview(value)}; give a number, or nothing")


def parse_preference(value: Any) -> str | None:
    """Return the preferred answer: A, B or tie; None for an empty cell."""
    if _is_empty(value):
        return None
    word = parse_text(value).casefold().strip("[]\"' \n\t")
    if word not in _PREFERENCES:
        raise UnreadableCell(f"is {value!r:.60}; use A, B or tie; 1, 2 or 0; or leave it empty")
    return _PREFERENCES[word]


def parse_preferences(value: Any) -> list[str]:
    """Return the preferences in a cell: a list, or a text with commas."""
    if is_null(value):
        return []
    members = value if isinstance(value, list | tuple) else parse_text(value).strip("[]() ").split(",")
    return [preference for member in members if (preference := parse_preference(member)) is not None]


def matches_filter(value: Any, expected: Any) -> bool:
    """Return whether a cell equals the value of a filter, or one of a list; a text equals the number or boolean that it spells."""
    if isinstance(expected, list):
        return any(matches_filter(value, member) for member in expected)
    if is_null(value) or expected is None:
        return is_null(value) and expected is None
    if isinstance(value, str) and isinstance(expected, bool):
        return value.strip().casefold() == str(expected).casefold()
    if isinstance(value, str) and isinstance(expected, int | float):
        return to_float(value) == expected
    return bool(value == expected)


def parse_literal(value: Any) -> Any:
    """Return the list or object that a text spells as JSON, in Python or as NumPy prints it; other values stay as they are.

    >>> parse_literal('["a", "b"]'), parse_literal("['a', 'b']"), parse_literal("['a' 'b']"), parse_literal("[1, 2)")
    (['a', 'b'], ['a', 'b'], ['a', 'b'], '[1, 2)')
    >>> parse_literal("{'text': array(['a'], dtype=object)}")
    {'text': ['a']}
    """
    if not isinstance(value, str) or not _LITERAL.fullmatch(text := value.strip()):
        return value
    # NumPy separates members by blanks, which Python would join.
    separated = re.sub(rf"({_QUOTED})(\s+(?=['\"]))?", lambda match: match[1] + ("," if match[2] else ""), text)
    arrays = _ARRAY.sub(r"\1", separated)
    numbers_only = re.fullmatch(r"\[\s*(-?[\d.]+(?:\s+-?[\d.]+)+)\s*\]", text)
    for parse, form in (
        (json.loads, text),
        (ast.literal_eval, f"[{','.join(numbers_only[1].split())}]" if numbers_only else arrays),
        (ast.literal_eval, re.sub(r"(?<=[\[,:])(\s*)nan\b", r"\1None", arrays)),
    ):
        try:
            parsed = parse(form)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        # A set's order changes from run to run.
        parsed = sorted(parsed, key=str) if isinstance(parsed, set) else parsed
        return list(parsed) if isinstance(parsed, tuple) else parsed if isinstance(parsed, list | dict) else value
    # A text that only looks like a list, e.g. "[1, 2)".
    return value


def parse_alternatives(value: Any) -> Any:
    """Return `parse_literal`, but leave several numbers in brackets as they are: an interval or vector is one answer."""
    parsed = parse_literal(value)
    return value if isinstance(parsed, list) and len(parsed) > 1 and all(isinstance(n, int | float) for n in parsed) else parsed


def to_float(word: str) -> float:
    """Return the number that a text spells, or NaN."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def get_path(value: Any, *path: str | int) -> Any:
    """Return a member of nested objects and lists by its path; None if a step does not exist."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def get_cell(record: Mapping[str, Any], column: str) -> Any:
    """Return the cell of a column, or the member of nested objects under a dotted name; None if there is none."""
    return get_path(record, *([column] if column in record else column.split(".")))


def require_cell(record: Mapping[str, Any], column: str) -> Any:
    """Return the cell of a column that must exist; `a.b` is the member `b` of `a`, for a list of structures the list of theirs."""
    if column in record:
        return record[column]
    value: Any = record
    for key in column.split("."):
        value = _require_member(value, key, column, record)
    return value


def _require_member(value: Any, key: str, column: str, record: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_require_member(item, key, column, record) for item in value]
    if not isinstance(value, Mapping) or key not in value:
        present = ", ".join(map(repr, value if isinstance(value, Mapping) else record))
        raise InputError(f"no column {column!r}; available: {present}; fix the source's columns")
    return value[key]


def _is_empty(value: Any) -> bool:
    return is_null(value) or (isinstance(value, str) and value.strip().casefold() in _WORDS["null"])


def is_null(value: Any) -> bool:
    """Return whether a value is None, NaN or NaT."""
    return value is None or (isinstance(value, float | datetime.datetime) and value != value)


def is_message(value: Any) -> bool:
    """Return whether a value has a role and a content; parts of a message have a `type` too, and a `text`."""
    if not isinstance(value, Mapping):
        return False
    has_role = "role" in value or "from" in value or ("type" in value and "content" in value)
    return has_role and any(key in value for key in _KEYS["message"])


def _is_hidden(element: Any) -> bool:
    """Return whether a part of a message is reasoning or the call of a tool: by its type, or as Gemini and Bedrock mark it."""
    return isinstance(element, Mapping) and (
        element.get("type") in _WORDS["hidden_parts"]
        or element.get("thought") is True
        or element.get("channel") in ("analysis", "commentary")
        or "reasoningContent" in element
    )


def message_role(message: Mapping[str, Any]) -> str | None:
    """Return `USER`, `ASSISTANT`, or None for another role."""
    spelling = str(_first(message, _KEYS["role"])).lower()
    return next((role for role, spellings in _WORDS["roles"].items() if spelling in spellings), None)


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """Return the first member with one of these keys that is not null."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _format_number(value: Any) -> str:
    # An integer column with nulls is read as floats: 18.0 was written as 18.
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)


def _without_surrogates(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnreadableCell(f"has a lone surrogate (half a character) at position {error.start}; remove it") from error
    return value


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
