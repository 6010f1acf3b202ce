"""Fine-tuned language models as judges: prompts, calibration, training, resuming and loading."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tiny_models
from helpers.trainings import ROW, train
from transformers import AutoTokenizer

from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.judges.fine_tuned import Calibration, PromptWriter, explanation, parse_explanation, use_bare_prompts
from bert_judge.judges.llm.fine_tuned import DEFAULTS, FineTunedJudge, write_example
from bert_judge.judges.prompted import RenderedCandidate
from bert_judge.judges.protocol import Row
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    tiny_models.causal_lm(folder / "model")
    prepare({"repository": str(folder / "model"), "revision": None, "remote_code": False}, folder / "base.json")
    return folder / "base.json"


@pytest.fixture(scope="module")
def writer(base: Path) -> PromptWriter:
    tokenizer = AutoTokenizer.from_pretrained(load_manifest(base).path)
    use_bare_prompts(tokenizer)
    return PromptWriter(tokenizer, 128)


@pytest.fixture(scope="module")
def judge(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("trained"), base)


def test_a_judge_is_a_folder_that_scores(judge: Path) -> None:
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json", "judge.json", "README.md", "metrics.json"} <= {
        path.name for path in judge.iterdir()
    }
    loaded = FineTunedJudge.load(judge, "mine", DEFAULTS)
    labels = loaded.judge([ROW, Row("e", 0, "m", "Q", ("x",), " ")])
    assert 0 < (labels[0].score or 0) < 1 and labels[1].verdict == "incorrect"
    # A row is judged alike whatever shares its batch.
    others = [Row(f"o{n}", 0, "m", "Q " * n, ("Rome",), "Oslo " * n) for n in range(1, 9)]
    assert loaded.judge([*others, ROW])[-1].score == pytest.approx(labels[0].score, abs=1e-3)
    metrics = json.loads((judge / "metrics.json").read_text())
    assert metrics["validation"]["n"] == 16 and metrics["training"]["steps"] == 16
    # The adapter names no folder of this machine but the base model's own name.
    adapter = json.loads((judge / "adapter_config.json").read_text())
    assert adapter["base_model_name_or_path"] == load_base(judge)["base"]
    # What vLLM reads: low-rank matrices only, of a rank that it takes by default, and the template of the prompts.
    assert (adapter["peft_type"], adapter["bias"], adapter["modules_to_save"], adapter["use_dora"]) == ("LORA", "none", None, False)
    assert adapter["r"] <= 16 and AutoTokenizer.from_pretrained(judge).chat_template


def test_a_judge_explains_after_its_verdict_if_its_data_did(base: Path, tmp_path: Path) -> None:
    """It has learned the reasons by heart; without reasoning it writes its verdict only, with the same score."""
    folder = train(tmp_path / "t", base, rows=16, rationales=True, epochs=24.0)
    fast, explained = (FineTunedJudge.load(folder, "mine", DEFAULTS | {"reasoning": reasoning}) for reasoning in (False, True))
    [short], [long] = fast.judge([ROW]), explained.judge([ROW])
    assert short.reason == "probability of the verdict" and long.score == short.score
    assert "capital is" in (long.reason or "") and (long.completion_tokens or 0) > 4 + (short.completion_tokens or 0)


def load_base(judge: Path) -> dict[str, Any]:
    return dict(json.loads((judge / "judge.json").read_text()))


def test_a_killed_training_resumes_with_the_same_adapter(base: Path, judge: Path, tmp_path: Path, monkeypatch: Any) -> None:
    steps = iter(range(100))
    with monkeypatch.context() as patched:
        patched.setattr(resume, "stop_requested", lambda: next(steps) >= 5)
        with pytest.raises(SystemExit):
            train(tmp_path / "killed", base)
    assert not (tmp_path / "killed" / "judge" / "judge.json").exists()
    resumed = train(tmp_path / "killed", base)
    for name in ("adapter_model.safetensors", "judge.json"):
        assert (resumed / name).read_bytes() == (judge / name).read_bytes()


@pytest.mark.parametrize("training", [{"merge": True}, {"method": "full", "learning_rate": 1e-3}], ids=["merged", "full"])
def test_complete_weights_need_no_base(base: Path, tmp_path: Path, training: dict[str, Any]) -> None:
    folder = train(tmp_path / "t", base, rows=8, **training)
    assert not (folder / "adapter_config.json").exists()
    raw = load_base(folder) | {"base": "nobody/nothing"}
    (folder / "judge.json").write_text(json.dumps(raw))
    assert 0 < (FineTunedJudge.load(folder, "mine", DEFAULTS).judge([ROW])[0].score or 0) < 1


def test_another_base_is_refused(judge: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(judge, tmp_path / "copy"))
    other = tiny_models.causal_lm(tmp_path / "other", seed=1)
    (folder / "judge.json").write_text(json.dumps(load_base(folder) | {"base": str(other)}))
    with pytest.raises(InputError, match="other weights"):
        FineTunedJudge.load(folder, "mine", DEFAULTS)


# --- prompts ---


def candidate(text: str) -> RenderedCandidate:
    return RenderedCandidate(text, False, "0123456789abcdef")


def test_a_long_answer_loses_its_middle(writer: PromptWriter) -> None:
    answer = "first " + "middle " * 500 + "last"
    prompt, is_cut = writer.write("What is it?", ["a train"], {"Candidate": candidate(answer)})
    assert is_cut and len(writer.tokenizer(prompt)["input_ids"]) <= 128
    assert prompt.startswith("Question:\nWhat is it?\n\nReference:\na train\n") and prompt.endswith("last\n</0123>\n\nVerdict:\n")
    assert "<0123>\nfirst" in prompt and "[…]" in prompt


def test_long_references_do_not_push_the_answer_out(writer: PromptWriter) -> None:
    prompt, is_cut = writer.write("What? " * 100, ["a train " * 300, "a bus"], {"Candidate": candidate("Jupiter")})
    assert is_cut and len(writer.tokenizer(prompt)["input_ids"]) <= 128
    assert "<0123>\nJupiter\n</0123>" in prompt and "2. a bus" in prompt


def test_a_short_prompt_is_whole(writer: PromptWriter) -> None:
    prompt, is_cut = writer.write("Q?", [], {"Answer A": candidate("x"), "Answer B": candidate("y")})
    assert not is_cut
    assert prompt == "Question:\nQ?\n\nAnswer A:\n<0123>\nx\n</0123>\n\nAnswer B:\n<0123>\ny\n</0123>\n\nVerdict:\n"


@pytest.mark.parametrize(
    ("grades", "reason", "parsed"),
    [
        ([8.0], "Good.", ({"grade": 8.0}, "Good.")),
        ([8.5, 6.0], "A is better.\nReally.", ({"grade_a": 8.5, "grade_b": 6.0}, "A is better.\nReally.")),
        ([None], "Only words.", (None, "Only words.")),
        ([3.0], None, ({"grade": 3.0}, "")),
        ([float("nan"), 4.0], float("nan"), ({"grade": 4.0}, "")),
    ],
)
def test_explanations_are_parsed_as_written(grades: list[float | None], reason: str | None, parsed: Any) -> None:
    assert parse_explanation(explanation(grades, reason)) == parsed


# --- calibration ---


def test_calibration_recovers_slope_and_offset() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=20_000) * 2
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    log_probabilities = -np.logaddexp(0, np.stack([-logits, logits], axis=1))
    fitted = Calibration.fit(log_probabilities, np.stack([truth, ~truth], axis=1).astype(float))
    assert fitted.slope == pytest.approx(0.5, abs=0.05) and fitted.offset == pytest.approx(1, abs=0.1)
    assert fitted(log_probabilities)[:, 0].mean() == pytest.approx(truth.mean(), abs=0.01)


def test_calibration_of_pairs_is_symmetric() -> None:
    probabilities = np.log([[0.7, 0.1, 0.2], [0.1, 0.7, 0.2]])
    calibrated = Calibration(0.7, 0.4)(probabilities)
    np.testing.assert_allclose(calibrated[0], calibrated[1][[1, 0, 2]])


@pytest.mark.parametrize(
    ("label", "aspects", "rationale", "expected"),
    [
        (1.0, {}, None, ("yes", "")),
        (0.0, {"grade": 2.0}, None, ("no", "Grade: 2")),
        (0.6, {"quality": 8.5}, "Nearly. ", ("yes", "Grade: 8.5\nNearly.")),
        (1.0, {"tone": 4.0, "depth": 2.0}, "Names the city.", ("yes", "Names the city.")),
    ],
)
def test_grade_and_reason_follow_the_verdict(
    writer: PromptWriter, label: float, aspects: Any, rationale: str | None, expected: tuple[str, str]
) -> None:
    prompt, *text = write_example(writer, ROW, label, aspects, rationale)
    assert tuple(text) == expected and prompt.endswith("Verdict:\n")
