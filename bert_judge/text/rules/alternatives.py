"""An answer that is nothing but a list of candidates, one of which is the reference: whoever names everything has not answered."""

import re
from collections.abc import Sequence

from bert_judge.text.dates import is_moment
from bert_judge.text.extraction import extract_final_answer, strip_markup, unwrap
from bert_judge.text.normalization import normalize
from bert_judge.text.reading import Task
from bert_judge.text.rules.date import decide_date
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.members import MAX_MEMBER_WORDS, MONTH, SENTENCE_WORD, asks_several
from bert_judge.text.rules.number import decide_number

MAX_CHARACTERS = 300
MIN_CANDIDATES = 3
# From this number on, members between commas are a list even if they differ in kind.
MIN_UNLIKE_CANDIDATES = 5
# Candidates look alike: parts of a sentence between commas do not.
MAX_EXTRA_WORDS = 2
# Words before a list that say that one of its members is meant.
_DOUBT = re.compile(
    r"\A\W*(?:(?:it|this|that|he|she|they|the answer) )?"
    r"(?:(?:could|may|might) (?:have been|be) |(?:is |was |are |were )?(?:either|one of|any of)\b(?: of)?)"
    r"|\A[^:\n]{0,60}\b(?:possible|potential|candidates?|possibilit\w+|options|one of|any of|guess\w*)\b[^:\n]{0,30}:\s+",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(r"\A.{0,80}?:\s+", re.DOTALL)
_SEPARATOR = re.compile(
    r"\s*[;|\n]\s*|,\s+(?:(?:or|and)\s)?|\s/\s|(?<=[^\W\d]{3})/(?=[^\W\d]{3})|\s(?:or|and)\s",
    re.IGNORECASE,
)
_COULD_BE = re.compile(r",\s+(?:or\s)?(?:it\s)?(?:could|may|might)\s(?:also\s)?be\s", re.IGNORECASE)
_MARKS_ALTERNATIVES = re.compile(r"[;|/]|\sor\s", re.IGNORECASE)
# Between these, only one can be meant, also where the question may have several answers.
_EXCLUDES = re.compile(r"/|\sor\s|\b(?:could|may|might) be\b.*\b(?:could|may|might) be\b", re.IGNORECASE)
# "Rome or Nice. In the end, Nice." decides.
_SENTENCES = re.compile(r"\w{2}[.!?]\s+[A-Z]")
# "Of, pertaining to, or resembling a tetanus" names one thing.
_UNFINISHED = re.compile(r"\b(?:of|to|for|in|on|at|by|with|from)\Z", re.IGNORECASE)
# A program, and the parts of an address, are no list.
_CODE = re.compile(r"[=()\[\]{}]")
_ADDRESS = re.compile(
    r"\b(?:street|st|road|rd|avenue|ave|square|county|province|district|region|state|municipality|prefecture|department|usa?|uk|u\.s\.a?\.?"
    r"|united (?:states|kingdom)|africa|america|asia|europe)\b",
    re.IGNORECASE,
)
# Between two of them, the second one replaces the first.
_REPLACES = re.compile(r"\W*(?:oops|no|wait|sorry|actually|rather|i mean|correction)\b", re.IGNORECASE)


def decide_alternatives(task: Task, text: str) -> Decision | None:
    """Decide against a list of at least three short candidates, of which a reference is one, or of two that exclude each other.

    With commas and "and" alone, the first one may be the answer and the others its place or its helpers ("Springfield, Illinois,
    USA"), so the reference must not stand first, or there must be more of them; five are a list even if they differ in kind. Two
    that exclude each other are different quantities or dates, or stand behind words such as "either": "Mark Twain or Samuel
    Clemens" may be one person.
    """
    if _repeats_question(task, text):
        return Decision(False, "alternatives", "repeats the question")
    answer = strip_markup(extract_final_answer(text) or text).strip().rstrip(".")
    listed = _DOUBT.sub("", answer)
    is_in_doubt = listed != answer or bool(_DOUBT.match(text))
    if len(answer) > MAX_CHARACTERS or (asks_several(task.question) and not (is_in_doubt or _EXCLUDES.search(answer))):
        return None
    if not is_in_doubt:
        listed = _LEAD_IN.sub("", answer)
    if _SENTENCES.search(listed):
        return None
    separator = _COULD_BE if is_in_doubt and _COULD_BE.search(listed) else _SEPARATOR
    if any(separator.search(unwrap(reference)) for reference in task.references):
        return None
    pieces = [piece.strip() for piece in separator.split(listed) if piece.strip()]
    if SENTENCE_WORD.search(" ".join(pieces)) or any(map(_UNFINISHED.search, pieces)) or any(map(_REPLACES.match, pieces)):
        return None
    if len(pieces) < 2:
        return None
    texts = list(map(normalize, pieces))
    expected = {normalize(unwrap(reference)) for reference in task.references}
    matches, rejected = [part for part in texts if part in expected], [part for part in texts if part not in expected]
    if (
        not all(texts)
        or len(matches) != 1
        or not rejected
        or any(_has_words(part, reference) or _has_words(reference, part) for part in rejected for reference in expected)
    ):
        return None
    excludes = bool(_EXCLUDES.search(answer))
    match = texts.index(matches[0])
    are_values = excludes and _differ(task, pieces[match], pieces[:match] + pieces[match + 1 :])
    if len(set(texts)) < (2 if excludes and (is_in_doubt or are_values) else MIN_CANDIDATES):
        return None
    if not (is_in_doubt or are_values or _look_alike(listed, pieces, texts, matches[0])):
        return None
    return Decision(False, "alternatives", f"one of {len(texts)} candidates that it names")


_OFFERED = re.compile(r"([\w.'’-]+),? or (?:the |an? )?([\w.'’-]+?)\W*\?")


def _repeats_question(task: Task, text: str) -> bool:
    """Return whether a short text is the question, or names both alternatives that it offers together and none of them alone."""
    if len(text) > MAX_CHARACTERS or not (match := _OFFERED.search(task.question)):
        return False
    if normalize(text) == normalize(task.question):
        return True
    alternatives = [normalize(alternative) for alternative in match.groups()]
    first, second = map(re.escape, alternatives)
    rest, number = re.subn(rf"\b(?:{first} (?:or|and) {second}|{second} (?:or|and) {first})\b", "", normalize(text))
    is_alone = any(_has_words(rest, alternative) for alternative in alternatives)
    return (
        number == 1
        and not is_alone
        and not _NAMES_BY_PLACE.search(rest)
        and any(normalize(r) in alternatives for r in task.references)
    )


_NAMES_BY_PLACE = re.compile(r"\b(?:former|latter|1st|2nd|neither)\b")


def _look_alike(listed: str, pieces: Sequence[str], texts: Sequence[str], match: str) -> bool:
    """Return whether the candidates could be parts of a list, rather than parts of an address, a date or a sentence."""
    lengths = [len(part.split()) for part in texts]
    if len(texts) >= MIN_UNLIKE_CANDIDATES and max(lengths) <= MAX_MEMBER_WORDS and not _CODE.search(listed):
        return not _ADDRESS.search(listed)
    # "April 5, 2011" has a comma within one answer.
    if max(lengths) - min(lengths) > MAX_EXTRA_WORDS or (MONTH.search(listed) and re.search(r"\d", listed)):
        return False
    if not _MARKS_ALTERNATIVES.search(listed) and texts[0] == match and len(texts) <= MIN_CANDIDATES:
        return False
    return len({(_is_number(part), piece[0].isupper()) for part, piece in zip(texts, pieces, strict=True)}) == 1


def _differ(task: Task, match: str, rejected: Sequence[str]) -> bool:
    """Return whether all other candidates are dates or quantities that differ from the match: 7 km from 5 km, not 5000 m."""
    decide = decide_date if is_moment(match) else decide_number
    decisions = [decide(task, match, alternative) for alternative in rejected]
    return all(decision is not None and not decision.correct for decision in decisions)


def _has_words(text: str, words: str) -> bool:
    return f" {words} " in f" {text} "


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
