"""Score tables: candidates and labels joined by id."""

import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.evaluation.score_tables import build_scores, identify_table, load_verdicts
from bert_judge.runtime.errors import InputError

SPEC = {"model": "ada", "task": "capitals", "judges": ["strict", "bert"]}


def candidates(ids: list[str], model: str = "ada") -> pd.DataFrame:
    if not ids:
        return tables.empty(tables.CANDIDATES)
    return pd.DataFrame(
        {
            "sample_id": ids,
            "attempt": 0,
            "question": [f"Wo liegt {i}? ü" for i in ids],
            "references": [[i, "那里"] for i in ids],
            "model": model,
            "candidate": [f"antwort {i}" for i in ids],
            "reasoning": None,
            "status": "ok",
            "reason": None,
            "prompt_tokens": None,
            "completion_tokens": 3,
        }
    )


def labels(judge: str, verdicts: dict[str, str], model: str = "ada") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sample_id": list(verdicts),
            "attempt": 0,
            "model": model,
            "judge": judge,
            "verdict": list(verdicts.values()),
            "outcome": list(verdicts.values()),
            "score": [{"correct": 0.9, "incorrect": 0.2, "invalid": None}[v] for v in verdicts.values()],
            "reason": None,
            "raw": None,
            "truncated": False,
            "prompt_tokens": None,
            "completion_tokens": None,
            "aspects": None,
            "decided_by": None,
            "certain": None,
            "flags": None,
        }
    )


@pytest.fixture
def build(tmp_path):
    def run(candidates_frame, strict, bert, spec=SPEC):
        tables.write(candidates_frame, tmp_path / "c.parquet", tables.CANDIDATES, {}, revisions={"ada": "rev1"})
        for judge, frame in {"strict": strict, "bert": bert}.items():
            tables.write(frame, tmp_path / f"{judge}.parquet", tables.LABELS, {}, revisions={judge: "rev2"})
        paths = {judge: tmp_path / f"{judge}.parquet" for judge in ("strict", "bert")}
        build_scores(spec, tmp_path / "c.parquet", paths, tmp_path / "out.parquet")
        return tmp_path / "out.parquet"

    return run


def test_rows_are_joined_by_id_not_by_position(build):
    path = build(
        candidates(["a", "b", "c"]),
        labels("strict", {"c": "invalid", "a": "correct", "b": "incorrect"}),
        labels("bert", {"b": "correct", "c": "correct", "a": "incorrect"}),
    )
    scores = tables.read(path, tables.scores_schema(SPEC["judges"]))
    assert scores["sample_id"].tolist() == ["a", "b", "c"]
    assert scores["strict_verdict"].tolist() == ["correct", "incorrect", "invalid"]
    assert scores["bert_verdict"].tolist() == ["incorrect", "correct", "correct"]
    assert scores["strict"].fillna(-1).tolist() == [0.9, 0.2, -1]
    assert scores["references"].tolist() == [["a", "那里"], ["b", "那里"], ["c", "那里"]]
    assert identify_table(path) == ("ada", "capitals")
    assert tables.provenance(path)["revisions"] == {"ada": "rev1", "strict": "rev2", "bert": "rev2"}
    columns = ["sample_id", "attempt", "bert", "bert_verdict", "bert_outcome", "bert_certain", "(model)", "(task)"]
    assert load_verdicts([path], ["bert"]).columns.tolist() == columns


def test_attempts_are_separate_rows(build):
    two = pd.concat([candidates(["a"]), candidates(["a"]).assign(attempt=1)])
    said = labels("strict", {"a": "correct"})
    said = pd.concat([said.assign(attempt=1, verdict="incorrect", score=0.0), said])
    scores = tables.read(build(two, said, said.assign(judge="bert")), tables.scores_schema(SPEC["judges"]))
    assert scores[["attempt", "strict_verdict"]].values.tolist() == [[0, "correct"], [1, "incorrect"]]


def test_no_candidates_give_an_empty_table(build):
    scores = tables.read(build(candidates([]), labels("strict", {}), labels("bert", {})), tables.scores_schema(SPEC["judges"]))
    assert len(scores) == 0


FULL = {"a": "correct", "b": "correct"}


@pytest.mark.parametrize(
    ("strict", "fault"),
    [
        (labels("strict", {"a": "correct"}), "no label for sample_id b, attempt 0"),
        (labels("strict", {**FULL, "z": "correct"}), "sample_id z, attempt 0 is not in"),
        (labels("strict", FULL, model="bob"), "column 'model' contains 'bob', expected 'ada'"),
        (labels("lenient", FULL), "column 'judge' contains 'lenient', expected 'strict'"),
    ],
)
def test_mismatched_labels_are_an_error(build, strict, fault, tmp_path):
    with pytest.raises(InputError, match=r"strict\.parquet") as error:
        build(candidates(["a", "b"]), strict, labels("bert", FULL))
    assert fault in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out.parquet").exists()


def test_repeated_labels_are_an_error(build, tmp_path):
    build(candidates(["a", "b"]), labels("strict", FULL), labels("bert", FULL))
    pd.concat([labels("bert", FULL)] * 2).to_parquet(tmp_path / "bert.parquet")
    with pytest.raises(InputError, match="sample_id a, attempt 0 is labelled twice"):
        paths = {judge: tmp_path / f"{judge}.parquet" for judge in SPEC["judges"]}
        build_scores(SPEC, tmp_path / "c.parquet", paths, tmp_path / "out.parquet")


def test_missing_label_table_is_an_error(build):
    with pytest.raises(InputError, match="'third'"):
        build(candidates(["a", "b"]), labels("strict", FULL), labels("bert", FULL), spec={**SPEC, "judges": ["strict", "third"]})


def test_other_tables_are_an_error(tmp_path):
    tables.write(candidates(["a"]), tmp_path / "c.parquet", tables.CANDIDATES, {"task": "capitals"})
    with pytest.raises(InputError, match="not a score table"):
        identify_table(tmp_path / "c.parquet")
