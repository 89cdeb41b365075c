"""One bench times at a time, machine-wide; a lock that cannot be had is told, never fatal."""

from __future__ import annotations

import fcntl
import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

from foretell.kernels.bench.timing_lock import LOCK_NAME, QUEUE_NAME, timing_lock

HOLD = """
import sys, time
from pathlib import Path
from foretell.kernels.bench.timing_lock import timing_lock
with timing_lock(Path(sys.argv[1])) as alone:
    print(alone, time.monotonic(), flush=True)
    time.sleep(0.3)
    print(time.monotonic(), flush=True)
"""


def test_processes_take_turns(tmp_path: Path) -> None:
    benches = [
        subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    spans = []
    for bench in benches:
        out, _ = bench.communicate(timeout=120)
        alone, begin, end = out.split()
        assert alone == "True"
        spans.append((float(begin), float(end)))
    spans.sort()
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def _is_held(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_whoever_waits_is_before_one_that_asks_again_at_once(tmp_path: Path) -> None:
    turns: list[str] = []

    def wait() -> None:
        with timing_lock(tmp_path):
            turns.append("waited")

    for turn in range(10):
        with timing_lock(tmp_path):
            turns.append("asked")
            waiting = threading.Thread(target=wait)
            waiting.start()
            deadline = time.monotonic() + 60
            while not _is_held(tmp_path / QUEUE_NAME):
                assert time.monotonic() < deadline, "it does not wait in the queue"
                time.sleep(0.001)
        with timing_lock(tmp_path):
            assert turns == ["asked", "waited"] * (turn + 1)
        waiting.join()


def test_a_dead_holder_does_not_block(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with timing_lock(tmp_path) as alone:
        assert alone


def test_waiting_ends_and_is_told(tmp_path: Path) -> None:
    with timing_lock(tmp_path) as first, timing_lock(tmp_path, wait_s=0.05) as second:
        assert first and not second
    with timing_lock(tmp_path) as again:
        assert again


def test_a_folder_that_cannot_be_used_is_no_failure(tmp_path: Path) -> None:
    with timing_lock(tmp_path / "absent") as alone:
        assert not alone
    (tmp_path / LOCK_NAME).symlink_to(tmp_path / "elsewhere")
    started = time.monotonic()
    with timing_lock(tmp_path) as alone:
        assert not alone
    assert not (tmp_path / "elsewhere").exists()
    assert time.monotonic() - started < 60
