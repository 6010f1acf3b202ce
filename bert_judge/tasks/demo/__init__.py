"""Questions written for this project, so that everything runs offline: short facts, word problems, multiple choice.

They are made from fact tables (`data/*.csv`) and templates. Training and test questions differ in their *facts*: what is known
about France stands on one side only, in whichever form it is asked.
"""

from bert_judge.tasks.demo import multiple_choice, short_answer, word_problems

__all__ = ["multiple_choice", "short_answer", "word_problems"]
