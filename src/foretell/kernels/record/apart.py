"""Recording in the sandbox: one process per candidate, whose answer is read as one reads a stranger's file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import diagnostics, ends, plain
from foretell.kernels.languages.python_source import is_extension
from foretell.kernels.limits import RECORDER_LIMITS
from foretell.kernels.record.job import decoded_all, request
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.task import Task, Workload

SENTENCE_CHARACTERS = 500
_JOB = "foretell.kernels.record.job:serve"
_LIMITS = f"{RECORDER_LIMITS.cpu_s:g} s on a core, or {RECORDER_LIMITS.wall_s:g} s in all"
_ENDINGS = {
    Ending.TIMED_OUT: (Reason.FAILED, f"it did not finish within {_LIMITS}"),
    Ending.MEMORY: (Reason.FAILED, f"it took more than {RECORDER_LIMITS.memory_bytes >> 30} GiB of memory"),
    Ending.FORGED: (Reason.FORGED, "its process answered in its own way"),
    Ending.DIED: (Reason.FAILED, "it ended its process"),
}


def record_apart(
    task: Task,
    workload: Workload,
    source: str | None,
    language: str,
    device: Device,
    server: ForkServer | None = None,
) -> Recording:
    """As `record`, in a sandboxed process of its own. Raises NoSandbox if foreign code cannot be walled in here.

    `server` has torch imported; by default it is the one that builders use.
    """
    return record_all_apart(task, [workload], source, language, device, server)[0]


def record_all_apart(
    task: Task,
    workloads: Sequence[Workload],
    source: str | None,
    language: str,
    device: Device,
    server: ForkServer | None = None,
) -> list[Recording]:
    """As `record_apart` for each of these workloads up to the first that is refused, all in one process."""
    from foretell.kernels.bench.gpu.builders import build_server, prepare_extensions

    if source is not None and is_extension(source):
        prepare_extensions(source)
    problem = built.problem_of(task.spec)
    folder = built.built_dir(source or "", problem=problem)
    asked = json.dumps([request(task, workload, source, language, device) for workload in workloads]).encode()
    keep = built.KEPT if source else ()
    for seed in (folder, None) if folder.is_dir() else (None,):
        recordings, files = _answered(server or build_server(), asked, len(workloads), keep, seed)
        if all(recording.ok for recording in recordings):
            break  # otherwise it may have stumbled over what it left the last time
    if source and not folder.is_dir() and all(recording.ok for recording in recordings):
        built.keep(source, files, problem)
    return [
        recording if recording.refusal is None else replace(recording, refusal=_shown(recording.refusal, source))
        for recording in recordings
    ]


def _answered(
    server: ForkServer, asked: bytes, count: int, keep: Sequence[str], seed: Path | None
) -> tuple[list[Recording], Mapping[str, bytes]]:
    """What a job answers to so many requests, and the files that it left; `seed` is what its cache starts with."""
    try:
        result = server.submit(_JOB, asked, RECORDER_LIMITS, keep, seed).result()
    except JobFailed as failure:
        reason, words = _ENDINGS.get(failure.ending, (Reason.FAILED, f"its process {failure.ending}"))
        return [Recording(refusal=Refusal(reason, f"{words}: {failure}"))], {}
    return decoded_all(result.answer, count), result.files


def _shown(refusal: Refusal, source: str | None) -> Refusal:
    """A refusal fit to be shown: no control characters, on one line but for a compiler's log.

    Of that there is nothing but its own words.
    """
    if refusal.reason is Reason.BUILD:
        return Refusal(refusal.reason, ends(plain(diagnostics(refusal.sentence, source or "")), SENTENCE_CHARACTERS))
    text = ends(" ".join(plain(refusal.sentence).split()), SENTENCE_CHARACTERS)
    return Refusal(refusal.reason, " ".join(text.split()))
