"""Any OpenAI-compatible chat-completions endpoint: concurrent, paced, retried, and never over its budget."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from foretell.lm import wire
from foretell.lm.budget import Budget, Spend
from foretell.lm.endpoint import Endpoint
from foretell.lm.model import Failure, Reply, Request, Trouble, Usage
from foretell.lm.pace import Pace, backoff_s, retry_after_s
from foretell.lm.transport import Broken, Response, Transport


class OpenAIModel:
    """A model at an endpoint. Safe to share between threads; `endpoint.concurrency` holds for all of them together.

    Before each attempt the most it can cost is set aside in the budget, and afterwards replaced by what it did cost.
    An attempt that left and brought no readable answer may have been charged, so all that was set aside counts as
    spent. `sleep` and `clock` are there for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        budget: Budget | None = None,
        sleep: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = endpoint.name
        self.endpoint = endpoint
        self.budget = Budget() if budget is None else budget
        self._transport = Transport(endpoint.concurrency)
        self._pace = Pace(endpoint.requests_per_minute, clock)
        self._clock = clock
        self._sleep = sleep
        self._slots = threading.BoundedSemaphore(endpoint.concurrency)
        self._rng = random.Random(endpoint.name)

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        """Answer all, in order. Interrupted, it ends what is under way and lets the interrupt through."""
        if not requests:
            return []
        stop = threading.Event()
        pool = ThreadPoolExecutor(min(self.endpoint.concurrency, len(requests)), thread_name_prefix="lm")
        try:
            answers = list(pool.map(lambda request: self._answer(request, stop), requests))
        except BaseException:
            stop.set()
            self._transport.abort()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return answers

    def _answer(self, request: Request, stop: threading.Event) -> Reply | Failure:
        """One request with its attempts; money and tokens of failed ones are added to the outcome's."""
        started_s = self._clock()
        try:
            key = self.endpoint.key()
        except ValueError as error:
            return Failure(Trouble.REFUSED, str(error))
        body = json.dumps(wire.payload(self.endpoint, request)).encode()
        lost = Spend()
        attempt = 0
        while True:
            outcome, wait_s = self._attempt(request, body, key, stop)
            attempt += 1
            if isinstance(outcome, Reply):
                return replace(outcome, money=outcome.money + lost.money)
            lost += Spend(outcome.usage.tokens, outcome.money)
            if wait_s is not None and wait_s > self.endpoint.longest_wait_s:
                outcome = replace(outcome, message=f"{outcome.message} (it wants {wait_s:.0f} s of rest)")
            elif outcome.kind.may_pass and attempt < self.endpoint.attempts and not stop.is_set():
                wait_s = max(backoff_s(attempt - 1, self._rng), wait_s or 0.0)
                if outcome.kind is Trouble.RATE_LIMITED:
                    self._pace.rest(wait_s)  # the others need not find out for themselves
                self._wait(wait_s, stop)
                continue
            usage = Usage(lost.tokens, 0, estimated=True) if lost.tokens else Usage()
            return replace(outcome, usage=usage, money=lost.money, seconds=self._clock() - started_s)

    def _attempt(
        self, request: Request, body: bytes, key: str, stop: threading.Event
    ) -> tuple[Reply | Failure, float | None]:
        """One exchange, paid for; with it the seconds that the server asked to be left alone, if it did."""
        worst = self.endpoint.worst_usage(request)
        held = self.budget.hold(self.endpoint.spend(worst))
        if held is None:
            return self._over_budget(), None
        spent = self.endpoint.spend(worst)
        try:
            self._wait(self._pace.turn_in_s(), stop)
            with self._slots:
                if stop.is_set():
                    spent = Spend()
                    return Failure(Trouble.STOPPED, "interrupted before it was sent"), None
                started_s = self._clock()
                response = self._transport.post(
                    self.endpoint.completions_url, body, self._headers(key), self.endpoint.timeout_s
                )
                seconds = self._clock() - started_s
            outcome = self._read(request, response, key)
            spent = Spend(outcome.usage.tokens, outcome.money)
        finally:
            self.budget.settle(held, spent)
        asked_s = retry_after_s(response.headers, time.time()) if isinstance(response, Response) else None
        return replace(outcome, seconds=seconds), asked_s if isinstance(outcome, Failure) else None

    def _read(self, request: Request, response: Response | Broken, key: str) -> Reply | Failure:
        if isinstance(response, Response):
            return wire.read(self.endpoint, request, response, key)
        usage = self.endpoint.worst_usage(request) if response.sent else Usage()
        return Failure(response.kind, response.message, usage, money=self.endpoint.prices.of(usage))

    def _headers(self, key: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "foretell"}
        return headers | ({"Authorization": f"Bearer {key}"} if key else {})

    def _over_budget(self) -> Failure:
        spent, limits = self.budget.spent, []
        if self.budget.tokens is not None:
            limits.append(f"{spent.tokens} of {self.budget.tokens} tokens")
        if self.budget.money is not None:
            limits.append(f"{spent.money:.4g} of {self.budget.money:.4g} in money")
        text = f"{' and '.join(limits)} are spent, and the next request might cost more than is left: raise the budget"
        return Failure(Trouble.OVER_BUDGET, text)

    def _wait(self, seconds: float, stop: threading.Event) -> None:
        if seconds <= 0.0:
            return
        if self._sleep is None:
            stop.wait(seconds)
        else:
            self._sleep(seconds)
