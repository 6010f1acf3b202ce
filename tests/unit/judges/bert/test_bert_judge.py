"""The public interface of the BERT judge."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import tiny_models
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bert_judge.config import Input, Training
from bert_judge.encoder.checkpoint import StackerWeights
from bert_judge.encoder.judge_folder import JUDGE_FILE
from bert_judge.encoder.weights import PREFIXES, WEIGHTS_FILE
from bert_judge.judges.bert.judge import BERTJudge, CalibrationRows
from bert_judge.judges.bert.text_steps import normalize
from bert_judge.judges.protocol import Row
from bert_judge.runtime.errors import InputError
from bert_judge.text import TEXT_VERSION
from bert_judge.text.languages import UNKNOWN_SCRIPT

QUESTIONS = ["What is the capital of France?"] * 3
REFERENCES = [["Paris"], ["Paris", "city of Paris"], ["Paris"]]
CANDIDATES = ["It is Paris.", "Mars", "Größe 東京 " * 200]


def trained(
    folder: Path, architecture: str = "bert", features: bool = False, round_weights: bool = False, **settings: object
) -> BERTJudge:
    judge = BERTJudge(tiny_models.encoder(folder / "backbone", architecture), input=Input.model_validate(settings))
    training = Training(epochs=1, round_weights=round_weights)
    judge.fit(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.3], training=training, features=features, work_folder=folder / "work")
    return judge


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
@pytest.mark.parametrize("format", ["pair", "tags"])
def test_saved_and_loaded_judges_give_the_same_scores(tmp_path: Path, architecture: str, format: str) -> None:
    judge = trained(tmp_path, architecture, format=format)
    judge.calibrate(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.0])
    judge.save(tmp_path / "judge")
    again = BERTJudge(tmp_path / "judge", backend="torch", precision=judge.engine.choice.precision)
    scores = judge.predict(QUESTIONS, REFERENCES, CANDIDATES)
    assert len(scores) == 3 and all(isinstance(score, float) and 0 <= score <= 1 for score in scores)
    np.testing.assert_allclose(again.predict(QUESTIONS, REFERENCES, CANDIDATES), scores, atol=1e-6)
    # Whatever runs it, float32 is float32.
    exact, automatic = (BERTJudge(tmp_path / "judge", backend=backend, precision="float32") for backend in ("torch", "auto"))
    assert automatic.engine.choice.backend == ("openvino" if architecture in PREFIXES else "torch")
    rows = QUESTIONS, REFERENCES, CANDIDATES
    np.testing.assert_allclose(automatic.predict(*rows), exact.predict(*rows), atol=1e-6)
    assert again.checkpoint.metadata == judge.checkpoint.metadata


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_score_that_is_not_a_number_is_invalid_and_such_weights_are_not_saved(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    weight = judge.checkpoint.model.classifier.weight
    with torch.no_grad():
        # Finite, but both logits overflow.
        weight.fill_(torch.finfo(torch.float32).max)
    judge.save(tmp_path / "judge")
    rows = [Row("", 0, "", *row) for row in zip(QUESTIONS, map(tuple, REFERENCES), [*CANDIDATES[:2], ""], strict=True)]
    labels = BERTJudge(tmp_path / "judge").judge(rows)
    assert [label.verdict for label in labels] == ["invalid", "invalid", "incorrect"]
    assert [label.score for label in labels] == [None, None, 0.0]
    assert labels[0].reason == "the judge's score is not a number"
    with torch.no_grad():
        weight[0, 0] = torch.nan
    with pytest.raises(InputError, match=r"weights 'classifier\.weight' contain NaN or infinity"):
        judge.save(tmp_path / "other")
    assert not (tmp_path / "other" / JUDGE_FILE).exists()


def test_saved_judges_include_trees_and_stacker(tmp_path: Path) -> None:
    judge = trained(tmp_path, features=True)
    metrics, scores = judge.calibrate(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.0])
    parts = {"accuracy_encoder", "accuracy_features", "ece_uncalibrated", "share_read", "temperature"}
    assert {"accuracy", *parts} <= set(metrics) and metrics["share_read"] == 1, "three rows are too few for early exit"
    judge.save(tmp_path / "judge")
    whole, alone = BERTJudge(tmp_path / "judge"), BERTJudge(tmp_path / "judge", calibrated=False)
    explained = whole.explain(QUESTIONS, REFERENCES, CANDIDATES)
    np.testing.assert_allclose(explained.scores, judge.predict(QUESTIONS, REFERENCES, CANDIDATES), atol=1e-6)
    np.testing.assert_allclose(explained.scores, scores, atol=1e-6)
    np.testing.assert_allclose(alone.predict(QUESTIONS, REFERENCES, CANDIDATES), explained.raw_scores, atol=1e-6)
    assert not np.allclose(explained.scores, explained.raw_scores)


def test_a_judge_is_trained_further(tmp_path: Path) -> None:
    judge = trained(tmp_path, features=True)
    judge.calibrate(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.0])
    assert judge.checkpoint.metadata.text_version == TEXT_VERSION
    judge.checkpoint.update(version="v1", languages=["en"], text_version=0)
    rows = QUESTIONS, REFERENCES, ["это не Париж, а Лондон"] * 3
    judge.fit(*rows, [1.0, 0.0, 0.3], training=Training(epochs=1, learning_rate=1e-9), work_folder=tmp_path / "more")
    metadata = judge.checkpoint.metadata
    assert (metadata.version, metadata.languages) == ("", []), "trained on another language"
    assert metadata.text_version == TEXT_VERSION, "trained with these rules"
    judge.calibrate(*rows, [1.0, 1.0, 1.0])
    weights = judge.checkpoint.metadata.stacker
    assert weights not in (None, StackerWeights(0.5, 0.5, 0.0)), "what rows of one class give without a start"
    judge.fit(*rows, [1.0, 0.0, 0.3], training=Training(epochs=1), features=False, work_folder=tmp_path / "alone")
    assert judge.trees is None


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_rounded_weights_are_saved_as_integers_without_loss(tmp_path: Path, architecture: str) -> None:
    judge = trained(tmp_path, architecture, features=True, round_weights=True)
    judge.calibrate(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.0])
    judge.save(tmp_path / "whole")
    judge.save(tmp_path / "small", int8=True)
    whole, small = BERTJudge(tmp_path / "whole", precision="float32"), BERTJudge(tmp_path / "small", precision="float32")
    for name, weight in whole.checkpoint.model.state_dict().items():
        torch.testing.assert_close(small.checkpoint.model.state_dict()[name], weight, rtol=1e-6, atol=0, msg=name)
    scores = whole.predict(QUESTIONS, REFERENCES, CANDIDATES)
    np.testing.assert_allclose(small.predict(QUESTIONS, REFERENCES, CANDIDATES), scores, atol=1e-6)
    assert (tmp_path / "small" / WEIGHTS_FILE).stat().st_size < 0.5 * (tmp_path / "whole" / "model.safetensors").stat().st_size
    (tmp_path / "small" / WEIGHTS_FILE).write_bytes(b"damaged")
    with pytest.raises(InputError, match="is not the file that was published"):
        BERTJudge(tmp_path / "small")


def test_weak_rows_calibrate_but_enter_no_metric(tmp_path: Path) -> None:
    judge = trained(tmp_path, features=True)
    rows = QUESTIONS, REFERENCES, CANDIDATES
    alone, scores = judge.calibrate(*rows, [1.0, 0.0, 0.0])
    more, raised = judge.calibrate(*rows, [1.0, 0.0, 0.0], weak=CalibrationRows(*rows, [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]))
    assert more["n"] == alone["n"] and more["temperature"] == alone["temperature"]
    assert (raised > scores).all()
    _, made_up = judge.calibrate(*rows, [1.0, 0.0, 0.0], synthetic=CalibrationRows(*rows, [1.0, 1.0, 1.0]))
    assert (made_up < raised).all()


def test_published_checkpoints_give_their_own_scores(tmp_path: Path) -> None:
    trained(tmp_path, "eurobert", format="tags").save(tmp_path / "judge")
    (tmp_path / "judge" / JUDGE_FILE).unlink()  # published checkpoints have no judge.json
    judge = BERTJudge(tmp_path / "judge", precision="float32")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "judge", truncation_side="left")
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "judge").eval()
    for question, [reference, *_], candidate in zip(QUESTIONS, REFERENCES, CANDIDATES, strict=True):
        prompt = f"<|question|>{question}<|candidate|>{candidate}<|reference|>{reference}"
        with torch.inference_mode():
            logits = model(**tokenizer(prompt, return_tensors="pt", truncation=True, max_length=128)).logits[0]
        expected = torch.sigmoid(logits[1] - logits[0]).item()
        assert judge.predict([question], [reference], [candidate])[0] == pytest.approx(expected, abs=1e-5)


def test_the_best_reference_wins(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    single = [judge.predict(["q"], [[reference]], ["Mars"])[0] for reference in ("Paris", "Mars", "noon fox")]
    assert judge.predict(["q"], [["Paris", "Mars", "noon fox"]], ["Mars"])[0] == pytest.approx(max(single))


def test_closest_reference_only(tmp_path: Path) -> None:
    judge = trained(tmp_path, features=True)
    rows = QUESTIONS, REFERENCES, CANDIDATES
    judge.calibrate(*rows, [1.0, 0.0, 0.0])
    judge.save(tmp_path / "judge")
    each, one = BERTJudge(tmp_path / "judge"), BERTJudge(tmp_path / "judge", references="closest")
    asked = ["Wo ist Köln?"] * 2, [["Bonn", "Paris", "Köln am Rhein"]] * 2, ["In KÖLN.", "東京"]
    all_read, one_read = each.explain(*asked), one.explain(*asked)
    # Without common words, the first.
    for i, closest in enumerate(["Köln am Rhein", "Bonn"]):
        alone = each.explain([asked[0][i]], [[closest]], [asked[2][i]])
        assert one_read.raw_scores[i] == pytest.approx(alone.raw_scores[0], abs=1e-6)
        assert one_read.tokens[i] == alone.tokens[0] < all_read.tokens[i]
    assert (one_read.raw_scores <= all_read.raw_scores + 1e-6).all()
    # The trees still use every reference.
    tree_logits = judge.text_steps.predict_trees(normalize(*asked))
    weights = one.checkpoint.metadata.stacker
    logits = np.log(one_read.raw_scores / (1 - one_read.raw_scores))
    expected = weights.combine(logits, tree_logits)
    np.testing.assert_allclose(one_read.scores, 1 / (1 + np.exp(-expected)), atol=1e-5)


def test_unknown_reference_mode_is_rejected(tmp_path: Path) -> None:
    trained(tmp_path).save(tmp_path / "judge")
    with pytest.raises(InputError, match="references: unknown value 'nearest'; choose one of all, closest"):
        BERTJudge(tmp_path / "judge", references="nearest")


def test_labels_keep_raw_scores_truncation_and_tokens(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    judge.checkpoint.update(temperature=2.0)
    rows = [Row("a", 0, "m", "q", ("Paris",), "It is Paris."), Row("b", 0, "m", "q", ("Paris",), "fox " * 500)]
    labels = judge.judge(rows)
    assert [label.truncated for label in labels] == [False, True]
    for label in labels:
        raw = json.loads(label.raw)["raw_score"]
        assert label.score == pytest.approx(1 / (1 + np.exp(-np.log(raw / (1 - raw)) / 2)))
        assert label.verdict == ("correct" if label.score >= 0.5 else "incorrect")
        assert label.prompt_tokens > 0


def test_an_empty_answer_is_incorrect(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    rows = [
        Row("a", 0, "m", "q", ("Paris",), " \n"),
        Row("b", 0, "m", "q", ("Paris",), "Paris"),
        Row("c", 0, "m", "q", ("Paris",), ""),
    ]
    labels = judge.judge(rows)
    assert [(label.verdict, label.score, label.reason) for label in (labels[0], labels[2])] == [
        ("incorrect", 0.0, "empty answer")
    ] * 2
    assert labels[1].reason == 'by meaning: has all words of "Paris"; adds no word'
    assert judge.judge([]) == []


def test_the_threshold_decides(tmp_path: Path) -> None:
    trained(tmp_path).save(tmp_path / "judge")
    row = [Row("a", 0, "m", "q", ("Paris",), "Paris")]
    verdicts = [BERTJudge(tmp_path / "judge", threshold=threshold).judge(row)[0].verdict for threshold in (0.0, 1.0)]
    assert verdicts == ["correct", "incorrect"]


def broken_metadata(folder: Path) -> Path:
    trained(folder).save(folder / "judge")
    (folder / "judge" / JUDGE_FILE).write_text('{"input": {"format": "verse"}}')
    return folder / "judge"


def broken_weights(folder: Path) -> Path:
    trained(folder).save(folder / "judge")
    (folder / "judge" / "config.json").write_text("{")
    return folder / "judge"


def without_padding_token(folder: Path) -> Path:
    path = tiny_models.encoder(folder / "raw") / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pad_token": None}))
    return folder / "raw"


def with_three_logits(folder: Path) -> Path:
    trained(folder).save(folder / "judge")
    shutil.copy(tiny_models.encoder(folder / "three", labels=3) / "model.safetensors", folder / "judge")
    return folder / "judge"


@pytest.mark.parametrize(
    "make", [broken_metadata, broken_weights, without_padding_token, with_three_logits, lambda folder: folder / "nowhere"]
)
def test_a_broken_folder_gives_one_line(tmp_path: Path, make: object) -> None:
    with pytest.raises(InputError) as caught:
        BERTJudge(make(tmp_path))
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("labels", [1, 3])
def test_a_classifier_of_something_else_is_a_backbone(tmp_path: Path, labels: int) -> None:
    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone", labels=labels))
    judge.fit(QUESTIONS, REFERENCES, CANDIDATES, [1.0, 0.0, 0.3], training=Training(epochs=1), features=False, work_folder=tmp_path)
    assert len(judge.predict(QUESTIONS, REFERENCES, CANDIDATES)) == 3


def test_bad_calls_give_one_line(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    with pytest.raises(InputError, match="equal length"):
        judge.predict(["q"], [["r"]], ["c", "d"])
    with pytest.raises(InputError, match="questions is a single text; give a list"):
        judge.predict("q", [["r"]], ["c"])
    with pytest.raises(InputError, match="row 1 has no reference"):
        judge.predict(["q", "q"], [["r"], []], ["c", "d"])
    with pytest.raises(InputError, match="never trained"):
        BERTJudge(tiny_models.encoder(tmp_path / "raw")).predict(["q"], ["r"], ["c"])
    assert judge.predict([], [], []) == []


def test_texts_are_a_single_row(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    expected = judge.predict(["Capital of France?"], [["Paris", "Paname"]], ["Paris"])
    assert judge.predict("Capital of France?", ["Paris", "Paname"], "Paris") == expected
    assert judge.predict("Capital of France?", "Paris", "Paris") == judge.predict(["Capital of France?"], ["Paris"], ["Paris"])


def test_keywords_of_the_published_package(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The example of the published README, with a checkpoint of its shape: three tags, no judge.json."""
    published = trained(tmp_path, "eurobert", format="tags")
    published.save(tmp_path / "published")
    (tmp_path / "published" / JUDGE_FILE).unlink()
    with caplog.at_level("INFO"):
        judge = BERTJudge(model_path=str(tmp_path / "published"), trust_remote_code=True, dtype="bfloat16")
    assert "trust_remote_code and device_map are ignored" in caplog.text
    assert judge.engine.choice.precision == "bfloat16"
    scores = judge.predict(questions=QUESTIONS, references=["Paris"] * 3, candidates=CANDIDATES, batch_size=1)
    assert isinstance(scores, list) and all(0 <= score <= 1 for score in scores)


