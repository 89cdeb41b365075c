"""Why a trained forecast says what it says: the numbers that moved it most, and what it knows of such programs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.kernels.device import Device
from foretell.kernels.forecast.memory import Neighbour
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task

SHOWN = 5
NEIGHBOURS = 3


@dataclass(frozen=True)
class Moved:
    """One number of the candidate, what is typical, and the factor in speedup that its being other made."""

    name: str
    value: float
    typical: float
    factor: float


@dataclass(frozen=True)
class Explanation:
    """`regime` says how new the operation is to the model; `outside` is the share of numbers beyond any it has seen.

    `neighbours` are measured kernels like this one, none where the model remembers none.
    """

    regime: str
    outside: float
    moved: tuple[Moved, ...]
    neighbours: tuple[Neighbour, ...] = ()


def explain(forecaster: TrainedForecaster, task: Task, device: Device, subject: Subject) -> Explanation:
    """Replace each number by the typical one in turn, and see how far the forecast moves.

    Numbers that go together are replaced one at a time all the same, so factors do not multiply to the whole.
    """
    [asked] = forecaster.ask(task, device, [subject])
    tier = forecaster.tier_of(asked)
    own = tier.table([asked.described])
    places = [i for i in np.flatnonzero(np.isfinite(own[0])) if not tier.names[i].startswith("task.")]
    table = np.repeat(own, len(places) + 1, axis=0)
    for row, place in enumerate(places, start=1):
        table[row, place] = tier.typical[place]
    means = tier.means(table, np.full(len(table), asked.headroom))
    effects = means[0] - means[1:]
    most = np.argsort(-np.abs(effects), kind="stable")[:SHOWN]
    moved = tuple(
        Moved(
            tier.names[places[i]],
            float(own[0, places[i]]),
            float(tier.typical[places[i]]),
            float(2.0 ** effects[i]),
        )
        for i in most
        if effects[i] != 0.0
    )
    neighbours = forecaster.neighbours(task, device, subject, asked, NEIGHBOURS)
    return Explanation(asked.regime, float(tier.outside(own)[0]), moved, neighbours)
