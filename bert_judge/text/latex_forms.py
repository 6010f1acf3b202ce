"""Write answers in the forms that Math-Verify parses: LaTeX between dollars, or plain arithmetic."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import last_sentence, phrase_pattern, strip_markup
from bert_judge.text.formula_notation import PAIR, rewrite_numbers, rewrite_operators, write_union
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import ARTICLES, POINTER, join_scales, normalize_words
from bert_judge.text.reading import view

_DELIMITED = re.compile(r"\$[^$]+\$|\\\(|\\\[|\\boxed|\\fbox|\\begin")
_FORMULA = re.compile(r"\$\$(.{1,300}?)\$\$|(?<![\\\d])\$([^$\n]{1,300})\$|\\\((.{1,300}?)\\\)|\\\[(.{1,300}?)\\\]", re.DOTALL)
_NUMBER = re.compile(r"[-+−]?\s?[$€£¥]?\s?[-−]?(?:\d[\d,]*)?\.?\d+(?:/\d+)?\s?\\?%?")
_ARITHMETIC = re.compile(r"[\d\s.+*/^()-]+")
# Prose, not variables: a word that is not the name of a function, or a unit after a number ("72 km").
_WORD = re.compile(
    r"(?<![\\A-Za-z{])(?<!angle\s)(?<!∠)(?!(?:sin|cos|tan|cot|sec|csc|log|exp|sqrt|arcsin|arccos|arctan|sinh|cosh|tanh|mod)\b)[A-Za-z]{3,}"
    r"|(?<=\d\s)[A-Za-z]{2,}|(?![\u0000-\u03ff])[^\W\d_]{2}|\b(?:[Ii]t|is|[Ww]e|[Ss]o)\b"
)
# Groups of Indian numbers, and groups of zeros.
_GROUPED = re.compile(
    r"(?<![\w.,])(?:\d{1,2}(?:,\d\d)+,\d{3}|\d{1,3}(?: 000)+|\d{1,3}(?: \d{3}){2,}|\d{1,3}(?:\.\d{3}){2,})(?![\d,]|\.\d)"
)
_SCALED = re.compile(r"(\d[\d,]*(?:\.\d+)?)(?:\s+(thousand|million|billion|trillion)\b|\s?([万萬亿億]))", re.IGNORECASE)
_SUPERSCRIPTS = re.compile(r"[⁰¹²³⁴-⁹⁺⁻ⁿ]+")
_VULGAR_FRACTION = re.compile(r"[¼-¾⅐-⅞]")
_TABLES = read_yaml(Path(__file__).with_name("notation.yaml"))
_SYMBOLS = str.maketrans(_TABLES["symbols"])
_NOTATIONS = [(re.compile(pattern), replacement) for pattern, replacement in _TABLES["notations"]]
_AND = re.compile(r",?\s+(?:and|or|&)\s+(?=[-\\\d(\[{a-zA-Z])")
_SIGNED_AMOUNT = re.compile(r"\A[-−]\s?[$€£¥]\s?(?=[\d.][^$]*\Z)")
_THOUSANDS = re.compile(r"[^\d]*\d{1,3}(?:,\d{3})+(?!,)")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,(\[{])[-−]?\d+,(?:\d{1,2}|\d{4,})(?![\d,])(?!\.\d)")
_NO_ANSWER = re.compile("|".join(_TABLES["no_answer"]))
_BASE = re.compile(r"\d_\s?\{?(\d+)")
_PRIMES = re.compile(r"(?<![A-Za-z])[A-Za-z](?:\^\s?\{?)?(['’′]+)(?![A-Za-z])")
# The first bracket around a whole text: {1, 2} and \{1, 2\} are sets and (1, 2) is none; in ${1, 2}$ the braces are not printed.
_BRACKET = re.compile(r"(?!\s*\$+\s*\{)[\s$]*(?:\\left\s?)?\\?([(\[{])[^()\[\]{}\\]*(?:\\right\s?)?\\?[)\]}][\s$.]*")
_PROSE = re.compile(r"(?<![\\A-Za-z{])(?!(?:and|or|sin|cos|tan|cot|log|ln|mod)\b)[A-Za-z]{3,}(?![A-Za-z}])|\b(?:and|or)\s*$")
# An interval that is closed at infinity, and an operator where degrees would have a power.
_IMPROPER = re.compile(r"(?<!\\)\[\s*-\s*(?:\\infty|∞)|(?:\\infty|∞)\s*(?:\\right\s*)?\]|\d\s*\\circ")
_ROMAN = re.compile(r"[IVX]{2,}")
_ISO_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_DATE = re.compile(rf"{_ISO_DATE.pattern}|\d+(?:\.\d+){{2,}}|(?:\d{{1,4}}\s?[年月日号時时分秒]\s?){{1,6}}")
_CLOCK = re.compile(r"\d{1,4}\s?:\s?\d{1,3}")
# What is no number, though Math-Verify reads one: a time, a score, a version.
_NO_NUMBER = re.compile(rf"{_CLOCK.pattern}|\d+(?:\.\d+){{2,}}")
_SEVERAL = re.compile(r",\s|\b(?:and|or)\b")
_LIST = re.compile(r"[-−]?\d+(?:\.\d+)*(?:(?:,?\s(?:and|or)\s|,\s)[-−]?\d+(?:\.\d+)*)+")
# An area or a volume, which is a number with its unit.
_AREA = re.compile(r".*\d\s?[kcm]?m[²³]\.?")
# "The formula is n^2 - n.": the end of the last line.
_PREDICATE = re.compile(r".*\b(?:is|are|equals?|be)\s+(?:at\s+)?(\S.*)", re.DOTALL)
_UNIT_WORDS = re.compile(r"(?<=[\dπ)}])(?:\s[a-z]{3,}){1,3}\Z")
_DENOMINATORS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
# "one half", "two and a half", "negative three-fourths"
_WORDED_FRACTION = re.compile(
    rf"(negative |minus )?(?:([a-z-]{{3,20}}) and )?(?:([a-z]{{1,10}})[ -])?({'|'.join(_DENOMINATORS)})s?", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^\W\d_]+(?:[\s,'’-]+[^\W\d_]+){2,}[.!]*")
# Bold type within a sentence, and a word that is a whole box.
_EMPHASIS = re.compile(r"(?<![\w)*])\*\*([^\W\d_]+)\*\*(?![\w(*])|\A\\text\s?\{([A-Za-z -]{2,30})\}\Z")
_SHORT_WORD = re.compile(
    r"\A(?:(?!(?:ln|lg|pi|xy|yx|yz|zy)\b)(?=[^\W\d_]*[aeiouyäöü])[^\W\d_]{2}\s+|[A-Za-z]:\s*|(?:ca|no|nr)\.\s*|[~≈≃=]\s*)"
    r"(?=[-−$€£]{0,2}\.?\d[\d,.]*\s?%?\.?\Z)",
    re.IGNORECASE,
)
_MODULAR = re.compile(r"\\equiv|\\[pb]?mod(?![a-z])|(?<![a-zA-Z])mod(?![a-zA-Z])")
# Results in words. A reference of more words is no name of one.
_MAX_NAME_WORDS = 5
_ONLY_WORDS = re.compile(r"[^\W\d_]{2,}(?:[\s,'’-]+[^\W\d_]+)*")
# A sentence with one of these may mean the opposite, or name alternatives.
_MATH_HEDGE = re.compile(phrase_pattern("hedge"))
_MATH_EXCEPTION = re.compile(
    r"\s*(?:except|but|other than|besides|without|greater|less|such that|where|\\setminus|\\backslash|\\|≠|-\s*\{|with|if)"
)


def math_verify_forms(text: str) -> list[str]:
    """Return the forms of a text to parse, best first: Math-Verify needs delimiters around LaTeX, but not around numbers."""
    text = _EMPHASIS.sub(lambda emphasis: emphasis[1] or emphasis[2], text.strip())
    text = _read_number_words(_SIGNED_AMOUNT.sub("-", text))
    if union := write_union(text):
        text = union
    if text.startswith("\\begin"):
        text = f"${text}$"
    if _DELIMITED.search(text):
        return [_FORMULA.sub(lambda match: rewrite_notation(match[0]), text)]
    number = text.strip("$").strip()
    text = number if _NUMBER.fullmatch(number) else text
    if _NUMBER.fullmatch(text):
        # Plain 60\\% would be 60.
        plain, latex = text.replace("−", "-"), f"${text}$"
        # Plain 3,5,7 would be 3.5.
        is_list = (text.count(",") > 1 and not _THOUSANDS.match(text)) or PAIR.fullmatch(text)
        return [latex, plain] if "\\" in text or is_list else [plain, latex]
    latex = rewrite_notation(text)
    joined = _AND.sub(", ", latex)
    # In LaTeX, 9**9 is a product and 2^10 is 2¹0.
    if _ARITHMETIC.fullmatch(text) and "frac" not in latex and ", " not in latex:
        return [text, f"${latex}$"]
    if not _WORD.search(joined):
        return [f"${joined}$", text]
    return [f"${latex}$", text] if "\\" in text and len(text) <= 200 else [text]


def rewrite_notation(text: str) -> str:
    """Write what people type as LaTeX: ², √3, pi/2, 3e8, 2 1/2, negative 5, 5 out of 7, infinity."""
    if not text.isascii():
        text = _SUPERSCRIPTS.sub(lambda match: f"^{{{unicodedata.normalize('NFKD', match[0])}}}", text)
        text = _VULGAR_FRACTION.sub(_write_fraction, text).translate(_SYMBOLS)
    text = rewrite_numbers(text)
    for pattern, replacement in _NOTATIONS:
        text = pattern.sub(replacement, text)
    return rewrite_operators(text)


@view
def is_formula(text: str) -> bool:
    """Return whether a text is an expression or a list of them, without prose around it."""
    return (
        bool(text.strip())
        and len(text) <= 300
        and "\n" not in text.strip()
        and not _WORD.search(_AND.sub(", ", rewrite_notation(_read_number_words(text))))
    )


def has_formulas(text: str) -> bool:
    """Return whether a text has a box, or formulas between dollars that are not amounts of money."""
    formulas = [match[match.lastindex or 0] for match in _FORMULA.finditer(text)]
    return "\\boxed" in text or bool(formulas and not any(_PROSE.search(formula) for formula in formulas))


def last_formula(text: str) -> str | None:
    """Return the last line from the first of its formulas on, if no number follows the last one; None if there is none."""
    formulas = [match for match in _FORMULA.finditer(text) if not _WORD.search(rewrite_notation(match[match.lastindex or 0]))]
    if not formulas or re.search(r"\d", text[formulas[-1].end() :]):
        return None
    line = text.rfind("\n", 0, formulas[-1].start()) + 1
    sentence = max(line, text.rfind(". ", 0, formulas[-1].start()) + 1)
    return text[sentence : formulas[-1].end()]


def find_expression(text: str, references: Sequence[str]) -> str | None:
    """Return the last list, formula or decimal of a text without a marker, or what follows the last "is" of its last line."""
    has_list = any(_SEVERAL.search(reference) for reference in references)
    if expression := (has_list and _last_number(_LIST, text)) or last_formula(text) or _last_number(_DECIMAL_COMMA, text):
        return expression
    match = _PREDICATE.fullmatch(remove_asides(text).strip().rsplit("\n", 1)[-1][-300:])
    # "It is 5!" is a factorial if a reference has one.
    mark = r"\." if any("!" in reference for reference in references) else r"(?<=\d)!|\."
    formula = re.sub(rf"(?:{mark})+\Z", "", match[1]) if match else ""
    formula = formula if is_formula(formula) else _UNIT_WORDS.sub("", formula)
    return formula if is_formula(formula) and not _AREA.fullmatch(formula) else None


def _last_number(pattern: re.Pattern[str], text: str) -> str | None:
    matches = list(pattern.finditer(text))
    return matches[-1][0] if matches and not re.search(r"\d", text[matches[-1].end() :]) else None


def remove_asides(text: str) -> str:
    """Remove names with digits, denials and closing talk: the 2 of CO2 and the 4 of "5, not 4" are no answers."""
    return _NO_ANSWER.sub(" ", text)


def strip_short_word(text: str) -> str:
    """Return the number behind a short word, a label or a sign of approximation, which would be factors: In 2010, A: 5, ~5."""
    return _SHORT_WORD.sub("", text.strip())


def differ_in_notation(first: str, second: str) -> bool:
    """Return whether two texts differ in what Math-Verify does not read: f' or f, *p or p, base 8 or 9, [-∞ or (-∞."""
    bases = [set(_BASE.findall(text)) for text in (first, second)]
    brackets = {match[1] for text in (first, second) if (match := _BRACKET.fullmatch(boxed(text) or text))}
    primes = [max(map(len, _PRIMES.findall(text.replace("\\prime", "'"))), default=0) for text in (first, second)]
    return (
        (all(bases) and bases[0].isdisjoint(bases[1]))
        or (len(brackets) > 1 and "{" in brackets)
        or primes[0] != primes[1]
        or any(bool(pattern.match(first)) != bool(pattern.match(second)) for pattern in (POINTER, _ISO_DATE))
        or bool(_IMPROPER.search(first)) != bool(_IMPROPER.search(second))
    )


