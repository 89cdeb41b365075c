"""Inputs with what must come out of them, and comparisons that wait for the device once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from foretell.kernels.bench.gpu.trusted.verdict import bounds_of, mismatch
from foretell.kernels.task import Tolerance
from foretell.kernels.tasks.trees import bits

DRAWN = "drawn"
ALTERED = "altered"  # inputs that are the same in every draw
WEIGHTS = "weights"  # as drawn, with other weights


@dataclass(frozen=True)
class Known:
    """Inputs with what must come out of them: without rounding, and in the reference's own precision.

    `scales` are sizes of the outputs below which tolerances are not scaled down; `bounds` are what outputs must lie
    between, None for those that bounds do not suffice for. With `finite_only` outputs need only be
    finite.
    """

    distribution: str
    inputs: list[Any]
    expected: list[Any]
    own: list[Any]
    scales: list[float]
    bounds: list[Any]
    finite_only: bool = False

    @staticmethod
    def of(distribution: str, inputs: list[Any], expected: list[Any], own: list[Any]) -> Known:
        """Without bounds."""
        return Known(distribution, inputs, expected, own, [0.0] * len(own), [None] * len(own))

    def bounded(self, tolerance: Callable[[Any], Tolerance]) -> Known:
        """The same with bounds, which take as much memory as the outputs twice."""
        outputs = zip(self.expected, self.own, self.scales, strict=True)
        bounds = [bounds_of(torch, expected, own, tolerance(own), scale) for expected, own, scale in outputs]
        return replace(self, bounds=bounds)

    def finite(self) -> Known | None:
        """The same where no digit is asked for; None unless all that is expected is finite, the reference's own too."""
        values = [*self.expected, *self.own]
        if not all_true([torch.isfinite(value).all() for value in values if value.is_floating_point()]):
            return None
        limits = [torch.finfo(own.dtype) if own.is_floating_point() else torch.iinfo(own.dtype) for own in self.own]
        return replace(self, bounds=[(limit.min, limit.max) for limit in limits], finite_only=True)

    def within(self, outputs: Sequence[Any]) -> Any:
        """Whether all outputs lie between their bounds, a truth value on the device; None if bounds do not suffice."""
        if any(each is None for each in self.bounds) or not outputs:
            return None
        pairs = zip(outputs, self.bounds, strict=True)
        return torch.stack([((got >= low) & (got <= high)).all() for got, (low, high) in pairs]).all()

    def mismatch(self, outputs: Sequence[Any], where: str, tolerance: Callable[[Any], Tolerance]) -> str:
        """How outputs differ from what was expected, in words; empty if they are right."""
        where += f" on {self.distribution} numbers" if self.distribution not in ("", DRAWN) else ""
        if self.finite_only:
            return _not_finite(outputs, where)
        values = zip(outputs, self.expected, self.own, self.scales, strict=True)
        for place, (got, expected, own, scale) in enumerate(values):
            wrong = mismatch(torch, got, expected, own, tolerance(got), scale)
            if wrong:
                return f"output {place} at {where}: {wrong}"
        return ""


def _not_finite(outputs: Sequence[Any], where: str) -> str:
    for place, got in enumerate(outputs):
        count = int((~torch.isfinite(got)).sum())
        if count:
            return f"output {place} at {where}: {count} of {got.numel()} values are infinite or not a number"
    return ""


def same(now: Sequence[Any], kept: Sequence[Any]) -> list[Any]:
    """Whether tensors hold the very same bits, truth values on the device."""
    return [(bits(one) == bits(other)).all() for one, other in zip(now, kept, strict=True)]


def all_true(values: Sequence[Any]) -> bool:
    """Whether truth values on the device all hold; waits for it once."""
    return bool(torch.stack(list(values)).all()) if values else True
