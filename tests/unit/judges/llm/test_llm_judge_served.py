"""The prompted judge with its model behind a real server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_verdicts
from helpers.chat_server import ChatServer, serving
from helpers.label_tables import candidates_table
from helpers.scripted_models import ROW, SETTINGS

from bert_judge import tables
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.config import OpenAIModel
from bert_judge.judges import prompted
from bert_judge.judges.llm import KIND
from bert_judge.judges.llm import judge as llm_judge
from bert_judge.judges.llm.judge import LLMJudge
from bert_judge.judges.llm.rubric import RubricJudge
from bert_judge.judges.prompted import BARE_VERDICT, MODEL_FAILED, PROBABILITY, TRUNCATED
from bert_judge.judges.registry import LoadContext
from bert_judge.labels.stage import label_table
from bert_judge.runtime.errors import InputError


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with serving() as made:
        yield made


def block(server: ChatServer, **more: Any) -> dict[str, Any]:
    values = {"generator": "openai", "model": "big", "base_url": server.url, "retries": 1, **more}
    return OpenAIModel.model_validate(values).model_dump(mode="json")


def judge(server: ChatServer, folder: Path, reasoning: bool = True, **more: Any) -> LLMJudge | RubricJudge:
    settings = {**SETTINGS, "reasoning": reasoning, "model": block(server, **more)}
    spec = {"judge": "teacher", "model": "m", "task": "t", "settings": settings}
    loaded: LLMJudge | RubricJudge = KIND.load(LoadContext(spec, {}, {}, store=folder))
    return loaded


def likely(*words: tuple[str, float]) -> dict[str, Any]:
    """The log-probabilities of one token."""
    top = [{"token": word, "logprob": value} for word, value in words]
    return {"content": [{"token": words[0][0], "logprob": words[0][1], "top_logprobs": top}]}


def test_table_of_outputs(server: ChatServer) -> None:
    # Without a store, in which the first answer to the one prompt would stay.
    served = LLMJudge("teacher", SETTINGS, OpenAIGenerator("teacher", block(server)))
    for text, verdict, reason in test_verdicts.OUTPUTS:
        row = replace(ROW, candidate=test_verdicts.candidate_of(text))
        code = prompted.fence_code(row, 0)
        own = text.replace(test_verdicts.CODE, code).replace(test_verdicts.CODE.upper(), code)
        server.reply = {"message": {"content": own}}
        (label,) = served.judge([row])
        expected = (verdict, reason) if verdict else ("invalid", f"{reason}; asked again: {reason}")
        assert (label.verdict, label.reason) == expected, text


def test_truncated_reply(server: ChatServer, tmp_path: Path) -> None:
    server.reply = {"message": {"content": "Verdict: correct"}, "choice": {"finish_reason": "length"}}
    (label,) = judge(server, tmp_path).judge([ROW])
    assert (label.verdict, label.reason) == ("invalid", f"{TRUNCATED}; asked again: {TRUNCATED}")


@pytest.mark.parametrize("structured_output", ["structured_outputs", "grammar", "json_schema"])
def test_constrained_verdict_with_probability(server: ChatServer, tmp_path: Path, structured_output: str) -> None:
    server.reply = {
        "message": {"content": "incorrect"},
        "choice": {"logprobs": likely(("incorrect", -0.5108), ("correct", -0.9163))},
    }
    (label,) = judge(server, tmp_path, reasoning=False, structured_output=structured_output, logprobs=True).judge([ROW])
    assert (label.verdict, label.reason) == ("incorrect", PROBABILITY)
    assert label.score == pytest.approx(0.4, abs=1e-3)
    (call,) = server.seen
    asked = {"structured_outputs": {"choice": ["correct", "incorrect"]}, "grammar": 'root ::= "correct" | "incorrect"'}
    assert structured_output == "json_schema" or call[structured_output] == asked[structured_output]
    assert call["messages"][-1]["content"].endswith(llm_judge.VERDICT_ONLY)


def test_probabilities_of_a_word_in_a_sentence_are_ignored(server: ChatServer, tmp_path: Path) -> None:
    content = [{"token": word, "logprob": 0.0, "top_logprobs": [{"token": word, "logprob": 0.0}]} for word in ("not", " correct")]
    server.reply = {"message": {"content": "not correct"}, "choice": {"logprobs": {"content": content}}}
    (label,) = judge(server, tmp_path, reasoning=False, logprobs=True).judge([ROW])
    assert (label.verdict, label.score, label.reason) == ("incorrect", 0.0, BARE_VERDICT)


def test_no_row_is_lost_when_the_server_dies(server: ChatServer, tmp_path: Path) -> None:
    candidates_table(tmp_path / "c.parquet", ["fail:500*9", "fail:garbage*9", "fail:429*1", "", "Paris"])
    server.reply = {"message": {"content": "Verdict: correct"}}
    spec = {"judge": "teacher", "model": "m", "task": "t"}

    def labelled() -> list[tuple[str, str]]:
        label_table(spec, tmp_path / "c.parquet", tmp_path / "l.parquet", judge(server, tmp_path / "store", concurrency=1))
        frame = tables.read(tmp_path / "l.parquet", tables.LABELS)
        reasons.update(frame["reason"])
        return list(zip(frame["verdict"], frame["reason"].str.partition(": ")[0], strict=True))

    reasons: set[str] = set()
    right, empty, failed = ("correct", "verdict line"), ("incorrect", "empty answer"), ("invalid", MODEL_FAILED)
    assert labelled() == [failed, failed, right, empty, right]
    # What the server said is a part of the reason.
    told = sorted(reason for reason in reasons if MODEL_FAILED in reason)
    assert ["Error code: 500" in told[0], "not JSON" in told[1]] == [True, True]
    assert tables.provenance(tmp_path / "l.parquet")["revisions"] == {"teacher": "big-2026"}
    # The next run asks again for what failed, and for nothing else.
    asked = len(server.seen)
    server.tries.update(dict.fromkeys(server.tries, 9))
    assert labelled() == [right, right, right, empty, right]
    assert len(server.seen) == asked + 2


def test_rejected_key_ends_the_job(server: ChatServer, tmp_path: Path) -> None:
    rows = [replace(ROW, sample_id=f"s{n}", candidate=f"fail:401*9 {n}") for n in range(20)]
    with pytest.raises(InputError, match="rejects the key"):
        judge(server, tmp_path, concurrency=1).judge(rows)
    assert len(server.seen) < 20
