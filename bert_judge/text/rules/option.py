"""The answer chooses an option of a question that lists its options."""

import re
from collections.abc import Sequence

from bert_judge.text.choices import extract_choice, find_repeated_options
from bert_judge.text.options import UNLISTED, expected_choice, write_letters
from bert_judge.text.rules.decision import Decision

# A program whose output is the answer: each branch names another option.
_PROGRAM = re.compile(r"^\s*(?:print\(|return\b|def \w+\()", re.MULTILINE)


def decide_option(question: str, references: Sequence[str], text: str) -> Decision | None:
    """Decide by the letters of the options that a text chooses; several options that are one answer must be chosen together."""
    expected = expected_choice(question, tuple(references))
    if expected is None or expected.options is UNLISTED or _PROGRAM.search(text):
        return None
    lettered = write_letters(text, expected.labels)
    if choice := extract_choice(lettered, expected.options):
        correct = choice in expected.correct
        contrast = "" if correct else f", not {' or '.join(sorted(expected.correct))}"
        return Decision(correct, "option", f"option {choice}{contrast}")
    if find_repeated_options(lettered, expected.options):
        return Decision(False, "option", "repeats all options and chooses none")
    return None
