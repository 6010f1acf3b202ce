"""The options of a multiple-choice question, and those that a reference names or a whole answer is.

Several options that are one answer are the letters of all of them, in alphabetical order: "AC".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from bert_judge.text import extraction
from bert_judge.text.extraction import phrase_pattern, phrases, strip_markup
from bert_judge.text.normalization import ROMAN, normalize
from bert_judge.text.reading import Text, view

# Options that a letter may name when the question does not list them.
UNLISTED = dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "")

# The label of an option in a question: "(A)", "[A]", "A)", "A.", "A:", "A、", "- A)", "**A.**", "Option A:", "'A':"; in a line of
# its own also "A - ", "A | " and "A ".
_LABEL = re.compile(
    r"(?:(?<![A-Za-z0-9_’.\-/\\(\[<])|(?<=[\[{])(?=['\"]))(?P<line>^[^\S\n]*(?:[-*+•>|][^\S\n]+)?(?:\[ ?\][^\S\n])?)?(?:\*\*|__)?"
    r"(?:(?:Option|Choice|选项)[^\S\n]?)?(?P<open>[(\[（【<]|['\"])?(?P<letter>[A-Za-z])(?:\*\*| (?=\)\s))?"
    r"(?P<close>[)\]）】>]\.?|[.:：、．]|['\"]:|[^\S\n][-–—|](?=\s)|\t| (?=[^\s=]))(?:\*\*|__)?(?=\s*[^\s)\]])",
    re.MULTILINE,
)
# Without a second label there is no list. This search is several times faster.
_SECOND_LABEL = re.compile(r"[Bb](?:\*\*| )?[)\]）】>.:：、．'\"\s]")
# What may label options instead of letters.
_NUMBERS = tuple(str(number) for number in range(1, 27))
_NUMERALS = tuple(numeral for numeral, number in ROMAN.items() if numeral and number in _NUMBERS)
# Line breaks of HTML and of escaped text; LaTeX around a label: "\textbf{(A)}\ 5 \qquad".
_LINE_MARKUP = re.compile(r"</?(?:br|li|p)\s?/?>|\\n(?=\s?[(\[]?[A-Za-z][).\]:])")
_LABEL_MARKUP = re.compile(r"\$?\\(?:text\w*|math\w*)\s?\{\s?(\([A-Z]\)|[A-Z]\.)\s?\}(?:\\ |[~$])?|\\q?quad(?![a-z])")
_FULL_WIDTH_LETTERS = {0xFF21 + position: 0x41 + position for position in range(26)}
_PAIRS = {"(": ")", "[": "]", "（": "）", "【": "】", "<": ">"}

OPTION = phrase_pattern("option", "option_without_spaces")
# A letter with a sign is another answer: a grade, a chemical or a programming language.
SIGNED_LETTER = re.compile(r"\s*[A-Za-z](?:[+#*'′]{1,2}|-)[\s.]*")
# An option that is the whole text, and what may surround its letter.
_AROUND = r"(?:[^\w+#!'′^=<>~|&@%°¬±−\u2200-\u22ff♭♮♯-]|_)"
_SINGLE_LETTER = re.compile(
    rf"(?:[-–•]\s)?{_AROUND}{{0,6}}(?:{OPTION}\s?)?{_AROUND}{{0,4}}(<)?([A-Za-z])(?(1)>){_AROUND}{{0,6}}", re.IGNORECASE
)
# Between options that are one answer. Their texts may contain commas and "and", so lines and semicolons come first.
_SEPARATORS = (
    re.compile(r"\s*[\n;；]\s*"),
    re.compile(rf"(?:\s*(?:[,/&、，+|;\n]|{phrase_pattern('and', 'and_without_spaces')})\s*){{1,2}}", re.IGNORECASE),
)
_WORD = re.compile(r"[A-Za-z]+|[^\W_A-Za-z]+")
_LETTER_LIST = re.compile(r"[\s\w,;/&、，；+|()\[\]{}.:（）【】\"'*`$]{2,80}")
# The letter five times, as LiveBench asks for it.
_FIVE_TIMES = re.compile(r"(?<![A-Za-z])([A-Z])\1{4}(?![A-Za-z])")
# Characters of a text that may be several options.
_MAX_SEVERAL = 500
_LETTER_AND_TEXT = re.compile(
    rf"(?:{OPTION}\s?)?([\s*_(\[（【<]{{0,4}})([A-Za-z])[\s*_]{{0,3}}([).:\]）】：、．\-–]|(?<=<[A-Za-z])>)[\s*_]{{0,4}}(\S.*)",
    re.IGNORECASE | re.DOTALL,
)


@view
def parse_options(question: str) -> Mapping[str, str]:
    """Return the options of a question, letter → text, from the last list of them; empty without at least two, lettered from A.

    Lines of options come before options within a line, capital letters before small ones.
    """
    runs: list[list[re.Match[str]]] = []
    current: dict[tuple[str | None, str, bool, bool], list[re.Match[str]]] = {}
    if not question.isascii():
        question = question.translate(_FULL_WIDTH_LETTERS)
    if "<" in question or "\\" in question:
        question = _LABEL_MARKUP.sub(r"\1", _LINE_MARKUP.sub("\n", question))
    if not _SECOND_LABEL.search(question):
        return {}
    for label in _LABEL.finditer(question):
        letter, opening, closing = label["letter"], label["open"], label["close"]
        is_line = label["line"] is not None
        if (opening and opening not in "'\"" and not closing.startswith(_PAIRS[opening])) or (closing[0].isspace() and not is_line):
            continue
        # A run of lines, and a run of labels anywhere.
        for lines_only in {is_line, False}:
            style = (opening, closing, letter.isupper(), lines_only)
            if letter in "Aa":
                current[style] = [label]
                runs.append(current[style])
            elif style in current and ord(letter) == ord(current[style][-1]["letter"]) + 1:
                current[style].append(label)
    run = max(filter(_is_list, runs), key=lambda run: (run[0]["letter"].isupper(), _is_lines(run), run[-1].start()), default=None)
    if run is None:
        return {}
    run = max((candidate for candidate in runs if candidate[0] is run[0]), key=len)
    ends = [*(label.start() for label in run[1:]), len(question)]
    texts = [question[label.end() : end].strip() for label, end in zip(run, ends, strict=True)]
    # Instructions may follow the last option.
    texts[-1] = re.split(r"\n\s*\n" if any("\n" in text for text in texts[:-1]) else r"\n", texts[-1], maxsplit=1)[0]
    if run[0]["open"] in ("'", '"'):
        texts = [re.split(r"['\"],?\s*(?:$|['\"}\]])", text.lstrip(" '\""), maxsplit=1)[0] for text in texts]
    return {
        label["letter"].upper(): Text(text.strip(" \t\n*_,;|，；").removesuffix(" or"))
        for label, text in zip(run, texts, strict=True)
    }


def _is_list(run: Sequence[re.Match[str]]) -> bool:
    """Return whether labels are a list of options; within a line, "A." and "A:" are often no labels."""
    return len(run) >= (2 if (_is_lines(run) and run[0]["close"] != " ") or run[0]["close"] not in " .:" else 3)


def _is_lines(run: Sequence[re.Match[str]]) -> bool:
    return all(label["line"] is not None for label in run)


class Expectation(NamedTuple):
    """What the references of a multiple-choice question expect.

    Attributes:
        options: letter → text; the texts are empty if the question does not list them.
        correct: letters of the correct options; several letters where several options together are correct.
        by_letter: a reference names its option by letter.
        labels: the numbers or numerals that label the options in the question; empty if letters do.
    """

    options: Mapping[str, str]
    correct: frozenset[str]
    by_letter: bool
    labels: tuple[str, ...] = ()


# What has a letter for a name: R and C are languages, K is potassium, (R)-limonene a molecule.
_NAMES_BY_LETTER = re.compile(
    r"\b(?:programming language|symbol|vitamin|blood (?:group|type)|chromosome|letter grade|hepatitis|string of|\w*isomer)s?\b",
    re.IGNORECASE,
)


def expected_choice(question: str, references: tuple[str, ...]) -> Expectation | None:
    """Return which options the references name, by letter or by text; None if they name none.

    Letters decide if there are any: "B", "(b)", "**B.**", "B) Paris", "Option B", and "A, C" for several options.
    """
    options = parse_options(question)
    for labels in (_NUMBERS, _NUMERALS):
        if options or labels[1] not in question.upper():
            continue
        labels = labels[: len(parse_options(write_letters(question, labels)))]
        texts = parse_options(write_letters(question, labels))
        # Of "1) 2 2) 4", the answer 2 would be a label and an option; a question after a list is about its items.
        if texts and {*labels, *UNLISTED}.isdisjoint(texts.values()) and "?" not in question[question.upper().rfind(labels[-1]) :]:
            answers = [write_letters(extraction.extract_reference(reference), labels) for reference in references]
            if correct := [letter for answer in answers if (letter := match_option(answer, texts))]:
                return Expectation(texts, frozenset(correct), False, labels)
    options = options or UNLISTED
    answers = [extraction.extract_reference(reference) for reference in references]
    if options is UNLISTED and _NAMES_BY_LETTER.search(question):
        return None
    letters = [letter for answer in answers if (letter := name_option(answer, options))]
    if len(references) == 2 == len(letters) and normalize(options.get(letters[0], "")) == normalize(references[1]):
        # [letter, option text] of an option whose text is a letter too.
        letters = letters[:1]
    elif options is not UNLISTED and all(_SINGLE_LETTER.fullmatch(answer) for answer in answers):
        # ["A", "C"] is one answer, as ["A, C"] is.
        letters = [joined] if (joined := join_letters(letters, options)) else []
    named = letters or ([] if options is UNLISTED else [letter for answer in answers if (letter := match_option(answer, options))])
    return Expectation(options, frozenset(named), bool(letters)) if named else None


def write_letters(text: str, labels: tuple[str, ...]) -> str:
    """Write numbers or numerals that label options as letters, where they are in brackets or before a mark or verb: (iii), (C)."""
    if not labels:
        return text
    mention = (
        rf"(?<![\w.,:/$€£+−^=-])(?<!\w[(\[])({'|'.join(sorted(labels, reverse=True))})(?=[)\]}}）】>][^\w(]|[.:、]\*{{0,2}}\s"
        r"|[)\]}）】>*_.:、\"'`”$]{0,5}\s*(?:\Z|\n|[,;!?(—–。，；！]|(?:is|was|because|since|and|or)\b))"
    )
    return re.sub(mention, lambda match: chr(ord("A") + labels.index(match[0].upper())), text, flags=re.IGNORECASE)


def name_option(reference: str, options: Mapping[str, str]) -> str | None:
    """Return the letter, or letters, by which a reference names options."""
    is_listed = options is not UNLISTED
    if SIGNED_LETTER.fullmatch(reference):
        return None
    text = shorten_repeated_letters(strip_markup(reference), options)
    is_text = is_listed and (text.islower() or not _SINGLE_LETTER.fullmatch(text)) and text in options.values()
    if not is_text and (letter := _SINGLE_LETTER.fullmatch(text)) and (is_listed or text != letter[2] or letter[2].isupper()):
        return letter[2].upper() if letter[2].upper() in options else None
    if is_text or (is_listed and any(normalize(text) == normalize(option) for option in options.values() if option)):
        return None
    if is_listed and (letters := _read_letters(text, options)):
        return letters
    if match := _LETTER_AND_TEXT.fullmatch(text):
        # Without a list of options, "A. Lincoln" is a name.
        is_label = (match[2].isupper() and (is_listed or match[3] in ")]）】")) or (
            match[1].strip() in ("(", "[") and match[3] in ")]）】"
        )
        if is_label and match[2].upper() in options:
            return match[2].upper()
    return None


def match_option(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letter, or letters, of what the whole text is: "(b).", "**B) Paris**", "Paris", "the second option", "A, C"."""
    if SIGNED_LETTER.fullmatch(text):
        return None
    text = shorten_repeated_letters(strip_markup(text), options)
    return _match_single(text, options) or (_match_several(text, options) if len(text) <= _MAX_SEVERAL else None)