def test_a_judge_trained_on_simulated_answers_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    judge = trained(tmp_path)
    judge.checkpoint.update(simulated=True)
    judge.save(tmp_path / "judge")
    BERTJudge(tmp_path / "judge")
    assert "trained on simulated answers" in caplog.text
    caplog.clear()
    BERTJudge(tmp_path / "judge", revision="of a run")
    assert not caplog.text


def test_text_in_another_language_is_flagged(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    rows = [Row("0", 0, "m", "Capital?", ("Paris",), "It is Paris."), Row("1", 0, "m", "首都は？", ("東京",), "東京は")]
    assert not any(label.flags for label in judge.judge(rows))
    judge.checkpoint.update(languages=["en"])
    familiar, unfamiliar = judge.judge(rows)
    assert not familiar.flags and (unfamiliar.reason or "").endswith(f"; {UNKNOWN_SCRIPT}")


def test_invisible_characters_do_not_count(tmp_path: Path) -> None:
    judge = trained(tmp_path)
    scores = judge.predict(
        ["Capital?"] * 3, ["Paris"] * 3, ["It is Paris.", "It is P\u200baris.", "It is Rome\b\b\b\bParis<!-- Rome -->."]
    )
    assert max(scores) - min(scores) < 1e-6
    texts = ("", " \u200b", "…", "\u2800", "?")
    assert judge.predict(["Capital?"] * 5, ["Paris"] * 5, texts) == [0] * 5
    labels = judge.judge([Row(str(i), 0, "m", "Capital?", ("Paris",), text) for i, text in enumerate(texts)])
    assert {(label.verdict, label.reason) for label in labels} == {("incorrect", "empty answer")}
    # Punctuation can be the answer.
    [mark] = judge.judge([Row("0", 0, "m", "Which mark?", ("?",), "?")])
    assert mark.score is not None and mark.reason != "empty answer"


def test_the_provenance_names_backend_and_precision(tmp_path: Path) -> None:
    trained(tmp_path).save(tmp_path / "judge")
    judge = BERTJudge(tmp_path / "judge", backend="torch", precision="float32", name="mine", revision="c0ffee")
    assert judge.revisions == {"mine": "c0ffee", "mine: backend": f"torch, {judge.engine.device}, float32"}


@pytest.mark.parametrize("cut", ["Paris \ud83d", "\ude00"])
def test_half_a_character_of_a_cut_text_is_read_as_a_replacement_character(cut: str) -> None:
    judge = BERTJudge()
    for texts in (("q", "Paris", cut), ("q", cut, "Paris"), (cut, "Paris", "Paris")):
        repaired = [text.replace("\ud83d", "\ufffd").replace("\ude00", "\ufffd") for text in texts]
        assert judge.predict(*([text] for text in texts)) == judge.predict(*([text] for text in repaired))
