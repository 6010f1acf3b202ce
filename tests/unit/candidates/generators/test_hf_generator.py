"""The transformers generator on tiny random models: templates, padding, batches, limits, sampling, failures."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import tiny_models
from tokenizers.processors import ByteLevel
from transformers.generation import GenerateDecoderOnlyOutput

from bert_judge.assets.prepare import Manifest, load_manifest, prepare
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.protocol import Request
from bert_judge.config import HFModel
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

PROMPTS = [
    "What is the capital of France?",
    "Hi",
    "A train leaves the station at noon and travels 60 kilometres in an hour; how far does it go in 3 hours? " * 2,
    "東京は日本の首都です。",
    "Which planet is the largest? A) Mars B) Jupiter",
]


def request(prompt: str, name: str = "s0", attempt: int = 0) -> Request:
    return Request(name, attempt, prompt, Sample(prompt, ("Paris",)))


def requests(prompts: list[str] = PROMPTS) -> list[Request]:
    return [request(prompt, f"s{number}") for number, prompt in enumerate(prompts)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folders: dict[str, Path] = {}

    def make(architecture: str = "llama", **options: Any) -> Path:
        key = f"{architecture}{sorted(options.items())}"
        if key not in folders:
            folders[key] = tiny_models.causal_lm(tmp_path_factory.mktemp("model"), architecture, **options)
        return folders[key]

    return make


def generator(path: Path, batch_tokens: int | None = None, **settings: Any) -> HFGenerator:
    block = HFModel(generator="hf", model=str(path), **{"dtype": "float32", "max_new_tokens": 12, **settings})
    return HFGenerator("tiny", block.model_dump(mode="json"), Manifest(str(path), "local:1", path, ()), batch_tokens)


def replying(hf: HFGenerator, text: str) -> Callable[..., GenerateDecoderOnlyOutput]:
    """Replace `generate` by one that replies with a text in every row."""
    ids = hf.loaded.tokenizer(text, add_special_tokens=False)["input_ids"]

    def generate(input_ids: torch.Tensor, **_: Any) -> GenerateDecoderOnlyOutput:
        sequences = torch.cat([input_ids, torch.tensor([ids] * len(input_ids), dtype=torch.long)], dim=1)
        return GenerateDecoderOnlyOutput(sequences=sequences)

    return generate


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9}])
def test_batches_do_not_change_answers(folder: Callable[..., Path], architecture: str, sampling: dict[str, float]) -> None:
    hf = generator(folder(architecture), **sampling)
    together = hf.generate(requests())
    alone = [hf.generate([one])[0] for one in requests()]
    assert together == alone
    assert hf.generate(requests()[::-1]) == together[::-1]
    assert len({answer.text for answer in together}) > 1


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9}])
def test_finished_rows_leave_the_batch(folder: Callable[..., Path], sampling: dict[str, float]) -> None:
    """With every eighth token an end token, answers have different lengths."""
    hf = generator(folder(), max_new_tokens=24, **sampling)
    eos_ids = range(0, len(hf.loaded.tokenizer), 8)
    hf.loaded = replace(hf.loaded, eos_ids=frozenset(eos_ids))
    hf.loaded.model.generation_config.eos_token_id = list(eos_ids)
    genuine, sizes = hf.loaded.model.generate, []

    def watched(input_ids: torch.Tensor, **rest: Any) -> GenerateDecoderOnlyOutput:
        sizes.append(len(input_ids))
        return genuine(input_ids=input_ids, **rest)

    hf.loaded.model.generate = watched
    together = hf.generate(requests())
    assert sizes[0] == len(PROMPTS) > sizes[-1]
    assert len({answer.completion_tokens for answer in together}) > 2
    assert together == [hf.generate([one])[0] for one in requests()]
    hf.can_drop_rows = False
    assert hf.generate(requests()) == together


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2"])
def test_padding_does_not_change_tokens(folder: Callable[..., Path], architecture: str) -> None:
    """Against a forward pass per token, without padding, mask, cache or `generate`."""
    hf = generator(folder(architecture), max_new_tokens=8)
    short, long = hf.generate(requests([PROMPTS[1], PROMPTS[2]]))
    for answer, prompt in ((short, PROMPTS[1]), (long, PROMPTS[2])):
        ids, _ = hf.encoder.encode(prompt)
        said: list[int] = []
        while len(said) < 8 and not (said and said[-1] in hf.loaded.eos_ids):
            with torch.inference_mode():
                said.append(int(hf.loaded.model(torch.tensor([ids + said])).logits[0, -1].argmax()))
        assert answer.completion_tokens == len(said)
        visible = [token for token in said if token not in hf.decoder.hidden_ids]
        assert answer.text == hf.loaded.tokenizer.decode(visible).strip()


@pytest.mark.parametrize("template", [tiny_models.CHAT_TEMPLATE, None])
def test_single_bos_token(folder: Callable[..., Path], template: str | None) -> None:
    hf = generator(folder(template=template))
    ids, _ = hf.encoder.encode("Hi")
    assert ids.count(hf.loaded.tokenizer.bos_token_id) == 1
    assert ids[0] == hf.loaded.tokenizer.bos_token_id
    assert hf.generate([request("Hi")])[0].prompt_tokens == len(ids)


def test_rendered_prompts(folder: Callable[..., Path]) -> None:
    def text(hf: HFGenerator) -> str:
        return hf.loaded.tokenizer.decode(hf.encoder.encode("Hi")[0])

    chat = "<s><|im_start|>system\nBe brief<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert text(generator(folder(), system="Be brief")) == chat
    assert text(generator(folder(template=None), system="Be brief")) == "<s>Be brief\n\nHi"
    assert text(generator(folder(), thinking=True)).endswith("assistant\n<think>\n")
    assert text(generator(folder(), thinking=False)).endswith("<think>\n\n</think>\n\n")


@pytest.mark.parametrize(
    ("settings", "said", "expected"),
    [
        ({}, "Paris.<|im_end|>", ("Paris.", "ok", None)),
        ({}, "Paris.<|im_end|><pad><pad>", ("Paris.", "ok", None)),
        ({}, "Par", ("Par", "truncated", None)),
        ({}, "<|im_end|>", ("", "empty", None)),
        ({}, " \n<|im_end|>", ("", "empty", None)),
        ({}, "<|im_start|>Paris<|im_end|>", ("Paris", "ok", None)),
        ({}, "<think>hm</think>Paris<|im_end|>", ("Paris", "ok", "hm")),
        ({}, "<think>hm</think>Par", ("Par", "truncated", "hm")),
        ({}, "<think>hm</think><|im_end|>", ("", "empty", "hm")),
        ({}, "<think>hm, Paris", ("", "truncated", "hm, Paris")),
        ({}, "<think>hm, Paris<|im_end|>", ("", "truncated", "hm, Paris")),
        ({"thinking": True}, "hm, Paris", ("", "truncated", "hm, Paris")),
        ({"thinking": True}, "a</think>b</think>Paris<|im_end|>", ("Paris", "ok", "a</think>b")),
        ({"thinking": False}, "Paris<|im_end|>", ("Paris", "ok", None)),
        ({"reasoning_end": "<|im_start|>final"}, "hm<|im_start|>final Paris<|im_end|>", ("Paris", "ok", "hm")),
    ],
)
def test_status_of_a_completion(
    folder: Callable[..., Path], settings: dict[str, Any], said: str, expected: tuple[str, str, str | None]
) -> None:
    hf = generator(folder(), **settings)
    hf.loaded.model.generate = replying(hf, said)
    answer = hf.generate([request("Hi")])[0]
    assert (answer.text, answer.status, answer.reasoning) == expected


def test_completion_tokens_include_the_end_token(folder: Callable[..., Path]) -> None:
    hf = generator(folder())
    hf.loaded.model.generate = replying(hf, "A<|im_end|><pad><pad>")
    assert hf.generate([request("Hi")])[0].completion_tokens == 2


def test_too_long_prompts_are_errors(folder: Callable[..., Path], caplog: pytest.LogCaptureFixture) -> None:
    hf = generator(folder("gpt2", window=64), max_new_tokens=40)
    sizes = [len(hf.encoder.encode("a b" + " b" * n)[0]) for n in range(80)]
    prompts = ["a b" + " b" * sizes.index(size) for size in (20, 24, 40, 63, 64)]
    caplog.set_level(logging.WARNING)
    answers = hf.generate(requests(prompts))
    assert [a.status for a in answers].count("error") == 1
    assert (answers[-1].status, answers[-1].reason) == (
        "error",
        "the prompt leaves no room for an answer in the model's context of 64 tokens",
    )
    assert answers[-1].text == ""
    assert answers[-1].prompt_tokens == 64
    assert [a.completion_tokens for a in answers if a.status == "truncated"] == [
        min(40, 64 - (a.prompt_tokens or 0)) for a in answers if a.status == "truncated"
    ]
    assert answers == [hf.generate([one])[0] for one in requests(prompts)]
    assert "1 of 5 prompts" in caplog.text


def test_no_requests(folder: Callable[..., Path]) -> None:
    assert generator(folder()).generate([]) == []


@pytest.mark.parametrize("prompt", ["\ud800", ""])
def test_invalid_prompt_text(folder: Callable[..., Path], prompt: str) -> None:
    hf = generator(folder("gpt2", template=None))
    # A tokenizer such as GPT-2's own, which puts nothing before a text.
    hf.loaded.tokenizer.backend_tokenizer.post_processor = ByteLevel()
    broken, good = hf.generate([request(prompt), request("Hi")])
    assert (broken.status, broken.text) == ("error", "")
    assert broken.reason
    assert good.status != "error"


def test_sampling_depends_on_seed_and_attempt(folder: Callable[..., Path]) -> None:
    path = folder()
    one = generator(path, temperature=1.0)
    asked = [request("Hi", "s", attempt) for attempt in range(4)]
    texts = [answer.text for answer in one.generate(asked)]
    assert len(set(texts)) > 1
    assert texts == [answer.text for answer in generator(path, temperature=1.0).generate(asked)]
    assert texts != [answer.text for answer in generator(path, temperature=1.0, seed=1).generate(asked)]


def test_published_sampling_settings_are_ignored(folder: Callable[..., Path], tmp_path: Path) -> None:
    plain = folder()
    for file in plain.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "generation_config.json").write_text(
        '{"do_sample": true, "temperature": 0.6, "top_k": 5, "repetition_penalty": 3.0, "eos_token_id": [2], "pad_token_id": 0}'
    )
    asked = requests()
    assert generator(tmp_path).generate(asked) == generator(plain).generate(asked)


def test_out_of_memory_halves_the_batch_permanently(folder: Callable[..., Path]) -> None:
    hf = generator(folder())
    expected = hf.generate(requests())
    genuine, sizes = hf.loaded.model.generate, []

    def cramped(input_ids: torch.Tensor, **rest: Any) -> GenerateDecoderOnlyOutput:
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("no room")
        return genuine(input_ids=input_ids, **rest)

    hf.loaded.model.generate = cramped
    assert hf.generate(requests()) == expected
    assert sizes[0] == 5
    sizes.clear()
    assert hf.generate(requests()) == expected
    assert max(sizes) < 5


def test_failing_row_does_not_affect_others(folder: Callable[..., Path]) -> None:
    hf = generator(folder())
    expected = hf.generate(requests())
    genuine, marked = hf.loaded.model.generate, len(hf.encoder.encode(PROMPTS[0])[0])

    def picky(attention_mask: torch.Tensor, past_key_values: Any, **rest: Any) -> GenerateDecoderOnlyOutput:
        if past_key_values is None and marked in attention_mask.sum(dim=1).tolist():
            raise RuntimeError("cannot do this one")
        return genuine(attention_mask=attention_mask, past_key_values=past_key_values, **rest)

    hf.loaded.model.generate = picky
    answers = hf.generate(requests())
    assert (answers[0].status, answers[0].text) == ("error", "")
    assert answers[1:] == expected[1:]


def test_device_error_ends_the_job(folder: Callable[..., Path]) -> None:
    hf = generator(folder())

    def broken(**_: Any) -> GenerateDecoderOnlyOutput:
        raise torch.AcceleratorError("device-side assert")

    hf.loaded.model.generate = broken
    with pytest.raises(torch.AcceleratorError):
        hf.generate(requests())


def test_batches_respect_the_token_limit(folder: Callable[..., Path]) -> None:
    hf = generator(folder(), batch_tokens=100)
    genuine, areas = hf.loaded.model.generate, []

    def watched(input_ids: torch.Tensor, max_new_tokens: int, **rest: Any) -> GenerateDecoderOnlyOutput:
        rows, width = input_ids.shape
        areas.append((rows, rows * (width + max_new_tokens)))
        return genuine(input_ids=input_ids, max_new_tokens=max_new_tokens, **rest)

    hf.loaded.model.generate = watched
    hf.generate(requests())
    assert all(rows == 1 or area <= 100 for rows, area in areas)
    assert max(rows for rows, _ in areas) > 1


def test_prepared_model(folder: Callable[..., Path], tmp_path: Path) -> None:
    path = folder()
    prepare({"repository": str(path), "revision": None, "remote_code": False}, tmp_path / "manifest.json")
    manifest = load_manifest(tmp_path / "manifest.json")
    settings = HFModel(generator="hf", model=str(path), dtype="float32", max_new_tokens=12).model_dump(mode="json")
    hf = HFGenerator("tiny", settings, manifest)
    assert hf.revisions == {"tiny": manifest.revision}
    assert hf.generate(requests()) == generator(path).generate(requests())


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        ({"template": None}, {"thinking": True}, "models.tiny.thinking: the model's chat template has no such switch"),
        ({"template": "{{ messages[0].content }}"}, {"thinking": False}, "models.tiny.thinking"),
        (
            {"template": "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}x"},
            {"system": "Be brief"},
            "rejects the prompt: no system role; remove `system`",
        ),
    ],
)
def test_settings_that_do_not_fit_the_model(
    folder: Callable[..., Path], options: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        generator(folder(**options), **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folder_without_language_model(tmp_path: Path) -> None:
    encoder = tiny_models.encoder(tmp_path / "encoder", "bert")
    with pytest.raises(InputError, match=r"its weights lack .* tensors of a causal language model"):
        generator(encoder)


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.json", b'{"model_type": "no_such_type"}'), ("model.safetensors", b""), ("model.safetensors", b"\x90\x01" + b" " * 9)],
    ids=["unknown type", "no weights", "cut weights"],
)
def test_broken_folder(tmp_path: Path, name: str, content: bytes) -> None:
    broken = tiny_models.causal_lm(tmp_path / "broken")
    (broken / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be loaded as a causal language model") as caught:
        generator(broken)
    assert "\n" not in str(caught.value)


CHOICES = ("correct", "incorrect", "größer")


def likelihood(hf: HFGenerator, prompt: str, choice: str) -> float:
    """A choice's log-likelihood, token by token, without padding or batch."""
    ids, _ = hf.encoder.encode(prompt)
    total = 0.0
    for token in hf.loaded.tokenizer(choice, add_special_tokens=False)["input_ids"]:
        with torch.inference_mode():
            total += float(hf.loaded.model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)[token])
        ids = [*ids, token]
    return total


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2"])
def test_choices_are_scored_by_all_their_tokens(folder: Callable[..., Path], architecture: str) -> None:
    hf = generator(folder(architecture))
    asked = [replace(one, choices=CHOICES) for one in requests()]
    # Free and constrained requests in one call.
    answers = hf.generate([*asked, request("Hi")])
    assert answers[-1] == hf.generate([request("Hi")])[0]
    for answer, one in zip(answers, asked, strict=False):
        expected = torch.softmax(torch.tensor([likelihood(hf, one.prompt, choice) for choice in CHOICES]), 0).tolist()
        assert answer.choice_probabilities == pytest.approx(dict(zip(CHOICES, expected, strict=True)), abs=1e-4)
        assert answer.text == CHOICES[expected.index(max(expected))]
        assert answer.status == "ok"
        assert answer.completion_tokens == len(hf.loaded.tokenizer(answer.text, add_special_tokens=False)["input_ids"])
    assert generator(folder(architecture), batch_tokens=1).generate(asked)[0].text == answers[0].text


