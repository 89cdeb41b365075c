"""Features of GPU machine code: resources, occupancy and instruction mix, read straight from a cubin's bytes.

A cubin is an ELF file. Registers and stack frames stand in its section `.nv.info`, static shared memory in a section of
its own; each instruction is 16 bytes whose low 9 bits tell the operation (compute capability 7.0 and later). So no
disassembler has to be started.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from foretell.kernels.multiprocessor import USUAL_CAPABILITY, occupancy

# Operations by the low 9 bits of an instruction (the 3 bits above them only say where operands come from).
_KINDS: dict[str, tuple[int, ...]] = {
    "global_load": (0x181,),
    "global_store": (0x186,),
    "shared_load": (0x184, 0x03B),
    "shared_store": (0x188,),
    "local": (0x183, 0x187),
    "async_copy": (0x1AE, 0x1AF, 0x1BA, 0x1B4),
    "tensor": (0x03C, 0x1F0, 0x037, 0x03F, 0x1F3),
    "fma": (0x023, 0x031, 0x035, 0x02B),
    "float": (0x020, 0x021, 0x009, 0x008, 0x00B, 0x030, 0x032, 0x034, 0x028, 0x029, 0x02A),
    "special": (0x108,),
    "integer": (0x024, 0x025, 0x027, 0x010, 0x011, 0x012, 0x019, 0x00C, 0x036, 0x048, 0x046, 0x013),
    "uniform": (0x090, 0x091, 0x092, 0x099, 0x0A4, 0x0A5, 0x08C, 0x082, 0x087, 0x0B9),
    "convert": (0x03E, 0x045, 0x105, 0x106, 0x110, 0x111, 0x112),
    "shuffle": (0x189, 0x086, 0x006),
    "barrier": (0x11D, 0x148, 0x11A, 0x192, 0x1C5),
    "atomic": (0x18C, 0x18E, 0x1A6, 0x1A8),
    "branch": (0x147, 0x14D, 0x145, 0x141, 0x144, 0x150, 0x142),
}
_KIND_OF = {code: kind for kind, codes in _KINDS.items() for code in codes}
CLASSES = tuple(_KINDS)
_LOADS = frozenset((*_KINDS["global_load"], *_KINDS["shared_load"]))
_ACCESS_BYTES = (1, 1, 2, 2, 4, 8, 16, 16)  # by the size field of a load or store
_WIDE = 16
_BRANCH = 0x147
_INNER = (
    "global_load", "global_store", "shared_load", "shared_store", "local", "async_copy", "tensor", "fma", "float",
    "special", "integer", "convert", "shuffle", "barrier", "atomic", "branch",
)  # fmt: skip

# Attributes of .nv.info, each with a symbol number and a value.
_FRAME_SIZE, _REGISTER_COUNT = 0x11, 0x2F
_WITH_PAYLOAD = 0x04


class NotACubin(ValueError):
    """The bytes are not a 64-bit ELF file."""


@dataclass(frozen=True)
class _Section:
    number: int
    name: str
    body: bytes
    bytes: int


def read_cubin(
    image: bytes,
    threads: int,
    dynamic_shared_bytes: int = 0,
    name: str | None = None,
    capability: int = USUAL_CAPABILITY,
) -> dict[str, float]:
    """Resources and instruction mix of a cubin's function launched with blocks of `threads`.

    `name` picks one function where the cubin holds several; the largest is taken otherwise. `spill_bytes` is the stack
    frame, where spilled registers go; `occupancy` is that on a multiprocessor of the capability.
    """
    sections = list(_sections(image))
    texts = [s for s in sections if s.name.startswith(".text.") and (name is None or s.name == f".text.{name}")]
    if not texts:
        return {}
    text = max(texts, key=lambda section: section.bytes)
    function = text.name.removeprefix(".text.")
    static = next((s.bytes for s in sections if s.name == f".nv.shared.{function}"), 0)
    symbols = next((s.body for s in sections if s.name == ".symtab"), b"")
    facts = next((s.body for s in sections if s.name == ".nv.info"), b"")
    values = {attribute: value for attribute, symbol, value in _facts(facts) if _home(symbols, symbol) == text.number}
    registers, shared = float(values.get(_REGISTER_COUNT, 0)), float(static + dynamic_shared_bytes)
    features = {
        "registers": registers,
        "spill_bytes": float(values.get(_FRAME_SIZE, 0)),
        "shared_bytes": shared,
        "threads": float(threads),
        "occupancy": occupancy(registers, shared, threads, capability),
    }
    return features | _mix(text.body)


def _mix(code: bytes) -> dict[str, float]:
    """Which instructions there are, how wide they access memory, and the same of the innermost loops."""
    words = struct.unpack(f"<{len(code) // 16 * 2}Q", code[: len(code) // 16 * 16])
    lows, highs = words[0::2], words[1::2]
    kinds = [_KIND_OF.get(low & 0x1FF, "other") for low in lows]
    sizes = [_ACCESS_BYTES[(high >> 9) & 7] for high in highs]
    depths = loop_depths(lows)
    deepest = max(depths, default=0)
    inner = [i for i, depth in enumerate(depths) if depth == deepest > 0]
    counts, within = Counter(kinds), Counter(kinds[i] for i in inner)
    wide = sum(size == _WIDE for low, size in zip(lows, sizes, strict=True) if low & 0x1FF in _LOADS)
    total = max(1, len(lows))
    return {
        "instructions": float(len(lows)),
        "wide_load_share": wide / total,
        **{f"{kind}_share": counts[kind] / total for kind in CLASSES},
        "load_bytes": _mean([size for kind, size in zip(kinds, sizes, strict=True) if kind == "global_load"]),
        "store_bytes": _mean([size for kind, size in zip(kinds, sizes, strict=True) if kind == "global_store"]),
        "loop_depth": float(deepest),
        "looped_share": sum(depth > 0 for depth in depths) / total,
        "inner_instructions": float(len(inner)),
        "inner_load_bytes": float(sum(sizes[i] for i in inner if kinds[i] == "global_load")),
        **{f"inner_{kind}": float(within[kind]) for kind in _INNER},
    }


@dataclass(frozen=True)
class Spills:
    """Bytes that a thread moves to and from its stack, and instructions, outside of loops and in one turn of them."""

    once_bytes: float = 0.0
    looped_bytes: float = 0.0
    once: int = 0
    looped: int = 0

    def moved_bytes(self, executed: float) -> float:
        """Bytes that a thread moves if it executes so many instructions."""
        turns = max(1.0, (executed - self.once) / self.looped) if self.looped else 0.0
        return self.once_bytes + self.looped_bytes * turns


def spills_of(image: bytes, name: str) -> Spills:
    """Accesses of a function's stack, where registers go that do not fit."""
    return spills_in(next((s.body for s in _sections(image) if s.name == f".text.{name}"), b""))


