"""Other processes' use of the processors is seen, one's own is not mistaken for it, and starvation is no timeout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from foretell.kernels.bench import accounts
from foretell.kernels.contention import Watch, load_average, usable_cores

SPIN = [sys.executable, "-c", "while True: pass"]


@contextmanager
def _busy(count: int) -> Iterator[list[int]]:
    processes = [subprocess.Popen(SPIN, start_new_session=True) for _ in range(count)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_work_of_others_is_seen_and_ones_own_is_not() -> None:
    with _busy(usable_cores()) as pids:
        time.sleep(0.2)
        foreign, own = Watch(), Watch(lambda: time.process_time() + sum(map(accounts.cpu_s, pids)))
        time.sleep(1.0)
        # Whatever else runs on the machine counts in both.
        assert foreign.others_share() > 0.3
        assert foreign.others_share() - own.others_share() > 0.1


def test_a_process_is_accounted_for_and_a_dead_one_is_harmless() -> None:
    with _busy(1) as [pid]:
        deadline = time.monotonic() + 30
        while accounts.cpu_s(pid) < 0.1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert accounts.cpu_s(pid) >= 0.1
        assert accounts.main_thread_cpu_s(pid) > 0
        assert not accounts.main_thread_sleeps(pid)
        assert accounts.descent(pid) == [pid]
        before = accounts.threads(pid)
        assert list(before) == [str(pid)]
        while accounts.since(before, accounts.threads(pid))[0].on_core_us < 1e4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert accounts.since(before, accounts.threads(pid))[0].on_core_us >= 1e4
    assert accounts.cpu_s(pid) == 0.0 and accounts.threads(pid) == {} and accounts.main_thread_sleeps(pid)
    assert accounts.since(before, {}) == [accounts.Account()]


def test_a_sleeper_is_told_from_a_stopped_process_and_a_wrapped_one_is_found() -> None:
    shell = subprocess.Popen(["sh", "-c", "sleep 30; true"], start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        while len(accounts.descent(shell.pid)) == 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        _, inner = accounts.descent(shell.pid)
        while not accounts.main_thread_sleeps(inner) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert accounts.main_thread_sleeps(inner)
        os.kill(inner, signal.SIGSTOP)
        while accounts.main_thread_sleeps(inner) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not accounts.main_thread_sleeps(inner)
    finally:
        os.killpg(shell.pid, 9)
        shell.wait()


def test_a_sleeping_main_thread_is_seen_beside_a_thread_that_spins() -> None:
    code = "import threading, time\ndef spin():\n    while True: pass\n"
    code += "threading.Thread(target=spin, daemon=True).start()\ntime.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        deadline = time.monotonic() + 30
        looks: list[bool] = []
        while looks[-5:] != [True] * 5 and time.monotonic() < deadline:  # while it starts it may sleep for a moment
            time.sleep(0.02)
            looks.append(accounts.main_thread_sleeps(process.pid) and len(accounts.threads(process.pid)) == 2)
        assert looks[-5:] == [True] * 5
    finally:
        process.kill()
        process.wait()


def test_load_is_a_number() -> None:
    assert load_average() >= 0.0
