"""Results of mathematics in words: "There is no solution." is ∅, "all real numbers" is ℝ, "The graph is an ellipse." is ellipse."""

import re
from functools import cache
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import last_sentence, phrase_pattern, strip_markup

# A reference of more words is no name of a result.
_MAX_WORDS = 5
_WORDS = re.compile(r"[^\W\d_]{2,}(?:[\s,'’-]+[^\W\d_]+)*")
# A sentence with one of these may mean the opposite, or name alternatives.
_HEDGE = re.compile(phrase_pattern("hedge"))
_EXCEPTION = re.compile(
    r"\s*(?:except|but|other than|besides|without|greater|less|such that|where|\\setminus|\\backslash|\\|≠|-\s*\{|with|if)"
)


def states_in_words(reference: str, answer: str) -> bool:
    """Return whether a reference in words, or one that has a name in words, is what the last sentence of an answer says."""
    reference, answer = strip_markup(reference), strip_markup(last_sentence(answer))
    if statement := _name_statement(reference):
        return _states(statement, answer)
    if not _WORDS.fullmatch(reference):
        return False
    # Not a part of another word: brother is no brother-in-law.
    occurs = re.search(rf"(?<![\w-]){re.escape(reference)}(?![\w-])", answer, re.IGNORECASE)
    return len(reference.split()) <= _MAX_WORDS and bool(occurs) and not _HEDGE.search(answer.casefold())


def _name_statement(reference: str) -> str | None:
    return next(
        (
            name
            for name, (phrase, formula) in _statements().items()
            if (phrase.fullmatch(reference) or formula.fullmatch(reference))
        ),
        None,
    )


def _states(statement: str, answer: str) -> bool:
    phrase, formula = _statements()[statement]
    if formula.fullmatch(answer):
        return True
    matches = list(phrase.finditer(answer))
    return bool(matches) and not _EXCEPTION.match(answer, matches[-1].end())


@cache
def _statements() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return the patterns of the phrases and of the formulas of each statement."""
    table = read_yaml(Path(__file__).with_name("notation.yaml"))["statements"]
    return {
        name: (
            re.compile("|".join(rf"(?<![a-zA-Z]){phrase}(?![a-zA-Z])" for phrase in forms["phrases"]), re.IGNORECASE),
            re.compile("|".join(forms.get("formulas", [])) or r"(?!)"),
        )
        for name, forms in table.items()
    }
