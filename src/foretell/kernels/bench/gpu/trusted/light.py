"""The light replayer: Programs of launches, fills and copies, carried out by the driver alone over lent memory.

It does what `replayer` does, in a context without torch. Whatever calls a library, uses several streams or uploads
within a run is for `replayer`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from foretell.kernels.bench.gpu.bare import Bare
from foretell.kernels.bench.gpu.session import is_sticky
from foretell.kernels.bench.gpu.trusted.commands import Lent, Obey
from foretell.kernels.bench.gpu.trusted.player import check_memory
from foretell.kernels.bench.gpu.trusted.stage import dense
from foretell.kernels.program import Allocate, Copy, Fill, Launch, Program, Region, Role, Step, View
from foretell.kernels.program_check import Fault, InvalidProgram, check, check_signature
from foretell.kernels.program_codec import from_bytes
from foretell.kernels.record.replay import POISON, launched, places_of

MOST_BYTES = 8 << 30  # of buffers: temporary ones do not share memory here
_ALIGNED = 512


def is_light(program: Program) -> bool:
    """Whether a Program consists of what the light replayer can do."""
    steps = all(isinstance(step, Allocate | Launch | Fill | Copy) for step in (*program.setup, *program.run))
    views = (*program.outputs, *(weight.view for weight in program.weights))
    return (
        steps
        and all(getattr(step, "stream", 0) == 0 for step in (*program.setup, *program.run))
        and all(view.strides == dense(view).strides or math.prod(view.shape) <= 1 for view in views)
        and sum(buffer.bytes for buffer in program.buffers) <= MOST_BYTES
    )


def make(device: Bare, lent: Lent) -> Obey:
    """The handler of the judge's commands: `program`, `check`, `prepare`, `run`, `batch`."""
    return _Light(device, lent).obey


