"""The four seams of the kernels world, each a protocol of at most four methods.

A search wires them together: a proposer suggests candidates, a bench builds and measures them, a forecaster says
what a measurement would show, and a strategy (see `search`) picks whose children to look at next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from foretell.belief import Forecast
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status, status_of
from foretell.kernels.task import Task
from foretell.kernels.typed import all_finite, all_text, typed, unchecked

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Build:
    """What building a candidate gave: an artifact and free features, or a failure with the compiler's words.

    `features` holds plain numbers only and is empty on failure. `artifact` is None on failure and in recorded worlds.
    """

    status: Status
    message: str = ""
    features: Mapping[str, float] = field(default_factory=dict)
    artifact: Path | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "message": self.message,
            "features": dict(self.features),
            "seconds": self.seconds,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Build:
        """The build that `to_dict` described; ValueError, KeyError or TypeError where it makes no sense."""
        message, features, seconds = data["message"], dict(data["features"]), data["seconds"]
        status = status_of(data["status"])
        fields = {"status": status, "message": message, "features": features, "artifact": None, "seconds": seconds}
        build = unchecked(Build, fields)
        if type(message) is str and all_finite((*features.values(), seconds)) and all_text(features):
            return build
        return typed(build)


@dataclass(frozen=True)
class Subject:
    """What a forecaster is asked about: a candidate and, once it has been built, what the build showed.

    `original` is the text to execute if the candidate's is redacted, as those of a table are.
    """

    candidate: Candidate
    build: Build | None = None
    original: str | None = None

    @property
    def executed(self) -> str:
        """The text that runs when the candidate does."""
        return self.candidate.source if self.original is None else self.original


class Bench(Protocol):
    """Builds and measures candidates on one device."""

    device: Device

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        """Build all, in order; failures are values. Building the same source again is free."""
        ...

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        """Check and time each candidate, yielding as they finish.

        A correct candidate that is clearly slower than `hopeless_below` (a speedup) may be stopped early.
        """
        ...

    def close(self) -> None:
        """Let go of workers and scratch files."""
        ...


class Forecaster(Protocol):
    """Says what a measurement would show, with its doubt.

    `learn` is given *all* measurements of the run so far, in journal order, each time: what a forecaster knows must
    be a pure function of its settings and that list, so that a resumed run forecasts as the uninterrupted one does.
    """

    name: str
    cost_s: float

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]: ...

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None: ...


class Proposer(Protocol):
    """Suggests new candidates. One that has `inform(state)` too is shown where the run stands before it is asked."""

    name: str

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Up to `count` candidates whose ids are not in `known`, children of `parents` (the reference among them).

        Deterministic in its arguments. An empty list means: nothing new is left to propose.
        """
        ...
