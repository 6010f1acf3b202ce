"""Which of two answers is better by a rule that understands neither: what every pairwise judge has to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bert_judge.judges.lexical.normalization import normalize_words
from bert_judge.judges.pairwise.protocol import Opinion, Pair, Preference, both_orders
from bert_judge.runtime import keyed_random


class PairRuleJudge:
    """Compares pairs by a rule. No rule looks at the order of the answers, so no verdict is inconsistent.

    Args:
        rule: out of `RULES`.
        seed: of the rule `random`.
    """

    def __init__(self, rule: str, seed: int = 0) -> None:
        self.rule = RULES[rule]
        self.seed = seed
        self.revisions: dict[str, str] = {}

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """One preference per pair, in their order."""
        return [self._preference(pair) for pair in pairs]

    def _preference(self, pair: Pair) -> Preference:
        score, reason = self.rule(pair, self.seed)
        verdict = "tie" if score == 0.5 else "A" if score > 0.5 else "B"
        opinion = Opinion(verdict, score, reason)
        return both_orders(opinion, opinion)


def longer(pair: Pair, _: int = 0) -> tuple[float, str]:
    """The longer one in characters, without white space around it."""
    a, b = len(pair.answer_a.strip()), len(pair.answer_b.strip())
    return 0.5 if a == b else float(a > b), f"{a} and {b} characters"


def overlap(pair: Pair, _: int = 0) -> tuple[float, str]:
    """The one that shares more words with a reference (F1, the best over the references), or without references with the question
    (the share of the question's different words that it uses). A score of 0.5 is an equal overlap."""
    sources = [normalize_words(text) for text in pair.references or (pair.question,)]
    measure = _f1 if pair.references else _used
    a, b = (max(measure(source, normalize_words(answer)) for source in sources) for answer in (pair.answer_a, pair.answer_b))
    return (1 + a - b) / 2, f"overlap {a:.3f} and {b:.3f} with the {'references' if pair.references else 'question'}"


def random(pair: Pair, seed: int = 0) -> tuple[float, str]:
    """Either, drawn by the pair's content whichever answer is named first; equal answers tie."""
    if pair.answer_a == pair.answer_b:
        return 0.5, "the same answer twice"
    chosen = keyed_random.choose(
        sorted((pair.answer_a, pair.answer_b)), "pair", seed, pair.question, *sorted((pair.answer_a, pair.answer_b))
    )
    return float(chosen == pair.answer_a), "drawn"


RULES: dict[str, Callable[[Pair, int], tuple[float, str]]] = {"longer": longer, "overlap": overlap, "random": random}


def _f1(source: Sequence[str], answer: Sequence[str]) -> float:
    shared = sum((Counter(source) & Counter(answer)).values())
    return 2 * shared / (len(source) + len(answer)) if shared else 0.0


def _used(source: Sequence[str], answer: Sequence[str]) -> float:
    asked = set(source)
    return len(asked & set(answer)) / len(asked) if asked else 0.0
