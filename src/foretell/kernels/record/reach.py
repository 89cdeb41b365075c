"""Which allocations a step of the log reads, writes and overwrites."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.program import (
    Allocate,
    Copy,
    Fill,
    Launch,
    LibraryCall,
    Region,
    Step,
    SymbolUpload,
    View,
    buffers_read,
    buffers_written,
)
from foretell.kernels.record.pointers import stored_buffers
from foretell.kernels.record.session import Session


@dataclass(frozen=True)
class Touched:
    """Allocations by what a step does with them.

    `read`: its results may depend on their contents. `written`: it may change them. `overwritten`: nothing of what they
    held is left, nor was it read. `created`: they come into being. `named`: all that it is given.
    """

    read: frozenset[int]
    written: frozenset[int]
    overwritten: frozenset[int]
    created: frozenset[int]
    named: frozenset[int]

    @property
    def needed(self) -> frozenset[int]:
        """Allocations whose contents must be as they were."""
        return self.read | (self.written - self.overwritten)


class Reach:
    """Of launches these are the allocations that its arguments point to.

    Numbers below zero stand for the variables of an image that host code writes (`Session.symbol`).
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[int, Touched] = {}

    def read(self, step: Step) -> frozenset[int]:
        return self.of(step).read

    def written(self, step: Step) -> frozenset[int]:
        return self.of(step).written

    def of(self, step: Step) -> Touched:
        key = id(step)
        if key not in self._seen:
            self._seen[key] = self._touched(step)
        return self._seen[key]

    def _touched(self, step: Step) -> Touched:
        session, none = self._session, frozenset[int]()
        match step:
            case Launch():
                read = session.pointed_to(step.arguments) | session.symbols_of(step.image)
                return Touched(read, stored_buffers(session, step), none, none, read)
            case SymbolUpload():
                size = step.source.bytes if isinstance(step.source, Region) else len(step.source)
                place = frozenset({session.symbol(step.image, step.symbol, step.offset_bytes, size)})
                read = frozenset(buffers_read(step))
                return Touched(read, place, place, none, read | place)
            case Allocate():
                made = frozenset({step.buffer})
                return Touched(none, made, made, made, made)
            case LibraryCall():
                return self._called(step)
        read, written = frozenset(buffers_read(step)), frozenset(buffers_written(step))
        overwritten = none
        region = step.region if isinstance(step, Fill) else step.target if isinstance(step, Copy) else None
        if region is not None and region.bytes == session.sizes[region.buffer]:
            overwritten = frozenset({region.buffer}) - read
        return Touched(read, written, overwritten, none, read | written)

    def _called(self, call: LibraryCall) -> Touched:
        read, written = frozenset(buffers_read(call)), frozenset(buffers_written(call))
        given = frozenset(view.buffer for view in (*call.tensors(), *call.mutated))
        created = frozenset(view.buffer for view in call.results if view is not None) - given
        whole = {view.buffer for view in call.mutated if _covers(view, self._session.sizes[view.buffer])}
        return Touched(read, written, (created | whole) - read, created, given | created)


def _covers(view: View, size: int) -> bool:
    """Whether every byte of a buffer of that size belongs to an element of the view."""
    if view.offset_bytes or view.count * view.item_bytes != size:
        return False
    expected = 1
    for stride, side in sorted(zip(view.strides, view.shape, strict=True)):
        if side != 1 and stride != expected:
            return False
        expected *= side
    return True
