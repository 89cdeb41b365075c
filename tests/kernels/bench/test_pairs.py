"""Which pairs count, when there are enough of them, and what an interval says on a contended machine."""

from __future__ import annotations

import math
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.bench.accounts import Account
from foretell.kernels.bench.keeper import Threads, threads_of
from foretell.kernels.bench.pairs import Pair, Pairs
from foretell.kernels.bench.runs import Run, threaded_run
from foretell.kernels.bench.statistics import combine, disturbed_timing, rank_error, timing
from foretell.kernels.languages.cpp import FLAGS, find_compiler
from foretell.kernels.profiles import BENCH


def _run(us: float, cpu_us: float | None = None, **marks: bool) -> Run:
    return Run(us, us if cpu_us is None else cpu_us, **marks)


def _pair(reference: float, candidate: float, preempted: bool = False) -> Pair:
    return Pair(_run(reference), _run(candidate, preempted=preempted))


def _pairs(*pairs: Pair, contended: bool = True) -> Pairs:
    return Pairs(BENCH, list(pairs), contended)


def _by_clock(pairs: Pairs) -> tuple[list[float], list[float]]:
    return [p.reference.wall_us for p in pairs.counted], [p.candidate.wall_us for p in pairs.counted]


STEADY = [_pair(100.0 + i % 3, 50.0 + i % 2) for i in range(6)]
HELD_UP = [_pair(100.0, 5000.0, preempted=True) for _ in range(6)]


def test_preempted_pairs_count_only_where_nobody_else_used_the_machine() -> None:
    assert _pairs(*STEADY, *HELD_UP).retaken == 6
    assert _pairs(*STEADY, *HELD_UP).timing("w").speedup == pytest.approx(2.0, rel=0.05)
    assert _pairs(*STEADY, *HELD_UP, contended=False).retaken == 0


def test_too_few_undisturbed_pairs_make_all_of_them_count_and_the_interval_wide() -> None:
    late = [
        Pair(_run(100.0 * 3**i, 100.0 + i, preempted=True), _run(50.0 * 9**i, 50.0 + i, preempted=True))
        for i in range(6)
    ]
    assert not _pairs(*STEADY[:3], *late).mixed  # few, but enough
    pairs = _pairs(*STEADY[:2], *late)
    assert pairs.mixed and pairs.disturbed and len(pairs.counted) == 8
    found = pairs.timing("w")
    assert found.speedup == pytest.approx(timing("w", *_by_clock(pairs)).speedup) and found.speedup < 1.5
    assert found.low < 0.5 < 2.0 < found.high


def test_a_kernel_on_one_thread_is_timed_on_its_core() -> None:
    late = [Pair(_run(100.0), _run(5e4 + i, 50.0 + i % 2, preempted=True, serial=True)) for i in range(6)]
    contended = _pairs(*late)
    assert contended.retaken == 0 and not contended.mixed and not contended.disturbed
    assert contended.timing("w").speedup == pytest.approx(2.0, rel=0.05)
    assert _pairs(*late, contended=False).timing("w").speedup == pytest.approx(2.0, rel=0.05)


def test_what_may_use_threads_is_not_taken_for_serial(tmp_path: Path) -> None:
    sources = {
        "plain": "",
        "openmp": "#pragma omp parallel for",
    }
    verdicts = {}
    for name, pragma in sources.items():
        source = tmp_path / f"{name}.cpp"
        body = f"{pragma}\nfor (int i = 0; i < n; ++i) x[i] = std::exp(x[i]);"
        source.write_text(f'#include <cmath>\nextern "C" void kernel(float* x, int n) {{\n{body}\n}}\n')
        target = source.with_suffix(".so")
        command = [find_compiler().path, *FLAGS, "-o", str(target), str(source)]
        subprocess.run(command, check=True)
        verdicts[name] = threads_of(target)
    assert verdicts == {"plain": Threads.NONE, "openmp": Threads.POOL}


def test_sampling_goes_on_while_contended_until_narrow_or_capped() -> None:
    wild = [_pair(100.0, 50.0 * 1.4 ** (i % 3)) for i in range(6)]
    assert not _pairs(*wild, contended=False).enough(BENCH.workload_cap_s / 2)
    assert not _pairs(*wild).enough(2 * BENCH.workload_cap_s)
    assert _pairs(*wild).enough(BENCH.busy_cap_s + 0.1)
    assert _pairs(*STEADY).enough(0.0)
    assert not _pairs(*STEADY[:4]).enough(1e9)  # never fewer than the fewest
    alike = [_pair(100.0, 50.0 * 1.06 ** (i % 3)) for i in range(6)]
    assert _pairs(*alike, contended=False).enough(2 * BENCH.workload_cap_s)  # noisy by nature, and nobody to blame


