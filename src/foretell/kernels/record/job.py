"""Recording as a job for a process of its own, asked and answered in bytes.

`record` executes the code of a task and of a candidate in this process, and `serve` does so in a sandboxed one, asked
by `apart`.
"""

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import MOST_LOG_CHARACTERS, ends
from foretell.kernels.limits import RECORD
from foretell.kernels.program import Program, Role
from foretell.kernels.program_check import Fault, InvalidProgram, check
from foretell.kernels.program_codec import Budget, from_bytes, to_bytes
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.store.locations import cache_dir
from foretell.received import parsed

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.task import Task, Workload


_MOST_ANSWER_VALUES = 2_000_000  # of an answer, whose Programs are texts


def record(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> Recording:
    """The recording of a candidate's source, or of the task's reference if there is no source, in this process.

    Args:
        task: What it is a candidate for.
        workload: One of the task's.
        source: Text of the candidate.
        language: The candidate's: `triton`, `cuda` or `torch`.
        device: The GPU to record for; it need not be there.
    """
    from foretell.kernels.record.hosts import candidate_host, reference_host
    from foretell.kernels.record.recorder import record_host
    from foretell.kernels.tasks import BadTask, gpumode
    from foretell.kernels.tasks.runtime import runtime_of

    try:
        runtime = runtime_of(task)
    except BadTask as error:
        return Recording(refusal=Refusal(Reason.TASK, error.sentence))
    reference = reference_host(runtime, workload, device)
    host = reference if source is None else candidate_host(runtime, workload, source, language, device)
    recording = record_host(host, device)
    if recording.program is not None:
        too_large = _held_bytes(recording.program) > device.memory_bytes
    else:
        too_large = recording.refusal is not None and recording.refusal.reason is Reason.MEMORY
    if too_large:
        return Recording(None, _too_large(task, device), (), recording.seconds)
    if source is None and task.kind != gpumode.KIND and recording.program is not None:
        changed = _changed_input(recording.program)
        if changed is not None:
            what = f"the reference of {task.name} changes its input {changed}; clone it first"
            return Recording(None, Refusal(Reason.TASK, what), (), recording.seconds)
    return recording


def _changed_input(program: Program) -> int | None:
    """The first input that a library call of the run writes."""
    changed = {view.buffer for call in program.library_calls() for view in call.mutated}
    return next((place for place, view in enumerate(program.inputs) if view.buffer in changed), None)


def _held_bytes(program: Program) -> int:
    """Memory that a run holds at its end, at least: what it was given, and what it returns."""
    kept = {view.buffer for view in program.outputs}
    kept |= {number for number, buffer in enumerate(program.buffers) if buffer.role is not Role.TEMPORARY}
    return sum(program.buffers[number].bytes for number in kept)


def _too_large(task: Task, device: Device) -> Refusal:
    """Why the task does not fit, with sizes that would."""
    from foretell.kernels.tasks import BadTask
    from foretell.kernels.tasks.examine import check_size

    try:
        check_size(task, device)
    except BadTask as error:
        return Refusal(Reason.MEMORY, error.sentence)
    return Refusal(Reason.MEMORY, f"{device.name} has {device.memory_bytes / 1e9:.3g} GB; use smaller sizes")


def request(task: Task, workload: Workload, source: str | None, language: str, device: Device) -> dict[str, Any]:
    """The question that `serve` and `answer` answer, in plain JSON."""
    number = [*task.workloads, *task.extra].index(workload)
    return {"spec": task.spec, "workload": number, "source": source, "language": language, "device": device.to_dict()}


def serve(payload: bytes) -> bytes:
    """Answer `request`s in JSON, one line each, in a sandboxed process: with no GPU and caches of its own.

    What follows a request that is refused is not looked at.
    """
    os.environ.update(CUDA_VISIBLE_DEVICES="", TRITON_CACHE_DIR=str(cache_dir() / "triton"))
    built.settle(cache_dir())
    answers = []
    for asked in json.loads(payload):
        answers.append(answer(asked))
        if not json.loads(answers[-1])["programs"]:
            break
    return b"\n".join(answers)


def answer(asked: Mapping[str, Any]) -> bytes:
    """Answer a `request` with a recording, in a process that may run foreign code."""
    from foretell.kernels.device import Device
    from foretell.kernels.tasks import from_spec

    task = from_spec(asked["spec"])
    workload = [*task.workloads, *task.extra][asked["workload"]]
    device = Device.from_dict(asked["device"])
    recording = record(task, workload, asked["source"], asked["language"], device)
    return encoded(replace(recording, cpu_seconds=time.process_time()))


def encoded(recording: Recording) -> bytes:
    programs = [recording.program, *recording.alternatives] if recording.program is not None else []
    refusal = recording.refusal
    plain = {
        "programs": [base64.b64encode(to_bytes(program)).decode() for program in programs],
        "refusal": None if refusal is None else [refusal.reason, refusal.sentence],
        "seconds": recording.seconds,
        "cpu_seconds": recording.cpu_seconds,
    }
    return json.dumps(plain).encode()


def decoded_all(answers: bytes, count: int) -> list[Recording]:
    """The recordings in what `serve` answers to so many requests, up to the first that is refused."""
    recordings, budget = [], Budget()
    for line in answers.split(b"\n", count)[:count]:
        recordings.append(decoded(line, budget))
        if not recordings[-1].ok:
            return recordings
    if len(recordings) < count:
        return [Recording(refusal=Refusal(Reason.FORGED, "it does not answer all that was asked"))]
    return recordings


def decoded(answer: bytes, budget: Budget | None = None) -> Recording:
    """The recording in an answer of `serve`, which a hostile process may have written; every Program is checked.

    `budget` is what is left for this line and those that follow; without one, what there is for one line alone.
    """
    budget = budget or Budget()
    try:
        plain: Mapping[str, Any] = parsed(answer, most_values=_MOST_ANSWER_VALUES)
        seconds, cpu_seconds = float(plain["seconds"]), float(plain.get("cpu_seconds", 0.0))
        if not (0.0 <= seconds < math.inf and 0.0 <= cpu_seconds < math.inf):
            raise ValueError("a time that is negative or not finite")
        if plain["refusal"] is not None:
            reason, sentence = plain["refusal"]
            refusal = Refusal(Reason(reason), ends(str(sentence), MOST_LOG_CHARACTERS))
            return Recording(None, refusal, (), seconds, cpu_seconds)
        texts = plain["programs"][: 2 + RECORD.alternatives]
        if len(texts) > 1 + RECORD.alternatives:
            raise InvalidProgram(Fault.TOO_LARGE, f"it has more than {RECORD.alternatives} alternatives")
        programs = [check(from_bytes(base64.b64decode(text), budget)) for text in texts]
        return Recording(programs[0], None, tuple(programs[1:]), seconds, cpu_seconds)
    except InvalidProgram as error:
        return Recording(refusal=Refusal(Reason.FORGED, str(error)))
    except MemoryError:
        return Recording(refusal=Refusal(Reason.FORGED, "its answer takes more memory than there is"))
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        return Recording(refusal=Refusal(Reason.FORGED, f"its answer cannot be read: {type(error).__name__}"))
