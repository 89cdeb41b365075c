"""Recordings of references and candidates, made once: what was recorded before is read back from the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from foretell import __version__
from foretell.extras import is_installed
from foretell.kernels.device import Device
from foretell.kernels.profiles import RECORDED
from foretell.kernels.record.apart import record_apart
from foretell.kernels.record.job import decoded, encoded, request
from foretell.kernels.record.refusal import Reason, Recording
from foretell.kernels.sandbox import NoSandbox, required
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task, Workload

_PACKAGES = ("torch", "triton")
# Reasons that come from the code alone, and will be the same next time.
_LASTING = frozenset(Reason) - {Reason.BUILD, Reason.FAILED, Reason.TASK, Reason.TOO_LARGE, Reason.FORGED}


def recording_of(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording:
    """The recording of a candidate's source, or of the reference if there is none, in a process of its own.

    Refusals are kept if they come from the code alone: another package or compiler may be there next time.
    """
    path = _path(request(task, workload, source, language, device))
    if path.is_file():
        kept = decoded(path.read_bytes())
        if kept.refusal is None or kept.refusal.reason is not Reason.FORGED:  # else it is damaged, or of another form
            return kept
    recording = record_apart(task, workload, source, language, device)
    if recording.refusal is None or recording.refusal.reason in _LASTING:
        _keep(path, encoded(recording))
    return recording


def can_record() -> bool:
    """Whether recordings can be made here: torch is installed, and there is a sandbox."""
    if not is_installed("torch"):
        return False
    try:
        required(server=True)
    except NoSandbox:
        return False
    return True


def _path(question: dict[str, object]) -> Path:
    versions = {name: _version(name) for name in _PACKAGES} | {"foretell": __version__}
    text = json.dumps([question, versions], sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    return cache_dir() / "recordings" / key[:2] / f"{key}.json"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _keep(path: Path, data: bytes) -> None:
    if len(data) > RECORDED.kept_bytes:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(partial).replace(path)
