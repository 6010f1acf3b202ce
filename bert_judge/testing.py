"""Judge answers in a test suite, and test a program that calls a judge without the weights of one."""

from collections.abc import Mapping, Sequence

from bert_judge.integrations import label_texts, load_judge
from bert_judge.judges.protocol import Judge, Label, Row, decided, invalid
from bert_judge.labels.judge_loading import NamedJudge

# Longer texts are cut in the message of a failed test.
MAX_CHARACTERS = 2000


class FakeJudge:
    """A judge with given verdicts.

    Args:
        verdicts: answer → True, False, a score from 0 to 1, or None for an invalid verdict. Other answers raise KeyError, unless it
            is a defaultdict.
    """

    def __init__(self, verdicts: Mapping[str, float | None]) -> None:
        self.revisions: dict[str, str] = {}
        self._verdicts = verdicts

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        scores = [self._verdicts[row.candidate] for row in rows]
        return [invalid("FakeJudge gives no verdict") if score is None else decided(float(score)) for score in scores]


def assert_correct(answer: str, *, references: str | Sequence[str], question: str = "", judge: str | Judge | None = None) -> Label:
    """Return the label of a correct answer.

    Args:
        references: one reference, or several any of which suffices.
        judge: a judge, or its name as for `bert-judge score --judge`; default: general.

    Raises:
        AssertionError: the answer is incorrect, or the judge could not decide; the message has question, answer, references, score
            and reason.
        InputError: there is no judge of this name.
    """
    # pytest shows the line of the test, not this function.
    __tracebackhide__ = True
    named = load_judge(judge) if judge is None or isinstance(judge, str) else NamedJudge(type(judge).__name__, "", judge)
    [label] = label_texts(named, questions=[question], references=[references], candidates=[answer])
    if label.verdict != "correct":
        texts = {
            "question": question,
            "answer": answer,
            "references": " | ".join([references] if isinstance(references, str) else references),
            "score": "none" if label.score is None else f"{label.score:.3f}",
            "reason": label.reason or "none",
            "judge": named.name,
        }
        lines = [
            f"  {name}: {text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + '…'}" for name, text in texts.items()
        ]
        verdict = label.verdict if label.score is None else label.outcome.replace("_", " ")
        raise AssertionError("\n".join([f"the answer is {verdict}", *lines]))
    return label