def read_literal(text: str) -> str | None:
    """Return a congruence, date, time, score, version or Roman numeral, which Math-Verify would calculate, in one spelling."""
    plain = text.strip("$ .")
    if _ROMAN.fullmatch(plain):
        return plain
    if _CLOCK.fullmatch(plain):
        return plain.replace(" ", "")
    if _DATE.fullmatch(plain):
        return " ".join(str(int(number)) for number in re.findall(r"\d+", plain))
    text = rewrite_notation(text)
    if not _MODULAR.search(text):
        return None
    return re.sub(r"\\[pb]?mod|\\text|mod|[^0-9A-Za-z,+-]", "", re.split(r"\\equiv|=", text)[-1])


def is_no_number(text: str) -> bool:
    """Return whether a text is a time, a score or a version: 10:30, 1.2.3."""
    return bool(_NO_NUMBER.fullmatch(text.strip("$ .")))


def _write_fraction(match: re.Match[str]) -> str:
    numerator, _, denominator = unicodedata.normalize("NFKD", match[0]).partition("⁄")
    return rf"\frac{{{numerator}}}{{{denominator}}}"


def _write_worded_fraction(match: re.Match[str]) -> str:
    integer, numerator = (" ".join(normalize_words(word or default)) for word, default in ((match[2], "zero"), (match[3], "one")))
    numerator = "1" if numerator in ARTICLES else numerator
    if not (integer.isdecimal() and numerator.isdecimal()):
        return match[0]
    denominator = _DENOMINATORS[match[4].lower()]
    return rf"{'-' if match[1] else ''}\frac{{{int(integer) * denominator + int(numerator)}}}{{{denominator}}}"


