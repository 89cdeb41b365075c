"""How a candidate's process ended, from its last words and its exit status: a closed grammar, and bounded."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence

from foretell.kernels.bench.arena import Slot, name_fault
from foretell.kernels.measurement import Status

LAST_WORDS_BYTES = 1024
# A candidate can write to the channel of last words too, so what may be on it is narrow, and it is one line: numbers,
# and before it is loaded what the loader says, which can name its symbols.
_FORBIDDEN = re.compile(r"s (\d{1,6})\n")
_STRAYED = re.compile(r"g (\d{1,18}) (\d{1,2})\n")
_BAD_ACCESS = re.compile(r"v (-?\d{1,20}) (\d{1,2})\n")
_BETWEEN = "b\n"
_REGISTERS = "r\n"
_NOT_LOADED = re.compile(r"e ([ -~]{1,490})\n")
_NO_PATH_OR_SYMBOL = re.compile(r"[^\w .,:;/+@$()'`~-]", re.ASCII)  # a message is not markup


class WorkerFault(Exception):
    """The candidate's process ended or strayed; `status` and the message say how."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Starved(WorkerFault):
    """A call did not end in the time that it may take at most, for most of which others kept it from the processors."""

    def __init__(self, message: str) -> None:
        super().__init__(Status.INFRASTRUCTURE, message)


def spoke_up() -> WorkerFault:
    """The verdict on a candidate that wrote to the channel of last words and lived on, or wrote what nobody writes."""
    return WorkerFault(Status.CHEAT, "wrote to the bench's own channel")


def fault(
    last_words: bytes, kind: str, number: int, slots: Sequence[Slot], names: Mapping[int, str], loaded: bool = True
) -> WorkerFault:
    """The verdict on a process that ended.

    Args:
        last_words: What it wrote before, at most LAST_WORDS_BYTES of it.
        kind: `x` if it left with the exit code `number`, `k` if the signal `number` ended it.
        slots: The buffers of its last call, to name those near which it strayed.
        names: Names of system calls by number (`keeper.call_names`).
        loaded: Whether the candidate's object had been loaded: from then on nobody but it says that it cannot be.
    """
    if not last_words:
        return _silent(kind, number)
    text = last_words.decode("ascii", errors="replace")
    text = text.removeprefix(_REGISTERS) or _REGISTERS  # changed flags may make the way out fail in its turn
    if match := _FORBIDDEN.fullmatch(text):
        name = names.get(int(match[1]), f"number {match[1]}")
        return WorkerFault(Status.CHEAT, f"tried a forbidden system call: {name}")
    if match := _STRAYED.fullmatch(text):
        message, to_input = name_fault(slots, int(match[1]))
        return WorkerFault(Status.CHEAT if to_input else Status.CRASH, message)
    if text == _BETWEEN:
        return WorkerFault(
            Status.CRASH, "touched its buffers after its call had returned, by a thread or handler it left"
        )
    if match := _BAD_ACCESS.fullmatch(text):
        return WorkerFault(Status.CRASH, f"{_signal_name(int(match[2]))} at address {match[1]}")
    if text == _REGISTERS:
        what = "changed registers, the stack's place or the rounding mode that it must leave as its caller had them"
        return WorkerFault(Status.CRASH, what)
    if not loaded and (match := _NOT_LOADED.fullmatch(text)):
        return WorkerFault(Status.LAUNCH_ERROR, f"could not be loaded: {_NO_PATH_OR_SYMBOL.sub('?', match[1])}")
    return spoke_up()


def _silent(kind: str, number: int) -> WorkerFault:
    if kind == "x":
        return WorkerFault(Status.CRASH, f"left the process with exit code {number} instead of returning")
    if number == signal.SIGSYS:
        return WorkerFault(Status.CHEAT, "tried a forbidden system call: a handler of its own for those")
    return WorkerFault(Status.CRASH, f"died of {_signal_name(number)}")


def _signal_name(number: int) -> str:
    known = {int(each): each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")
