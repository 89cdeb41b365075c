"""From the log of a recording to a Program: the run, its setup (see `setup`), and which buffer has which role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretell.kernels.program import (
    Allocate,
    Argument,
    Buffer,
    Copy,
    Fill,
    Fork,
    Image,
    Join,
    Launch,
    LibraryCall,
    Program,
    Region,
    Role,
    Step,
    SymbolUpload,
    View,
    Weight,
)
from foretell.kernels.record.reach import Reach
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.record.session import RawMap, Session
from foretell.kernels.record.setup import Call, needs_of, setup_of


@dataclass(frozen=True)
class Draft:
    """A Program whose launches still have virtual addresses in their arguments, and the numbers it was made from."""

    buffers: tuple[Buffer, ...]
    inputs: tuple[View, ...]
    weights: tuple[Weight, ...]
    setup: tuple[Step, ...]
    run: tuple[Step, ...]
    outputs: tuple[View, ...]
    maps: Mapping[tuple[str, int], tuple[RawMap, ...]]
    numbers: Mapping[int, int]  # from allocations to buffers
    unverified: tuple[int, ...]  # state that an earlier call wrote and the run hands to kernels


def assemble(session: Session, call: Call) -> Draft:
    """The draft of one call; Refused if its state cannot be made from weights."""
    run = [(at, session.steps[at]) for at in range(call.start, call.end)]
    reach = Reach(session)
    inputs = frozenset(view.buffer for view in call.inputs)
    needs = needs_of([step for _, step in run], reach, call.outputs, inputs)
    named = {weight.view.buffer: weight for weight in reversed(call.weights)}
    roots = set(call.roots)
    while True:
        setup = setup_of(session, reach, call, needs, roots)
        if setup.random is None:
            break
        if setup.random not in named:
            raise Refused(Reason.NONDETERMINISTIC, "it keeps a random tensor that is no parameter, buffer or attribute")
        roots.add(setup.random)
    _refuse_kept_results([step for _, step in run], reach, setup.dirty, call.outputs)
    steps: list[tuple[int, Step]] = [(-1, Allocate(number)) for number in sorted(setup.bare)]
    steps += [(at, session.steps[at]) for at in setup.steps]
    used = setup.weights
    weights = [weight for weight in call.weights if weight.view.buffer in used and named[weight.view.buffer] is weight]
    return _numbered(session, call, reach, steps, run, weights, setup.dirty)


def _refuse_kept_results(run: Iterable[Step], reach: Reach, dirty: set[int], outputs: Iterable[View]) -> None:
    """A run may overwrite what an earlier call left, or hand it to kernels, but not read it by a library call."""
    stale = set(dirty)
    for step in run:
        if isinstance(step, Launch):
            stale -= reach.written(step)
            continue
        if reach.read(step) & stale:
            raise Refused(Reason.KEEPS_RESULTS, "it reads what an earlier call computed")
        stale -= reach.written(step)
    if stale & {view.buffer for view in outputs}:
        raise Refused(Reason.KEEPS_RESULTS, "it returns what an earlier call computed")


def _numbered(
    session: Session,
    call: Call,
    reach: Reach,
    setup: Sequence[tuple[int, Step]],
    run: Sequence[tuple[int, Step]],
    weights: Sequence[Weight],
    dirty: set[int],
) -> Draft:
    """Buffers numbered by first use: inputs, weights, state, temporaries."""
    numbers: dict[int, int] = {}
    buffers: list[Buffer] = []

    def number(allocation: int, role: Role) -> int:
        if allocation not in numbers:
            numbers[allocation] = len(buffers)
            buffers.append(Buffer(session.sizes[allocation], role))
        return numbers[allocation]

    for views, role in ((call.inputs, Role.INPUT), ([weight.view for weight in weights], Role.WEIGHT)):
        for view in views:
            number(view.buffer, role)
    maps: dict[tuple[str, int], tuple[RawMap, ...]] = {}
    done: dict[str, list[Step]] = {}
    for phase, steps, role in (("setup", setup, Role.STATE), ("run", run, Role.TEMPORARY)):
        done[phase] = []
        streams = {0: 0}
        for at, step in steps:
            for allocation in sorted(reach.read(step) | reach.written(step)):
                if allocation >= 0:
                    number(allocation, role)
            if isinstance(step, LibraryCall):
                for view in step.tensors():
                    number(view.buffer, role)
            if at in session.maps:
                maps[phase, len(done[phase])] = session.maps[at]
            done[phase].append(_on_stream(_renumbered(step, numbers), streams))
    return Draft(
        tuple(buffers),
        tuple(_view(view, numbers) for view in call.inputs),
        tuple(Weight(weight.name, _view(weight.view, numbers)) for weight in weights),
        tuple(done["setup"]),
        tuple(done["run"]),
        tuple(_view(view, numbers) for view in call.outputs),
        maps,
        numbers,
        tuple(sorted(numbers[each] for each in dirty if each in numbers)),
    )


def _view(view: View, numbers: Mapping[int, int]) -> View:
    return replace(view, buffer=numbers[view.buffer])


def _region(region: Region, numbers: Mapping[int, int]) -> Region:
    return replace(region, buffer=numbers[region.buffer])


def _argument(value: Argument, numbers: Mapping[int, int]) -> Any:
    if isinstance(value, View):
        return _view(value, numbers)
    if isinstance(value, tuple):
        return tuple(_argument(each, numbers) for each in value)
    return value


def _on_stream(step: Step, streams: dict[int, int]) -> Step:
    """The step with its streams numbered by first use."""
    if isinstance(step, Allocate):
        return step
    if isinstance(step, Fork | Join):
        pair = (step.stream, step.parent)
        return type(step)(*(streams.setdefault(number, len(streams)) for number in pair))
    return replace(step, stream=streams.setdefault(step.stream, len(streams)))


def _renumbered(step: Step, numbers: Mapping[int, int]) -> Step:
    match step:
        case Allocate():
            return Allocate(numbers[step.buffer])
        case LibraryCall():
            return replace(
                step,
                arguments=_argument(step.arguments, numbers),
                keywords=tuple((name, _argument(value, numbers)) for name, value in step.keywords),
                results=tuple(None if view is None else _view(view, numbers) for view in step.results),
                mutated=tuple(_view(view, numbers) for view in step.mutated),
            )
        case Fill():
            return replace(step, region=_region(step.region, numbers))
        case Copy():
            source = _region(step.source, numbers) if isinstance(step.source, Region) else step.source
            return replace(step, target=_region(step.target, numbers), source=source)
        case SymbolUpload():
            source = _region(step.source, numbers) if isinstance(step.source, Region) else step.source
            return replace(step, source=source)
        case _:
            return step


def finished(
    draft: Draft,
    setup: tuple[Step, ...],
    run: tuple[Step, ...],
    images: Mapping[str, Image],
    workload: str,
    toolchain: Mapping[str, str],
    facts: Mapping[str, Any],
) -> Program:
    """The Program of a draft whose pointers have been found."""
    used = {step.image for step in (*setup, *run) if isinstance(step, Launch | SymbolUpload)}
    kept = tuple(image for name, image in images.items() if name in used)
    return Program(
        workload, dict(toolchain), draft.buffers, draft.inputs, draft.weights, setup, run, draft.outputs, kept, facts
    )
