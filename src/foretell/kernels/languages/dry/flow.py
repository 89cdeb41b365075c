"""What can be said of a kernel's PTX without following it: how often a basic block waits for memory one
load after the other, and which branches lead out of a loop."""

from __future__ import annotations

from foretell.kernels.languages.dry.instructions import class_of, results_of, sources_of
from foretell.kernels.languages.dry.ptx import Block, Instruction, Kernel

_WAITS = ("wait_group", "wait_all")


def stages_of(kernel: Kernel) -> int:
    """Bulk copies that may be on their way at a time: each has a barrier of its own."""
    return max(1, sum("init" in one.parts for block in kernel.blocks for one in block.instructions
                      if one.parts[0] == "mbarrier"))  # fmt: skip


def rounds_of(block: Block, stages: int) -> float:
    """How often a warp waits for memory in a visit of a block, one time after the other.

    A load whose address comes from another, or that follows a barrier, waits for what was before it. Where groups of
    copies may stay on their way, or barriers of bulk copies take turns, a visit waits for its share of one.
    """
    levels: dict[str, int] = {}
    least, most, waited = 0, 0, 0.0
    for one in block.instructions:
        kind = class_of(one)
        level = max((levels.get(name, 0) for name in sources_of(one)), default=0)
        if kind == "load":
            level = max(level, least) + 1
            most = max(most, level)
        elif kind == "barrier":
            least = most
            if one.parts[0] == "cp" and any(part in one.parts for part in _WAITS):
                waited += 1.0 / (1.0 + _pending(one))
            elif one.parts[0] == "mbarrier" and "try_wait" in one.parts:
                waited += 1.0 / stages
        for name in results_of(one):
            levels[name] = level
    return most + waited


def _pending(one: Instruction) -> int:
    """Groups that may still be on their way after a wait."""
    return int(one.operands[0], 0) if "wait_group" in one.parts and one.operands and one.operands[0].isdigit() else 0


def exits_of(kernel: Kernel) -> dict[int, bool]:
    """Blocks whose guarded branch leads out of the innermost loop around it, and whether it is the only way out.

    Blocks of a loop are taken to follow each other.
    """
    blocks = kernel.blocks
    loops = [(block.target, at) for at, block in enumerate(blocks) if 0 <= block.target <= at]
    found = {}
    for at, block in enumerate(blocks):
        around = [(first, last) for first, last in loops if first <= at <= last]
        if block.branch is None or not block.branch.guard or not around:
            continue
        first, last = min(around, key=lambda loop: loop[1] - loop[0])
        if block.branch.parts[0] != "bra" or not first <= block.target <= last:
            found[at] = sum(_leads_out(blocks[each], each, first, last) for each in range(first, last + 1)) == 1
    return found


def _leads_out(block: Block, at: int, first: int, last: int) -> bool:
    if block.branch is None:
        return at == last
    goes = block.branch.parts[0] != "bra" or not first <= block.target <= last
    return goes or (at == last and bool(block.branch.guard))
