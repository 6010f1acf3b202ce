r"""Extract the answer from a text: after a marker, in a box, the last number, or the full text. Option letters: `choices.py`.

The last statement counts, because a model that corrects itself or repeats the requested format gives its answer last. A marker
states an answer only with a value: "I hope this answer is helpful" states none. Every search takes time linear in the text.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.latex import boxed, find_boxes
from bert_judge.text.normalization import POINTER, is_pointer
from bert_judge.text.reading import view
from bert_judge.text.visible_text import strip_reasoning

# Letters beyond ASCII that are these in another case.
_CASE_VARIANTS = {"i": "ıİ", "k": "\u212a", "s": "ſ"}
_NOT_ASCII = r"(?=[^\x00-\x7f])"


@cache
def phrases() -> dict[str, list[str]]:
    phrases: dict[str, list[str]] = read_yaml(Path(__file__).with_name("phrases.yaml"))
    return phrases


def phrase_pattern(*names: str, by_initial: bool = False) -> str:
    """Return a pattern for any phrase of these lists; a phrase is a whole word, except in scripts without spaces.

    `by_initial`: phrases stand behind their first letter, which is twice as fast in patterns that ignore case.
    """
    patterns = []
    for name in names:
        alternatives = _group_by_initial(phrases()[name]) if by_initial else "|".join(phrases()[name])
        patterns.append(alternatives if name.endswith("_without_spaces") else rf"(?<!\w)(?:{alternatives})(?!\w)")
    return f"(?:{'|'.join(patterns)})"


def _group_by_initial(alternatives: Iterable[str]) -> str:
    """Return a pattern for any of these patterns. Python tests at once whether a letter is in a class, if the class keeps case."""
    groups: dict[str, list[str]] = {}
    for pattern in alternatives:
        is_literal = pattern[0].isalpha() and pattern[1:2] not in tuple("?*{")
        groups.setdefault((pattern[0].lower() if pattern[0].isascii() else _NOT_ASCII) if is_literal else "", []).append(pattern)
    return "|".join(
        f"(?-i:[{initial}{initial.upper()}{_CASE_VARIANTS.get(initial, '')}])(?:{'|'.join(pattern[1:] for pattern in group)})"
        if len(initial) == 1
        else f"{initial}(?:{'|'.join(group)})"
        for initial, group in groups.items()
    )


# What may stand between "answer" and "is": "the answer to your question is", "the answer (in km) is".
_FILLER = (
    r"(?:\s+(?:to|for|of|in|choice|option|number|key)\b(?:\s(?!answer)[^\s.:：=?!]{1,20}){0,8}?)?"
    r"(?:\s?\([^()\n]{1,40}\)|,[^,.:\n]{1,30},)?"
)
_CLOSE = r"[^\S\n]?[*_\"'`’”]{0,4}[^\S\n]?"
_COLON = r"(?:[:：﹕∶=＝→⇒ःঃ]|[-=]>)"
_WORDS_BETWEEN = rf"(?:\s(?!{phrase_pattern('no_answer')})(?:[^\W\d]{{2,15}}|[aeoyàé](?=\s[a-zà-ÿ]))){{0,3}}?"
_ANSWER_FORMS = ("answer_english", "answer", "answer_without_spaces")
ANSWER = phrase_pattern(*_ANSWER_FORMS, by_initial=True)
_ENGLISH, _SPACED, _SPACELESS = (phrase_pattern(name, by_initial=True) for name in _ANSWER_FORMS)
_TAG = r"(?:(?:final|correct|short|best)[_ -]?)?(?:answer|ans)\d?|final|solution|output|response|result|conclusion"
# Saves time: nothing that is searched for starts inside a word of Latin letters, or with these characters.
NOT_INSIDE_WORD = r"(?![0-9.,;!?]|(?<=[A-Za-z])[a-z]|(?<=[^\n]) )"
MARKER = (
    rf"<\|?(?:begin_of_)?(?P<tag>{_TAG})\|?>"
    # "[ANSWER]", "【答案】"
    rf"|(?P<bracket>[\[【](?=\w)(?:[^\W\d]{{1,9}}[ _]?)?{ANSWER}[\]】]){_CLOSE}{_COLON}?"
    r"|(?P<json>[\"'](?:[a-z]{1,12}[_ -])?(?:answer|ans|答案|result|response|output|solution|prediction)"
    r"(?:[_ -](?:letter|choice|option|key|text|value|index))?[\"'])\s{0,4}:"
    # A line that is a heading: "### Final Answer".
    r"|^(?=[^\S\n\w]{0,4}[#*_ ]{0,8}\w)(?P<heading>[^\S\n]{0,4}(?:#{1,6}[^\S\n]?)?[*_]{0,3}(?:(?:the|my|our)\s)?"
    rf"{ANSWER}[*_]{{0,3}}[^\S\n]{{0,4}}\n)"
    rf"|{_ENGLISH}{_FILLER}{_CLOSE}(?:{_COLON}|(?P<prose>{phrase_pattern('copula_english')}[^\S\n]?[:：]?))"
    rf"|{_SPACED}{_WORDS_BETWEEN}{_CLOSE}(?:{_COLON}|(?P<verb>{phrase_pattern('copula')}[^\S\n]?[:：]?))"
    rf"|{_SPACELESS}{_CLOSE}"
    rf"(?:{_COLON}|(?P<particle>{phrase_pattern('copula_without_spaces')}[^\S\n]?[:：]?))"
    # GSM8K
    r"|^(?P<hashes>####)"
)
_NO_STATEMENT = re.compile(
    rf"{phrase_pattern('no_statement')}(?:\s+(?:that|the|this|my|your|our|an|final|correct))*\s+\Z", re.IGNORECASE
)
_NO_VALUE = re.compile(rf"[\s*_]*{phrase_pattern('no_value')}", re.IGNORECASE)
_NO_ANSWER = re.compile(rf"[^\S\n]*+{phrase_pattern('no_answer')}", re.IGNORECASE)
_ADVERBS = re.compile(rf"(?:[^\S\n]*{phrase_pattern('adverb')},?\s)+", re.IGNORECASE)
_BEFORE_ANSWER = re.compile(
    rf"(?:\A|[.!?。！？;；:：\n>])[\W_]*(?:{phrase_pattern('before_answer')}[\s,，]*){{0,5}}\Z", re.IGNORECASE
)
_VERB_FORM = re.compile(rf"\s?(?:{'|'.join(phrases()['suffix'])})\Z")
# Lines that only open a formula or a code block.
_OPENER = re.compile(r"(?:[^\S\n]|[*_>]|\$\$|\\\[|\\\(|```\w*+)*+\n")
# Formulas and code that may take several lines.
_BLOCK = re.compile(
    r"[\s*_]*(?:\$\$(.{1,2000}?)\$\$|\\\[(.{1,2000}?)\\\]|(\\begin\{(\w{1,20}\*?)\}.{1,2000}?\\end\{\4\}))", re.DOTALL
)
_SENTENCE_START = r"(?:The|This|That|These|It|He|She|They|We|I|You|In|On|As|So|To|For|If|But|However|Therefore|Thus|Hence)\b"
_SENTENCE_END = re.compile(rf"[.!?](?=[\s*_]+{_SENTENCE_START}|\s)|[。！？]")
_ENDS_IN_ABBREVIATION = re.compile(rf"(?:{'|'.join(phrases()['abbreviation'])})\Z")
_STARTS_SENTENCE = re.compile(rf"[\s*_]+{_SENTENCE_START}")
# What ends an answer within its line.
_TAG_END = re.compile(rf"<(?:/|\|?end_of_)(?:{_TAG})|\[/", re.IGNORECASE)
_ANSWER_END = re.compile(
    rf"{_TAG_END.pattern}|,?\s(?:because|since)\b|,\s(?:(?:and|but)\s)?(?:not|rather\sthan|instead\sof)\s(?!only\b)", re.IGNORECASE
)
_CLOSING = re.compile(r"\A\s*(?:</[^>\n]{1,20}>|\[/[^\]\n]{1,20}\])")
_EXPLANATION = re.compile(r"\W*(?:i hope|explanation|because|since|reason|rationale|解析|解释|解釋)", re.IGNORECASE)
# After "####", which is also a heading of the fourth level: a number, or the last line.
_HASHES_ANSWER = re.compile(r"[^\S\n]*+(?:[-+−$€£¥\\(\d]|[^#\s][^\n]*\s*\Z)")
_MAX_ANNOUNCEMENT = 60
_ANNOUNCEMENT = re.compile(
    rf"\W*(?:(?:so|thus|therefore),?\s)?(?:the\s)?{phrase_pattern('answer_english')}(?:\s{phrase_pattern('copula_english')})?\W*",
    re.IGNORECASE,
)
# The mark of a Markdown quotation; "> 5" is a relation.
QUOTATION = re.compile(r"^[^\S\n]{0,3}>[^\S\n](?=[A-Z][a-z]|[^\x00-\x7f]{2})", re.MULTILINE)
# Characters of an answer that may be in wrappers.
_MAX_WRAPPED = 700
_DECORATION = " \t\r\n*_`~\"'“”«»「」『』‘’"
# Decoration that is part of an answer: the negation of ~p, the derivative f', the factorial n!.
_NEGATED = re.compile(r"[\s\"'`*]*(~(?=\w))")
_PRIMED = re.compile(r"(?:\A|[^\w\"'`“‘])[^\W\d_](['’]{1,3})\s*\Z")
_FACTORIAL = re.compile(r"(?:(?<![A-Za-z0-9])[a-z]|\))!+[\s.。]*\Z")

# Pairs around a whole text; a mark at one end only is part of the answer: A*, f', ~p.
_WRAPPED_WHOLE = re.compile(
    r"(?P<mark>\*{1,3}|_{1,3}|`{1,3}|\$\$?|\"|')(?:(?<=```)(?:text|plaintext|markdown|latex) )?(?P<text>.+)(?P=mark)"
    r"|“([^“”]+)”|‘([^‘’]+)’|«([^«»]+)»|「([^「」]+)」"
    r"|\\\((.+)\\\)|\\\[(.+)\\\]|\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    r"|<(?P<tag>b|i|em|strong|u|code|p)>(?P<marked>.+)</(?P=tag)>",
    re.DOTALL,
)
# What models and programs put around a short answer: the number of a list, a status, a label, a citation, a link.
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\((?:https?://|www\.|/|#)[^()\s]{0,500}(?:\([^()\s]{0,100}\)[^()\s]{0,100})?\)")
_BEFORE_SHORT_ANSWER = re.compile(
    r"(?:(?:\d{1,2}[.)]|[-*•>]|#{1,6})\s+(?=\S)|=\s*(?=\S)|\[(?:PASS|FAIL|OK|ERROR)(?:ED)?\]\s*|\((?:Final\s)?Answer\)\s*"
    rf"|(?!(?:\w+\s)?{phrase_pattern('denial')})[*_]{{0,2}}[^\W\d_]{{1,20}}(?:\s[^\W\d_]{{1,15}}){{0,2}}[*_]{{0,2}}\s?(?:[:➡→]\ufe0f?[*_]{{0,2}}\s+|：\s*)(?=\S)){{1,2}}",
    re.IGNORECASE,
)
_CITATION = (
    r"\[\^?\d{1,3}(?:,\s?\d{1,3}){0,5}\]|【[^【】]{1,40}】|\((?:Wikipedia|(?:source|see)\b[^()]{0,60})\)|\[citation needed\]"
)
_AFTER_SHORT_ANSWER = re.compile(rf"(?:\s?(?:{_CITATION})){{1,5}}\.?\Z", re.IGNORECASE)
# The language stands on the line of the opening fence.
_FENCE = re.compile(r"\s*(?P<fence>```|~~~)[^\S\n]*[\w+#.-]*[^\S\n]*\n(?P<code>(?:(?!(?P=fence)).)*?)\s*(?P=fence)\s*", re.DOTALL)
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_UNIT = re.compile(
    r"[$€£¥₹₽₩](?=\s?[-−]?\.?\d)|(?<=\d)\s?[€£¥₹₽₩]|(?<=°)[cf]\b|(?<=\d)\s?[ap](?=\.?m\b)|\b(?:at\s(?:least|most)|(?:more|less)\sthan)\b(?=\s\S*\d)"
)
# A name and its version, of which no zero is idle: Python 3.10 is not Python 3.1.
_VERSION = re.compile(r"\b([a-z]+)[ -]?(\d+(?:\.\d+)+)(?![\d%])")
_VERSIONED = re.compile(
    rf"\b(?!{phrase_pattern('quantity')})([A-Z][a-z]{{2,}}\w*?|[a-z]*OS|v|{phrase_pattern('versioned')})(?=[ -]?\d)"
)

_JSON_STRING = re.compile(r'\s*+"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_PYTHON_STRING = re.compile(r"\s*+'((?:[^'\\]|\\.)*+)'(?=\s*[,\]})])", re.DOTALL)
_LITERAL = re.compile(r"\s*+([^\s\"',{}\[\]]{1,40})")
_LIST_START, _COMMA = re.compile(r"\s*+\["), re.compile(r"\s*+,")
_INNER_KEY = re.compile(r"\s{0,20}\{\s{0,20}\"\w{1,30}\"\s{0,4}:")
_JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/]))')

_TEXT_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|operatorname)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
)

_DIGITS = r"(?:\d{1,3}(?:(?:\{,\}|\\[,!]|,)\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    r"(?P<minus>(?<![\w)\]}.])[-−–])?[$€£¥₹]?"
    r"(?:\\[dt]?frac\s*\{\s*(?P<upper>[-−]?\d+)\s*\}\s*\{\s*(?P<lower>\d+)\s*\}"
    rf"|(?P<digits>{_DIGITS})(?:\s?[/⁄]\s?(?P<below>\d+)(?![\d/]))?"
    r"(?:e(?P<e>[-+]?\d{1,3})\b|\s?(?:\\times|×|\*)\s?10\s?\^\s?\{?(?P<power>[-−+]?\d{1,3})\b\}?)?\s?\\?(?P<percent>%)?)",
    re.IGNORECASE,
)


class _Statement(NamedTuple):
    """An answer that a text states, and where the statement starts and ends."""

    answer: str
    start: int
    end: int


@view
def extract_final_answer(text: str) -> str | None:
    """Return the answer after the last marker that has one: "Final answer:", "the answer is", a tag, a JSON key or "####".

    After a colon or a heading, the rest of the line, or the next line if that is empty; after "is", the rest of the sentence.
    """
    statement = _last_statement(text)
    return statement.answer if statement else None


def is_announcement(text: str) -> bool:
    """Return whether a text announces an answer and gives none: "### Answer", "So the final answer is:"."""
    return len(text) <= _MAX_ANNOUNCEMENT and bool(_ANNOUNCEMENT.fullmatch(text))


@view
def extract_reference(reference: str) -> str:
    r"""Return the answer that a reference states at its end (`… #### 72`, `\boxed{72}`, "The answer is 72."), or the reference.

    An explanation may follow the answer. Reasoning and control tokens are removed.
    """
    reference = strip_reasoning(reference) or reference
    answer = boxed(reference)
    if answer is None and (statement := _last_statement(reference)):
        after = _CLOSING.sub("", reference[statement.end :])
        before = ("\n" + reference)[max(0, statement.start - 80) : statement.start + 1]
        is_last = not re.search(r"\w", after) or _EXPLANATION.match(after)
        if is_last and _BEFORE_ANSWER.search(before):
            answer = statement.answer
    return answer or reference


@view
def extract_last_number(text: str) -> str | None:
    """Return the last number of the final answer or box, or of the whole text if these have none.

    Without thousands separators and currency: "-1234.5", "3/4", "1500" for 1.5 × 10³, "12%".
    """
    sources = (extract_final_answer(text), boxed(text), text)
    match = next((match for source in sources if source and (match := _last_match(_NUMBER, source))), None)
    return _read_number(match) if match else None


def extract_numbers(text: str) -> list[str]:
    """Return all numbers of a text, in the form of `extract_last_number`."""
    return [_read_number(match) for match in _NUMBER.finditer(text)]


def _read_number(match: re.Match[str]) -> str:
    sign = "-" if match["minus"] else ""
    if match["upper"]:
        return f"{sign}{match['upper'].replace('−', '-')}/{match['lower']}"
    number = re.sub(r"[^\d.]", "", match["digits"])
    if exponent := match["e"] or match["power"]:
        number = format(Decimal(f"{number}e{exponent.replace('−', '-')}"), "f")
    denominator = f"/{match['below']}" if match["below"] else ""
    return f"{sign}{number}{denominator}{match['percent'] or ''}"


@view
def strip_markup(text: str) -> str:
    r"""Remove what surrounds an answer: quotes, markdown, `$…$`, `\boxed{…}`, `\text{…}`, a final full stop."""
    text = strip_fence(text)
    for _ in range(5):
        text = _strip_decoration(text)
        if (inner := _unwrap_once(text)) == text:
            break
        text = inner
    return (_TEXT_COMMAND.sub(r"\1", text) if "\\" in text else text).strip()


def _strip_decoration(text: str) -> str:
    text = text.strip().rstrip(".,;:。，；")
    negation, inner = _NEGATED.match(text) if "~" in text else None, text.strip(" *_`")
    prime = _PRIMED.search(inner) if inner.rstrip().endswith(("'", "’")) else None
    stripped = text.strip(_DECORATION).rstrip(".,;:。，；")
    return f"{negation[1] if negation else ''}{stripped}{prime[1] if prime else ''}" if stripped else ""


def strip_fence(text: str) -> str:
    """Return the code in a text that is one fenced block, with or without a language; any other text stays as it is."""
    fenced = _FENCE.fullmatch(text) if "```" in text or "~~~" in text else None
    return fenced["code"] if fenced and fenced["code"].strip() else text


@view
def unwrap(text: str) -> str:
    r"""Remove what surrounds a text: white space, quotes, bold, code, `$…$`, `\boxed{…}`, `\text{…}`, a tag, a final full stop."""
    text = " ".join(strip_fence(text).split())
    for _ in range(5):
        inner = _unwrap_once(text.rstrip(".,;:。").rstrip() or text)
        if not inner or inner == text:
            break
        text = inner
    return text


def _unwrap_once(text: str) -> str:
    wrapped = _WRAPPED_WHOLE.fullmatch(text)
    if wrapped and not (wrapped["mark"] and wrapped["mark"] in _APOSTROPHE.sub("", wrapped["text"])):
        return (wrapped["text"] or wrapped["marked"] or next(filter(None, wrapped.groups()[2:]))).strip()
    boxes = find_boxes(text) if text.endswith("}") else []
    return boxes[0].content if boxes and (boxes[0].start, boxes[0].end) == (0, len(text)) else text


def strip_wrappers(text: str) -> str:
    """Return a short answer without the number of its list, a label, a status, citations and links: "1. [Paris](https://…) [2]"."""
    text = text.strip()
    if len(text) > _MAX_WRAPPED or "\n" in text:
        return text
    text = _AFTER_SHORT_ANSWER.sub("", _LINK.sub(r"\1", text))
    return text[match.end() :] if (match := _BEFORE_SHORT_ANSWER.match(text)) else text


def is_same_text(first: str, second: str) -> bool:
    """Return whether two texts are identical up to white space and wrapping. Case and every symbol count."""
    return first.split() == second.split() or unwrap(first) == unwrap(second)


def stated_answers(references: Iterable[str]) -> list[str]:
    """Return the answers that references state which are sentences or solutions: "The answer is 5.", "… #### 72", `\\boxed{42}`."""
    return [answer for text in references if (answer := extract_reference(text)) != text]


def names_another_unit(reference: str, answer: str) -> bool:
    """Return whether both texts have currencies, bounds ("at least"), halves of the day or versions, of which none is common."""
    first, second = ({mark.strip() for mark in _UNIT.findall(text.lower())} for text in (reference, answer))
    if "." in reference and not (first and second):
        names = {name.lower() for text in (reference, answer) for name in _VERSIONED.findall(text)}
        first, second = ({mark for mark in _VERSION.findall(text.lower()) if mark[0] in names} for text in (reference, answer))
        second = {mark for mark in second if mark[0] in dict(first)}
    return bool(first) and bool(second) and first.isdisjoint(second)


@cache
def marker_pattern() -> re.Pattern[str]:
    """Return the pattern of what announces an answer; compiled on first use."""
    return re.compile(f"{NOT_INSIDE_WORD}(?:{MARKER})", re.IGNORECASE | re.MULTILINE)


@view
def _last_statement(text: str) -> _Statement | None:
    end = len(text)
    for marker in reversed(list(marker_pattern().finditer(text))):
        if is_talk(text, marker):
            continue
        if statement := _parse_statement(text, marker, end):
            return statement
        end = marker.start()
    return None


def is_talk(text: str, marker: re.Match[str]) -> bool:
    """Return whether a marker does not announce an answer: "I hope the answer is helpful", "the answer is not known"."""
    if marker["hashes"]:
        # Also a heading of the fourth level.
        return not _HASHES_ANSWER.match(text, marker.end())
    is_sentence = marker["prose"] or marker["verb"] or marker["particle"]
    before = text[max(0, marker.start() - 40) : marker.start()]
    is_sentence_without_answer = is_sentence and (_NO_ANSWER.match(text, marker.end()) or _NO_STATEMENT.search(before))
    return bool(is_sentence_without_answer or _NO_VALUE.match(text, marker.end()))


def _parse_statement(text: str, marker: re.Match[str], limit: int) -> _Statement | None:
    """Return the answer behind a marker, which ends before `limit`; None if there is none."""
    start = marker.end()
    if marker["prose"] and (adverbs := _ADVERBS.match(text, start, limit)):
        start = adverbs.end()
    if marker["tag"]:
        end = closing.start() if (closing := _TAG_END.search(text, start, limit)) else limit
        return _statement(text, marker.start(), start, end)
    if marker[0][-1] == ":" and (value := _json_value(text, start, bool(marker["json"]))):
        return _Statement(answer, marker.start(), value[1]) if (answer := strip_markup(value[0])) else None
    if block := _BLOCK.match(text, start, limit):
        group = next(number for number in (1, 2, 3) if block[number] is not None)
        return _statement(text, marker.start(), *block.span(group))
    while opener := _OPENER.match(text, start, limit):
        start = opener.end()
    end = text.find("\n", start, limit)
    end = limit if end < 0 else end
    if text[start:end].rstrip().endswith("?") and text[end:limit].strip():
        # "Final answer: How old is he?" repeats the question first.
        start = end + len(text[end:limit]) - len(text[end:limit].lstrip())
        end = text.find("\n", start, limit)
        end = limit if end < 0 else end
    if marker["prose"] or marker["verb"] or marker["particle"]:
        end = _sentence_end(text, start, end)
    if cut := _ANSWER_END.search(text, start, end):
        end = cut.start()
    return _statement(text, marker.start(), start, end)


def _statement(text: str, marker_start: int, start: int, end: int) -> _Statement | None:
    answer = _VERB_FORM.sub("", text[start:end].strip().rstrip(".。" if _FACTORIAL.search(text, start, end) else ".。!！"))
    answer = strip_markup(answer)
    pointer = POINTER.match(text, end - len(text[start:end].lstrip(" `")))
    answer = f"{pointer[0]}{answer}" if answer and pointer and is_pointer(pointer) else answer
    return _Statement(answer, marker_start, end) if answer else None


def last_sentence(text: str) -> str:
    """Return the last sentence of a text."""
    text = text.strip()
    start = text.rfind("\n") + 1
    while (end := _sentence_end(text, start, len(text))) < len(text) - 1:
        start = end + 1
    return text[start:].strip()


def _sentence_end(text: str, start: int, end: int) -> int:
    """Return where the sentence ends."""
    stops = (match.start() for match in _SENTENCE_END.finditer(text, start, end))
    return next((stop for stop in stops if ends_sentence(text, stop, start)), end)


def ends_sentence(text: str, stop: int, start: int = 0) -> bool:
    """Return whether the mark at `stop` ends a sentence; a full stop after an initial or a title does not: "U.S. Army".

    `start`: of the text that is read before it.
    """
    is_abbreviation = text[stop] == "." and _ENDS_IN_ABBREVIATION.search(text, max(start, stop - 8), stop)
    return not is_abbreviation or _STARTS_SENTENCE.match(text, stop + 1) is not None


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


def _json_value(text: str, start: int, is_json: bool) -> tuple[str, int] | None:
    r"""Return the JSON or Python string that starts here, and its end; of a JSON key, also a number or a list.

    Only \\, \", \/ and \u are unescaped: models write LaTeX's \frac unescaped.
    """
    # {"answer": {"value": "Paris"}}
    while is_json and (key := _INNER_KEY.match(text, start)):
        start = key.end()
    bracket = _LIST_START.match(text, start) if is_json else None
    position, values = bracket.end() if bracket else start, []
    patterns = (_JSON_STRING, _PYTHON_STRING, _LITERAL) if is_json else (_JSON_STRING,)
    while match := next((m for pattern in patterns if (m := pattern.match(text, position))), None):
        values.append(_JSON_ESCAPE.sub(lambda m: m[2] or chr(int(m[1], 16)), match[1]))
        position = match.end()
        if not bracket or not (comma := _COMMA.match(text, position)):
            break
        position = comma.end()
    return (", ".join(values), position) if values else None
