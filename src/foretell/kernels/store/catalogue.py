"""The catalogue: every measurement ever paid for, kept across runs so that none is paid for twice.

One SQLite file, used by several processes at once. A row is one measurement with its candidate and build as JSON (the
source and the samples apart, for speed) and a checksum over all of it; several rows of one candidate are combined when
they are read (see `combine`). It is a help, not the truth: a damaged row costs one measurement and is skipped.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sqlite3
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from foretell.kernels.candidate import LANGUAGES, Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.packed import are_packed_times, pack_measurement, unpack_measurement
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.store import lines, reservations
from foretell.kernels.store.combine import combine, majority, pool
from foretell.kernels.store.database import Counted, Database, OnDamage
from foretell.kernels.store.errors import CatalogueDamaged
from foretell.kernels.store.reservations import Holder
from foretell.kernels.task import Task
from foretell.kernels.typed import all_text, finite

_APPLICATION_ID = 0x464F5231  # "FOR1": another schema gets another number
_SCHEMA = f"""
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, definition TEXT NOT NULL, task TEXT NOT NULL, device TEXT NOT NULL,
    candidate TEXT NOT NULL, measured_at REAL NOT NULL, status TEXT NOT NULL, speedup REAL, low REAL, high REAL,
    source TEXT NOT NULL,
    record TEXT NOT NULL, samples BLOB NOT NULL, crc INTEGER NOT NULL
);
CREATE INDEX by_key ON measurements (key);
CREATE INDEX by_definition ON measurements (definition, key);
CREATE INDEX by_candidate ON measurements (candidate);
CREATE INDEX by_task ON measurements (task, device, key, status, speedup, low, high);
{reservations.SCHEMA}
"""
_KEY_CHARS = 32
_COLUMNS = "key, definition, task, device, candidate, measured_at, source, record, samples, crc"
_SAMPLES = _COLUMNS.split(", ").index("samples")
_KEYS_PER_QUERY = 200
_DECODING_ERRORS = (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


def catalogue_key(task: Task, candidate: Candidate, device: Device) -> str:
    """What a measurement holds for: the candidate, the device with its toolchain, and the task as it is defined now.

    A changed workload, tolerance or reference makes another key: speedups over another reference are other numbers.
    """
    return key_on(task, candidate, device.id)


def key_on(task: Task, candidate: Candidate, device_id: str) -> str:
    """As `catalogue_key`, for a device of which only the id is known."""
    text = json.dumps([_definition(task, candidate.language), candidate.id, device_id], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARS]


def _definition(task: Task, language: str) -> dict[str, Any]:
    if task.files:
        return {"identity": task.identity}
    return {
        "name": task.name,
        "inputs": [asdict(tensor) for tensor in task.inputs],
        "outputs": [asdict(tensor) for tensor in task.outputs],
        "workloads": [dict(workload.sizes) for workload in task.workloads],
        "extra": [dict(workload.sizes) for workload in task.extra],
        "tolerance": [task.tolerance.relative, task.tolerance.absolute],
        "reference": task.references.get(language) or next(iter(task.references.values()), ""),
    }


def _definition_id(task: Task, language: str) -> str:
    text = json.dumps([_definition(task, language), language], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARS]


@dataclass(frozen=True)
class Row:
    """One measurement as the catalogue keeps it; `spec` is that of a task that is not in the library."""

    key: str
    task: str
    device: str
    measured_at: float
    candidate: Candidate
    build: Build
    measurement: Measurement
    spec: Mapping[str, Any] | None = None

    def to_record(self) -> dict[str, Any]:
        """Plain JSON, as the corpus imports it."""
        return {
            "key": self.key,
            "t": self.measured_at,
            "task": self.task,
            "device": self.device,
            "candidate": self.candidate.to_dict(),
            "build": self.build.to_dict(),
            "measurement": self.measurement.to_dict(),
            "spec": self.spec,
        }


@dataclass(frozen=True)
class Group:
    """What the catalogue holds of one task on one device; `best` is the highest combined speedup of a candidate."""

    task: str
    device: str
    candidates: int
    rows: int
    failed: int
    best: float | None


class Catalogue:
    """A catalogue in one file, which need not exist yet.

    `skipped` counts damaged rows met so far. A damaged file is CatalogueDamaged, or is set aside where `on_damage` is
    given (see `Database`). Without `fsync` a power cut may lose the latest rows. Nothing is written to one that
    was `received`.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        fsync: bool = True,
        on_damage: OnDamage | None = None,
        received: bool = False,
    ) -> None:
        self.path = path
        self.skipped = 0
        self._clock = clock
        self._database = Database(path, _SCHEMA, _APPLICATION_ID, fsync=fsync, on_damage=on_damage, received=received)
        self._holder = Holder()

    def __len__(self) -> int:
        """How many candidates it holds, each once for every device and task definition."""
        rows = self._database.read("SELECT COUNT(DISTINCT key) FROM measurements")
        return int(rows[0][0]) if rows else 0

    def get(self, task: Task, candidate: Candidate, device: Device) -> Measurement | None:
        """All measurements of this candidate on this device combined into one, or None."""
        found = self._of_keys([catalogue_key(task, candidate, device)])
        return combine([row.measurement for row in found]) if found else None

    def holds(self, task: Task, candidate: Candidate, device: Device) -> bool:
        """Whether there is a measurement of this candidate on this device."""
        return self.get(task, candidate, device) is not None

    def lessons(self, task: Task, device: Device) -> list[tuple[Subject, Measurement]]:
        """Every candidate of this task measured on this device, combined: what a forecaster learns from.

        Those of an earlier form of the task, or of another toolchain, are left out: they are other numbers.
        """
        return [(subject, measurement) for subject, where, measurement in self.of_task(task) if where == device.id]

    def of_task(self, task: Task) -> Iterator[tuple[Subject, str, Measurement]]:
        """Every candidate of this task as it is defined now, with the id of its device and its combined measurement.

        In the order of first measurement.
        """
        definitions = sorted({_definition_id(task, language) for language in {*LANGUAGES, *task.references}})
        marks = ", ".join("?" * len(definitions))
        keys = self._database.read(
            f"SELECT key FROM measurements WHERE definition IN ({marks}) GROUP BY key ORDER BY MIN(id)", definitions
        )
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            chunk = [key for (key,) in keys[start : start + _KEYS_PER_QUERY]]
            groups: dict[str, list[Row]] = {}
            for row in self._of_keys(chunk):
                groups.setdefault(row.key, []).append(row)
            for rows in (groups[key] for key in chunk if key in groups):
                subject = Subject(rows[-1].candidate, rows[-1].build)
                yield subject, rows[-1].device, combine([row.measurement for row in rows])

    def put(self, task: Task, candidate: Candidate, build: Build, device: Device, measurement: Measurement) -> bool:
        """Keep a measurement; return whether it was kept.

        Faults of the machine and measurements that other processes disturbed (`conditions["disturbed"]`) are refused.
        StorageFull or StorageFailed where it could not be written; the catalogue is then as it was before.
        """
        if measurement.status is Status.INFRASTRUCTURE or measurement.conditions.get("disturbed") is True:
            return False
        outcome, samples = pack_measurement(measurement)
        record = json.dumps(
            {"candidate": candidate.to_dict() | {"source": ""}, "build": build.to_dict(), "measurement": outcome}
            | ({"spec": task.spec} if task.files else {}),
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
        )
        row = (
            catalogue_key(task, candidate, device),
            _definition_id(task, candidate.language),
            task.name,
            device.id,
            candidate.id,
            float(self._clock()),
            candidate.source,
            record,
            samples,
        )
        shown = (measurement.status.value, measurement.speedup, measurement.low, measurement.high)

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute(
                f"INSERT INTO measurements ({_COLUMNS}, status, speedup, low, high) VALUES ({', '.join('?' * 14)})",
                (*row, _checksum(row), *shown),
            )
            reservations.release(connection, self._holder, row[:1])

        self._database.write(insert)
        return True

    def rows(self) -> Iterator[Row]:
        """Every row, oldest first."""
        last, counted = 0, Counted()
        while ids := self._database.read(
            "SELECT id FROM measurements WHERE id > ? ORDER BY id LIMIT ?", (last, _KEYS_PER_QUERY)
        ):
            found = [number for (number,) in ids]
            if not all(type(each) is int for each in found) or sorted({last, *found}) != [last, *found]:
                raise CatalogueDamaged(self.path, "its rows are not in order")
            yield from self._select("id > ? AND id <= ?", (last, found[-1]), counted)
            last = found[-1]

    def of_candidate(self, prefix: str) -> list[Row]:
        """Every row whose candidate's id begins with `prefix`, oldest first."""
        return self._select("candidate >= ? AND candidate < ?", (prefix, prefix + "\U0010ffff"))

    def summary(self) -> list[Group]:
        """What it holds by task and device, sorted; columns alone are read, so that it is quick however large it is."""
        query = "SELECT key, status, speedup, low, high FROM measurements WHERE task = ? AND device = ? ORDER BY key"
        places = self._database.read("SELECT DISTINCT task, device FROM measurements ORDER BY task, device")
        return [_group(task, device, self._database.read(query, (task, device))) for task, device in places]

    def clear(self, task: str | None = None) -> int:
        """Remove the rows of one task, or all; how many there were."""

        def delete(connection: sqlite3.Connection) -> int:
            where, values = ("WHERE task = ?", (task,)) if task is not None else ("", ())
            return int(connection.execute(f"DELETE FROM measurements {where}", values).rowcount)

        return int(self._database.write(delete)) if self.path.exists() else 0

    def reserve(self, task: Task, candidates: Sequence[Candidate], device: Device, seconds: float) -> list[Candidate]:
        """Reserve candidates for measuring them within `seconds`; return those that no other holder has reserved.

        Reserving again renews; `put` ends a reservation. See `reservations` for when a reservation ends.
        """
        keys = [catalogue_key(task, candidate, device) for candidate in candidates]
        now = float(self._clock())
        free = set(keys) - reservations.of_others(self._database, self._holder, keys, now)
        if not free:
            return []  # asked again and again by whoever waits: nothing is written
        taken = self._database.write(
            lambda connection: reservations.reserve(connection, self._holder, keys, now, now + seconds)
        )
        return [candidate for candidate, key in zip(candidates, keys, strict=True) if key in taken]

    def release(self, task: Task, candidates: Sequence[Candidate], device: Device) -> None:
        """Give up reservations, whether a result was kept or not."""
        keys = [catalogue_key(task, candidate, device) for candidate in candidates]
        if keys:
            self._database.write(lambda connection: reservations.release(connection, self._holder, keys))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._database.close()

    def _of_keys(self, keys: Sequence[str]) -> list[Row]:
        return self._select(f"key IN ({', '.join('?' * len(keys))})", keys)

    def _select(self, where: str, values: Sequence[Any], counted: Counted | None = None) -> list[Row]:
        query = f"SELECT {_COLUMNS} FROM measurements WHERE {where} ORDER BY id"
        found = self._database.read(query, values, counted)
        samples = [columns[_SAMPLES] for columns in found if isinstance(columns[_SAMPLES], bytes)]
        are_checked = are_packed_times(samples)
        rows = [row for columns in found if (row := _decoded(columns, are_checked)) is not None]
        self.skipped += len(found) - len(rows)
        return rows


