"""Judges inside other programs' loops: a metric of lm-evaluation-harness, a scorer of inspect_ai, a reward for TRL."""
