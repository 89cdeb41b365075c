"""Every hostile candidate ends as the right failure, leaves nothing behind, and the next one measures normally."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels.bench.cpu import CpuBench
from foretell.kernels.bench.timing_lock import LOCK_NAME, QUEUE_NAME
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.sandbox.command import Finished
from tests.kernels.bench.hostile import HOSTILE, Hostile

TASK = get("softmax")
EFFORT = BenchEffort(run_timeout_s=5.0, slowest_ratio=20, fewest_pairs=3, most_pairs=3)
HURRIED = replace(EFFORT, run_timeout_s=1.0)  # for those that never finish; honest ones may need more on busy cores
HONEST = Hostile("honest", "", Status.OK, "")


@contextmanager
def _warm(bench: CpuBench) -> Iterator[CpuBench]:
    assert _measure(bench, HONEST.source()).status is Status.OK
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[CpuBench]:
    with _warm(CpuBench(EFFORT)) as bench:
        yield bench


@pytest.fixture(scope="module")
def hurried(bench: CpuBench) -> Iterator[CpuBench]:
    with _warm(CpuBench(HURRIED, bench.device)) as bench:
        yield bench


def _measure(bench: CpuBench, source: str) -> Measurement:
    [(_, measurement)] = bench.measure(TASK, [Candidate(TASK.name, "cpp", source)])
    return measurement


def _descendants() -> set[int]:
    """Processes below this one, by walking /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[int] = set()
    frontier = [os.getpid()]
    while frontier:
        below = children.get(frontier.pop(), [])
        found.update(below)
        frontier.extend(below)
    return found


def _one_per_end() -> list[object]:
    """All of them, of which all but the first that ends in a certain way are marked `full`."""
    first: dict[tuple[Status, str], Hostile] = {}
    for hostile in HOSTILE:
        first.setdefault((hostile.status, hostile.says), hostile)
    quick = set(first.values())
    return [pytest.param(each, marks=() if each in quick else pytest.mark.full, id=each.name) for each in HOSTILE]


@pytest.mark.parametrize("hostile", _one_per_end())
def test_hostile_candidate_is_stopped(
    hostile: Hostile, bench: CpuBench, hurried: CpuBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORETELL_TEST_SECRET", "very-secret-value")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    sentinel = tmp_path / "sentinel"
    sentinel.write_text("precious")
    before = _descendants()

    with monkeypatch.context() as patch:
        if "compiler" in hostile.says:  # others get the time that a compiler may need on busy cores
            patch.setattr(cpp, "BUILD_TIMEOUT_S", 3.0)
        stopping = hurried if hostile.status is Status.TIMEOUT else bench
        measurement = _measure(stopping, hostile.source(str(sentinel)))

    assert measurement.status is hostile.status, measurement.message
    assert hostile.says in measurement.message
    assert "very-secret-value" not in str(measurement.to_dict())
    assert sentinel.read_text() == "precious"
    assert _descendants() <= before
    # where only root may write to /run/lock, the bench's own lock lies in the temporary folder
    assert {entry.name for entry in scratch.iterdir()} <= {LOCK_NAME, QUEUE_NAME}
    assert _measure(bench, HONEST.source()).status is Status.OK


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 16
    assert len({hostile.name for hostile in HOSTILE}) == len(HOSTILE)


def test_a_compiler_that_its_own_limit_ends_ran_out_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the process's own limit may come before the supervisor sees that its time is over."""
    words = "g++: internal compiler error: CPU time limit exceeded signal terminated program cc1plus"
    monkeypatch.setattr(cpp, "run", lambda *_, **__: Finished(4, "", words))
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    build = cpp.build(get("softmax"), Candidate("softmax", "cpp", "int wrong;"))
    assert build.status is Status.TIMEOUT and "did not finish" in build.message
