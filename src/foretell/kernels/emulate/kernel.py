"""A kernel prepared for execution: variables of its module with their places, and its blocks as steps on a machine."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.kernels.emulate.values import SIGNED, UNSIGNED, NotEmulated, Value, bytes_of
from foretell.kernels.languages.dry.ptx import Block, Instruction, read_ptx

if TYPE_CHECKING:
    from foretell.kernels.emulate.machine import Machine

Step = Callable[["Machine", Any], None]
Operand = Callable[["Machine", Any], Value]
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<type>[usbf]\d+)\s+(?P<name>[\w$]+)(?P<count>(?:\[\d*\])*)\s*(?:=\s*(?P<initial>\{[^}]*\}|[^;]+))?;"
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?$")
MOST_VARIABLE_BYTES = 1 << 26


@dataclass(frozen=True)
class Variable:
    """A variable of a module or kernel. Shared ones without a size begin where dynamic shared memory does."""

    name: str
    space: str
    size: int
    align: int
    data: bytes = b""


@dataclass
class Segment:
    """Steps that run one after the other up to a branch or a barrier; `following` and `target` number segments."""

    steps: list[Step] = field(default_factory=list)
    following: int = -1
    target: int = -1
    guard: tuple[int, bool] | None = None  # register of the branch's predicate, and whether it is negated
    ends: str = ""  # "branch", "exit", "trap", "barrier"; nothing where it falls through
    barrier: Instruction | None = None


@dataclass(frozen=True)
class Prepared:
    """Everything of a kernel that does not depend on a launch."""

    name: str
    parameters: tuple[str, ...]
    segments: tuple[Segment, ...]
    registers: dict[str, int]


def variables_of(text: str) -> list[Variable]:
    """Variables in a PTX text, those within kernels among them. Raises NotEmulated for what cannot be laid out."""
    found, total = [], 0
    for match in _VARIABLE.finditer(_COMMENTS.sub("", text)):
        width = bytes_of(match["type"])
        counts = [int(each or 0) for each in re.findall(r"\[(\d*)\]", match["count"])]
        size = width * int(np.prod(counts, dtype=np.int64)) if counts else width
        total += size
        if not 0 <= total <= MOST_VARIABLE_BYTES:
            raise NotEmulated("very large variables")
        data = _initial(match["initial"] or "", match["type"])
        found.append(Variable(match["name"], match["space"], size, max(int(match["align"] or 1), width), data))
    return found


def _initial(text: str, type_: str) -> bytes:
    values = [each.strip() for each in text.strip("{} \n").split(",") if each.strip()]
    try:
        return b"".join(np.asarray(literal(each, type_)).tobytes() for each in values)
    except (KeyError, ValueError, OverflowError) as error:
        raise NotEmulated("variables that begin with an address") from error


def literal(text: str, type_: str) -> Value:
    """A number as PTX writes it, as a scalar of a type. Raises KeyError if it is not a number."""
    size = bytes_of(type_)
    if text[:2] in ("0f", "0F"):
        single = struct.unpack("<f", struct.pack("<I", int(text[2:], 16)))[0]
        return {4: np.float32, 8: np.float64}[max(4, size)](single)
    if text[:2] in ("0d", "0D"):
        double = struct.unpack("<d", struct.pack("<Q", int(text[2:], 16)))[0]
        return {4: np.float32, 8: np.float64}[max(4, size)](double)
    if _INTEGER.match(text):
        number = int(text.rstrip("U"), 0)
        if type_ in ("f32", "f64"):
            return {4: np.float32, 8: np.float64}[size](number)
        if type_ == "pred":
            return np.bool_(number)
        bits = UNSIGNED[size](number & ((1 << 8 * size) - 1))
        return bits.view(SIGNED[size]) if type_[0] == "s" else bits
    try:
        return {"f32": np.float32, "f64": np.float64}[type_](float(text))
    except ValueError as error:
        raise KeyError(text) from error


def prepared(text: str, name: str) -> Prepared:
    """A kernel of a PTX text. Raises NotPtx if there is none of that name."""
    from foretell.kernels.emulate.steps import Maker

    kernel = read_ptx(text, name)
    maker = Maker()
    firsts: list[int] = []
    segments: list[Segment] = []
    for block in kernel.blocks:
        firsts.append(len(segments))
        segments += _segments(block, maker)
    for number, segment in enumerate(segments):
        segment.following = number + 1
    for first, block in zip([*firsts[1:], len(segments)], kernel.blocks, strict=True):
        segments[first - 1].target = firsts[block.target] if block.target >= 0 else -1
    return Prepared(name, tuple(each for each, _ in kernel.parameters), tuple(segments), maker.registers)


def _segments(block: Block, maker: Any) -> list[Segment]:
    """A basic block, parted after its barriers."""
    found = [Segment()]
    for one in block.instructions:
        if _is_barrier(one):
            found[-1].ends, found[-1].barrier = "barrier", one
            found[-1].guard = maker.guard(one)
            found.append(Segment())
        else:
            found[-1].steps.append(maker.step(one))
    branch = block.branch
    if branch is not None:
        found[-1].ends = {"bra": "branch", "trap": "trap", "brx": "indirect"}.get(branch.parts[0], "exit")
        found[-1].guard = maker.guard(branch)
    return found


def _is_barrier(one: Instruction) -> bool:
    return one.parts[0] in ("bar", "barrier") and "warp" not in one.parts and "cluster" not in one.parts
