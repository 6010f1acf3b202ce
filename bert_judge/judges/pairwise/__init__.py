"""Judges of which of two answers is better: pairs in, preferences out. One file per kind of model behind them."""

from bert_judge.judges.pairwise.protocol import Opinion, Pair, PairJudge, Preference, abstained, both_orders, swapped

__all__ = ["Opinion", "Pair", "PairJudge", "Preference", "abstained", "both_orders", "swapped"]
