"""Labels: one row per answer whatever happens, verdicts of a file joined by what they are about, and killed jobs that go on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.label_tables import SPEC, candidates_table

from bert_judge import plan, tables
from bert_judge.candidates.stage import import_candidates
from bert_judge.config import Import
from bert_judge.importers import files
from bert_judge.judges.imported.judge import NO_VERDICT, ImportedJudge
from bert_judge.judges.protocol import Label, Row, decided, invalid, unfinished
from bert_judge.labels import stage
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import LabelStore, judge_rows
from bert_judge.labels.stage import label_table
from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.tasks.build import build_task
from bert_judge.text.visible_text import UNFINISHED


class Longest:
    """Right is what has many letters; stops the process at a certain row, as a kill would."""

    def __init__(self, stop_at: int | None = None, **revisions: str) -> None:
        self.revisions = dict(revisions)
        self.seen: list[Row] = []
        self.calls = 0
        self.stop_at = stop_at
        self.keeps = True

    @classmethod
    def forgetful(cls) -> "Longest":
        """One that keeps no rows and takes few at a time."""
        stage.BATCH_ROWS = 500
        judge = cls()
        judge.keeps = False
        return judge

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.calls += 1
        self.seen += rows if self.keeps else ()
        if self.stop_at is not None and len(self.seen) >= self.stop_at:
            raise KeyboardInterrupt
        return [
            decided(min(len(row.candidate), 10) / 10, raw="raw \ud83d") if row.candidate.strip() else invalid("nothing is said")
            for row in rows
        ]


def labelled(folder: Path, judge: Any, spec: dict[str, Any] = SPEC, **more: Any) -> pd.DataFrame:
    label_table(spec, folder / "c.parquet", folder / "l.parquet", judge, **more)
    return tables.read(folder / "l.parquet", tables.LABELS)


@pytest.mark.parametrize("with_work_folder", [False, True])
def test_every_answer_has_its_row(tmp_path: Path, with_work_folder: bool) -> None:
    texts = ["short", "a long answer", " ", "", "short", "ü" * 1_000_000]
    candidates_table(tmp_path / "c.parquet", texts, ["ok", "truncated", "empty", "error", "imported", "ok"])
    judge = Longest(encoder="c0ffee")
    frame = labelled(tmp_path, judge, work_folder=tmp_path / "work" if with_work_folder else None, shard_rows=2)
    assert frame["sample_id"].tolist() == [f"{n:016x}" for n in range(6)]
    assert frame["verdict"].tolist() == ["correct", "correct", "invalid", "invalid", "correct", "correct"]
    assert frame["score"].dropna().tolist() == [0.5, 1.0, 0.5, 1.0]
    assert frame["reason"].tolist()[2:4] == ["nothing is said", "generation failed"]
    assert frame["raw"][0].startswith("raw ")
    assert (frame["judge"].unique().tolist(), frame["model"].unique().tolist()) == (["j"], ["m"])
    # A failed answer is shown to no judge.
    assert len(judge.seen) == 5
    assert judge.seen[0] == Row("0" * 16, 0, "m", "Wer?", ("r", "大"), "short")
    assert judge.calls == (3 if with_work_folder else 1)
    assert tables.provenance(tmp_path / "l.parquet")["revisions"] == {"encoder": "c0ffee"}
    assert not (tmp_path / "work").exists()


def test_reasoning_is_no_part_of_an_answer(tmp_path: Path) -> None:
    candidates_table(tmp_path / "c.parquet", ["<think>Rome?</think>Oslo", "<think>Rome"], ["ok", "truncated"])
    judge = Longest()
    frame = labelled(tmp_path, judge)
    assert [row.candidate for row in judge.seen] == ["Oslo"]
    assert frame["reason"].tolist()[1] == UNFINISHED


def test_no_answers_and_only_failed_ones(tmp_path: Path) -> None:
    judge = Longest()
    candidates_table(tmp_path / "c.parquet", [])
    assert labelled(tmp_path, judge).empty
    candidates_table(tmp_path / "c.parquet", ["", ""], ["error", "error"])
    for work_folder in (None, tmp_path / "work"):
        assert labelled(tmp_path, judge, work_folder=work_folder)["verdict"].tolist() == ["invalid", "invalid"]
    assert judge.seen == []


def test_large_tables_are_judged_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_judge.labels.stage.BATCH_ROWS", 7)
    texts = ["x" * (n % 11) for n in range(50)]
    candidates_table(tmp_path / "c.parquet", texts)
    judge = Longest()
    frame = labelled(tmp_path, judge, work_folder=tmp_path / "work", shard_rows=3)
    assert [row.candidate for row in judge.seen] == texts
    assert frame["sample_id"].tolist() == [f"{n:016x}" for n in range(50)]
    assert frame["score"].fillna(0).tolist() == [min(len(text), 10) / 10 for text in texts]


def test_an_interrupted_job_judges_only_what_is_missing(tmp_path: Path) -> None:
    candidates_table(tmp_path / "c.parquet", [f"answer {n}" for n in range(10)])
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path, Longest(stop_at=5), work_folder=tmp_path / "work", shard_rows=2)
    judge = Longest()
    frame = labelled(tmp_path, judge, work_folder=tmp_path / "work", shard_rows=2)
    assert len(judge.seen) == 6
    pd.testing.assert_frame_equal(frame, labelled(tmp_path, Longest()))


@pytest.mark.parametrize(
    ("judge", "spec", "answer", "judged"),
    [
        (Longest(encoder="1"), SPEC, "answer", 2),
        (Longest(encoder="2"), SPEC, "answer", 4),
        (Longest(encoder="1"), {**SPEC, "settings": {"kind": "lexical", "threshold": 0.4}}, "answer", 4),
        (Longest(encoder="1"), SPEC, "another answer", 4),
    ],
)
def test_verdicts_of_another_judge_or_answer_are_not_taken_over(
    tmp_path: Path, judge: Longest, spec: dict[str, Any], answer: str, judged: int
) -> None:
    candidates_table(tmp_path / "c.parquet", [f"answer {n}" for n in range(4)])
    with pytest.raises(KeyboardInterrupt):
        labelled(tmp_path, Longest(stop_at=3, encoder="1"), work_folder=tmp_path / "work", shard_rows=2)
    candidates_table(tmp_path / "c.parquet", [f"{answer} {n}" for n in range(4)])
    labelled(tmp_path, judge, spec, work_folder=tmp_path / "work", shard_rows=2)
    assert len(judge.seen) == judged


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([], "judge j: 0 labels for 1 answers"),
        ([decided(1.0)] * 2, "judge j: 2 labels for 1 answers"),
        ([Label("invalid", 0.0)], "verdict invalid with score 0.0"),
        ([Label("correct", None)], "verdict correct with score None"),
    ],
)
def test_a_judge_that_breaks_its_promise_writes_nothing(tmp_path: Path, labels: list[Label], says: str) -> None:
    class Broken:
        revisions: dict[str, str] = {}  # noqa: RUF012

        def judge(self, rows: Sequence[Row]) -> list[Label]:
            return labels

    candidates_table(tmp_path / "c.parquet", ["answer"])
    with pytest.raises(ValueError, match=says):
        labelled(tmp_path, Broken())
    assert not (tmp_path / "l.parquet").exists()


SLOW = """
import sys, time
from bert_judge.judges.protocol import decided
from bert_judge.labels.stage import label_table

