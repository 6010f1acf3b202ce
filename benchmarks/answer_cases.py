"""Count the rows of collected cases that judges decide rightly, by class and judge.

    python benchmarks/answer_cases.py FOLDER [--only PREFIX …] [--judges NAME …] [--wrong]

FOLDER holds one `<class>/rows.jsonl` or `<class>.jsonl` per class. A row has `question`, `references`, `candidate`,
`right_verdict`, and `judges`, the judges that it counts for: `general` or a rule that has a name. Rows without `judges` are files
to score whole and do not count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge, Row
from bert_judge.labels.judge_loading import RULES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of the names of classes")
    parser.add_argument("--judges", nargs="*", default=["general", "exact_match", "contains", "math_verify"])
    parser.add_argument("--wrong", action="store_true", help="print the rows that are decided wrongly")
    options = parser.parse_args()
    rows = pd.DataFrame(read_cases(options.folder, options.only))
    verdicts = pd.concat([judge_rows(rows, name) for name in options.judges])
    verdicts["right"] = verdicts["verdict"] == verdicts["right_verdict"]
    if options.wrong:
        for row in verdicts[~verdicts["right"]].sort_values(["class", "judge"]).to_dict("records"):
            texts = f"{row['question']} | {row['references']} | {row['candidate']}"
            print(f"{row['class'][:2]} {row['judge']}: {texts} | {row['verdict']} {row['score']:.2f} | {row['reason']}")
    table = verdicts.pivot_table(index="class", columns="judge", values="right", aggfunc=["sum", "count"], margins=True)
    shares = {
        name: table["sum", name].fillna(0).astype(int).astype(str) + " / " + table["count", name].fillna(0).astype(int).astype(str)
        for name in options.judges
    }
    print(pd.DataFrame(shares).to_markdown())


def read_cases(folder: Path, prefixes: list[str]) -> Iterator[dict[str, object]]:
    """Yield the rows of all classes whose name begins with one of the prefixes."""
    for file in sorted([*folder.glob("*/rows.jsonl"), *folder.glob("*.jsonl")]):
        name = file.parent.name if file.stem == "rows" else file.stem
        if name.startswith(tuple(prefixes)):
            rows = map(json.loads, file.read_text("utf-8").splitlines())
            yield from ({"class": name, **row} for row in rows if "judges" in row)


def judge_rows(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows that count for a judge with the columns judge, verdict, score and reason."""
    rows = rows[rows["judges"].map(lambda judges: name in judges)]
    judge: Judge = BERTJudge() if name == "general" else LexicalJudge(RULES[name])
    records = rows.to_dict("records")
    labels = judge.judge(
        [Row(str(i), 0, "", r["question"] or "", tuple(r["references"]), r["candidate"]) for i, r in enumerate(records)]
    )
    return rows.assign(
        judge=name,
        verdict=[label.verdict for label in labels],
        score=[label.score for label in labels],
        reason=[label.reason for label in labels],
    )


if __name__ == "__main__":
    main()
