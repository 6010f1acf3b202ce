"""What the name of a column says about its role: usual names, words, and the objects in a dotted name (`column_names.yaml`)."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from bert_judge.runtime.package_data import read_yaml

# A part of a dotted name that says nothing about the role: the value in `output.value`.
_VALUE = re.compile(r"(?<=\w)[./](?:value|text|content)$", re.IGNORECASE)
# A key of an object; other names may have a point or a slash too, as "GPT-3.5" and "Y/N".
_PATH = re.compile(r"[^\W\d][\w-]*(?:[./][^\W\d][\w-]*)+")
_REMARK = re.compile(r"\s*[(\[{]([^()\[\]{}]*)[)\]}]\s*")
# What a remark in brackets may tell about the role, unlike a version or a unit.
_REMARK_WORDS = ("gold", "correct", "model", "student")


@cache
def vocabulary() -> Mapping[str, Any]:
    """Return the lists of `column_names.yaml`, names without accents and words as sets."""
    content = read_yaml(Path(__file__).with_name("column_names.yaml"))

    def fold(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: fold(member) for key, member in value.items()}
        return [_fold_accents(member) for member in value]

    content = fold(content)
    return content | {"words": {name: frozenset(words) for name, words in content["words"].items()}}


def has_usual_name(name: str, role: str, kind: str = "names") -> bool:
    return normalize(name) in vocabulary()[kind].get(role, ())


def is_ambiguous(name: str) -> bool:
    """Return whether a column holds the candidate in one file and the references in another."""
    return normalize(name) in vocabulary()["ambiguous"]


def is_students(name: str) -> bool:
    """Return whether a name says that a student wrote the answers."""
    words, role_words = set(split_words(name)), vocabulary()["words"]
    return normalize(name) in vocabulary()["student"] or bool(words & role_words["student"] and words & role_words["answer"])


def is_model_answer(name: str) -> bool:
    """Return whether a name is one for the answer of a model, and in a teacher's table for the reference."""
    words, role_words = set(split_words(name)), vocabulary()["words"]
    return (
        bool(words & role_words["exemplary"])
        and bool(words & role_words["answer"])
        and words <= (role_words["exemplary"] | role_words["answer"])
    )


def has_role_words(name: str, role: str) -> bool:
    """Return whether the words of a name are those of a role, e.g. a gold word and an answer word."""
    words, role_words = split_words(name), vocabulary()["words"]
    if not words or is_ambiguous(name):
        return False
    has_text = words[-1] == "text" and len(words) > 1
    if role == "question":
        return set(words) <= role_words["question"] and words[-2 if has_text else -1] in role_words["question_ending"]
    if role == "references":
        answer = role_words["answer"] | role_words["reference"]
        has_correct_answer = len(words) > 1 and not role_words["correct"].isdisjoint(words) and not answer.isdisjoint(words)
        is_gold = not role_words["gold"].isdisjoint(words) or has_correct_answer
        return is_gold and set(words) <= role_words["gold"] | role_words["correct"] | answer
    if role == "candidate":
        if len(words) > 1 and words[0] in role_words["produced"] and words[-1] in role_words["reference"]:
            return set(words[:-1]) <= role_words["answer"] | role_words["model"]
        words = words[:-1] if has_text else words
        model = role_words["model"] | role_words["student"]
        is_answer = words[-1] in role_words["answer"] and set(words) <= role_words["answer"] | model
        return is_answer and (has_text or not model.isdisjoint(words))
    answer_words = role_words["gold"] | role_words["correct"] | role_words["answer"]
    if role == "aliases":
        is_alias = not role_words["alias"].isdisjoint(words)
        return is_alias and set(words) <= answer_words | role_words["alias"] | role_words["spelled"]
    if role == "further_references":
        is_further = not role_words["further"].isdisjoint(words) and len(words) > 1
        return is_further and set(words) <= answer_words | role_words["further"] | role_words["spelled"]
    if role == "choices":
        return set(words) <= role_words["choice"] and not {"choice", "option"}.isdisjoint(words) and len(words) > 1
    return False