class Slow:
    revisions = {}
    def judge(self, rows):
        time.sleep(0.05)
        return [decided(len(row.candidate) % 2) for row in rows]

folder = sys.argv[1]
spec = {"judge": "j", "model": "m", "task": "t"}
label_table(spec, f"{folder}/c.parquet", f"{folder}/l.parquet", Slow(), work_folder=f"{folder}/work", shard_rows=4)
"""


def test_a_killed_job_goes_on(tmp_path: Path) -> None:
    candidates_table(tmp_path / "c.parquet", ["x" * n for n in range(60)])
    job = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)])
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("work/*/*.parquet"))) < 3:
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGKILL)
    job.wait(timeout=30)
    assert 3 <= len(list(tmp_path.glob("work/*/*.parquet"))) < 15
    assert not (tmp_path / "l.parquet").exists()
    subprocess.run([sys.executable, "-c", SLOW, str(tmp_path)], check=True)
    assert tables.read(tmp_path / "l.parquet", tables.LABELS)["score"].tolist() == [n % 2 for n in range(60)]
    assert not (tmp_path / "work").exists()


# --- verdicts of a file ---


def import_spec(**entry: Any) -> dict[str, Any]:
    return Import.model_validate({"path": "unused", **entry}).model_dump(mode="json", exclude={"path"})


def candidates_spec(where: dict[str, Any] | None = None) -> dict[str, Any]:
    part = {"where": where or {}, "question_split": [0.0, 1.0]}
    return {"model": "m", "settings": {"model_name": "The M"}, "task": "t", "part": part, "import": import_spec()}


def row(question: str, candidate: str, label: Any = None, **more: Any) -> dict[str, Any]:
    return {"question": question, "references": ["r"], "candidate": candidate, "model": "The M", "label": label, **more}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def verdicts(folder: Path, rows: list[dict[str, Any]], verdict_rows: list[dict[str, Any]] | None = None) -> pd.DataFrame:
    """The label table of a file of answers, with the verdicts in its rows or in another file."""
    source, spec = write(folder / "answers.jsonl", rows), candidates_spec()
    build_task({key: spec[key] for key in ("task", "part", "import")}, folder / "task.parquet", source)
    import_candidates(spec, folder / "task.parquet", source, folder / "c.parquet")
    label_spec: dict[str, Any] = {"judge": "human", "model": "m", "task": "t", "settings": {"kind": "imported"}, "source": spec}
    if verdict_rows is not None:
        label_spec["verdicts"] = import_spec()
        source = write(folder / "verdicts.jsonl", verdict_rows)
    return labelled(folder, ImportedJudge(label_spec, source), label_spec)


def test_verdicts_in_the_rows_of_the_answers(tmp_path: Path) -> None:
    rows = [
        row("Who?", "I", 1),
        row("Why?", "so", "incorrect"),
        row("Who?", "I", 0),
        row("Who?", "I", 1, model="another"),
        row("Who?", "you", None),
        row("When?", "", 0.75),
        row("Where?", "大", 0.25),
    ]
    frame = verdicts(tmp_path, rows)
    assert frame["attempt"].tolist() == [0, 0, 1, 2, 0, 0]
    assert frame["verdict"].tolist() == ["correct", "incorrect", "incorrect", "invalid", "correct", "incorrect"]
    assert frame["score"].tolist()[:3] == [1.0, 0.0, 0.0]
    assert frame["score"].tolist()[4:] == [0.75, 0.25]
    assert frame["reason"][3] == NO_VERDICT


def test_a_file_that_tells_refusals_from_errors(tmp_path: Path) -> None:
    labels = ["NOT_ATTEMPTED", "incorrect", "Refusal", "abstained", 1, None]
    frame = verdicts(tmp_path, [row(f"{number}?", "I don't know", label) for number, label in enumerate(labels)])
    assert frame["verdict"].tolist() == ["incorrect"] * 4 + ["correct", "invalid"]
    # The second answer declines in words, but the file knows better; it does not tell of the last.
    assert frame["outcome"].tolist() == ["not_attempted", "incorrect", "not_attempted", "not_attempted", "correct", "not_attempted"]


def test_verdicts_in_another_file_belong_to_the_text(tmp_path: Path) -> None:
    rows = [row("Who?", "I"), row("Who?", "you"), row("Why?", "so"), row("When?", "now"), row("Who?", "I")]
    # In another order, three verdicts on one answer, one on no answer, one on another model's.
    found = [
        row("Why?", "so", 1),
        row("Who?", "you", 0),
        row("Who?", "I", 1),
        row("Who?", "I", 1),
        row("Who?", "I", 0),
        row("Who?", "she", 0),
        row("When?", "now", 1, model="another"),
    ]
    frame = verdicts(tmp_path, rows, found)
    assert frame["score"].round(3).tolist()[:3] + frame["score"].round(3).tolist()[4:] == [0.667, 0.0, 1.0, 0.667]
    assert frame["reason"].tolist()[3] == NO_VERDICT


def test_verdicts_in_another_file_without_texts_belong_to_the_order(tmp_path: Path) -> None:
    rows = [row("Who?", "I"), row("Why?", "so"), row("Who?", "you")]
    found = [
        {k: v for k, v in row(q, "", label).items() if k != "candidate"} for q, label in (("Who?", 1), ("Who?", 0), ("Why?", 1))
    ]
    assert verdicts(tmp_path, rows, found)["score"].tolist() == [1.0, 1.0, 0.0]


def planned(folder: Path, verdicts_from: list[str]) -> plan.Plan:
    """A plan with a file of answers and two files of verdicts."""
    for name in ("answers", "other", "more"):
        write(folder / f"{name}.jsonl", [row("Who?", "I", 1)])
    return plan.build_plan(
        {
            "data": str(folder),
            "imports": {
                "answers": {"path": "answers.jsonl"},
                "other": {"path": "other.jsonl", "where": {"label": 1}},
                "more": {"path": "more.jsonl"},
            },
            "models": {
                "m": {"generator": "imported", "from": "answers", "model_name": "The M"},
                "hub": {"generator": "hf", "model": "owner/name"},
            },
            "tasks": {"test": ["t"], "imported": {"t": {"from": "answers"}}},
            "judges": {"human": {"kind": "imported", "from": verdicts_from}},
            "scorers": ["human"],
        }
    )


@pytest.mark.parametrize(
    ("verdicts_from", "chosen", "needs_import"),
    [(["answers"], "answers", False), (["other", "answers"], "answers", False), (["other"], "other", True)],
)
def test_the_plan_chooses_the_file_of_verdicts(tmp_path: Path, verdicts_from: list[str], chosen: str, needs_import: bool) -> None:
    made = planned(tmp_path, verdicts_from)
    assert made.verdict_import("human", "t") == chosen
    spec = made.labels_spec("human", "m", "t")
    assert ("verdicts" in spec) is needs_import
    source = made.import_path("answers")
    build_task(made.task_spec("t"), tmp_path / "task.parquet", source)
    import_candidates(made.candidates_spec("m", "t"), tmp_path / "task.parquet", source, tmp_path / "c.parquet")
    assert labelled(tmp_path, ImportedJudge(spec, made.import_path(chosen)), spec)["verdict"].tolist() == ["correct"]
    # A model that answers here has its verdicts, if any, under its own name.
    spec = made.labels_spec("human", "hub", "t")
    assert "verdicts" in spec
    assert ImportedJudge(spec, made.import_path(chosen)).judge([Row("a", 0, "hub", "Who?", ("r",), "I")]) == [invalid(NO_VERDICT)]


def test_two_files_of_verdicts_and_no_telling_which(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'human' has no verdicts on task 't'; add the task's file"):
        planned(tmp_path, ["other", "more"])


def test_answers_that_changed_since_they_were_imported(tmp_path: Path) -> None:
    verdicts(tmp_path, [row("Who?", "I", 1)])
    source = write(tmp_path / "answers.jsonl", [row("Who?", "we\nall", 1)])
    spec = {"judge": "human", "model": "m", "task": "t", "settings": {"kind": "imported"}, "source": candidates_spec()}
    with pytest.raises(InputError, match="answer 1 of m to 'Who\\?' is no longer 'I'; rebuild the table of answers") as caught:
        labelled(tmp_path, ImportedJudge(spec, source), spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("candidate", ["I<|eot_id|>", "<think>We?</think>I", "<think>We?"])
def test_verdicts_on_answers_with_reasoning_or_control_tokens(tmp_path: Path, candidate: str) -> None:
    unfinished = candidate == "<think>We?"
    assert verdicts(tmp_path, [row("Who?", candidate, 1)])["verdict"].tolist() == ["invalid" if unfinished else "correct"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": "perhaps"}, "line 1: column 'label' (label) is 'perhaps'; give 1 or 0"),
        ({"label": 3}, "line 1: column 'label' (label) is 3; give 1 or 0"),
    ],
)
def test_a_label_that_makes_no_sense(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        verdicts(tmp_path, [row("Who?", "I") | change])
    assert says in str(caught.value)


def test_a_file_without_labels(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row("Who?", "I").items() if key != "label"}]
    with pytest.raises(
        InputError, match="no column 'label' for the label; available: 'question', 'references', 'candidate', 'model'"
    ):
        verdicts(tmp_path, rows)


JUDGING = """
import sys
from pathlib import Path
from test_labels import Longest, labelled
labelled(Path(sys.argv[1]), Longest.forgetful())
# Of this program alone: the peak that getrusage tells is handed down from the process that started it.
[peak] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
print(peak)
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="a process's peak is read from /proc")
def test_memory_does_not_grow_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bert_judge.tables.GROUP_ROWS", 500)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    peaks, letters = [], 10_000
    for rows in (1_000, 8_000):
        folder = tmp_path / str(rows)
        candidates_table(folder / "c.parquet", [f"{number} " + "x" * letters for number in range(rows)])
        call = [sys.executable, "-c", JUDGING, str(folder)]
        done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-1]) * 1024)
        assert len(tables.read(folder / "l.parquet", tables.LABELS)) == rows
    # The texts alone that came on top are twice as much.
    assert peaks[1] - peaks[0] < 7_000 * letters / 2


