"""Answer options in a column of their own: they become lines of the question, and the correct ones letter and text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_judge.tables.readers import values
from bert_judge.text.options import parse_options

# An option that repeats its letter, and an answer that is nothing but a letter, e.g. "(B)".
_LETTERED = re.compile(r"\s*[(\[]?([A-Z])[)\].:、]\s*")
_LETTER = re.compile(r"\W*(?:option\s+)?([A-Za-z]|\d{1,2})\W*", re.IGNORECASE)
_LABEL_KEYS = ("label", "labels", "key", "letter", "id")
_TEXT_KEYS = ("text", "texts", "content", "value", "option", "choice", "choices")


@dataclass(frozen=True)
class Options:
    """The options of a question: their texts, and their labels in the file (letters if it has none)."""

    texts: Sequence[str]
    labels: Sequence[str]

    @property
    def has_digits(self) -> bool:
        """Whether the labels are numbers, so that a number is a label and no index."""
        return all(label.isdecimal() for label in self.labels)


def parse_option_cell(value: Any) -> Options | None:
    """Return the options in a cell, which may also be spelled as a text; None if there are none.

    These are a list of texts or of objects (`{label, text}`), an object of two lists (ARC), or of texts by letter.
    """
    value = values.parse_literal(value)
    if isinstance(value, str):
        value = parse_options(value)
    texts: Sequence[Any] = value if isinstance(value, list | tuple) else ()
    labels: Sequence[Any] = ()
    if isinstance(value, Mapping):
        lists: list[list[Any]] = [
            next((value[key] for key in keys if isinstance(value.get(key), list)), []) for keys in (_TEXT_KEYS, _LABEL_KEYS)
        ]
        present = {key: text for key, text in value.items() if text is not None}
        texts, labels = lists if lists[0] else (list(present.values()), list(present))
    elif texts and all(isinstance(member, Mapping) for member in texts):
        texts, labels = (
            [next((member[key] for key in keys if member.get(key) is not None), "") for member in value]
            for keys in (_TEXT_KEYS, _LABEL_KEYS)
        )
    try:
        parsed = [values.parse_text(text).strip() for text in texts]
    except values.UnreadableCell:
        return None
    if len(parsed) < 2 or not all(parsed):
        return None
    letters = [chr(ord("A") + number) for number in range(len(parsed))]
    if [match[1] if (match := _LETTERED.match(text)) else None for text in parsed] == letters:
        parsed = [_LETTERED.sub("", text, count=1) for text in parsed]
    names = [str(label).strip() for label in labels]
    return Options(parsed, names if all(names) and len(set(names)) == len(parsed) else letters)


def find_index_base(rows: Sequence[tuple[Any, Options | None]], is_csv: bool) -> int | None:
    """Return the index of the first option if the answers of some rows are indices, else None. In CSV files numbers are texts."""
    numbers: list[tuple[int, Options]] = []
    for answer, options in rows:
        if options is None or values.is_null(answer):
            continue
        if isinstance(answer, bool) or not str(answer).strip().isdecimal():
            return None
        numbers.append((int(str(answer)), options))
    counts = [len(options.texts) for _, options in numbers]
    if not numbers or any(options.has_digits for _, options in numbers):
        return None
    if all(number >= 1 for number, _ in numbers) and any(n == count for (n, _), count in zip(numbers, counts, strict=True)):
        return 1
    are_texts = isinstance(rows[0][0], str) and all(str(number) in options.texts for number, options in numbers)
    return None if are_texts or any(n >= count for (n, _), count in zip(numbers, counts, strict=True)) else 0


def apply_options(question: str, answer: Any, options: Options, index_base: int | None = None) -> tuple[str, Any]:
    """Return a question with its options as lettered lines, and its references: letter and text of the correct option.

    Args:
        answer: label, letter, text or index of the correct option, or a list of these, which must be chosen together; something
            else stays as it is.
        index_base: see `find_index_base`; an integer, or a number that is no option, counts from 0 if None.

    Raises:
        values.UnreadableCell: no such option.
    """
    members = values.parse_literal(answer)
    members = members if isinstance(members, list | tuple) else [members]
    indices = [_find_option(member, options, index_base) for member in members]
    correct = [index for index in indices if index is not None]
    if len(correct) < len(members) or not correct:
        return add_options(question, options.texts), answer
    return letter_options(question, options.texts, correct, together=True)


def letter_options(question: str, texts: Sequence[str], correct: Sequence[int], *, together: bool) -> tuple[str, list[str]]:
    """Return a question with options as lettered lines, and letter and text of the correct ones.

    Several correct options are one reference if they must be chosen together, "A, C", else a reference each.

    Raises:
        UnreadableCell: an option is missing.
    """
    if not all(0 <= index < len(texts) for index in correct):
        raise values.UnreadableCell(f"the correct option is {list(correct)} of {len(texts)}")
    pairs = [(option_label(index), texts[index].strip()) for index in sorted(set(correct))]
    if together:
        pairs = [(", ".join(letters), "; ".join(correct_texts)) for letters, correct_texts in [zip(*pairs, strict=True)]]
    return add_options(question, texts), list(dict.fromkeys(form for pair in pairs for form in pair))


def add_options(question: str, texts: Sequence[str]) -> str:
    """Return a question followed by its options, unless they are in it or are letters."""
    texts = [text.strip() for text in texts]
    if all(text in question for text in texts) or all(re.fullmatch("[A-Z]", text) for text in texts):
        return question
    return "\n".join([question.rstrip(), *(f"({option_label(number)}) {text}" for number, text in enumerate(texts))])


def option_label(index: int) -> str:
    """Return the label of an option: A to Z, then 1, 2, 3, as inspect_ai 0.3.285 writes them."""
    return chr(ord("A") + index) if index < 26 else str(index - 25)


def parse_labels(target: Any, count: int) -> list[int] | None:
    """Return the indices of the options that a target names, of which `count` exist; None if it is something else.

    Labels are a list of several, or a text: "BC", "B,C" and "B C" are the same; letters of one word are capitals.
    """
    labels: list[str] = []
    for text in target if isinstance(target, list) else [target]:
        for word in str(text).replace(",", " ").split():
            labels += [word] if word.isdecimal() or len(word) == 1 else list(word)
    names = [option_label(index) for index in range(count)]
    folded = [label.upper() if len(labels) == 1 else label for label in labels]
    return [names.index(label) for label in folded] if folded and len({*folded} & {*names}) == len(folded) else None


def join_letters(question: str, references: Any) -> Any:
    """Return several letters that must be chosen together as one reference, with the texts of the question's options if it has
    some; other references as they are."""
    options = parse_options(question)
    letters = parse_labels(references, len(options) or 26) or []
    if len(letters) < 2 or (not options and not isinstance(references, list)):
        return references
    if not options:
        return [", ".join(map(option_label, letters))]
    return letter_options(question, list(options.values()), letters, together=True)[1]


def _find_option(answer: Any, options: Options, index_base: int | None) -> int | None:
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    if isinstance(answer, bool) or not isinstance(answer, str | int):
        return None
    if isinstance(answer, int) and not options.has_digits:
        return answer - (index_base or 0)
    text = str(answer).strip()
    if text.isdecimal() and index_base is not None:
        return int(text) - index_base
    for names in (options.labels, options.texts):
        if text in names:
            return list(names).index(text)
    match = _LETTER.fullmatch(text) or _LETTERED.match(text)
    if match and match[1].isdecimal():
        return int(match[1]) if match[0] == text and int(match[1]) < len(options.texts) else None
    if match and match[1].upper() in options.labels:
        return list(options.labels).index(match[1].upper())
    position = ord(match[1].upper()) - ord("A") if match else len(options.texts)
    if position < len(options.texts):
        return position
    folded = [option.casefold() for option in options.texts]
    return folded.index(text.casefold()) if text.casefold() in folded else None
