from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import tuning_spaces as bench
from foretell.kernels.measurement import Status
from foretell.kernels.replay.spaces import Space

COUNT = 60


def space(device: str, shift: int) -> Space:
    times = np.array([np.nan if n % 7 == 0 else 1.0 + 0.02 * abs(n - 30 - shift) for n in range(COUNT)])
    status = tuple(Status.LAUNCH_ERROR if np.isnan(t) else Status.OK for t in times)
    values = {"n": tuple(range(1, COUNT + 1))}
    return Space(f"k__{device}", "k", device, values, (), np.arange(COUNT)[:, None], times, status)


def runs(needed: list[int | None], after: list[float]) -> dict[str, Any]:
    pairs = enumerate(zip(needed, after, strict=True))
    return {str(i): {"needed": {"1.05": n}, "after": {"50": a}, "ms_each": 1.0} for i, (n, a) in pairs}


def test_a_walk_is_judged_by_its_best_so_far_and_failures_count() -> None:
    told = bench.judged(space("a", 0), [0, 59, 40, 32, 30])
    assert told["needed"] == {"1.10": 4, "1.05": 4, "1.02": 5}
    assert told["after"] == {"5": 1.0}


def test_medians_and_means_are_those_of_the_peers() -> None:
    one = {"methods": {"tuner": runs([4, 8, None], [1.0, 1.2, 1.1])}}
    two = {"methods": {"tuner": runs([None, None, 3], [1.1, 1.1, 1.1])}}
    three = {"methods": {"tuner": runs([30], [1.21])}}
    assert bench.needed([one], "tuner") == 8
    assert bench.needed([two], "tuner") == np.inf
    assert bench.needed([one, two, three], "tuner") == 30
    assert bench.after([one, three], "tuner") == pytest.approx((1.1 * 1.21) ** 0.5)


def test_as_good_as_random_counts_half() -> None:
    own = {"methods": {"tuner": runs([1, 1], [1.0, 1.3]), "random": runs([1, 1], [1.3, 1.1])}}
    assert bench.beaten(own, "tuner") == pytest.approx((2 + 0.5 + 0) / 4)


def test_a_run_and_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "results" / "tuning.json")
    monkeypatch.setattr(bench, "PAGE", tmp_path / "docs" / "tuning.md")
    monkeypatch.setattr(bench, "BUDGET", 50)
    monkeypatch.setattr(bench.spaces, "read_folder", lambda folder: [space("a", 0), space("b", 3)])
    bench.run(tmp_path, (), range(100, 102), again=False)
    first = bench.RESULTS.read_text()
    told = json.loads(first)
    assert told["each"]["k__a"]["tuner"]["runs"] == 2
    assert told["summary"]["tuner"]["after"]["50"] == 1.0
    assert len(told["summary"]["warm"]["needed_1.05_95"]) == 2
    bench.run(tmp_path, (), range(100, 102), again=False)
    assert bench.RESULTS.read_text() == first
    bench.page()
    lines = bench.PAGE.read_text().splitlines()
    assert any(line.startswith("| k__a | k__b | ") for line in lines)
    assert any(line.startswith("| Optuna TPE | 37 | ") for line in lines)
