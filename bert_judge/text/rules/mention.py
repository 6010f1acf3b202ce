"""The reference is mentioned, but the answer stops before it answers, or the word means something else: "They told us nothing."."""

import re
from collections.abc import Sequence
from functools import cache

from bert_judge.text.extraction import extract_final_answer, phrase_pattern, phrases, strip_markup
from bert_judge.text.latex import boxed
from bert_judge.text.rules.decision import Decision

_MAX_LABEL = 60
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def decide_mention(question: str, references: Sequence[str], text: str) -> Decision | None:
    """Decide against an answer that is only an announcement, that is cut within its plan, or that has the word in another sense."""
    if len(text) <= _MAX_LABEL and _announcement_pattern().fullmatch(text):
        return Decision(False, "mention", "announces an answer and gives none")
    if _unfinished_pattern().search(text[-30:]) and _plan_pattern().match(text):
        if extract_final_answer(text) is None and boxed(text) is None:
            return Decision(False, "mention", "stops before it answers")
        return None
    if all(_is_other_word(strip_markup(reference), text) for reference in references):
        return Decision(False, "mention", f"the word, but not the name {strip_markup(references[0])}")
    return None


def _is_other_word(reference: str, text: str) -> bool:
    """Return whether a text has a name that is also a common word (May, US), only in another case."""
    if reference.casefold() not in phrases()["common_word"] or reference.islower() or text.islower():
        return False
    words = _WORD.findall(text)
    return len(words) > 2 and reference not in words and reference.casefold() in map(str.casefold, words)


@cache
def _announcement_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"\W*(?:(?:so|thus|therefore),?\s)?(?:the\s)?{phrase_pattern('answer_english')}(?:\s{phrase_pattern('copula_english')})?\W*",
        re.IGNORECASE,
    )


@cache
def _unfinished_pattern() -> re.Pattern[str]:
    return re.compile(rf"{phrase_pattern('unfinished')}\s*\Z|[,(]\s*\Z", re.IGNORECASE)


@cache
def _plan_pattern() -> re.Pattern[str]:
    return re.compile(rf"\W*{phrase_pattern('plan', 'plan_without_spaces')}", re.IGNORECASE)
