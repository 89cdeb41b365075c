"""A PTX kernel made ready for a dry run: registers are places in a list, instructions functions of them.

Only what decides branches and addresses is kept. Each block has two lists of steps: all of those, and the few that the
way on depends on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foretell.kernels.languages.dry.flow import exits_of, rounds_of, stages_of
from foretell.kernels.languages.dry.instructions import (
    NUMBER,
    class_of,
    flops_of,
    is_load,
    needed,
    results_of,
    sources_of,
    touches,
    touching,
    width_of,
)
from foretell.kernels.languages.dry.issue import slots_of
from foretell.kernels.languages.dry.numbers import Function, Value, constant, loaded, meaning
from foretell.kernels.languages.dry.ptx import Block, Instruction, Kernel

Parameters = Callable[[str, int, int], int | None]  # value by name, offset within the parameter and bytes

NOWHERE = -1
_ACCESSES = ("load", "store", "shared_load", "shared_store", "atomic", "async")
_WAITS = ("load", "async", "bulk")


@dataclass(frozen=True)
class Guard:
    """The predicate that decides whether something happens; `place` is NOWHERE if it always does."""

    place: int = NOWHERE
    negated: bool = False


@dataclass(frozen=True)
class Step:
    """A function from places to places."""

    function: Function
    results: tuple[int, ...]
    sources: tuple[int, ...]
    guard: Guard


@dataclass(frozen=True)
class Access:
    """An access of `width` bytes a lane, or of the number at `amount`; in order, where `address` is NOWHERE.

    None happens where the number at `size` is 0. `shared` tells atomics of shared memory from others.
    """

    kind: str
    address: int
    offset: int
    width: int
    guard: Guard
    size: int = NOWHERE
    amount: int = NOWHERE
    shared: bool = False


@dataclass(frozen=True)
class Ready:
    """A block: its steps, what it counts for, and where it goes at its end (`target` is NOWHERE: just on).

    `ends_loop` says that its branch leads out of a loop, `alone` that nothing else does.
    """

    full: Sequence[Step | Access]
    control: Sequence[Step]
    classes: Mapping[str, int]
    slots: Mapping[str, float]
    flops: float
    waits: bool
    waits_shared: bool
    rounds: float
    target: int
    leaves: bool
    guard: Guard
    ends_loop: bool
    alone: bool

    @property
    def length(self) -> int:
        return sum(self.classes.values())


class Program:
    """`given` tells the values of the kernel's parameters, None where one is not known; `tile_bytes` are those of a
    tile that a tensor map stores."""

    def __init__(self, kernel: Kernel, given: Parameters, tile_bytes: int = 0) -> None:
        self.places: dict[str, int] = {}
        self.start: list[Value] = []
        self._given, self._tile_bytes = given, tile_bytes
        self._exits, self._stages = exits_of(kernel), stages_of(kernel)
        self._control = needed(kernel, [b.branch.guard for b in kernel.blocks if b.branch and b.branch.guard])
        wanted = [name for b in kernel.blocks for one in b.instructions if touches(one) for name in touching(one)]
        self._all = self._control | needed(kernel, wanted, through_loads=True)
        self.blocks = [self._ready(at, block) for at, block in enumerate(kernel.blocks)]

    def _ready(self, at: int, block: Block) -> Ready:
        full: list[Step | Access] = []
        control = []
        for one in block.instructions:
            access = self._access(one)
            step = self._step(one)
            full += [made for made in (access, step) if made is not None]
            if step is not None and any(name in self._control for name in results_of(one)):
                control.append(step)
        classes = Counter(class_of(one) for one in block.instructions)
        waits = any(classes[kind] for kind in _WAITS)
        classes["branch"] += block.branch is not None
        slots: Counter[str] = Counter()
        for one in block.instructions:
            slots.update(slots_of(one))
        slots["control"] += block.branch is not None
        flops = sum(flops_of(one) for one in block.instructions)
        leaves = block.branch is not None and block.branch.parts[0] != "bra"
        guard = self._guard(block.branch) if block.branch is not None else Guard()
        shared = classes["shared_load"] > 0
        rounds, exits = rounds_of(block, self._stages), (at in self._exits, self._exits.get(at, False))
        return Ready(full, control, classes, slots, flops, waits, shared, rounds, block.target, leaves, guard, *exits)

    def _place(self, name: str) -> int:
        if name not in self.places:
            self.places[name] = len(self.start)
            self.start.append(constant(name))
        return self.places[name]

    def _guard(self, one: Instruction) -> Guard:
        return Guard(self._place(one.guard.lstrip("!")), one.guard.startswith("!")) if one.guard else Guard()

    def _step(self, one: Instruction) -> Step | None:
        """The instruction as a function, where its result matters."""
        results = results_of(one)
        if not any(name in self._all for name in results):
            return None
        places = tuple(self._place(name) for name in results)
        if one.parts[0] == "ld" and "param" in one.parts:
            name, _, offset = one.operands[1].strip("[] ").partition("+")
            start = int(offset or "0", 0) if NUMBER.match(offset.strip() or "0") else None
            width = width_of(one) // max(1, len(places))
            values = tuple(
                None if start is None else self._given(name.strip(), start + number * width, width)
                for number in range(len(places))
            )
            return Step(lambda: values, places, (), self._guard(one))
        if is_load(one):
            address = self._place(_address_name(one))
            return Step(lambda where: (loaded(where),) * len(places), places, (address,), self._guard(one))
        sources = tuple(self._place(name) for name in sources_of(one))
        return Step(meaning(one), places, sources, self._guard(one))

    def _access(self, one: Instruction) -> Access | None:
        kind = class_of(one)
        if "expect_tx" in one.parts:  # so many bytes are on their way in bulk
            return self._in_bulk("load", one, one.operands[-1])
        if kind == "bulk" and "tensor" not in one.parts and one.parts[3:4] == ("global",) and len(one.operands) > 2:
            return self._in_bulk("store", one, one.operands[2])
        if kind == "bulk" and self._tile_bytes and "tensor" in one.parts and one.parts[5:6] == ("global",):
            return Access("store", NOWHERE, 0, self._tile_bytes, self._guard(one))
        brackets = [operand for operand in one.operands if operand.startswith("[")]
        if kind not in _ACCESSES or not brackets:
            return None
        if one.parts[0] == "wmma":
            return Access(kind, NOWHERE, 0, width_of(one), self._guard(one))
        copied = kind == "async"
        name, _, offset = (brackets[-1] if copied else brackets[0]).strip("[] ").partition("+")
        shift = int(offset, 0) if NUMBER.match(offset.strip()) else 0
        size = self._place(one.operands[3]) if copied and len(one.operands) > 3 else NOWHERE
        place, kind = self._place(name.strip()), "load" if copied else kind
        shared = any(part.startswith("shared") for part in one.parts) and not copied
        return Access(kind, place, shift, width_of(one), self._guard(one), size, shared=shared)

    def _in_bulk(self, kind: str, one: Instruction, amount: str) -> Access:
        return Access(kind, NOWHERE, 0, 0, self._guard(one), amount=self._place(amount))


def _address_name(one: Instruction) -> str:
    """The name in the brackets of a load."""
    return one.operands[1].strip("[] ").partition("+")[0].strip()
