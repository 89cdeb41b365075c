"""A run that is killed anywhere and resumed is the run that was not killed: it decides, measures and pays the same."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from foretell.kernels.bench.fake import FakeBench
from foretell.kernels.policy import POLICIES
from foretell.kernels.profiles import Budgets
from foretell.kernels.search import STRATEGIES, load_run
from foretell.kernels.store import Catalogue, StorageFull
from tests.kernels.search.world import Killed, VariedBench, journal_of, kill_after, make_search, small

FORK = multiprocessing.get_context("fork")
SIGKILLS_PER_POLICY = 4
STORAGE_FULL_EXIT = 7


def carry_on(run_dir: Path, policy: str, bench: FakeBench, catalogue: Catalogue | None = None) -> None:
    """What a user does after a crash: start if there is nothing, resume otherwise."""
    search = make_search(run_dir, policy, bench=bench, catalogue=catalogue)
    if (run_dir / "journal.jsonl").exists() and journal_of(run_dir).count(b"\n"):
        search.resume()
    else:
        search.run()


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        *((policy, "puct") for policy in POLICIES),
        *(pytest.param("selective", strategy, marks=pytest.mark.full) for strategy in STRATEGIES[1:]),
    ],
)
def test_killed_at_every_event(policy: str, strategy: str, tmp_path: Path) -> None:
    whole = VariedBench()
    make_search(tmp_path / "whole", policy, strategy, bench=whole).run()
    expected = journal_of(tmp_path / "whole")
    events = expected.count(b"\n")
    assert events > 15
    for count in range(1, events + 1):
        run_dir, bench = tmp_path / f"killed-{count}", VariedBench()
        with pytest.raises(Killed):
            make_search(run_dir, policy, strategy, bench=bench, on_event=kill_after(count)).run()
        assert journal_of(run_dir).count(b"\n") == count
        make_search(run_dir, policy, strategy, bench=bench).resume()
        assert journal_of(run_dir) == expected
        assert bench.asked == whole.asked


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        pytest.param(policy, strategy, marks=() if policy == "selective" or strategy == "puct" else pytest.mark.full)
        for policy in POLICIES
        for strategy in STRATEGIES
    ],
)
def test_killed_at_every_event_of_one_run(policy: str, strategy: str, tmp_path: Path) -> None:
    whole, bench = VariedBench(), VariedBench()
    make_search(tmp_path / "whole", policy, strategy, bench=whole).run()
    with pytest.raises(Killed):
        make_search(tmp_path / "killed", policy, strategy, bench=bench, on_event=kill_after(1)).run()
    expected = journal_of(tmp_path / "whole")
    while journal_of(tmp_path / "killed") != expected:
        with pytest.raises(Killed):
            make_search(tmp_path / "killed", policy, strategy, bench=bench, on_event=kill_after(1)).resume()
    assert bench.asked == whole.asked


@pytest.mark.parametrize("seconds", [0.3, 1.1])
def test_killed_when_device_time_runs_out_within_a_batch(seconds: float, tmp_path: Path) -> None:
    profile = small(budgets=Budgets(100, seconds, 100))
    whole = make_search(tmp_path / "whole", "all", profile=profile).run()
    assert whole.pending, "the budget must end in the middle of a batch"
    expected = journal_of(tmp_path / "whole")
    for count in range(1, expected.count(b"\n")):
        with pytest.raises(Killed):
            make_search(tmp_path / f"{count}", "all", profile=profile, on_event=kill_after(count)).run()
        make_search(tmp_path / f"{count}", "all", profile=profile).resume()
        assert journal_of(tmp_path / f"{count}") == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_torn_at_any_byte(policy: str, tmp_path: Path) -> None:
    make_search(tmp_path / "whole", policy).run()
    expected = journal_of(tmp_path / "whole")
    first = expected.index(b"\n") + 1
    rng = random.Random(policy)
    for size in [first, *(rng.randrange(first, len(expected)) for _ in range(20))]:
        run_dir = tmp_path / f"torn-{size}"
        run_dir.mkdir()
        (run_dir / "journal.jsonl").write_bytes(expected[:size])
        search = make_search(run_dir, policy)
        search.resume()
        assert journal_of(run_dir) == expected
        assert (search.torn is None) == (expected[size - 1 : size] == b"\n" or expected[size : size + 1] == b"\n")


@pytest.mark.parametrize("policy", POLICIES)
def test_killed_with_a_catalogue(policy: str, tmp_path: Path) -> None:
    """The catalogue lags behind the journal after a crash between the two; resuming fills it and pays nothing twice."""
    whole = FakeBench()
    make_search(tmp_path / "whole", policy, bench=whole, catalogue=Catalogue(tmp_path / "a.sqlite", fsync=False)).run()
    for count in range(2, journal_of(tmp_path / "whole").count(b"\n"), 3):
        run_dir, bench, path = tmp_path / f"killed-{count}", FakeBench(), tmp_path / f"{count}.sqlite"
        with pytest.raises(Killed):
            make_search(run_dir, policy, bench=bench, on_event=kill_after(count)).run()
        catalogue = Catalogue(path, clock=lambda: 0.0, fsync=False)
        make_search(run_dir, policy, bench=bench, catalogue=catalogue).resume()
        assert journal_of(run_dir) == journal_of(tmp_path / "whole")
        assert bench.asked == whole.asked
        assert len(catalogue) == load_run(run_dir).measured


@pytest.mark.parametrize("policy", POLICIES)
def test_real_sigkill_at_random_moments(policy: str, tmp_path: Path) -> None:
    make_search(tmp_path / "whole", policy).run()
    expected = journal_of(tmp_path / "whole")
    run_dir, log = tmp_path / "killed", tmp_path / "asked.log"
    bench = FakeBench(log=log, delay_s=0.015)
    rng = random.Random(policy)
    kills = 0
    for moment in range(SIGKILLS_PER_POLICY):
        size = len(expected) * (moment + rng.random()) / (SIGKILLS_PER_POLICY + 1)
        known = set(load_run(run_dir).nodes) if kills else set()
        asked_before = _asked(log)
        judged = {i for i in known if load_run(run_dir).nodes[i].measurement is not None}
        child = FORK.Process(target=carry_on, args=(run_dir, policy, bench))
        child.start()
        while child.is_alive() and not (run_dir.exists() and len(_journal(run_dir)) > size):
            time.sleep(0.0005)
        time.sleep(rng.random() * 0.01)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        kills += child.exitcode == -signal.SIGKILL
        searched = [line for line in _asked(log)[len(asked_before) :] if not line.endswith("None")]
        assert not {line.split()[0] for line in searched} & judged, "paid twice for what the journal held"
    carry_on(run_dir, policy, bench)
    assert kills, "every child got away: the test has shown nothing"
    assert journal_of(run_dir) == expected
    counts = Counter(_asked(log))
    assert sum(counts.values()) - len(counts) <= kills, "more was repeated than was on the device when the kill came"
    assert load_run(run_dir).measured == load_run(tmp_path / "whole").measured


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_disk_that_fills_up(share: float, tmp_path: Path) -> None:
    """A real limit on file size stands for the full disk: the run stops with a sentence, and resumes without loss."""
    make_search(tmp_path / "whole").run()
    expected = journal_of(tmp_path / "whole")

    def run_out_of_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(len(expected) * share),) * 2)
        try:
            make_search(tmp_path / "full").run()
        except StorageFull:
            os._exit(STORAGE_FULL_EXIT)

    child = FORK.Process(target=run_out_of_room)
    child.start()
    child.join()
    assert child.exitcode == STORAGE_FULL_EXIT
    kept = journal_of(tmp_path / "full")
    assert kept.endswith(b"\n")
    assert expected.startswith(kept)
    make_search(tmp_path / "full").resume()
    assert journal_of(tmp_path / "full") == expected


def _journal(run_dir: Path) -> bytes:
    path = run_dir / "journal.jsonl"
    return path.read_bytes() if path.exists() else b""


def _asked(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []
