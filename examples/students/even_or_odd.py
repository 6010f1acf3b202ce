"""Three tasks that a tiny model can learn: is a number even or odd? What one of them asks, no other asks."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task


def questions(*parts: int) -> Iterator[Sample]:
    """Every number of three digits is in one of six parts; the ten numbers of a decade stay together."""
    for number in range(100, 1000):
        if number // 10 % 6 in parts:
            right = number % 2
            references = ("AB"[right], ("even", "odd")[right])
            yield Sample(f"Is {number} even or odd?\n(A) even\n(B) odd", references, "choice", ("even", "odd"))


@task("even_or_odd_test", family="multiple_choice")
def even_or_odd_test() -> Iterator[Sample]:
    """A hundred and fifty numbers."""
    return questions(0)


@task("even_or_odd_graded", family="multiple_choice")
def even_or_odd_graded() -> Iterator[Sample]:
    """As many others, whose answers a teacher grades for a probe."""
    return questions(1)


@task("even_or_odd_train", family="multiple_choice")
def even_or_odd_train() -> Iterator[Sample]:
    """Six hundred others, from whose answers students learn."""
    return questions(2, 3, 4, 5)
