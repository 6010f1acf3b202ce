"""Rule-based pairwise judges that understand neither answer: the baselines for all others."""

from collections.abc import Callable, Sequence

from bert_judge.judges.protocol import OrderVerdict, Pair, Preference, combine_orders
from bert_judge.runtime import keyed_random
from bert_judge.text.normalization import normalize_words
from bert_judge.text.word_metrics import token_f1


class PairRuleJudge:
    """Compares pairs by one of `RULES`. No rule depends on the order of the answers, so no verdict is inconsistent."""

    def __init__(self, rule: str, seed: int = 0) -> None:
        self.rule = RULES[rule]
        self.seed = seed
        self.revisions: dict[str, str] = {}

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `PairJudge`."""
        preferences = []
        for pair in pairs:
            score, reason = self.rule(pair, self.seed)
            verdict = OrderVerdict("tie" if score == 0.5 else "A" if score > 0.5 else "B", score, reason)
            preferences.append(combine_orders(verdict, verdict))
        return preferences


def longer(pair: Pair, _: int = 0) -> tuple[float, str]:
    """Prefer the answer with more characters, without surrounding white space."""
    a, b = len(pair.answer_a.strip()), len(pair.answer_b.strip())
    return 0.5 if a == b else float(a > b), f"{a} and {b} characters"


def overlap(pair: Pair, _: int = 0) -> tuple[float, str]:
    """Prefer the answer that shares more words with a reference (F1, maximum over the references), or without references the one
    that uses a larger share of the question's distinct words. A score of 0.5 is an equal overlap."""
    sources = [normalize_words(text) for text in pair.references or (pair.question,)]
    measure = token_f1 if pair.references else _recall
    a, b = (max(measure(source, normalize_words(answer)) for source in sources) for answer in (pair.answer_a, pair.answer_b))
    return (1 + a - b) / 2, f"overlap {a:.3f} and {b:.3f} with the {'references' if pair.references else 'question'}"


def random(pair: Pair, seed: int = 0) -> tuple[float, str]:
    """Draw an answer by the pair's content, independent of the order; equal answers tie."""
    if pair.answer_a == pair.answer_b:
        return 0.5, "the same answer twice"
    answers = sorted((pair.answer_a, pair.answer_b))
    return float(keyed_random.choose(answers, "pair", seed, pair.question, *answers) == pair.answer_a), "drawn"


RULES: dict[str, Callable[[Pair, int], tuple[float, str]]] = {"longer": longer, "overlap": overlap, "random": random}


def _recall(source: list[str], answer: list[str]) -> float:
    distinct = set(source)
    return len(distinct & set(answer)) / len(distinct) if distinct else 0.0
