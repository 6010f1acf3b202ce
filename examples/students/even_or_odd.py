"""Two tasks that a tiny model can learn: is a number even or odd? What training asks, no test asks."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task


def questions(test: bool) -> Iterator[Sample]:
    """Every number of three digits is in one of the two; the ten numbers of a decade stay together."""
    for number in range(100, 1000):
        if (number // 10 % 3 == 0) == test:
            right = number % 2
            references = ("AB"[right], ("even", "odd")[right])
            yield Sample(f"Is {number} even or odd?\n(A) even\n(B) odd", references, "choice", ("even", "odd"))


@task("even_or_odd_train", family="multiple_choice")
def even_or_odd_train() -> Iterator[Sample]:
    """Six hundred numbers."""
    return questions(test=False)


@task("even_or_odd_test", family="multiple_choice")
def even_or_odd_test() -> Iterator[Sample]:
    """Three hundred others."""
    return questions(test=True)