class _Instance:
    """A Program with freshly loaded images, whose global variables hold their initial values."""

    def __init__(self, device: Bare, program: Program, memory: dict[int, int]) -> None:
        self._device, self._program, self._memory = device, program, memory
        self._modules = {image.hash: device.load(image) for image in program.images}
        for step in (*program.setup, *program.run):
            if isinstance(step, Launch):
                self._modules[step.image].prepare(step.entry)
        self._kept: list[Any] = []  # what kernels that have not ended may still read
        self._constants: dict[bytes, int] = {}  # of the host's that a run copies: where they lie on the device
        for step in program.run:
            if isinstance(step, Copy) and isinstance(step.source, bytes) and step.source not in self._constants:
                self._constants[step.source] = device.allocate(len(step.source))
                device.write(self._constants[step.source], step.source)

    def set_up(self, weights: Sequence[int]) -> None:
        """Make the state from weights at these addresses."""
        for weight, address in zip(self._program.weights, weights, strict=True):
            target = self._memory[weight.view.buffer] + weight.view.offset_bytes
            self._device.copy(target, address, _bytes(weight.view))
        self._steps(self._program.setup, self._memory)
        self._device.synchronize()

    def run(self, inputs: Sequence[int]) -> None:
        """Queue the run on inputs at these addresses."""
        buffers = [view.buffer for view in self._program.inputs]
        self._steps(self._program.run, self._memory | dict(zip(buffers, inputs, strict=True)))

    def settle(self) -> None:
        """Let go of what kernels that have ended were given."""
        self._kept.clear()

    def _steps(self, steps: Sequence[Step], memory: dict[int, int]) -> None:
        device = self._device
        for step in steps:
            match step:
                case Launch():
                    places, module = places_of(self._program, step), self._modules[step.image]
                    self._kept.append(launched(module, step, places, memory, device.handle))
                case Fill():
                    region = step.region
                    address, width = memory[region.buffer] + region.offset_bytes, len(step.pattern)
                    device.fill(address, step.pattern, region.bytes // width)
                case Copy(target, bytes() as data) if data in self._constants:
                    device.copy(memory[target.buffer] + target.offset_bytes, self._constants[data], len(data))
                case Copy(target, bytes() as data):
                    device.write(memory[target.buffer] + target.offset_bytes, data)
                case Copy(target, Region() as source):
                    address = memory[source.buffer] + source.offset_bytes
                    device.copy(memory[target.buffer] + target.offset_bytes, address, target.bytes)


class _Timed:
    """A run on one set of inputs between two events, behind a flushed cache: a graph, or launched step by step."""

    def __init__(self, device: Bare, run: Callable[[], None], flush: int, captured: bool) -> None:
        self._device, self._run, self._flush = device, run, flush
        self._start, self._end = device.event(), device.event()
        self._replay = device.capture(self._record) if captured else None

    @property
    def captured(self) -> bool:
        return self._replay is not None

    def launch_steps(self) -> None:
        """Use no graph from now on."""
        self._replay = None

    def _record(self) -> None:
        self._flushed()
        self._start.record_in_graph(self._device.handle)
        self._run()
        self._end.record_in_graph(self._device.handle)

    def _flushed(self) -> None:
        self._device.fill(self._flush, bytes(4), self._device.flush_bytes // 4)

    def start(self) -> None:
        if self._replay is not None:
            self._replay()
            return
        self._flushed()
        self._start.record(self._device.handle)
        self._run()
        self._end.record(self._device.handle)

    def elapsed_us(self) -> float:
        return float(self._start.elapsed_us(self._end))


class _Performance:
    """One Program on the input sets of one workload."""

    def __init__(self, device: Bare, program: Program, command: dict[str, Any], lent: Lent, flush: int) -> None:
        self._device, self._program = device, check(program)
        check_memory(program)
        likes, rings = command["inputs"][0], command["outputs"][0]
        check_signature(program, *([(_name(p.dtype), p.shape) for p in places] for places in (likes, rings)))
        for view, place in zip(program.inputs, likes, strict=True):
            if view.strides != place.stride or view.offset_bytes:
                what = f"an input of shape {view.shape} is laid out otherwise than the task's"
                raise InvalidProgram(Fault.SIGNATURE, what)
        if not is_light(program):
            raise InvalidProgram(Fault.FORMAT, "it does more than launch, fill and copy")
        self._inputs = [lent.addresses("inputs", places) for places in command["inputs"]]
        self._rings = [lent.addresses("outputs", places) for places in command["outputs"]]
        self._weights = lent.addresses("outputs", command["weights"])
        self._size, offsets = 0, {}
        for number, buffer in enumerate(program.buffers):
            if buffer.role is not Role.INPUT:
                offsets[number] = self._size
                self._size += -(-buffer.bytes // _ALIGNED) * _ALIGNED
        self._start = device.allocate(self._size)
        self._memory = {number: self._start + offset for number, offset in offsets.items()}
        self._all_output = frozenset(v.buffer for v in program.outputs if _bytes(v) == program.buffers[v.buffer].bytes)
        self._flush = flush
        self._instance = _Instance(device, program, self._memory)
        self._is_set_up = False
        self._next: tuple[_Instance, list[_Timed]] | None = self._made()
        self._timed: list[_Timed] = []

    def _made(self) -> tuple[_Instance, list[_Timed]]:
        """An instance with its timed form for each set, as graphs if they can be captured. Nothing runs."""
        instance = _Instance(self._device, self._program, self._memory)
        runs = [(lambda inputs=inputs: instance.run(inputs)) for inputs in self._inputs]
        try:
            return instance, [_Timed(self._device, run, self._flush, True) for run in runs]
        except RuntimeError as error:
            if is_sticky(error):
                raise
        return instance, [_Timed(self._device, run, self._flush, False) for run in runs]

    def _set_up(self) -> None:
        """Every buffer is poisoned first."""
        self._poison(self._start, self._size)
        self._instance.set_up(self._weights)
        self._is_set_up = True

    def check(self, sets: Sequence[int]) -> None:
        """Run on these sets with every buffer poisoned; the outputs go into the rings."""
        if not self._is_set_up:
            self._set_up()
        for number in sets:
            self._forget()
            self._instance.run(self._inputs[number])
            self._hand_over(number)
            self.settle()

    def _forget(self, but: frozenset[int] = frozenset()) -> None:
        """Poison temporary memory: a run must not find there what another one has left."""
        for buffer, address in self._memory.items():
            if self._program.buffers[buffer].role is Role.TEMPORARY and buffer not in but:
                self._poison(address, self._program.buffers[buffer].bytes)

    def prepare(self, captured: bool) -> str:
        """Make ready to be timed, with images that nothing has run of: `graph`, or `eager` if they cannot be captured.

        If not `captured`, each run is launched step by step, because the reference's cannot be captured.
        """
        self._instance, self._timed = self._next or self._made()
        self._next = None
        if not captured:
            for timed in self._timed:
                timed.launch_steps()
        self._set_up()
        return "graph" if all(timed.captured for timed in self._timed) else "eager"

    def run_us(self, number: int) -> float:
        self._forget(self._all_output)
        self.queue(number)
        self.settle()
        return self._timed[number].elapsed_us()

    def settle(self) -> None:
        """Wait for what was queued."""
        self._device.synchronize()
        self._instance.settle()

    def close(self) -> None:
        self._device.free(self._start)

    def queue(self, number: int) -> None:
        """One timed run behind poisoned outputs, which then go to the ring of its set.

        The ring is poisoned too, before every run: kernels can read it, and must not see which runs are looked at.
        """
        for view, ring in zip(self._program.outputs, self._rings[number], strict=True):
            word = _poison_word(view.dtype)
            self._poison(self._memory[view.buffer] + view.offset_bytes, _bytes(view), word)
            self._poison(ring, _bytes(view), word)
        self._timed[number].start()
        self._hand_over(number)

    def _poison(self, address: int, size: int, word: bytes = bytes([POISON]) * 4) -> None:
        width = 4 if size % 4 == 0 and address % 4 == 0 else 1
        self._device.fill(address, word[:width], size // width)

    def _hand_over(self, number: int) -> None:
        for view, ring in zip(self._program.outputs, self._rings[number], strict=True):
            self._device.copy(ring, self._memory[view.buffer] + view.offset_bytes, _bytes(view))


def _poison_word(dtype: str) -> bytes:
    """Four bytes that outputs are filled with, drawn anew: no right answer throughout, NaN or an ordinary number."""
    if dtype == "bool":
        return secrets.choice((b"\0\1\0\1", b"\1\0\1\0"))
    if "float" in dtype:
        return secrets.choice((bytes([POISON]) * 4, bytes(0x40 + secrets.randbelow(6) for _ in range(4))))
    return bytes(2 + secrets.randbelow(120) for _ in range(4))


class _Light:
    """The Programs of one candidate, one per workload."""

    def __init__(self, device: Bare, lent: Lent) -> None:
        self._device, self._lent = device, lent
        self._performances: dict[int, _Performance] = {}
        self._flush = device.allocate(device.flush_bytes)

    def obey(self, command: dict[str, Any]) -> dict[str, Any] | None:
        if command["do"] == "program":
            self._load(command)
            return None
        performance = self._performances[command["workload"]]
        match command["do"]:
            case "check":
                performance.check(command["sets"])
                return None
            case "prepare":
                return {"method": performance.prepare(command["captured"])}
            case "run":
                return {"us": performance.run_us(command["set"])}
            case "batch":
                for number in command["order"]:
                    performance.queue(number)
                performance.settle()
                return None
        raise ValueError(f"unknown command {command['do']!r}")

    def _load(self, command: dict[str, Any]) -> None:
        before = self._performances.pop(command["workload"], None)
        if before is not None:
            before.close()
        program = from_bytes(command["program"])
        performance = _Performance(self._device, program, command, self._lent, self._flush)
        self._performances[command["workload"]] = performance


def _bytes(view: View) -> int:
    return view.count * view.item_bytes


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
