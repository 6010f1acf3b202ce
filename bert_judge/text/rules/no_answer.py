"""A reference says that the question has no answer, or is a refusal."""

import re
from collections.abc import Sequence

from bert_judge.text.abstention import declines, find_decline, is_none, states_no_answer
from bert_judge.text.rules.decision import Decision

# A longer text may explain why there is no answer, in other words.
MAX_WORDS, MAX_CHARACTERS = 12, 400
# What somebody says of himself is not about the source: "I have no comment".
_FIRST_PERSON = re.compile(r"\W*(?:i\b|i['’]|ich\b|je\b|j['’]|我)", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:no|not|none|never|nobody|nothing|without|neither|nor|cannot|un\w+)\b|n['’]t\b|[?]|没|不|無|无|kein|nicht|ne |no ",
    re.IGNORECASE,
)


def decide_no_answer(question: str, references: Sequence[str], text: str) -> Decision | None:
    """Decide correct if the answer abstains too, incorrect if it is a short text that names something."""
    # Of several references, one that declines may be the exception.
    if 2 * sum(map(states_no_answer, references)) < max(len(references), 1):
        return None
    if any(map(is_none, references)):
        # "None" may be the name of a quantity or of nobody, and is no statement about the source.
        if is_none(text):
            return Decision(True, "no_answer", "both say none")
    elif len(text) <= MAX_CHARACTERS and declines(text) and text.strip():
        return Decision(True, "no_answer", "both say that there is no answer")
    is_known = all(states_no_answer(reference) and not _FIRST_PERSON.match(reference) for reference in references)
    if is_known and 0 < len(text.split()) <= MAX_WORDS and not _denies(text):
        return Decision(False, "no_answer", "names something where there is no answer")
    return None


def _denies(text: str) -> bool:
    return bool(_DENIAL.search(text)) or find_decline(text) is not None or is_none(text) or declines(text)
