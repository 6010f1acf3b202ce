"""Two small tasks for runs of the workflow."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def sums(first: int, last: int) -> Iterator[Sample]:
    for number in range(first, last):
        yield Sample(f"How much is {number} and {number % 7 + 2}?", (str(number + number % 7 + 2),), "number")


@task("mini_train", family="math")
def mini_train() -> Iterator[Sample]:
    """Sixty sums."""
    return sums(0, 60)


@task("mini_test", family="math")
def mini_test() -> Iterator[Sample]:
    """Thirty other sums."""
    return sums(60, 90)
