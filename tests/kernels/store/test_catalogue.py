"""The catalogue: found again by the same task, candidate and device; shared by processes; not upset by damage."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels import library
from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build
from foretell.kernels.store import Catalogue, catalogue_key
from foretell.kernels.task import Tolerance, Workload

FORK = multiprocessing.get_context("fork")
TASK = library.get("softmax")
BUILD = Build(Status.OK, features={"spills": 2.0})


def candidate(i: int) -> Candidate:
    return Candidate(TASK.name, "cpp", f"int k = {i};")


def outcome(speedup: float) -> Measurement:
    return Measurement(Status.OK, speedup=speedup, low=speedup, high=speedup)


def fill(path: Path, first: int, count: int) -> None:
    catalogue = Catalogue(path, fsync=False)
    for i in range(first, first + count):
        assert catalogue.put(TASK, candidate(i), BUILD, FAKE_DEVICE, outcome(1.0 + i))


def test_what_was_put_is_found_by_others_and_by_later_ones(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "catalogue.jsonl"
    early = Catalogue(path)
    assert early.get(TASK, candidate(0), FAKE_DEVICE) is None
    assert len(early) == 0
    fill(path, 0, 3)
    for catalogue in (early, Catalogue(path)):
        assert catalogue.get(TASK, candidate(1), FAKE_DEVICE) == outcome(2.0)
        assert catalogue.holds(TASK, candidate(2), FAKE_DEVICE)
        assert not catalogue.holds(TASK, candidate(3), FAKE_DEVICE)
        assert len(catalogue) == 3


def test_the_latest_counts(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.jsonl")
    catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, outcome(3.0))
    catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, Measurement(Status.WRONG, "after all"))
    found = catalogue.get(TASK, candidate(0), FAKE_DEVICE)
    assert found is not None
    assert found.status is Status.WRONG
    assert len(catalogue) == 1


def test_faults_of_the_machine_are_never_kept(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.jsonl")
    assert not catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, Measurement(Status.INFRASTRUCTURE, "gone"))
    assert not (tmp_path / "c.jsonl").exists()


def test_another_task_reference_device_or_toolchain_is_another_key() -> None:
    one = candidate(0)
    variants = [
        (TASK, one, FAKE_DEVICE),
        (TASK, candidate(1), FAKE_DEVICE),
        (TASK, one, replace(FAKE_DEVICE, toolchain="fake 2.0")),
        (TASK, one, replace(FAKE_DEVICE, name="other")),
        (replace(TASK, references={"cpp": "void kernel() {}"}), one, FAKE_DEVICE),
        (replace(TASK, workloads=(Workload({"rows": 1, "cols": 1}),)), one, FAKE_DEVICE),
        (replace(TASK, tolerance=Tolerance(1e-1, 1e-1, "lax")), one, FAKE_DEVICE),
        (library.get("log_softmax"), one, FAKE_DEVICE),
    ]
    assert len({catalogue_key(*variant) for variant in variants}) == len(variants)
    same = Candidate(TASK.name, "cpp", "int k = 0;  // a remark")
    assert catalogue_key(TASK, same, FAKE_DEVICE) == catalogue_key(TASK, one, FAKE_DEVICE)


@pytest.mark.parametrize("lost", [1, 2, 40, 200])
def test_a_torn_last_line_is_cut_off_by_the_next_append(lost: int, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    fill(path, 0, 3)
    path.write_bytes(path.read_bytes()[:-lost])
    catalogue = Catalogue(path)
    assert len(catalogue) == 2
    fill(path, 3, 1)
    assert len(catalogue) == 3
    assert catalogue.get(TASK, candidate(3), FAKE_DEVICE) == outcome(4.0)
    assert catalogue.skipped == 0
    assert path.read_bytes().count(b"\n") == 3


def test_a_damaged_line_costs_one_measurement(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    fill(path, 0, 3)
    path.write_bytes(path.read_bytes().replace(b'"speedup":2.0', b'"speedup":9.0'))
    catalogue = Catalogue(path)
    assert len(catalogue) == 2
    assert catalogue.skipped == 1
    assert catalogue.get(TASK, candidate(1), FAKE_DEVICE) is None
    assert catalogue.get(TASK, candidate(2), FAKE_DEVICE) == outcome(3.0)


def test_a_cleared_catalogue_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    fill(path, 0, 3)
    catalogue = Catalogue(path)
    assert len(catalogue) == 3
    path.unlink()
    assert len(catalogue) == 0
    fill(path, 0, 1)
    assert catalogue.get(TASK, candidate(0), FAKE_DEVICE) == outcome(1.0)


def test_processes_append_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    children = [FORK.Process(target=fill, args=(path, 100 * i, 40)) for i in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    catalogue = Catalogue(path)
    assert len(catalogue) == 160
    assert catalogue.skipped == 0
    for i in (0, 139, 239, 339):
        assert catalogue.get(TASK, candidate(i), FAKE_DEVICE) == outcome(1.0 + i)


def test_lessons_are_of_this_task_as_it_is_and_this_device(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.jsonl", fsync=False)
    assert catalogue.lessons(TASK, FAKE_DEVICE) == []
    fill(catalogue.path, 0, 2)
    catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, outcome(9.0))
    catalogue.put(TASK, candidate(5), BUILD, replace(FAKE_DEVICE, toolchain="another"), outcome(4.0))
    catalogue.put(replace(TASK, tolerance=Tolerance(1, 1, "lax")), candidate(6), BUILD, FAKE_DEVICE, outcome(5.0))
    learnt = {
        subject.candidate.id: (subject.build, found.speedup) for subject, found in catalogue.lessons(TASK, FAKE_DEVICE)
    }
    assert {i: speedup for i, (_, speedup) in learnt.items()} == {candidate(0).id: 9.0, candidate(1).id: 2.0}
    assert all(build == BUILD for build, _ in learnt.values())
