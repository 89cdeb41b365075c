from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
from typing import Any

import pytest

from foretell.lm import Budget, Failure, Message, Reply, Request, Trouble, Usage
from foretell.lm.endpoint import Endpoint, Prices
from foretell.lm.openai import OpenAIModel
from tests.lm.endpoint_server import Say, Server, completion, serving

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("FORETELL_LM_KEY", KEY)


def request(text: str = "hi", **more: Any) -> Request:
    return Request((Message("user", text),), **more)


class Sleeps:
    """Notes how long was to be slept, and does not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model(server: Server, budget: Budget | None = None, sleep: Any = None, **more: Any) -> OpenAIModel:
    settings: dict[str, Any] = {"timeout_s": 5.0, "attempts": 3, **more}
    return OpenAIModel(Endpoint(server.url, "m", **settings), budget, sleep or Sleeps())


def only(found: list[Reply | Failure]) -> Any:
    (one,) = found
    return one


def test_a_normal_answer() -> None:
    with serving(lambda i, body: Say(body=completion("hello", 1000, 200))) as server:
        reply = only(model(server, prices=Prices(2.0, 10.0)).ask([request(temperature=0.5, seed=3, max_tokens=7)]))
    assert reply.text == "hello"
    assert reply.usage == Usage(1000, 200)
    assert reply.money == pytest.approx(0.004)
    assert reply.seconds > 0.0
    assert not reply.cached
    assert server.paths == ["/v1/chat/completions"]
    body = server.bodies[0]
    assert body == {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5, "max_tokens": 7, "seed": 3
    }  # fmt: skip
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_order_and_concurrency_limit() -> None:
    def script(i: int, body: dict[str, Any]) -> Say:
        text = body["messages"][0]["content"]
        return Say(body=completion(text.upper()), hang_s=0.02 * (int(text[1:]) % 3))

    with serving(script) as server:
        found = model(server, concurrency=4).ask([request(f"q{i}") for i in range(24)])
    assert [r.text for r in found if isinstance(r, Reply)] == [f"Q{i}" for i in range(24)]
    assert 1 < server.most_at_once <= 4


def test_retry_after_is_honoured() -> None:
    busy = Say(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"})
    sleeps = Sleeps()
    with serving(lambda i, body: busy if i < 2 else Say(body=completion())) as server:
        assert only(model(server, sleep=sleeps).ask([request()])).text == "hello"
    assert len(server.bodies) == 3
    assert [s for s in sleeps.seconds if 7.0 <= s <= 7.1]
    assert all(s >= 6.5 for s in sleeps.seconds)


def test_a_rest_that_is_too_long_is_a_failure() -> None:
    with serving(lambda i, body: Say(429, {}, {"Retry-After": "86400"})) as server:
        failure = only(model(server).ask([request()]))
    assert failure.kind is Trouble.RATE_LIMITED
    assert "86400" in failure.message
    assert len(server.bodies) == 1


def test_server_errors_are_retried_with_growing_waits() -> None:
    sleeps = Sleeps()
    with serving(lambda i, body: Say(500, b"<html>oops</html>")) as server:
        failure = only(model(server, sleep=sleeps, attempts=4).ask([request()]))
    assert failure.kind is Trouble.SERVER_ERROR
    assert len(server.bodies) == 4
    assert len(sleeps.seconds) == 3
    for attempt, seconds in enumerate(sleeps.seconds):
        assert 0.5 * 2**attempt <= seconds <= 2**attempt
    assert failure.money == 0.0


@pytest.mark.parametrize(
    ("status", "body", "kind", "word"),
    [
        (400, {"error": {"message": "bad field"}}, Trouble.REFUSED, "bad field"),
        (401, {"error": {"message": f"no such key {KEY}"}}, Trouble.REFUSED, "FORETELL_LM_KEY"),
        (404, {"detail": "none"}, Trouble.REFUSED, "model"),
        (301, {}, Trouble.REFUSED, "elsewhere"),
        (413, b"\xff\xfe", Trouble.TOO_LONG, "too long"),
        (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, Trouble.TOO_LONG, "show less"),
        (429, {"error": {"code": "insufficient_quota"}}, Trouble.REFUSED, "credit"),
    ],
)
def test_refusals_are_not_retried(status: int, body: Any, kind: Trouble, word: str) -> None:
    with serving(lambda i, b: Say(status, body, {"Location": "http://127.0.0.1:1/"})) as server:
        failure = only(model(server).ask([request()]))
    assert failure.kind is kind
    assert word in failure.message
    assert KEY not in failure.message
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"\x00\xff garbage",
        b"",
        b"null",
        b"[1]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b"[" * 100_000,
    ],
)
def test_garbage_is_malformed_and_counts_as_spent(body: bytes) -> None:
    with serving(lambda i, b: Say(body=body)) as server:
        asked = model(server, Budget(tokens=100_000), prices=Prices(1.0, 1.0))
        failure = only(asked.ask([request(max_tokens=50)]))
    assert failure.kind is Trouble.MALFORMED
    assert len(server.bodies) == 1
    assert asked.budget.spent.tokens == failure.usage.tokens > 50
    assert failure.money > 0.0


def test_a_hanging_and_a_trickling_server_time_out() -> None:
    says = [Say(body=completion(), hang_s=5.0), Say(body=completion(), trickle_s=0.02)]
    with serving(lambda i, body: says[i]) as server:
        asked = model(server, Budget(tokens=10_000), timeout_s=1.0, attempts=1)
        found = [only(asked.ask([request()])) for _ in says]
    assert [f.kind for f in found] == [Trouble.TIMEOUT, Trouble.TIMEOUT]
    assert "timeout_s" in found[0].message
    assert asked.budget.spent.tokens == sum(f.usage.tokens for f in found) > 2 * 1024


def test_a_slow_server_is_waited_for() -> None:
    with serving(lambda i, body: Say(body=completion(), hang_s=0.3)) as server:
        assert only(model(server).ask([request()])).seconds >= 0.25


def test_a_broken_connection_is_retried() -> None:
    with serving(lambda i, body: Say(body=completion(), cut_to=20 if i == 0 else None)) as server:
        assert only(model(server).ask([request()])).text == "hello"
    assert len(server.bodies) == 2


def test_nobody_there() -> None:
    with serving(lambda i, body: Say()) as server:
        pass
    failure = only(model(server, attempts=2).ask([request()]))
    assert failure.kind is Trouble.UNREACHABLE
    assert failure.usage.tokens == 0


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"SSH-2.0-hello\r\n\r\n", Trouble.MALFORMED),
        (b"SSH-2.0-hello\r\n", Trouble.UNREACHABLE),
        (b"", Trouble.UNREACHABLE),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000, Trouble.MALFORMED),
        (b"HTTP/1.1 99999 OK\r\n\r\n", Trouble.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nxx", Trouble.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhel", Trouble.UNREACHABLE),
    ],
)
def test_what_is_no_http(said: bytes, kind: Trouble) -> None:
    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):  # the client has seen enough
                while connection.recv(65536):  # closing with something unread would reset the connection
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        endpoint = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "m", timeout_s=60.0, attempts=1)
        assert only(OpenAIModel(endpoint).ask([request()])).kind is kind
        thread.join()


def test_hosts_that_cannot_be() -> None:
    endpoint = Endpoint(f"http://{'a' * 70}.invalid/v1", "m", attempts=1)
    assert only(OpenAIModel(endpoint).ask([request()])).kind is Trouble.UNREACHABLE


def test_an_endless_body_is_cut() -> None:
    with serving(lambda i, body: Say(body=b"x" * (17 * 2**20))) as server:
        assert only(model(server).ask([request()])).kind is Trouble.MALFORMED


@pytest.mark.parametrize("limit", ["tokens", "money"])
def test_budgets_hold_under_concurrency(limit: str) -> None:
    prices = Prices(3.0, 15.0)
    asking = [request(f"question {i:02d}", max_tokens=30) for i in range(50)]
    with serving(lambda i, body: Say()) as server:
        endpoint = Endpoint(server.url, "m", prices=prices)
    worst = endpoint.worst_usage(asking[0])
    each = endpoint.spend(worst)
    budget = Budget(tokens=10 * each.tokens) if limit == "tokens" else Budget(money=10 * each.money)
    dear = completion("x", worst.prompt_tokens, worst.answer_tokens)  # every one costs the very most
    with serving(lambda i, body: Say(body=dear, hang_s=0.01)) as server:
        found = model(server, budget, concurrency=50, prices=prices).ask(asking)
    assert sum(isinstance(f, Reply) for f in found) == len(server.bodies) == 10
    assert {f.kind for f in found if isinstance(f, Failure)} == {Trouble.OVER_BUDGET}
    assert budget.spent.tokens <= 10 * each.tokens
    assert budget.spent.money <= 10 * each.money + 1e-9


def test_cheap_answers_leave_room_for_more() -> None:
    asking = [request(f"question {i:02d}", max_tokens=1000) for i in range(30)]
    with serving(lambda i, body: Say(body=completion("x", 20, 2), hang_s=0.01)) as server:
        budget = Budget(tokens=3 * model(server).endpoint.worst_usage(asking[0]).tokens)
        found = model(server, budget, concurrency=16).ask(asking)
    assert all(isinstance(f, Reply) for f in found)  # three at a time are held for, 22 tokens each are spent
    assert server.most_at_once <= 3
    assert budget.spent.tokens == 30 * 22


def test_failed_attempts_count_before_a_retry() -> None:
    with serving(lambda i, body: Say(body=completion(), hang_s=5.0)) as server:
        each = model(server).endpoint.worst_usage(request()).tokens
        failure = only(model(server, Budget(tokens=2 * each + 5), timeout_s=2.0, attempts=9).ask([request()]))
    assert failure.kind is Trouble.OVER_BUDGET  # each of the two that timed out may have been charged
    assert failure.usage.tokens == 2 * each
    assert len(server.bodies) == 2


def test_no_count_means_the_worst_case() -> None:
    with serving(lambda i, body: Say(body={"choices": completion()["choices"]})) as server:
        reply = only(model(server).ask([request()]))
    assert reply.usage.estimated
    assert reply.usage.tokens >= 1024


def test_schema_and_tools() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    call = {"message": {"content": None, "tool_calls": [{"function": {"name": "answer", "arguments": '{"a": 1}'}}]}}
    with serving(lambda i, body: Say(body=completion(**call) if "tools" in body else completion("{}"))) as server:
        for way, expected in (("json_schema", "{}"), ("tool", '{"a": 1}'), ("off", "{}")):
            assert only(model(server, structured=way).ask([request(schema=schema)])).text == expected
    plain, tool, off = server.bodies
    assert plain["response_format"]["json_schema"]["schema"] == schema
    assert tool["tools"][0]["function"]["parameters"] == schema
    assert tool["tool_choice"]["function"]["name"] == "answer"
    assert "response_format" not in off
    assert "tools" not in off


def test_probabilities_of_choices() -> None:
    top = [
        {"token": "A", "logprob": -1.0},
        {"token": " A", "logprob": -3.0},
        {"token": "b", "logprob": -0.9},
        {"token": "X", "logprob": -9999.0},
    ]
    logprobs = {"content": [{"token": "A", "top_logprobs": top}]}
    with serving(lambda i, body: Say(body=completion("A", logprobs=logprobs, finish_reason="length"))) as server:
        reply = only(model(server).ask([request(choices=("A", "B", "X"))]))
    assert reply.choice_probs == pytest.approx({"A": 0.36788 + 0.04979, "B": 0.0, "X": 0.0}, abs=1e-4)
    assert not reply.cut_off
    body = server.bodies[0]
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)


@pytest.mark.parametrize("logprob", ["x", None, 3.0, float("nan")])
def test_bad_logprobs_are_malformed(logprob: Any) -> None:
    bad = {"content": [{"top_logprobs": [{"token": "A", "logprob": logprob}]}]}
    data = json.dumps(completion("A", logprobs=bad)).encode()
    with serving(lambda i, body: Say(body=data)) as server:
        assert only(model(server).ask([request(choices=("A", "B"))])).kind is Trouble.MALFORMED


def test_declined_and_cut_off() -> None:
    says = [
        completion(message={"content": None, "refusal": "I would rather not"}),
        completion(finish_reason="content_filter"),
        completion("half an ans", finish_reason="length"),
    ]
    with serving(lambda i, body: Say(body=says[i])) as server:
        found = [only(model(server).ask([request(f"{i}")])) for i in range(3)]
    assert [f.kind for f in found[:2]] == [Trouble.DECLINED, Trouble.DECLINED]
    assert found[2].cut_off


def test_pace_spreads_requests() -> None:
    sleeps = Sleeps()
    with serving(lambda i, body: Say(body=completion())) as server:
        model(server, sleep=sleeps, requests_per_minute=60, concurrency=2).ask([request(f"{i}") for i in range(5)])
    assert len(sleeps.seconds) == 4
    assert max(sleeps.seconds) == pytest.approx(4.0, abs=0.9)


def test_the_key_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda i, body: Say(body=completion(f"your key is {KEY}"))) as server:
        asked = model(server)
        assert KEY not in only(asked.ask([request()])).text
        assert KEY not in repr(vars(asked)) + repr(asked.endpoint) + asked.name
        monkeypatch.setenv("FORETELL_LM_KEY", "sk-bad\nX-Header: 1")
        failure = only(asked.ask([request()]))
        assert failure.kind is Trouble.REFUSED
        assert "sk-bad" not in failure.message
        monkeypatch.delenv("FORETELL_LM_KEY")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)  # a vendor's key goes to that vendor alone
        only(asked.ask([request()]))
    assert "Authorization" not in server.headers[-1]
    assert Endpoint("https://api.openai.com/v1", "m").key() == KEY


def test_an_interrupt_ends_what_is_under_way() -> None:
    with serving(lambda i, body: Say(body=completion(), hang_s=20.0)) as server:
        asked = model(server, timeout_s=20.0)
        before = threading.active_count()

        def interrupt_once_all_are_asked() -> None:
            while len(server.bodies) < 4:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            threading.Thread(target=interrupt_once_all_are_asked, daemon=True).start()
            asked.ask([request(f"{i}") for i in range(4)])
        deadline = time.monotonic() + 15.0  # less than the server hangs
        while any(t.name.startswith("lm") for t in threading.enumerate()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(t.name.startswith("lm") for t in threading.enumerate()), before


@pytest.mark.parametrize(
    "bad",
    [
        {"url": "ftp://x/v1"},
        {"url": "http://user:pw@host/v1"},
        {"url": "http://host:notaport/v1"},
        {"url": "http://host/v 1"},
        {"url": "nothing"},
        {"model": ""},
        {"structured": "xml"},
        {"attempts": 0},
        {"extra": {"n": 4}},
        {"extra": {"max_tokens": 10**6}},
    ],
)
def test_bad_settings_are_told(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".{20}") as error:
        Endpoint(**{"url": "http://localhost:1/v1", "model": "m", **bad})
    assert "pw" not in str(error.value)


def test_extra_fields_and_names() -> None:
    with serving(lambda i, body: Say(body=completion())) as server:
        asked = model(server, extra={"temperature": None, "top_k": 1}, limit_field="max_completion_tokens")
        asked.ask([request()])
        assert asked.name != model(server).name
    assert "temperature" not in server.bodies[0]
    assert server.bodies[0]["top_k"] == 1
    assert server.bodies[0]["max_completion_tokens"] == 1024
    assert "max_tokens" not in server.bodies[0]
