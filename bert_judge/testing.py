"""Judge answers in a test suite, and test a program that calls a judge without the weights of one.

from bert_judge.testing import assert_correct

def test_capital():
    assert_correct(ask("Capital of France?"), references=["Paris"], question="Capital of France?")
"""

from collections.abc import Mapping, Sequence
from types import EllipsisType

from bert_judge.integrations import label_texts, load_judge
from bert_judge.judges.protocol import Judge, Label, Row, decided, invalid
from bert_judge.labels.judge_loading import NamedJudge

# Longer texts are cut in the message of a failed test.
MAX_CHARACTERS = 2000


class FakeJudge:
    """A judge with given verdicts.

    Args:
        verdicts: answer → True, False, a score from 0 to 1, or None for an invalid verdict.
        default: verdict on all other answers; without it, they raise LookupError.
    """

    def __init__(self, verdicts: Mapping[str, float | None], default: float | EllipsisType | None = ...) -> None:
        self.revisions: dict[str, str] = {}
        self._verdicts, self._default = dict(verdicts), default

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """Return the given verdicts. Raises LookupError: there is none for an answer."""
        return [self._label(row.candidate) for row in rows]

    def _label(self, answer: str) -> Label:
        score = self._verdicts.get(answer, self._default)
        if isinstance(score, EllipsisType):
            raise LookupError(f"FakeJudge has no verdict on {answer!r}; add it, or set a default")
        return invalid("FakeJudge gives no verdict") if score is None else decided(float(score))


def assert_correct(
    answer: str,
    *,
    references: str | Sequence[str],
    question: str = "",
    judge: str | Judge | None = None,
    threshold: float | None = None,
) -> Label:
    """Return the label of a correct answer.

    Args:
        references: one reference, or several any of which suffices.
        judge: a judge, or its name as for `bert-judge score --judge`; default: general.
        threshold: lowest score that counts as correct, of a judge by name. Default: the judge's own.

    Raises:
        AssertionError: the answer is incorrect, or the judge could not decide; the message has question, answer, references, score
            and reason.
        InputError: there is no judge of this name.
    """
    # pytest shows the line of the test, not this function.
    __tracebackhide__ = True
    named = load_judge(judge, threshold) if judge is None or isinstance(judge, str) else NamedJudge("judge", "", judge)
    [label] = label_texts(named, questions=[question], references=[references], candidates=[answer])
    if label.verdict != "correct":
        parts = {
            "question": question,
            "answer": answer,
            "references": " | ".join([references] if isinstance(references, str) else references),
            "score": "none" if label.score is None else f"{label.score:.3f}",
            "reason": label.reason or "none",
            "judge": named.name,
        }
        lines = [
            f"  {name}: {text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + '…'}" for name, text in parts.items()
        ]
        verdict = label.verdict if label.score is None else label.outcome.replace("_", " ")
        raise AssertionError("\n".join([f"the answer is {verdict}", *lines]))
    return label
