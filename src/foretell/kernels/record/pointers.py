"""What the arguments of a recorded launch point to, while they still hold virtual addresses."""

from __future__ import annotations

from foretell.kernels.program import Launch
from foretell.kernels.record.parameters import parameters_of, words
from foretell.kernels.record.refusal import Refused
from foretell.kernels.record.session import Session
from foretell.kernels.record.stores import stored_parameters


def stored_buffers(session: Session, launch: Launch) -> frozenset[int]:
    """Allocations that the kernel may write: those it stores through, or all where that cannot be told."""
    ptx = session.images[launch.image].ptx
    try:
        stored = stored_parameters(ptx, launch.entry) if ptx else None
        if stored is None:
            return session.pointed_to(launch.arguments)
        parameters = [parameters_of(ptx, launch.entry)[number] for number in stored]
    except Refused:
        return session.pointed_to(launch.arguments)
    ranges = [(parameter.offset, parameter.offset + parameter.size) for parameter in parameters]
    found = (
        session.find(word) for at, word in words(launch.arguments) if any(low <= at < high for low, high in ranges)
    )
    return frozenset(place[0] for place in found if place is not None)
