"""One bench times at a time, machine-wide; a lock that cannot be had is told, never fatal."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path

from foretell.kernels.bench.timing_lock import LOCK_NAME, timing_lock

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


GREEDY = """
import sys, time
from pathlib import Path
from foretell.kernels.bench.timing_lock import timing_lock
for n in range(10):
    with timing_lock(Path(sys.argv[1])):
        print(sys.argv[2], time.monotonic(), flush=True)
        time.sleep(0.05)
"""


def test_nobody_starves_beside_one_that_asks_again_at_once(tmp_path: Path) -> None:
    benches = [
        subprocess.Popen([sys.executable, "-c", GREEDY, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    turns = []
    for bench in benches:
        out, _ = bench.communicate(timeout=120)
        turns += [(float(at), name) for name, at in (line.split() for line in out.splitlines())]
    order = "".join(name for _, name in sorted(turns)).strip("a" if sorted(turns)[0][1] == "a" else "b")
    # Once both are there they alternate; whoever is left at the end has it alone.
    both = order.rstrip(order[-1])
    assert "aaa" not in both and "bbb" not in both


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
