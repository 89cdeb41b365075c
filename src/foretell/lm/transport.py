"""One JSON request over HTTP with httpx: one limit on its total time, one on the size of the response.

Connections are kept and reused. Redirects are not followed, so a key never travels to another host than the one it was
meant for. Proxies, with credentials if their address has some, come from the environment (`https_proxy`, `http_proxy`,
`all_proxy`, `no_proxy`); trusted certificates are the system's.

httpx's own timeouts start again with every byte, and a blocking read cannot be interrupted from another thread. So the
client is asynchronous, on an event loop in a thread of its own, where a request has a deadline and can be cancelled.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import ssl
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
import httpx

from foretell.lm.model import Trouble

MAX_BODY_BYTES = 16 * 2**20
_KEEP_IDLE_S = 30.0
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


@dataclass(frozen=True)
class Response:
    """What a server said. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Broken:
    """No whole response came. `sent`: the request had left by then, so it may have been charged."""

    kind: Trouble
    message: str
    sent: bool


class Transport:
    """Posts requests; safe to share between threads. `abort` ends those under way.

    Args:
        connections: How many idle connections are kept for the next requests.
        max_body_bytes: Longest response that is read.
    """

    def __init__(self, connections: int = 8, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._connections = connections
        self._max_body_bytes = max_body_bytes
        self._runner: _Runner | None = None
        self._live: set[concurrent.futures.Future[Response | Broken]] = set()
        self._lock = threading.Lock()

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Response | Broken:
        """Send and read the response, all within `timeout_s`."""
        try:
            runner = self._started()
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            return _bad_proxy(error)
        exchange = _Exchange(url, body, headers, timeout_s, self._max_body_bytes)
        future = asyncio.run_coroutine_threadsafe(exchange.run(runner.client), runner.loop)
        with self._lock:
            self._live.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            return Broken(Trouble.UNREACHABLE, "interrupted before the response came", exchange.sent)
        finally:
            with self._lock:
                self._live.discard(future)

    def abort(self) -> None:
        """End all requests under way; each returns as broken."""
        with self._lock:
            live = list(self._live)
        for future in live:
            future.cancel()

    def _started(self) -> _Runner:
        """The client on its loop, of this process: a loop's thread does not survive a fork."""
        with self._lock:
            if self._runner is None or self._runner.process_id != os.getpid():
                self._runner = _Runner(self._connections)
                weakref.finalize(self, self._runner.stop)
            return self._runner


class _Runner:
    """An httpx client, and the thread with the event loop that it works on."""

    def __init__(self, connections: int) -> None:
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=connections, keepalive_expiry=_KEEP_IDLE_S
        )
        self.client = httpx.AsyncClient(
            verify=ssl.create_default_context(), limits=limits, timeout=None, follow_redirects=False, trust_env=True
        )
        self.process_id = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="http-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self.process_id == os.getpid() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=1.0)

    def _run(self) -> None:
        self.loop.run_forever()
        self.loop.run_until_complete(self.client.aclose())
        self.loop.close()


class _Exchange:
    """One request and its response. `sent` and `answered` say how far it came."""

    def __init__(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, max_body_bytes: int):
        self.url, self.body, self.headers = url, body, headers
        self.timeout_s, self.max_body_bytes = timeout_s, max_body_bytes
        self.sent = self.answered = False

    async def run(self, client: httpx.AsyncClient) -> Response | Broken:
        parts = urlsplit(self.url)
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._exchanged(client, parts)
        except TimeoutError:
            text = (
                f"no whole response from {parts.hostname} within {self.timeout_s:g} s: "
                "raise timeout_s, or ask for fewer tokens"
            )
            return Broken(Trouble.TIMEOUT, text, self.sent)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:  # the last for impossible names
            return self._broken(parts, error)

    async def _exchanged(self, client: httpx.AsyncClient, parts: SplitResult) -> Response | Broken:
        headers = {**self.headers, "Accept-Encoding": "identity"}
        request = client.build_request(
            "POST", self.url, content=self.body, headers=headers, extensions={"trace": self._trace}
        )
        response = await client.send(request, stream=True)
        self.answered = True
        try:
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding not in ("", "identity"):
                packed = f"{parts.hostname} sent a compressed body, which was not asked for"
                return Broken(Trouble.MALFORMED, packed, sent=True)
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self.max_body_bytes:
                    large = f"{parts.hostname} sent more than {self.max_body_bytes} bytes: is this the right address?"
                    return Broken(Trouble.MALFORMED, large, sent=True)
            return Response(response.status_code, dict(response.headers), bytes(body))
        finally:
            await response.aclose()

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpcore's report of its steps; the CONNECT to a proxy is a request too, and charges nothing."""
        if event.endswith("send_request_headers.started") and info["request"].method == b"POST":
            self.sent = True

    def _broken(self, parts: SplitResult, error: Exception) -> Broken:
        """Why no response came. Of the error's own text only what a connection says: that never has a header in it."""
        sent = self.sent and not isinstance(error, _NOT_SENT)
        where = f"{parts.scheme}://{parts.netloc}"
        if isinstance(error, httpx.ProxyError):
            text = f"the proxy refuses {where} ({error}): check https_proxy, with user and password if asked"
            return Broken(Trouble.UNREACHABLE, text, sent)
        if isinstance(error, httpx.ProtocolError):
            return self._broken_off(where, error, sent)
        text = f"cannot talk to {where} ({_reason(error)}): is the server running, and the address right?"
        return Broken(Trouble.UNREACHABLE, text, sent)

    def _broken_off(self, where: str, error: httpx.ProtocolError, sent: bool) -> Broken:
        if self.answered:
            return Broken(Trouble.UNREACHABLE, f"{where} broke off its response", sent)
        if not any(isinstance(one, h11.ProtocolError) for one in _chain(error)):  # nothing came that h11 could not read
            text = f"{where} closed the connection without an HTTP response: check the address and the port"
            return Broken(Trouble.UNREACHABLE, text, sent)
        text = f"{where} does not answer in HTTP: check the address and the port"
        return Broken(Trouble.MALFORMED, text, sent)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it was raised from: httpx wraps httpcore, which wraps h11 and the connection."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: Exception) -> str:
    """The first text in the chain: httpx sometimes wraps what the connection raised without its words."""
    return next(filter(None, map(str, _chain(error))), type(error).__name__)


def _bad_proxy(error: Exception) -> Broken:
    """The client could not be made. An address of a proxy may hold a password, so it is not shown."""
    if isinstance(error, ImportError):
        what = "a SOCKS proxy needs another package: pip install 'httpx[socks]', or unset all_proxy"
    else:
        what = "the address of a proxy in http_proxy, https_proxy or all_proxy is not one: http://host:port is"
    return Broken(Trouble.UNREACHABLE, what, sent=False)
