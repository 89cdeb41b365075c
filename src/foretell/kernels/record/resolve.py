"""Two recordings of the same call, with all tensors elsewhere: what they agree on is the Program.

A word of a launch's arguments is a pointer if it lies at the same place of the same buffer both times. Any other
difference means that the host code depends on data or addresses, and the call cannot be recorded.
"""

from __future__ import annotations

from dataclasses import replace

from foretell.kernels.program import Launch, LibraryCall, Pointer, Step, TensorMap
from foretell.kernels.record.assemble import Draft
from foretell.kernels.record.parameters import WORD, words
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.record.session import RawMap, Session


def resolved(session: Session, first: Draft, second: Draft) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Setup and run of the first draft with pointers in the place of addresses; Refused where the drafts differ."""
    if first.buffers != second.buffers:
        raise _differs("the sizes of the tensors it allocates")
    if (first.inputs, first.weights, first.outputs) != (second.inputs, second.weights, second.outputs):
        raise _differs("the shape or layout of its outputs")
    setup = _steps(session, first, second, "setup")
    return setup, _steps(session, first, second, "run")


def _steps(session: Session, first: Draft, second: Draft, phase: str) -> tuple[Step, ...]:
    mine, other = (draft.setup if phase == "setup" else draft.run for draft in (first, second))
    if len(mine) != len(other):
        raise _differs(f"the number of its steps ({len(mine)}, then {len(other)})")
    found: list[Step] = []
    for at, (step, again) in enumerate(zip(mine, other, strict=True)):
        if isinstance(step, Launch) and isinstance(again, Launch):
            found.append(_launch(session, first, second, step, again, first.maps.get((phase, at), ())))
        elif step != again:
            raise _differs(f"what it does in step {at} ({_name(step)}, then {_name(again)})")
        else:
            found.append(step)
    return tuple(found)


def _launch(
    session: Session, first: Draft, second: Draft, launch: Launch, again: Launch, maps: tuple[RawMap, ...]
) -> Launch:
    if replace(launch, arguments=b"") != replace(again, arguments=b"") or len(launch.arguments) != len(again.arguments):
        raise _differs(f"how it launches {launch.entry}")
    covered = {each.position for each in maps}
    pointers, tensor_maps, block = [], [], bytearray(launch.arguments)
    for (at, word), (_, twin) in zip(words(launch.arguments), words(again.arguments), strict=True):
        place, its_place = session.find(word), session.find(twin)
        if place is not None and its_place is not None:
            buffer, its_buffer = first.numbers.get(place[0]), second.numbers.get(its_place[0])
            if buffer is not None and buffer == its_buffer and place[1] == its_place[1]:
                block[at : at + WORD] = bytes(WORD)
                if at in covered:
                    raw = next(each for each in maps if each.position == at)
                    tensor_maps.append(_tensor_map(raw, buffer, place[1]))
                else:
                    pointers.append(Pointer(at, buffer, place[1]))
                continue
        if word != twin:
            raise _differs(f"byte {at} of the arguments of {launch.entry}")
    if len(tensor_maps) != len(maps):
        raise Refused(Reason.LAUNCH, f"a tensor descriptor of {launch.entry} is not over a tensor that was seen")
    return replace(launch, arguments=bytes(block), pointers=tuple(pointers), tensor_maps=tuple(tensor_maps))


def _tensor_map(raw: RawMap, buffer: int, offset_bytes: int) -> TensorMap:
    promote_128_bytes = 2
    return TensorMap(
        raw.position, buffer, offset_bytes, raw.element, raw.shape, raw.strides_bytes, raw.box,
        swizzle=raw.swizzle, promotion=promote_128_bytes, fill=raw.fill,
    )  # fmt: skip


def _name(step: Step) -> str:
    if isinstance(step, LibraryCall):
        return step.operator
    return step.entry if isinstance(step, Launch) else type(step).__name__


def _differs(what: str) -> Refused:
    return Refused(Reason.DEPENDS_ON_DATA, f"{what} changed with other inputs, weights and addresses")
