"""Every strategy by name: what all must do, and each against a slow and obvious implementation on random archives."""

from __future__ import annotations

import gc
import math
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.kernels.profiles import QUICK, BeamSettings, Budgets
from foretell.kernels.search import STRATEGIES, Archive, Strategy, load_run, make_strategy
from foretell.kernels.search.strategies import BeamStrategy, GreedyStrategy, IslandsStrategy, RandomStrategy
from foretell.kernels.search.strategy import Cell
from foretell.testing.conformance import StrategyConformance, random_archive
from tests.kernels.search.world import VariedBench, journal_of, make_search, small

LOOKS_AT_CELLS = {"islands"}
SEEDS, SIZES, COUNTS = st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 8)


@pytest.mark.parametrize("name", STRATEGIES)
class TestEvery(StrategyConformance):
    @pytest.fixture
    def strategy(self, name: str) -> Strategy:
        return make_strategy(name, QUICK)

    def test_goes_by_its_name(self, strategy: Strategy, name: str) -> None:
        assert strategy.name == name


def test_an_unknown_strategy_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no strategy 'guess'; choose one of puct, greedy, beam, islands, random"):
        make_strategy("guess", QUICK)


def tree(**nodes: tuple[str, float | None]) -> Archive:
    """An archive below the reference `root`, from each node's parent and value."""
    archive = Archive()
    archive.add("root", (), 0.0)
    for name, (parent, value) in nodes.items():
        archive.add(name, [parent], value)
    return archive


def select(strategy: Strategy, archive: Archive, count: int, seed: int = 0) -> list[str]:
    return strategy.select(archive, count, np.random.default_rng(seed))


def valued(archive: Archive) -> dict[int, float]:
    return {i: float(value) for i, value in enumerate(archive.values) if not math.isnan(value)}


@given(seed=SEEDS, size=SIZES, parents=st.integers(1, 3), count=COUNTS)
@settings(max_examples=50, deadline=None)
def test_greedy_takes_the_best(seed: int, size: int, parents: int, count: int) -> None:
    archive = random_archive(seed, size, parents)
    values = valued(archive)
    best = sorted(values, key=lambda i: (-values[i], i))[:count]
    assert select(GreedyStrategy(), archive, count, seed) == [archive.ids[i] for i in best]


def test_greedy_prefers_the_older_of_equals() -> None:
    archive = tree(a=("root", 1.0), b=("root", 2.0), c=("a", 2.0), d=("a", None), e=("b", 1.0))
    assert select(GreedyStrategy(), archive, 10) == ["b", "c", "a", "e", "root"]


def test_random_draws_each_node_as_often() -> None:
    archive = tree(a=("root", 9.0), b=("a", -9.0), c=("a", None), d=("b", 1.0))
    drawn = Counter(i for seed in range(2000) for i in select(RandomStrategy(), archive, 2, seed))
    assert set(drawn) == {"root", "a", "b", "d"}
    assert all(900 < times < 1100 for times in drawn.values())


def slow_beam(archive: Archive, count: int, width: int, patience: int) -> list[str]:
    """The rule as written, one level at a time."""
    values = valued(archive)
    ranking = sorted(values, key=lambda i: (-values[i], i))
    end = int(archive.depths[ranking[0]]) + patience
    beams = [[i for i in ranking if archive.depths[i] == depth][:width] for depth in range(end)]
    new = [i for beam in beams for i in beam if archive.expanded[i] == 0]
    rest = [i for beam in reversed(beams) for i in beam if archive.expanded[i]]
    rest.sort(key=lambda i: int(archive.expanded[i]))
    return [archive.ids[i] for i in [*new, *rest][:count]]


@given(
    seed=SEEDS, size=SIZES, parents=st.integers(1, 3), count=COUNTS, width=st.integers(1, 5), patience=st.integers(1, 4)
)
@settings(max_examples=150, deadline=None)
def test_beam_agrees_with_a_slow_one(seed: int, size: int, parents: int, count: int, width: int, patience: int) -> None:
    archive = random_archive(seed, size, parents)
    found = select(BeamStrategy(BeamSettings(width, patience)), archive, count, seed)
    assert found == slow_beam(archive, count, width, patience)


def test_beam_finishes_a_level_before_the_next() -> None:
    beam = BeamStrategy(BeamSettings(width=3))
    archive = tree(a=("root", 1.0), b=("root", 2.0), c=("root", 3.0), d=("root", 0.5))
    archive.expand(["root"])
    assert select(beam, archive, 2) == ["c", "b"]
    archive.expand(["c", "b"])
    archive.add("e", ["c"], 4.0)
    assert select(beam, archive, 2) == ["a", "e"]


def test_beam_fills_up_from_the_level_above() -> None:
    archive = tree(a=("root", 1.0), b=("root", 2.0), c=("b", 3.0))
    archive.expand(["root", "a", "b"])
    assert select(BeamStrategy(BeamSettings()), archive, 4) == ["c", "b", "a", "root"]


