"""Searches that share a catalogue measure each candidate once, whoever comes first, and one that dies blocks nobody."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench
from foretell.kernels.search import load_run
from foretell.kernels.store import Catalogue
from tests.kernels.search.world import TASK, Killed, kill_after, make_search, small

FORK = multiprocessing.get_context("fork")
PROFILE = small(verify_count=0, verify_attempts=0)


def search(run_dir: Path, path: Path, log: Path, policy: str) -> None:
    bench = FakeBench(log=log, delay_s=0.02)
    make_search(run_dir, policy, bench=bench, profile=PROFILE, catalogue=Catalogue(path, fsync=False)).run()


@pytest.mark.parametrize("policy", ["all", "selective"])
def test_four_searches_at_once_measure_each_candidate_once(policy: str, tmp_path: Path) -> None:
    path, log = tmp_path / "c.sqlite", tmp_path / "asked.log"
    children = [FORK.Process(target=search, args=(tmp_path / f"{i}", path, log, policy)) for i in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    asked = Counter(line.split()[0] for line in log.read_text().splitlines())
    assert set(asked.values()) == {1}
    catalogue = Catalogue(path)
    assert len(list(catalogue.rows())) == len(catalogue) == len(asked)
    runs = [load_run(tmp_path / f"{i}") for i in range(4)]
    assert sum(run.measured - run.reused for run in runs) == len(asked)
    assert len({frozenset(run.nodes) for run in runs}) == 1, "the same seed proposes the same"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM reservations").fetchone() == (0,)


def test_a_fault_of_one_process_is_measured_by_the_next(tmp_path: Path) -> None:
    """What another process had reserved and could not measure is measured here once it gives up."""
    catalogue = Catalogue(tmp_path / "c.sqlite", fsync=False)
    other = Catalogue(tmp_path / "c.sqlite", fsync=False)
    plain = make_search(tmp_path / "plain", "all", profile=PROFILE).run()
    [first, *_] = [node for node in plain.nodes.values() if node.build.ok]
    assert other.reserve(TASK, [first.candidate], FAKE_DEVICE, 3600)
    asked: list[str] = []

    class Watched(FakeBench):
        def measure(self, task, candidates, hopeless_below=None):  # type: ignore[no-untyped-def]
            for candidate, outcome in super().measure(task, candidates, hopeless_below):
                asked.append(candidate.id)
                if len(asked) == 3:
                    other.release(TASK, [first.candidate], FAKE_DEVICE)
                yield candidate, outcome

    state = make_search(tmp_path / "run", "all", bench=Watched(), profile=PROFILE, catalogue=catalogue).run()
    assert state.measured == plain.measured
    assert asked.index(first.id) >= 3, "the others came first"


def test_a_killed_run_leaves_no_reservation_that_stops_its_resumption(tmp_path: Path) -> None:
    profile = replace(PROFILE, name="small")
    for count in (3, 4, 6):
        catalogue = Catalogue(tmp_path / f"{count}.sqlite", fsync=False)
        run_dir = tmp_path / f"{count}"
        with pytest.raises(Killed):
            make_search(run_dir, "all", profile=profile, catalogue=catalogue, on_event=kill_after(count)).run()
        again = Catalogue(tmp_path / f"{count}.sqlite", fsync=False)
        state = make_search(run_dir, "all", profile=profile, catalogue=again).resume()
        assert state.finished is not None and len(again) == state.measured
