"""What a run needs from before it, and the steps of the log that make it: the setup.

State is followed back through the log to weights and constants. Steps that depended on the inputs of an earlier call
cannot be part of the setup: a run that reads what they left is refused, because it keeps results. A buffer that the run
overwrites before it reads it only has to be there.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from foretell.kernels.operators import family_of
from foretell.kernels.program import LibraryCall, Step, View, Weight
from foretell.kernels.record.reach import Reach
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.record.session import Session


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
class Needs:
    """Allocations that a run uses without making them: those whose contents matter, and those that it overwrites."""

    contents: frozenset[int]
    places: frozenset[int]


@dataclass
class Setup:
    """Positions of the setup steps in the log, and what was found on the way.

    `bare` are allocations that only have to be there and that no step makes; `weights` those of the roots that are
    used; `dirty` is state that inputs of earlier calls went into; `random` is an allocation that must be a weight
    because its values are random, if there is one: nothing else holds then.
    """

    steps: list[int] = field(default_factory=list)
    bare: set[int] = field(default_factory=set)
    weights: set[int] = field(default_factory=set)
    dirty: set[int] = field(default_factory=set)
    random: int | None = None


def needs_of(steps: Iterable[Step], reach: Reach, outputs: Iterable[View], inputs: AbstractSet[int]) -> Needs:
    """What the steps of a run need."""
    made: set[int] = set(inputs)
    contents: set[int] = set()
    places: set[int] = set()
    for step in steps:
        touched = reach.of(step)
        contents |= touched.needed - made
        places |= touched.named - touched.created - made
        made |= touched.overwritten
    contents |= {view.buffer for view in outputs} - made
    return Needs(frozenset(contents), frozenset(places - contents))


def setup_of(session: Session, reach: Reach, call: Call, needs: Needs, roots: AbstractSet[int]) -> Setup:
    """The setup of a call; Refused if its state cannot be made from weights."""
    depends = _dependent(session, reach, call, roots)
    setup = Setup(weights=set((needs.contents | needs.places) & roots))
    contents, places = set(needs.contents - roots), set(needs.places - roots)
    for at in range(call.start - 1, -1, -1):
        step = session.steps[at]
        touched = reach.of(step)
        written, created = touched.written & contents, touched.created & (contents | places)
        if not written:
            setup.bare |= created
            places -= created
            continue
        if at in depends:
            setup.dirty |= written
            setup.bare |= created
        else:
            if isinstance(step, LibraryCall) and family_of(step.operator) == "random":
                setup.random = min(written)
                return setup
            setup.steps.append(at)
            if touched.needed & call.earlier:
                raise Refused(Reason.KEEPS_RESULTS, "what it keeps was computed from the inputs of an earlier call")
            setup.weights |= touched.named & roots
            contents |= touched.needed - roots
            places |= touched.named - touched.created - roots
        places |= touched.overwritten & contents
        contents -= touched.overwritten
        places -= touched.created | contents
    _settle(setup, contents, places, call)
    setup.steps.reverse()
    return setup


def _dependent(session: Session, reach: Reach, call: Call, roots: AbstractSet[int]) -> set[int]:
    """Positions of the steps before the call whose results depend on inputs of earlier calls."""
    tainted, depends = set(call.earlier), set()
    for at in range(call.start):
        touched = reach.of(session.steps[at])
        if touched.read & tainted:
            depends.add(at)
            tainted |= touched.written - roots
        else:
            tainted -= touched.overwritten - call.earlier
    return depends


def _settle(setup: Setup, contents: set[int], places: set[int], call: Call) -> None:
    """Say what becomes of allocations that no step made: variables of images hold what the image says."""
    orphans = {number for number in contents if number >= 0}
    if orphans & call.earlier:
        raise Refused(Reason.KEEPS_RESULTS, "it returns or reads an input of an earlier call")
    if orphans:
        raise Refused(Reason.HOST_DATA, "it uses a tensor whose values were made outside of what was recorded")
    setup.bare |= {number for number in places if number >= 0}
