"""The answer repeats the reference."""

from bert_judge.text.extraction import is_same_text
from bert_judge.text.rules.decision import Decision


def decide_identical(question: str, reference: str, answer: str) -> Decision | None:
    """Decide if both texts are the same up to white space and wrapping: **Paris**. and Paris."""
    return Decision(True, "identical", "repeats the reference") if is_same_text(reference, answer) else None
