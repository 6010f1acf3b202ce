"""The parts of NLTK that word rules take: the same classes, without the rest of it."""

from __future__ import annotations

import subprocess
import sys

from nltk.stem.porter import PorterStemmer

WORDS = ["running", "ponies", "relational", "agreed", "dying", "sky", "news", "generalizations", "Paris"]
JUDGE = """
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
row = Row("id", 0, "model", "Which?", ("running dogs",), "a dog runs")
for metric in ("token_f1", "rouge_l_recall"):
    print(LexicalJudge({"metric": metric}).judge([row])[0].score)
"""


def printed(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_judge_loads_no_more_of_nltk_than_it_needs() -> None:
    *scores, left = printed(f"{JUDGE}\nimport sys\nprint(*sorted({{'nltk', 'sklearn', 'scipy'}} & set(sys.modules)) or ['none'])")
    assert [float(score) for score in scores] == [1.0, 0.5]
    assert left == "none"


def test_nltk_is_whole_for_whoever_imports_it_afterwards() -> None:
    whole = "import nltk; from nltk.stem import SnowballStemmer"
    code = f"{whole}; print(nltk.FreqDist('aab')['a'], SnowballStemmer('english').stem('ponies'))"
    assert printed(f"{JUDGE}\n{code}")[2:] == ["2", "poni"]


def test_the_stemmer_is_nltks_own() -> None:
    code = f"from bert_judge.judges.lexical import stemming; print(*map(stemming.porter().stem, {WORDS}))"
    own = PorterStemmer()
    assert printed(code) == [own.stem(word) for word in WORDS]
