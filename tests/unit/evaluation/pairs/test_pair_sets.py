"""Sets of pairs: which models meet, what their tables hold, what is read from files, what a configuration gets wrong."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import plan, tables
from bert_judge.evaluation.pairs import agreement
from bert_judge.importers.files import majority
from bert_judge.plan import specs
from bert_judge.runtime.errors import ConfigError, InputError
from bert_judge.tables.readers import values

names = st.lists(st.text("abcdef", min_size=1, max_size=4), unique=True, max_size=9)


# --- who meets whom ---


@given(names, st.integers(1, 4), st.integers(0, 3))
def test_sampled_schedule_is_connected_balanced_and_extendable(models: list[str], opponents: int, seed: int) -> None:
    result = specs.sample_pairs(models, opponents, lambda *_: True, seed)
    assert result <= {*combinations(sorted(models), 2)}
    reached = set(models[:1])
    while more := {model for two in result if set(two) & reached for model in two} - reached:
        reached |= more
    assert reached == set(models)
    # Nobody meets more than it must and twice what the others do.
    degrees = [sum(model in two for two in result) for model in models]
    assert max(degrees, default=0) <= max(2 * opponents + 1, 0)
    assert specs.sample_pairs([*models, "new"], opponents, lambda *_: True, seed) >= result


# --- what the configuration asks for ---

CONFIG: dict[str, Any] = {
    "models": {name: {"generator": "simulated", "p_correct": 0.5} for name in ("b", "a", "c")},
    "tasks": {"train": ["facts_train"], "test": ["facts_test", "word_problems_test"]},
    "judges": {
        "truth": {"kind": "imported"},
        "better": {"kind": "pairwise", "pairs": "learn"},
        "prompted": {"kind": "pairwise", "model": {"generator": "hf", "model": "minilm"}},
    },
    "scorers": ["truth"],
    "pairs": {
        "learn": {"tasks": ["facts_train"], "gold": "truth", "rows": 5},
        "arena": {"tasks": ["facts_test", "word_problems_test"], "judges": ["better", "prompted"]},
    },
}


def changed(**parts: Any) -> dict[str, Any]:
    config = deepcopy(CONFIG)
    for path, value in parts.items():
        here = config
        *way, last = path.split("__")
        for step in way:
            here = here[step]
        here[last] = value
    return config


def test_set_has_a_table_per_pair_of_models() -> None:
    made = plan.build_plan(CONFIG)
    assert made.pair_parts("arena") == ["a@b", "a@c", "b@c"]
    assert made.compared_sets == [("better", "arena"), ("prompted", "arena")]
    assert made.pair_tables("arena", "a@b") == (
        [("a", "facts_test"), ("a", "word_problems_test")],
        [("b", "facts_test"), ("b", "word_problems_test")],
    )


def test_new_models_and_their_order_change_no_spec() -> None:
    made = plan.build_plan(CONFIG)
    before = {part: made.pairs_spec("arena", part) for part in made.pair_parts("arena")}
    grown = plan.build_plan(changed(models={**dict(reversed(CONFIG["models"].items())), "new": CONFIG["models"]["a"]}))
    after = {part: grown.pairs_spec("arena", part) for part in grown.pair_parts("arena")}
    assert {part: spec for part, spec in after.items() if "new" not in part} == before
    assert set(after) - set(before) == {"a@new", "b@new", "c@new"}
    assert grown.preferences_spec("better", "arena") == made.preferences_spec("better", "arena")


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ({"scorers": ["better"]}, "scorers: 'better' is of kind pairwise"),
        ({"pairs__learn__gold": "better"}, "pairs.learn.gold: 'better' is of kind pairwise"),
        ({"pairs__arena__judges": ["truth"]}, "pairs.arena.judges: 'truth' is of kind imported"),
        ({"pairs__arena__judges": ["nobody"]}, "pairs.arena.judges: 'nobody' is not defined under judges"),
        ({"pairs__arena__tasks": ["elsewhere"]}, "pairs.arena.tasks: 'elsewhere' is listed neither"),
        ({"pairs__arena__tasks": ["facts_train"]}, "'better' is trained on answers to the same tasks (learn)"),
        ({"pairs__learn__judges": ["better"]}, "'better' is trained on these pairs"),
        ({"pairs__arena__models": ["a", "x"]}, "pairs.arena: 'x' is not defined under models"),
        ({"pairs__arena__models": ["a"]}, "pairs.arena: no two of its models"),
        ({"pairs__arena__schedule": "baseline"}, "pairs.arena: set both schedule: baseline and the name under `baseline`"),
        ({"pairs__arena__where": {"x": 1}}, "pairs.arena: where cannot be combined with `tasks`"),
        ({"pairs__learn__gold": None}, "judges.better.pairs: 'learn' has no labels"),
        ({"judges__better__pairs": "nowhere"}, "judges.better.pairs: 'nowhere' is not defined under pairs"),
        (
            {"judges__better__checkpoint": "x"},
            "judges.better: give one of model (to prompt), pairs (to train on), checkpoint and rule",
        ),
        (
            {"judges__prompted__checkpoint": "o/j"},
            "judges.prompted: model with checkpoint is the server that runs the trained judge",
        ),
        ({"judges__prompted__backbone": "minilm"}, "judges.prompted: backbone cannot be combined with model"),
        ({"judges__better__reasoning": True}, "judges.better: reasoning cannot be combined with pairs"),
        ({"judges__prompted__model__generator": "nope"}, "judges.prompted.model.generator: unknown generator 'nope'"),
        ({"judges__prompted__model__speed": 1}, "judges.prompted.model.speed: unknown key"),
        ({"models__pairs": {"generator": "simulated", "p_correct": 1}}, "models.pairs: verdicts on pairs are stored in a folder"),
    ],
)
def test_invalid_configuration_is_reported_in_one_line(parts: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(changed(**parts))
    assert [line for line in caught.value.errors if fault in line], caught.value.errors


# --- pairs of answers ---


def answers(folder: Path, model: str, texts: list[str], verdicts: list[str] | None = None) -> tuple[Path, Path]:
    frame = pd.DataFrame(
        {
            "sample_id": [f"s{n}" for n in range(len(texts))],
            "attempt": 0,
            "question": [f"Frage {n}?" for n in range(len(texts))],
            "references": [["ja"]] * len(texts),
            "model": model,
            "candidate": texts,
            "reasoning": None,
            "status": ["ok" if text else "error" for text in texts],
            "reason": [None if text else "broke" for text in texts],
            "prompt_tokens": 1,
            "completion_tokens": 1,
        }
    )
    tables.write(frame, folder / f"{model}.parquet", tables.CANDIDATES, {})
    labels = frame[["sample_id", "attempt", "model"]].assign(
        judge="gold",
        verdict=verdicts or "correct",
        outcome=verdicts or "correct",
        score=0.5,
        reason=None,
        raw=None,
        truncated=False,
    )
    labels = labels.assign(prompt_tokens=None, completion_tokens=None, aspects=None, decided_by=None, certain=None, flags=None)
    labels.loc[labels["verdict"] == "invalid", "score"] = None
    tables.write(labels, folder / f"{model}-gold.parquet", tables.LABELS, {})
    return folder / f"{model}.parquet", folder / f"{model}-gold.parquet"


SPEC = {"set": "arena", "models": ["a", "b"], "tasks": ["t"], "rows": None, "gold": "gold", "seed": 0}


def test_answers_are_paired_in_random_order(tmp_path: Path) -> None:
    one, gold_one = answers(tmp_path, "a", ["ja"] * 40, ["correct"] * 40)
    other, gold_other = answers(tmp_path, "b", ["nein"] * 39 + [""], ["incorrect"] * 38 + ["correct", "invalid"])
    agreement.build_pairs(SPEC, [[one], [other]], [[gold_one], [gold_other]], tmp_path / "p.parquet")
    result = tables.read(tmp_path / "p.parquet", tables.PAIRS).set_index("sample_id")
    assert len(result) == 40
    assert {*result["model_a"]} == {"a", "b"}
    assert ((result["model_a"] == "a") == (result["answer_a"] == "ja")).all()
    right = result[result["label"].isin(["A", "B"])]
    assert len(right) == 38
    assert ((right["label"] == "A") == (right["model_a"] == "a")).all()
    assert result.loc["s38", "label"] == "tie"
    assert result["label"].isna().sum() == 1
    assert {result.loc["s39", "status_a"], result.loc["s39", "status_b"]} == {"ok", "error"}


def test_row_limit_samples_questions_and_a_higher_one_extends_them(tmp_path: Path) -> None:
    files = [[answers(tmp_path, model, [f"{model}{n}" for n in range(30)])[0]] for model in "ab"]
    drawn = []
    for rows in (5, 12, None):
        agreement.build_pairs({**SPEC, "rows": rows, "gold": None}, files, [], tmp_path / "p.parquet")
        drawn.append(set(tables.read(tmp_path / "p.parquet", tables.PAIRS)["pair_id"]))
    assert [len(some) for some in drawn] == [5, 12, 30]
    assert drawn[0] < drawn[1] < drawn[2]


# --- pairs of files ---

IMPORTED = {
    "set": "people",
    "where": {},
    "question_split": [0.0, 1.0],
    "import": {
        "format": "auto",
        "where": {},
        "columns": {
            name: name
            for name in (
                *("question", "answer_a", "answer_b", "references", "model_a", "model_b", "label", "votes", "task"),
                *("grade_a", "grade_b", "rationale"),
            )
        },
    },
}
LINE = {"question": "Grüße?", "answer_a": "hallo", "answer_b": " ", "label": "A", "votes": "1,1,2"}


def imported(folder: Path, lines: list[dict[str, Any]], **spec: Any) -> pd.DataFrame:
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    agreement.import_pairs({**IMPORTED, **spec}, path, folder / "p.parquet")
    return tables.read(folder / "p.parquet", tables.PAIRS)


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    [row] = imported(tmp_path, [LINE]).to_dict("records")
    assert (row["label"], row["votes"], row["task"]) == ("A", ["A", "A", "B"], "people")
    assert row["references"] is None
    assert pd.isna(row["model_a"])
    assert (row["status_a"], row["status_b"]) == ("imported", "empty")


def test_votes_in_separate_rows_are_merged(tmp_path: Path) -> None:
    lines = [{**LINE, "votes": None, "label": label} for label in ("A", "B", "B", None)]
    [row] = imported(tmp_path, lines).to_dict("records")
    assert (row["label"], row["votes"]) == ("B", ["A", "B", "B"])


def test_splits_of_a_file_share_no_question(tmp_path: Path) -> None:
    lines = [{**LINE, "question": f"Q{n // 2}?", "answer_a": str(n)} for n in range(60)]
    halves = [imported(tmp_path, lines, question_split=part) for part in ([0.0, 0.5], [0.5, 1.0])]
    assert sum(map(len, halves)) == 60
    assert not set(halves[0]["question"]) & set(halves[1]["question"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no column 'question'|empty|no rows"),
        ([{"question": "q", "answer_a": "x"}], "no column 'answer_b'"),
        ([{**LINE, "label": "C3"}], "line 1.*'label'.*use A, B or tie"),
        ([{**LINE, "votes": "1,9"}], "'votes'.*use A, B or tie"),
        ([{**LINE, "question": " "}], "'question'.*is empty"),
        ([{**LINE, "answer_a": ["x"]}], "'answer_a'.*give a text"),
    ],
)
def test_bad_files_are_reported_in_one_line(tmp_path: Path, lines: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(tmp_path, lines)
    assert not (tmp_path / "p.parquet").exists()


@pytest.mark.parametrize(
    ("cell", "meaning"),
    [
        *[("A", "A"), ("b", "B"), (1, "A"), (2.0, "B"), ("0", "tie"), ("[[B]]", "B"), ("model_a", "A"), ("tie (bothbad)", "tie")],
        *[(None, None), ("", None), (float("nan"), None)],
    ],
)
def test_preference_cells(cell: object, meaning: str | None) -> None:
    assert values.parse_preference(cell) == meaning


@pytest.mark.parametrize(
    ("votes", "most"), [("AAB", "A"), ("AB", "tie"), (["A", "tie", "B"], "tie"), (["tie", "tie", "B"], "tie"), ("B", "B")]
)
def test_majority_vote(votes: list[str], most: str) -> None:
    assert majority(list(votes)) == most
