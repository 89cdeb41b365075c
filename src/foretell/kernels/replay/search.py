"""The driver of a search over recorded measurements, with its journal in memory."""

from __future__ import annotations

import math

from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.policy import Policy
from foretell.kernels.protocols import Forecaster, Proposer
from foretell.kernels.replay.bench import PoolProposer, ReplayBench
from foretell.kernels.search import MemoryJournal, RunState, Search, SearchConfig
from foretell.kernels.search.strategy import Strategy


def replay_search(
    pool: Pool,
    forecaster: Forecaster,
    strategy: Strategy,
    policy: Policy,
    config: SearchConfig,
    *,
    bench: ReplayBench | None = None,
    proposer: Proposer | None = None,
) -> Search:
    """A search over a pool: rounds, decisions and state are those of a search on a device, nothing is written.

    `bench` and `proposer` are the pool's own unless given: many searches of one pool may share them.
    """
    bench, proposer = bench or ReplayBench(pool), proposer or PoolProposer(pool)
    return Search(pool.task, bench, proposer, forecaster, strategy, policy, config, MemoryJournal())


def best_so_far_log2(state: RunState) -> list[float]:
    """Log2 speedup of the best candidate after each measurement, failed ones counted; -inf while nothing worked."""
    best, curve = -math.inf, []
    for subject, outcome in state.lessons:
        if subject.build is None or subject.build.ok:  # what does not build was never measured
            best = max(best, outcome.log2_speedup) if outcome.ok else best
            curve.append(best)
    return curve