def join_letters(letters: Iterable[str], options: Mapping[str, str]) -> str | None:
    """Return one letter, several in order, or the option whose text names several: "Both A and B"."""
    distinct = sorted(set(letters))
    if len(distinct) > 1:
        named = [letter for letter, text in options.items() if f"{distinct[0]} and {distinct[-1]}" in text]
        distinct = named if len(named) == 1 else distinct
    return "".join(distinct) or None


def shorten_repeated_letters(text: str, options: Mapping[str, str]) -> str:
    """Write BBBBB as B where a question lists options."""
    return _FIVE_TIMES.sub(r"\1", text) if options is not UNLISTED else text


def _match_single(text: str, options: Mapping[str, str]) -> str | None:
    letter = _SINGLE_LETTER.fullmatch(text)
    # In small letters, what is the text of an option is no letter: "c" of "A) b B) c".
    if letter and letter[2].upper() in options and not (text.islower() and text in options.values()):
        return letter[2].upper()
    normalized = normalize(text)
    matches = [letter for letter, option in options.items() if option and normalize(option) == normalized]
    if len(matches) == 1:
        return matches[0]
    match = _LETTER_AND_TEXT.fullmatch(text)
    if match and match[2].upper() in options and normalize(strip_markup(match[4])) == normalize(options[match[2].upper()]):
        return match[2].upper()
    if (ordinal := _ordinals().fullmatch(text)) and ordinal.lastindex and ordinal.lastindex <= len(options):
        return list(options)[ordinal.lastindex - 1]
    return None


