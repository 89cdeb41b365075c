"""Contenders over grounds and seeds, and how they stand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.evaluate.pools import BadTable, Pool
from foretell.kernels.protocols import Proposer
from foretell.kernels.replay import compare as comparing
from foretell.kernels.replay import grounds, spaces
from foretell.kernels.replay.bench import ReplayBench
from foretell.kernels.replay.compare import Contender, Effort, Run, Stage, compare, contenders, tuned
from foretell.kernels.replay.grounds import Ground
from foretell.kernels.replay.near import NearProposer, codes_of
from foretell.kernels.replay.result import steps
from foretell.kernels.replay.standing import standings
from foretell.kernels.task import Task
from foretell.testing.conformance import ProposerConformance
from tests.kernels.evaluate import world as corpora
from tests.kernels.replay import world

RANDOM, VALUE = Contender("random", "puct"), Contender("value", "puct", "online:none")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    space = spaces.read(world.write_table(tmp_path_factory.mktemp("spaces")))
    return Ground(space.name, space.kernel, space)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpora.write_corpus(tmp_path_factory.mktemp("corpus"), corpora.corpus_rows(15))


class TestNear(ProposerConformance):
    @pytest.fixture
    def pool(self, ground: Ground) -> Pool:
        return ground.pool()

    @pytest.fixture
    def proposer(self, ground: Ground, pool: Pool) -> Proposer:
        return NearProposer(pool, ground.codes(pool))

    @pytest.fixture
    def task(self, pool: Pool) -> Task:
        return pool.task

    def test_the_nearest_come_first_and_all_of_them_in_the_end(self, proposer: Proposer, pool: Pool) -> None:
        parent = pool.subjects[0].candidate
        found = proposer.propose(pool.task, [parent], 100, np.random.default_rng(0), {parent.id})
        own = parent.origin.detail["knobs"]
        changed = [sum(c.origin.detail["knobs"][name] != own[name] for name in own) for c in found]
        assert changed == sorted(changed) and changed[0] == 1
        assert len(found) == len(pool) - 1 and {c.parents for c in found} == {(parent.id,)}
        known = {subject.candidate.id for subject in pool.subjects}
        assert proposer.propose(pool.task, [parent], 4, np.random.default_rng(0), known) == []


def test_settings_become_numbers_that_are_equal_where_the_settings_are() -> None:
    codes = codes_of([{"tile": [8, 8], "warps": 4}, {"tile": [8, 8]}, {"tile": [8, 16], "warps": 4}, {}])
    assert codes.shape == (4, 2)
    same = (codes[:, None, :] == codes[None, :, :]).sum(axis=2)
    assert same[0].tolist() == [2, 1, 1, 0] and same[1, 3] == 1
    assert codes_of([{}, {}]).shape == (2, 0)


def test_combinations_that_make_no_difference_are_there_once() -> None:
    found = contenders(["value", "random", "tuner"], ["puct", "beam"], ["online", "none"])
    assert len(found) == 4 + 2 + 1 and len(set(found)) == 7
    assert [c.forecaster for c in found if c.policy == "random"] == ["none", "none"]


def test_default_effort_is_a_quarter_of_the_pool_within_bounds() -> None:
    for size, measured, considered, pace in ((10, 8, 10, 13), (200, 50, 200, 4), (5000, 100, 400, 4)):
        profile = Effort().profile(size)
        assert (profile.budgets.measurements, profile.budgets.candidates) == (measured, considered)
        assert profile.measure_per_batch == pace
    asked = Effort(measurements=5, candidates=50, batch=10).profile(200)
    assert (asked.budgets.measurements, asked.budgets.candidates, asked.batch_size) == (5, 50, 10)
    assert asked.measure_per_batch == 1


def test_every_contender_has_every_seed_on_every_ground(ground: Ground) -> None:
    contending = [RANDOM, VALUE, Contender("tuner")]
    jobs = list(compare([ground, ground], contending, 2, Effort()))
    assert len(jobs) == 4 and all([run.contender for run in runs] == contending for runs in jobs)
    assert {(run.ground, run.seed) for runs in jobs for run in runs} == {(0, 0), (1, 0), (0, 1), (1, 1)}
    for run in (run for runs in jobs for run in runs):
        assert len(run.shares) <= 8 and all(0.0 <= share <= 1.0 for share in run.shares)
        assert list(run.shares) == sorted(run.shares)
        assert run.considered == 28
    assert jobs == list(compare([ground, ground], contending, 2, Effort()))


def test_processes_find_what_one_process_does(ground: Ground) -> None:
    def runs(jobs: int) -> set[Run]:
        return {run for done in compare([ground], [RANDOM, VALUE], 3, Effort(near=True), jobs) for run in done}

    assert runs(2) == runs(1)


def test_the_tuner_is_told_of_what_does_not_compile_without_paying(ground: Ground) -> None:
    assert ground.space is not None
    curve = tuned(ground.space, 0, 1000)
    assert len(curve) == 26 and curve == sorted(curve)
    assert curve[-1] == pytest.approx(max(ground.pool().rank_log2))


def test_the_tuner_needs_a_space(corpus: Path) -> None:
    (first, *_) = grounds.read([corpus]).grounds()
    with pytest.raises(ValueError, match="tuning space"):
        Stage([first], [Contender("tuner")], Effort()).job(0, 0)


def test_a_search_that_was_interrupted_is_not_taken_for_one_that_ended(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: ReplayBench, *_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing.ReplayBench, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        Stage([ground], [RANDOM], Effort()).job(0, 0)


def test_a_corpus_has_a_ground_for_each_operation_on_which_something_works(corpus: Path, tmp_path: Path) -> None:
    source = grounds.read([corpus, corpus])
    assert source.splits() == ("held_operation", "held_family")
    assert [g.operation for g in source.grounds()] == ["lerp_rows", "mish", "max_pool2d"]
    assert [g.operation for g in source.grounds(["train"])] == ["softmax"]
    with pytest.raises(BadTable, match="there is no split"):
        source.grounds(["tset"])
    broken = [corpora.corpus_row("mish", i, None, "held_operation") for i in range(5)]
    kept = corpora.corpus_rows(5)
    other = corpora.write_corpus(tmp_path / "b", [r for r in kept if r["task"] != "mish"] + broken)
    assert [g.operation for g in grounds.read([other]).grounds()] == ["lerp_rows", "max_pool2d"]


def test_settings_of_a_corpus_come_from_its_details(corpus: Path) -> None:
    (first, *_) = grounds.with_knobs(grounds.read([corpus]).grounds())
    assert set(first.knobs) == set(first.pool().ids)
    assert first.codes(first.pool()).shape == (15, 1)


def run(ground: int, seed: int, *shares: float, contender: Contender = RANDOM) -> Run:
    return Run(ground, contender, seed, shares, 10)


def test_standings_weigh_every_ground_the_same() -> None:
    runs = [run(0, 0, 0.5, 1.0), run(0, 1, 0.96, 1.0, 1.0), run(1, 0, 0.0, 0.5)]
    (one,) = standings(runs)
    assert (one.runs, one.considered) == (3, 10)
    assert one.mean == pytest.approx(((0.73 + 0.0) / 2, (1.0 + 0.5) / 2, (1.0 + 0.5) / 2))
    assert one.near == pytest.approx((0.25, 0.5, 0.5))
    assert one.reached == 0.5 and one.by_ground == {0: (1.5, 1.0), 1: (math.inf, 0.0)}
    assert one.until == math.inf and (one.until_low, one.until_high) == (1.5, math.inf)
    assert all(low <= value <= high for low, value, high in zip(one.low, one.mean, one.high, strict=True))
    told = one.to_dict(["a", "b"])
    assert told["until"] is None and told["by_pool"][0] == {"pool": "a", "until": 1.5, "reached": 1.0}


def test_with_one_ground_the_seeds_are_drawn_again() -> None:
    (one,) = standings([run(0, seed, seed / 4.0, 1.0) for seed in range(5)])
    assert one.low[0] < one.mean[0] < one.high[0] and one.low[1] == one.high[1] == 1.0
    assert one.until == 2.0


def test_a_search_without_a_measurement_stands_at_nothing() -> None:
    (one,) = standings([run(0, 0)])
    assert one.mean == (0.0,) and one.until == math.inf
    assert standings([]) == []


def test_steps_are_where_the_curve_rises() -> None:
    assert list(steps((0.0, 0.5, 0.5, 1.0))) == [(2, 0.5), (4, 1.0)]
