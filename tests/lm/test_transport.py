"""Connections, proxies and secrets of the HTTP client, against real servers on loopback."""

from __future__ import annotations

import base64
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from foretell.lm import Failure, Trouble
from foretell.lm.endpoint import Endpoint
from foretell.lm.openai import OpenAIModel
from foretell.lm.transport import Broken, Response, Transport
from tests.lm.endpoint_server import Say, Server, completion, serving
from tests.lm.test_openai import KEY, model, only, request

PASSWORD = "proxy-secret-9876"
FAR = "http://far.invalid/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("FORETELL_LM_KEY", KEY)


def proxy_of(server: Server, user: str = "") -> str:
    return server.url.removesuffix("/v1").replace("http://", f"http://{user}")


def basic(user: str) -> str:
    return f"Basic {base64.b64encode(user.encode()).decode()}"


def ask_far(url: str = FAR, attempts: int = 1) -> object:
    return only(OpenAIModel(Endpoint(url, "m", timeout_s=10.0, attempts=attempts)).ask([request()]))


def test_connections_are_reused_between_questions() -> None:
    with serving(lambda i, body: Say(body=completion())) as server:
        asked = model(server, concurrency=1)
        for i in range(5):
            assert only(asked.ask([request(f"{i}")])).text == "hello"
        asked.ask([request(f"more {i}") for i in range(5)])
    assert len(server.bodies) == 10
    assert server.connections == 1


def test_connections_are_as_many_as_requests_at_once() -> None:
    with serving(lambda i, body: Say(body=completion(), hang_s=0.02)) as server:
        model(server, concurrency=3).ask([request(f"{i}") for i in range(15)])
    assert len(server.bodies) == 15
    assert server.connections <= 3


def test_a_connection_that_the_server_closed_is_replaced() -> None:
    def script(i: int, body: object) -> Say:
        return Say(body=completion(), headers={"Connection": "close"} if i == 0 else {})

    with serving(script) as server:
        asked = model(server, attempts=1)
        for i in range(3):
            assert only(asked.ask([request(f"{i}")])).text == "hello"
    assert server.connections == 2


def test_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda i, body: Say(body=completion("by proxy"))) as server:
        monkeypatch.setenv("http_proxy", proxy_of(server))
        reply = ask_far()
    assert reply.text == "by proxy"  # type: ignore[attr-defined]
    assert server.paths == [f"{FAR}/chat/completions"]
    assert "Proxy-Authorization" not in server.headers[0]


def test_a_proxy_gets_its_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(i: int, body: object) -> Say:
        allowed = server.headers[i].get("Proxy-Authorization") == basic(f"me:{PASSWORD}")
        return Say(body=completion("by proxy")) if allowed else Say(407, {"error": {"message": "who are you?"}})

    with serving(script) as server:
        monkeypatch.setenv("http_proxy", proxy_of(server))
        refused = ask_far()
        monkeypatch.setenv("http_proxy", proxy_of(server, f"me:{PASSWORD}@"))
        reply = ask_far()
    assert isinstance(refused, Failure) and refused.kind is Trouble.REFUSED
    assert "http_proxy" in refused.message
    assert reply.text == "by proxy"  # type: ignore[attr-defined]


def test_a_tunnel_gets_the_proxys_credentials_and_not_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda i, body: Say(407)) as server:
        monkeypatch.setenv("https_proxy", proxy_of(server, f"me:{PASSWORD}@"))
        failure = ask_far("https://far.invalid/v1")
    assert server.paths == ["CONNECT far.invalid:443"]
    assert server.headers[0]["Proxy-Authorization"] == basic(f"me:{PASSWORD}")
    assert KEY not in str(server.headers)
    assert isinstance(failure, Failure) and failure.kind is Trouble.UNREACHABLE
    assert "https_proxy" in failure.message and PASSWORD not in failure.message
    assert failure.usage.tokens == 0  # the question never left


def test_hosts_without_a_proxy_are_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda i, body: Say(body=completion("direct"))) as server:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert only(model(server).ask([request()])).text == "direct"
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("proxy", [f"http://me:{PASSWORD}@host:port", f"gopher://me:{PASSWORD}@host", "socks5://h:1"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    failure = ask_far()
    assert isinstance(failure, Failure) and failure.kind is Trouble.UNREACHABLE
    assert "all_proxy" in failure.message and PASSWORD not in failure.message


def test_redirects_do_not_carry_the_key_elsewhere() -> None:
    with serving(lambda i, body: Say(body=completion())) as elsewhere:
        moved = Say(307, {}, {"Location": f"{elsewhere.url}/chat/completions"})
        with serving(lambda i, body: moved) as server:
            failure = only(model(server).ask([request()]))
    assert isinstance(failure, Failure) and failure.kind is Trouble.REFUSED
    assert elsewhere.connections == 0


def test_secrets_are_in_no_log_and_no_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    says = [
        Say(401, {"error": {"message": f"bad key {KEY}"}}),
        Say(500, f"oops {KEY}".encode()),
        Say(body=f"not a completion {KEY}".encode()),
        Say(body=completion(), cut_to=5),
        Say(body=completion()),
    ]
    with serving(lambda i, body: says[i]) as server:
        monkeypatch.setenv("http_proxy", proxy_of(server, f"me:{PASSWORD}@"))
        found = [ask_far() for _ in says]
    with serving(lambda i, body: Say()) as gone:
        pass
    found.append(only(model(gone, attempts=1).ask([request()])))
    assert sum(isinstance(one, Failure) for one in found) == 5
    written = caplog.text + repr(found)
    assert "connect_tcp" in caplog.text  # the client's own log was on
    assert KEY not in written and PASSWORD not in written and basic(f"me:{PASSWORD}") not in written


def test_an_abort_ends_requests_of_all_threads() -> None:
    found: list[Response | Broken] = []
    with serving(lambda i, body: Say(body=completion(), hang_s=20.0)) as server:
        transport = Transport()
        asking = [
            threading.Thread(target=lambda: found.append(transport.post(server.url, b"{}", {}, 20.0))) for _ in range(3)
        ]
        for thread in asking:
            thread.start()
        while len(server.bodies) < 3:
            threading.Event().wait(0.01)
        transport.abort()
        for thread in asking:
            thread.join(timeout=10.0)
        assert [type(one) for one in found] == [Broken] * 3
        assert all(isinstance(one, Broken) and one.sent for one in found)


def test_a_forked_process_has_a_client_of_its_own() -> None:
    with serving(lambda i, body: Say(body=completion())) as server:
        asked = model(server)
        asked.ask([request()])
        child = os.fork()
        if child == 0:
            os._exit(0 if only(asked.ask([request()])).text == "hello" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_httpx_is_imported_with_the_first_endpoint() -> None:
    script = """
import sys, foretell, foretell.cli.app, foretell.lm, foretell.lm.endpoint
assert "httpx" not in sys.modules
foretell.lm.make_model("openai:m@http://127.0.0.1:9/v1")
assert "httpx" in sys.modules
"""
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    assert subprocess.run([sys.executable, "-c", script], env=variables, timeout=60).returncode == 0
