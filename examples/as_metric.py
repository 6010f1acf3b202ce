"""A trained judge as a metric in a script of one's own.

python examples/as_metric.py results/judges/judge
"""

from __future__ import annotations

import sys

from bert_judge.judges.bert.judge import BERTJudge


def main(folder: str) -> None:
    judge = BERTJudge(folder)
    questions = ["What is the capital of France?"] * 2
    said = ["It is Paris, I believe.", "Lyon"]
    # As a metric of the library `evaluate` …
    print(judge.compute(predictions=said, references=["Paris", "Paris"], questions=questions))
    # … and as a classifier of scikit-learn: wrong, right.
    print(judge.predict_proba(questions, ["Paris", "Paris"], said))


if __name__ == "__main__":
    main(sys.argv[1])
