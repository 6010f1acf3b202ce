"""Texts that the encoder cannot read, on every way to a verdict."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from helpers.commands import read, run, write
from helpers.label_tables import SPEC
from helpers.serve_clients import client

from bert_judge import tables
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.text_steps import RULE_SCORE
from bert_judge.judges.bert.unread import EXACT, LONG_WORD
from bert_judge.judges.protocol import Label, Row
from bert_judge.labels.stage import label_table

TOPICS = yaml.safe_load((Path(__file__).parent / "unread_rows.yaml").read_text("utf-8"))
THAI, CITY, OTHER_CITY = "กรุงเทพมหานคร", "It is กรุงเทพมหานคร.", "It is เชียงใหม่."


@pytest.fixture(scope="module")
def judge() -> BERTJudge:
    return BERTJudge()


def judged(judge: BERTJudge, references: str | tuple[str, ...], candidate: str) -> Label:
    [label] = judge.judge([Row("", 0, "m", "What is it?", (references,) if isinstance(references, str) else references, candidate)])
    return label


@pytest.mark.parametrize("topic", TOPICS)
def test_wrong_answers_are_not_accepted_unread(judge: BERTJudge, topic: str) -> None:
    references, candidates, correct = zip(*TOPICS[topic], strict=True)
    prediction = judge.explain(["What is it?"] * len(correct), references, candidates)
    wrong = [
        (*row, score, reason)
        for row, score, reason in zip(TOPICS[topic], prediction.scores, prediction.reasons, strict=True)
        if (score >= judge.threshold) != row[2]
    ]
    assert not wrong


def test_labels_say_what_was_not_read(judge: BERTJudge) -> None:
    right, wrong = judged(judge, THAI, CITY), judged(judge, THAI, OTHER_CITY)
    assert (right.score, wrong.score) == (RULE_SCORE, 1 - RULE_SCORE)
    assert (right.decided_by, right.prompt_tokens, right.raw) == (EXACT, 0, None)
    assert "unread" in right.flags and "unread" in wrong.flags
    assert (
        right.reason is not None and "exact: contains the reference; the encoder cannot read 100% of the reference" in right.reason
    )
    long_word = judged(judge, "ACGTACGTACGTTTGACA", "TTGACATGCATGCATGCA")
    assert (long_word.decided_by, long_word.flags) == (LONG_WORD, ())
    assert long_word.reason == "long_word: the answer lacks ACGTACGTACGTTTGACA"


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("ACGTACGTACGTTTGACA", "5'-ACGTAC GTACGT TTGACA-3'"),
        ("LeonardoDiCaprio", "Leonardo DiCaprio"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("e3b0c44298fc1c149afb", "E3B0C442-98FC1C14-9AFB"),
        # Words of a language, chemical names and addresses have spellings.
        ("2,4,6-trinitrotoluene", "trinitrotoluene"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschiffahrtsgesellschaft"),
        ("https://example.org/index.html", "example.org"),
        ("CH3CH2CH2COOH", "C3H7COOH"),
    ],
)
def test_other_spellings_of_a_long_word_are_left_to_the_judge(judge: BERTJudge, reference: str, answer: str) -> None:
    assert judged(judge, reference, answer).decided_by != LONG_WORD


def test_one_reference_that_is_read_suffices(judge: BERTJudge) -> None:
    label = judged(judge, (THAI, "Bangkok"), "The capital city is Bangkok.")
    assert label.verdict == "correct" and "unread" not in label.flags
    assert judged(judge, (THAI, "Bangkok"), CITY).verdict == "correct"
    assert judged(judge, (THAI, "Bangkok"), OTHER_CITY).verdict == "incorrect"
    assert judged(judge, ("ACGTACGTACGTTTGACA", "the start codon"), "It is the start codon.").decided_by != LONG_WORD


def test_a_verdict_does_not_depend_on_the_other_rows(judge: BERTJudge) -> None:
    rows = [(reference, candidate) for topic in TOPICS.values() for reference, candidate, _ in topic]
    together = judge.explain(["What is it?"] * len(rows), *zip(*rows, strict=True))
    for number in range(0, len(rows), 5):
        alone = judge.explain(["What is it?"], [rows[number][0]], [rows[number][1]])
        assert (alone.scores[0], alone.decided_by[0]) == (together.scores[number], together.decided_by[number])


def test_the_bare_encoder_decides_nothing_unread_either() -> None:
    encoder = BERTJudge(calibrated=False)
    right, wrong = encoder.predict(["What is it?"] * 2, [THAI, THAI], [CITY, OTHER_CITY])
    assert right >= 0.5 > wrong


def test_every_entry_point_compares_exactly(judge: BERTJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"question": "Capital?", "reference": THAI, "answer": text} for text in (CITY, OTHER_CITY)]
    expected = ["correct", "incorrect"]
    # score
    write(tmp_path / "a.csv", rows)
    result = run("score", "a.csv")
    assert (
        "warning: general: 2 of 2 verdicts are on text that the encoder cannot read, so exact comparison decided" in result.stderr
    )
    assert [row["verdict"] for row in read(tmp_path / "a.scored.csv")] == expected
    # predict
    for row, verdict in zip(rows, expected, strict=True):
        printed = run("predict", row["answer"], "--reference", THAI, "--question", "Capital?").stdout
        assert verdict in printed.split() or f"{verdict} " in printed
    # serve
    bodies = [{"question": "Capital?", "references": THAI, "candidate": row["answer"]} for row in rows]
    with client(judge) as http:  # type: ignore[arg-type]
        labels = http.post("/v1/judge", json={"rows": bodies}).json()["labels"]
    assert [label["verdict"] for label in labels] == expected
    # label stage
    answers = pd.DataFrame({"candidate": [row["answer"] for row in rows]}).assign(
        **{"sample_id": ["0" * 16, "1" * 16], "attempt": 0, "question": "Capital?", "references": [[THAI]] * 2, "model": "m"},
        **{"status": "ok", "reasoning": None, "reason": None, "prompt_tokens": None, "completion_tokens": None},
    )
    tables.write(answers, tmp_path / "c.parquet", tables.CANDIDATES, {"model": "m"})
    label_table(SPEC, tmp_path / "c.parquet", tmp_path / "l.parquet", judge)
    table = tables.read(tmp_path / "l.parquet", tables.LABELS)
    assert table["verdict"].tolist() == expected and all("unread" in flags for flags in table["flags"])
