"""A hub on this machine, for tests of downloads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants


@contextmanager
def local_hub(
    respond: Callable[[str], tuple[int, dict[str, str], bytes]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Serve a hub, point the client to it with an empty cache, and yield its address.

    Args:
        respond: path of a request → status, headers and content.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, content = respond(self.path)
            self.send_response(status)
            for key, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)
            self.close_connection = True

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for variable in ("LOCAL_MODELS_DIR", "LOCAL_DATASETS_DIR"):
        monkeypatch.delenv(variable, raising=False)
    # The client waits between its attempts at a busy server.
    monkeypatch.setattr("time.sleep", lambda _: None)
    yield address
    server.shutdown()
    server.server_close()
