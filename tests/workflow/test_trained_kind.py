"""A kind that learns from labels is one class: that of this file passes through every stage of a run, and through the program."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from bert_judge import plan, tables
from bert_judge.config.base import JudgeConfig
from bert_judge.judges import registry
from bert_judge.judges.model_card import write_model_card
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.judges.registry import JUDGE_FILE, RESULTS, Dependencies, Inputs, JudgeKind, LoadContext, TrainingContext
from bert_judge.runtime.errors import ConfigError

if TYPE_CHECKING:
    from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow


class ShortConfig(JudgeConfig):
    """Answers that are no longer than the correct ones of a dataset are correct."""

    kind: Literal["short"]
    dataset: str | None = None
    """dataset to learn from …"""
    checkpoint: str | None = None
    """… or the folder of a trained judge"""
    quantile: float = 0.9
    """share of the correct answers that are short enough"""


class ShortJudge:
    """Implements `judges.protocol.Judge`."""

    def __init__(self, max_chars: int) -> None:
        self.revisions: dict[str, str] = {}
        self.max_chars = max_chars

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [decided(float(len(row.candidate) <= self.max_chars)) for row in rows]


class ShortKind(JudgeKind):
    name = "short"
    config = ShortConfig
    is_trained = True

    def settings(self, block: ShortConfig) -> dict[str, Any]:
        return {"kind": self.name}

    def depends_on(self, block: ShortConfig) -> Dependencies:
        return Dependencies(datasets=[block.dataset] if block.dataset else [])

    def inputs(self, judge: str, block: ShortConfig, results: Path = RESULTS) -> Inputs:
        return {"checkpoint": registry.judge_file(judge, results)}

    def train(self, context: TrainingContext) -> None:
        rows = tables.read(context.inputs["train"], tables.DATASET)
        lengths = rows.loc[rows["label"] >= 0.5, "candidate"].str.len()
        limit = int(lengths.quantile(context.spec["quantile"]))
        tables.write_json(context.folder / JUDGE_FILE, {"kind": self.name, "max_chars": limit})

    def evaluate(self, context: TrainingContext) -> None:
        rows = tables.read(context.inputs["validation"], tables.DATASET)
        limit = registry.read_card(context.folder)["max_chars"]
        agreement = float(((rows["candidate"].str.len() <= limit) == (rows["label"] >= 0.5)).mean())
        tables.write_json(context.folder / "metrics.json", {"validation": {"n": len(rows), "accuracy": agreement}})
        introduction = f"Answers of at most {limit} characters are correct."
        write_model_card(context.folder, title=context.spec["judge"], introduction=introduction, spec=context.spec)

    def load(self, context: LoadContext) -> Any:
        return ShortJudge(registry.read_card(Path(context.inputs["checkpoint"]).parent)["max_chars"])


# The name under which the jobs of a run import this file.
if __name__ == "short_kind":
    registry.register(ShortKind())
REGISTER = "import sys\nsys.path.insert(0, '.')\nimport short_kind\n"


@pytest.fixture(scope="module", autouse=True)
def kind() -> Iterator[None]:
    """Known to the tests of this file only."""
    registry.register(ShortKind())
    yield
    registry.unregister("short")


@pytest.fixture(scope="module")
def trained(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with a judge of this kind, which scores and is attacked. Tests must not change it."""
    made = finished.copy(tmp_path_factory.mktemp("trained") / "run")
    # A plug-in: every process of the run imports it.
    shutil.copy2(__file__, made.folder / "short_kind.py")
    for path in (made.folder / "Snakefile", *(made.folder / "workflow_scripts").glob("*.py")):
        path.write_text(REGISTER + path.read_text("utf-8"), "utf-8")
    config = made.config
    config["judges"]["brief"] = {"kind": "short", "dataset": "mix"}
    config["scorers"].append("brief")
    config["attacks"] = {"judges": ["brief"], "rows": 2}
    made.configure(config)
    labels = {f"Verdicts of brief on {model}, mini_test" for model in ("solid", "weak", "_attacks")}
    planned = made.planned()
    assert {"Fit brief", "Error rates of judges under attack", *labels} <= planned
    assert not {job for job in planned if job.startswith(("Train", "Answers", "Training rows"))}
    assert made.done().jobs == planned
    return made


def test_check_tells_what_is_wrong_with_its_block(trained: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained.folder)
    config = trained.config
    assert plan.build_plan(config).trained_judges == ["encoder", "brief"]
    config["judges"]["brief"] = {"kind": "short", "dataset": "mxi"}
    with pytest.raises(ConfigError, match=r"judges\.brief\.dataset: 'mxi' is not defined under datasets"):
        plan.build_plan(config)


def test_it_is_trained_measured_and_used_by_every_stage(trained: Workspace) -> None:
    results = trained.folder / "results"
    folder = results / "judges/brief"
    assert {path.name for path in folder.iterdir()} == {"judge.json", "metrics.json", "README.md"}
    limit = json.loads((folder / "judge.json").read_text("utf-8"))["max_chars"]
    scores = tables.read(results / "scores/weak/mini_test.parquet", tables.scores_schema(trained.config["scorers"]))
    assert scores["brief_verdict"].tolist() == ["correct" if len(text) <= limit else "incorrect" for text in scores["candidate"]]
    assert set(tables.read(results / "attacks/rates.parquet", tables.ATTACK_RATES)["judge"]) == {"brief"}
    page = (results / "report.html").read_text("utf-8")
    assert "brief" in page and "Robustness to attacks" in page


def test_minimal_reruns(trained: Workspace, tmp_path: Path) -> None:
    assert trained.run().idle
    run = trained.copy(tmp_path / "run")
    config = run.config
    run.configure(config | {"models": config["models"] | {"new": {"generator": "simulated", "p_correct": 0.5}}})
    planned = run.planned()
    assert "Verdicts of brief on new, mini_test" in planned
    assert not {job for job in planned if "solid" in job or "weak" in job or job.startswith(("Train", "Fit"))}
    config["judges"]["brief"]["quantile"] = 0.5
    run.configure(config)
    planned = run.planned()
    assert {"Fit brief", "Verdicts of brief on solid, mini_test"} <= planned
    assert not {job for job in planned if "encoder" in job or job.startswith(("Train", "Answers"))}


def test_the_program_scores_and_serves_it(trained: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from bert_judge.cli import app
    from bert_judge.serve import judge_pool
    from bert_judge.serve.limits import Limits, Metrics

    monkeypatch.chdir(tmp_path)
    folder = trained.folder / "results/judges/brief"
    row = {"question": "Capital?", "references": ["Paris"], "candidate": "Paris"}
    Path("a.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    ended = CliRunner().invoke(app, ["score", "a.jsonl", "--judge", str(folder)])
    assert ended.exit_code == 0, ended.output
    assert json.loads(Path("a.scored.jsonl").read_text("utf-8"))["verdict"] == "correct"
    pool = judge_pool.select_judges([str(folder)], [], tmp_path / "results", Limits(), metrics=Metrics())
    assert list(pool.pointwise) == ["brief"]
    pool.load()
    pool.close()
