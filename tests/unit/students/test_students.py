"""Encoding of filtered answers and training of students."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import tiny_models
from safetensors.torch import load_file
from transformers import AutoTokenizer, Trainer

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.candidates.generators import make_generator
from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.generators.tokenization import PromptEncoder
from bert_judge.config import Tuning
from bert_judge.runtime.errors import InputError
from bert_judge.students.train import encode_dialogue, encode_examples, train_student
from bert_judge.tasks import Sample

SETTINGS = {"dtype": "float32", "system": None, "thinking": None, "reasoning_end": "</think>", "trust_remote_code": False}
# As Qwen3 writes the last turn: with an empty reasoning block that the prompt lacks.
THOUGHTFUL = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# A turn that has ended looks otherwise than one that begins.
FICKLE = "{% if add_generation_prompt %}Q: {{ messages[0].content }} A:{% else %}{{ messages[0].content }}{% endif %}"


def encoder_of(template: str | None) -> PromptEncoder:
    tokenizer = tiny_models.bpe_tokenizer(bos="<s>", eos="<|im_end|>", template=template)
    return PromptEncoder("m", tokenizer, {"system": None, "thinking": None, "reasoning_end": "</think>"})


@pytest.mark.parametrize(
    ("template", "prompt", "answer"),
    [
        (None, "<s>Wie groß?", "\nGröße 7<|im_end|>"),
        (
            tiny_models.CHAT_TEMPLATE,
            "<s><|im_start|>user\nWie groß?<|im_end|>\n<|im_start|>assistant\n",
            "Größe 7<|im_end|>",
        ),
        (
            THOUGHTFUL,
            "<|im_start|>user\nWie groß?<|im_end|>\n<|im_start|>assistant\n",
            "<think>\n\n</think>\n\nGröße 7<|im_end|>",
        ),
        (FICKLE, "Q: Wie groß? A:", "Größe 7<|im_end|>"),
    ],
    ids=["plain", "chat", "empty reasoning", "no common beginning"],
)
def test_completion_ends_with_the_turn(template: str | None, prompt: str, answer: str) -> None:
    encoder = encoder_of(template)
    example = encode_dialogue(encoder, frozenset({encoder.tokenizer.eos_token_id}), "Wie groß?", "Größe 7")
    decode = encoder.tokenizer.decode
    assert (decode(example.prompt), decode(example.completion)) == (prompt, answer)
    assert example.prompt == encoder.encode("Wie groß?")[0]


def test_too_long_answers_are_left_out_and_counted() -> None:
    encoder = encoder_of(None)
    pairs = [("Q?", "long " * 200), ("Q?", "7"), ("Q? " * 300, "7")]
    found, left_out = encode_examples(encoder, frozenset(), pairs, 60)
    assert (len(found), left_out) == (1, 2)
    with pytest.raises(InputError, match="none of 1 texts fits into 5 tokens"):
        encode_examples(encoder, frozenset(), pairs[:1], 5)


class School:
    """A base model and answers to learn from, in a folder."""

    def __init__(self, folder: Path, architecture: str = "llama", template: str | None = tiny_models.CHAT_TEMPLATE) -> None:
        self.folder = folder
        self.base = tiny_models.causal_lm(folder / "base", architecture, template=template, window=128)
        prepare({"repository": str(self.base), "revision": None, "remote_code": False}, folder / "base.json")
        rows = [
            {
                "sample_id": f"{number:016x}",
                "attempt": 0,
                "task": "t",
                "model": "m",
                "question": f"Wie groß ist {number}?",
                "references": ["Größe"],
                "candidate": "Größe Ω",
                "score": 1.0,
            }
            for number in range(24)
        ]
        self.answers = pd.DataFrame(rows)
        tables.write(self.answers, folder / "answers.parquet", tables.FILTERED, {})

    def train(self, name: str = "student", **training: Any) -> Path:
        settings = Tuning.model_validate({"epochs": 8, "batch_size": 8, "learning_rate": 1e-2, "warmup_ratio": 0.0, **training})
        spec = {
            "student": name,
            "settings": SETTINGS,
            "training": settings.model_dump(exclude=set(Tuning.run_time)),
            "prompt_style": "free",
            "families": {"t": "math"},
            "filter": {"filter": "f", "judge": "random", "keep": 50.0, "tables": [["m", "t"]]},
        }
        run_time = settings.model_dump(include=set(Tuning.run_time))
        paths = self.folder / "answers.parquet", self.folder / "base.json", self.folder / name, self.folder / f".work-{name}"
        train_student(spec, *paths[:3], work_folder=paths[3], run_time=run_time)
        return paths[2]

    def says(self, student: Path) -> str:
        """The student's answer to a question that it has not seen."""
        settings = {**SETTINGS, "generator": "student", "max_new_tokens": 20, "temperature": 0.0, "top_p": 1.0, "seed": 0}
        generator = make_generator("student", settings, student / "manifest.json")
        return generator.generate([Request("x", 0, "Wie groß ist 99?", Sample("?", ("",), "text"))])[0].text


