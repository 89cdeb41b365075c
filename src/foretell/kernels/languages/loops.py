"""What stands in the way of innermost loops, by their own instructions: calls, and stores to the stack.

A compiler lays code out of line and makes copies of loops for rare cases. What counts here is a loop that control can
go round, without code that lies between its ends and belongs to something else, and no copy for a failing square root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foretell.kernels.languages.disassembly import (
    Instruction,
    functions,
    innermost_loops,
    is_jump,
    is_spill,
    jump_target,
)

_HARMLESS = ("mem", "GOMP_", "omp_", "__kmpc_", "_ZGV", "__stack_chk")  # no mathematics, or that of vectors
_ROOTS = ("sqrt", "sqrtf", "sqrtl")  # of a number below zero; others are computed by an instruction


@dataclass(frozen=True)
class LoopFacts:
    """Of all innermost loops of an object: names of functions called in them, and how many stores to the stack."""

    calls: tuple[str, ...] = ()
    stack_stores: int = 0


def loop_facts(listing: str) -> LoopFacts:
    """Read a listing of `objdump -d`."""
    calls: dict[str, None] = {}
    stores = 0
    for body in functions(listing).values():
        for span in innermost_loops(body):
            loop = _own(span)
            names = [_callee(each) for each in loop if each.op.startswith("call") or each.op in ("bl", "blr")]
            if any(name in _ROOTS for name in names):
                continue
            calls |= dict.fromkeys(name for name in names if not name.startswith(_HARMLESS))
            stores += sum(map(is_spill, loop))
    return LoopFacts(tuple(calls), stores)


def _callee(call: Instruction) -> str:
    return call.symbol.partition("@")[0] or "a function"


def _own(span: Sequence[Instruction]) -> list[Instruction]:
    """The instructions on a way from a loop's head to its jump back; none if there is no such way."""
    places = {each.address: place for place, each in enumerate(span)}
    after = [_next(span, place, places) for place in range(len(span))]
    before: list[list[int]] = [[] for _ in span]
    for place, following in enumerate(after):
        for other in following:
            before[other].append(place)
    on_the_way = _reached(0, after) & _reached(len(span) - 1, before)
    return [span[place] for place in sorted(on_the_way)]


def _next(span: Sequence[Instruction], place: int, places: dict[int, int]) -> list[int]:
    instruction = span[place]
    found = [place + 1] if place + 1 < len(span) and not _is_end(instruction.op) else []
    target = places.get(jump_target(instruction) or 0) if is_jump(instruction.op) else None
    return found if target is None else [*found, target]


def _is_end(op: str) -> bool:
    return op in ("b", "br") or op.startswith(("ret", "jmp"))


def _reached(start: int, after: Sequence[Sequence[int]]) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = [other for other in after[waiting.pop()] if other not in seen]
        seen.update(fresh)
        waiting += fresh
    return seen
