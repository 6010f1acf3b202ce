"""The part of a candidate that answers the question: without reasoning, further turns and questions, and remarks behind it.

A base model does not stop: it writes further questions and answers them. What stands before them counts. Models and programs add
sources, confidence and statistics, which are no part of the answer either.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from bert_judge.runtime.errors import InputError
from bert_judge.text.extraction import ANSWER, extract_final_answer, extract_reference, is_announcement, phrase_pattern
from bert_judge.text.normalization import normalize_words, word_list
from bert_judge.text.reading import view
from bert_judge.text.visible_text import has_tags, normalize_text, restore_characters, strip_reasoning, strip_tags

# Share of the words of a restated question that are in the question that was asked; the next question may differ in one word.
_SAME_QUESTION = 0.95
_MAX_QUESTION = 600
_INDENT = r"[^\S\n]{0,3}[#*_>-]{0,4}[^\S\n]?"
# GSM8K's mark before a number that is all of its line.
_HASHES = re.compile(r"^####[^\S\n]*[-+−$€£]?\.?\d[\d,.]*[^\S\n]?%?[^\S\n]*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
# The mark of a list, and a dash behind a word ("The answer – 18"), not a minus sign.
_BULLET = re.compile(r"^[^\S\n]*-[^\S\n]+(?=[$€£]?\d)", re.MULTILINE)
_DASH = re.compile(r"(?<=[^\W\d_]{2})(?<!\bis)(?<!\bbe)(?<!\bto)(?<!equals)[^\S\n]+[–—-][^\S\n]+(?=[$€£]?\d)")
_STRUCK_OUT = re.compile(r"~~(?=\S)[^~\n]{1,300}(?<=\S)~~")
_MINUS = re.compile(r"[-−–]")


def read_answer(question: str, references: Sequence[str], candidate: str) -> str | None:
    """Return the part of a candidate that answers the question, as a reader sees it; None if its reasoning is unfinished.

    HTML tags stay if a reference has tags, which are then what is asked for.
    """
    text = strip_reasoning(restore_characters(candidate))
    if text is None:
        return None
    if "<" in text and not any(map(has_tags, references)):
        text = strip_tags(text)
    if "~~" in text and _WORD.search(without := _STRUCK_OUT.sub("", text)):
        text = without
    if any(mark in text for mark in ("- ", "– ", "— ")) and not any(map(_MINUS.search, references)):
        text = _DASH.sub(": ", _BULLET.sub("", text))
    return strip_dismissals(references, _strip_remarks(question, _cut_run_on(question, text)))


def read_references(references: Sequence[str], answer: str) -> list[str]:
    """Return the answers that references state, as a reader sees them; with HTML tags if the answer has tags."""
    read = _read_reference_with_tags if has_tags(answer) else _read_reference
    return list(map(read, references))


@view
def _read_reference(reference: str) -> str:
    text = restore_characters(reference)
    return extract_reference(strip_tags(text) if "<" in text else text)


_read_reference_with_tags = view(lambda reference: extract_reference(restore_characters(reference)))


def normalize_inputs(
    questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """Return the references, as one list per row, and the answers in the candidates, both with normalised text.

    Raises:
        InputError: see `check_inputs`.
    """
    lists = check_inputs(questions, references, candidates)
    answers = [read_answer(*row) or row[2] for row in zip(questions, lists, candidates, strict=True)]
    return [[normalize_text(text) for text in texts] for texts in lists], [normalize_text(text) for text in answers]


def check_inputs(questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]) -> list[list[str]]:
    """Return the references as one list per row.

    Raises:
        InputError: one of the arguments is a text, the lists differ in length, a row has no reference, or a value is no text.
    """
    names = ("questions", "references", "candidates")
    if texts := [name for name, rows in zip(names, (questions, references, candidates), strict=True) if isinstance(rows, str)]:
        raise InputError(f"predict: {texts[0]} is a single text; give a list with one text per row")
    if not len(questions) == len(references) == len(candidates):
        raise InputError(
            f"predict needs lists of equal length; got {len(questions)} questions, {len(references)} references, "
            f"{len(candidates)} candidates"
        )
    reference_lists = [
        list(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else [texts] for texts in references
    ]
    if missing := [row for row, texts in enumerate(reference_lists) if not texts]:
        raise InputError(f"row {missing[0]} has no reference; this judge needs at least one per row")
    for row, (question, answers_of_row, candidate) in enumerate(zip(questions, reference_lists, candidates, strict=True)):
        for name, value in (("question", question), ("candidate", candidate), *(("reference", text) for text in answers_of_row)):
            if not isinstance(value, str):
                raise InputError(f"predict: row {row}: the {name} is {value!r:.60}, not a text")
    return reference_lists


def _cut_run_on(question: str, text: str) -> str:
    """Return a text up to the first further turn or question."""
    if "\n" not in text.strip():
        return text
    cut = _second_solution(text)
    for start in _line_starts(text):
        mark = _turn_pattern().match(text, start, len(text) if cut is None else cut)
        if not mark:
            continue
        before = text[:start]
        is_first = not _WORD.search(before)
        if mark["question"] and _is_asked(question, text, mark.end()):
            if is_first or not extract_final_answer(before):
                continue
        elif is_first:
            # A text that starts with another question divides the question that was asked.
            return text
        if not before.rstrip().endswith((":", "：", ",")):
            return before
    return text if cut is None else text[:cut]


def _second_solution(text: str) -> int | None:
    """Return the end of the first `#### 72` if a further question follows, and its solution."""
    if text.count("####") < 2:
        return None
    solutions = list(_HASHES.finditer(text))
    if len(solutions) < 2:
        return None
    between = text[solutions[0].end() : solutions[1].start()]
    return solutions[0].end() if re.search("[?？]", between) and not _retraction_pattern().search(between) else None


def _is_asked(question: str, text: str, start: int) -> bool:
    """Return whether the question that starts here is the one that was asked, or a part of it."""
    end = _answer_line_pattern().search(text, start, start + _MAX_QUESTION)
    words = set(_WORD.findall(text[start : end.start() if end else start + _MAX_QUESTION].casefold()))
    question_words = set(_WORD.findall(question.casefold()))
    return bool(words) and len(words & question_words) >= _SAME_QUESTION * len(words)


def _strip_remarks(question: str, text: str) -> str:
    """Remove sources, confidence and statistics, unless the question asks for them or nothing else is left.

    A remark that takes the answer back ("Edit: the above is wrong, please disregard it.") is part of it.
    """

    def is_asked(label: str | None) -> bool:
        return bool(label) and bool(re.search(rf"\b{re.escape(label or '')}", question, re.IGNORECASE))

    pieces, end = [], 0
    for start in _line_starts(text) if "\n" in text else ():
        remark = _remark_pattern().match(text, start) if start >= end else None
        if remark and not is_asked(remark["label"]) and word_list("withdrawals").isdisjoint(normalize_words(remark[0])):
            pieces.append(text[end:start])
            end = remark.end()
    shorter = "".join([*pieces, text[end:]])
    if "[" in shorter or "(" in shorter:
        shorter = _inline_remark_pattern().sub(lambda remark: remark[0] if is_asked(remark["label"]) else "", shorter)
    return shorter if len(shorter) < len(text) and _WORD.search(shorter) else text


def _line_starts(text: str) -> list[int]:
    return [0, *(newline.end() for newline in re.finditer(r"\n", text))]


@cache
def _turn_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"{_INDENT}(?:(?P<question>{phrase_pattern('next_question', 'next_question_without_spaces')})"
        rf"|{phrase_pattern('next_turn', 'next_turn_without_spaces')})[^\S\n]?\d{{0,3}}[*_]{{0,2}}[^\S\n]?(?:[:：]|[.)][^\S\n])"
        # A heading of its own line.
        rf"|#{{1,6}}[^\S\n]?(?:Instruction|Input|User|{phrase_pattern('next_question')})[^\S\n]?\d{{0,3}}:?[^\S\n]{{0,3}}$",
        re.MULTILINE,
    )


@cache
def _answer_line_pattern() -> re.Pattern[str]:
    return re.compile(rf"^{_INDENT}(?:A|(?i:{ANSWER}|solution|response))\b[^\S\n]?\d{{0,3}}[*_]{{0,2}}\s?[:：]", re.MULTILINE)


@cache
def _retraction_pattern() -> re.Pattern[str]:
    return re.compile(rf"{phrase_pattern('retract')}|\b(?:mistake|error|again|check)\b", re.IGNORECASE)


@cache
def _remark_pattern() -> re.Pattern[str]:
    """Return a pattern for a line that is a remark, with the list of sources below it; a signature takes the line below it."""
    item = r"(?:\n[^\S\n]*(?:\[\d{1,2}\]|\d{1,2}[.)]|[-*•]|https?://)[^\n]*)*"
    return re.compile(
        rf"[^\S\n]*[(\[*_#>-]{{0,5}}[^\S\n]?(?P<label>{phrase_pattern('remark', 'remark_without_spaces')})[*_]{{0,2}}[^\S\n]?[:：=]"
        rf"[^\n]*{item}|(?:{phrase_pattern('remark_line')})[^\n]*$"
        rf"|{phrase_pattern('signature')},?[^\S\n]*(?:\n[^\n]{{0,60}}\s*\Z|$)",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _inline_remark_pattern() -> re.Pattern[str]:
    label = phrase_pattern("remark", "time", "remark_without_spaces")
    return re.compile(rf"[(\[](?P<label>{label})[^\S\n]?[:：][^()\[\]\n]*[)\]]", re.IGNORECASE)


# --- remarks about what is not the answer: "Paris (not Lyon).", "Unlike Lyon, …", "Lyon would be wrong." ---

# Without them, the answer says the same. With them, a rule finds two answers, and an encoder the words of a wrong one.

# In longer answers, what one sentence dismisses is one step of many; against longer references, every clause counts.
MAX_DISMISSING_CHARACTERS, MAX_REFERENCE_CHARACTERS = 600, 100
# What is dismissed: a few words without the end of a sentence or markup; initials have full stops.
_WHAT = r"[^\s.!?;:,*>](?:[^.!?;\n*>]|\.(?=\w)|(?<=\b[A-Z])\.\s){0,60}?"
_WHAT_SHORT = r"[^\s.!?;:,*>](?:[^.!?;:,\n*>]|\.(?=\w)|(?<=\b[A-Z])\.\s){0,40}?"
_START = r"(?:(?<=[.!?;\n])\s*|(?<=\*\*)\s+|\A\s*)"
_STOP = r"(?<!\b[A-Z])[.!;]+(?=\s|\Z)"
_END = rf"(?:{_STOP}|(?=\n)|\s*\Z)"


def strip_dismissals(references: Sequence[str], text: str) -> str:
    """Remove sentences, clauses and brackets that only dismiss another answer.

    The text stays as it is if at most an announcement is left, or if a reference dismisses something itself ("not guilty").
    """
    if len(text) > MAX_DISMISSING_CHARACTERS or max(map(len, references), default=0) > MAX_REFERENCE_CHARACTERS:
        return text
    if not _trigger().search(text) or any(map(_trigger().search, references)):
        return text
    shorter = _dismissal().sub(lambda match: match["before"] or "", text)
    return text if is_announcement(shorter) or not _WORD.search(shorter) else shorter


@cache
def _trigger() -> re.Pattern[str]:
    names = ("bracket", "tail", "clause", "opener", "end")
    return re.compile(phrase_pattern(*(f"dismissing_{name}" for name in names)), re.IGNORECASE)


@cache
def _dismissal() -> re.Pattern[str]:
    names = ("bracket", "tail", "clause", "opener", "end")
    bracket, tail, clause, opener, end = (phrase_pattern(f"dismissing_{name}") for name in names)
    return re.compile(
        rf"\s?\((?:(?:and |but )?{bracket}\s[^()\n]{{1,60}}|[^()\n]{{1,60}}\s{end})\)"
        rf"|(?P<before>{_START}){clause}\s{_WHAT},\s"
        rf"|{_START}{opener}\s{_WHAT}{_END}"
        rf"|{_START}(?:\(?[A-Za-z]\)\s)?{_WHAT}\s{end}{_END}"
        rf"|(?<=[\w*)])(?:(?:,|\s[-–—])\s(?:and\s|but\s)?{bracket}|,?\s{tail})\s{_WHAT_SHORT}(?={_STOP}|\n|\s*\Z)",
        re.IGNORECASE,
    )
