"""The CPU bench beside other processes: honest kernels are neither timed out nor mistimed, endless ones still end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.load import SPIN, others
from foretell.kernels.bench import worker
from foretell.kernels.bench.arena import needed_bytes
from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.bench.faults import WorkerFault
from foretell.kernels.candidate import Candidate
from foretell.kernels.contention import usable_cores
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.limits import Limits
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.sandbox import Finished, run
from tests.kernels.bench.hostile import CORRECT, head

pytestmark = pytest.mark.timing

TASK = replace(get("softmax"), workloads=get("softmax").workloads[:1])
KERNEL = 'extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols)'
OTHERS_PER_CORE = 4
# One run of it takes longer by the clock than the limit below allows, and less on a core.
SLOW = "volatile double t = 0; for (long i = 0; i < 40000000; ++i) t += i; honest(x, out, rows, cols);"
SIX_TIMES = "for (int k = 0; k < 6; ++k) honest(x, out, rows, cols);"
SPINS = "volatile int stay = 1; while (stay) {}"
SLEEPS = "sleep(3600);"
SLEEPS_BESIDE_A_SPINNER = "std::thread([] { volatile int stay = 1; while (stay) {} }).detach(); for (;;) sleep(3600);"
# Runnable for half of the time, of which it wants as little on a core as can be.
NAPS_AND_YIELDS = "for (;;) { usleep(20000); for (int k = 0; k < 20; ++k) sched_yield(); }"
YIELDS = "for (;;) sched_yield();"
SLEEPS_WHEN_LOADED = f"__attribute__((constructor)) static void early() {{ {SLEEPS_BESIDE_A_SPINNER} }}\n"


def _candidate(body: str, outside: str = "") -> Candidate:
    headers = f"{head(body + outside)}#include <sched.h>\n"
    return Candidate(TASK.name, "cpp", f"{headers}{CORRECT}{outside}{KERNEL} {{ {body} }}")


@pytest.fixture(scope="module")
def busy_machine() -> Iterator[None]:
    bodies = (SLOW, SIX_TIMES, *ENDLESS.values())
    built = CpuBench().build(TASK, [*map(_candidate, bodies), _candidate("", SLEEPS_WHEN_LOADED)])
    assert all(each.ok for each in built)  # before the others make compilers slow
    with others([SPIN] * (OTHERS_PER_CORE * usable_cores())):
        yield


def _measure(effort: BenchEffort, body: str) -> Measurement:
    bench = CpuBench(effort)
    try:
        [(_, outcome)] = bench.measure(TASK, [_candidate(body)])
    finally:
        bench.close()
    return outcome


def test_a_long_kernel_is_timed_right_and_told_to_be_disturbed_or_not(busy_machine: None) -> None:
    """Six times the work, each run long enough to lose its core again and again; by the clock it looked 100 times."""
    outcome = _measure(BenchEffort(processes=1), SIX_TIMES)
    assert outcome.ok and outcome.speedup is not None and outcome.high is not None and outcome.low is not None
    assert outcome.low < 1 / 4 and outcome.high > 1 / 9
    assert 1 / 12 < outcome.speedup < 1 / 3
    assert outcome.conditions["others"] > 0.1
    assert outcome.conditions["cores"] == usable_cores()


def test_an_honest_kernel_that_others_hold_up_is_not_timed_out(busy_machine: None) -> None:
    quick = BenchEffort(run_timeout_s=0.5, slowest_ratio=1e-9, check_seeds=1, fewest_pairs=3, most_pairs=3, processes=1)
    outcome = _measure(quick, SLOW)  # 0.1 s or more on a core
    assert outcome.status in (Status.OK, Status.INFRASTRUCTURE), outcome.message


ENDLESS = {
    "spins": SPINS,
    "sleeps": SLEEPS,
    "sleeps_beside_a_spinner": SLEEPS_BESIDE_A_SPINNER,
    "naps_and_yields": NAPS_AND_YIELDS,
    "yields": YIELDS,
}


_SLOW = ("yields",)  # tried three times


@pytest.mark.parametrize(
    "body",
    [pytest.param(body, id=name, marks=pytest.mark.full if name in _SLOW else ()) for name, body in ENDLESS.items()],
)
def test_an_endless_kernel_times_out_all_the_same(
    busy_machine: None, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "STARVED_PATIENCE_S", 3.0)  # of which it gets three at most
    outcome = _measure(BenchEffort(run_timeout_s=0.3, slowest_ratio=1e-9), body)
    assert outcome.status is Status.TIMEOUT, outcome.message


def test_one_that_sleeps_when_loaded_times_out_too(busy_machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "START_TIMEOUT_S", 2.0)
    built = cpp.build(TASK, _candidate("", SLEEPS_WHEN_LOADED))
    assert built.artifact is not None
    with pytest.raises(WorkerFault) as caught:
        worker.Worker(built.artifact, needed_bytes(TASK))
    assert caught.value.status is Status.TIMEOUT, str(caught.value)


def test_what_is_starved_is_given_up_in_the_end() -> None:
    assert worker.longest_wait_s(2.0, starting=False) == 10.0
    assert worker.longest_wait_s(5.0, starting=False) == 25.0
    assert worker.longest_wait_s(worker.START_TIMEOUT_S, starting=True) <= 20.0


def test_a_tool_is_bounded_by_the_cpu_time_it_uses(busy_machine: None, tmp_path: Path) -> None:
    def bounded(cpu_s: float, wall_s: float, *command: str) -> Finished:
        limits = Limits(cpu_s=cpu_s, wall_s=wall_s, memory_bytes=1 << 30)
        return run(command, writable=tmp_path, limits=limits)

    endless = bounded(0.5, 30, "sh", "-c", "while :; do :; done")
    assert endless.timed_out and not endless.starved
    brief = bounded(0.5, 30, "sh", "-c", "sleep 1; echo done")
    assert (brief.timed_out, brief.starved, brief.stdout) == (False, False, "done\n")
    asleep = bounded(0.2, 2, "sleep", "60")
    assert asleep.starved and not asleep.timed_out
