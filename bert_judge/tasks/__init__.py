"""Tasks: questions with references, from a function decorated with `@task`, a dataset, or an imported file."""

from bert_judge.tasks.registry import Sample, file_of, find, load_files, names, task

__all__ = ["Sample", "file_of", "find", "load_files", "names", "task"]
