"""Extract the answer from a text: after a marker, in a box, the last number, or the full text. Option letters: `choices.py`.

Reasoning is removed first, and the last match counts, because a model that corrects itself or repeats the requested format gives
its answer last. Every search takes time linear in the text.
"""

from __future__ import annotations

import re
from decimal import Decimal

from bert_judge.tasks.latex import BOX, boxed, closing_brace

_REASONING_END = re.compile(
    r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>",
    re.IGNORECASE,
)
_REASONING_START = re.compile(
    r"<(?:think|thinking|thought|reasoning)>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>analysis<\|message\|>",
    re.IGNORECASE,
)

# What may stand between "answer" and "is": "the answer to your question is".
FILLER = r"(?:\s+(?:to|for|of|in|choice|option|number|key)\b[^.\n:：?!]{0,60}?)?"
_MARKER = re.compile(
    # "Final answer:", "**Answer**: ", '"answer": ', "the answer is"
    rf"\banswer{FILLER}[\s*_\"'`]{{0,4}}(?:[:：]|(?P<prose>\b(?:is|are|was|would\s+be|should\s+be)\b)[^\S\n]?[:：]?)"
    r"|(?:答案|答え|정답|ответ|الجواب|الإجابة|réponse|respuesta|resposta|risposta|antwort)(?:\s{0,2}(?:finale?)\b)?"
    r"[\s*]{0,3}(?:[:：]|是|为|は|\b(?:est|es|é|è|ist)\b)"
    # GSM8K
    r"|^####",
    re.IGNORECASE | re.MULTILINE,
)
# Lines that only open a formula or a code block.
_OPENER = re.compile(r"(?:[^\S\n]|[*_>]|\$\$|\\\[|\\\(|```\w*+)*+\n")
# A sentence ends before white space, but not after a capital, a title or an abbreviation: "U.S. Army", "St. Louis".
_SENTENCE_END = re.compile(r"(?<![A-Z])(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})[.!?](?=\s)|[。！？]")
_WRAPPED = re.compile(r"\$\$?([^$]+)\$\$?|\\\((.+)\\\)|\\\[(.+)\\\]", re.DOTALL)
_DECORATION = " \t\r\n*_`~\"'“”«»「」"

_JSON_STRING = re.compile(r'\s*+"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/]))')

_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s*\{([^{}]*)\}")

_DIGITS = r"(?:\d{1,3}(?:(?:\{,\}|\\[,!]|,)\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    r"(?P<minus>(?<![\w)\]}.])[-−–])?[$€£¥₹]?"
    r"(?:\\[dt]?frac\s*\{\s*(?P<upper>[-−]?\d+)\s*\}\s*\{\s*(?P<lower>\d+)\s*\}"
    rf"|(?P<digits>{_DIGITS})(?:\s?[/⁄]\s?(?P<below>\d+)(?![\d/]))?"
    r"(?:e(?P<e>[-+]?\d{1,3})\b|\s?(?:\\times|×|\*)\s?10\s?\^\s?\{?(?P<power>[-−+]?\d{1,3})\b\}?)?\s?\\?(?P<percent>%)?)",
    re.IGNORECASE,
)


def strip_reasoning(text: str) -> str | None:
    """Return the text after the last reasoning block; None if a block is unfinished."""
    end = 0
    for match in _REASONING_END.finditer(text):
        end = match.end()
    answer = text[end:]
    return None if _REASONING_START.search(answer) else answer


def extract_final_answer(text: str) -> str | None:
    """Return the text after the last "Final answer:", "the answer is", `"answer":` or "####".

    After a colon, the rest of the line, or the next line if that is empty; after "is", the rest of the sentence.
    """
    marker = _last_match(_MARKER, text)
    if marker is None:
        return None
    if marker[0][-1] == ":" and (value := _json_value(text, marker.end())) is not None:
        return strip_markup(value) or None
    start = marker.end()
    while opener := _OPENER.match(text, start):
        start = opener.end()
    line, _, after = text[start:].partition("\n")
    if line.rstrip().endswith("?") and after.strip():
        # "Final answer: How old is he?" repeats the question first.
        line = after.lstrip().split("\n", 1)[0]
    if marker["prose"] and (end := _SENTENCE_END.search(line)):
        line = line[: end.start()]
    return strip_markup(line) or None


def extract_last_number(text: str) -> str | None:
    """Return the last number of the final answer or box, or of the whole text if these have none.

    Without thousands separators and currency: "-1234.5", "3/4", "1500" for 1.5 × 10³, "12%".
    """
    match = next(
        (m for source in (extract_final_answer(text), boxed(text), text) if source and (m := _last_match(_NUMBER, source))), None
    )
    if match is None:
        return None
    sign = "-" if match["minus"] else ""
    if match["upper"]:
        return f"{sign}{match['upper'].replace('−', '-')}/{match['lower']}"
    number = re.sub(r"[^\d.]", "", match["digits"])
    if exponent := match["e"] or match["power"]:
        number = format(Decimal(f"{number}e{exponent.replace('−', '-')}"), "f")
    denominator = f"/{match['below']}" if match["below"] else ""
    return f"{sign}{number}{denominator}{match['percent'] or ''}"


def extract_full_text(text: str) -> str | None:
    """Return the stripped text; None if it is empty."""
    return text.strip() or None


def strip_markup(text: str) -> str:
    r"""Remove what surrounds an answer: quotes, markdown, `$…$`, `\boxed{…}`, `\text{…}`, a final full stop."""
    for _ in range(5):
        text = text.strip(_DECORATION).rstrip(".,;:。")
        if wrapped := _WRAPPED.fullmatch(text):
            text = next(group for group in wrapped.groups() if group is not None)
        elif (box := BOX.match(text)) and closing_brace(text, box.end()) == len(text) - 1:
            text = text[box.end() : -1]
        else:
            break
    return _TEXT_COMMAND.sub(r"\1", text).strip()


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


def _json_value(text: str, start: int) -> str | None:
    r"""Return the JSON string that starts here. Only \\, \", \/ and \u are unescaped: models write LaTeX's \frac unescaped."""
    match = _JSON_STRING.match(text, start)
    return _JSON_ESCAPE.sub(lambda m: m[2] or chr(int(m[1], 16)), match[1]) if match else None