def test_beam_that_finds_nothing_better_is_taken_up_again_further_up() -> None:
    beam = BeamStrategy(BeamSettings(width=2, patience=2))
    archive = tree(a=("root", 5.0), b=("a", 3.0), c=("b", 2.0), d=("c", 1.0))
    archive.expand(["root", "a", "b"])
    assert select(beam, archive, 1) == ["b"], "c is two levels below the best, and no better"
    archive.expand(["b"])
    assert select(beam, archive, 1) == ["a"]
    archive.set_value("c", 6.0)
    assert select(beam, archive, 1) == ["c"], "now it leads to something better"


def test_beam_without_a_working_child_expands_all_its_nodes_in_turn() -> None:
    beam = BeamStrategy(BeamSettings(width=2))
    archive = tree(a=("root", 1.0), b=("root", 2.0), c=("root", 0.0), d=("b", 3.0))
    for turn in range(40):
        chosen = select(beam, archive, 2)
        archive.expand(chosen)
        archive.add(f"{turn}", chosen[:1], None)
    times = {name: int(archive.expanded[archive.index(name)]) for name in ("root", "a", "b", "c", "d")}
    assert times == {"root": 20, "a": 20, "b": 20, "c": 0, "d": 20}


@given(seed=SEEDS, size=SIZES, parents=st.integers(1, 3), count=COUNTS)
@settings(max_examples=100, deadline=None)
def test_islands_take_the_best_of_each_cell_before_the_second_best(
    seed: int, size: int, parents: int, count: int
) -> None:
    archive = random_archive(seed, size, parents)
    values = valued(archive)
    cells: dict[int, list[int]] = {}
    for i in sorted(values, key=lambda i: (-values[i], i)):
        cells.setdefault(i % 5, []).append(i)
    chosen = [archive.index(i) for i in select(IslandsStrategy(), archive, count, seed)]
    assert len(chosen) == min(count, len(values))
    places = [cells[i % 5].index(i) for i in chosen]
    assert places == sorted(places)
    for place in range(max(places)):
        assert places.count(place) == sum(len(nodes) > place for nodes in cells.values())


def test_islands_draw_each_cell_as_often_however_good_or_full() -> None:
    archive = Archive()
    archive.add("root", (), 0.0)
    for i in range(30):
        archive.add(f"good-{i}", ["root"], 5.0 + i, partial(tuple[int, ...], (1, 0)))
    archive.add("bad", ["root"], -3.0, partial(tuple[int, ...], (1, 1)))
    drawn = Counter(select(IslandsStrategy(), archive, 1, seed)[0] for seed in range(3000))
    assert set(drawn) == {"root", "good-29", "bad"}
    assert all(900 < times < 1100 for times in drawn.values())


@pytest.mark.parametrize("name", STRATEGIES)
def test_sources_are_read_once_and_only_where_it_matters(name: str) -> None:
    """Reading a source for its cell takes longer than all the rest of choosing."""
    asked: Counter[int] = Counter()

    def cell(i: int) -> Cell:
        asked[i] += 1
        return (i % 3,)

    archive = Archive()
    for i in range(50):
        archive.add(f"{i}", ["0"] if i else [], None if i % 4 == 1 else float(i), partial(cell, i))
    for seed in range(3):
        select(make_strategy(name, QUICK), archive, 4, seed)
    assert asked == ({i: 1 for i in range(50) if i % 4 != 1} if name in LOOKS_AT_CELLS else {})


def big_archive(size: int) -> Archive:
    rng = np.random.default_rng(0)
    archive = Archive()
    archive.add("0", (), 0.0)
    for i in range(1, size):
        parent = f"{max(0, i - int(rng.integers(1, 100)))}"
        archive.add(f"{i}", [parent], float(rng.normal()), partial(tuple[int, ...], (i % 20,)))
        if i % 4 == 0:
            archive.expand([parent])
    return archive


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python are run, those of a garbage collection that happens to fall into it left out."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "puct"])
def test_choosing_takes_no_more_steps_in_a_longer_run(name: str) -> None:
    """But for sorting arrays, which is none of Python's: at 10,000 nodes a step for each would be felt."""
    strategy = make_strategy(name, QUICK)
    taken = []
    for size in (500, 10_000):
        archive = big_archive(size)
        select(strategy, archive, 4)
        taken.append(steps(lambda archive=archive: select(strategy, archive, 4, 1)))  # type: ignore[misc]
    assert taken[0] == taken[1] < 1000


def test_every_strategy_goes_its_own_way_and_is_written_into_the_run(tmp_path: Path) -> None:
    profile = small(budgets=Budgets(measurements=30, seconds=1e6, candidates=200))
    for name in STRATEGIES:
        make_search(tmp_path / name, "top", name, bench=VariedBench(), profile=profile).run()
        assert load_run(tmp_path / name).config["strategy"] == name
    bodies = {journal_of(tmp_path / name).split(b"\n", 1)[1] for name in STRATEGIES}
    assert len(bodies) == len(STRATEGIES)


def test_a_beam_has_a_width_and_patience() -> None:
    for bad in ({"width": 0}, {"patience": 0}):
        with pytest.raises(ValueError, match="must be above zero"):
            BeamSettings(**bad)
