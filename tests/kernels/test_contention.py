"""Other processes' use of the processors is seen, one's own is not mistaken for it, and starvation is no timeout."""

from __future__ import annotations

import os
import signal
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
        assert accounts.is_held_up(pid, pid)
        assert accounts.descent(pid) == [pid]
        before = accounts.threads(pid)
        assert list(before) == [str(pid)]
        while accounts.since(before, accounts.threads(pid))[0].on_core_us < 1e4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert accounts.since(before, accounts.threads(pid))[0].on_core_us >= 1e4
    assert accounts.cpu_s(pid) == 0.0 and accounts.threads(pid) == {} and not accounts.is_held_up(pid, pid)
    assert accounts.since(before, {}) == [accounts.Account()]


def _until(condition: Callable[[], bool]) -> None:
    """Waits for a state of other processes to come."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_process_is_held_up_unless_it_sleeps_or_stopped_itself() -> None:
    spin = f"while kill -0 {os.getpid()}; do :; done"
    shell = subprocess.Popen(["sh", "-c", f"({spin}) & sleep 600; true"], start_new_session=True)
    try:
        _until(lambda: len(accounts.descent(shell.pid)) == 2)
        _, inner = accounts.descent(shell.pid)
        _until(lambda: not accounts.is_held_up(inner, shell.pid))
        os.kill(inner, signal.SIGSTOP)
        _until(lambda: accounts.is_held_up(inner, shell.pid))  # its keeper has work under way in another child
        spinning = int(Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()[0])
        os.kill(spinning, signal.SIGSTOP)
        _until(lambda: not accounts.is_held_up(inner, shell.pid))  # nothing goes on any more: nobody holds it up
        os.kill(shell.pid, signal.SIGSTOP)
        _until(lambda: accounts.is_held_up(inner, shell.pid))  # somebody stopped the keeper
    finally:
        os.killpg(shell.pid, 9)
        shell.wait()


def test_a_sleeping_main_thread_is_seen_beside_a_thread_that_spins() -> None:
    sleeper = "import threading, time; threading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()"
    with others([(sleeper, "time.sleep(1)")]) as [pid]:
        deadline = time.monotonic() + 30
        looks: list[bool] = []
        while looks[-5:] != [True] * 5 and time.monotonic() < deadline:  # while it starts it may sleep for a moment
            time.sleep(0.02)
            looks.append(not accounts.is_held_up(pid, pid) and len(accounts.threads(pid)) == 2)
        assert looks[-5:] == [True] * 5


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
