"""Budgets of tokens and money that hold under concurrency: the worst case is set aside before anything is sent."""

from __future__ import annotations

import threading
from dataclasses import dataclass

_ROUNDING = 1e-9  # money that sums of floats may be off by


@dataclass(frozen=True)
class Spend:
    """Tokens and money."""

    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.tokens + other.tokens, self.money + other.money)


@dataclass(frozen=True, eq=False)
class Hold:
    """Something set aside; give it to `Budget.settle` exactly once."""

    worst: Spend


class Budget:
    """What may be spent, shared by any number of threads and models. None means no limit.

    As long as every settled cost is at most what was held for it, spent plus held never exceeds the limits.
    """

    def __init__(self, tokens: int | None = None, money: float | None = None) -> None:
        if (tokens is not None and tokens < 0) or (money is not None and not money >= 0.0):
            raise ValueError("a budget must not be negative")
        self.tokens, self.money = tokens, money
        self._spent = Spend()
        self._holds: set[Hold] = set()
        self._changed = threading.Condition()

    @property
    def spent(self) -> Spend:
        with self._changed:
            return self._spent

    def hold(self, worst: Spend) -> Hold | None:
        """Set aside the most a request can cost; None where that is more than can be left for it.

        Waits while requests under way, once settled, may leave enough. Never call it while holding something.
        """
        with self._changed:
            while not self._fits(self._spent + worst, sum((hold.worst for hold in self._holds), Spend())):
                if not self._holds or not self._fits(self._spent + worst, Spend()):
                    return None
                self._changed.wait()
            held = Hold(worst)
            self._holds.add(held)
            return held

    def settle(self, held: Hold, spent: Spend) -> None:
        """Replace what was held by what it really cost."""
        with self._changed:
            if held not in self._holds:
                raise ValueError("this was settled before, or held by another budget")
            self._holds.remove(held)
            self._spent = self._spent + spent
            self._changed.notify_all()

    def _fits(self, wanted: Spend, held: Spend) -> bool:
        total = wanted + held
        return (self.tokens is None or total.tokens <= self.tokens) and (
            self.money is None or total.money <= self.money + _ROUNDING
        )
