"""Hidden states: independent of batch, padding and order, computed once, and resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from helpers.tiny_models import causal_lm, encoder

from bert_judge import tables
from bert_judge.assets.prepare import local_folder
from bert_judge.judges.probe.features import FeatureTable, extract_features
from bert_judge.judges.probe.hidden_states import HiddenStateExtractor, pool
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

POOLINGS = ["mean", "last", "min", "max"]
SPEC: dict[str, Any] = {
    "features": "tiny-0",
    "model": "m",
    "task": "t",
    "backbone": "tiny",
    "revision": None,
    "prompt": "Question: {question}\nAnswer: {candidate}\nGood?",
    "poolings": POOLINGS,
    "max_length": 64,
    "precision": "float32",
    "storage_dtype": "float32",
}
QUESTIONS = ["What is the capital of France?", "Why?", "Größe?", "", "東京?", "Why?"]
ANSWERS = ["Paris is it, said the fox", "because <s> [SEP]", "東京" * 300, "Paris", "London " * 8, ""]
KINDS = ["minilm", "llama", "qwen3", "gpt2", "bert", "eurobert", "modernbert", "roberta", "mpnet"]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    match request.param:
        case "minilm":
            found = local_folder("minilm")
            assert found is not None
            return found
        case "llama" | "qwen3" | "gpt2":
            return causal_lm(tmp_path_factory.mktemp("model"), request.param)
        case _:
            return encoder(tmp_path_factory.mktemp("model"), request.param)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return causal_lm(tmp_path_factory.mktemp("tiny"), "qwen3")


def test_states_do_not_depend_on_batches_or_order(folder: Path) -> None:
    together = HiddenStateExtractor(folder, SPEC).extract(QUESTIONS, ANSWERS)
    alone = HiddenStateExtractor(folder, SPEC, batch_tokens=1).extract(QUESTIONS[::-1], ANSWERS[::-1])
    np.testing.assert_allclose(together.states, alone.states[::-1], atol=1e-5)
    assert together.truncated.tolist() == alone.truncated.tolist()[::-1]
    assert together.truncated[2] and not together.truncated[0]
    assert together.tokens.max() == 64


def test_states_equal_a_forward_pass_without_padding(folder: Path) -> None:
    extractor = HiddenStateExtractor(folder, SPEC)
    found = extractor.extract(QUESTIONS, ANSWERS).states
    for row, prompt in enumerate(extractor._encoder.encode_prompts(QUESTIONS, ANSWERS)):
        with torch.inference_mode():
            hidden = extractor.model(input_ids=torch.tensor([prompt.ids]), output_hidden_states=True).hidden_states
        plain = [torch.stack([h[0].mean(0), h[0, -1], h[0].amin(0), h[0].amax(0)]).numpy() for h in hidden]
        np.testing.assert_allclose(found[row], np.stack(plain), atol=1e-5)


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_padding_side_does_not_matter(tmp_path: Path, architecture: str) -> None:
    extractor = HiddenStateExtractor(causal_lm(tmp_path, architecture), SPEC)
    prompts = extractor._encoder.encode_prompts(QUESTIONS, ANSWERS)
    longest = max(len(prompt.ids) for prompt in prompts)
    ids, mask = torch.zeros(len(prompts), longest, dtype=torch.long), torch.zeros(len(prompts), longest, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt.ids) :] = torch.tensor(prompt.ids)
        mask[row, longest - len(prompt.ids) :] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    left = extractor.pool_states({"input_ids": ids, "attention_mask": mask, "position_ids": positions})
    np.testing.assert_allclose(left.numpy(), extractor.extract(QUESTIONS, ANSWERS).states, atol=1e-5)


def test_states_of_padding_are_ignored() -> None:
    hidden = torch.randn(2, 5, 3)
    mask = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).bool()
    spoiled = torch.where(mask.unsqueeze(-1), hidden, torch.tensor(float("nan")))
    found = pool(spoiled, mask, POOLINGS)
    for row, real in enumerate((hidden[0, :3], hidden[1, 2:])):
        wanted = torch.stack([real.mean(0), real[-1], real.amin(0), real.amax(0)])
        torch.testing.assert_close(found[row], wanted)


def test_equal_texts_are_computed_once(tiny: Path) -> None:
    extractor = HiddenStateExtractor(tiny, SPEC, batch_tokens=1)
    passes = []
    extractor.model.register_forward_hook(lambda *_: passes.append(1))
    found = extractor.extract(["a", "b", "a"], ["x", "y", "x"])
    assert len(passes) == 2
    assert (found.states[0] == found.states[2]).all()


@pytest.mark.parametrize("candidate", ["<s>", "</s><|im_end|>", "[SEP]"])
def test_special_tokens_in_an_answer_are_plain_text(tiny: Path, candidate: str) -> None:
    extractor = HiddenStateExtractor(tiny, SPEC)
    tokenizer = extractor._encoder.tokenizer.source
    [prompt] = extractor._encoder.encode_prompts(["q"], [candidate])
    [other] = extractor._encoder.encode_prompts(["q"], ["plain"])
    special = set(tokenizer.all_special_ids)
    assert sum(token in special for token in prompt.ids) == sum(token in special for token in other.ids)


def test_too_long_template_is_an_error(tiny: Path) -> None:
    with pytest.raises(InputError, match="leaves no room for an answer in 16 tokens; raise max_length"):
        HiddenStateExtractor(tiny, {**SPEC, "max_length": 16, "prompt": "long " * 20 + "{candidate}"})


@pytest.mark.parametrize("broken", ["empty", "config"])
def test_folder_without_a_model_is_an_error(tmp_path: Path, broken: str) -> None:
    if broken == "config":
        (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"has no config.json|has no weights"):
        HiddenStateExtractor(tmp_path, SPEC)


def answers(path: Path, status: str = "ok") -> Path:
    frame = pd.DataFrame({"question": QUESTIONS, "candidate": ANSWERS, "model": "m", "status": "ok", "attempt": 0})
    frame["sample_id"] = [f"{row:016x}" for row in range(len(frame))]
    frame["references"] = [["r"]] * len(frame)
    frame.loc[1, "status"] = status
    more = dict.fromkeys(["reasoning", "reason", "prompt_tokens", "completion_tokens"])
    tables.write(frame.assign(**more), path, tables.CANDIDATES, {})
    return path


@pytest.mark.parametrize("storage_dtype", ["float32", "float16"])
def test_table_contains_the_states(tmp_path: Path, tiny: Path, storage_dtype: str) -> None:
    spec = {**SPEC, "storage_dtype": storage_dtype}
    extractor = HiddenStateExtractor(tiny, spec)
    path = answers(tmp_path / "c.parquet", status="error")
    extract_features(spec, path, tmp_path / "f.parquet", extractor, "rev", tmp_path / "work", batch_bytes=2 * extractor.row_bytes)
    table, wanted = FeatureTable(tmp_path / "f.parquet"), extractor.extract(QUESTIONS, ANSWERS).states.astype("float32")
    assert (table.layers, table.poolings, len(table.keys)) == (3, POOLINGS, len(ANSWERS))
    kept = [0, 2, 3, 4, 5]
    for layer in range(3):
        for place, pooling in enumerate(POOLINGS):
            np.testing.assert_allclose(table.states(layer, pooling)[kept], wanted[kept, layer, place], atol=1e-5, rtol=1e-3)
    assert np.isnan(table.states(0, "mean")[1]).all()
    np.testing.assert_array_equal(table.states(1, "concat")[kept][:, :64], table.states(1, "mean")[kept])
    assert table.states(1, "concat").shape == (len(ANSWERS), 4 * 64)
    assert tables.provenance(tmp_path / "f.parquet")["revisions"] == {"tiny": "rev"}
    assert not (tmp_path / "work").exists()


def test_empty_candidate_table(tmp_path: Path, tiny: Path) -> None:
    tables.write(tables.empty(tables.CANDIDATES), tmp_path / "c.parquet", tables.CANDIDATES, {})
    extract_features(
        SPEC, tmp_path / "c.parquet", tmp_path / "f.parquet", HiddenStateExtractor(tiny, SPEC), "rev", tmp_path / "work"
    )
    assert FeatureTable(tmp_path / "f.parquet").states(2, "last").shape == (0, 64)


def test_killed_job_resumes(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor, computed = HiddenStateExtractor(tiny, SPEC), []
    path, extract = answers(tmp_path / "c.parquet"), HiddenStateExtractor.extract

    def kill_at_fifth(self: HiddenStateExtractor, questions: list[str], candidates: list[str]) -> Any:
        if len(computed) == 4:
            raise KeyboardInterrupt
        computed.extend(candidates)
        return extract(self, questions, candidates)

    monkeypatch.setattr(HiddenStateExtractor, "extract", kill_at_fifth)
    job = (SPEC, path, tmp_path / "f.parquet", extractor, "rev", tmp_path / "work", 2 * extractor.row_bytes)
    with pytest.raises(KeyboardInterrupt):
        extract_features(*job)
    assert not (tmp_path / "f.parquet").exists()
    monkeypatch.setattr(HiddenStateExtractor, "extract", lambda self, q, c: computed.extend(c) or extract(self, q, c))
    extract_features(*job)
    assert sorted(computed) == sorted(ANSWERS)
    assert len(FeatureTable(tmp_path / "f.parquet").keys) == len(ANSWERS)


@pytest.mark.parametrize("change", [{"prompt": "{candidate}"}, {"max_length": 32}])
def test_shards_of_another_prompt_are_not_reused(tmp_path: Path, tiny: Path, change: dict[str, Any]) -> None:
    path, work = answers(tmp_path / "c.parquet"), tmp_path / "work"
    extractor = HiddenStateExtractor(tiny, SPEC)
    states = extractor.extract(["q"], ["a"]).states[0]
    resume.save_shard(work / "00000", {"f" * 32: {"states": states.tobytes(), "truncated": False, "tokens": 1}})
    spec = {**SPEC, **change}
    extract_features(spec, path, tmp_path / "f.parquet", HiddenStateExtractor(tiny, spec), "rev", work)
    other = HiddenStateExtractor(tiny, spec).extract(QUESTIONS, ANSWERS).states
    np.testing.assert_allclose(FeatureTable(tmp_path / "f.parquet").states(1, "mean"), other[:, 1, 0], atol=1e-5)


def test_other_file_is_an_error(tmp_path: Path) -> None:
    tables.write(tables.empty(tables.CANDIDATES), tmp_path / "c.parquet", tables.CANDIDATES, {})
    with pytest.raises(InputError, match="not a table of hidden states"):
        FeatureTable(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="not a readable parquet file"):
        FeatureTable(tmp_path / "d.parquet")
    assert pq.read_schema(tmp_path / "c.parquet").names
