"""Judges: candidates in, verdicts out. One file per kind."""

from bert_judge.judges.protocol import Judge, Label, Row, decided, invalid

__all__ = ["Judge", "Label", "Row", "decided", "invalid"]