def spills_in(code: bytes) -> Spills:
    """Accesses of the stack in machine code."""
    words = struct.unpack(f"<{len(code) // 16 * 2}Q", code[: len(code) // 16 * 16])
    lows, highs = words[0::2], words[1::2]
    moved, count = [0.0, 0.0], [0, 0]
    for low, high, depth in zip(lows, highs, loop_depths(lows), strict=True):
        place = int(depth > 0)
        count[place] += 1
        if low & 0x1FF in _KINDS["local"]:
            moved[place] += _ACCESS_BYTES[(high >> 9) & 7]
    return Spills(moved[0], moved[1], count[0], count[1])


def _mean(values: list[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def loop_depths(lows: Sequence[int]) -> list[int]:
    """How many loops each instruction lies in, from branches that go back; one to itself, as at the end, is none."""
    starts: dict[int, int] = {}
    for i, low in enumerate(lows):
        if low & 0x1FF != _BRANCH:
            continue
        # A quarter of the distance in bytes from the next instruction, in two parts, with its sign.
        step = (low >> 34) << 8 | (low >> 16) & 0xFF
        step -= (step >> 37) << 38
        target = i + 1 + step * 4 // 16
        if 0 <= target < i:
            starts[target] = max(starts.get(target, 0), i)
    change = [0] * (len(lows) + 1)
    for start, end in starts.items():
        change[start] += 1
        change[end + 1] -= 1
    return list(accumulate(change[:-1]))


def _sections(image: bytes) -> Iterator[_Section]:
    if image[:5] != b"\x7fELF\x02":
        raise NotACubin("the build gave something that is not a cubin")
    at, size, count, names_at = (
        struct.unpack_from("<Q", image, 0x28)[0],
        *struct.unpack_from("<HHH", image, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at + i * size) for i in range(count)]
    names = headers[names_at]
    for number, (name, kind, _, _, offset, length, *_) in enumerate(headers):
        start = names[4] + name
        text = image[start : image.index(b"\0", start)].decode(errors="replace")
        holds_nothing = kind == 8  # SHT_NOBITS: memory only
        yield _Section(number, text, b"" if holds_nothing else image[offset : offset + length], length)


def _facts(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol number, value) of every attribute that has both."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != _WITH_PAYLOAD:
            continue
        if size == 8 and at + 8 <= len(info):
            yield attribute, *struct.unpack_from("<II", info, at)
        at += size


def _home(symbols: bytes, number: int) -> int:
    """The section that a symbol lies in; -1 where there is no such symbol."""
    at = number * 24
    return int(struct.unpack_from("<H", symbols, at + 6)[0]) if at + 24 <= len(symbols) else -1
