"""Use a trained judge in a script.

python examples/as_metric.py general
"""

from __future__ import annotations

import sys

from bert_judge.judges import BERTJudge


def main(folder: str) -> None:
    judge = BERTJudge(folder)
    questions = ["What is the capital of France?"] * 2
    candidates = ["It is Paris, I believe.", "Lyon"]
    print(judge.predict(questions, ["Paris", "Paris"], candidates))
    # Interface of the classifiers of scikit-learn: probabilities of incorrect and correct.
    print(judge.predict_proba(questions, ["Paris", "Paris"], candidates))


if __name__ == "__main__":
    main(sys.argv[1])
