"""Questions written for this project, so that everything runs offline: short facts, word problems, multiple choice.

They are generated from fact tables (`data/*.csv`) and templates. Training and test questions differ in their *facts*: each fact
occurs in one split only, in every form of question.
"""

from bert_judge.tasks.demo import multiple_choice, short_answer, word_problems

__all__ = ["multiple_choice", "short_answer", "word_problems"]
