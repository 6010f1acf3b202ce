"""Judges that decide which of two answers is better. One file per kind of model."""

from bert_judge.judges.pairwise.protocol import OrderVerdict, Pair, PairJudge, Preference, combine_orders, invalid_preference

__all__ = ["OrderVerdict", "Pair", "PairJudge", "Preference", "combine_orders", "invalid_preference"]
