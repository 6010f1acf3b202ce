r"""Written answers as references: a number in its plain form first ("1234"), then as written ("1,234"), so that rules that compare
texts know both; and the end of a solution."""

import re

from bert_judge.tables.readers.values import SkippedRecord
from bert_judge.text.latex import boxed

# 1,234 or 1{,}234 or 1\,234 or 1,\!234: one to three digits, then groups of three.
_GROUPED = re.compile(r"(-?)\$?(\d{1,3}(?:(?:,(?:\\!)?|\{,\}|\\,)\d{3})+)(\.\d+)?")
_LEADING_ZEROS = re.compile(r"(-?)0+(\d+)")
# "9 (apples)": a value and its unit.
_WITH_UNIT = re.compile(r"([^()]+?)\s*\([^()]*\)")


def number_forms(answer: str) -> list[str]:
    """Return an answer, preceded by its plain form if it is a number with separators or leading zeros."""
    plain = answer
    if grouped := _GROUPED.fullmatch(answer):
        plain = f"{grouped[1]}{re.sub(r'[^0-9]', '', grouped[2])}{grouped[3] or ''}"
    elif zeros := _LEADING_ZEROS.fullmatch(answer):
        plain = f"{zeros[1]}{zeros[2]}"
    return list(dict.fromkeys([plain, answer]))


def after_hashes(solution: str) -> list[str]:
    """Return the number after the last #### (GSM8K). Raises SkippedRecord: nothing matches."""
    _, mark, answer = solution.rpartition("####")
    if not mark or not answer.strip():
        raise SkippedRecord("no #### in its answer")
    return number_forms(answer.strip())


def last_box(solution: str) -> list[str]:
    r"""Return the content of the last `\boxed{…}` of a solution, including nested braces (MATH).

    Raises:
        SkippedRecord: nothing matches.
    """
    if (answer := boxed(solution)) is None:
        raise SkippedRecord("no closed box in its solution")
    return number_forms(answer)


def without_unit(answer: str) -> list[str]:
    """Return the value of "9 (apples)" (ASDiv); several values, "9 (apples); 2 (pears)", remain one reference."""
    match = _WITH_UNIT.fullmatch(answer)
    return number_forms(match[1] if match else answer)
