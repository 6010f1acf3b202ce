"""A language model behind a server as the second judge of a file, and alone: names, plan, limits, summary and failures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.chat_server import ChatServer, serving
from starlette.testclient import TestClient
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.labels import judge_loading
from bert_judge.runtime.errors import InputError
from bert_judge.serve.app import make_app
from bert_judge.serve.judge_pool import select_judges
from bert_judge.serve.limits import Limits, Metrics

# The rules are certain about the first kind; about an explanation the judge in the package is not.
SURE = [("What is {n} + {n}?", "{m}", "{m}"), ("What is {n} times ten?", "{n}0", "{m}1")]
UNSURE = ("Why does number {n} rust?", "iron reacts with oxygen and water", "moist air attacks metal number {n}")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        server.honours, server.verdict = {"grammar"}, lambda prompt: "correct"
        yield server


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)


def write_answers(count: int = 30, *, unsure: int = 6) -> Path:
    rows = [SURE[n % 2] for n in range(count - unsure)] + [UNSURE] * unsure
    lines = []
    for n, row in enumerate(rows):
        question, reference, answer = (text.format(n=n, m=2 * n) for text in row)
        lines.append(json.dumps({"question": question, "reference": reference, "answer": answer, "model": f"m{n % 2}"}))
    Path("answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return Path("answers.jsonl")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["score", "answers.jsonl", *arguments])


def prompts(server: ChatServer) -> list[str]:
    """Return the prompts about answers, without the questions of a probe."""
    sent = [body["messages"][-1]["content"] for body in server.seen]
    return [prompt for prompt in sent if "# Candidate" in prompt]


def verdicts() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("answers.scored.jsonl").read_text("utf-8").splitlines()]


def test_only_uncertain_answers_are_asked(server: ChatServer) -> None:
    write_answers()
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 0, result.output
    asked = prompts(server)
    assert len(asked) == 6 and all("rust?" in prompt for prompt in asked)
    assert "m: grammar; no log-probabilities" in result.output
    assert "m will be asked about the 6 of 30 answers on which general is uncertain: about" in result.output
    assert "cost unknown, set --price IN OUT" in result.output
    assert "general decided 24 answers, m 6" in result.output
    assert [row["verdict"] for row in verdicts()[-6:]] == ["correct"] * 6
    # Who decided is in a column, and whose words the reason are.
    assert [row["decided_by"] for row in verdicts()] == ["general"] * 24 + ["m"] * 6
    assert {row["reason"] for row in verdicts()[-6:]} == {"m: bare verdict"}
    # A single judge needs no such column.
    run("--judge", "general", "--force")
    assert "decided_by" not in verdicts()[0]


def test_a_repeated_call_asks_nothing_again(server: ChatServer) -> None:
    write_answers()
    judge = f"general+{server.url}#m"
    run("--judge", judge, "--max-rows", "2")
    assert len(prompts(server)) == 2
    # Stored replies do not count: a second call asks about two more.
    result = run("--judge", judge, "--max-rows", "2", "--force")
    assert "; 2 replies are stored: about" in result.output and len(prompts(server)) == 4
    assert "general decided 24 answers, m 4; 2 uncertain verdicts of general stay" in result.output
    run("--judge", judge, "--force")
    assert len(prompts(server)) == 6 and len(set(prompts(server))) == 6
    result = run("--judge", judge, "--max-rows", "0", "--force")
    assert "general decided 24 answers, m 6" in result.output and len(prompts(server)) == 6


def test_a_limit_of_requests_does_not_shrink_the_check(server: ChatServer) -> None:
    write_answers(60, unsure=8)
    judge = ("--judge", f"general+{server.url}#m", "--check", "12", "--force")
    result = run(*judge, "--max-rows", "11")
    assert result.exit_code == 1 and not prompts(server)
    assert "error: --check 12: needs 12 requests, and --max-rows allows 11; raise it" in result.output
    result = run(*judge, "--max-rows", "15")
    assert result.exit_code == 0 and len(prompts(server)) == 15
    assert "of 12 certain answers" in result.output and "general decided 52 answers, m 3" in result.output
    # The check is stored, and all requests are left for uncertain answers.
    result = run(*judge, "--max-rows", "2")
    assert len(prompts(server)) == 17
    assert "of 12 certain answers" in result.output and "general decided 52 answers, m 5" in result.output


def test_advice_that_is_followed_is_not_repeated(server: ChatServer) -> None:
    write_answers(20, unsure=10)
    advice = "--judge general+LLM (a language model judges the uncertain answers)"
    assert advice in run("--judge", "general").output
    result = run("--judge", f"general+{server.url}#m", "--max-rows", "1", "--force")
    assert "to narrow a range: bert-judge audit answers.jsonl" in result.output and advice not in result.output


def test_limits_before_the_server_is_asked(server: ChatServer) -> None:
    write_answers()
    judge = ("--judge", f"general+{server.url}#m")
    result = run(*judge, "--dry-run", "--price", "1", "2")
    assert result.exit_code == 0 and not Path("answers.scored.jsonl").exists()
    assert "at 1 and 2 per million" in result.output
    # Not even a question that tests the server; and an output that exists is left as it is.
    Path("answers.scored.jsonl").write_text("earlier", "utf-8")
    result = run(*judge, "--dry-run", "--known-wrong", "answers.jsonl")
    assert result.exit_code == 0 and not server.seen and Path("answers.scored.jsonl").read_text("utf-8") == "earlier"
    assert "m: not asked; without --dry-run, a few harmless questions test how it restricts replies" in result.output
    Path("answers.scored.jsonl").unlink()
    result = run(*judge, "--price", "1000", "0", "--max-cost", "0.1")
    assert result.exit_code == 1 and not prompts(server)
    assert "--max-cost 0.1: the requests to m cost about" in result.output
    for limits, message in (
        (("--price", "-1", "4"), "--price -1 4: must be finite numbers of at least 0"),
        (("--price", "nan", "4"), "--price nan 4: must be finite"),
        (("--price", "1", "4", "--max-cost", "0"), "--max-cost 0: must be a finite number above 0"),
    ):
        result = run(*judge, *limits)
        assert result.exit_code == 1 and message in result.output
    result = run(*judge, "--max-cost", "0.1")
    assert "the price of m is not known; add --price IN OUT" in result.output
    result = run("--judge", "contains", "--max-rows", "3")
    assert "--max-rows: is for a language model behind a server" in result.output


def test_a_check_of_certain_answers_corrects_the_accuracy(server: ChatServer) -> None:
    write_answers(60, unsure=8)
    result = run("--judge", f"general+{server.url}#m", "--check", "20")
    assert result.exit_code == 0, result.output
    assert len(prompts(server)) == 28
    assert "and 20 others as a check" in result.output
    # The server calls every answer correct, general half of the certain ones.
    assert "of 20 certain answers" in result.output and "corrected to m, %" in result.output
    assert "corrected to m: the accuracy that m would find on all answers" in result.output
    # The check changes no verdict of the first judge.
    assert [row["verdict"] for row in verdicts()[:4]] == ["correct", "incorrect", "correct", "incorrect"]


def interval(output: str) -> tuple[float, float]:
    """Return the bounds of the corrected accuracy of all answers."""
    [bounds] = re.findall(r"│ all .*\[(\S+), (\S+)\]", output)
    return float(bounds[0]), float(bounds[1])


def test_errors_of_the_second_judge_widen_the_corrected_accuracy(server: ChatServer) -> None:
    write_answers(60, unsure=8)
    judge = ("--judge", f"general+{server.url}#m", "--check", "20")
    server.verdict = lambda prompt: "correct" if "ten?" in prompt else "incorrect"
    plain, widened = (run(*judge, *more, "--force").output for more in ((), ("--check-error", "0.1")))
    assert "corrected with m: the interval has the true accuracy if m is wrong on at most 10% of the answers" in widened
    low, high = interval(plain)
    assert interval(widened) == (pytest.approx(low - 10, abs=0.11), pytest.approx(high + 10, abs=0.11))
    result = run("--judge", f"general+{server.url}#m", "--check-error", "0.1", "--force")
    assert result.exit_code == 1 and "--check-error: widens the accuracies that --check corrects; add --check 50" in result.output
    result = run("--judge", "contains", "--check-error", "0.1", "--force")
    assert "--check-error: is for a language model behind a server" in result.output


def test_a_check_needs_a_judge_before_the_server(server: ChatServer) -> None:
    write_answers()
    result = run("--judge", f"{server.url}#m", "--check", "5")
    assert result.exit_code == 1 and not server.seen and not Path("answers.scored.jsonl").exists()
    assert "error: --check 5: checks the certain verdicts of a judge before the language model" in result.output
    assert "a language model alone is asked about every answer, so leave it out" in result.output


def test_a_rate_limit_loses_no_answer(server: ChatServer) -> None:
    """Status 429 with Retry-After, twice for every prompt, and too often for one."""
    write_answers()
    lines = Path("answers.jsonl").read_text("utf-8").splitlines()
    limited = [line.replace("metal number", f"metal fail:429*{99 if n == 29 else 2} number") for n, line in enumerate(lines)]
    Path("answers.jsonl").write_text("\n".join(limited) + "\n", "utf-8")
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 0, result.output
    # Three requests for each of five answers; the client gives up on the sixth after all its retries.
    assert len(prompts(server)) == 5 * 3 + 7
    assert "general decided 24 answers, m 5; 1 uncertain verdicts of general stay" in result.output
    [line] = [line for line in result.output.splitlines() if line.startswith("m gave no verdict on")]
    assert line.startswith("m gave no verdict on 1: ") and "429" in line
    assert "failed requests to m: 1; repeat the call with --force, the other replies are stored" in result.output
    assert len(verdicts()) == 30 and "invalid" not in {row["verdict"] for row in verdicts()}
    # Another call asks about the one without a reply only.
    before = len(prompts(server))
    assert "; 5 replies are stored" in run("--judge", f"general+{server.url}#m", "--force").output
    assert len(prompts(server)) == before + 7


def test_no_verdict_at_all_is_an_error(server: ChatServer) -> None:
    """The server fails on every answer, with texts that differ in numbers; nothing is written, and the next call resumes."""
    write_answers()
    text = Path("answers.jsonl").read_text("utf-8")
    Path("answers.jsonl").write_text(text.replace("moist air", "fail:silent*7 moist air"), "utf-8")
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 1 and not Path("answers.scored.jsonl").exists()
    [line] = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: m gave no verdict on any of 6 answers: the judge's model failed: the response has no answer")
    assert result.output.count("the response has no answer") == 1
    # Another word than a verdict is none either.
    server.verdict, server.honours = (lambda prompt: "hello"), set()
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 1 and "m gave no verdict on any of 6 answers: no verdict in the judge's reply" in result.output
    # The reply shows what is wrong with the model.
    assert "('hello'); nothing was written" in " ".join(result.output.split())


@pytest.mark.parametrize("spoiled", [6, 2])
def test_replies_without_a_verdict_are_asked_for_again(server: ChatServer, spoiled: int) -> None:
    """The server writes prose about some answers, and is set up correctly before the call is repeated."""
    write_answers()
    numbers = [str(n) for n in range(24, 24 + spoiled)]
    server.honours = set()
    server.verdict = lambda prompt: "Well, hard to say." if any(f"metal number {n}" in prompt for n in numbers) else "correct"
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == (spoiled == 6) and "no verdict in the judge's reply" in result.output
    before = len(prompts(server))
    assert before == 6 + spoiled
    server.verdict = lambda prompt: "correct"
    result = run("--judge", f"general+{server.url}#m", "--force")
    assert result.exit_code == 0 and "general decided 24 answers, m 6" in result.output
    assert len(prompts(server)) == before + spoiled
    assert f"; {6 - spoiled} replies are stored" in result.output or spoiled == 6


def test_a_context_that_is_too_small_loses_no_answer(server: ChatServer) -> None:
    """The server rejects the request about one answer, with status 400."""
    write_answers()
    text = Path("answers.jsonl").read_text("utf-8")
    Path("answers.jsonl").write_text(text.replace("metal number 29", "metal fail:400*9 number 29"), "utf-8")
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 0, result.output
    assert "general decided 24 answers, m 5; 1 uncertain verdicts of general stay" in result.output
    assert len(verdicts()) == 30 and "invalid" not in {row["verdict"] for row in verdicts()}
    # It is not repeated: the answer does not become shorter.
    assert len(prompts(server)) == 6


def test_a_context_that_is_smaller_than_the_limit_of_tokens(server: ChatServer) -> None:
    """The verdict ends by itself, so the limit is left out from the first rejection on."""
    write_answers()
    server.context = 512
    server.honours = {"structured_outputs"}
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 0, result.output
    assert "general decided 24 answers, m 6" in result.output
    bodies = [body for body in server.seen if "# Candidate" in body["messages"][-1]["content"]]
    assert sum("max_tokens" not in body for body in bodies) == 6 and len(bodies) <= 12


def write_config(server: ChatServer, judges: list[str]) -> None:
    model = {"generator": "openai", "model": "m", "base_url": server.url}
    blocks = {
        "general": {"kind": "bert", "checkpoint": "general"},
        **{name: {"kind": "llm", "reasoning": False, "model": model} for name in ("gpt", "large")},
        "both": {"kind": "cascade", "judges": judges, "escalate": "uncertain"},
    }
    Path("mine.yaml").write_text(json.dumps({"judges": blocks}), "utf-8")


def test_a_cascade_of_a_configuration_outside_a_run(server: ChatServer) -> None:
    write_answers()
    write_config(server, ["general", "gpt"])
    result = run("--judge", "mine.yaml:both", "--check", "4")
    assert result.exit_code == 0, result.output
    assert "gpt will be asked about the 6 of 30 answers on which general is uncertain and 4 others as a check" in result.output
    assert "general decided 24 answers, gpt 6" in result.output and len(prompts(server)) == 10
    assert [row["verdict"] for row in verdicts()[-6:]] == ["correct"] * 6
    write_config(server, ["gpt", "large"])
    result = run("--judge", "mine.yaml:both", "--force")
    assert result.exit_code == 1 and len(prompts(server)) == 10
    assert "--judge both: outside a run only its last judge may ask a server; put gpt last" in result.output
    write_config(server, ["gpt", "general"])
    result = run("--judge", "mine.yaml:both", "--force")
    assert result.exit_code == 1 and len(prompts(server)) == 10
    assert "judges.both.judges: 'gpt' is a language model and costs more than a judge after it" in result.output


def test_a_server_alone(server: ChatServer) -> None:
    write_answers(10, unsure=2)
    result = run("--judge", f"{server.url}#m", "--max-rows", "4")
    assert result.exit_code == 0, result.output
    assert len(prompts(server)) == 4
    assert sorted(row["verdict"] for row in verdicts()) == ["correct"] * 4 + ["invalid"] * 6


@pytest.mark.parametrize(("first", "asked"), [("", 4), ("general+", 2)])
def test_progress_counts_the_answers_that_are_asked(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, first: str, asked: int
) -> None:
    calls: list[list[tuple[float, int]]] = []

    @contextmanager
    def record(unit: str) -> Iterator[Any]:
        calls.append([])
        yield lambda fraction, rows: calls[-1].append((fraction, rows))

    monkeypatch.setattr("bert_judge.cli.score.progress", record)
    write_answers(10, unsure=2)
    assert run("--judge", f"{first}{server.url}#m", "--max-rows", "4").exit_code == 0
    planning, judging = calls
    assert sum(rows for _, rows in planning) == (10 if first else 0)
    # The bar is full with the last answer that is asked.
    assert judging == [(1.0, asked), (1.0, 0)]


def test_a_name_that_is_changed_is_announced(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    server.models = ["My Model", "org/plain-7b"]
    [judge] = judge_loading.find_judges([f"{server.url}#My Model"])
    assert judge.name == "My-Model" and judge.context.block["model"]["model"] == "My Model"
    assert "the model 'My Model' is called 'My-Model' here" in caplog.text
    caplog.clear()
    [judge] = judge_loading.find_judges([f"{server.url}#plain-7b"])
    assert judge.name == "plain-7b" and not caplog.text


def test_a_server_that_dies_leaves_the_first_verdicts(server: ChatServer) -> None:
    write_answers()
    answered: list[str] = []

    def die(prompt: str) -> str:
        if "# Candidate" in prompt:
            answered.append(prompt)
            server.dead = True
        return "correct"

    server.verdict = die
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 0, result.output
    assert len(verdicts()) == 30 and "invalid" not in {row["verdict"] for row in verdicts()}
    assert "uncertain verdicts of general stay" in result.output
    assert "m gave no verdict on" in result.output and "the judge's model failed: no connection" in result.output


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("#other", {}, "does not serve 'other'; choose one of: m"),
        ("", {"models": ["a", "b"]}, "has 2 models; add #NAME: a, b"),
        ("", {"models": []}, "has no model; load one on the server"),
        ("", {"models": None}, "has no list of models; check the address, which often ends in /v1, or add #NAME"),
        ("#m", {"refuse": "401"}, "rejects the key (401); check the environment variable OPENAI_API_KEY"),
        ("#m", {"models": None, "refuse": "404"}, "does not serve 'm' (404); check the model and base_url"),
        ("#m", {"dead": True}, "check base_url and the server"),
    ],
)
def test_a_wrong_server_ends_the_call_before_any_row(server: ChatServer, name: str, change: dict[str, Any], problem: str) -> None:
    write_answers()
    for key, value in change.items():
        setattr(server, key, value)
    result = run("--judge", f"general+{server.url}{name}")
    assert result.exit_code == 1
    assert problem in result.output
    assert not prompts(server) and not Path("answers.scored.jsonl").exists()


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize(
    ("status", "headers", "advice"),
    [
        ("429", {"Retry-After": "300"}, "the server limits the rate of requests: repeat the call in 300 seconds"),
        ("429", {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}, "repeat the call after Wed, 21 Oct 2099 07:28:00 GMT"),
        ("429", {}, "repeat the call later, or set requests_per_minute in a configuration"),
        ("503", {}, "the server has failed: see its log, and repeat the call when it responds"),
    ],
)
def test_a_server_that_is_busy_or_fails(server: ChatServer, lists: bool, status: str, headers: dict[str, str], advice: str) -> None:
    """In the list of models, and in the first question; the address is right."""
    write_answers()
    server.refuse, server.refuse_headers, server.lists = status, headers, lists
    result = run("--judge", f"general+{server.url}#m")
    assert result.exit_code == 1 and advice in result.output and status in result.output
    assert "check base_url" not in result.output and "check the address" not in result.output
    # A longer time than two minutes is not waited for.
    assert (len(server.keys) == 1 + lists) == ("Retry-After" in headers)


def test_a_spent_quota(server: ChatServer) -> None:
    write_answers()
    server.refuse, server.refuse_code, server.lists = "429", "insufficient_quota", True
    assert "the quota of the key is spent: check plan and billing" in run("--judge", f"general+{server.url}#m").output


def test_nobody_listens() -> None:
    write_answers()
    result = run("--judge", "general+http://127.0.0.1:9/v1#m")
    assert "http://127.0.0.1:9/v1: no connection: " in result.output


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("general+http://[::1/v1", "--judge http://[::1/v1: not the address of a server, such as http://localhost:8080/v1#MODEL"),
        ("general+http://127.0.0.1:99999/v1", "--judge http://127.0.0.1:99999/v1: not the address of a server"),
        ("general+http:///v1", "--judge http:///v1: no such folder, rule, judge of a configuration (FILE.yaml:NAME)"),
        ("general+ftp://127.0.0.1/v1", "or server (http://HOST/v1#MODEL, openai:MODEL)"),
        ("general+127.0.0.1:8080/v1", "or server (http://HOST/v1#MODEL, openai:MODEL)"),
        ("general+openai", "or server (http://HOST/v1#MODEL, openai:MODEL)"),
        ("general+openai:", "--judge openai:: add the name of a model, such as openai:gpt-4o-mini"),
        ("general+", "--judge general+: a name is missing before or after a +"),
        ("general++http://127.0.0.1:9/v1", "a name is missing before or after a +"),
    ],
)
def test_a_misspelled_server(name: str, problem: str) -> None:
    write_answers(4, unsure=2)
    result = run("--judge", name)
    assert result.exit_code == 1 and result.output.count("error: ") == 1 and problem in result.output
    assert not Path("answers.scored.jsonl").exists()


def test_names_of_a_server_with_spaces_and_capitals(server: ChatServer) -> None:
    for name in (f"general + {server.url}", f" general+{server.url.replace('http', 'HTTP')} ", f"{server.url}#m "):
        [judge] = judge_loading.find_judges([name])
        assert judge.name == ("m" if name.startswith("http") else "general+m")


@pytest.mark.parametrize("key", ["ключ", "sk-one\nsk-two"])
def test_a_key_that_cannot_be_sent(server: ChatServer, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="OPENAI_API_KEY has characters that no key has; set it to the key") as caught:
        judge_loading.find_judges([f"general+{server.url}"])
    assert "sk-" not in str(caught.value) and not server.keys


def test_a_check_of_a_model_whose_answers_were_all_seen(server: ChatServer) -> None:
    """All answers of m1 are uncertain, so the second judge saw them all, although none is part of the check."""
    rows = [SURE[0]] * 30 + [UNSURE] * 12
    texts = [[text.format(n=n, m=2 * n) for text in row] for n, row in enumerate(rows)]
    lines = [
        json.dumps({"question": q, "reference": r, "answer": a, "model": f"m{n >= 30:d}"}) for n, (q, r, a) in enumerate(texts)
    ]
    Path("answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    judge = ("--judge", f"general+{server.url}#m", "--check", "15", "--force")
    # Three of 12 are too few, of all answers too.
    output = run(*judge, "--max-rows", "18").output
    assert all(re.search(rf"│ {name} +│ +{count} │.*│ +– │", output) for name, count in (("all", "42 │ +18"), ("m1", "12 │ +3")))
    assert re.search(r"│ m1 +│ +12 │ +12 │ +100.0 │ +100.0 \[", run(*judge).output)


def test_a_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="the environment variable OPENAI_API_KEY is not set; set it to the key"):
        judge_loading.find_judges(["general+openai:gpt-4o-mini"])


@pytest.mark.parametrize(
    ("honours", "rejects", "features"),
    [
        ({"structured_outputs"}, set(), "structured_outputs; no log-probabilities"),
        ({"response_format"}, {"structured_outputs", "grammar"}, "json_schema; no log-probabilities"),
        (set(), set(), "replies cannot be restricted to a verdict"),
        ({"grammar"}, {"temperature", "logprobs"}, "grammar; no log-probabilities; without logprobs, temperature, top_logprobs"),
        ({"grammar"}, {"max_tokens"}, "grammar; no log-probabilities; without max_tokens"),
    ],
)
def test_the_restriction_that_a_server_honours(server: ChatServer, honours: set[str], rejects: set[str], features: str) -> None:
    server.honours, server.rejects = honours, rejects
    server.verdict = lambda prompt: "correct" if "# Candidate" in prompt else "Hello!"
    [judge] = judge_loading.load_judges([f"{server.url}#m"])
    assert judge.judge.generator.check_features().describe() == features
    [label] = judge.judge.judge([judge_loading_row()])
    assert label.verdict == "correct"


def judge_loading_row() -> Any:
    from bert_judge.judges.protocol import Row

    return Row("s", 0, "m", "Capital?", ("Paris",), "It is Paris.")


def test_it_is_served(server: ChatServer) -> None:
    pool = select_judges([f"general+{server.url}#m"], [], Path("results"), Limits(), metrics=Metrics())
    pool.load()
    with TestClient(make_app(pool, Limits(), Metrics())) as client:
        sure, unsure = (
            client.post("/v1/judge", json={"question": question, "references": [reference], "candidate": answer}).json()
            for question, reference, answer in (("2 + 2?", "4", "4"), UNSURE)
        )
    pool.close()
    assert (sure["verdict"], unsure["verdict"], len(prompts(server))) == ("correct", "correct", 1)
    # Replies to clients are not stored.
    assert not Path("results").exists()


def test_a_compared_file(server: ChatServer) -> None:
    """Two answers to each question; the server decides the uncertain ones."""
    rows = [("Why does it rust?", "iron reacts with oxygen and water", answer) for answer in ("moist air attacks it", "it is old")]
    lines = [json.dumps(dict(zip(("question", "reference", "answer"), row, strict=True))) for row in rows]
    Path("answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    server.verdict = lambda prompt: "correct" if "moist" in prompt else "incorrect"
    result = CliRunner().invoke(app, ["compare", "answers.jsonl", "--judge", f"general+{server.url}#m"])
    assert result.exit_code == 0, result.output
    ranks = [json.loads(line)["rank"] for line in Path("answers.compared.jsonl").read_text("utf-8").splitlines()]
    assert ranks == [1, 2] and len(prompts(server)) == 2
