"""`tasks`: which questions are asked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Name, Names, Share, Value

Family = Literal["multiple_choice", "reading", "math", "short_answer"]


class ImportedTask(Block):
    """The questions of an imported file, or a part of them."""

    source: str = Field(alias="from")
    """name of an import"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""
    question_split: tuple[Share, Share] = (0.0, 1.0)
    """part of the questions: each question falls on a fixed point between 0 and 1 that depends on its text only"""
    family: Family = "short_answer"
    """what kind of task it is; agreement is reported per family"""


class SourceColumns(Block):
    """Which column of a data set holds what. A dot leads into a nested one: `answers.text`."""

    question: Names = ["question"]
    """the question; several columns are joined. A list of questions is a dialogue: each is asked with what was said before"""
    answer: Names = ["answer"]
    """right answers; of several columns, any is right"""
    choices: Names | None = None
    """multiple choice: a list of options, or several columns with one option each, the right one among them"""
    labels: str | None = None
    """multiple choice: what `answer` calls the options, when that is not A, B, C, …"""
    context: Names | None = None
    """reading: the text; of several columns, the members belong together, as titles and paragraphs do"""


# What an answer looks like in a data set, by the families that may say so.
ANSWER_FORMS = {
    "plain": ("multiple_choice", "reading", "math", "short_answer"),
    "index": ("multiple_choice",),
    "flags": ("multiple_choice",),
    "after_hashes": ("math",),
    "boxed": ("math",),
    "with_unit": ("math",),
    "drop": ("reading",),
}


class TaskSource(Block):
    """A task made from the rows of a data set: one of the hub, or a file."""

    repository: str | None = None
    """hub id of a data set; a folder of that name under LOCAL_DATASETS_DIR goes first"""
    path: str | None = None
    """or a parquet, JSONL or CSV file; relative to `data`"""
    config: Names | None = None
    """configurations (subsets) of the data set, one after the other"""
    split: str = "test"
    """split of the data set"""
    revision: str | None = None
    """commit of the hub repository; pinned by `prepare` when left out"""
    family: Family
    """what kind of task it is: it decides the prompt and what an answer looks like"""
    columns: SourceColumns = SourceColumns()
    """the data set's column names"""
    answer_form: Literal["plain", "index", "flags", "after_hashes", "boxed", "with_unit", "drop"] = "plain"
    """how the answer is written: `plain` text (of an option: its letter, label or text), an option's `index` from 0, `flags` with 1
    for the right option, `after_hashes` (behind ####), `boxed` (the last box of a solution), `with_unit` ("9 (apples)"), `drop`
    (the structure of DROP: number, date, spans)"""
    shuffle: bool = False
    """multiple choice: put the options in an order that is drawn for each question, always the same"""
    where: dict[str, Value | list[Value]] = {}
    """keep rows whose column has this value, or one of these values"""

    @model_validator(mode="after")
    def _one_place(self) -> TaskSource:
        if (self.repository is None) == (self.path is None):
            raise ValueError("give either the repository of a data set or the path of a file")
        if self.path and (useless := self.model_fields_set & {"config", "split", "revision"}):
            raise ValueError(f"a file has no {' and '.join(sorted(useless))}; remove what is set here, or name a repository")
        return self

    @model_validator(mode="after")
    def _fits_family(self) -> TaskSource:
        choice = self.family == "multiple_choice"
        if self.family not in ANSWER_FORMS[self.answer_form]:
            raise ValueError(
                f"the answer_form {self.answer_form} belongs to {ANSWER_FORMS[self.answer_form][0]}, not {self.family}"
            )
        if choice and not self.columns.choices:
            raise ValueError("a multiple-choice task needs columns.choices; name the column of the options")
        if choice and len(self.columns.answer) > 1:
            raise ValueError("a multiple-choice task has one column for the answer; name one under columns.answer")
        if not choice and (self.columns.choices or self.columns.labels or self.shuffle):
            raise ValueError(f"columns.choices, columns.labels and shuffle belong to multiple_choice, not {self.family}")
        if self.family == "reading" and not self.columns.context:
            raise ValueError("a reading task needs columns.context; name the column of the text")
        return self


class Tasks(Block):
    """Which questions are asked."""

    train: list[Name] = []
    """tasks whose answers may train a judge"""
    test: list[Name] = Field(min_length=1)
    """tasks on which the models are scored"""
    imported: dict[Name, ImportedTask] = {}
    """tasks that are made from imported files"""
    sources: dict[Name, TaskSource] = {}
    """tasks that are made from data sets, beside the published ones that are known by name"""
    limit: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """ask at most this many questions of a task; always the same ones, and a higher limit keeps them"""
