"""The catalogue: every measurement ever paid for, kept across runs so that none is paid for twice.

One append-only file of lines `{"key": ..., "t": ..., "task": ..., "device": ..., "candidate": {...}, "build": {...},
"measurement": {...}, "crc": "..."}`. It is a help, not the truth: a damaged line costs one measurement and is skipped.
Several processes may use it at once; each append is locked, and each lookup sees what others have added since.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.store import lines
from foretell.kernels.task import Task

_KEY_OPEN = b'{"key":"'
_KEY_CHARS = 32


def catalogue_key(task: Task, candidate: Candidate, device: Device) -> str:
    """What a measurement holds for: the candidate, the device with its toolchain, and the task as it is defined now.

    A changed workload, tolerance or reference makes another key: speedups over another reference are other numbers.
    """
    return _key(task, candidate, device.id)


def _key(task: Task, candidate: Candidate, device_id: str) -> str:
    definition = {
        "name": task.name,
        "inputs": [asdict(tensor) for tensor in task.inputs],
        "outputs": [asdict(tensor) for tensor in task.outputs],
        "workloads": [dict(workload.sizes) for workload in task.workloads],
        "extra": [dict(workload.sizes) for workload in task.extra],
        "tolerance": [task.tolerance.relative, task.tolerance.absolute],
        "reference": task.references.get(candidate.language) or next(iter(task.references.values()), ""),
    }
    text = json.dumps([definition, candidate.id, device_id], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARS]


class Catalogue:
    """A catalogue in one file, which need not exist yet.

    `skipped` counts damaged lines met so far. Where a key was stored more than once, the latest counts.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, fsync: bool = True) -> None:
        self.path = path
        self.skipped = 0
        self._clock = clock
        self._fsync = fsync
        self._places: dict[str, tuple[int, int]] = {}
        self._read_bytes = 0

    def __len__(self) -> int:
        self._catch_up()
        return len(self._places)

    def get(self, task: Task, candidate: Candidate, device: Device) -> Measurement | None:
        """The measurement kept for this candidate on this device, or None."""
        self._catch_up()
        place = self._places.get(catalogue_key(task, candidate, device))
        if place is None:
            return None
        start, length = place
        with self.path.open("rb") as file:
            file.seek(start)
            return Measurement.from_dict(lines.decode(file.read(length))["measurement"])

    def lessons(self, task: Task, device: Device) -> list[tuple[Subject, Measurement]]:
        """Every measurement of this task on this device, the latest of each candidate: what a forecaster learns from.

        Those of an earlier form of the task, or of another toolchain, are left out: they are other numbers.
        """
        return [(subject, measurement) for subject, where, measurement in self.of_task(task) if where == device.id]

    def of_task(self, task: Task) -> Iterator[tuple[Subject, str, Measurement]]:
        """Every measurement of this task as it is defined now, with the id of its device; the latest of each."""
        self._catch_up()
        if not self._places:
            return
        with self.path.open("rb") as file:
            for key, (start, length) in list(self._places.items()):
                file.seek(start)
                record = lines.decode(file.read(length))
                if record["task"] != task.name:
                    continue
                candidate = Candidate.from_dict(record["candidate"])
                if key == _key(task, candidate, record["device"]):
                    subject = Subject(candidate, Build.from_dict(record["build"]))
                    yield subject, record["device"], Measurement.from_dict(record["measurement"])

    def holds(self, task: Task, candidate: Candidate, device: Device) -> bool:
        """Whether there is a measurement of this candidate on this device."""
        self._catch_up()
        return catalogue_key(task, candidate, device) in self._places

    def put(self, task: Task, candidate: Candidate, build: Build, device: Device, measurement: Measurement) -> bool:
        """Keep a measurement and tell whether it was kept: a fault of the machine never is.

        StorageFull or StorageFailed where it could not be written; the catalogue is then as it was before.
        """
        if measurement.status is Status.INFRASTRUCTURE:
            return False
        line = lines.encode(
            {
                "key": catalogue_key(task, candidate, device),
                "t": self._clock(),
                "task": task.name,
                "device": device.id,
                "candidate": candidate.to_dict(),
                "build": build.to_dict(),
                "measurement": measurement.to_dict(),
            }
        )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with lines.uninterrupted(), self.path.open("ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            lines.append(file, self.path, self._cut_torn(file), line, self._fsync)
        return True

    def _cut_torn(self, file: lines.RawFile) -> int:
        """Cut off what a crash left of a last line, and return the size; only under the lock."""
        with self.path.open("rb") as reader:
            size_bytes = end = reader.seek(0, 2)
            while end > 0:
                start = max(0, end - 65536)
                reader.seek(start)
                newline = reader.read(end - start).rfind(b"\n")
                if newline >= 0:
                    end = start + newline + 1
                    break
                end = start
        if end < size_bytes:
            file.truncate(end)
        return end

    def _catch_up(self) -> None:
        """Read what has been appended since the last look, up to the last whole line."""
        size_bytes = self.path.stat().st_size if self.path.exists() else 0
        if size_bytes < self._read_bytes:  # someone cleared it
            self._places.clear()
            self._read_bytes = 0
        if size_bytes == self._read_bytes:
            return
        with self.path.open("rb") as file:
            file.seek(self._read_bytes)
            data = file.read()
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = data[start:end]
            if line.startswith(_KEY_OPEN) and lines.is_whole(line):
                key = line[len(_KEY_OPEN) : len(_KEY_OPEN) + _KEY_CHARS].decode()
                self._places[key] = (self._read_bytes + start, end - start)
            else:
                self.skipped += 1
            start = end + 1
        self._read_bytes += start