def _checksum(row: Sequence[Any]) -> int:
    *texts, samples = row
    return zlib.crc32(samples, zlib.crc32("\n".join(map(str, texts)).encode("utf-8", "replace")))


def _unpack(data: dict[str, Any], packed: bytes, are_checked: bool) -> Measurement:
    """The measurement of a row; in rows of an earlier form, `timings` are objects with numbers of samples."""
    if not any(isinstance(timing, dict) for timing in data["timings"]):
        return unpack_measurement(data, packed, are_checked)
    samples = struct.unpack(f"{len(packed) // 8}d", packed)
    start = 0
    for timing in data["timings"]:
        for name in ("reference_us", "candidate_us"):
            first, start = start, start + timing[name]
            timing[name] = samples[first:start]
    if start != len(samples):
        raise ValueError(f"there are {len(samples)} samples where {start} are counted")
    return Measurement.from_dict(data)


def _decoded(columns: tuple[Any, ...], are_checked: bool) -> Row | None:
    """The row, or None where it is damaged; `are_checked` if its samples are known to be times."""
    *row, crc = columns
    if not isinstance(row[-1], bytes) or _checksum(row) != crc:
        return None
    key, definition, task, device, candidate_id, measured_at, source, text, samples = row
    texts = (key, definition, task, device, candidate_id, source, text)
    if not (finite(measured_at) and all_text(texts)):
        return None
    try:
        record = lines.parse(text)
        candidate = Candidate.from_dict(record["candidate"] | {"source": source})
        build = Build.from_dict(record["build"])
        measurement = _unpack(record["measurement"], samples, are_checked)
        spec = record.get("spec")
        if not (spec is None or isinstance(spec, dict)):
            return None
    except _DECODING_ERRORS:
        return None
    return Row(key, task, device, measured_at, candidate, build, measurement, spec)


def _group(task: str, device: str, rows: Sequence[tuple[Any, ...]]) -> Group:
    count = candidates = failed = 0
    best: float | None = None
    for _, same in itertools.groupby(rows, lambda row: row[0]):
        shown = list(same)
        count, candidates = count + len(shown), candidates + 1
        if majority([_STATUSES.get(row[1], Status.CRASH) for row in shown]) is not Status.OK:
            failed += 1
            continue
        triples = [row[2:5] for row in shown if all(_positive(value) for value in row[2:5])]
        if triples:
            best = max(best or 0.0, pool(triples).speedup)
    return Group(str(task), str(device), candidates, count, failed, best)


_STATUSES: Mapping[Any, Status] = {status.value: status for status in Status}


def _positive(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value > 0
