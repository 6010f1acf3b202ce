"""Small tasks for runs of the workflow; a user's task file looks like this."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task


def sums(first: int, last: int) -> Iterator[Sample]:
    for number in range(first, last):
        other = number % 7 + 2
        yield Sample(f"How much is {number} and {other}?", (str(number + other),), "number")


@task("mini_train", family="math")
def mini_train() -> Iterator[Sample]:
    """Sixty sums."""
    return sums(0, 60)


@task("mini_test", family="math")
def mini_test() -> Iterator[Sample]:
    """Thirty other sums."""
    return sums(60, 90)


@task("other_test", family="math")
def other_test() -> Iterator[Sample]:
    """Thirty more."""
    return sums(100, 130)


@task("leaking_test", family="math")
def leaking_test() -> Iterator[Sample]:
    """One of its questions is asked in training, too."""
    return sums(59, 80)


@task("long_test", family="math")
def long_test() -> Iterator[Sample]:
    """More questions than fit into a shard."""
    return sums(1000, 2300)
