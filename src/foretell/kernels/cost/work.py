"""The work of a Program: what any implementation of the same function must do, and what this one does besides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from foretell.kernels.cost.demand import Demand
from foretell.kernels.cost.flops import flops_of
from foretell.kernels.operators import family_of
from foretell.kernels.program import (
    Allocate,
    Copy,
    Fill,
    Fork,
    Join,
    Launch,
    LibraryCall,
    Program,
    Role,
    View,
    buffers_written,
)

_MOST_FLOPS = 1e30
_ROW_STATISTICS = {"_log_softmax": 4 / 5, "log_softmax": 4 / 5}  # the share of the work that every row needs


@dataclass(frozen=True)
class Work:
    """Work of one run.

    `flops` are those of library calls (a launch's are for the dry run to find); `least_bytes` reads each needed input,
    weight and state byte once and writes each output once. `launches` counts what the device is given: calls, kernels,
    fills and copies. `intermediate_bytes` is memory that is written and is no output. `dtype` is the floating type that
    most of the operations are done in; that of the inputs where none are counted.
    """

    flops: float
    least_bytes: float
    launches: int
    intermediate_bytes: float
    flops_by_family: Mapping[str, float]
    complete: bool
    dtype: str


def work_of(program: Program) -> Work:
    """The work of a Program's run; not `complete` if it launches kernels, whose operations are not counted here."""
    demand = Demand(program)
    by_family: dict[str, float] = {}
    launches = 0
    for at, step in enumerate(program.run):
        if isinstance(step, Allocate | Fork | Join):
            continue
        launches += 1
        if not isinstance(step, LibraryCall) or all(
            view is None or view.buffer in demand.constant for view in (*step.results, *step.mutated)
        ):
            continue
        share = demand.share(at)
        least = _ROW_STATISTICS.get(step.name, 0.0)
        flops = _flops(step) * max(share, least + (1.0 - least) * share) * _present(step, demand)
        family = family_of(step.operator) or ""
        by_family[family] = by_family.get(family, 0.0) + flops
    complete = not any(isinstance(step, Launch) for step in program.run)
    flops = sum(by_family.values())
    least, intermediate = _least_bytes(program, demand), _intermediate_bytes(program)
    return Work(flops, least, launches, intermediate, by_family, complete, _dtype(program))


def _flops(call: LibraryCall) -> float:
    """The operations of a call; none where its arguments are not what its operator takes, as a forged recording's."""
    try:
        return min(float(flops_of(call)), _MOST_FLOPS)
    except (ArithmeticError, TypeError, LookupError, ValueError, AttributeError):
        return 0.0


def _present(call: LibraryCall, demand: Demand) -> float:
    """The share of a product's terms that are not known to be zero."""
    if family_of(call.operator) != "matmul":
        return 1.0
    hidden = [demand.hidden(view) for view in call.tensors()]
    return min((1.0 - each.share for each in hidden if each is not None and each.kind == "zero"), default=1.0)


def _least_bytes(program: Program, demand: Demand) -> float:
    written = {buffer for step in program.run for buffer in buffers_written(step)}
    read = sum(
        demand.read.get(number, 0.0) * buffer.bytes
        for number, buffer in enumerate(program.buffers)
        if buffer.role is not Role.TEMPORARY
    )
    made = {view for view in program.outputs if view.buffer in written}
    return read + float(sum(view.distinct_bytes for view in made))


def _intermediate_bytes(program: Program) -> float:
    outputs = {view.buffer for view in program.outputs}
    written = {
        buffer
        for step in program.run
        if isinstance(step, LibraryCall | Launch | Fill | Copy)
        for buffer in buffers_written(step)
    }
    return float(
        sum(
            program.buffers[number].bytes
            for number in written - outputs
            if program.buffers[number].role is Role.TEMPORARY
        )
    )


def _dtype(program: Program) -> str:
    flops: dict[str, float] = {}
    for call in program.library_calls():
        dtype = _first_floating(call.tensors())
        if dtype:
            flops[dtype] = flops.get(dtype, 0.0) + _flops(call)
    most = max(flops, key=flops.__getitem__, default="")
    return most if flops.get(most) else _first_floating(program.inputs) or "float32"


def _first_floating(views: Iterable[View]) -> str:
    return next((view.dtype for view in views if view.dtype.startswith(("float", "bfloat"))), "")
