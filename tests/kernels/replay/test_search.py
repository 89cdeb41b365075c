from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.measurement import Status
from foretell.kernels.policy import POLICIES, make_policy
from foretell.kernels.profiles import QUICK, Budgets
from foretell.kernels.replay import spaces
from foretell.kernels.replay.bench import FrozenForecasts, PoolProposer, ReplayBench
from foretell.kernels.replay.search import best_so_far_log2, replay_search
from foretell.kernels.replay.space_pool import LANGUAGE, space_pool
from foretell.kernels.search import (
    FileJournal,
    MemoryJournal,
    RunState,
    Search,
    SearchConfig,
    StopReason,
    make_strategy,
)
from foretell.kernels.store.errors import NoRun
from tests.kernels.replay import world


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return space_pool(spaces.read(world.write_table(tmp_path_factory.mktemp("spaces"))))


def profile(measurements: int) -> object:
    return replace(QUICK, budgets=Budgets(measurements, 1e9, 10_000), batch_size=4, measure_per_batch=2)


def replayed(pool: Pool, policy: str, seed: int = 0, measurements: int = 10) -> tuple[RunState, Search]:
    settings = profile(measurements)
    parts = (FrozenForecasts.flat(pool), make_strategy("puct", settings), make_policy(policy, settings))
    search = replay_search(pool, *parts, SearchConfig(LANGUAGE, seed, settings))
    return search.run(), search


def test_a_space_is_a_pool_whose_fastest_is_the_space_s_best(pool: Pool) -> None:
    assert len(pool) == 28 and len(set(pool.ids)) == 28
    best = int(np.argmax(pool.rank_log2))
    assert pool.subjects[best].candidate.origin.detail["knobs"] == {"block": 64, "tile": 4, "mode": 1, "fixed": 7}
    failed = [s for s, m in zip(pool.subjects, pool.measured, strict=True) if not m.ok]
    assert [s.build.status for s in failed if s.build] == [Status.COMPILE_ERROR] * 2


@pytest.mark.parametrize("policy", POLICIES)
def test_a_replay_is_the_run_that_the_driver_makes_on_disk(pool: Pool, policy: str, tmp_path: Path) -> None:
    state, _ = replayed(pool, policy, seed=3)
    settings = profile(10)
    on_disk = Search(
        pool.task,
        ReplayBench(pool),
        PoolProposer(pool),
        FrozenForecasts.flat(pool),
        make_strategy("puct", settings),
        make_policy(policy, settings),
        SearchConfig(LANGUAGE, 3, settings),
        FileJournal(tmp_path / "run", fsync=False),
    ).run()
    assert list(state.nodes) == list(on_disk.nodes)
    assert [m for _, m in state.lessons] == [m for _, m in on_disk.lessons]
    assert state.best and on_disk.best and state.best.id == on_disk.best.id


def test_everything_measured_ends_at_the_pool_s_best_and_nothing_is_measured_twice(pool: Pool) -> None:
    state, search = replayed(pool, "all", measurements=1000)
    assert state.finished and state.finished.reason is StopReason.EXHAUSTED
    assert state.measured == 26 and state.unbuilt == 2
    assert state.best and state.best.candidate.origin.detail["knobs"]["block"] == 64
    curve = best_so_far_log2(state)
    assert len(curve) == 26 and curve == sorted(curve) and curve[-1] == max(pool.rank_log2)
    assert state.finished.best == state.best.id and search.state is state


def test_a_journal_in_memory_holds_the_run(pool: Pool) -> None:
    settings, journal = profile(10), MemoryJournal()
    parts = (FrozenForecasts.flat(pool), make_strategy("puct", settings), make_policy("all", settings))
    search = Search(
        pool.task, ReplayBench(pool), PoolProposer(pool), *parts, SearchConfig(LANGUAGE, 0, settings), journal
    )
    with pytest.raises(NoRun):
        search.resume()
    state = search.run()
    assert journal.events[-1] is state.finished
    assert search.resume().measured == state.measured, "finished, and so as it was"


def test_seeds_differ_and_repeat(pool: Pool) -> None:
    runs = [list(replayed(pool, "random", seed)[0].nodes) for seed in (0, 1, 0)]
    assert runs[0] == runs[2] != runs[1]


def test_the_proposer_gives_all_that_is_left_and_then_nothing(pool: Pool) -> None:
    proposer, rng = PoolProposer(pool), np.random.default_rng(0)
    known = set(pool.ids[:25])
    left = proposer.propose(pool.task, (), 8, rng, known)
    assert {c.id for c in left} == set(pool.ids[25:])
    assert proposer.propose(pool.task, (), 8, rng, set(pool.ids)) == []


def test_no_best_while_nothing_worked(pool: Pool) -> None:
    broken = replace(pool, measured=tuple(replace(m, status=Status.WRONG, speedup=None) for m in pool.measured))
    state, _ = replayed(broken, "all", measurements=3)
    assert best_so_far_log2(state) == [-math.inf] * 3 and state.best is None
