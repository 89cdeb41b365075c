"""One JSON request over HTTP, with one limit on its time, whatever the server does, and one on its size.

Redirects are not followed, so a key never travels to another host than the one it was meant for. Proxies are taken from
the environment (`https_proxy`, `http_proxy`, `no_proxy`).
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from foretell.lm.model import Trouble

MAX_BODY_BYTES = 16 * 2**20


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
    """Posts requests; safe to share between threads. `abort` ends those under way."""

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._live: set[socket.socket] = set()
        self._lock = threading.Lock()

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Response | Broken:
        """Send and read the response, all within `timeout_s`."""
        parts = urlsplit(url)
        started_s = time.monotonic()
        connection, target = _connection(parts, timeout_s)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # the last for names no host can have
            connection.close()
            return _broken(parts, error, timeout_s, sent=False)
        sock = connection.sock
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            _shut(sock)

        # A socket's own timeout starts again with every byte: only a watchdog bounds a server that trickles.
        watchdog = threading.Timer(max(0.0, timeout_s - (time.monotonic() - started_s)), expire)
        watchdog.daemon = True
        with self._lock:
            self._live.add(sock)
        watchdog.start()
        try:
            connection.request("POST", target, body=body, headers=dict(headers))
            response = connection.getresponse()
            data = response.read(self._max_body_bytes + 1)
            if expired.is_set():
                return _timed_out(parts, timeout_s, sent=True)
            if len(data) > self._max_body_bytes:
                large = f"{parts.hostname} sent more than {self._max_body_bytes} bytes: is this the right address?"
                return Broken(Trouble.MALFORMED, large, sent=True)
            if response.length:  # it closed before all that it had announced came
                return Broken(Trouble.UNREACHABLE, f"{parts.hostname} broke off its response", sent=True)
            return Response(response.status, {k.lower(): v for k, v in response.getheaders()}, data)
        except (OSError, http.client.HTTPException) as error:
            return _timed_out(parts, timeout_s, True) if expired.is_set() else _broken(parts, error, timeout_s, True)
        finally:
            watchdog.cancel()
            with self._lock:
                self._live.discard(sock)
            connection.close()

    def abort(self) -> None:
        """End all requests under way; each returns as broken."""
        with self._lock:
            live = list(self._live)
        for sock in live:
            _shut(sock)


def _connection(parts: SplitResult, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is not open yet, and the target to ask it for."""
    host, target = parts.hostname or "", parts.path or "/"
    proxy = None if proxy_bypass(host) else getproxies().get(parts.scheme)
    via = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
    if parts.scheme == "https":
        context = ssl.create_default_context()
        if via is None:
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=context), target
        tunnel = http.client.HTTPSConnection(via.hostname or "", via.port, timeout=timeout_s, context=context)
        tunnel.set_tunnel(host, parts.port)
        return tunnel, target
    if via is None:
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s), target
    return http.client.HTTPConnection(via.hostname or "", via.port, timeout=timeout_s), parts.geturl()


def _shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # below TLS, whose own farewell could block
    except OSError:
        return  # it was closed already, which is all that is wanted


def _timed_out(parts: SplitResult, timeout_s: float, sent: bool) -> Broken:
    text = f"no whole response from {parts.hostname} within {timeout_s:g} s: raise timeout_s, or ask for fewer tokens"
    return Broken(Trouble.TIMEOUT, text, sent)


def _broken(parts: SplitResult, error: Exception, timeout_s: float, sent: bool) -> Broken:
    if isinstance(error, TimeoutError):
        return _timed_out(parts, timeout_s, sent)
    where = f"{parts.scheme}://{parts.netloc}"
    if isinstance(error, http.client.HTTPException) and not isinstance(error, OSError | http.client.IncompleteRead):
        text = f"{where} does not answer in HTTP ({type(error).__name__}): check the address and the port"
        return Broken(Trouble.MALFORMED, text, sent)
    if isinstance(error, ssl.SSLCertVerificationError):
        return Broken(Trouble.UNREACHABLE, f"the certificate of {where} does not hold: {error.verify_message}", sent)
    text = f"cannot talk to {where} ({error}): is the server running, and the address right?"
    return Broken(Trouble.UNREACHABLE, text, sent)
