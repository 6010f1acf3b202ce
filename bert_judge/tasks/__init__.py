"""Tasks: questions with their right answers. A task is a function decorated with `@task`, or a part of an imported file."""

from bert_judge.tasks.registry import Sample, file_of, find, load_files, names, task

__all__ = ["Sample", "file_of", "find", "load_files", "names", "task"]