def test_physics_is_held_against_the_clock_alone() -> None:
    """Of a kernel on several threads, the calling one may hardly have been on a core."""
    late = [Pair(_run(100.0), _run(900.0 + i, 3.0, preempted=True)) for i in range(5)]
    assert _pairs(*late).mixed and _pairs(*late).candidate_us == 902.0


def test_a_slow_candidate_is_hopeless_by_its_time_on_a_core() -> None:
    slow = [Pair(_run(100.0), _run(9e5, 600.0, preempted=True)) for _ in range(5)]
    assert _pairs(*slow).hopeless(0.5)
    assert not _pairs(*(Pair(_run(100.0), _run(9e5, 120.0, preempted=True)) for _ in range(5))).hopeless(0.5)
    assert not _pairs(*slow).hopeless(None)


def test_rank_intervals_cover_whatever_the_distribution() -> None:
    rng = np.random.default_rng(5)
    for n in (6, 9, 17):
        hits = 0
        for _ in range(400):
            logs = rng.standard_cauchy(n)
            half = 1.96 * rank_error(np.exp(np.clip(logs, -300, 300)), np.ones(n))
            inside = np.sort(np.clip(logs, -300, 300))
            hits += abs(float(np.median(inside))) <= 2 * half
        assert hits >= 0.93 * 400, n
    assert rank_error([1.0, 2.0, 4.0], [1.0] * 3) == pytest.approx(1.5 * math.log(4) / 2 / 1.96)


def test_an_interval_of_disturbed_pairs_holds_those_of_both_clocks() -> None:
    by_clock, on_core = [900.0, 1100.0, 1000.0] * 3, [100.0, 101.0, 99.0] * 3
    found = disturbed_timing("w", ([100.0] * 9, [100.0] * 9), (by_clock, on_core))
    assert found.speedup == pytest.approx(0.1) and found.candidate_us == tuple(by_clock)
    assert found.low < 0.1 and found.high > 1.0
    late_reference = disturbed_timing("w", (by_clock, on_core), ([100.0] * 9, [100.0] * 9))
    assert late_reference.speedup == pytest.approx(1.0)  # nobody gains by a reference that was held up, either


def test_two_threads_on_one_core_do_not_count_as_half_of_the_time() -> None:
    """Each is on a core half of the time and waits for the other in the rest, and never is a pair undisturbed."""
    wall_us = [1050.0 + i for i in range(8)]
    threads = [[Account(us / 2, us / 2), Account(us / 2, us / 2)] for us in wall_us]
    runs = [threaded_run(us, us, 10.0, each, cores=2) for us, each in zip(wall_us, threads, strict=True)]
    pairs = _pairs(*(Pair(_run(1000.0, serial=True), run) for run in runs))
    assert pairs.mixed
    found = [pairs.timing(name) for name in ("small", "middle", "large")]
    assert all(each.speedup < 1 for each in found)
    speedup, low, high = combine(found, 0.0, ["small", "middle", "large"])
    assert low < speedup < 1 < high
    assert math.log(high / speedup) == pytest.approx(math.log(found[0].high / found[0].speedup))  # not less by sqrt(3)


def test_combining_keeps_the_sides_of_an_interval_apart() -> None:
    lopsided = replace(timing("w", [100.0] * 5, [100.0] * 5), low=0.1)
    speedup, low, high = combine([lopsided])
    assert speedup == pytest.approx(1.0) and low == pytest.approx(0.1) and high < 1.01


def test_a_candidate_does_not_choose_its_pairs() -> None:
    """One that has itself held up where it has more to do is timed by all pairs."""
    fast = [Pair(_run(100.0), _run(20.0 + i % 3, 20.0 + i % 3)) for i in range(20)]
    slow = [Pair(_run(100.0), _run(80.0 + i % 3, 80.0 + i % 3, preempted=True)) for i in range(30)]
    chosen = _pairs(*fast, *slow, contended=True)
    assert chosen.counted == chosen.taken and chosen.mixed
    chance = [Pair(_run(100.0), _run(60.0, 21.0 + i % 3, preempted=True)) for i in range(30)]
    kept = _pairs(*fast, *chance, contended=True)
    assert kept.counted == fast and not kept.mixed
