"""Reduce an answer to what its reader sees: no reasoning, control tokens, hidden characters or look-alike letters."""

import html
import re
import unicodedata
from collections.abc import Iterable

from bert_judge.text.reading import view

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
    r"|monologue|deliberation|ponder|planning|cot|思考(?:过程)?)(?:_content)?"
)
# Marks of reasoning models. A channel of the harmony format is reasoning unless it is the final one.
_MARK = re.compile(
    # Every mark starts with one of these; looking ahead for them is several times faster than trying every mark.
    r"(?=[<\[◁])(?:"
    rf"(?P<answer><\s?/\s?{_REASONING}\s?>|\[/(?:THINK|THINKING|THOUGHTS?|REASONING)\]|<[|｜]/{_REASONING}[|｜]>|◁/think▷|<\|end_?(?:of_)?(?:think|thinking|thought|reasoning)\|>|<unused95>|<ctrl95>|\[unused17\]|<channel\|>"
    r"|<\|(?:think|thinking|thought|reasoning)_end\|>|<\|inner_suffix\|>"
    r"|<\|(?:begin_of_|start_?(?:of_)?)(?:response|solution|answer)\|>|\[BEGIN FINAL RESPONSE\]|<\|im_start\|>answer\b"
    r"|<\|channel\|>\s?final\b[^<\n]{0,40}(?:<\|constrain\|>[^<\n]{0,20})?<\|message\|>)"
    rf"|(?P<reasoning><\s?{_REASONING}(?:\s(?:\w+=[^<>\n]{{0,80}})?)?>|\[(?:THINK|THINKING|THOUGHTS?|REASONING)\]|<[|｜]{_REASONING}[|｜]>|◁think▷|<\|(?:begin_of_|start_?(?:of_)?)(?:think|thinking|thought|reasoning)\|>"
    r"|<\|(?:think|thinking|thought|reasoning)_(?:start|begin)\|>|<\|inner_prefix\|>|<unused94>|<ctrl94>|\[unused16\]|<\|channel>|<\|channel\|>|<\|im_start\|>think\b)"
    # A control token ends the answer, unless a sentence goes on behind it.
    r"|(?P<end><\|(?:im_start|start_header_id|start)\|>\s?(?:user|human|system)\b|(?:<[|｜](?:im_end|eot_id|eom_id|end|return|call|endoftext|END_RESPONSE|END_OF_TURN_TOKEN|user|system"
    r"|(?:end[_▁]of[_▁]\w{1,20}))[|｜]>|</s>|<eo[as]>|<pad>|<end_of_turn>|\[END FINAL RESPONSE\]|\[/?INST\])"
    r"(?! ?(?-i:[a-z,.;:)`'\"?]))"
    r"|</(?:final_?)?answer>\s{0,20}\Z)"
    r"|(?P<start><\|(?:im_start|start|start_header_id)\|>(?:assistant)?(?:<\|end_header_id\|>)?|<\|(?:assistant|message|begin_of_text|CHATBOT_TOKEN)\|>|<s>))",
    re.IGNORECASE,
)
# Reasoning at the start, as web interfaces write it.
_REASONING_BLOCK = re.compile(
    r"\s*(?:<details\s[^<>]{0,80}\btype=[\"']?reasoning\b[^<>]{0,200}>.*?</details>|```(?:think|thinking|thoughts?|reasoning)\n.*?\n```)",
    re.DOTALL | re.IGNORECASE,
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
# Characters by name or number: &amp;, &#39;; and angle brackets as JSON for web pages has them: \u003c.
_ENTITY = re.compile(r"&(?:amp;)*(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,30});", re.IGNORECASE)
_ESCAPED_MARK = re.compile(r"(?:&lt;|\\u003c)[/|]{0,2}\w{0,20}(?:think|thought|reason|analysis)", re.IGNORECASE)
_UNICODE_ESCAPE = re.compile(r"\\u(00(?:3[ce]|2[267]))", re.IGNORECASE)
# LaTeX commands whose backslash and first letter were read as an escape of JSON or Python.
_ESCAPES = {"\a": "a", "\b": "b", "\t": "t", "\f": "f", "\r": "r", "\v": "v"}
_CONTROL = re.compile("[\a\b\t\f\r\v]")
_LOST_BACKSLASH = re.compile(
    r"\x07(?=lpha|pprox|ngle|rc(?:sin|cos|tan))|\x08(?=oxed|inom|egin\{|ar\{|eta\b|ig[lr]?[(\[{|]|mod\b|oldsymbol)|\x0c(?=rac|box|orall)"
    r"|\t(?=ext(?:bf|it|rm)?\{|imes\b|heta\b|frac|riangle|an\s?[({\\]|ilde\{)|\r(?=ight|ho\b|angle|floor|ceil)|\v(?=ec\{|dots|ar(?:phi|epsilon))"
)
_DOUBLED_BACKSLASH, _SINGLE_COMMAND = re.compile(r"\\\\(?=[a-zA-Z()\[\],;!{}])"), re.compile(r"(?<!\\)\\[a-zA-Z(\[]")
_BARE_COMMAND = re.compile(r"(?<![\\\w])(?:boxed|fbox|[dt]?frac|sqrt)(?=\{)")
# A tag of one letter counts only with its closing tag: mathematics and code have angle brackets too.
_TAG = re.compile(
    r"</?(?:(?P<block>br|div|li|[uo]l|h[1-6]|hr|t[rdh]|table|tbody|thead|blockquote|section|center)"
    r"|em|strong|span|su[bp]|font|mark|small|big|code|pre|(?P<letter>[abipsu]))(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_CLOSING_TAG = re.compile(r"</([abipsu])\s?>")
_SUPERSCRIPT_TAG = re.compile(
    r"(?<=[^\W\d_]{4})<sup>\d{1,2}</sup>|<sup>\[\w{1,3}\]</sup>|<sup>(?P<power>[^<>]{1,20})</sup>", re.IGNORECASE
)
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_CONTENT_CATEGORIES = frozenset("LNS")
# Markup removal often drops the space around a link or bold text ("byMichael Buffer", "of27 episodes") …
_MISSING_SPACE_AFTER_WORD = re.compile(
    r"(?<![^\W_])(as|at|and|are|by|called|for|from|in|is|named|of|on|or|the|to|was|were|with)(?=[A-Z][a-z]|[0-9])"
)
# … and the space before a footnote mark ("born in Munich1.").
_MISSING_SPACE_BEFORE_FOOTNOTE = re.compile(r"(?<=[a-z]{3})(?=[1-9][0-9]?(?:[.,;)]?\s|[.,;)]?$))")


@view
def strip_reasoning(text: str) -> str | None:
    """Return the text after the last reasoning block, up to a control token of the model; None if a block is unfinished.

    If nothing follows the reasoning, the text before it is the answer.
    """
    if _ESCAPED_MARK.search(text):
        text = restore_characters(text)
    if block := _REASONING_BLOCK.match(text):
        text = text[block.end() :]
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


@view
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


@view
def restore_characters(text: str) -> str:
    """Return a text without HTML entities, escapes of angle brackets, and damage that JSON does to LaTeX.

    An unescaped \\boxed becomes backspace + "oxed" in JSON; other writers double every backslash, or lose it.
    """
    if "&" in text or "\\u00" in text:
        text = _UNICODE_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
        # Exports of exports escape twice: &amp;amp;.
        text = _ENTITY.sub(lambda entity: html.unescape(html.unescape(entity[0])), text)
    if _CONTROL.search(text):
        text = _LOST_BACKSLASH.sub(lambda control: f"\\{_ESCAPES[control[0]]}", text)
    if "\\\\" in text and not _SINGLE_COMMAND.search(text):
        text = _DOUBLED_BACKSLASH.sub(r"\\", text)
    return _BARE_COMMAND.sub(r"\\\g<0>", text) if "{" in text else text


@view
def has_tags(text: str) -> bool:
    return "<" in text and bool(_TAG.search(text))


def strip_tags(text: str) -> str:
    """Remove HTML tags as a browser does; superscripts become powers. A text of nothing but tags stays as it is."""
    closed = set(_CLOSING_TAG.findall(text.lower()))

    def replace(tag: re.Match[str]) -> str:
        if tag["letter"] and tag["letter"].lower() not in closed:
            return tag[0]
        return "\n" if tag["block"] or tag["letter"] in ("p", "P") else ""

    without = _TAG.sub(replace, _SUPERSCRIPT_TAG.sub(_write_superscript, text))
    return text if is_blank(without) else without.strip("\n")


def _write_superscript(tag: re.Match[str]) -> str:
    """Return a power as characters, or behind ^; a footnote mark is left out."""
    power = tag["power"]
    if not power:
        return ""
    return power.translate(_SUPERSCRIPTS) if power.isdecimal() else f"^({power})" if len(power) > 1 else f"^{power}"


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
