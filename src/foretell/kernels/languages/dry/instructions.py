"""What a PTX instruction is: its class, the bytes it accesses, the names it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from foretell.kernels.languages.dry.ptx import Instruction, Kernel

CLASSES = (
    "load", "store", "shared_load", "shared_store", "async", "bulk", "atomic", "tensor", "float", "special", "integer",
    "convert", "shuffle", "branch", "local", "barrier", "move",
)  # fmt: skip
NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+U?|\d+U?)$")
WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64", "tf32"))
_SPECIAL = frozenset(("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"))
_BARRIERS = frozenset(("bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol"))
_SHUFFLES = frozenset(("shfl", "vote", "match", "redux", "activemask", "elect"))
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "multimem"))
_TENSOR = frozenset(("mma", "wgmma", "wmma"))
_ORDER = frozenset(("fence", "commit_group", "wait_group", "wait_all"))


def class_of(one: Instruction) -> str:
    """Where its bytes are, or which unit does it."""
    root, parts = one.parts[0], one.parts
    shared = any(part.startswith("shared") for part in parts)
    if root in ("ld", "ldu"):
        return "shared_load" if shared else "local" if "local" in parts else "move" if "param" in parts else "load"
    if root == "st":
        return "shared_store" if shared else "local" if "local" in parts else "store"
    if root in ("ldmatrix", "stmatrix"):
        return "shared_load" if root == "ldmatrix" else "shared_store"
    if root == "wmma" and parts[1] in ("load", "store"):
        return ("shared_" if shared else "") + parts[1]
    if root in ("cp", *_TENSOR) and _ORDER & set(parts):
        return "barrier"
    if root == "cp":
        return "bulk" if "bulk" in parts else "async"
    if root in _TENSOR:
        return "tensor"
    if root in ("atom", "red"):
        return "atomic"
    if root in _BARRIERS:
        return "barrier"
    if root in _SHUFFLES:
        return "shuffle"
    if root in _SPECIAL or (root == "div" and is_float(parts)):
        return "special"
    if root == "cvt":
        return "convert" if is_float(parts) else "integer"
    if root in ("mov", "cvta", "prmt"):
        return "move"
    return "float" if is_float(parts) else "integer"


def is_float(parts: Sequence[str]) -> bool:
    return any(part in _FLOATS or part.startswith(("e4m3", "e5m2")) for part in parts)


def width_of(one: Instruction) -> int:
    """Bytes that a lane accesses."""
    if one.parts[0] in ("ldmatrix", "stmatrix", "wmma"):
        return 16
    if one.parts[0] == "cp":
        sizes = [o for o in one.operands[2:3] if NUMBER.match(o)]
        return int(sizes[0], 0) if sizes else 16
    size = next((WIDTHS[p[1:]] for p in reversed(one.parts) if p[0] in "busf" and p[1:] in WIDTHS), 4)
    if "f16x2" in one.parts or "bf16x2" in one.parts:
        size = 4
    elif "bf16" in one.parts:
        size = 2
    count = next((int(p[1:]) for p in one.parts if p in ("v2", "v4", "v8")), 1)
    return size * count


def flops_of(one: Instruction) -> float:
    """Tensor operations of one warp's share of an instruction."""
    if class_of(one) != "tensor":
        return 0.0
    shape = next((m for part in one.parts if (m := _SHAPE.fullmatch(part))), None)
    if shape is None:
        return 0.0
    flops = 2.0 * int(shape[1]) * int(shape[2]) * int(shape[3])
    return flops / 4.0 if one.parts[0] == "wgmma" else flops


def _names(operand: str) -> list[str]:
    """The names in an operand, be it a register, `{a, b}`, `[a+4]` or `a|b`."""
    if operand[0] in "{[":
        return [part.split("+")[0].strip() for part in operand.strip("{}[] ").split(",") if part.strip()]
    return [part.strip() for part in operand.split("|")]


def results_of(one: Instruction) -> list[str]:
    if not one.operands or one.operands[0].startswith("[") or one.parts[0] in ("bar", "call", "wgmma"):
        return []
    return [name for name in _names(one.operands[0]) if not NUMBER.match(name)]


def sources_of(one: Instruction) -> list[str]:
    return [name for operand in one.operands[1:] for name in _names(operand)]


def touches(one: Instruction) -> bool:
    return one.parts[0] in (*_MEMORY, "wmma") or "expect_tx" in one.parts


def touching(one: Instruction) -> list[str]:
    """Names that decide which bytes an access touches, and whether it happens."""
    names = [name for operand in one.operands if operand.startswith("[") for name in _names(operand)]
    if one.parts[0] == "cp":
        names += one.operands[2:4]
    if "expect_tx" in one.parts:
        names.append(one.operands[-1])
    return [*names, *([one.guard.lstrip("!")] if one.guard else [])]


def needed(kernel: Kernel, wanted: Sequence[str], through_loads: bool = False) -> set[str]:
    """All names that the wanted ones are computed from; what was loaded, from its address only `through_loads`."""
    makers: dict[str, list[Instruction]] = {}
    for block in kernel.blocks:
        for one in block.instructions:
            if _follows(one) or (through_loads and is_load(one)):
                for name in results_of(one):
                    makers.setdefault(name, []).append(one)
    found: set[str] = set()
    waiting = [name.lstrip("!") for name in wanted]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for one in makers.get(name, ()):
            waiting += sources_of(one)
            if one.guard:
                waiting.append(one.guard.lstrip("!"))
    return found


def is_load(one: Instruction) -> bool:
    """Whether the instruction loads from memory into registers."""
    return one.parts[0] in ("ld", "ldu") and "param" not in one.parts


def _follows(one: Instruction) -> bool:
    """Whether the result can be known: whole numbers, not from memory."""
    if one.parts[0] in ("ld", "ldu"):
        return "param" in one.parts
    return not (one.parts[0] in _MEMORY or is_float(one.parts) or one.parts[0] in _TENSOR or one.parts[0] == "call")
