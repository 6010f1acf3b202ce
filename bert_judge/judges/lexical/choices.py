"""Multiple choice: parse the options of a question, and find the one an answer chooses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from bert_judge.judges.lexical.extraction import FILLER, boxed, extract_final_answer, strip_markup
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
_SINGLE_LETTER = re.compile(r"[\W_]{0,6}(?:(?i:option|choice)\s)?[\W_]{0,4}([A-Za-z])[\W_]{0,6}")
_LETTER_AND_TEXT = re.compile(r"[\s*_(\[]{0,4}([A-Z])[\s*_]{0,3}[).:\]\-–][\s*_]{0,4}(\S.*)")


_normalized = lru_cache(maxsize=1 << 15)(normalize)


@lru_cache(maxsize=4096)
def parse_options(question: str) -> Mapping[str, str]:
    """Return the options at the end of a question, letter → text: "(A) … (B) …", lines "A. …" or a list ['A)…', 'B)…'].

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


def match_option(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of the option that the whole text is: "B", "(b).", "**B) Paris**", "Paris"; None for any other text."""
    text = strip_markup(text)
    if (letter := _SINGLE_LETTER.fullmatch(text)) and letter[1].upper() in options:
        return letter[1].upper()
    normalized = normalize(text)
    matches = [letter for letter, option in options.items() if option and _normalized(option) == normalized]
    if len(matches) == 1:
        return matches[0]
    match = _LETTER_AND_TEXT.fullmatch(text)
    if match and match[1] in options and normalize(strip_markup(match[2])) == _normalized(options[match[1]]):
        return match[1]
    return None


def extract_choice(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter of the option that a text chooses; None if it chooses none, or lists several.

    Tried in this order: the text is an option; the last "the answer is (B)" or boxed letter; the final answer or box is an option
    or mentions a single one; the last "option B"; the only letter marked as one, or the last line; the only option mentioned.
    """
    if not options:
        return None
    return (
        match_option(text, options)
        or _last_letter((_STATED, _BOXED), text, options)
        or _option_in(extract_final_answer(text), options)
        or _option_in(boxed(text), options)
        or _last_letter((_NAMED,), text, options)
        or _marked_option(text, options)
        or _only_option_in(text, options)
    )


def _option_in(text: str | None, options: Mapping[str, str]) -> str | None:
    return (match_option(text, options) or _only_option_in(text, options)) if text else None


def _last_letter(patterns: tuple[re.Pattern[str], ...], text: str, options: Mapping[str, str]) -> str | None:
    letters = [(start, letter) for pattern in patterns for start, letter in _letters(pattern, text, options)]
    return max(letters)[1] if letters else None


def _letters(pattern: re.Pattern[str], text: str, options: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return position and letter of each match; the words "a", "A" and "I" in prose are not letters."""
    letters = []
    for match in pattern.finditer(text):
        group = match.lastindex or 1
        letter, after = match[group], text[match.end(group) : match.end(group) + 12]
        is_word = letter in "AIai" and re.match(r"\s+(?!(?:because|since|as|and|which|is)\b)\w", after)
        is_lowercase_word = letter.islower() and not re.match(r"[)\]}.,;:*\"'$\n]|\s*$", after)
        if letter.upper() in options and not is_word and not is_lowercase_word:
            letters.append((match.start(group), letter.upper()))
    return letters


def _marked_option(text: str, options: Mapping[str, str]) -> str | None:
    marked = {letter for _, letter in _letters(_MARKED, text, options)}
    if len(marked) == 1:
        return marked.pop()
    last_line = text.rstrip().rsplit("\n", 1)[-1]
    return match_option(last_line, options) if len(last_line) < 200 else None


def _only_option_in(text: str, options: Mapping[str, str]) -> str | None:
    """Return the only option whose text occurs, ignoring options inside longer ones that occur too."""
    padded = f" {normalize(text)} "
    occurring = {
        letter: f" {words} " for letter, option in options.items() if (words := _normalized(option)) and f" {words} " in padded
    }
    texts = occurring.values()
    longest = [letter for letter, text in occurring.items() if not any(text in longer and text != longer for longer in texts)]
    return longest[0] if len(longest) == 1 else None
