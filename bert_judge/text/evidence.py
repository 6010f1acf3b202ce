"""What a person can check a verdict by: the words of a reference that an answer has and lacks, and its closest sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from bert_judge.text.extraction import extract_final_answer
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import ARTICLES, normalize, normalize_words, word_list
from bert_judge.text.stemming import stem_words

# Longer texts are cut where they are quoted, longer lists of words where they are listed, and longer answers before they are read.
MAX_QUOTED, MAX_LISTED, MAX_READ = 80, 6, 4_000
_WORD = re.compile(r"\w+")
# Texts with several spellings (1,000 and 1000, five and 5, Zürich and Zurich), and marks, which are no words.
_VARIABLE = re.compile(r"\d|[^\x00-\x7f]|^\W*\Z")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")


def quote(text: str) -> str:
    """Return a text in quotation marks, on one line, cut after `MAX_QUOTED` characters."""
    line = " ".join(text[: 4 * MAX_QUOTED].split())
    return f'"{line}"' if len(line) <= MAX_QUOTED else f'"{line[:MAX_QUOTED].rstrip()}…"'


def format_share(share: float) -> str:
    """Write .316 for 0.316 and 1 for 1.0."""
    return f"{share:.3f}".lstrip("0").rstrip("0").rstrip(".") or "0"


def compare_words(reference: Sequence[str], answer: Collection[str]) -> str:
    """Say which words of a reference an answer has, in their order: "has april, 15; lacks 1912". Both are words, or both stems."""
    words = list(dict.fromkeys(reference))
    present, missing = [word for word in words if word in answer], [word for word in words if word not in answer]
    if present and not missing:
        return "has all words"
    return f"has {_list(present)}; lacks {_list(missing)}" if present else "has no word"


def describe_words(question: str, references: Sequence[str], candidate: str) -> str:
    """Compare an answer with the reference that it has most words of, by stems of words that carry meaning.

    Returns:
        The stated answer, if the text announces one; the words of the reference; the closest of several sentences; and the words
        that the answer adds, that is, those in neither the reference nor the question.
    """
    text = candidate[:MAX_READ]
    # Normalisation of long answers takes most of the time, so only where it matters.
    forms = (form for reference in references for form in (reference, normalize(reference)))
    split = normalize_words if any(map(_VARIABLE.search, forms)) else _split
    answer = _drop_function_words(split(text))
    answer_stems = stem_words(answer)
    stems = set(answer_stems)
    by_reference = [_drop_function_words(split(reference)) for reference in references]
    present_words = [[word for word, stem in zip(words, stem_words(words), strict=True) if stem in stems] for words in by_reference]
    best = max(range(len(references)), key=lambda index: len(present_words[index]) / max(1, len(by_reference[index])))
    words, present = by_reference[best], present_words[best]
    parts = [f"{compare_words(words, present)} of {quote(references[best])}"]
    stated = extract_final_answer(text) or boxed(text)
    if stated and stated.strip() != text.strip():
        parts.insert(0, f"states {quote(stated)}")
    sentences = [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]
    if present and len(sentences) > 1:
        closest = max(sentences, key=lambda sentence: sum(word in sentence.casefold() for word in present))
        parts.append(f"closest sentence {quote(closest)}")
    known = {*stem_words(words), *stem_words(split(question))}
    added = {stem: word for stem, word in zip(reversed(answer_stems), reversed(answer), strict=True) if stem not in known}
    parts.append(f"adds {_list([*reversed(added.values())])}" if added else "adds no word")
    return "; ".join([*parts, f"only the first {MAX_READ:,} characters were compared"] if len(candidate) > MAX_READ else parts)


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _drop_function_words(words: list[str]) -> list[str]:
    """Leave out function words and single signs, unless there is nothing else."""
    words = [word for word in words if _WORD.search(word)] or words
    return [word for word in words if word not in word_list("function_words") and word not in ARTICLES] or words


def _list(words: Sequence[str]) -> str:
    return ", ".join(words[:MAX_LISTED]) + (f" and {len(words) - MAX_LISTED} more" if len(words) > MAX_LISTED else "")
