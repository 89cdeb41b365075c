"""From the log of a recording to a Program: what is setup, what is the run, which buffer has which role.

State that the run needs is followed back through the log to weights and constants; those steps are the setup. Steps
that depended on the inputs of an earlier call cannot be part of it: a run that reads what they left is refused, because
it keeps results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretell.kernels.operators import family_of
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
    buffers_read,
    buffers_written,
)
from foretell.kernels.record.pointers import launch_buffers, stored_buffers
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.record.session import RawMap, Session


@dataclass(frozen=True)
class Call:
    """One recorded call: where its steps are in the log, and the views of its inputs and outputs.

    `earlier` are the allocations of inputs of calls before this one, `weights` the names of the model's tensors with
    their views, parameters first, and `roots` those of them that are weights whatever made them.
    """

    start: int
    end: int
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    earlier: frozenset[int]
    weights: tuple[Weight, ...]
    roots: frozenset[int]


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
    reach = _Reach(session)
    inputs = {view.buffer for view in call.inputs}
    external = _external([step for _, step in run], reach, call.outputs) - inputs
    named = {weight.view.buffer: weight for weight in reversed(call.weights)}
    roots = set(call.roots)
    while True:
        setup, used, dirty, random = _setup(session, reach, call, external, roots, inputs)
        if random is None:
            break
        if random not in named:
            raise Refused(Reason.NONDETERMINISTIC, "it keeps a random tensor that is no parameter, buffer or attribute")
        roots.add(random)
    _refuse_kept_results([step for _, step in run], reach, dirty, call.outputs)
    steps = [(at, session.steps[at]) for at in setup]
    weights = [weight for weight in call.weights if weight.view.buffer in used and named[weight.view.buffer] is weight]
    return _numbered(session, call, reach, steps, run, weights, dirty)


class _Reach:
    """Which allocations a step reads and writes; of launches those that its arguments point to.

    Numbers below zero stand for the variables of an image.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[int, tuple[frozenset[int], frozenset[int]]] = {}

    def read(self, step: Step) -> frozenset[int]:
        return self._of(step)[0]

    def written(self, step: Step) -> frozenset[int]:
        return self._of(step)[1]

    def _of(self, step: Step) -> tuple[frozenset[int], frozenset[int]]:
        key = id(step)
        if key not in self._seen:
            if isinstance(step, Launch):
                read = launch_buffers(self._session, step) | self._session.symbols_of(step.image)
                found = read, stored_buffers(self._session, step)
            elif isinstance(step, SymbolUpload):
                found = frozenset(buffers_read(step)), frozenset(self._session.symbols_of(step.image))
            else:
                found = frozenset(buffers_read(step)), frozenset(buffers_written(step))
            self._seen[key] = found
        return self._seen[key]


def _external(steps: Iterable[Step], reach: _Reach, outputs: Iterable[View]) -> set[int]:
    """Allocations that the steps use without making them."""
    made: set[int] = set()
    external: set[int] = set()
    for step in steps:
        if isinstance(step, Allocate):
            made.add(step.buffer)
            continue
        arguments = {view.buffer for view in step.tensors()} if isinstance(step, LibraryCall) else set()
        mutated = {view.buffer for view in step.mutated} if isinstance(step, LibraryCall) else set()
        external |= (reach.read(step) | arguments | mutated) - made
        if isinstance(step, LibraryCall):
            made |= {view.buffer for view in step.results if view is not None} - external
        else:
            external |= reach.written(step) - made
    return external | ({view.buffer for view in outputs} - made)


def _setup(
    session: Session, reach: _Reach, call: Call, external: set[int], roots: set[int], inputs: set[int]
) -> tuple[list[int], set[int], set[int], int | None]:
    """Positions of the setup steps, the weights used, state that earlier inputs went into, and a random allocation.

    The last is None unless some state is random; then it is to be a weight.
    """
    tainted, depends = set(call.earlier), set()
    for at in range(call.start):
        step = session.steps[at]
        if reach.read(step) & tainted:
            depends.add(at)
            tainted |= reach.written(step) - roots
        elif isinstance(step, Allocate):
            tainted.discard(step.buffer)
    needed, used, dirty, found = set(external), set[int](), set[int](), list[int]()
    used |= needed & roots
    needed -= roots
    made: set[int] = set()
    for at in range(call.start - 1, -1, -1):
        step = session.steps[at]
        written = reach.written(step) & needed
        if not written:
            continue
        if at in depends:
            dirty |= written
            if isinstance(step, LibraryCall):
                new = {view.buffer for view in step.results if view is not None} - {v.buffer for v in step.mutated}
                if new & needed:
                    made |= new & needed  # made from inputs of an earlier call
            continue
        if isinstance(step, LibraryCall) and family_of(step.operator) == "random":
            return found, used, dirty, min(written)
        found.append(at)
        made |= {step.buffer} if isinstance(step, Allocate) else set()
        if isinstance(step, LibraryCall):
            made |= {view.buffer for view in step.results if view is not None}
        more = reach.read(step)
        if isinstance(step, LibraryCall):
            more = more | {view.buffer for view in step.tensors()}
        if more & call.earlier:
            raise Refused(Reason.KEEPS_RESULTS, "what it keeps was computed from the inputs of an earlier call")
        used |= more & roots
        needed |= more - roots
    orphans = {number for number in needed - made - inputs if number >= 0}
    if orphans & call.earlier:
        raise Refused(Reason.KEEPS_RESULTS, "it returns or reads an input of an earlier call")
    if orphans:
        raise Refused(Reason.HOST_DATA, "it uses a tensor whose values were made outside of what was recorded")
    return found[::-1], used, dirty, None


def _refuse_kept_results(run: Iterable[Step], reach: _Reach, dirty: set[int], outputs: Iterable[View]) -> None:
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
    reach: _Reach,
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