def test_choice_without_thinking(folder: Callable[..., Path]) -> None:
    one, other = generator(folder(), thinking=True), generator(folder())
    closed = one.encoder.encode("Hi")[0] + one.encoder.tokenize("</think>\n\n")
    found = one.generate([replace(request("Hi"), choices=CHOICES)])[0]
    assert found.prompt_tokens == len(closed)
    assert found.choice_probabilities != other.generate([replace(request("Hi"), choices=CHOICES)])[0].choice_probabilities


def test_choice_that_does_not_fit(folder: Callable[..., Path]) -> None:
    hf = generator(folder("gpt2", window=64), max_new_tokens=40)
    prompt = next("a b" + " b" * n for n in range(80) if len(hf.encoder.encode("a b" + " b" * n)[0]) == 63)
    assert hf.generate([request(prompt)])[0].status != "error"
    assert hf.generate([replace(request(prompt), choices=("one token", "and several more"))])[0].status == "error"


def test_sigterm_keeps_finished_batches(folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    hf = generator(folder(), batch_tokens=1)
    whole = hf.generate(requests())
    finished: list[int] = []
    complete = hf._completion
    monkeypatch.setattr(hf, "_completion", lambda prompt, row: finished.append(prompt.index) or complete(prompt, row))
    monkeypatch.setattr(resume, "stop_requested", lambda: len(finished) >= 2)
    with pytest.raises(resume.Stopped) as early:
        hf.generate(requests())
    assert early.value.results == {place: whole[place] for place in finished}
    assert len(finished) == 2
