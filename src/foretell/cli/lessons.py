"""What earlier measurements on this machine can teach a forecaster before it is asked about a new file."""

from __future__ import annotations

from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.store import Catalogue, catalogue_key, lines
from foretell.kernels.task import Task


def lessons(catalogue: Catalogue, task: Task, device: Device) -> list[tuple[Subject, Measurement]]:
    """Every measurement the catalogue holds of this task on this device, the latest of each candidate, oldest first.

    Those of an earlier form of the task, or of another toolchain, are left out: they are other numbers.
    """
    found: dict[str, tuple[Subject, Measurement]] = {}
    if not catalogue.path.exists():
        return []
    with catalogue.path.open("rb") as file:
        for line in file:
            if not lines.is_whole(line.rstrip(b"\n")):
                continue
            record = lines.decode(line.rstrip(b"\n"))
            if record["task"] != task.name or record["device"] != device.id:
                continue
            candidate = Candidate.from_dict(record["candidate"])
            if record["key"] == catalogue_key(task, candidate, device):
                subject = Subject(candidate, Build.from_dict(record["build"]))
                found[candidate.id] = (subject, Measurement.from_dict(record["measurement"]))
    return list(found.values())
