"""NLTK's Porter stemmer, imported without the rest of NLTK."""

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
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return completed.stdout.split()


def test_stemming_does_not_load_nltk() -> None:
    *scores, loaded = printed(f"{JUDGE}\nimport sys\nprint(*sorted({{'nltk', 'sklearn', 'scipy'}} & set(sys.modules)) or ['none'])")
    assert [float(score) for score in scores] == [1.0, 0.5]
    assert loaded == "none"


def test_nltk_can_be_imported_afterwards() -> None:
    imports = "import nltk; from nltk.stem import SnowballStemmer"
    code = f"{imports}; print(nltk.FreqDist('aab')['a'], SnowballStemmer('english').stem('ponies'))"
    assert printed(f"{JUDGE}\n{code}")[2:] == ["2", "poni"]


def test_stems_equal_nltk() -> None:
    code = f"from bert_judge.text.word_metrics import stem_words; print(*stem_words({WORDS}))"
    stemmer = PorterStemmer()
    assert printed(code) == [stemmer.stem(word) if len(word) > 3 else word for word in WORDS]
