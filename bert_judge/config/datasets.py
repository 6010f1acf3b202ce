"""`datasets`: labelled answers that train a judge."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bert_judge.config.base import Block, Name, Share


class Mix(Block):
    """How many rows of a dataset come from where."""

    per_task: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a task"""
    per_model: dict[Name, Annotated[int, Field(gt=0)]] = {}
    """at most this many rows of a model"""
    total: Annotated[int, Field(gt=0)] | None = None
    """at most this many rows in all"""


class Augment(Block):
    """Made-up rows to train on beside the labelled ones. Each number is the share of the training rows for which one is made, where
    the kind fits the row."""

    restated: Share = 0.0
    """right: a reference, bare or in a phrase"""
    reformatted: Share = 0.0
    """right: a reference whose date, number or name is written in another form"""
    shortened: Share = 0.0
    """right: a reference without the day of its date, a middle name, a title, a bracket, an article or one of two alternatives"""
    stated: Share = 0.0
    """right: a reference in a sentence made of the question's own words"""
    misstated: Share = 0.0
    """wrong: another question's answer in the same sentence"""
    paraphrased: Share = 0.0
    """right: a right answer, with another right answer to the same question, a sentence, for its reference"""
    contradicted: Share = 0.0
    """wrong: a wrong answer with a right one for its reference, or a right one with another question's answer put into it"""
    other_answer: Share = 0.0
    """wrong: an answer of the same shape to another question, or another option"""
    near_miss: Share = 0.0
    """wrong: a reference with one digit, year, month, sign, scale or name changed, alone or in place in a right answer"""
    swapped_reference: Share = 0.0
    """wrong: a right answer against another question's references"""
    denied: Share = 0.0
    """wrong: a reference, denied"""
    no_answer: Share = 0.0
    """wrong: a phrase without content, or the question repeated"""
    cut_short: Share = 0.0
    """wrong: the sentences of an answer before it comes to the point"""
    undecided: Share = 0.0
    """wrong: a reference among other answers, without a decision"""
    taken_back: Share = 0.0
    """wrong: a reference, given up for another answer or for none"""
    settled: Share = 0.0
    """right: another answer, given up for a reference"""
    surrounded: Share = 0.0
    """right: a reference in a phrase and in more or less talk"""
    talk: Share = 0.0
    """wrong: the same talk with another answer, with the question, with a claim to be right, or alone"""
    mistyped: Share = 0.0
    """right: a reference with one letter of a long word left out or doubled"""


class WeakTeacher(Block):
    """Weak labels for answers on which the teacher has no verdict, as the partial credit that a benchmark gives."""

    teacher: str
    """the judge that is asked about them; its score, from 0 to 1, is the label"""
    tasks: list[Name] = Field(min_length=1)
    """tasks, out of the dataset's"""
    weight: float = Field(1.0, gt=0)
    """how much such a row counts beside one of the teacher's"""


class Dataset(Block):
    """Labelled answers that train a judge."""

    teacher: str
    """the judge whose labels are learnt"""
    tasks: list[str] = Field(min_length=1)
    """tasks, out of `tasks.train`"""
    models: list[str] | Literal["all"] = "all"
    """models; with `all`, a new model retrains the judge"""
    weak_teacher: WeakTeacher | None = None
    """who labels what the teacher leaves open; such rows train and do not validate, and the mix does not limit them"""
    mix: Mix = Mix()
    """limits per task and model"""
    augment: Augment = Augment()
    """made-up rows beside the labelled ones"""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """share of the questions kept for calibration and metrics"""
    balance: bool = False
    """weight the rows so that right and wrong answers count alike"""
    allow_test_questions: bool = False
    """accept questions that a test task has too"""
    seed: int = 0
    """seed of the draw"""

    @property
    def teachers(self) -> list[str]:
        """The teacher and, where there is one, whom the rest is left to."""
        return [self.teacher, *([self.weak_teacher.teacher] if self.weak_teacher else [])]
