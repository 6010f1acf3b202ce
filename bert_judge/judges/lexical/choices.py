"""Multiple choice: which options a question offers, and which one an answer chooses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from bert_judge.judges.lexical.extraction import FILLER, boxed, final_answer, tidy
from bert_judge.judges.lexical.normalization import normalize

_PARENTHESISED = re.compile(r"(?:^|(?<=\s))\(([A-Z])\)")
_LINES = re.compile(r"^[^\S\n]*([A-Z])[).:](?=[^\S\n]*\S)", re.MULTILINE)
_LISTED = re.compile(r"['\"]([A-Z])\)")

# What may wrap a letter: "(B)", "**B**", "\boxed{\text{B}}", "option B".
_OPEN = r"(?:\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s?\{|\\\(|(?:option|choice)\b|[\s*_(\[{\"'`$:：]){0,8}"
_STATED = re.compile(
    rf"(?:(?i:\b(?:answer|option|choice)\b{FILLER}[\s*_\"'`]{{0,4}}(?:[:：]|\b(?:is|was|would\s+be|should\s+be|must\s+be)\b))"
    rf"|答案\s?[:：是为])(?i:{_OPEN})([A-Za-z])(?![\w'’])"
)
_BOXED = re.compile(rf"\\(?:boxed|fbox)\s?\{{(?i:{_OPEN})([A-Za-z])(?![\w'’])")
_NAMED = re.compile(
    r"\b(?i:option|choice|choose|select|pick|chose|answer)\s+(?:is\s+)?[*_(\[]{0,3}([A-Z])(?![\w'’])"
    r"|[*_(\[]{0,3}\b([A-Z])[*_)\]]{0,3}\s+is\s+(?:the\s+)?(?:\w+\s+)?(?:correct|right|best|answer)\b"
)
_MARKED = re.compile(r"\(([A-Za-z])\)|\[([A-Z])\]|\*\*\(?([A-Z])[).:]?\*\*|^[\s*_]{0,4}([A-Z])[).:](?=[\s*]|$)", re.MULTILINE)
_LONE = re.compile(r"[\W_]{0,6}(?:(?i:option|choice)\s)?[\W_]{0,4}([A-Za-z])[\W_]{0,6}")
_LETTER_AND_TEXT = re.compile(r"[\s*_(\[]{0,4}([A-Z])[\s*_]{0,3}[).:\]\-–][\s*_]{0,4}(\S.*)")


_normalized = lru_cache(maxsize=1 << 15)(normalize)


@lru_cache(maxsize=4096)
def options_of(question: str) -> Mapping[str, str]:
    """Letter → text of the options that a question ends with: "(A) … (B) …", lines "A. …" or a list ['A)…', 'B)…'].

    Empty unless there are at least two, lettered A, B, C, … without a gap.
    """
    for pattern, end in ((_PARENTHESISED, None), (_LISTED, re.compile(r"['\"]")), (_LINES, re.compile(r"\n"))):
        run: list[re.Match[str]] = []
        for match in pattern.finditer(question):
            if match[1] == "A":
                run = [match]
            elif run and ord(match[1]) == ord(run[-1][1]) + 1:
                run.append(match)
        if len(run) < 2:
            continue
        stops = [*(match.start() for match in run[1:]), len(question)]
        texts = [question[match.end() : stop].strip() for match, stop in zip(run, stops, strict=True)]
        return {match[1]: end.split(text, maxsplit=1)[0].strip() if end else text for match, text in zip(run, texts, strict=True)}
    return {}


def option_named(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of the option that the text *is*: "B", "(b).", "**B) Paris**", "Paris"; None for any other text."""
    text = tidy(text)
    if (lone := _LONE.fullmatch(text)) and lone[1].upper() in options:
        return lone[1].upper()
    said = normalize(text)
    same = [letter for letter, option in options.items() if option and _normalized(option) == said]
    if len(same) == 1:
        return same[0]
    both = _LETTER_AND_TEXT.fullmatch(text)
    if both and both[1] in options and normalize(tidy(both[2])) == _normalized(options[both[1]]):
        return both[1]
    return None


def chosen_option(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of the option that a text chooses; None when it chooses none or dumps several.

    In this order: the text is an option; the last "the answer is (B)" or boxed letter; the last "option B"; the only letter marked
    as one, or one that stands alone at the end; the option whose text is the final answer; the only option that is mentioned.
    """
    if not options:
        return None
    return (
        option_named(text, options)
        or _last_letter((_STATED, _BOXED), text, options)
        or _option_in(final_answer(text), options)
        or _option_in(boxed(text), options)
        or _last_letter((_NAMED,), text, options)
        or _marked(text, options)
        or _only_option_in(text, options)
    )


def _option_in(text: str | None, options: Mapping[str, str]) -> str | None:
    return (option_named(text, options) or _only_option_in(text, options)) if text else None


def _last_letter(patterns: tuple[re.Pattern[str], ...], text: str, options: Mapping[str, str]) -> str | None:
    letters = [(start, letter) for pattern in patterns for start, letter in _letters(pattern, text, options)]
    return max(letters)[1] if letters else None


def _letters(pattern: re.Pattern[str], text: str, options: Mapping[str, str]) -> list[tuple[int, str]]:
    """Where a pattern finds options' letters. The words "a", "A" and "I" in prose are no letters."""
    found = []
    for match in pattern.finditer(text):
        group = match.lastindex or 1
        letter, after = match[group], text[match.end(group) : match.end(group) + 12]
        in_prose = letter in "AIai" and re.match(r"\s+(?!(?:because|since|as|and|which|is)\b)\w", after)
        small_in_prose = letter.islower() and not re.match(r"[)\]}.,;:*\"'$\n]|\s*$", after)
        if letter.upper() in options and not in_prose and not small_in_prose:
            found.append((match.start(group), letter.upper()))
    return found


def _marked(text: str, options: Mapping[str, str]) -> str | None:
    marked = {letter for _, letter in _letters(_MARKED, text, options)}
    if len(marked) == 1:
        return marked.pop()
    last_line = text.rstrip().rsplit("\n", 1)[-1]
    return option_named(last_line, options) if len(last_line) < 200 else None


def _only_option_in(text: str, options: Mapping[str, str]) -> str | None:
    """The only option whose text occurs; an option inside a longer one that occurs too does not count."""
    padded = f" {normalize(text)} "
    found = {
        letter: f" {words} " for letter, option in options.items() if (words := _normalized(option)) and f" {words} " in padded
    }
    longest = [letter for letter, words in found.items() if not any(words in other and words != other for other in found.values())]
    return longest[0] if len(longest) == 1 else None