def _match_several(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letters of the options that a text lists: "A, C", "A. Rome\nC. Oslo", "Rome and Oslo"."""
    if options is UNLISTED:
        return None
    if letters := _read_letters(text, options):
        return letters
    for separator in _SEPARATORS:
        pieces = [stripped for piece in separator.split(text) if (stripped := strip_markup(piece))]
        if 1 < len(pieces) <= len(options):
            matches = [_match_single(piece, options) for piece in pieces]
            if None not in matches:
                return join_letters(filter(None, matches), options)
    return None


def _read_letters(text: str, options: Mapping[str, str]) -> str | None:
    """Return the letters that are all of a text: "AC", "A, C", "(A) and (C)", "ac"; a single letter is none of these."""
    if not _LETTER_LIST.fullmatch(text):
        return None
    words = [word for word in _WORD.findall(text) if word not in _and_words() or (len(word) == 1 and text.islower())]
    letters = "".join(words)
    if len(words) > 1 and max(map(len, words)) > 1:
        return None
    is_list = 1 < len(letters) == len(set(letters)) and (letters.isupper() or "".join(sorted(letters)) == letters)
    return join_letters(letters.upper(), options) if is_list and set(letters.upper()) <= options.keys() else None


@cache
def _and_words() -> frozenset[str]:
    return frozenset(
        word
        for name in ("and", "or", "and_without_spaces", "or_without_spaces")
        for phrase in phrases()[name]
        for word in _WORD.findall(phrase)
    )


@cache
def _ordinals() -> re.Pattern[str]:
    """Return a pattern with a group per position: "the second option", "die zweite Option", "第二个选项"."""
    groups = "|".join(f"({ordinal})" for ordinal in phrases()["ordinal"])
    option = f"{OPTION}|answer|one|个|項|项"
    return re.compile(rf"(?:{phrase_pattern('article')}\s)?(?:{groups})\s?(?:{option})", re.IGNORECASE)
