"""The driver of a search over recorded measurements, with its journal kept in memory.

It is the driver itself: rounds, decisions and state are those of a search on a device. Only the way to the disk and
back is left out, which is most of what a virtual measurement would cost.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.policy import Policy
from foretell.kernels.protocols import Forecaster, Proposer
from foretell.kernels.replay.bench import PoolProposer, ReplayBench
from foretell.kernels.search import Event, RunState, Search, SearchConfig
from foretell.kernels.search.strategy import Strategy


class ReplaySearch(Search):
    """One search over a pool; `events` is its journal. Nothing is written, so there is nothing to resume."""

    def __init__(
        self,
        pool: Pool,
        forecaster: Forecaster,
        strategy: Strategy,
        policy: Policy,
        config: SearchConfig,
        *,
        bench: ReplayBench | None = None,
        proposer: Proposer | None = None,
    ) -> None:
        """`bench` and `proposer` are the pool's own unless given: many searches of one pool may share them."""
        bench, proposer = bench or ReplayBench(pool), proposer or PoolProposer(pool)
        super().__init__(pool.task, bench, proposer, forecaster, strategy, policy, config, Path(os.devnull))
        self.events: list[Event] = []

    def run(self) -> RunState:
        return self._carry_on()

    def _record(self, event: Event) -> None:
        self.events.append(event)
        self._state.apply(event)


def best_so_far_log2(state: RunState) -> list[float]:
    """Log2 speedup of the best candidate after each measurement, failed ones counted; -inf while nothing worked."""
    best, curve = -math.inf, []
    for subject, outcome in state.lessons:
        if subject.build is None or subject.build.ok:  # what does not build was never measured
            best = max(best, outcome.log2_speedup) if outcome.ok else best
            curve.append(best)
    return curve
