"""Rows that the judge cannot read: exact comparison decides them instead of the encoder and the trees.

* The tokenizer loses much of the answer or of every reference, or it reads a word of the reference as another word of the answer,
  such as both as `[UNK]`. The words that it does read cannot decide such a row: where they differ, so do the texts.
* The tokenizer reads both alike, because they differ in case only, and a rule module says whether case counts: `N - n`, `n - N`.
* Trees compare short groups of characters, of which two sequences of four letters share nearly all. So a reference that is one
  long word (a sequence, key or identifier) must stand in the answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from bert_judge.encoder.unread_words import ReadText, TextReader
from bert_judge.text.extraction import extract_final_answer, unwrap
from bert_judge.text.normalization import normalize_words, word_list
from bert_judge.text.rules import Decision
from bert_judge.text.visible_text import is_blank_answer

# Modules of the decisions.
EXACT, LONG_WORD = "exact", "long_word"
MODULES = frozenset({EXACT, LONG_WORD})
# Share of the letters, digits and symbols of a text that the tokenizer may lose.
MAX_SHARE_LOST = 0.2
# Letters from which a text in a script without spaces may stand within a run of letters: แปด (8) also stands in สิบแปด (18).
MIN_LETTERS_WITHIN = 5
MAX_REASON_CHARACTERS = 24
MIN_LONG_WORD = 12
# One word of ASCII: sequences of nucleotides and amino acids, decimal and hexadecimal numbers, what is too long for a word of a
# language, names in code with underscores or capitals, and keys, which have digits but no pronounceable part ("2-methylpropane").
_LONG_WORD = re.compile(
    r"(?i:[acgtun]{12,})|[A-Z]{20,}|\d{20,}|(?=[a-f]*\d)[0-9a-f]{12,}|(?=[A-F]*\d)[0-9A-F]{12,}|[A-Za-z0-9]{46,}"
    r"|(?=.{12})[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|(?=.{12})(?=.*[a-z][A-Z])[A-Za-z0-9]+"
    r"|(?=.{16})(?=.*\d)(?=.*[A-Za-z])(?!.*[a-z]{5})[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
)
# Between the groups that a long word is written in: TCCGA CAAGG, 24,809,140.
_SEPARATORS = r"[\s,_'’-]*"
# Normalisation makes each of these characters a word.
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def decide_unread(
    reader: TextReader,
    references: Sequence[Sequence[str]],
    candidates: Sequence[str],
    decisions: Sequence[tuple[Decision | None, bool]],
    *,
    checks_long_words: bool,
) -> tuple[list[list[str]], list[Decision | None]]:
    """Decide the rows that cannot be read.

    Args:
        decisions: of the rule modules, and whether they decide the row; the others at least reject what they reject.
        checks_long_words: whether a reference that is one long word must stand in the answer.

    Returns:
        Per row the references that can be compared with its answer, or all if none can; and the decision of this module, or of
        the rule modules where they decide or a reference can be compared.
    """
    rows = list(zip(references, candidates, decisions, strict=True))
    readings = reader.read(text for texts, answer, (_, is_decided) in rows if not is_decided for text in (*texts, answer))
    all_references, all_decisions = [], []
    for texts, answer, (decision, is_decided) in rows:
        readable = list(texts)
        if not is_decided and not is_blank_answer(answer, texts):
            problems = [_describe_problem(text, answer, readings) for text in texts]
            lacking = [checks_long_words and not _has_long_word(text, answer) for text in texts]
            readable = [row[0] for row in zip(texts, problems, lacking, strict=True) if not any(row[1:])]
            if decision and decision.correct is not None and reader.ignores_case and _differ_in_case(texts, answer):
                decision = Decision(decision.correct, EXACT, f"{decision.reason}; the encoder reads both alike")
            elif not readable:
                decision = _compare_all(texts, answer, next(filter(None, problems), None), decision)
        all_references.append(readable or list(texts))
        all_decisions.append(decision)
    return all_references, all_decisions


def _describe_problem(reference: str, answer: str, readings: Mapping[str, ReadText]) -> str | None:
    """Say why the encoder cannot compare an answer with a reference; None if it can."""
    for name, text in ("reference", reference), ("answer", answer):
        if (share := readings[text].share_lost) > MAX_SHARE_LOST:
            return f"the encoder cannot read {100 * share:.0f}% of the {name}"
    return "the encoder reads other words of both alike" if readings[reference].confuses(readings[answer]) else None


def _differ_in_case(references: Sequence[str], answer: str) -> bool:
    answer = unwrap(answer)
    return all((text := unwrap(reference)) != answer and text.lower() == answer.lower() for reference in references)


def _compare_all(references: Sequence[str], answer: str, problem: str | None, decision: Decision | None) -> Decision:
    """Compare an answer with references that cannot be read; without a `problem` they are long words that it lacks."""
    if problem is None:
        word = unwrap(references[0])
        shortened = word if len(word) <= MAX_REASON_CHARACTERS else f"{word[:MAX_REASON_CHARACTERS]}…"
        return Decision(False, LONG_WORD, f"the answer lacks {shortened}")
    is_rejected = decision is not None and not decision.correct
    matches = [match for reference in references if (match := _compare(reference, answer, allows_more=not is_rejected))]
    return Decision(bool(matches), EXACT, f"{matches[0] if matches else 'not the words of the reference'}; {problem}")


def _compare(reference: str, answer: str, *, allows_more: bool) -> str | None:
    """Say how an answer repeats a reference; None if it does not. `allows_more`: the answer may have further words."""
    texts = {answer, extract_final_answer(answer) or answer}
    for text in texts:
        # Normalisation drops symbols.
        if _symbols(reference) != _symbols(text):
            continue
        if (words := normalize_words(reference)) and words == normalize_words(text):
            return "the same words"
        if (characters := _characters(reference)) and characters == _characters(text):
            return "the same characters"
    if allows_more and any(_contains(reference, text) for text in texts):
        return "contains the reference"
    return None


def _symbols(text: str) -> Counter[str]:
    return Counter(character for character in text if unicodedata.category(character)[0] == "S")


def _characters(text: str) -> str:
    """Return a text in one case and Unicode form, without white space and punctuation."""
    text = unicodedata.normalize("NFKC", unwrap(text)).casefold()
    return "".join(character for character in text if unicodedata.category(character)[0] in "LMNS")


def _contains(reference: str, answer: str) -> bool:
    """Return whether a reference stands in an answer that negates nothing, as whole words."""
    if (word := unwrap(reference)) and _LONG_WORD.fullmatch(word):
        return _has_long_word(reference, answer) and not _is_negated(reference, answer)
    inner, outer = (unicodedata.normalize("NFKC", unwrap(text)).casefold() for text in (reference, answer))
    if not any(map(str.isalnum, inner)) or _symbols(inner) - _symbols(outer) or _is_negated(inner, outer):
        return False
    if not _SPACELESS.search(inner):
        inner, outer = (" ".join(normalize_words(text)) for text in (inner, outer))
        return bool(inner) and f" {inner} " in f" {outer} "
    if sum(map(str.isalpha, inner)) >= MIN_LETTERS_WITHIN:
        return inner in outer
    ends = (match.span() for match in re.finditer(re.escape(inner), outer))
    return any(not _is_letter(outer[start - 1 : start]) and not _is_letter(outer[end : end + 1]) for start, end in ends)


def _is_negated(reference: str, answer: str) -> bool:
    negations = word_list("negations") | word_list("rejections") | word_list("alternatives")
    return not negations.isdisjoint(normalize_words(answer)) and negations.isdisjoint(normalize_words(reference))


def _is_letter(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _has_long_word(reference: str, answer: str) -> bool:
    """Return whether an answer has the long word that a reference is; true for any other reference."""
    if len(reference) < MIN_LONG_WORD or " " in reference.strip() or not _LONG_WORD.fullmatch(word := unwrap(reference)):
        return True
    pattern = _SEPARATORS.join(re.escape(character) for character in word if character not in "_-")
    return bool(re.search(rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])", answer, re.IGNORECASE))
