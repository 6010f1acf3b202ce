"""Judges in other programs: metrics of lm-evaluation-harness and lighteval, a scorer of inspect_ai, a reward for TRL, any table."""
