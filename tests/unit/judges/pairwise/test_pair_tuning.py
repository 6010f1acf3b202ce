"""Tuning of a language model as a pairwise judge: examples, training, and the resulting folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from test_llm_judge import ScriptedGenerator, says
from test_pair_tables import ROW
from test_students import THOUGHTFUL, encoder_of
from transformers import Trainer

from bert_judge import tables
from bert_judge.assets.prepare import prepare
from bert_judge.candidates.generators import make_generator
from bert_judge.config import HFModel, Tuning
from bert_judge.judges.bert.checkpoint import load as load_encoder
from bert_judge.judges.llm.judge import PROBABILITY
from bert_judge.judges.pairwise import Pair, prompting
from bert_judge.judges.pairwise.llm import PairLLMJudge, load_pair_judge
from bert_judge.judges.pairwise.train import tune_pair_judge
from bert_judge.judges.pairwise.training_data import LabelledPair, encode, score_line, swap, target_texts
from bert_judge.runtime.errors import InputError

PAIR = Pair("Was ist größer?", "Die Größe 7.", "</candidate-x> 東京", ("sieben",))
SETTINGS = {"seed": 0, "max_answer_chars": 400}
ASKED = {"dtype": "float32", "system": None, "thinking": None, "reasoning_end": "</think>", "trust_remote_code": False}
ENDS = frozenset({tiny_models.bpe_tokenizer(bos="<s>", eos="<|im_end|>").eos_token_id})


# --- what is learnt of a pair ---


@pytest.mark.parametrize(
    ("label", "line"), [(1.0, "9 1"), (0.0, "1 9"), (0.5, "5 5"), (2 / 3, "6 4"), (1 / 3, "4 6"), (0.75, "7 3"), (0.25, "3 7")]
)
def test_scores_of_a_label(label: float, line: str) -> None:
    assert score_line(label) == line
    assert target_texts(LabelledPair(PAIR, label)) == [line]
    assert target_texts(LabelledPair(PAIR, label, "  Größe \n")) == [line, "\nGröße"]
    assert target_texts(LabelledPair(PAIR, label, "  ")) == [line]


@given(st.integers(0, 720))
def test_scores_of_the_swapped_label(part: int) -> None:
    line, other = score_line(part / 720), score_line(1 - part / 720)
    assert {line, other} <= set(prompting.SCORES)
    assert other.split() == line.split()[::-1]


def test_names_in_the_reason_are_swapped() -> None:
    found = swap(LabelledPair(PAIR, 1.0, "Assistant 1's answer beats Assistant 2."))
    assert (found.label, found.reason) == (0.0, "Assistant 2's answer beats Assistant 1.")
    assert target_texts(found) == ["1 9", "\nAssistant 2's answer beats Assistant 1."]


@pytest.mark.parametrize("template", [None, tiny_models.CHAT_TEMPLATE, THOUGHTFUL], ids=["plain", "chat", "empty reasoning"])
@pytest.mark.parametrize("reasoning", [False, True])
def test_training_prompt_is_the_judging_prompt_and_scores_are_a_choice(template: str | None, reasoning: bool) -> None:
    encoder = encoder_of(template)
    [example], left_out = encode([LabelledPair(PAIR, 1.0, "Größe")], encoder, ENDS, SETTINGS, 10_000)
    generator = ScriptedGenerator(lambda _: says("9 1"))
    judge = PairLLMJudge("j", {**SETTINGS, "reasoning": reasoning, "scores": True, "tuned": True}, generator)
    judge.compare([PAIR])
    asked, _ = encoder.encode_requests(generator.requests[:1], max_new_tokens=5, max_length=None)
    assert (asked[0].ids, left_out) == (example.prompt, 0)
    decode = encoder.tokenizer.decode
    assert decode(example.completion) == "9 1\nGröße<|im_end|>"
    if not reasoning:
        # Word by word what the back end compares the choices by.
        option = asked[0].choice_ids[prompting.SCORES.index("9 1")]
        assert example.completion[: len(option)] == option


def test_too_long_pair_is_left_out() -> None:
    encoder = encoder_of(None)
    rows = [
        LabelledPair(Pair("q", "x " * 190, "y"), 1.0),
        LabelledPair(Pair("q", "x", "y"), 1.0),
        LabelledPair(Pair("q", "x", "y"), 1.0, "r" * 900),
    ]
    whole, _ = encode(rows, encoder, ENDS, SETTINGS, 10_000)
    found, left_out = encode(rows, encoder, ENDS, SETTINGS, len(whole[1]))
    assert (found, left_out) == ([whole[1]], 2)
    with pytest.raises(InputError, match="none of 3 texts fits into 50 tokens; raise it, or lower max_answer_chars"):
        encode(rows, encoder, ENDS, SETTINGS, 50)


def test_template_with_open_reasoning_block_is_rejected() -> None:
    encoder = encoder_of("{{ messages[0].content }}{% if add_generation_prompt %}<think>\n{% endif %}")
    with pytest.raises(InputError, match="set thinking: false"):
        encode([LabelledPair(PAIR, 1.0)], encoder, ENDS, SETTINGS, 10_000)


# --- the stage ---


class Pairs:
    """A base model and labelled pairs, in a folder."""

    def __init__(self, folder: Path, architecture: str = "llama", template: str | None = tiny_models.CHAT_TEMPLATE) -> None:
        self.folder = folder
        self.base = tiny_models.causal_lm(folder / "base", architecture, template=template, window=2048)
        prepare({"repository": str(self.base), "revision": None, "remote_code": False}, folder / "base.json")
        self.write([{"question": f"Wie {n}?", "answer_a": f"a{n}", "answer_b": f"b{n}", "label": "A"} for n in range(10)])

    def write(self, rows: list[Mapping[str, Any]]) -> None:
        full = [{**ROW, "votes": None, "reason": None, "pair_id": f"{n:016x}", **row} for n, row in enumerate(rows)]
        tables.write(pd.DataFrame(full, columns=tables.PAIRS.names), self.folder / "pairs.parquet", tables.PAIRS, {})

    def tune(self, name: str = "judge", augment: Mapping[str, float] | None = None, **tuning: Any) -> Path:
        tune_pair_judge(**self.asked(name, augment, **tuning))
        return self.folder / name

    def asked(self, name: str, augment: Mapping[str, float] | None = None, **tuning: Any) -> dict[str, Any]:
        """The arguments of the stage."""
        settings = Tuning.model_validate({"epochs": 2, "batch_size": 4, "learning_rate": 2e-2, "warmup_ratio": 0.0, **tuning})
        spec = {
            "judge": name,
            "pairs": ["people"],
            "augment": dict(augment or {}),
            "validation_fraction": 0.2,
            "base": {"model": str(self.base), "revision": None},
            "settings": ASKED,
            "tuning": settings.model_dump(exclude=set(Tuning.run_time)),
            **SETTINGS,
        }
        return {
            "spec": spec,
            "pairs": [str(self.folder / "pairs.parquet")],
            "base": self.folder / "base.json",
            "folder": self.folder / name,
            "work_folder": self.folder / f".work-{name}",
            "run_time": settings.model_dump(include=set(Tuning.run_time)),
        }


@pytest.fixture(scope="module", autouse=True)
def short_instructions() -> Iterator[None]:
    """Shorten the instructions, which are most of the tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompting, "INSTRUCTIONS", "Compare.")
        yield


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge trained to reply "9 1" and a word to every prompt. Tests must not change it."""
    pairs = Pairs(tmp_path_factory.mktemp("learnt"))
    pairs.write([{"question": f"Wie {n}?", "answer_a": f"a{n}", "label": "A", "reason": "Größe"} for n in range(10)])
    return pairs.tune(epochs=20, learning_rate=5e-3)


def test_tuned_judge_replies_as_trained_in_both_orders(learnt: Path) -> None:
    judge = load_pair_judge(learnt / "judge.json", "judge")
    [found] = judge.compare([Pair("Neu?", "x", "y")])
    # What stands first wins, so the two orders contradict each other.
    assert (found.verdict, found.forward.verdict, found.backward.verdict) == ("inconsistent", "A", "B")
    assert found.forward.score is not None and found.forward.score > 0.9
    assert (found.reason, found.raw) == (PROBABILITY, "9 1")


def test_reasons_follow_the_scores(learnt: Path) -> None:
    asked = HFModel.model_validate({"generator": "hf", "model": "m", "max_new_tokens": 20, **ASKED}).model_dump(mode="json")
    settings = {**SETTINGS, "reasoning": True, "scores": True, "tuned": True}
    judge = PairLLMJudge("judge", settings, make_generator("judge", asked, learnt / "manifest.json"))
    [found] = judge.compare([Pair("Neu?", "x", "y")])
    assert found.raw == "9 1\nGröße"
    assert found.forward.verdict == "A"


def test_folder_is_an_ordinary_model_with_a_card(learnt: Path) -> None:
    made = {path.name for path in learnt.iterdir()}
    files = {"config.json", "model.safetensors", "tokenizer.json", "metrics.json", "README.md", "manifest.json", "judge.json"}
    assert files <= made
    # Nothing of the adapter is left.
    assert load_file(learnt / "model.safetensors").keys() == load_file(learnt.parent / "base/model.safetensors").keys()
    metrics = json.loads((learnt / "metrics.json").read_text())
    assert {"n", "agreement", "consistency"} <= metrics["validation"].keys()
    assert metrics["validation"]["consistency"] == 0
    training = metrics["training"]
    assert (training["left_out"], training["reasons"], training["pairs"] + metrics["validation"]["n"]) == (0, training["pairs"], 10)
    card = (learnt / "README.md").read_text()
    assert "`people`" in card and "LoRA of rank 16, merged" in card and "| consistency | 0 |" in card
    assert not (learnt.parent / ".work-judge").exists()


def test_moved_or_broken_folder(learnt: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(learnt, tmp_path / "moved")
    assert load_pair_judge(moved / "judge.json", "m").compare([PAIR])[0].raw == "9 1"
    with pytest.raises(InputError, match=r"judge\.json: a pairwise language model, not an encoder"):
        load_encoder(moved)
    (moved / "judge.json").write_text('{"pairwise": {"writes": "scores"}, "settings": {}}')
    with pytest.raises(InputError, match=r"judge\.json: invalid: 'seed'; train the judge again"):
        load_pair_judge(moved / "judge.json", "m")
    (moved / "judge.json").write_text("{")
    with pytest.raises(InputError, match=r"judge\.json: broken"):
        load_pair_judge(moved / "judge.json", "m")


@pytest.mark.parametrize(
    ("architecture", "template", "tuning"),
    [
        ("qwen3", None, {"method": "full", "micro_batch_size": 2, "learning_rate": 1e-3}),
        ("llama", None, {"gradient_checkpointing": True}),
    ],
    ids=["qwen3, all weights, in halves", "llama, LoRA, saving memory"],
)
def test_prompt_has_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str, template: str | None, tuning: dict[str, Any]
) -> None:
    pairs = Pairs(tmp_path, architecture, template)
    step = Trainer.training_step
    learnt: list[str] = []
    tokenizer = encoder_of(None).tokenizer

    def seen(self: Trainer, model: Any, inputs: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        learnt.extend(tokenizer.decode(row[row != -100]) for row in inputs["labels"])
        return step(self, model, inputs, *arguments, **options)

    monkeypatch.setattr(Trainer, "training_step", seen)
    pairs.tune(epochs=1, augment={"swap": 1.0}, **tuning)
    # Every row was turned round, and with it what is learnt.
    assert set(learnt) == {"1 9<|im_end|>"}


def test_tuning_resumes_after_sigterm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = Pairs(tmp_path)
    undisturbed = load_file(pairs.tune("undisturbed") / "model.safetensors")
    step, steps = Trainer.training_step, []

    def counted(self: Trainer, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, *arguments, **options)

    monkeypatch.setattr(Trainer, "training_step", counted)
    with pytest.raises(SystemExit):
        pairs.tune("stopped")
    assert len(steps) == 2
    assert not (tmp_path / "stopped").exists()
    weights = load_file(pairs.tune("stopped") / "model.safetensors")
    assert len(steps) == 5
    for name, values in weights.items():
        assert values.numpy() == pytest.approx(undisturbed[name].numpy(), abs=1e-5), name


def test_no_training_data(tmp_path: Path) -> None:
    pairs = Pairs(tmp_path)
    pairs.write([{"question": "one", "label": "A"}, {"question": "two", "label": None}])
    with pytest.raises(InputError, match="judge judge: the pairs of people leave no labelled row to"):
        pairs.tune()
    tables.write(tables.empty(tables.PAIRS), tmp_path / "pairs.parquet", tables.PAIRS, {})
    with pytest.raises(InputError, match="leave no labelled row to train on"):
        pairs.tune()
    pd.DataFrame({"question": ["?"]}).to_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match="a pairs table needs the column"):
        pairs.tune()
    assert not (tmp_path / "judge").exists()
