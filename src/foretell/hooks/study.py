"""Ask and tell: a tuner for any loop that can try a configuration and time it.

study = Study({"tile": (8, 16, 32, 64), "unroll": (1, 2, 4)}, allowed=lambda c: c["tile"] * c["unroll"] <= 128)
for _ in range(10):
    configuration = study.ask()
    study.tell(configuration, seconds_of(configuration))  # None where it failed
print(study.best, study.best_time)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from foretell.kernels.tune.encode import Value
from foretell.kernels.tune.tuner import Exhausted, Tuner

__all__ = ["Configuration", "Exhausted", "Study"]

Configuration = Mapping[str, Value]


def _always(_: Configuration) -> bool:
    return True


class Study:
    """Looks for the fastest of all allowed combinations of values; deterministic in what it is given and told.

    `ask` names one that was not told yet and raises Exhausted when there is none; `tell` takes how long it took in any
    unit, or None for a failure. What was never asked for may be told too.
    """

    def __init__(
        self,
        parameters: Mapping[str, Sequence[Value]],
        allowed: Callable[[Configuration], bool] = _always,
        seed: int = 0,
    ) -> None:
        self._names = tuple(parameters)
        self._rows: dict[tuple[Value, ...], int] = {}
        codes: list[tuple[int, ...]] = []
        for code in itertools.product(*(range(len(values)) for values in parameters.values())):
            chosen = tuple(values[i] for values, i in zip(parameters.values(), code, strict=True))
            if allowed(dict(zip(self._names, chosen, strict=True))) and chosen not in self._rows:
                self._rows[chosen] = len(codes)
                codes.append(code)
        if not codes:
            raise ValueError("no combination of the parameters' values is allowed")
        self._configurations = list(self._rows)
        self._tuner = Tuner(parameters, np.array(codes).reshape(len(codes), len(self._names)), seed)
        self._times: dict[int, float] = {}

    def __len__(self) -> int:
        """How many configurations are allowed."""
        return len(self._rows)

    def ask(self) -> dict[str, Value]:
        return self._named(self._tuner.ask())

    def tell(self, configuration: Configuration, time: float | None) -> None:
        """ValueError where the configuration is none of those allowed, or the time not above zero and finite."""
        row = self._rows.get(tuple(configuration.get(name, "") for name in self._names))
        if row is None or len(configuration) != len(self._names):
            raise ValueError(f"{dict(configuration)} is not one of the {len(self)} allowed configurations")
        self._tuner.tell(row, time)
        if time is not None:
            self._times[row] = time

    @property
    def best(self) -> dict[str, Value] | None:
        """The fastest configuration so far; None while nothing worked."""
        row = self._tuner.best
        return None if row is None else self._named(row)

    @property
    def best_time(self) -> float | None:
        row = self._tuner.best
        return None if row is None else self._times[row]

    def _named(self, row: int) -> dict[str, Value]:
        return dict(zip(self._names, self._configurations[row], strict=True))
