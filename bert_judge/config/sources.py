"""`imports` and `tasks`: existing files of answers, and where questions and references come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Name, Names, QuestionSplit, Range, Value

Format = Literal["auto", "parquet", "csv", "jsonl", "json", "lm_eval", "lighteval", "inspect", "helm", "judgelm"]


class Columns(Block):
    """Column names of a file with one answer per row. Columns that are missing and not needed are ignored."""

    question: str = "question"
    """the question"""
    references: str = "references"
    """reference answers: a list or a single text"""
    candidate: str = "candidate"
    """the model's answer"""
    model: str = "model"
    """the model's name"""
    label: str = "label"
    """verdict: 1/0, true/false, correct/incorrect, right/wrong, yes/no, pass/fail, a number in [0, 1], or empty for no verdict"""
    rationale: str = "rationale"
    """why the label is so, in words, which a fine-tuned language model learns too"""
    choices: str | None = None
    """list of answer options"""
    id: str | None = None
    """row id, unique in the file"""


class PairColumns(Block):
    """Column names of a file with two answers per row. Only the first three columns are required."""

    question: str = "question"
    """the question"""
    answer_a: str = "answer_a"
    """the first answer"""
    answer_b: str = "answer_b"
    """the second answer"""
    references: str = "reference"
    """reference answers: a list or a single text"""
    model_a: str = "model_a"
    """model of the first answer"""
    model_b: str = "model_b"
    """model of the second answer"""
    label: str = "label"
    """better answer: A, B or tie (or 1, 2, 0), or empty"""
    votes: str = "votes"
    """labels of several annotators: a list or a comma-separated text"""
    task: str = "task"
    """group of rows; agreement is reported per group"""
    grade_a: str = "grade_a"
    """grade of the first answer, which a fine-tuned language model learns too"""
    grade_b: str = "grade_b"
    """grade of the second answer"""
    rationale: str = "rationale"
    """why the label is so, in words, which a fine-tuned language model learns too"""


class AspectColumns(Block):
    """Columns with labels of aspects. Their mean, scaled to [0, 1], is also used as the verdict."""

    columns: dict[Name, str] = {}
    """aspect → column, for a file with one row per answer"""
    name: str | None = None
    """column with the aspect's name, for a file with one row per answer and aspect"""
    value: str | None = None
    """column with the aspect's value, used with `name`"""
    range: Range = (1, 5)
    """lowest and highest label"""

    @model_validator(mode="after")
    def _check_single_layout(self) -> AspectColumns:
        if (self.name is None) != (self.value is None):
            raise ValueError("set both name and value, or neither")
        if bool(self.columns) == (self.name is not None):
            raise ValueError("set either columns (one row per answer) or name and value (one row per answer and aspect)")
        return self


class Import(Block):
    """An existing file of answers, with or without labels."""

    path: str
    """parquet, CSV or JSONL file, or the output of an evaluation framework; relative to `data`"""
    format: Format = "auto"
    """`auto` recognises the format by the content"""
    columns: Columns = Columns()
    """column names, for one answer per row"""
    pair_columns: PairColumns = PairColumns()
    """column names, for two answers per row"""
    aspects: AspectColumns | None = None
    """columns with labels of aspects"""
    where: dict[str, Value | list[Value]] = {}
    """column → value or list of values; other rows are ignored"""


Family = Literal["multiple_choice", "reading", "math", "short_answer"]
SuitedJudge = Literal["general", "general_lenient", "math_verify", "exact_match", "contains"]


class ImportedTask(Block):
    """A task made of the questions of an imported file."""

    source: str = Field(alias="from")
    """name of an import"""
    where: dict[str, Value | list[Value]] = {}
    """column → value or list of values; other rows are ignored"""
    question_split: QuestionSplit = (0.0, 1.0)
    """interval of questions; a hash of its text assigns each question a number in [0, 1)"""
    family: Family = "short_answer"
    """task family; agreement is reported per family"""
    judge: SuitedJudge | None = None
    """judge in a configuration without `judges`; default: `math_verify` for the family math, else `general`"""


class SourceColumns(Block):
    """Column names of a data set; a dot selects a nested column: `answers.text`."""

    question: Names = ["question"]
    """the question; several columns are joined; a list of questions is a dialogue, and each is asked after the previous turns"""
    answer: Names = ["answer"]
    """reference answers; with several columns, any of them is correct"""
    choices: Names | None = None
    """multiple choice: a list of options, or one column per option, including the correct one"""
    labels: str | None = None
    """multiple choice: labels of the options in `answer`, if they are not A, B, C, …"""
    context: Names | None = None
    """reading: the text; several columns are joined element by element, for example titles and paragraphs"""


# Answer format → task families that may use it.
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
    """A task made from a data set, on the hub or in a file."""

    repository: str | None = None
    """hub id; a folder of that name in LOCAL_DATASETS_DIR takes precedence"""
    path: str | None = None
    """parquet, JSONL or CSV file, relative to `data`; alternative to `repository`"""
    config: Names | None = None
    """configurations (subsets) of the data set, which are concatenated"""
    split: str = "test"
    """split of the data set"""
    revision: str | None = None
    """commit of the hub repository; default: pinned by `prepare`"""
    family: Family
    """task family, which determines the prompt and the answer format"""
    columns: SourceColumns = SourceColumns()
    """column names of the data set"""
    answer_form: Literal["plain", "index", "flags", "after_hashes", "boxed", "with_unit", "drop"] = "plain"
    """format of the answer: `plain` text (an option's letter, label or text), an option's `index` from 0, `flags` with 1 for the
    correct option, `after_hashes` (after ####), `boxed` (the last box of a solution), `with_unit` ("9 (apples)"), `drop`
    (number, date or spans, as in DROP)"""
    shuffle: bool = False
    """multiple choice: shuffle the options of each question, deterministically"""
    where: dict[str, Value | list[Value]] = {}
    """column → value or list of values; other rows are ignored"""
    questions: int | None = Field(None, gt=0)
    """number of questions, with which `bert-judge plan` estimates a run before the data set is read"""
    judge: SuitedJudge | None = None
    """judge in a configuration without `judges`; default: `math_verify` for the family math, else `general`"""

    @model_validator(mode="after")
    def _check_source(self) -> TaskSource:
        if (self.repository is None) == (self.path is None):
            raise ValueError("give either the repository of a data set or the path of a file")
        if self.path and (useless := self.model_fields_set & {"config", "split", "revision"}):
            raise ValueError(f"a file has no {' and '.join(sorted(useless))}; remove what is set here, or name a repository")
        return self

    @model_validator(mode="after")
    def _check_family(self) -> TaskSource:
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
    """Training and test tasks."""

    train: list[Name] = []
    """tasks whose answers may be used for training"""
    test: list[Name] = Field(min_length=1)
    """tasks on which the models are scored"""
    imported: dict[Name, ImportedTask] = {}
    """name → task made from an imported file"""
    sources: dict[Name, TaskSource] = {}
    """name → task made from a data set, in addition to the built-in ones"""
    limit: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """task → maximum number of questions; a higher limit keeps the same questions"""
