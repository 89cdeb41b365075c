"""How one forecaster did on one split, as a value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foretell.belief import Estimate


@dataclass(frozen=True)
class Part:
    """Pools of one device or data set: counts and the figures `POOLED`."""

    candidates: int
    failures: int
    pools: int
    figures: dict[str, Estimate]

    def to_dict(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("candidates", "failures", "pools")}
        return counts | {"figures": _estimates(self.figures)}


@dataclass(frozen=True)
class Result:
    """One forecaster on one split: counts, figures with intervals, curves to draw, and figures of every pool.

    `by_device` and `by_origin` (data sets) are empty if there is only one.
    """

    forecaster: str
    split: str
    candidates: int
    failures: int
    pools: int
    ranked_pools: int
    operations: int
    seconds: float
    troubles: dict[str, int]
    figures: dict[str, Estimate]
    curves: dict[str, Any]
    by_pool: list[dict[str, Any]]
    by_device: dict[str, Part] = field(default_factory=dict)
    by_origin: dict[str, Part] = field(default_factory=dict)

    @property
    def seconds_each(self) -> float:
        return self.seconds / self.candidates

    @property
    def troubles_share(self) -> float:
        return min(1.0, sum(self.troubles.values()) / self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able form; what is not a number is None."""
        head = {name: getattr(self, name) for name in ("forecaster", "split", "candidates", "failures", "pools")}
        cost = {"seconds": self.seconds, "seconds_each": self.seconds_each}
        troubles = {"troubles": self.troubles, "troubles_share": self.troubles_share}
        counts = {"ranked_pools": self.ranked_pools, "operations": self.operations}
        rest = {"figures": _estimates(self.figures), "curves": _plain(self.curves), "by_pool": _plain(self.by_pool)}
        parts = {
            name: {key: part.to_dict() for key, part in getattr(self, name).items()}
            for name in ("by_device", "by_origin")
        }
        return head | counts | cost | troubles | rest | parts


def _estimates(figures: dict[str, Estimate]) -> dict[str, Any]:
    return {
        name: {"value": _plain(e.value), "low": _plain(e.low), "high": _plain(e.high)} for name, e in figures.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
