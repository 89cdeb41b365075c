"""What a recording says about a forecast: whether the candidate can run at all, and what is left to fail if it does.

The reference is the control. Where it cannot be recorded, something else than the candidate is in the way, and nothing
is held against anyone; where it can, a candidate that fails by itself cannot run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum

from foretell.belief import Forecast
from foretell.kernels.cost.apart import NotAnalysed, features_apart
from foretell.kernels.cost.settings import RECORDED
from foretell.kernels.device import Device
from foretell.kernels.forecast.roofline import CERTAIN
from foretell.kernels.measurement import Status
from foretell.kernels.program import (
    Allocate,
    Copy,
    Fill,
    Fork,
    Join,
    Launch,
    LibraryCall,
    Program,
    Region,
    Role,
    SymbolUpload,
    View,
    Weight,
    buffers_written,
)
from foretell.kernels.protocols import Build
from foretell.kernels.record.refusal import Reason, Recording, Refusal, is_own_fault


class Finding(StrEnum):
    """What is known of a candidate before any device has seen it."""

    RUNS = "runs"
    SAME = "does what the reference does"
    CANNOT_RUN = "cannot run"
    UNKNOWN = "was not recorded"


@dataclass(frozen=True)
class Verdict:
    """A finding with a sentence that says why; `status` is what a bench would be expected to say.

    `plain` if the candidate calls torch's operators alone and launches no kernel of its own.
    """

    finding: Finding
    sentence: str = ""
    status: Status = Status.OK
    plain: bool = False


_STATUSES = {
    Reason.BUILD: Status.COMPILE_ERROR,
    Reason.FAILED: Status.LAUNCH_ERROR,
    Reason.OUTPUTS: Status.WRONG,
    Reason.TASK: Status.CRASH,
}


def verdict(reference: Recording, candidate: Recording) -> Verdict:
    """What the recording of a candidate shows beside that of the reference at the same workload."""
    if candidate.refusal is not None:
        return _refused(reference, candidate.refusal)
    if candidate.program is None or reference.program is None:
        return Verdict(Finding.UNKNOWN, f"the reference could not be recorded ({reference.refusal})")
    mine, theirs = candidate.program, reference.program
    if difference := _outputs_differ(theirs, mine):
        return Verdict(Finding.CANNOT_RUN, difference, Status.WRONG)
    if _hands_back(mine) and not _hands_back(theirs):
        sentence = "it returns an input as it came, and the reference computes its outputs"
        return Verdict(Finding.CANNOT_RUN, sentence, Status.WRONG)
    done = _as_plain(mine)
    if mine.run and done is not None and done == _as_plain(theirs):
        return Verdict(Finding.SAME, "it calls the same operators on the same tensors in the same order")
    return Verdict(Finding.RUNS, plain=all(isinstance(step, LibraryCall) for step in mine.run))


def _refused(reference: Recording, refusal: Refusal) -> Verdict:
    sentence = str(refusal)
    if not reference.ok:
        return Verdict(Finding.UNKNOWN, f"neither it nor the reference could be recorded ({reference.refusal})")
    if not is_own_fault(refusal):
        return Verdict(Finding.UNKNOWN, sentence)
    return Verdict(Finding.CANNOT_RUN, sentence, _STATUSES[refusal.reason])


def build_of(recording: Recording, found: Verdict, device: Device) -> Build | None:
    """The recording as what building showed; None if nothing is known of the build.

    Its features are read off the Program in the sandbox; there are none if that fails.
    """
    if found.finding is Finding.CANNOT_RUN:
        return Build(found.status, f"cannot run: {found.sentence}", seconds=recording.seconds)
    if recording.program is None:
        return None
    try:
        features = features_apart(recording.program, device)
    except NotAnalysed:
        features = {}
    return Build(Status.OK, "", features, seconds=recording.seconds)


def adjusted(forecast: Forecast, found: Verdict, recorded: bool = False) -> Forecast:
    """The forecast in the light of the recording; `recorded` says that the forecaster knew it already.

    What runs on fake tensors has fewer ways left to fail: the odds of failure shrink by the share of failures that
    recordings do not see. What does the same as the reference takes as long.
    """
    if found.finding is Finding.CANNOT_RUN:
        return replace(forecast, p_fail=CERTAIN)
    if found.finding is Finding.SAME:
        return Forecast.from_normal(0.0, RECORDED.same_spread_log2, 1.0 - CERTAIN)
    if found.finding is Finding.RUNS and not recorded:
        odds = RECORDED.unseen_failures * forecast.p_fail / max(1e-9, 1.0 - forecast.p_fail)
        forecast = replace(forecast, p_fail=min(CERTAIN, max(1.0 - CERTAIN, odds / (1.0 + odds))))
    if found.plain:
        forecast = replace(forecast, p_fail=min(forecast.p_fail, RECORDED.operators_p_fail))
    return forecast


def _outputs_differ(theirs: Program, mine: Program) -> str:
    """What is wrong with the number, shapes or types of outputs; empty if nothing is."""
    if len(mine.outputs) != len(theirs.outputs):
        return f"it returns {len(mine.outputs)} tensors, the reference {len(theirs.outputs)}"
    for number, (view, wanted) in enumerate(zip(mine.outputs, theirs.outputs, strict=True)):
        if view.shape != wanted.shape:
            return f"output {number} has the shape {_sides(view)}, that of the reference {_sides(wanted)}"
        if _kind(view) != _kind(wanted):
            return f"output {number} is {view.dtype}, that of the reference {wanted.dtype}"
    return ""


def _sides(view: View) -> str:
    return " x ".join(map(str, view.shape)) or "of a single number"


def _kind(view: View) -> str:
    return "float" if view.dtype.startswith(("float", "bfloat")) else "bool" if view.dtype == "bool" else "integer"


def _hands_back(program: Program) -> bool:
    """Whether some output is an input that nothing was written to."""
    written = {buffer for step in program.run for buffer in buffers_written(step)}
    return any(
        program.buffers[view.buffer].role is Role.INPUT and view.buffer not in written for view in program.outputs
    )


def _as_plain(program: Program) -> list[object] | None:
    """What a Program does as something to compare; None if it launches kernels of its own.

    Buffers are numbered: inputs in order, weights by name, all others by first use in setup and run. So two Programs
    are equal only if weights of the same names go the same way, and state is made by the same steps.
    """
    numbers: dict[int, int] = {}

    def number(buffer: int) -> int:
        return numbers.setdefault(buffer, len(numbers))

    def plain(value: object) -> object:
        match value:
            case View():
                return (number(value.buffer), value.offset_bytes, value.dtype, value.shape, value.strides)
            case Region():
                return (number(value.buffer), value.offset_bytes, value.bytes)
            case Allocate():
                return (number(value.buffer),)
            case tuple():
                return tuple(map(plain, value))
            case Weight() | LibraryCall() | Fill() | Copy() | Fork() | Join():
                return (type(value).__name__, *(plain(getattr(value, each.name)) for each in fields(value)))
        return (type(value).__name__, value)  # True is not 1

    weights = sorted(program.weights, key=lambda weight: weight.name)
    steps = (*program.setup, *program.run)
    if any(isinstance(step, Launch | SymbolUpload) for step in steps):
        return None
    parts = [plain(part) for part in (program.inputs, tuple(weights), program.setup, program.run, program.outputs)]
    return [*parts, [(program.buffers[buffer].role, program.buffers[buffer].bytes) for buffer in numbers]]
