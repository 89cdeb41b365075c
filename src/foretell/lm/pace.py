"""When the next request may be sent: so many a minute, and none before a server that is overrun wants one."""

from __future__ import annotations

import email.utils
import math
import random
import threading
import time
from collections.abc import Callable, Mapping

FIRST_WAIT_S = 1.0
LONGEST_BACKOFF_S = 60.0


class Pace:
    """Hands out turns, evenly spread over the minute; safe to share between threads."""

    def __init__(self, requests_per_minute: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        if requests_per_minute is not None and not requests_per_minute > 0.0:
            raise ValueError(f"requests per minute must be above zero, got {requests_per_minute!r}")
        self._gap_s = 0.0 if requests_per_minute is None else 60.0 / requests_per_minute
        self._clock = clock
        self._next_s = -math.inf
        self._lock = threading.Lock()

    def turn_in_s(self) -> float:
        """Take the next turn; returns the seconds to wait until it comes."""
        with self._lock:
            now_s = self._clock()
            at_s = max(now_s, self._next_s)
            self._next_s = at_s + self._gap_s
            return at_s - now_s

    def rest(self, seconds: float) -> None:
        """Give no turn within the next `seconds`."""
        with self._lock:
            self._next_s = max(self._next_s, self._clock() + seconds)


def backoff_s(attempt: int, rng: random.Random) -> float:
    """How long to wait after failed attempt number `attempt` (from 0): doubling, with up to half of it at random."""
    full_s = min(LONGEST_BACKOFF_S, FIRST_WAIT_S * 2.0 ** min(attempt, 16))
    return full_s * (0.5 + 0.5 * rng.random())


def retry_after_s(headers: Mapping[str, str], now_epoch_s: float) -> float | None:
    """What a `retry-after` header (seconds, or a date) asks for; None where there is none that makes sense."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now_epoch_s
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
