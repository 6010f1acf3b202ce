"""The kind of a row to judge: what its reference is decides how hard it is."""

import re
from collections.abc import Sequence

from bert_judge.text.extraction import unwrap
from bert_judge.text.languages import unfamiliar_row
from bert_judge.text.quantities import is_quantity

# Kind → rows of the kind, in words that follow "on".
KINDS = {
    "short facts": "short facts",
    "numbers": "numbers",
    "names": "names",
    "sentences": "references of a sentence",
    "long answers": "references of several sentences",
    "code": "code",
    "languages": "texts in other languages than English",
}
# Words of a reference: up to the first number a name or a fact, up to the second a sentence.
MAX_FACT_WORDS, MAX_SENTENCE_WORDS = 5, 40
MAX_NAME_WORDS = 10
_CODE = re.compile(
    r"```|^\s*(?:def \w+\(|class \w+.*:$|import [\w.]+$|from [\w.]+ import |#include\b|[{\[]\s*\".*[}\]]$)"
    r"|\bSELECT\b.+\bFROM\b|[;{]$",
    re.MULTILINE,
)
# Verdicts and letters of options are written like names.
_NO_NAME = re.compile(r"\w|yes|no|true|false|none|.*\d.*", re.IGNORECASE | re.DOTALL)
# Shorter words, such as "of" and "von", may be small in a name.
_MIN_NAME_LETTERS = 4


def answer_kind(question: str, references: Sequence[str], candidate: str) -> str:
    """Return one of `KINDS`, by the language of the row and its first reference."""
    if unfamiliar_row(question, references, candidate, ["en"]):
        return "languages"
    reference = references[0].strip()
    if _CODE.search(reference):
        return "code"
    if is_quantity(unwrap(reference), with_noun=True):
        return "numbers"
    words = reference.split()
    if len(words) <= MAX_NAME_WORDS and _is_name(reference, words):
        return "names"
    if len(words) <= MAX_FACT_WORDS:
        return "short facts"
    return "sentences" if len(words) <= MAX_SENTENCE_WORDS else "long answers"


def _is_name(reference: str, words: Sequence[str]) -> bool:
    """Return whether all words but short ones start with a capital letter, without the full stop of a sentence."""
    if _NO_NAME.fullmatch(reference) or reference.endswith((".", "?", "!")):
        return False
    initials = [word.lstrip("\"'(“‘")[:1] for word in words]
    named = [initial.isupper() for initial, word in zip(initials, words, strict=True)]
    return any(named) and all(is_named or len(word) < _MIN_NAME_LETTERS for is_named, word in zip(named, words, strict=True))
