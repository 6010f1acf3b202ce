"""What a person can check a verdict by: words and signs of a reference that an answer has and lacks, and its closest sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from bert_judge.text.extraction import ends_sentence, extract_final_answer
from bert_judge.text.latex import boxed
from bert_judge.text.normalization import ARTICLES, normalize, normalize_words, word_list
from bert_judge.text.stemming import stem_words

# Longer texts are cut where they are quoted, longer lists of words where they are listed, and longer answers before they are read.
MAX_QUOTED, MAX_LISTED, MAX_READ = 80, 6, 4_000
_WORD = re.compile(r"\w+")
# Texts with several spellings (1,000 and 1000, five and 5, Zürich and Zurich), and marks, which are no words.
_VARIABLE = re.compile(r"\d|[^\x00-\x7f]|^\W*\Z")
# Signs that make another formula, quantity or name. Hyphens, dashes, bullets, emphasis and Markdown's quotations are none.
_LETTER = r"\b[^\W\d_]"
_OPERAND = rf"(?:\d|{_LETTER}\b|[()])"
_SIGN = re.compile(
    rf"""
    (?!^>\s?[^\W\d_]+\ ?[^\W\d_])[+=<>^±×÷·∘¬≠≈≡≤≥≪≫∈∉⊂⊆∪∩∧∨→←↔⇒⇔√∞−]  # x + 1, x ≤ 3, C++, A → B
    | (?<![^\s(\[{{=+*/^<>,])[-–](?=\d|{_LETTER}\b)                  # -5, (-x)
    | (?<=\w\ )[-–*/](?=\ (?:\d|{_LETTER}\b|\())                     # x - 1
    | (?:(?<=[\d)])|(?<={_LETTER}))[*/](?={_OPERAND})                 # 3/4, m/a
    | (?:(?<=\b[A-Z])|(?<=\b[A-Z][a-z]))-(?!\w)                     # blood type A-, Na-
    | (?<={_LETTER})[\#!](?!\w)                                      # C#, n!
    | (?:(?<=[^\w'‘"“][^\W\d_])|(?<=^[^\W\d_]))['′]+(?!\w)          # f'
    | (?:(?<=\d)|(?<=\d\s))[%‰°€£¥] | [€£¥](?=\s?\d) | \$(?=\s?\d)(?![^$]*\$) # 10%, $5, but not the formula $5x$
    """,
    re.VERBOSE | re.MULTILINE,
)
_SIGN_START = re.compile(r"[-+=<>^±×÷·∘¬≠≈≡≤≥≪≫∈∉⊂⊆∪∩∧∨→←↔⇒⇔√∞−–*/#!%‰°€£¥$]|['′]+")
_SPELLINGS = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "′": "'"})
# [0, 1) and (0, 1]
_BOUND = r"[-−+]?(?:\d+(?:\.\d+)?|[^\W\d_]|∞)"
_INTERVAL = re.compile(rf"([\[(])\s*{_BOUND}\s*[,;]\s*{_BOUND}\s*([\])])")
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
    answer = _terms(text, split)
    by_reference = [_terms(reference, split) for reference in references]
    best = max(
        range(len(references)), key=lambda index: len(by_reference[index].keys() & answer) / max(1, len(by_reference[index]))
    )
    terms = by_reference[best]
    present = [word for term, word in terms.items() if term in answer]
    parts = [f"{compare_words([*terms.values()], present)} of {quote(references[best])}"]
    stated = extract_final_answer(text) or boxed(text)
    if stated and stated.strip() != text.strip():
        parts.insert(0, f"states {quote(stated)}")
    sentences = _split_sentences(text.strip())
    if present and len(sentences) > 1:
        closest = max(sentences, key=lambda sentence: sum(word in sentence.casefold() for word in present))
        parts.append(f"closest sentence {quote(closest)}")
    known = terms.keys() | _terms(question, split, keep_all=True).keys()
    added = [word for term, word in answer.items() if term not in known]
    parts.append(f"adds {_list(added)}" if added else "adds no word")
    return "; ".join([*parts, f"only the first {MAX_READ:,} characters were compared"] if len(candidate) > MAX_READ else parts)


def _split_sentences(text: str) -> list[str]:
    gaps = [gap for gap in _SENTENCE_END.finditer(text) if "\n" in gap[0] or ends_sentence(text, gap.start() - 1)]
    starts, ends = [0, *(gap.end() for gap in gaps)], [*(gap.start() for gap in gaps), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _find_signs(text: str) -> list[str]:
    """Return the signs of formulas, quantities and names that stand outside words, in order: + and = of "x + 1 = 2"."""
    # The pattern is tried at its characters only, which is much faster than its own search.
    matches = [match for place in _SIGN_START.finditer(text) if (match := _SIGN.match(text, place.start()))]
    signs = [match[0].translate(_SPELLINGS) for match in matches]
    return [*signs, *(f"{match[1]}…{match[2]}" for match in _INTERVAL.finditer(text))]


def _terms(text: str, split: Callable[[str], list[str]], *, keep_all: bool = False) -> dict[str, str]:
    """Return stem → word of the words that carry meaning, unless `keep_all`, and the signs that are in none of them."""
    words = split(text) if keep_all else _drop_function_words(split(text))
    terms = dict(zip(reversed(stem_words(words)), reversed(words), strict=True))
    written = " ".join(words)
    signs = [sign for sign in dict.fromkeys(_find_signs(text)) if sign not in written]
    return dict(reversed(terms.items())) | {sign: sign for sign in signs}


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _drop_function_words(words: list[str]) -> list[str]:
    """Leave out function words and single signs, unless there is nothing else."""
    words = [word for word in words if _WORD.search(word)] or words
    return [word for word in words if word not in word_list("function_words") and word not in ARTICLES] or words


def _list(words: Sequence[str]) -> str:
    return ", ".join(words[:MAX_LISTED]) + (f" and {len(words) - MAX_LISTED} more" if len(words) > MAX_LISTED else "")
