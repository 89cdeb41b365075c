"""Features read off machine code: what a compiler made of a source, before anything runs.

Reads the text that `objdump -d` prints for an x86-64 or AArch64 shared object. Counts are taken over the candidate's
own functions and, separately, over its innermost loops (the bodies of backward jumps that contain no other).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
_LINE = re.compile(r"^\s*(?P<address>[0-9a-f]+):\s+(?P<op>\S+)\s*(?P<args>[^#<]*)(?:<(?P<symbol>[^>]*)|#|$)")
_OVERLAP = 4  # times the instructions of a function that its loops may have together
_JUMP_TARGET = re.compile(r"^([0-9a-f]+)")
_RUNTIME = frozenset(
    ("_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy", ".plt")
)

CLASSES = (
    "load",
    "store",
    "fma",
    "multiply",
    "add",
    "divide",
    "compare",
    "convert",
    "shuffle",
    "call",
    "branch",
    "integer",
)


@dataclass(frozen=True)
class Instruction:
    address: int
    op: str
    args: str
    symbol: str = ""


def functions(listing: str) -> dict[str, list[Instruction]]:
    """The candidate's own functions: runtime stubs and PLT entries are left out."""
    found: dict[str, list[Instruction]] = {}
    current: list[Instruction] | None = None
    for line in listing.splitlines():
        head = _FUNCTION.match(line)
        if head:
            name = head["name"]
            skip = name in _RUNTIME or "@plt" in name
            current = None if skip else found.setdefault(name, [])
            continue
        if current is None:
            continue
        part = _LINE.match(line)
        if part:
            op, args = part["op"], part["args"].strip()
            if op in ("lock", "rep", "repz", "repnz", "bnd", "notrack"):
                op, _, args = args.partition(" ")
            current.append(Instruction(int(part["address"], 16), op, args, part["symbol"] or ""))
    return found


def read_features(listing: str) -> dict[str, float]:
    """Numbers that describe a disassembled object, all finite, with the same keys for every object."""
    bodies = functions(listing)
    everything = [instruction for body in bodies.values() for instruction in body]
    loops = [loop for body in bodies.values() for loop in innermost_loops(body)]
    inner = [instruction for loop in loops for instruction in loop]
    features = {
        "functions": float(len(bodies)),
        "outlined": float(sum("omp_fn" in name or ".omp_outlined" in name for name in bodies)),
        "instructions": float(len(everything)),
        "inner_loops": float(len(loops)),
        "inner_instructions": float(len(inner)),
        "inner_longest": float(max((len(loop) for loop in loops), default=0)),
        "spills": float(sum(is_spill(i) for i in everything)),
        "inner_spills": float(sum(is_spill(i) for i in inner)),
        "gathers": float(sum("gather" in i.op for i in everything)),
        "atomics": float(sum(i.op.startswith(("cmpxchg", "xadd", "ldadd", "cas")) for i in everything)),
    }
    features |= _mix("", everything)
    features |= _mix("inner_", inner)
    features["busiest_fma_share"] = max((_share(loop, "fma") for loop in loops if len(loop) > 3), default=0.0)
    features["code_log2"] = math.log2(1 + len(everything))
    return features


def _mix(prefix: str, body: list[Instruction]) -> dict[str, float]:
    total = max(1, len(body))
    classes = Counter(_classify(i) for i in body)
    widths = Counter(_width_bits(i) for i in body)
    mix = {f"{prefix}{name}_share": classes[name] / total for name in CLASSES}
    mix |= {f"{prefix}vector{bits}_share": widths[bits] / total for bits in (128, 256, 512)}
    mix[f"{prefix}scalar_float_share"] = widths[32] / total
    return mix


def _share(body: list[Instruction], name: str) -> float:
    return sum(_classify(i) == name for i in body) / len(body)


def innermost_loops(body: list[Instruction]) -> Iterable[list[Instruction]]:
    """From the target of each jump back to the jump, if no other such span lies within."""
    if not body:
        return []
    index = {instruction.address: position for position, instruction in enumerate(body)}
    spans: list[tuple[int, int]] = []
    for position, instruction in enumerate(body):
        if not is_jump(instruction.op):
            continue
        target = jump_target(instruction)
        start = index.get(target) if target is not None else None
        if start is not None and start <= position:
            spans.append((start, position))
    inner: list[tuple[int, int]] = []
    nearest = len(body)  # where the first of the loops that begin further down, or here and are shorter, ends
    room = _OVERLAP * len(body)  # loops that overlap without one being in the other: hardly any in what compilers make
    for start, end in sorted(set(spans), key=lambda span: (-span[0], span[1])):
        room -= end - start + 1 if end < nearest else 0
        if end < nearest and room >= 0:
            inner.append((start, end))
        nearest = min(nearest, end)
    return [body[start : end + 1] for start, end in reversed(inner)]


def jump_target(jump: Instruction) -> int | None:
    """The address that a jump names; None if it is in a register."""
    target = _JUMP_TARGET.match(jump.args.split(",")[-1].strip())
    return int(target[1], 16) if target else None


def is_jump(op: str) -> bool:
    return op.startswith(("j", "b.", "cb", "tb")) or op == "b"


def is_spill(instruction: Instruction) -> bool:
    """A store of a register to the stack frame."""
    if "(%rsp)" in instruction.args or "(%rbp)" in instruction.args:
        return instruction.op.startswith(("mov", "vmov")) and instruction.args.rstrip().endswith(")")
    return instruction.op in ("str", "stp", "stur") and "[sp" in instruction.args


def _width_bits(instruction: Instruction) -> int:
    """Width of the vector unit used: 512, 256, 128, or 32 for a scalar float, or 0."""
    args, op = instruction.args, instruction.op
    if "%zmm" in args:
        return 512
    if "%ymm" in args:
        return 256
    if "%xmm" in args:
        return 32 if op.endswith(("ss", "sd")) else 128
    if re.search(r"\bv\d+\.", args):
        return 128
    return 32 if re.search(r"\b[sd]\d+\b", args) else 0


def _classify(instruction: Instruction) -> str:
    """One of CLASSES by mnemonic; memory moves by where the address stands (AT&T order: destination last)."""
    op, args = instruction.op, instruction.args
    if op.startswith(("call", "bl")) and op != "blendv":
        return "call"
    if is_jump(op) or op.startswith("ret"):
        return "branch"
    if "fmadd" in op or "fmsub" in op or "fnmadd" in op or "fnmsub" in op or op in ("fmla", "fmls"):
        return "fma"
    if "div" in op or "sqrt" in op or "rcp" in op:
        return "divide"
    if op.startswith(("vcvt", "cvt", "fcvt", "scvtf")):
        return "convert"
    if any(
        part in op for part in ("shuf", "perm", "unpck", "insert", "extract", "broadcast", "blend", "palignr", "dup")
    ):
        return "shuffle"
    if any(part in op for part in ("cmp", "test", "max", "min", "ucomis")):
        return "compare"
    if op.startswith(("mov", "vmov", "ldr", "ldp", "str", "stp", "stur", "ldur", "vpmov")):
        if op.startswith(("st",)) or (args.endswith(")") and "(" in args):
            return "store"
        return "load" if "(" in args or op.startswith("ld") else "integer"
    if op.startswith(("vmul", "mulp", "muls", "fmul", "vpmul")):
        return "multiply"
    if op.startswith(("vadd", "vsub", "addp", "adds", "subp", "subs", "fadd", "fsub")):
        return "add"
    return "load" if "(" in args and not args.endswith(")") and not op.startswith(("lea", "nop")) else "integer"
