"""Recordings of references and candidates, made once: what was recorded before is read back from the user's cache.

A kept recording is found under the question, the versions of torch and Triton, and a hash of the recorder's sources. A
refusal that another compiler or package may lift is kept too, under a fingerprint of both.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from foretell.extras import is_installed
from foretell.kernels.cost.apart import analysis_server
from foretell.kernels.cost.kept import keep, read_kept, sources_hash
from foretell.kernels.device import Device
from foretell.kernels.languages.extension.toolchain import nvcc
from foretell.kernels.record.apart import record_all_apart, record_apart
from foretell.kernels.record.job import decoded, encoded, request
from foretell.kernels.record.refusal import Reason, Recording, is_own_fault
from foretell.kernels.sandbox import NoSandbox, required
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task, Workload

_PACKAGES = ("torch", "triton")
# What a recording is made by, below the package of kernels: folders and modules.
_RECORDER = ("record", "tasks", "languages", "program.py", "program_codec.py", "operators.py")
_IGNORED = frozenset({"dry", "__pycache__"})  # dry runs follow launches after they were recorded
# Reasons that come from the code alone, and will be the same next time.
_LASTING = frozenset(Reason) - {Reason.BUILD, Reason.FAILED, Reason.TASK, Reason.TOO_LARGE, Reason.FORGED}


def recording_of(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording:
    """The recording of a candidate's source, or of the reference if there is none, in a process of its own.

    Refusals are kept if they come from the code alone; those that another package or compiler may lift, as long as
    both are the same. What the machine was to blame for is tried anew.
    """
    kept = _found(task, workload, source, language, device)
    if kept is not None:
        return kept
    analysis_server().start()  # imports meanwhile what the Program will be analysed with
    recording = record_apart(task, workload, source, language, device)
    _store(recording, task, workload, source, language, device)
    return recording


def recordings_of(task: Task, source: str | None, language: str, device: Device) -> list[Recording]:
    """As `recording_of` for every workload of a task up to the first that is refused; one process makes them all."""
    workloads = [*task.workloads, *task.extra]
    kept = [_found(task, workload, source, language, device) for workload in workloads]
    recordings = [recording for recording in kept if recording is not None]
    if len(recordings) < len(workloads):
        recordings = record_all_apart(task, workloads, source, language, device)
        for workload, recording in zip(workloads, recordings, strict=False):
            _store(recording, task, workload, source, language, device)
    return recordings


def _found(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording | None:
    question = request(task, workload, source, language, device)
    return _kept(_path(question)) or _kept(_path([question, _surroundings()]))


def _store(
    recording: Recording, task: Task, workload: Workload, source: str | None, language: str, device: Device
) -> None:
    question = request(task, workload, source, language, device)
    if recording.refusal is None or recording.refusal.reason in _LASTING:
        keep(_path(question), encoded(recording))
    elif is_own_fault(recording.refusal):
        keep(_path([question, _surroundings()]), encoded(recording))


def _kept(path: Path) -> Recording | None:
    """What was kept there; None if there is nothing, or it is damaged or of another form."""
    data = read_kept(path)
    if data is None:
        return None
    recording = decoded(data)
    return None if recording.refusal is not None and recording.refusal.reason is Reason.FORGED else recording


def can_record() -> bool:
    """Whether recordings can be made here: torch is installed, and there is a sandbox."""
    if not is_installed("torch"):
        return False
    try:
        required(server=True)
    except NoSandbox:
        return False
    return True


def _path(question: object) -> Path:
    versions = {name: _version(name) for name in _PACKAGES}
    text = json.dumps([question, versions, recorder_hash()], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    return cache_dir() / "recordings" / key[:2] / f"{key}.json"


@cache
def recorder_hash(root: Path = Path(__file__).parents[1]) -> str:
    """Hash of the sources that a recording depends on."""
    return sources_hash(root, _RECORDER, _IGNORED)


@cache
def _surroundings() -> list[str]:
    """What changes when a compiler or a package is installed: nvcc, and the folders that Python imports from."""
    folders = [Path(entry) for entry in sys.path if entry.endswith("-packages") and Path(entry).is_dir()]
    return [str(nvcc()), *(f"{folder} {folder.stat().st_mtime_ns}" for folder in folders)]


@cache
def _version(package: str) -> str:
    """The installed version, looked up once: metadata takes milliseconds to read, and every recording asks."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
