"""Other processes' use of the processors is seen, one's own is not mistaken for it, and starvation is no timeout."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.load import SPIN, others
from foretell.kernels.bench import accounts
from foretell.kernels.contention import Watch, load_average, usable_cores


def test_work_of_others_is_seen_and_ones_own_is_not() -> None:
    with others([SPIN] * usable_cores()) as pids:
        time.sleep(0.2)
        foreign, own = Watch(), Watch(lambda: time.process_time() + sum(map(accounts.cpu_s, pids)))
        time.sleep(1.0)
        # Whatever else runs on the machine counts in both.
        assert foreign.others_share() > 0.3
        assert foreign.others_share() - own.others_share() > 0.1


def test_a_process_is_accounted_for_and_a_dead_one_is_harmless() -> None:
    with others([SPIN]) as [pid]:
        deadline = time.monotonic() + 30
        while accounts.cpu_s(pid) < 0.1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert accounts.cpu_s(pid) >= 0.1
        assert accounts.main_thread_cpu_s(pid) > 0
        assert accounts.descent(pid) == [pid]
        before = accounts.threads(pid)
        assert list(before) == [str(pid)]
        while accounts.since(before, accounts.threads(pid))[0].on_core_us < 1e4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert accounts.since(before, accounts.threads(pid))[0].on_core_us >= 1e4
    assert accounts.cpu_s(pid) == 0.0 and accounts.threads(pid) == {}
    assert accounts.since(before, {}) == [accounts.Account()]


def _until(condition: Callable[[], bool]) -> None:
    """Waits for a state of other processes to come."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _accounts(**threads: tuple[float, float]) -> dict[str, accounts.Account]:
    """Of threads by name, in seconds on a core and waiting."""
    return {name: accounts.Account(used * 1e6, waited * 1e6) for name, (used, waited) in threads.items()}


def test_who_waits_for_others_is_held_up_and_who_sleeps_or_waits_for_its_own_threads_is_not() -> None:
    def held_up(cores: int, **threads: tuple[float, float]) -> float:
        after = _accounts(**threads)
        return accounts.held_up_s(
            _accounts(main=(1.0, 2.0)), after, sum(used for used, _ in threads.values()) - 1, cores
        )

    assert held_up(1, main=(1.5, 5.5)) == 3.5
    assert held_up(1, main=(1.5, 2.0)) == 0.0  # it slept for the rest
    assert held_up(2, main=(1.0, 2.0), other=(0.5, 3.5)) == 3.5  # a main thread that waits for one that waits
    crowd = {f"thread{k}": (1.0, 3.0) for k in range(8)}  # on two cores for 4 s, with nobody else
    assert held_up(2, main=(1.0, 2.0), **crowd) <= 0.0
    assert accounts.held_up_s({}, {}, 0.0, 2) == 0.0


def test_a_process_that_naps_is_not_held_up_however_often_it_wakes() -> None:
    with others([SPIN] * usable_cores()), others([("import time", "time.sleep(0.002)")]) as [pid]:
        _until(lambda: accounts.cpu_s(pid) > 0)
        time.sleep(0.2)
        before, started = accounts.threads(pid), time.monotonic()
        time.sleep(0.5)
        held_up_s = accounts.held_up_s(before, accounts.threads(pid), accounts.cpu_s(pid), 1)
        assert held_up_s < time.monotonic() - started
        assert accounts.count_threads(pid) == 1
    assert accounts.count_threads(pid) == 0


def test_busy_processes_end_with_a_process_that_was_killed() -> None:
    code = "from benchmarks.load import *\nwith others([SPIN, COPY]) as pids: print(*pids, flush=True); input()"
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None and parent.stdin is not None
    with parent.stdin, parent.stdout:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert all(Path(f"/proc/{pid}/stat").exists() for pid in pids) and len(pids) == 2
        parent.kill()
        parent.wait()
        for pid in pids:
            _until(lambda pid=pid: accounts.cpu_s(pid) == 0.0)  # type: ignore[misc]


def test_load_is_a_number() -> None:
    assert load_average() >= 0.0
