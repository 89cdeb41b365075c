"""The door to small runs: each in a process of its own in the sandbox, a few seconds at most, kept by content."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.kernels.cost.kept import keep, read_kept, sources_hash
from foretell.kernels.cost.recordings import recording_of
from foretell.kernels.devices import described
from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.limits import BUILDER_LIMITS
from foretell.kernels.program_codec import to_bytes
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed
from foretell.kernels.small.outcome import AGREES, DIFFERS, MOST_EXCESS_LOG2, NOT_RUN, Outcome
from foretell.kernels.small.sensitive import Sensitivity
from foretell.kernels.small.sizes import Change, changed
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.tasks import BadTask, kernelbench, module
from foretell.received import MOST_ANSWER_VALUES, parsed

if TYPE_CHECKING:
    from foretell.kernels.program import Program
    from foretell.kernels.task import Task

SENTENCE_CHARACTERS = 300
MOST_CHANGES = 256
# GPUs to record for, until one will do: later ones have instructions that are not emulated; the second of these has
# 8-bit floats, and less shared memory.
EMULATED_FOR = ("a100", "l40s")
MOST_STRAYS = 1 << 53
LIMITS = replace(BUILDER_LIMITS, wall_s=240.0, cpu_s=30.0)  # by the clock, the machine may be busy
_PRELOAD = "foretell.kernels.small.preload"
_JOB = "foretell.kernels.small.job:serve"
_SOURCES = ("small", "emulate", "tasks", "bench/gpu/compare.py", "languages/dry/ptx.py", "record/replay.py")
_KINDS = frozenset({kernelbench.KIND, module.KIND})
_OWN_WAY = "its process answered in its own way"


@dataclass(frozen=True)
class SmallRun:
    """What small runs tell of a candidate; None where nothing was run."""

    outcome: Outcome | None = None
    sensitivity: Sensitivity | None = None


@cache
def _server() -> ForkServer:
    return ForkServer((_PRELOAD,))


def run_small(task: Task, source: str, language: str) -> SmallRun:
    """Execute a candidate beside its reference at small sizes. Raises NoSandbox if foreign code cannot be walled in.

    A candidate that cannot be recorded or executed at such sizes is not held to be wrong.
    """
    if task.kind not in _KINDS:
        return SmallRun()
    small = _small(task)
    if small is None:
        return SmallRun()
    moved = _sensitivity(small)
    if moved is None:  # not even the reference runs in time
        return SmallRun()
    return SmallRun(emulate_apart(small, source, language), moved)


def emulate_apart(task: Task, source: str, language: str) -> Outcome:
    """Record a candidate of a task of small sizes and execute its Program, both in the sandbox. Raises NoSandbox."""
    refusal = None
    for name in EMULATED_FOR:
        recording = recording_of(task, task.workloads[0], source, language, described(name))
        if recording.program is not None:
            return _executed(task, recording.program)
        refusal = refusal or recording.refusal
    assert refusal is not None
    return Outcome(NOT_RUN, refusal.sentence)


def _executed(task: Task, program: Program) -> Outcome:
    """What executing a Program shows."""
    encoded = base64.b64encode(to_bytes(program)).decode()
    try:
        reply = _asked({"question": "emulate", "spec": task.spec, "program": encoded})
        verdict, sentence, strays = str(reply["verdict"]), str(reply["sentence"]), reply["strays"]
        excess = _number(reply["excess_log2"], -MOST_EXCESS_LOG2, MOST_EXCESS_LOG2)
        exact, wrong = _number(reply["exact"], 0.0, 1.0), _number(reply["wrong"], 0.0, 1.0)
        if type(strays) is not int or not 0 <= strays < MOST_STRAYS:
            raise ValueError("not a count")
    except JobFailed as failure:
        return Outcome(NOT_RUN, f"its process {failure.ending}")
    except (ValueError, TypeError, LookupError, RecursionError):
        return Outcome(NOT_RUN, _OWN_WAY)
    known = verdict if verdict in (AGREES, DIFFERS) else NOT_RUN
    return Outcome(known, plain(sentence, SENTENCE_CHARACTERS), excess, exact, wrong, strays)


def _small(task: Task) -> Task | None:
    """The task at small sizes; None if there are none."""
    try:
        reply = _asked({"question": "changes", "spec": task.spec})
        if reply is None or len(reply) > MOST_CHANGES:
            return None
        return changed(task, [_change(each) for each in reply])
    except (JobFailed, BadTask, ValueError, TypeError, LookupError, RecursionError):
        return None


def _sensitivity(task: Task) -> Sensitivity | None:
    try:
        reply = _asked({"question": "sensitivity", "spec": task.spec})
        narrow = _number(reply["narrow_log2"], -MOST_EXCESS_LOG2, MOST_EXCESS_LOG2)
        return Sensitivity(_number(reply["steps"], 0.0, 1.0), narrow)
    except (JobFailed, ValueError, TypeError, LookupError, RecursionError):
        return None


def _change(plain_change: Any) -> Change:
    name, value, other = plain_change
    if not isinstance(name, str) or not all(type(each) is int and 0 < each < 1 << 40 for each in (value, other)):
        raise ValueError("not a change of a size")
    return name, value, other


def _number(value: Any, least: float, most: float) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or not least <= value <= most:
        raise ValueError("not a number within bounds")
    return float(value)


def _asked(question: dict[str, Any]) -> Any:
    """The answer to a question, from the cache if it was asked before; None if its process died then.

    Raises JobFailed.
    """
    text = json.dumps(question, sort_keys=True)
    key = hashlib.sha256(f"{text} {_sources_hash()}".encode()).hexdigest()
    path = cache_dir() / "small" / key[:2] / f"{key}.json"
    data = read_kept(path)
    if data is None:
        try:
            data = _server().call(_JOB, text.encode(), LIMITS)
        except JobFailed as failure:
            # By its limit on a core, as it would again; a busy machine may have killed it otherwise.
            if failure.ending is Ending.DIED and "SIGKILL" not in str(failure):
                keep(path, b"null")
            raise
        keep(path, data)
    return parsed(data, most_values=MOST_ANSWER_VALUES)


@cache
def _sources_hash() -> str:
    return sources_hash(Path(__file__).parents[1], _SOURCES)