def may_have_role(name: str, role: str, columns: tuple[str, ...]) -> bool:
    """Return whether a key of an object may have a role: not if its object is another thing, as in `provider.label`.

    Args:
        columns: of the file. An object that holds references too, or a question unless it is the model's input, may hold the
            candidate.
    """
    if role == "model":
        return not is_in_grader(name)
    objects = [normalize(segment) for segment in _objects(name)]
    folders = vocabulary()["folders"]
    if role not in folders:
        return True

    def may_hold(segment: str) -> bool:
        if segment in folders["row"] or segment in folders["input"]:
            return role != "candidate" or _is_row(
                name, columns, ("references",) if segment in folders["input"] else ("question", "references")
            )
        if role == "references" and segment in folders["metadata"]:
            return is_sure_reference(name)
        if segment in folders[role] or has_usual_name(segment, role) or has_role_words(segment, role):
            return True
        if vocabulary()["words"]["judge"] & set(split_words(segment)):
            # A grader repeats the `correct_answer` in its verdict, as in Humanity's Last Exam; its `reference` may be another's.
            return role == "references" and len(split_words(name)) > 1 and is_sure_reference(name)
        # Whatever its name is, an object with a question and its references is the row.
        required = {"question": ("references",), "references": ("question",), "candidate": ("question", "references")}.get(role, ())
        return bool(required) and all(_is_row(name, columns, (role,)) for role in required)

    return all(map(may_hold, objects))


def is_in_grader(name: str) -> bool:
    """Return whether a key is in an object that describes a grader or its verdict, as in `autoeval_label.model`."""
    words = vocabulary()["words"]["judge"] | vocabulary()["words"]["verdict"]
    return any(not words.isdisjoint(split_words(segment)) for segment in _objects(name))


def is_in_unknown_object(name: str) -> bool:
    """Return whether a key is in an object that may describe something else than the row."""
    folders = vocabulary()["folders"]
    folder_names = {*folders["row"], *folders["input"], *folders["references"]}
    names = [text for text in _objects(name) if not has_role_words(text, "references") and not has_usual_name(text, "references")]
    return any(normalize(text) not in folder_names for text in names)


def is_sure_reference(name: str) -> bool:
    """Return whether a name means the references of a question, and not the target or label of something else."""
    words, role_words = set(split_words(name)), vocabulary()["words"]
    return bool(words & (role_words["gold"] - role_words["target"])) or (len(words) > 1 and has_role_words(name, "references"))


def _is_row(name: str, columns: tuple[str, ...], roles: tuple[str, ...]) -> bool:
    siblings = [sibling for sibling in columns if sibling != name and _objects(sibling) == _objects(name)]
    return any(has_usual_name(sibling, role) or has_role_words(sibling, role) for sibling in siblings for role in roles)


def _objects(name: str) -> list[str]:
    """Return the objects around a key, from the outermost: inputs, example of `inputs.example.question`."""
    name = _VALUE.sub("", name.strip())
    return re.split(r"[./]", name)[:-1] if _PATH.fullmatch(name) else []


@lru_cache(maxsize=1024)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in the singular: `goldenAnswers` is golden, answer."""
    spaced = re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", _strip_remarks(_strip_objects(name)))
    vocabulary_words = _known_words()
    # Without numbers and versions: "GPT-4 answer", "output v2".
    words = re.findall(r"[^\W\d_]+", re.sub(r"['’]s\b|\bv\d+\b", "", _fold_accents(spaced.casefold())))
    return tuple(word[:-1] if word.endswith("s") and word[:-1] in vocabulary_words else word for word in words)


@cache
def _known_words() -> frozenset[str]:
    return frozenset().union(*vocabulary()["words"].values())


def _strip_objects(name: str) -> str:
    """Return the last part of a dotted name, as of LangSmith, MLflow and Azure: `outputs.answer`, `inputs/question`.

    An object of references is kept: `reference_outputs.answer`.
    """
    name = _VALUE.sub("", name.strip())
    folders, _, last = name.rpartition("." if "." in name else "/")
    is_gold = not vocabulary()["words"]["gold"].isdisjoint(re.findall(r"[^\W_]+", folders.casefold()))
    return name if is_gold or not last else last


def _strip_remarks(name: str) -> str:
    """Return a name without remarks in brackets, `Model output (v2)`; of these, words that tell the role stay: `Answer (gold)`."""
    remarks = re.findall(r"[^\W\d_]+", " ".join(_REMARK.findall(name)).casefold())
    remark_words = [word for word in remarks if any(word in vocabulary()["words"][kind] for kind in _REMARK_WORDS)]
    return " ".join([*remark_words, rest]) if (rest := _REMARK.sub(" ", name).strip()) else name


@lru_cache(maxsize=1024)
def normalize(name: str) -> str:
    """Return a name in small letters without accents and remarks, with underscores between its words."""
    spaced = re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", _strip_remarks(_strip_objects(name)))
    return re.sub(r"[\W_]+", "_", _fold_accents(spaced.casefold())).strip("_")


def _fold_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", re.sub("(?<=[a-z])[\u0300-\u036f]+", "", decomposed))
