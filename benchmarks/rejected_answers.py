"""Count the short correct answers of people's labels that a judge rejects, on answers that it was not trained on.

    BERT_JUDGE_DATA=… python benchmarks/rejected_answers.py [FOLDER]

Without a folder it takes the judge in the package. The answers are up to 100 per test task of configs/general.yaml that the file
labels as correct and that are short facts, names or numbers. Prints the share of them that the judge calls incorrect per file, with
its 95% interval by question: first files that no version was trained on, then new questions of the training files.
"""

import sys

import pandas as pd
from human_agreement import columns
from train_general import CONFIG
from unseen_files import KNOWN_KINDS, KNOWN_ROWS, test_answers

from bert_judge.assets.prepare import GENERAL
from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime.logs import job_log
from bert_judge.statistics.intervals import proportion
from bert_judge.text.answer_kinds import answer_kind

# With fewer answers, a share says nothing.
MIN_ROWS = 20


def main() -> int:
    judge, frames = BERTJudge(sys.argv[1] if len(sys.argv) > 1 else GENERAL), []
    for rows in test_answers(config_files.load([CONFIG])):
        correct = rows[rows["label"] == 1]
        correct = correct.sample(min(KNOWN_ROWS, len(correct)), random_state=0)
        correct = correct[[answer_kind(*row) in KNOWN_KINDS for row in zip(*columns(correct), strict=True)]]
        if len(correct):
            scores = judge.predict(*columns(correct))
            frames.append(correct.assign(rejected=[not score >= judge.threshold for score in scores]))
    answers = pd.concat(frames, ignore_index=True)
    for is_unseen, name in ((True, "files that it was not trained on"), (False, "new questions of the training files")):
        group = answers[answers["is_unseen"] == is_unseen]
        lines = [line(str(source), rows) for source, rows in group.groupby("source", sort=False) if len(rows) >= MIN_ROWS]
        print(f"{name}:\n\n{pd.DataFrame([*lines, line('all', group)]).to_markdown(index=False)}\n", flush=True)
    return 0


def line(source: str, rows: pd.DataFrame) -> dict[str, object]:
    share = proportion(rows["rejected"].to_numpy(), rows["question"].to_numpy())
    interval = f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return {"source": source, "answers": len(rows), "rejected, %": interval}


if __name__ == "__main__":
    with job_log(None):
        sys.exit(main())
