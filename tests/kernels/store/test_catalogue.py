"""The catalogue: found again by the same task, candidate and device; shared by processes; not upset by damage."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sqlite3
from array import array
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels import library
from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.protocols import Build
from foretell.kernels.store import Catalogue, CatalogueDamaged, StorageFailed, StorageFull, catalogue_key
from foretell.kernels.store.catalogue import _checksum
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
    catalogue.close()


def test_what_was_put_is_found_by_others_and_by_later_ones(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "catalogue.sqlite"
    early = Catalogue(path)
    assert early.get(TASK, candidate(0), FAKE_DEVICE) is None
    assert len(early) == 0
    fill(path, 0, 3)
    for catalogue in (early, Catalogue(path)):
        assert catalogue.get(TASK, candidate(1), FAKE_DEVICE) == outcome(2.0)
        assert catalogue.holds(TASK, candidate(2), FAKE_DEVICE)
        assert not catalogue.holds(TASK, candidate(3), FAKE_DEVICE)
        assert len(catalogue) == 3


def test_several_measurements_of_a_candidate_are_combined(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.sqlite", fsync=False)
    for speedup, half in ((2.0, 1.02), (2.1, 1.2)):
        measured = Measurement(Status.OK, speedup=speedup, low=speedup / half, high=speedup * half)
        assert catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, measured)
    found = catalogue.get(TASK, candidate(0), FAKE_DEVICE)
    assert found is not None and found.speedup is not None
    assert 2.0 < found.speedup < 2.01, "the more exact one weighs more"
    assert found.conditions["combined"] == 2
    assert len(catalogue) == 1 and len(list(catalogue.rows())) == 2
    [(_, lesson)] = catalogue.lessons(TASK, FAKE_DEVICE)
    assert lesson == found


@pytest.mark.parametrize(
    "refused",
    [
        Measurement(Status.INFRASTRUCTURE, "gone"),
        replace(outcome(2.0), conditions={"disturbed": True, "load": 3.0}),
    ],
)
def test_faults_and_disturbed_measurements_are_refused(refused: Measurement, tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.sqlite")
    assert not catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, refused)
    assert not (tmp_path / "c.sqlite").exists()
    assert catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, replace(outcome(2.0), conditions={"disturbed": False}))


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
    other = Candidate(TASK.name, "cpp", "int k = 0;  // a remark")
    assert catalogue_key(TASK, other, FAKE_DEVICE) != catalogue_key(TASK, one, FAKE_DEVICE)


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def test_a_damaged_row_costs_one_measurement(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    fill(path, 0, 3)
    change(path, "UPDATE measurements SET record = replace(record, '\"speedup\":2.0', '\"speedup\":9.0')")
    catalogue = Catalogue(path)
    assert catalogue.get(TASK, candidate(1), FAKE_DEVICE) is None
    assert catalogue.skipped == 1
    assert catalogue.get(TASK, candidate(2), FAKE_DEVICE) == outcome(3.0)
    assert [found.speedup for _, _, found in catalogue.of_task(TASK)] == [1.0, 3.0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"no database at all, but long enough to have a header" * 30,
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
        lambda data: data[:50],
    ],
)
def test_a_damaged_file_is_a_typed_error_or_set_aside(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    fill(path, 0, 30)
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    with pytest.raises(CatalogueDamaged, match="move it away"):
        Catalogue(path).get(TASK, candidate(1), FAKE_DEVICE)
    told: list[Path] = []
    catalogue = Catalogue(path, on_damage=lambda error, place: told.append(place))
    assert catalogue.put(TASK, candidate(1), BUILD, FAKE_DEVICE, outcome(7.0))
    assert catalogue.get(TASK, candidate(1), FAKE_DEVICE) == outcome(7.0)
    assert [place.read_bytes() for place in told] == [damaged], "nothing is thrown away"
    assert Catalogue(path).get(TASK, candidate(1), FAKE_DEVICE) == outcome(7.0)


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    change(path, "CREATE TABLE theirs (a)")
    with pytest.raises(CatalogueDamaged, match="another program"):
        len(Catalogue(path))


@pytest.mark.parametrize(("column", "value"), [("measured_at", "soon"), ("task", -1.5), ("record", "[]"), ("crc", "x")])
def test_an_odd_row_with_a_valid_checksum_is_skipped(column: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    fill(path, 0, 2)
    columns = ("key", "definition", "task", "device", "candidate", "measured_at", "source", "record", "samples", "crc")
    change(path, f"UPDATE measurements SET {column} = ? WHERE id = 1", value)
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(f"SELECT {', '.join(columns[:-1])} FROM measurements WHERE id = 1").fetchone()
    if column != "crc":
        change(path, "UPDATE measurements SET crc = ? WHERE id = 1", _checksum(row))
    catalogue = Catalogue(path)
    # The column `task` holds text whatever is put there, so that row is sound, of a task that nobody knows.
    assert len(list(catalogue.rows())) + catalogue.skipped == 2
    assert catalogue.skipped == (column != "task")


def test_rows_whose_timings_are_objects_are_read(tmp_path: Path) -> None:
    """The form of rows before samples, speedups and intervals were packed together."""
    path = tmp_path / "c.sqlite"
    times = (Timing("n=1", (4.0, 4.1), (2.0, 2.1), 2.0, 1.9, 2.1), Timing("n=2", (6.0,), (2.0,), 3.0, 2.9, 3.1))
    expected = replace(outcome(2.5), timings=times)
    assert Catalogue(path).put(TASK, candidate(0), BUILD, FAKE_DEVICE, expected)
    timings = expected.to_dict()["timings"]
    samples = [timing[name] for timing in timings for name in ("reference_us", "candidate_us")]
    counted = [t | {name: len(t[name]) for name in ("reference_us", "candidate_us")} for t in timings]
    columns = "key, definition, task, device, candidate, measured_at, source, record, samples"
    with closing(sqlite3.connect(path)) as connection, connection:
        row = list(connection.execute(f"SELECT {columns} FROM measurements").fetchone())
        record = json.loads(row[7])
        record["measurement"]["timings"] = counted
        row[7], row[8] = json.dumps(record), array("d", [us for times in samples for us in times]).tobytes()
        connection.execute("UPDATE measurements SET record = ?, samples = ?, crc = ?", (*row[7:], _checksum(row)))
    assert [row.measurement for row in Catalogue(path).rows()] == [expected]


def test_an_empty_file_is_an_empty_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.touch()
    assert len(Catalogue(path)) == 0
    fill(path, 0, 1)
    assert len(Catalogue(path)) == 1


def test_a_connection_is_not_carried_into_a_forked_process(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.sqlite", fsync=False)
    catalogue.put(TASK, candidate(0), BUILD, FAKE_DEVICE, outcome(1.0))
    child = FORK.Process(target=catalogue.put, args=(TASK, candidate(1), BUILD, FAKE_DEVICE, outcome(2.0)))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert catalogue.put(TASK, candidate(2), BUILD, FAKE_DEVICE, outcome(3.0))
    assert len(catalogue) == 3


def test_no_room_and_no_permission_are_typed_errors(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailed):
        fill(tmp_path / "file" / "c.sqlite", 0, 1)
    fill(path, 0, 1)

    def run_out_of_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size,) * 2)
        try:
            fill(path, 1, 1000)
        except (StorageFull, StorageFailed):
            os._exit(7)

    child = FORK.Process(target=run_out_of_room)
    child.start()
    child.join()
    assert child.exitcode == 7
    assert Catalogue(path).get(TASK, candidate(0), FAKE_DEVICE) == outcome(1.0)


def test_a_cleared_catalogue_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    fill(path, 0, 3)
    catalogue = Catalogue(path)
    assert len(catalogue) == 3
    path.unlink()
    assert len(catalogue) == 0
    fill(path, 0, 1)
    assert catalogue.get(TASK, candidate(0), FAKE_DEVICE) == outcome(1.0)


def test_processes_append_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
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
    catalogue = Catalogue(tmp_path / "c.sqlite", fsync=False)
    assert catalogue.lessons(TASK, FAKE_DEVICE) == []
    fill(catalogue.path, 0, 2)
    catalogue.put(TASK, candidate(5), BUILD, replace(FAKE_DEVICE, toolchain="another"), outcome(4.0))
    catalogue.put(replace(TASK, tolerance=Tolerance(1, 1, "lax")), candidate(6), BUILD, FAKE_DEVICE, outcome(5.0))
    learnt = {
        subject.candidate.id: (subject.build, found.speedup) for subject, found in catalogue.lessons(TASK, FAKE_DEVICE)
    }
    assert {i: speedup for i, (_, speedup) in learnt.items()} == {candidate(0).id: 1.0, candidate(1).id: 2.0}
    assert all(build == BUILD for build, _ in learnt.values())


def test_rows_are_found_by_the_beginning_of_a_candidates_id(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    fill(path, 0, 5)
    catalogue = Catalogue(path)
    wanted = candidate(3).id
    [row] = catalogue.of_candidate(wanted[:10])
    assert row.candidate.id == wanted and row.measurement == outcome(4.0) and row.task == TASK.name
    assert catalogue.of_candidate("zz") == []
    assert len(catalogue.of_candidate("")) == 5


def test_the_summary_counts_by_task_and_device_and_clear_removes(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c.sqlite", fsync=False)
    assert catalogue.summary() == [] and catalogue.clear() == 0
    fill(catalogue.path, 0, 3)
    catalogue.put(TASK, candidate(2), BUILD, FAKE_DEVICE, outcome(3.0))
    catalogue.put(TASK, candidate(9), BUILD, FAKE_DEVICE, Measurement(Status.CRASH, "gone"))
    other = library.get("row_sum")
    catalogue.put(other, Candidate(other.name, "cpp", "int k;"), BUILD, FAKE_DEVICE, outcome(4.0))
    [row_sum, softmax] = catalogue.summary()
    assert (row_sum.task, row_sum.candidates, row_sum.rows, row_sum.failed, row_sum.best) == ("row_sum", 1, 1, 0, 4.0)
    assert (softmax.candidates, softmax.rows, softmax.failed) == (4, 5, 1)
    assert softmax.best == pytest.approx(3.0)
    assert catalogue.clear("row_sum") == 1
    assert catalogue.clear() == 5
    assert len(catalogue) == 0
