"""Contenders over grounds and seeds: each a search by the driver itself, or the tuner on a tuning space.

A job is one seed on one ground, with all contenders one after the other: wherever a comparison is cut short, all of
them have had the same grounds and seeds.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from foretell.kernels.forecast import OnlineForecaster, make
from foretell.kernels.measurement import Status
from foretell.kernels.policy import POLICIES, make_policy
from foretell.kernels.profiles import STANDARD, Budgets, Profile
from foretell.kernels.protocols import Forecaster, Proposer
from foretell.kernels.replay.bench import FrozenForecasts, PoolProposer, ReplayBench
from foretell.kernels.replay.grounds import Ground
from foretell.kernels.replay.near import NearProposer
from foretell.kernels.replay.search import best_so_far_log2, replay_search
from foretell.kernels.replay.spaces import Space
from foretell.kernels.search import SearchConfig, StopReason, make_strategy
from foretell.kernels.tune.tuner import Exhausted, Tuner

TUNER = "tuner"  # asks for configurations of a tuning space; beside the policies, without strategy or forecaster
CONTESTING = (*POLICIES, TUNER)
NOBODY = "none"  # the forecaster that says the same of every candidate
ONLINE = "online"
ASK_NOBODY = ("all", "random")
NEAR = 0.95  # of the pool's best: within 5 %
CONSIDERED = 4  # candidates for each measurement
FEWEST, MOST = 8, 100  # measurements a search may make unless told otherwise


@dataclass(frozen=True)
class Contender:
    """A policy with the strategy and the forecaster beside it."""

    policy: str
    strategy: str = ""
    forecaster: str = NOBODY


@dataclass(frozen=True)
class Effort:
    """What each search may spend and how candidates come to it; None is the default for the size of its pool.

    `near`: children are like their parents; otherwise they come from anywhere, and a strategy's picks mean nothing.
    """

    measurements: int | None = None
    candidates: int | None = None
    batch: int | None = None
    near: bool = False

    def profile(self, size: int) -> Profile:
        """The settings of a search over so many candidates; `top` and `random` spend at an even pace."""
        measured = self.measurements or min(MOST, max(FEWEST, math.ceil(size / CONSIDERED)))
        considered = min(size, self.candidates or CONSIDERED * MOST)
        batch = self.batch or STANDARD.batch_size
        pace = max(1, round(batch * measured / considered))
        budgets = Budgets(measured, 1e9, considered)
        return replace(
            STANDARD, budgets=budgets, batch_size=batch, measure_per_batch=pace, verify_count=0, audit_share=0.0
        )


@dataclass(frozen=True)
class Run:
    """One search: `shares[k]` is the best after k + 1 measurements as a share of the best on the ground, 0 for none."""

    ground: int
    contender: Contender
    seed: int
    shares: tuple[float, ...]
    considered: int

    @property
    def until(self) -> int | None:
        """Measurements until within 5 % of the best; None where that was never reached."""
        return next((k for k, share in enumerate(self.shares, start=1) if share >= NEAR), None)


def contenders(policies: Sequence[str], strategies: Sequence[str], forecasters: Sequence[str]) -> list[Contender]:
    """Every combination that makes a difference, once: not all policies ask a forecaster."""
    found = [
        Contender(TUNER)
        if policy == TUNER
        else Contender(policy, strategy, NOBODY if policy in ASK_NOBODY else forecaster)
        for policy, strategy, forecaster in product(policies, strategies, forecasters)
    ]
    return list(dict.fromkeys(found))


def compare(
    grounds: Sequence[Ground], contending: Sequence[Contender], seeds: int, effort: Effort, jobs: int = 1
) -> Iterator[list[Run]]:
    """The runs of each job as they are done: a list with one run for each contender."""
    wanted = [(ground, seed) for seed in range(seeds) for ground in range(len(grounds))]
    if jobs == 1:
        stage = Stage(grounds, contending, effort)
        for ground, seed in wanted:
            with threadpool_limits(1):
                runs = stage.job(ground, seed)
            yield runs
        return
    begin = (_begin, (tuple(grounds), tuple(contending), effort))
    with multiprocessing.get_context("spawn").Pool(min(jobs, len(wanted)), *begin) as workers:
        yield from workers.imap_unordered(_job, wanted)


class Stage:
    """The grounds made ready: each when it is first asked for, and its forecasts asked for once."""

    def __init__(self, grounds: Sequence[Ground], contending: Sequence[Contender], effort: Effort) -> None:
        self._grounds, self._contending, self._effort = grounds, contending, effort
        self._ready: dict[int, _Ready] = {}

    def job(self, ground: int, seed: int) -> list[Run]:
        """One run of each contender. KeyboardInterrupt, where a search would end early and return."""
        if ground not in self._ready:
            self._ready[ground] = _Ready(self._grounds[ground], self._effort)
        ready = self._ready[ground]
        return [Run(ground, contender, seed, *ready.run(contender, seed)) for contender in self._contending]


class _Ready:
    def __init__(self, ground: Ground, effort: Effort) -> None:
        self._space = ground.space
        self._pool = pool = ground.pool()
        self._bench = ReplayBench(pool)
        self._proposer: Proposer = NearProposer(pool, ground.codes(pool)) if effort.near else PoolProposer(pool)
        self._profile = effort.profile(len(pool))
        self._best_log2 = max(m.log2_speedup for m in pool.measured if m.ok)
        self._forecasters: dict[str, Forecaster] = {}

    def run(self, contender: Contender, seed: int) -> tuple[tuple[float, ...], int]:
        if contender.policy == TUNER:
            if self._space is None:
                raise ValueError("the tuner tunes the parameters of a tuning space; this is none")
            curve, considered = tuned(self._space, seed, self._profile.budgets.measurements), len(self._space)
        else:
            curve, considered = self._search(contender, seed)
        return tuple(2.0 ** (value - self._best_log2) for value in curve), considered

    def _search(self, contender: Contender, seed: int) -> tuple[list[float], int]:
        pool, profile = self._pool, self._profile
        state = replay_search(
            pool,
            self._forecaster(contender.forecaster),
            make_strategy(contender.strategy, profile),
            make_policy(contender.policy, profile),
            SearchConfig(next(iter(pool.task.references)), seed, profile),
            bench=self._bench,
            proposer=self._proposer,
        ).run()
        if state.finished is not None and state.finished.reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        return best_so_far_log2(state), state.considered

    def _forecaster(self, name: str) -> Forecaster:
        """Asked once about the whole pool and never taught, unless it learns in the run."""
        if name not in self._forecasters:
            head, _, base = name.partition(":")
            if head == ONLINE:
                made: Forecaster = OnlineForecaster(self._forecaster(base or "features"), 0, name)
            else:
                made = (
                    FrozenForecasts.flat(self._pool)
                    if name == NOBODY
                    else FrozenForecasts.of(make(name, 0), self._pool)
                )
            self._forecasters[name] = made
        return self._forecasters[name]


def tuned(space: Space, seed: int, measurements: int) -> list[float]:
    """The best after each measurement as log2 of a speedup over the median, -inf for none: as in `space_pool`.

    What does not compile counts no more than in a search: the tuner is told of it, and nothing was measured.
    """
    tuner, typical_ms = Tuner(space.parameters, space.codes, seed), float(np.nanmedian(space.time_ms))
    best, curve = -math.inf, list[float]()
    while len(curve) < measurements:
        try:
            row = tuner.ask()
        except Exhausted:
            break
        time_ms = float(space.time_ms[row]) if space.status[row] is Status.OK else None
        tuner.tell(row, time_ms)
        best = best if time_ms is None else max(best, math.log2(typical_ms / time_ms))
        if space.status[row] is not Status.COMPILE_ERROR:
            curve.append(best)
    return curve


_stage: Stage


def _begin(grounds: Sequence[Ground], contending: Sequence[Contender], effort: Effort) -> None:
    """A worker's start: one thread each, and Ctrl-C is for the process that started it."""
    global _stage
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    _stage = Stage(grounds, contending, effort)


def _job(which: tuple[int, int]) -> list[Run]:
    try:
        return _stage.job(*which)
    except StopIteration as error:  # which would end the iteration over all jobs, as if they were done
        raise RuntimeError("a search ended in the middle of an iteration") from error
