"""Bad configurations: each fault is one line that names the place and the remedy, and all come at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bert_judge import plan
from bert_judge.plan import configuration
from bert_judge.runtime.errors import ConfigError

DELETE = object()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two files of answers."""
    (tmp_path / "one.csv").write_text(
        "question,references,candidate,model,label,split\n"
        "Capital of France?,Paris,Paris.,gpt-4,1,a\n"
        "Capital of Italy?,Rome,Milan.,New Bing,0,b\n",
        "utf-8",
    )
    (tmp_path / "two.csv").write_text(
        "question,references,candidate,model,label\nCapital of Spain?,Madrid,Madrid,New-Bing,1\n", "utf-8"
    )
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "breaks.py").write_text("1 / 0\n", "utf-8")
    monkeypatch.delenv("BERT_JUDGE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sound(data: Path) -> dict[str, Any]:
    """A configuration without fault."""
    return {
        "data": str(data),
        "imports": {"one": {"path": "one.csv"}, "two": {"path": "two.csv"}},
        "models": {
            "gpt-4": {"generator": "imported", "from": "one"},
            "bing": {"generator": "imported", "from": ["one"], "model_name": "New Bing"},
        },
        "tasks": {
            "train": ["learn"],
            "test": ["exam"],
            "imported": {
                "learn": {"from": "one", "question_split": [0, 0.7]},
                "exam": {"from": "one", "question_split": [0.7, 1], "family": "short_answer"},
            },
        },
        "datasets": {"capitals": {"teacher": "human", "tasks": ["learn"], "models": ["gpt-4", "bing"]}},
        "judges": {
            "human": {"kind": "imported", "from": "one"},
            "contains": {"kind": "lexical", "metric": "contains"},
            "bert": {"kind": "bert", "dataset": "capitals"},
        },
        "scorers": ["human", "contains", "bert"],
        "gold": "human",
    }


def changed(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with values set at dotted paths; `DELETE` removes the key."""
    copied = copy.deepcopy(dict(raw))
    for path, value in changes.items():
        *blocks, last = path.split("/")
        here = copied
        for block in blocks:
            here = here.setdefault(block, {})
        if value is DELETE:
            del here[last]
        else:
            here[last] = value
    return copied


def faults(raw: Mapping[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(raw)
    return caught.value.errors


HF = {"generator": "hf", "model": "owner/name"}
SERVED = {"generator": "openai", "model": "m"}
SIMULATED = {"generator": "simulated", "p_correct": 0.5}
GPT = {"kind": "llm", "model": SERVED}
CASCADE = {"kind": "cascade", "judges": ["contains", "bert", "human"], "dataset": "capitals", "accuracy": 0.9}
# What is changed in the sound configuration, and the line that must come, or its start where it ends in a list that grows.
BAD: dict[str, tuple[dict[str, Any], str]] = {
    # unknown keys, at each level
    "unknown block": ({"modells": {}}, "modells: unknown key; did you mean 'models'?"),
    "unknown key of a model": ({"models/bing/model": "x"}, "models.bing.model: unknown key; did you mean 'model_name'?"),
    "unknown key of a judge": (
        {"judges/contains/treshold": 1},
        "judges.contains.treshold: unknown key; did you mean 'threshold'?",
    ),
    "unknown key of an import": (
        {"imports/one/columns": {"antwort": "x"}},
        "imports.one.columns.antwort: unknown key; choose one of: question, references, candidate, model, label, rationale, "
        "choices, id",
    ),
    "misspelt kind of a model": (
        {"models/bing": {"generater": "simulated", "p_correct": 0.5}},
        "models.bing.generater: unknown key; did you mean 'generator'?",
    ),
    "unknown key of tasks": (
        {"tasks/validation": ["x"]},
        "tasks.validation: unknown key; choose one of: train, test, imported",
    ),
    "unknown key, three levels down": (
        {"judges/bert/training": {"epoch": 1}},
        "judges.bert.training.epoch: unknown key; did you mean 'epochs'?",
    ),
    "the Python name of a field": (
        {"judges/human": {"kind": "imported", "from": "one", "source": "one"}},
        "judges.human.source: unknown key; choose one of: kind, from",
    ),
    # wrong types and values
    "text for a number": (
        {"judges/bert/threshold": "high"},
        "judges.bert.threshold: must be a valid number, unable to parse string as a number; got 'high'",
    ),
    "threshold out of range": ({"judges/bert/threshold": 1.5}, "judges.bert.threshold: must be less than or equal to 1; got 1.5"),
    "not a number": (
        {"judges/bert/training": {"learning_rate": float("inf")}},
        "judges.bert.training.learning_rate: must be a finite number; got inf",
    ),
    "validation takes all": (
        {"datasets/capitals/validation_fraction": 1},
        "datasets.capitals.validation_fraction: must be less than 1; got 1",
    ),
    "number for a text": (
        {"models/big": {**HF, "revision": 1234567}},
        "models.big.revision: must be a valid string; got 1234567; put quotes around it",
    ),
    "number for a name": ({"tasks/test": ["exam", 2024]}, "tasks.test.1: must be a valid string; got 2024; put quotes around it"),
    "text for a block": ({"models/bing": "imported"}, "models.bing: must be a block of keys; got 'imported'"),
    "nothing for a block": ({"judges": None}, "judges: must be a block of keys; got nothing"),
    "list for a mapping": ({"models/big": {**SIMULATED, "style": ["terse"]}}, "models.big.style: must be 'terse', 'wordy',"),
    "unknown metric": ({"judges/contains/metric": "regex"}, "judges.contains.metric: must be 'exact_match', 'contains',"),
    "unknown extraction": ({"judges/contains/extract": ["boxes"]}, "judges.contains.extract: must be 'final_answer', 'boxed',"),
    "nested filter": (
        {"imports/one/where": {"split": {"is": "a"}}},
        "imports.one.where.split: must be a valid string or a valid integer or a valid number or a valid boolean or a valid list;",
    ),
    "unknown import format": (
        {"imports/one/format": "xlsx"},
        "imports.one.format: must be 'auto', 'parquet', 'csv', 'jsonl', 'json', 'lm_eval', 'lighteval', 'inspect', 'helm'",
    ),
    "unknown generator": (
        {"models/bing/generator": "gpt"},
        "models.bing.generator: unknown generator 'gpt'; choose one of: hf, imported, openai, simulated, student, vllm",
    ),
    "generator left out": (
        {"models/bing/generator": DELETE},
        "models.bing.generator: is missing; add one of hf, imported, openai, simulated, student, vllm",
    ),
    "unknown kind of judge": ({"judges/contains/kind": "oracle"}, "judges.contains.kind: unknown kind 'oracle'; choose one of: "),
    "metric left out": ({"judges/contains/metric": DELETE}, "judges.contains.metric: is missing; expected: the metric"),
    "block left out": ({"scorers": DELETE}, "scorers: is missing; expected: judges in the score tables"),
    "empty list of judges": ({"scorers": []}, "scorers: must be a longer list; got []"),
    "empty list of tasks": ({"tasks/test": []}, "tasks.test: must be a longer list; got []"),
    "empty list of imports": (
        {"models/bing/from": []},
        "models.bing.from: must be a longer list; got []",
    ),
    "code that nobody pinned": (
        {"models/big": {**HF, "trust_remote_code": True}},
        "models.big: trust_remote_code requires a revision; set the commit that you trust",
    ),
    "key in the place of its variable": (
        {"models/big": {**SERVED, "api_key_env": "sk-0123"}},
        "models.big: api_key_env needs the name of an environment variable in capitals, never the key itself",
    ),
    "server without a scheme": (
        {"models/big": {**SERVED, "base_url": "localhost:8000"}},
        "models.big: base_url needs http:// or https:// and an address without user and password",
    ),
    "extra key that is taken": (
        {"models/big": {**SERVED, "extra": {"n": 2}}},
        "models.big: extra: n is set by bert-judge; remove it from extra",
    ),
    "step that parts do not make up": (
        {"judges/bert/training": {"batch_size": 16, "micro_batch_size": 5}},
        "judges.bert.training: batch_size 16 must be a multiple of micro_batch_size",
    ),
    "dataset and checkpoint": (
        {"judges/bert/checkpoint": "owner/name"},
        "judges.bert: give either a dataset to train on or a checkpoint",
    ),
    "checkpoint with settings of training": (
        {"judges/other": {"kind": "bert", "checkpoint": "owner/name", "training": {"epochs": 1}}},
        "judges.other: a checkpoint has its own training; remove this setting",
    ),
    # cascades
    "cascade with two aims": (
        {"judges/both": {**CASCADE, "budget": 0.1}},
        "judges.both: give one of accuracy, budget and escalate",
    ),
    "cascade with thresholds and marks": (
        {"judges/both": {**CASCADE, "escalate": "uncertain"}},
        "judges.both: give one of accuracy, budget and escalate",
    ),
    "cascade by marks on a dataset": (
        {"judges/both": {"kind": "cascade", "judges": ["bert", "human"], "escalate": "uncertain", "dataset": "capitals"}},
        "judges.both: dataset has no effect with escalate, which fits nothing; remove it",
    ),
    "cascade without a dataset": (
        {"judges/both": {"kind": "cascade", "judges": ["bert", "human"], "budget": 0.1}},
        "judges.both: accuracy and budget need a dataset with validation rows; name it, or set escalate: uncertain instead",
    ),
    "cascade by other marks": (
        {"judges/both": {"kind": "cascade", "judges": ["bert", "human"], "escalate": "wrong"}},
        "judges.both.escalate: must be 'uncertain'",
    ),
    "cascade by marks that are always sure": (
        {"judges/both": {"kind": "cascade", "judges": ["human", "bert"], "escalate": "uncertain"}},
        "judges.both.judges: 'human' looks its verdicts up, and is always sure of them; put it last",
    ),
    "cascade that begins with a language model": (
        {"judges/gpt": GPT, "judges/both": {"kind": "cascade", "judges": ["gpt", "bert"], "escalate": "uncertain"}},
        "judges.both.judges: 'gpt' is a language model and costs more than a judge after it; list it after that one",
    ),
    "fitted cascade with a rule after a language model": (
        {"judges/gpt": GPT, "judges/both": {**CASCADE, "judges": ["bert", "gpt", "contains"]}},
        "judges.both.judges: 'gpt' is a language model and costs more than a judge after it; list it after that one",
    ),
    "cascade of one": ({"judges/both": {**CASCADE, "judges": ["bert"]}}, "judges.both.judges: must be a longer list; got ['bert']"),
    "cascade of nobody": (
        {"judges/both": {**CASCADE, "judges": ["contains", "nobody"]}},
        "judges.both.judges: 'nobody' is not defined under judges; choose one of: ",
    ),
    "cascade with a judge twice": (
        {"judges/both": {**CASCADE, "judges": ["bert", "contains", "bert"]}},
        "judges.both.judges: 'bert' is listed twice; remove one",
    ),
    "cascade on no dataset": (
        {"judges/both": {**CASCADE, "dataset": "none"}},
        "judges.both.dataset: 'none' is not defined under datasets; choose one of: capitals",
    ),
    "cascade of cascades": (
        {"judges/both": CASCADE, "judges/all": {**CASCADE, "judges": ["both", "human"]}},
        "judges.all.judges: 'both' is a cascade itself; list its judges here",
    ),
    "cascade with its teacher first": (
        {"judges/both": {**CASCADE, "judges": ["human", "bert"]}},
        "judges.both.judges: 'human' is the teacher of 'capitals' and always agrees with its labels; put it last",
    ),
    "cascade with another's verdicts": (
        {"judges/other": {"kind": "imported", "from": "two"}, "judges/both": {**CASCADE, "judges": ["bert", "other"]}},
        "judges.both.judges: 'other' has no verdicts on the validation rows of 'capitals'; of its kind only the teacher",
    ),
    "dataset taught by its own cascade": (
        {"judges/both": {**CASCADE, "judges": ["contains", "bert"]}, "datasets/capitals/teacher": "both"},
        "datasets.capitals.teacher: 'both' would be trained on its own labels; choose another",
    ),
    # names
    "name with a slash": (
        {"imports": {"a/b": {"path": "one.csv"}, "one": {"path": "one.csv"}, "two": {"path": "two.csv"}}},
        "imports.a/b: bad name 'a/b'; write letters, digits",
    ),
    "name ending in a space": (
        {"judges/lenient ": {"kind": "lexical", "metric": "contains"}},
        "judges.lenient : bad name 'lenient '; write letters, digits and . _ + -, the first a letter or digit",
    ),
    "name of a number": ({"imports": {4: {"path": "one.csv"}}}, "imports.4: bad name 4; put quotes around it"),
    "judge with the name of a column": (
        {"judges/candidate": {"kind": "lexical", "metric": "contains"}},
        "judges.candidate: the score tables have a column of this name; choose another",
    ),
    "judge with the name of a judge's verdicts": (
        {"judges/bert_verdict": {"kind": "lexical", "metric": "contains"}},
        "judges.bert_verdict: the score tables have a column of this name; choose another",
    ),
    # dangling names, of every kind
    "import of a model": (
        {"models/bing/from": "on"},
        "models.bing.from: 'on' is not defined under imports; did you mean 'one'?",
    ),
    "import of a judge": (
        {"judges/human/from": ["one", "three"]},
        "judges.human.from: 'three' is not defined under imports; choose one of: one, two",
    ),
    "import of a task": (
        {"tasks/imported/learn/from": "three"},
        "tasks.imported.learn.from: 'three' is not defined under imports; choose one of: one, two",
    ),
    "dataset of a judge": (
        {"judges/bert/dataset": "rivers"},
        "judges.bert.dataset: 'rivers' is not defined under datasets; choose one of: capitals",
    ),
    "teacher": (
        {"datasets/capitals/teacher": "humans"},
        "datasets.capitals.teacher: 'humans' is not defined under judges; did you mean 'human'?",
    ),
    "task of a dataset": (
        {"datasets/capitals/tasks": ["learn", "rivers"]},
        "datasets.capitals.tasks: 'rivers' is not listed under tasks.train; choose one of: learn, exam",
    ),
    "model of a dataset": (
        {"datasets/capitals/models": ["gpt-4", "gpt-5"]},
        "datasets.capitals.models: 'gpt-5' is not defined under models; did you mean 'gpt-4'?",
    ),
    "task of a mix": (
        {"datasets/capitals/mix": {"per_task": {"exam": 5}}},
        "datasets.capitals.mix.per_task: 'exam' is not a task of the dataset; choose one of: learn",
    ),
    "task of a weak teacher": (
        {"datasets/capitals/weak_teacher": {"teacher": "contains", "tasks": ["exam"]}},
        "datasets.capitals.weak_teacher.tasks: 'exam' is not a task of the dataset; choose one of: learn",
    ),
    "judge of a weak teacher": (
        {"datasets/capitals/weak_teacher": {"teacher": "oracle", "tasks": ["learn"]}},
        "datasets.capitals.weak_teacher.teacher: 'oracle' is not defined under judges; choose one of: human, contains, bert",
    ),
    "model of a mix": (
        {"datasets/capitals/mix": {"per_model": {"gpt-5": 5}}},
        "datasets.capitals.mix.per_model: 'gpt-5' is not defined under models; did you mean 'gpt-4'?",
    ),
    "judge of the scores": (
        {"scorers": ["human", "oracle"]},
        "scorers: 'oracle' is not defined under judges; choose one of: human, contains, bert",
    ),
    "gold": ({"gold": "oracle"}, "gold: 'oracle' is not defined under judges; choose one of: human, contains, bert"),
    "unknown task": ({"tasks/test": ["exam", "volcanoes"]}, "tasks.test: unknown task 'volcanoes'; choose one of: exam, "),
    "misspelled task": ({"tasks/test": ["exam", "gsm8k_tst"]}, "tasks.test: unknown task 'gsm8k_tst'; did you mean 'gsm8k_test'?"),
    # listed twice
    "judge listed twice": ({"scorers": ["human", "bert", "human"]}, "scorers: 'human' is listed twice; remove one"),
    "task listed twice": (
        {"datasets/capitals/tasks": ["learn", "learn"]},
        "datasets.capitals.tasks: 'learn' is listed twice; remove one",
    ),
    "model listed twice": (
        {"datasets/capitals/models": ["bing", "bing"]},
        "datasets.capitals.models: 'bing' is listed twice; remove one",
    ),
    "train task under test": (
        {"tasks/test": ["exam", "learn"]},
        "tasks.train and tasks.test: 'learn' is listed twice; remove one",
    ),
    # files
    "missing file": (
        {"imports/one/path": "three.csv"},
        "imports.one.path: three.csv: no such file; fix the path or the data folder",
    ),
    "folder for a file": (
        {"imports/one/path": "folder.csv"},
        "imports.one.path: folder.csv: is a folder; name a file in it",
    ),
    "unset variable": (
        {"data": "$BERT_JUDGE_DATA"},
        "data: the environment variable BERT_JUDGE_DATA is not set; set the folder of the imported files with --data FOLDER",
    ),
    "data folder that is not there": (
        {"data": "/no/such"},
        "data: /no/such: no such folder; set the folder of the imported files with --data FOLDER",
    ),
    "misspelled checkpoint": (
        {"judges/other": {"kind": "bert", "checkpoint": "generl"}},
        "judges.other.checkpoint: 'generl': no such folder; name a judge's folder, general, or owner/name on the hub",
    ),
    "checkpoint that is not there": (
        {"judges/other": {"kind": "bert", "checkpoint": "./no/such"}},
        "judges.other.checkpoint: './no/such': no such folder; fix the path, or give a hub id such as owner/name",
    ),
    "missing task file": ({"task_files": ["mine.py"]}, "task_files: mine.py: no such Python file"),
    "task file that does not run": ({"task_files": ["breaks.py"]}, "task_files: breaks.py: ZeroDivisionError: division by zero"),
    "filter that nothing passes": (
        {"imports/one/where": {"split": "c"}},
        "imports.one: one.csv: no row is left where 'split' is 'c'",
    ),
    "column that is not there": (
        {"imports/one/columns": {"model": "system"}},
        "imports.one: one.csv: no column 'system' for the model; available: ",
    ),
    "model that is not in its file": (
        {"models/bing/model_name": "Bing"},
        "models.bing: 'Bing' is not in its files; set `model_name` to one of: New Bing, gpt-4",
    ),
    "pattern that matches nothing": (
        {"models/llama*": {"generator": "imported", "from": "one"}},
        "models.llama*: no model in its files has such a name; fix the key",
    ),
    "pattern with a name": (
        {"models/g*": {"generator": "imported", "from": "one", "model_name": "gpt-4"}},
        "models.g*: only an imported model without `model_name` may have a * in its key; write the name out",
    ),
    "two names become one": (
        {"models": {"*": {"generator": "imported", "from": ["one", "two"]}}, "datasets/capitals/models": "all"},
        "models.*: 'New-Bing' would be called 'New-Bing', which is taken; list it with `model_name`",
    ),
    # parts that do not fit together
    "empty part of the questions": (
        {"tasks/imported/learn/question_split": [0.7, 0.2]},
        "tasks.imported.learn.question_split: [0.7, 0.2] is empty; the first number must be the smaller",
    ),
    "gold without a column": ({"scorers": ["contains"]}, "gold: 'human' must be listed under scorers too"),
    "judge trained on its own labels": (
        {"datasets/capitals/teacher": "bert"},
        "datasets.capitals.teacher: 'bert' would be trained on its own labels; choose another",
    ),
    "weak teacher trained on its own labels": (
        {"datasets/capitals/weak_teacher": {"teacher": "bert", "tasks": ["learn"]}},
        "datasets.capitals.teacher: 'human' or 'bert' would be trained on its own labels; choose another",
    ),
    "teacher as its own weak teacher": (
        {"datasets/capitals/weak_teacher": {"teacher": "human", "tasks": ["learn"]}},
        "datasets.capitals.weak_teacher.teacher: 'human' is the teacher itself; choose another",
    ),
    "judges that train each other": (
        {
            "judges/second": {"kind": "bert", "dataset": "other"},
            "datasets/other": {"teacher": "bert", "tasks": ["learn"]},
            "datasets/capitals/teacher": "second",
        },
        "datasets.capitals.teacher: 'second' would be trained on its own labels; choose another",
    ),
    "dataset with a test task": (
        {"datasets/capitals/tasks": ["learn", "exam"]},
        "datasets.capitals.tasks: 'exam' is a test task; list it under tasks.train, or set allow_test_questions: true",
    ),
    "task with the name of another": (
        {"tasks/imported/facts_test": {"from": "one"}},
        "tasks.imported.facts_test: a task function has this name; choose another",
    ),
    "dataset without answers": (
        {
            "datasets/capitals/models": ["stranger"],
            "models/stranger": {"generator": "imported", "from": "two", "model_name": "New-Bing"},
        },
        "datasets.capitals: none of its models has answers to its tasks; fix its models or tasks",
    ),
    "no answer to any test task": (
        {"tasks/imported/exam/from": "two", "judges/human/from": ["one", "two"]},
        "tasks.test: no model has answers to any test task; add a model, or a task of the models' files",
    ),
    "verdicts of another file": (
        {"imports/three": {"path": "two.csv"}, "judges/human/from": ["two", "three"]},
        "scorers: 'human' has no verdicts on task 'exam'; add the task's file, or one file of verdicts, to judges.human.from",
    ),
    "truth about real models": (
        {"judges/truth": {"kind": "imported"}, "scorers": ["human", "truth"]},
        "scorers: 'truth' judges simulated models only, and 'bing' is not simulated; name its labels with `from`, ",
    ),
}
NOISE = ("literal[", "list[", "union", "[key]", "Input should", "Value error", "dict_type", "tagged", "pydantic", "function-")


def test_the_base_has_no_fault(folder: Path) -> None:
    assert list(plan.build_plan(sound(folder)).models) == ["gpt-4", "bing"]


@pytest.mark.parametrize("case", BAD)
def test_a_fault_is_one_line(case: str, folder: Path) -> None:
    changes, line = BAD[case]
    found = faults(changed(sound(folder), changes))
    expected = line.replace("{folder}", str(folder))
    matching = [fault for fault in found if fault.startswith(expected)]
    assert matching == matching[:1] != [], "\n".join(found)
    for fault in found:
        assert "\n" not in fault
        assert not any(noise in fault for noise in NOISE), fault


# Faults that take others with them: the removal of a block leaves names dangling, for example.
FOLLOWED = {
    "misspelt kind of a model",
    "nothing for a block",
    "name of a number",
    "import of a model",
    "judges that train each other",
    "missing file",
    "task listed twice",
    "no answer to any test task",
    "verdicts of another file",
    "dataset without answers",
    "filter that nothing passes",
    "column that is not there",
    "text for a block",
    "the Python name of a field",
}


@pytest.mark.parametrize("case", [case for case in BAD if case not in FOLLOWED])
def test_a_fault_comes_alone(case: str, folder: Path) -> None:
    assert len(faults(changed(sound(folder), BAD[case][0]))) == 1


def test_misspelt_keys_come_at_once() -> None:
    raw = {
        "models": {"m": {"generator": "openai", "model": "x", "temprature": -1}},
        "tasks": {"tset": ["facts_test"]},
        "judges": {"c": {"kidn": "lexical", "metric": "contain"}},
        "scorers": ["d"],
    }
    with pytest.raises(ConfigError) as caught:
        configuration.parse(raw)
    for line in (
        "models.m.temprature: unknown key; did you mean 'temperature'?",
        "tasks.tset: unknown key; did you mean 'test'?",
        "tasks.test: is missing",
        "judges.c.kidn: unknown key; did you mean 'kind'?",
        "judges.c.kind: is missing; add one of ",
        "scorers: 'd' is not defined under judges; choose one of: c",
    ):
        assert sum(error.startswith(line) for error in caught.value.errors) == 1, (line, caught.value.errors)
    assert len(caught.value.errors) == 6
    misspelt = ["unknown key; did you mean" in error for error in caught.value.errors]
    assert misspelt == sorted(misspelt, reverse=True)


def test_all_faults_come_at_once(folder: Path) -> None:
    """Faults of shape, dangling names, missing files and parts that do not fit, in one go."""
    cases = [
        "unknown block",
        "threshold out of range",
        "unknown generator",
        "gold",
        "dataset of a judge",
        "missing file",
        "task file that does not run",
        "checkpoint that is not there",
        "judge listed twice",
    ]
    changes = {path: value for case in cases for path, value in BAD[case][0].items()}
    found = faults(changed(sound(folder), changes))
    for case in cases:
        # The names that there are differ with the other changes.
        start = BAD[case][1].replace("{folder}", str(folder)).split("there are")[0]
        assert any(line.startswith(start) for line in found), start


def test_a_data_folder_that_nobody_needs_may_be_missing(folder: Path) -> None:
    raw = changed(sound(folder), {"data": "/no/such"})
    for name in ("one", "two"):
        raw["imports"][name]["path"] = str(folder / f"{name}.csv")
    assert plan.build_plan(raw).import_path("one").absolute() == folder / "one.csv"


def test_files_with_a_path_of_their_own_are_checked_without_the_data_folder(folder: Path) -> None:
    raw = changed(sound(folder), {"data": "/no/such", "imports/two/path": "/nor/this.csv"})
    assert [line.split(":")[0] for line in faults(raw)] == ["data", "imports.two.path"]


def test_an_empty_configuration_names_what_it_needs() -> None:
    assert [line.split(":")[0] for line in faults({})] == ["models", "tasks"]


def test_parse_gives_the_faults_of_shape_and_name_without_files() -> None:
    with pytest.raises(ConfigError) as caught:
        configuration.parse(changed(sound(Path("/no/such")), {"gold": "oracle", "dta": 1}))
    assert [line.split(":")[0] for line in caught.value.errors] == ["dta", "gold"]


@pytest.mark.parametrize(
    ("path", "written", "meant"),
    [
        ("models/bing/from", "one", ["one"]),
        ("judges/bert/training/learning_rate", "1e-5", 1e-5),
        ("judges/contains/extract", "boxed", ["boxed"]),
        ("tasks/imported/learn/question_split", [0, 1], (0.0, 1.0)),
        ("imports/one/where", {"split": ["a", None]}, {"split": ["a", None]}),
        ("datasets/capitals/models", "all", "all"),
    ],
)
def test_short_forms(path: str, written: object, meant: object) -> None:
    value: Any = configuration.parse(changed(sound(Path("/no/such")), {path: written}))
    for part in path.replace("/from", "/source").split("/"):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    assert value == meant