@pytest.mark.parametrize(
    ("architecture", "template", "training"),
    [
        ("qwen3", None, {"gradient_checkpointing": True}),
        ("llama", tiny_models.CHAT_TEMPLATE, {"method": "full", "micro_batch_size": 4}),
    ],
    ids=["qwen3, LoRA, saving memory", "llama, all weights, in halves"],
)
def test_student_replies_as_trained(tmp_path: Path, architecture: str, template: str | None, training: dict[str, Any]) -> None:
    school = School(tmp_path, architecture, template)
    student = school.train(epochs=30, **training)
    assert school.says(student).strip() == "Größe Ω"
    made = {path.name for path in student.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "metrics.json", "README.md", "manifest.json"} <= made
    # An ordinary model: nothing of the adapter is left.
    assert load_file(student / "model.safetensors").keys() == load_file(school.base / "model.safetensors").keys()
    metrics = json.loads((student / "metrics.json").read_text())
    assert (metrics["answers"], metrics["left_out"], metrics["training"]["steps"]) == (24, 0, 90)
    assert metrics["training"]["loss"] < 4
    card = (student / "README.md").read_text()
    assert "50% of them, drawn at random" in card and str(school.base) in card
    assert AutoTokenizer.from_pretrained(student).chat_template == template
    assert not (tmp_path / ".work-student").exists()


def test_manifest_depends_on_the_weights_only(tmp_path: Path) -> None:
    school = School(tmp_path)
    one, other = (load_manifest(school.train(name, epochs=1) / "manifest.json") for name in ("a", "b"))
    assert one.revision == other.revision
    assert {"model.safetensors", "config.json"} <= {file.name for file in one.files}
    assert not {"metrics.json", "manifest.json"} & {file.name for file in one.files}
    assert load_manifest(school.train("a", epochs=1, seed=1) / "manifest.json").revision != one.revision


def test_training_resumes_after_sigterm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        # A process of its own: the signal ended workers of xdist that had run many other tests.
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"{__file__}::test_training_resumes_after_sigterm"]
        assert subprocess.run(command, env=variables, check=False).returncode == 0
        return
    school = School(tmp_path)
    undisturbed = load_file(school.train("undisturbed") / "model.safetensors")
    step = Trainer.training_step
    steps: list[int] = []

    def counted(self: Trainer, *arguments: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, *arguments, **options)

    monkeypatch.setattr(Trainer, "training_step", counted)
    with pytest.raises(SystemExit):
        school.train("stopped")
    assert len(steps) == 7
    assert not (tmp_path / "stopped").exists()
    weights = load_file(school.train("stopped") / "model.safetensors")
    assert len(steps) == 24
    # The names of a run differ and nothing else, so the cards do and the weights do not.
    for name, values in weights.items():
        assert values.numpy() == pytest.approx(undisturbed[name].numpy(), abs=1e-5), name


def test_no_training_data(tmp_path: Path) -> None:
    school = School(tmp_path)
    tables.write(tables.empty(tables.FILTERED), tmp_path / "answers.parquet", tables.FILTERED, {})
    with pytest.raises(InputError, match=r"answers\.parquet: no answer to train on"):
        school.train()
    pd.DataFrame({"question": ["?"]}).to_parquet(tmp_path / "answers.parquet")
    with pytest.raises(InputError, match="a filtered table needs the column"):
        school.train()
    assert not (tmp_path / "student").exists()
