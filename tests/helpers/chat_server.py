"""A local HTTP server that speaks OpenAI's chat protocol and both protocols of decision models, and fails the way servers do.

The prompt, or the candidate, selects the failure: `fail:429*2 Hi` is answered after two errors. For a decision
model, the candidate also selects the answer: `p:0.9` (the probability, else 0.5), `options:0.9,0.4` (a distribution), `refuse`,
`other` (an answer to another question).
As a program, it prints its port and serves forever.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

FAILURE = re.compile(r"fail:(\w+)\*(\d+)")


class ChatServer(ThreadingHTTPServer):
    """Serves on a free port.

    Attributes:
        seen: bodies of the requests, in the order of arrival.
        keys: `Authorization` headers of the requests.
        parallel: maximum number of concurrent requests.
        delay: seconds before a response.
        dead: drop every connection.
        refuse: respond to every request with this failure.
        refuse_headers, refuse_code: headers of that response, and code in its body.
        lists: the list of models is served even then.
        reply: replaces parts of a response's message and choice.
        models: names in the list of models; None: there is no list.
        verdict: prompt → word that the model wants to reply; with it, a server restricts replies by the fields in `honours` only,
            and rejects those in `rejects`.
        model: name of the model that replies; None: a snapshot of the one in the request.
        usage: tokens of a reply; None: not reported, nor those of the prompt.
        context: reject a greater `max_tokens`, as vLLM 0.32 does.
    """

    daemon_threads = True
    # For bursts of connections.
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.tries: Counter[str] = Counter()
        self.open = self.parallel = 0
        self.delay = 0.0
        self.dead = False
        self.refuse = ""
        self.refuse_headers: dict[str, str] = {"Retry-After": "0.01"}
        self.refuse_code: str | None = None
        self.lists = False
        self.reply: dict[str, Any] = {}
        self.models: list[str] | None = ["m"]
        self.verdict: Callable[[str], str] | None = None
        self.honours: set[str] = set()
        self.rejects: set[str] = set()
        self.model: str | None = None
        self.context: int | None = None
        self.usage: dict[str, int] | None = {"completion_tokens": 5, "total_tokens": 6}
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


def prompt_of(body: dict[str, Any]) -> str:
    """The text that selects the answer."""
    if "messages" in body:
        return body["messages"][-1]["content"]
    state = body["state"] if "state" in body else json.loads(body["input"])
    return state["candidate"]


def decision(body: dict[str, Any], candidate: str) -> dict[str, Any]:
    """The answer of a decision model to one question."""
    found = re.search(r"p:(\S+)", candidate)
    probability = float(found[1]) if found else 0.5
    options = re.search(r"options:(\S+)", candidate)
    values = [float(value) for value in options[1].split(",")] if options else []
    usage = {"input_tokens": 100, "output_tokens": 0, "total_tokens": 100}
    response = {"model": f"{body['model']}-2026", "usage": usage}
    if "state" in body:
        (name,) = body["questions"]
        answer = {"type": "noul", "noul": probability} | ({"probabilities": dict(zip("tf", values, strict=True))} if values else {})
        name = "another" if candidate == "other" else name
        return response | {"answers": {} if candidate == "refuse" else {name: answer}}
    (question,) = body["questions"]
    answer = {"type": "predicate", "name": "another" if candidate == "other" else question["name"], "probability": probability}
    answer |= {"probabilities": [{"value": str(value), "probability": value} for value in values]} if values else {}
    refusal = {"type": "refusal", "name": question["name"]}
    return response | {"answers": [refusal if candidate == "refuse" else answer]}


def restrict(body: dict[str, Any], word: str, honours: set[str]) -> str:
    """Return a word, or the first allowed one if the body restricts the reply by a field that the server honours."""
    for field in honours & body.keys():
        text = json.dumps(body[field])
        allowed = re.findall(r'\\"(\w+)\\"', text) if field == "grammar" else re.findall(r'"(\w+)"', text)
        if field == "response_format":
            allowed = body[field]["json_schema"]["schema"]["properties"]["answer"]["enum"]
            return json.dumps({"answer": word if word in allowed else allowed[0]})
        return word if word in allowed else next(name for name in allowed if name != "choice")
    return word


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_GET(self) -> None:
        self.server.keys.append(self.headers["Authorization"])
        if (self.server.refuse and not self.server.lists) or self.server.models is None:
            self.fail(self.server.refuse or "404")
        else:
            self.send(200, json.dumps({"object": "list", "data": [{"id": name} for name in self.server.models]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = prompt_of(body)
        with self.server.lock:
            self.server.seen.append(body)
            self.server.keys.append(self.headers["Authorization"])
            self.server.tries[prompt] += 1
            tries = self.server.tries[prompt]
            self.server.open += 1
            self.server.parallel = max(self.server.parallel, self.server.open)
        time.sleep(self.server.delay)
        failure = FAILURE.search(prompt)
        if self.server.dead:
            self.close_connection = True
        elif self.server.refuse:
            self.fail(self.server.refuse)
        elif rejected := self.server.rejects & body.keys():
            self.send(400, json.dumps({"error": {"message": f"Unsupported parameter: {rejected.pop()!r}"}}))
        elif self.server.context is not None and (limit := body.get("max_tokens", 0)) > self.server.context:
            message = f"max_tokens={limit} cannot be greater than max_model_len={self.server.context}. Please request fewer tokens."
            self.send(400, json.dumps({"error": {"message": message}}))
        elif failure and tries <= int(failure[2]):
            self.fail(failure[1])
        else:
            self.send(200, json.dumps(self.answer(body, prompt) if "messages" in body else decision(body, prompt)))
        with self.server.lock:
            self.server.open -= 1

    def answer(self, body: dict[str, Any], prompt: str) -> dict[str, Any]:
        reply = self.server.reply
        if self.server.verdict is not None:
            reply = {"message": {"content": restrict(body, self.server.verdict(prompt), self.server.honours)}, **reply}
        message = {"role": "assistant", "content": f"answer to {prompt}", **reply.get("message", {})}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, **reply.get("choice", {})}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": self.server.model or f"{body['model']}-2026",
            "choices": [choice],
            "usage": self.server.usage and {"prompt_tokens": len(prompt.split()), **self.server.usage},
        }

    def fail(self, how: str) -> None:
        match how:
            case "half":
                self.send(200, '{"choices": [', length=4000)
                self.close_connection = True
            case "garbage":
                self.send(200, "<html>gateway</html>", kind="text/html")
            case "notjson":
                self.send(200, "{]")
            case "strange":
                self.send(200, '{"choices": [{"message": 3}]}')
            case "empty":
                self.send(200, "{}")
            case "silent":
                self.send(200, '{"choices": []}')
            case "reported":
                self.send(200, '{"error": {"message": "the model is loading", "code": 503}}')
            case "hang":
                time.sleep(3)
            case "drop":
                self.close_connection = True
            case _:
                key = self.headers["Authorization"]
                error = {"message": f"refused {key}", "code": self.server.refuse_code or how}
                self.send(int(how), json.dumps({"error": error}), headers=self.server.refuse_headers)

    def send(
        self,
        code: int,
        text: str,
        kind: str = "application/json",
        length: int | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length or len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@contextmanager
def serving() -> Iterator[ChatServer]:
    """Run a server in a thread of this process."""
    server = ChatServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    alone = ChatServer()
    alone.delay = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    print(alone.server_port, flush=True)
    alone.serve_forever()
