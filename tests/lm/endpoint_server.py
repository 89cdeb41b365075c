"""A chat-completions server on loopback that behaves, or misbehaves, as a test tells it to."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Say:
    """One response. `body` may be bytes; `hang_s` is slept before a word is said, `trickle_s` after each byte."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    trickle_s: float = 0.0
    cut_to: int | None = None


def completion(text: str = "hello", prompt: int = 10, answer: int = 5, **choice: Any) -> dict[str, Any]:
    """The body of a normal completion."""
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer},
    }


@dataclass
class Server:
    """What a test sees of the server: where it is, and what it was sent."""

    url: str
    script: Callable[[int, dict[str, Any]], Say]
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: int = 0
    most_at_once: int = 0
    _at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept

        def setup(self) -> None:
            super().setup()
            with server.lock:
                server.connections += 1

        def do_CONNECT(self) -> None:
            with server.lock:
                server.paths.append(f"CONNECT {self.path}")
                server.headers.append(dict(self.headers))
            self.send_error(server.script(len(server.paths) - 1, {}).status)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                number = len(server.bodies)
                server.bodies.append(body)
                server.headers.append(dict(self.headers))
                server.paths.append(self.path)
                server._at_once += 1
                server.most_at_once = max(server.most_at_once, server._at_once)
            try:
                say = server.script(number, body)
                server.over.wait(say.hang_s)
            finally:
                with server.lock:  # before the answer: whoever has it may ask again at once
                    server._at_once -= 1
            with contextlib.suppress(OSError):  # the client has gone, as some tests want
                self._say(say)

        def _say(self, say: Say) -> None:
            data = say.body if isinstance(say.body, bytes) else json.dumps(say.body).encode()
            self.send_response(say.status)
            for name, value in say.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            sent = data if say.cut_to is None else data[: say.cut_to]
            self.close_connection = self.close_connection or say.cut_to is not None
            if not say.trickle_s:
                self.wfile.write(sent)
                return
            for i in range(len(sent)):
                if server.over.is_set():
                    return
                self.wfile.write(sent[i : i + 1])
                self.wfile.flush()
                time.sleep(say.trickle_s)

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler


@contextmanager
def serving(script: Callable[[int, dict[str, Any]], Say]) -> Iterator[Server]:
    """Run a server whose response number i to a body is `script(i, body)`."""
    server = Server("", script)
    http_server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http_server.daemon_threads = True
    server.url = f"http://127.0.0.1:{http_server.server_address[1]}/v1"
    thread = threading.Thread(target=http_server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        http_server.shutdown()
        http_server.server_close()
        thread.join()
