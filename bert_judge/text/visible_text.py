"""Reduce an answer to what its reader sees: no reasoning, control tokens, hidden characters or look-alike letters."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from bert_judge.runtime.errors import InputError

# Reason of the label of an answer whose reasoning has no end.
UNFINISHED = "unfinished reasoning"

# Zero-width and direction marks, soft hyphens, fillers, variation selectors and tag characters. Joiners are separate.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Joiners shape the letters of many scripts; next to a Latin letter or a digit they have no effect.
_JOINERS = "\u200c\u200d"
_IDLE_JOINER = re.compile(r"[\u200c\u200d]+(?=[ -~\u00c0-\u024f]|$)|(?<=[ -~\u00c0-\u024f])[\u200c\u200d]+")
_LINE_COMMENT = re.compile(r"^\[[^\]\n]*\]:[ \t]*(?:#|<>)[ \t]*\([^\n]*\)[ \t]*$", re.MULTILINE)
_MARKUP_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FULL_WIDTH_TO_ASCII = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2800: 0x20}
# Cyrillic and Greek letters that look like Latin ones (Unicode confusables, UTS 39).
_HOMOGLYPHS = dict(
    zip(
        "аеорсухіјѕԁһԛԝӏАВЕКМНОРСТУХІЈЅԌԚԜο\u03bdιΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ",
        "aeopcyxijsdhqwlABEKMHOPCTYXIJSGQWovιABEZHIKMNOPTYXCj",
        strict=True,
    )
)
_HOMOGLYPH_WORD = re.compile(rf"(?<!\w)(?:[A-Za-z{''.join(_HOMOGLYPHS)}]|(?<=\w)['’-](?=\w))+(?!\w)")
_HOMOGLYPHS_TO_LATIN = str.maketrans(_HOMOGLYPHS)
_REASONING = (
    r"(?:\w{1,20}:)?(?:ant|(?:[a-z]{1,15}[_-]){1,2})?(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|rationale"
    r"|monologue|deliberation|ponder)(?:_content)?"
)
# Marks of reasoning models. A channel of the harmony format is reasoning unless it is the final one.
_MARK = re.compile(
    # Every mark starts with one of these; looking ahead for them is several times faster than trying every mark.
    r"(?=[<\[◁])(?:"
    rf"(?P<answer><\s?/\s?{_REASONING}\s?>|\[/(?:THINK|THINKING|THOUGHTS?|REASONING)\]|<[|｜]/{_REASONING}[|｜]>|◁/think▷|<\|end_?(?:of_)?(?:think|thinking|thought|reasoning)\|>|<unused95>|<channel\|>"
    r"|<\|(?:think|thinking|thought|reasoning)_end\|>|<\|inner_suffix\|>"
    r"|<\|(?:begin_of_|start_?(?:of_)?)(?:response|solution|answer)\|>|\[BEGIN FINAL RESPONSE\]|<\|im_start\|>answer\b"
    r"|<\|channel\|>\s?final\b[^<\n]{0,40}(?:<\|constrain\|>[^<\n]{0,20})?<\|message\|>)"
    rf"|(?P<reasoning><\s?{_REASONING}(?:\s(?:\w+=[^<>\n]{{0,80}})?)?>|\[(?:THINK|THINKING|THOUGHTS?|REASONING)\]|<[|｜]{_REASONING}[|｜]>|◁think▷|<\|(?:begin_of_|start_?(?:of_)?)(?:think|thinking|thought|reasoning)\|>"
    r"|<\|(?:think|thinking|thought|reasoning)_(?:start|begin)\|>|<\|inner_prefix\|>|<unused94>|<\|channel>|<\|channel\|>|<\|im_start\|>think\b)"
    # A control token ends the answer, unless a sentence goes on behind it.
    r"|(?P<end>(?:<[|｜](?:im_end|eot_id|eom_id|end|return|call|endoftext|END_RESPONSE|END_OF_TURN_TOKEN|user|system"
    r"|(?:end[_▁]of[_▁]\w{1,20}))[|｜]>|</s>|<eo[as]>|<pad>|<end_of_turn>|\[END FINAL RESPONSE\]|\[/?INST\])(?! ?[a-z,.;:)`'\"?])"
    r"|</(?:final_?)?answer>\s{0,20}\Z)"
    r"|(?P<start><\|(?:im_start|start|start_header_id)\|>(?:assistant)?(?:<\|end_header_id\|>)?|<\|(?:assistant|message|begin_of_text|CHATBOT_TOKEN)\|>|<s>))",
    re.IGNORECASE,
)
# Reasoning that a model introduces in words, at the start.
_WORDED_REASONING = re.compile(
    r"\s*(?:(?P<harmony>(?-i:(?:assistant)?(?:analysis|commentary)(?P<glued>(?=[^\W\d_])(?![a-z]))?|assistantfinal))"
    r"|here(?: is|'s) my thought process:|here are my reasoning steps:)",
    re.IGNORECASE,
)
_WORDED_ANSWER = re.compile(r"here(?: is|'s) my response:|\[BEGIN FINAL RESPONSE\]", re.IGNORECASE)
# The role of the speaker, where its control tokens are lost.
_ROLE = re.compile(r"\s*(?:assistant|model)(?:\s?:|\s?\n)(?=\s*\w)", re.IGNORECASE)
_CONTENT_CATEGORIES = frozenset("LNS")
# Markup removal often drops the space around a link or bold text ("byMichael Buffer", "of27 episodes") …
_MISSING_SPACE_AFTER_WORD = re.compile(
    r"(?<![^\W_])(as|at|and|are|by|called|for|from|in|is|named|of|on|or|the|to|was|were|with)(?=[A-Z][a-z]|[0-9])"
)
# … and the space before a footnote mark ("born in Munich1.").
_MISSING_SPACE_BEFORE_FOOTNOTE = re.compile(r"(?<=[a-z]{3})(?=[1-9][0-9]?(?:[.,;)]?\s|[.,;)]?$))")


def strip_reasoning(text: str) -> str | None:
    """Return the text after the last reasoning block, up to a control token of the model; None if a block is unfinished.

    If nothing follows the reasoning, the text before it is the answer.
    """
    if worded := _WORDED_REASONING.match(text):
        answer = _after_worded_reasoning(text, worded)
        if answer is None:
            return None
        text = answer
    before, start, end, is_reasoning = "", 0, len(text), False
    for mark in _MARK.finditer(text):
        if mark["answer"]:
            start, is_reasoning = mark.end(), False
        elif is_reasoning:
            continue
        elif mark["reasoning"]:
            before, is_reasoning = text[start : mark.start()], True
        elif not text[start : mark.start()].strip():
            start = mark.end()
        elif mark["end"]:
            end = mark.start()
            break
    if is_reasoning:
        return None
    answer = text[start:end]
    return _ROLE.sub("", answer, count=1) if _ROLE.match(answer) else answer if answer.strip() else before or answer


def normalize_text(text: str) -> str:
    """Reduce a text to its visible characters; ordinary text is unchanged.

    Removes invisible characters and comments, applies backspaces, maps full-width letters to ASCII, maps Cyrillic and Greek
    homoglyphs to Latin in words without other letters of those scripts, and restores spaces lost with markup.
    """
    if "\b" in text:
        text = _apply_backspaces(text)
    if "<!--" in text or "]:" in text:
        text = _LINE_COMMENT.sub("", _MARKUP_COMMENT.sub("", text))
    text = _MISSING_SPACE_BEFORE_FOOTNOTE.sub(" ", _MISSING_SPACE_AFTER_WORD.sub(r"\1 ", text))
    if text.isascii():
        return text
    text = _IDLE_JOINER.sub("", _INVISIBLE.sub("", text)).translate(_FULL_WIDTH_TO_ASCII)
    return _HOMOGLYPH_WORD.sub(lambda word: word[0].translate(_HOMOGLYPHS_TO_LATIN), text)


def strip_invisible(text: str) -> str:
    """Remove all invisible characters, including joiners that shape letters."""
    return _INVISIBLE.sub("", text).translate(dict.fromkeys(map(ord, _JOINERS)))


def is_blank(text: str) -> bool:
    """Return whether a text has no letter, digit or symbol: only white space, punctuation and control characters."""
    return not any(unicodedata.category(character)[0] in _CONTENT_CATEGORIES for character in text)


def is_blank_answer(candidate: str, references: Iterable[str]) -> bool:
    """Return whether a candidate is blank and cannot be correct; it can be if a reference is punctuation, such as "?"."""
    return is_blank(candidate) and not any(reference.strip() and is_blank(reference) for reference in references)


def normalize_inputs(
    questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """Return the references, as one list per row, and the candidates, both with normalised text.

    Raises:
        InputError: the lists differ in length, or a row has no reference.
    """
    if not len(questions) == len(references) == len(candidates):
        raise InputError(
            f"predict needs lists of equal length; got {len(questions)} questions, {len(references)} references, "
            f"{len(candidates)} candidates"
        )
    reference_lists = [[texts] if isinstance(texts, str) else list(texts) for texts in references]
    if missing := [row for row, texts in enumerate(reference_lists) if not texts]:
        raise InputError(f"row {missing[0]} has no reference; this judge needs at least one per row")
    return [[normalize_text(text) for text in texts] for texts in reference_lists], [normalize_text(text) for text in candidates]


def _after_worded_reasoning(text: str, introduction: re.Match[str]) -> str | None:
    if introduction["harmony"]:
        # The harmony format without its control tokens: "analysis…assistantfinal…".
        _, separator, answer = text.rpartition("assistantfinal")
        return answer if separator else (text if introduction["glued"] is None else None)
    marks = list(_WORDED_ANSWER.finditer(text))
    return text[marks[-1].end() :] if marks else None


def _apply_backspaces(text: str) -> str:
    characters: list[str] = []
    for character in text:
        if character != "\b":
            characters.append(character)
        elif characters:
            characters.pop()
    return "".join(characters)
