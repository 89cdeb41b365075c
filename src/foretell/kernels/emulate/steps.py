"""Instructions as steps: functions of a machine and the lanes that take part.

What is not known raises NotEmulated when it is executed, not before: branches that are not taken do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.kernels.emulate import matrices
from foretell.kernels.emulate.arithmetic import operation_of, type_of
from foretell.kernels.emulate.atomics import atomic
from foretell.kernels.emulate.kernel import Operand, Step, literal
from foretell.kernels.emulate.lanes import LANES, ballot, first, matched, reduced, shuffled, voted
from foretell.kernels.emulate.memory import LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Fault
from foretell.kernels.emulate.values import UNSIGNED, NotEmulated, Value, bytes_of, is_type, ones, raw, read, resized
from foretell.kernels.languages.dry.ptx import Instruction

if TYPE_CHECKING:
    from foretell.kernels.emulate.machine import Machine

_ADDRESS = re.compile(r"\[\s*(?P<name>[%\w$.]+)?\s*(?:\+?\s*(?P<offset>-?(?:0[xX][0-9a-fA-F]+|\d+)))?\s*\]")
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
_IGNORED = frozenset((
    "membar", "fence", "prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "nanosleep", "pragma",
    "isspacep", "pmevent",
))  # fmt: skip
_NAME = re.compile(r"!?%[\w$.]+|!?[a-zA-Z_$][\w$.]*")


def _nothing(machine: Machine, lanes: Any) -> None:
    """An instruction without an effect here."""


class Maker:
    """Makes steps, and numbers the registers that they name."""

    def __init__(self) -> None:
        self.registers: dict[str, int] = {}

    def guard(self, one: Instruction) -> tuple[int, bool] | None:
        """The predicate in front of an instruction: its register, and whether it is negated."""
        return (self._register(one.guard.lstrip("!")), one.guard.startswith("!")) if one.guard else None

    def step(self, one: Instruction) -> Step:
        """The step of an instruction, which does nothing in lanes that its guard keeps out."""
        try:
            inner = self._made(one)
        except (NotEmulated, KeyError, ValueError, IndexError, StopIteration) as error:
            words = str(error) if isinstance(error, NotEmulated) else f"the instruction {one.op}"
            return _refusing(words)
        guard = self.guard(one)
        if guard is None:
            return inner

        def guarded(machine: Machine, lanes: Any) -> None:
            chosen = machine.narrowed(lanes, *guard)
            if chosen is not None:
                inner(machine, chosen)

        return guarded

    def _made(self, one: Instruction) -> Step:
        root = one.parts[0]
        if root in _IGNORED or (root == "bar" and "warp" in one.parts):
            return _nothing if root != "isspacep" else _refusing(f"the instruction {one.op}")
        maker = _SPECIAL.get(root)
        return maker(self, one) if maker is not None else self._computed(one)

    def _register(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def results(self, text: str) -> list[int]:
        """Registers that an operand names as results; those named `_` are numbered like others."""
        return [self._register(name.strip()) for name in re.split(r"[,|]", text.strip("{}"))]

    def operand(self, text: str, type_: str) -> Operand:
        """How the value of an operand is read."""
        text = text.strip()
        if not _NAME.fullmatch(text):
            value = literal(text, type_)
            return lambda machine, lanes: value
        if text.startswith("!"):
            positive = self.operand(text[1:], type_)
            return lambda machine, lanes: ~positive(machine, lanes)
        if text.startswith("%") and (text in _SPECIAL_REGISTERS or text.partition(".")[0] in _SPECIAL_REGISTERS):
            return lambda machine, lanes: read(machine.special(text, lanes), type_)
        place = self._register(text)
        if text.startswith("%"):
            return lambda machine, lanes: read(machine.get(place, lanes), type_)

        def named(machine: Machine, lanes: Any) -> Value:  # a variable, or a register without a percent sign
            address = machine.address_of(text)
            return read(machine.get(place, lanes) if address is None else address, type_)

        return named

    def operands(self, texts: Sequence[str], type_: str) -> list[Operand]:
        """The operands of a vector, or the one."""
        parts = [part for text in texts for part in text.strip("{}").split(",")]
        return [self.operand(part, type_) for part in parts]

    def address(self, text: str) -> Operand:
        """The address in brackets, as 64 bits."""
        match = _ADDRESS.fullmatch(text.strip())
        if match is None:
            raise NotEmulated(f"the address {text}")
        offset = np.int64(int(match["offset"] or "0", 0))
        name = match["name"]
        if name is None or name[0].isdigit():
            base = np.int64(int(name or "0", 0)) + offset
            return lambda machine, lanes: base
        inner = self.operand(name, "b64")
        return lambda machine, lanes: inner(machine, lanes).astype(np.int64) + offset

    def _computed(self, one: Instruction) -> Step:
        operation = operation_of(one)
        results = self.results(one.operands[0])
        texts = [part for text in one.operands[1:] for part in text.strip("{}").split(",")]
        if one.parts[0] == "add" and len(texts) > len(operation.sources):
            raise NotEmulated(f"the instruction {one.op}")
        sources = [self.operand(text, type_) for text, type_ in zip(texts, operation.sources, strict=True)]
        function = operation.function
        extends = one.parts[0] == "cvt" and next(part for part in one.parts if is_type(part)) in ("s8", "s16")

        def compute(machine: Machine, lanes: Any) -> None:
            values = function(*[source(machine, lanes) for source in sources])
            for place, value in zip(results, values, strict=False):
                machine.set(place, lanes, raw(_extended(value) if extends else value))

        return compute


def _extended(value: Value) -> Value:
    return value.astype(np.int64)


def _refusing(words: str) -> Step:
    def refuse(machine: Machine, lanes: Any) -> None:
        raise NotEmulated(words)

    return refuse


# Memory


def _space(one: Instruction) -> str:
    return next((part.split("::")[0] for part in one.parts[1:] if part.split("::")[0] in _SPACES), "")


_SPACES = frozenset(("global", "shared", "local", "param", "const"))


def _count(one: Instruction) -> int:
    return next((int(part[1:]) for part in one.parts if part in ("v2", "v4", "v8")), 1)


def _load(maker: Maker, one: Instruction) -> Step:
    space, type_, count = _space(one), type_of(one), _count(one)
    size, results, address = bytes_of(type_), maker.results(one.operands[0]), maker.address(one.operands[1])
    extends = type_ in ("s8", "s16")

    def load(machine: Machine, lanes: Any) -> None:
        for place, value in zip(
            results, machine.memory.load(space, address(machine, lanes), lanes, size, count), strict=True
        ):
            machine.set(place, lanes, raw(_extended(read(value, type_))) if extends else value)

    return load


def _store(maker: Maker, one: Instruction) -> Step:
    space, type_ = _space(one), type_of(one)
    size, address = bytes_of(type_), maker.address(one.operands[0])
    values = maker.operands(one.operands[1:2], f"b{8 * size}" if type_ not in ("f32", "f64") else type_)

    def store(machine: Machine, lanes: Any) -> None:
        found = [resized(raw(value(machine, lanes)), size) for value in values]
        machine.memory.store(space, address(machine, lanes), lanes, found, size)

    return store


def _atomic(maker: Maker, one: Instruction) -> Step:
    space, type_ = _space(one), type_of(one)
    if _count(one) > 1 or type_ == "b128":
        raise NotEmulated(f"the instruction {one.op}")
    name = next(part for part in one.parts if part in _ATOMIC)
    returns = one.parts[0] == "atom"
    results = maker.results(one.operands[0]) if returns else []
    address, *texts = one.operands[1:] if returns else one.operands
    where = maker.address(address)
    size = bytes_of(type_)
    reads = f"b{8 * size}" if type_ not in ("f32", "f64") else type_
    count = 2 if name == "cas" else 1
    operands = [maker.operand(text, reads) for text in texts[:count]]

    def apply(machine: Machine, lanes: Any) -> None:
        words, places = machine.memory.words(space, where(machine, lanes), lanes, size)
        old = atomic(name, type_, words, places, [resized(raw(each(machine, lanes)), size) for each in operands])
        for place in results:
            machine.set(place, lanes, old)

    return apply


_ATOMIC = frozenset(("add", "min", "max", "exch", "cas", "and", "or", "xor", "inc", "dec"))


def _copy(maker: Maker, one: Instruction) -> Step:
    """cp.async: done at once; what a source that is cut short lacks is zero."""
    if {"commit_group", "wait_group", "wait_all"} & set(one.parts):
        return _nothing
    if "bulk" in one.parts or "mbarrier" in one.parts or "async" not in one.parts:
        raise NotEmulated(f"the instruction {one.op}")
    target, source = maker.address(one.operands[0]), maker.address(one.operands[1])
    size = int(one.operands[2], 0)
    step = min(8, size)
    kind = UNSIGNED[step]
    rest = one.operands[3 : len(one.operands) - ("cache_hint" in one.op)]
    taken = maker.operand(rest[0], "u32") if rest else None

    def copy(machine: Machine, lanes: Any) -> None:
        chosen = machine.numbers(lanes)
        count = np.broadcast_to(np.uint32(size) if taken is None else taken(machine, lanes), chosen.shape)
        words = [np.zeros(len(chosen), kind) for _ in range(size // step)]
        some = count > 0
        if some.any():
            given = np.broadcast_to(source(machine, lanes), chosen.shape)[some]
            loaded = machine.memory.load("global", given, chosen[some], step, len(words))
            for k, (word, part) in enumerate(zip(words, loaded, strict=True)):
                kept = np.clip(count[some].astype(np.int64) - step * k, 0, step)
                word[some] = part & ones(8 * kept).astype(kind)
        machine.memory.store("shared", target(machine, lanes), lanes, list(words), step)

    return copy


def _generic(maker: Maker, one: Instruction) -> Step:
    """cvta: between the addresses of a space and generic ones."""
    window = np.uint64(_WINDOWS.get(_space(one), 0))
    source, results = maker.operand(one.operands[1], "b64"), maker.results(one.operands[0])
    size, leaves = bytes_of(type_of(one)), "to" in one.parts

    def convert(machine: Machine, lanes: Any) -> None:
        address = source(machine, lanes)
        machine.set(results[0], lanes, resized(address - window if leaves else address + window, size))

    return convert


# Warps


def _warp(function: Callable[..., tuple[Value, ...]], types: Sequence[str], first_result: int = 0) -> Any:
    """A step that sees whole warps: operands of these types as (warps, 32), and which lanes take part."""

    def make(maker: Maker, one: Instruction) -> Step:
        results = maker.results(one.operands[0])
        known = [type_of(one) if type_ == "own" else type_ for type_ in types]
        sources = [maker.operand(text, type_) for text, type_ in zip(one.operands[1:], known, strict=False)]

        def see(machine: Machine, lanes: Any) -> None:
            every = [machine.by_warp(source) for source in sources]
            values = function(one, machine.active(lanes), *every)
            for place, value in zip(results, values, strict=False):
                machine.set(place, lanes, raw(np.ascontiguousarray(value).reshape(-1)[machine.numbers(lanes)]))

        return see

    return make


def _shuffle(one: Instruction, active: Any, value: Value, by: Value, clamp: Value, *_: Value) -> tuple[Value, ...]:
    return shuffled(one.parts[2], value, by, clamp)


def _vote(one: Instruction, active: Any, value: Value, *_: Value) -> tuple[Value, ...]:
    return (voted(one.parts[2], value, active),)


def _match(one: Instruction, active: Any, value: Value, *_: Value) -> tuple[Value, ...]:
    if "all" in one.parts:
        raise NotEmulated(f"the instruction {one.op}")
    return (matched(value, active),)


def _reduction(one: Instruction, active: Any, value: Value, *_: Value) -> tuple[Value, ...]:
    if value.dtype.kind == "f":
        raise NotEmulated(f"the instruction {one.op}")
    return (reduced(one.parts[2], value, active),)


def _activemask(one: Instruction, active: Any, *_: Value) -> tuple[Value, ...]:
    return (ballot(active, active),)


def _elect(one: Instruction, active: Any, *_: Value) -> tuple[Value, ...]:
    chosen = first(active)
    leader = np.broadcast_to(chosen.argmax(axis=1).astype(np.uint32)[:, None], chosen.shape)
    return leader, chosen


def _load_matrix(maker: Maker, one: Instruction) -> Step:
    """ldmatrix: 8 x 8 matrices of 16 bits, whose rows lie where eight lanes each say."""
    count = int(next(part[1:] for part in one.parts if part in ("x1", "x2", "x4")))
    if "m8n8" not in one.parts:
        raise NotEmulated(f"the instruction {one.op}")
    results, address, turned = maker.results(one.operands[0]), maker.address(one.operands[1]), "trans" in one.parts

    def load(machine: Machine, lanes: Any) -> None:
        warps, numbers = machine.whole_warps(lanes)
        every = np.broadcast_to(address(machine, numbers), numbers.shape).reshape(-1, LANES)
        for k, place in enumerate(results[:count]):
            rows, of_rows = every[:, 8 * k : 8 * k + 8], numbers.reshape(-1, LANES)[:, 8 * k : 8 * k + 8]
            words = machine.memory.load("shared", rows.reshape(-1), of_rows.reshape(-1), 8, 2)
            matrix = np.stack(words, axis=1).view(np.uint16).reshape(len(warps), 8, 8)
            matrix = matrix.transpose(0, 2, 1) if turned else matrix
            machine.set(place, numbers, np.ascontiguousarray(matrix).view(np.uint32).reshape(-1))

    return load


def _multiply(maker: Maker, one: Instruction) -> Step:
    product = matrices.product_of(one)
    results = maker.results(one.operands[0])
    bits = "b64" if product.a == "f64" else "b32"
    groups = [maker.operands([text], bits) for text in one.operands[1:4]]

    def multiply(machine: Machine, lanes: Any) -> None:
        _, numbers = machine.whole_warps(lanes)
        found = matrices.multiplied(product, *(_fragment(machine, numbers, group) for group in groups))
        _put(machine, numbers, results, found)

    return multiply


def _fragment(machine: Machine, lanes: Any, group: Sequence[Operand]) -> Any:
    return matrices.stacked([np.broadcast_to(raw(each(machine, lanes)), lanes.shape) for each in group])


def _put(machine: Machine, lanes: Any, results: Sequence[int], found: Any) -> None:
    for k, place in enumerate(results):
        machine.set(place, lanes, np.ascontiguousarray(found[:, :, k]).reshape(-1))


def _wmma(maker: Maker, one: Instruction) -> Step:
    if one.parts[1] == "mma":
        product = matrices.product_of(one)
        results = maker.results(one.operands[0])
        groups = [maker.operands([text], "b32") for text in one.operands[1:4]]

        def multiply(machine: Machine, lanes: Any) -> None:
            _, numbers = machine.whole_warps(lanes)
            found = matrices.multiplied_wmma(product, *(_fragment(machine, numbers, group) for group in groups))
            _put(machine, numbers, results, found)

        return multiply
    loads = one.parts[1] == "load"
    fragment, place = one.operands[:2] if loads else (one.operands[1], one.operands[0])
    type_, shape, space = type_of(one), matrices.shape_of(one), _space(one)
    size = 4 if type_ == "tf32" else bytes_of(type_)
    address, by_rows = maker.address(place), "row" in one.parts
    stride = maker.operand(one.operands[2], "u32") if len(one.operands) > 2 else None
    row, column = np.divmod(np.arange(shape[0] * shape[1]), shape[1])

    def places(machine: Machine, numbers: Any) -> tuple[Any, Any]:
        """Addresses of all elements, those of a warp one after the other, and a lane of the warp for each."""
        leaders = numbers.reshape(-1, LANES)[:, 0]
        base = np.broadcast_to(address(machine, leaders), leaders.shape)
        usual = shape[1] if by_rows else shape[0]
        step = np.broadcast_to(usual if stride is None else stride(machine, leaders), leaders.shape).astype(np.int64)
        offset = row * step[:, None] + column if by_rows else column * step[:, None] + row
        return (base[:, None] + offset * size).reshape(-1), np.repeat(leaders, len(row))

    if loads:
        results = maker.results(fragment)

        def load(machine: Machine, lanes: Any) -> None:
            _, numbers = machine.whole_warps(lanes)
            where, leaders = places(machine, numbers)
            matrix = machine.memory.load(space, where, leaders, size, 1)[0].reshape(-1, *shape)
            _put(machine, numbers, results, matrices.dealt(matrix, len(results)))

        return load
    sources = maker.operands([fragment], "b32")

    def store(machine: Machine, lanes: Any) -> None:
        _, numbers = machine.whole_warps(lanes)
        where, leaders = places(machine, numbers)
        bits = np.ascontiguousarray(_fragment(machine, numbers, sources))
        held = shape[0] * shape[1] // LANES * size // 4
        flat = np.ascontiguousarray(bits[:, :, :held]).view({2: np.uint16, 4: np.uint32}[size]).reshape(-1)
        machine.memory.store(space, where, leaders, [flat], size)

    return store


def _policy(maker: Maker, one: Instruction) -> Step:
    """createpolicy: how caches are to be used says nothing here."""
    results = maker.results(one.operands[0])
    return lambda machine, lanes: machine.set(results[0], lanes, np.uint64(0))


def _trap(maker: Maker, one: Instruction) -> Step:
    def trap(machine: Machine, lanes: Any) -> None:
        raise Fault("it traps")

    return trap


_SPECIAL: Mapping[str, Callable[[Maker, Instruction], Step]] = {
    "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic, "cp": _copy, "cvta": _generic,
    "shfl": _warp(_shuffle, ("b32", "u32", "u32")), "vote": _warp(_vote, ("pred",)), "match": _warp(_match, ("own",)),
    "redux": _warp(_reduction, ("own",)), "activemask": _warp(_activemask, ()), "elect": _warp(_elect, ()),
    "ldmatrix": _load_matrix, "mma": _multiply, "wmma": _wmma, "brkpt": _trap, "createpolicy": _policy,
}  # fmt: skip
_SPECIAL_REGISTERS = frozenset((
    "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%clock", "%clock64", "%globaltimer",
    "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%smid", "%nsmid", "%gridid",
    "%dynamic_smem_size", "%total_smem_size",
))  # fmt: skip
