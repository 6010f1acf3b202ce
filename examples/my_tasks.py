"""A custom task: a decorated function that yields samples."""

from collections.abc import Iterator

from bert_judge.tasks import Sample, task


@task("squares", family="math")
def squares() -> Iterator[Sample]:
    """Yield questions about squares; any one of the references is correct."""
    for number in range(2, 22):
        yield Sample(f"What is {number} squared?", (str(number**2),), "number")