@pytest.mark.real_data
@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="needs the folder named by BERT_JUDGE_DATA")
@pytest.mark.parametrize("name", ["nq_open_human.parquet", "truthfulqa_human.parquet"])
def test_no_real_verdict_is_lost_or_misplaced(tmp_path: Path, name: str) -> None:
    source = Path(os.environ["BERT_JUDGE_DATA"], name)
    raw = pd.read_parquet(source)
    spec = candidates_spec()
    build_task({key: spec[key] for key in ("task", "part", "import")}, tmp_path / "task.parquet", source)
    joined = []
    for named in files.distinct_models(Import(path=name), source):
        spec["settings"] = {"model_name": named}
        label_spec = {"judge": "human", "model": "m", "task": "t", "settings": {"kind": "imported"}, "source": spec}
        import_candidates(spec, tmp_path / "task.parquet", source, tmp_path / "c.parquet")
        labels = labelled(tmp_path, ImportedJudge(label_spec, source), label_spec)
        answers = tables.read(tmp_path / "c.parquet", tables.CANDIDATES)
        both = answers.merge(labels, on=["sample_id", "attempt"], validate="one_to_one").assign(model_name=named)
        joined.append(both[["model_name", "question", "candidate", "score"]])
    found = pd.concat(joined).rename(columns={"model_name": "model", "score": "label"})
    columns = ["model", "question", "candidate", "label"]
    expected = raw.assign(candidate=raw["candidate"].fillna(""))[columns].astype({"label": float})
    pd.testing.assert_frame_equal(
        found.sort_values(columns, ignore_index=True), expected.sort_values(columns, ignore_index=True), check_dtype=False
    )


def test_an_unfinished_computation_is_done_again(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.revisions: dict[str, str] = {}
            self.label = unfinished("did not finish")

        def judge(self, rows: Sequence[Row]) -> list[Label]:
            return [decided(1.0) if row.candidate == "easy" else self.label for row in rows]

    judge = Slow()
    rows = [Row(str(i), 0, "m", "q", ("r",), text) for i, text in enumerate(("easy", "hard"))]

    def verdicts() -> list[str | None]:
        return [
            label and label.verdict
            for label in judge_rows(NamedJudge("slow", "origin", judge), rows, store=LabelStore(tmp_path, 8))
        ]

    assert verdicts() == ["correct", "invalid"]
    judge.label = decided(0.0)
    assert verdicts() == ["correct", "incorrect"]
    judge.label = decided(1.0)
    assert verdicts() == ["correct", "incorrect"]
