"""Three tasks that a tiny model can learn: is a number even or odd? They share no question."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task


def questions(*parts: int) -> Iterator[Sample]:
    """Yield the three-digit numbers of some of six parts; the ten numbers of a decade are in the same part."""
    for number in range(100, 1000):
        if number // 10 % 6 in parts:
            parity = number % 2
            references = ("AB"[parity], ("even", "odd")[parity])
            yield Sample(f"Is {number} even or odd?\n(A) even\n(B) odd", references, "choice", ("even", "odd"))


@task("even_or_odd_test", family="multiple_choice")
def even_or_odd_test() -> Iterator[Sample]:
    """150 numbers for the test."""
    return questions(0)


@task("even_or_odd_graded", family="multiple_choice")
def even_or_odd_graded() -> Iterator[Sample]:
    """150 numbers whose answers a teacher grades to train a probe."""
    return questions(1)


@task("even_or_odd_train", family="multiple_choice")
def even_or_odd_train() -> Iterator[Sample]:
    """600 numbers whose answers students are trained on."""
    return questions(2, 3, 4, 5)