def _read_number_words(text: str) -> str:
    """Write twenty-five, negative five and 1.5 million in digits."""
    if (len(text) <= 100 and text.rstrip(".!")[-1:].isalpha() and not text.isalpha()) or (text.isalpha() and len(text) > 2):
        if fraction := _WORDED_FRACTION.fullmatch(text):
            return _write_worded_fraction(fraction)
        words = join_scales(normalize_words(text))
        numbers = [word for word in words if re.fullmatch(r"-?\d+(?:\.\d+)?", word)]
        if numbers == words[:1] and len(words) <= 2 and not re.search(r"\d", text):
            return " ".join(words)
        # "There are six slices left."; "one" may be a pronoun.
        if (
            len(numbers) == 1
            and numbers != ["1"]
            and _SENTENCE.fullmatch(text)
            and not any(word.rstrip("s") in _DENOMINATORS for word in words)
        ):
            return numbers[0]
    text = _GROUPED.sub(lambda match: re.sub(r"\D", "", match[0]), text)
    return _SCALED.sub(lambda match: join_scales([match[1].replace(",", ""), (match[2] or match[3]).lower()])[0], text)


def states_in_words(reference: str, answer: str) -> bool:
    """Return whether a reference in words, or one that has a name in words, is what the last sentence of an answer says."""
    reference, answer = strip_markup(reference), strip_markup(last_sentence(answer))
    if statement := _name_statement(reference):
        return _states(statement, answer)
    if not _ONLY_WORDS.fullmatch(reference):
        return False
    # Not a part of another word: brother is no brother-in-law.
    occurs = re.search(rf"(?<![\w-]){re.escape(reference)}(?![\w-])", answer, re.IGNORECASE)
    return len(reference.split()) <= _MAX_NAME_WORDS and bool(occurs) and not _MATH_HEDGE.search(answer.casefold())


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
    return bool(matches) and not _MATH_EXCEPTION.match(answer, matches[-1].end())


@cache
def _statements() -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return the patterns of the phrases and of the formulas of each statement."""
    return {
        name: (
            re.compile("|".join(rf"(?<![a-zA-Z]){phrase}(?![a-zA-Z])" for phrase in forms["phrases"]), re.IGNORECASE),
            re.compile("|".join(forms.get("formulas", [])) or r"(?!)"),
        )
        for name, forms in _TABLES["statements"].items()
    }
