"""PUCT against a slow and obvious implementation, on random trees and lattices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.kernels.profiles import QUICK, PuctSettings
from foretell.kernels.search import Archive, PuctStrategy, Strategy, make_strategy
from foretell.kernels.search.puct import SCORE_DIGITS
from foretell.testing.conformance import StrategyConformance, random_archive


class TestPuct(StrategyConformance):
    @pytest.fixture
    def strategy(self) -> Strategy:
        return make_strategy("puct", QUICK)


def brute_force(archive: Archive, count: int, c: float) -> list[str]:
    """The formula as written, one node at a time."""
    values = {i: float(v) for i, v in enumerate(archive.values) if not math.isnan(v)}
    ranking = sorted(values, key=lambda i: (-values[i], i))
    total = sum(range(1, len(values) + 1))
    scale = max(values.values()) - min(values.values()) or 1.0

    def above(i: int) -> set[int]:
        return set(archive.parents[i]).union(*(above(j) for j in archive.parents[i]))

    def score(i: int) -> float:
        offspring = [values[j] for j in range(len(archive)) if i in archive.parents[j] and j in values]
        quality = max(offspring) if offspring else values[i]
        prior = (len(values) - ranking.index(i)) / total
        return quality + c * scale * prior * math.sqrt(1 + archive.expansions) / (1 + int(archive.visits[i]))

    order = sorted(values, key=lambda i: (-round(score(i), SCORE_DIGITS), i))
    lineage = {i: above(i) for i in values}
    chosen: list[int] = []
    while len(chosen) < min(count, len(values)):
        left = [i for i in order if i not in chosen]
        free = [i for i in left if not any(i in lineage[s] or s in lineage[i] for s in chosen)]
        chosen.append((free or left)[0])
    return [archive.ids[i] for i in chosen]


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 60),
    parents=st.integers(1, 3),
    count=st.integers(1, 8),
    c=st.sampled_from([0.0, 0.3, 1.0, 5.0]),
)
@settings(max_examples=150, deadline=None)
def test_agrees_with_brute_force(seed: int, size: int, parents: int, count: int, c: float) -> None:
    archive = random_archive(seed, size, parents)
    found = PuctStrategy(PuctSettings(c)).select(archive, count, np.random.default_rng(0))
    assert found == brute_force(archive, count, c)


@given(seed=st.integers(0, 10**6), size=st.integers(2, 60), parents=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_archive_keeps_its_books_while_values_come_and_go(seed: int, size: int, parents: int) -> None:
    archive = random_archive(seed, size, parents)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        index = int(rng.integers(1, size))
        archive.set_value(archive.ids[index], None if rng.random() < 0.4 else float(rng.normal()))
    for i in range(size):
        offspring = [archive.values[j] for j in archive.children[i] if not math.isnan(archive.values[j])]
        expected = max(offspring) if offspring else math.nan
        assert archive.best_child[i] == expected or (math.isnan(archive.best_child[i]) and not offspring)


def test_visits_count_expansions_of_descendants() -> None:
    archive = Archive()
    archive.add("root", (), 0.0)
    archive.add("left", ["root"], 1.0)
    archive.add("right", ["root"], 1.0)
    archive.add("both", ["left", "right"], 2.0)
    archive.expand(["both"])
    archive.expand(["left", "root"])
    assert archive.visits.tolist() == [3, 2, 1, 1]
    assert archive.expanded.tolist() == [1, 1, 0, 1]
    assert archive.depths.tolist() == [0, 1, 1, 2]
    assert archive.expansions == 3


def test_lineages_are_kept_apart_within_a_batch() -> None:
    archive = Archive()
    archive.add("root", (), 0.0)
    for branch in "ab":
        archive.add(branch, ["root"], 5.0)
        archive.add(branch * 2, [branch], 6.0)
    found = PuctStrategy(PuctSettings(0.0)).select(archive, 2, np.random.default_rng(0))
    assert found == ["a", "b"]
    assert PuctStrategy(PuctSettings(0.0)).select(archive, 3, np.random.default_rng(0)) == ["a", "b", "aa"]
