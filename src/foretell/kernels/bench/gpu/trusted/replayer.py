"""The replayer: validates Programs, carries them out over lent memory and times them with its own events.

Our code and the images of one Program per workload; no host code of a candidate or problem. Only where the Program is
the task's reference are expected values computed and inputs drawn with seeds (`expect`, `draw`), in a process that no
candidate's image enters.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from foretell.kernels.bench.gpu.session import Timed, is_sticky, poison
from foretell.kernels.bench.gpu.trusted.commands import Lent, Obey
from foretell.kernels.bench.gpu.trusted.player import Flags, Player, weights_by_name
from foretell.kernels.bench.gpu.trusted.precise import Precise
from foretell.kernels.program import Program
from foretell.kernels.program_check import check_signature
from foretell.kernels.program_codec import from_bytes
from foretell.kernels.record.replay import ReplayError, copy_into
from foretell.kernels.tasks.runtime import drawn_inputs


def make(platform: Any, lent: Lent) -> Obey:
    """The handler of the judge's commands: `program`, `check`, `prepare`, `run`, `batch`, `draw`, `expect`, `close`."""
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    return Replayer(platform, lent).obey


def rehearse(platform: Any) -> None:
    """Do once what replaying does, on a few numbers: torch loads each kernel of its own when it is first used."""
    stream, pool = platform.stream(), platform.graph_pool()
    with platform.using(stream):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32):
            poison(torch.empty(8, dtype=dtype, device=platform.device))
        source = torch.full((8,), 1, dtype=torch.uint8, device=platform.device).view(torch.float32)
    flush = torch.empty(platform.flush_bytes // 4, dtype=torch.int32, device=platform.device)
    platform.synchronize()
    with contextlib.suppress(RuntimeError):  # nothing can be captured on the CPU
        target = torch.empty_like(source)
        timed = Timed(
            platform, lambda: [source.clone()], flush, stream, pool, [target], [], contextlib.nullcontext()
        )  # fmt: skip
        timed.start()
        timed.hand_over()
        platform.synchronize()
        timed.close()


class Performance:
    """One Program on the input sets of one workload."""

    def __init__(self, platform: Any, program: Program, command: dict[str, Any], lent: Lent, precision: Flags) -> None:
        self._platform, self._program = platform, program
        self.inputs = [lent.tensors("inputs", places) for places in command["inputs"]]
        self.rings = [lent.tensors("outputs", places) for places in command["outputs"]]
        self._weights = weights_by_name(program, lent.tensors("outputs", command["weights"]))
        like = [(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in self.inputs[0]]
        returned = [(str(t.dtype).removeprefix("torch."), tuple(t.shape)) for t in self.rings[0]]
        check_signature(program, like, returned)
        self._precision, self._layouts = precision, [tuple(layout) for layout in command["layouts"]]
        self._player = self._made()
        self.stream: Any = None  # that its runs are timed on
        self._precise: Precise | None = None
        self.timed: list[Timed] = []
        self._erasers: list[Callable[[], None]] = []  # of the temporary memory of each captured run

    def _made(self) -> Player:
        """A player with its images freshly loaded, so that their global variables hold their initial values."""
        player = Player(self._program, self._platform.device, self._platform.load, self._precision)
        player.setup(self._weights)
        self._platform.synchronize()
        return player

    def check(self, sets: Sequence[int]) -> None:
        """Run on these sets with every buffer poisoned; the outputs go into the rings."""
        for number in sets:
            for output in self._player.state_outputs():
                poison(output)
            outputs = self._player.run_on(self.inputs[number])
            for ring, output in zip(self.rings[number], outputs, strict=True):
                ring.copy_(output)
            self._platform.synchronize()
            self._player.settle()

    def prepare(self, flush: Any, stream: Any, pool: Any) -> str:
        """Make the timed form for each set, images loaded anew: `graph` if all can be captured, else `eager`."""
        self.close()
        self._player = self._made()
        try:
            for number in range(len(self.inputs)):
                self.timed.append(self._timed(number, flush, stream, pool, captured=True))
                self._erasers.append(self._player.eraser())
            return "graph"
        except RuntimeError as error:
            if is_sticky(error):
                raise
            self._platform.synchronize()
        self.close()
        return self.prepare_eager(flush, pool)

    def prepare_eager(self, flush: Any, pool: Any) -> str:
        """Have each run launched step by step, because reference or candidate cannot be captured."""
        self.close()
        stream = self._platform.default_stream()
        self.timed = [self._timed(n, flush, stream, pool, captured=False) for n in range(len(self.inputs))]
        return "eager"

    def _timed(self, number: int, flush: Any, stream: Any, pool: Any, captured: bool) -> Timed:
        def run() -> list[Any]:
            """Outputs that are laid out otherwise than the reference's are made dense within the time."""
            with self._player.unpoisoned():
                outputs = zip(self._player.run_on(self.inputs[number]), self._layouts, strict=True)
                return [each if tuple(each.stride()) == layout else each.contiguous() for each, layout in outputs]

        self.stream = stream
        with self._platform.using(stream):
            run()  # libraries choose their algorithms and make their workspaces outside the capture
        self._platform.synchronize()
        watch = contextlib.nullcontext() if captured else None
        kept = [] if captured else self._player.state_outputs()
        return Timed(self._platform, run, flush, stream, pool, self.rings[number], kept, watch)

    def erase(self, number: int) -> None:
        """Poison the temporary memory of a captured run before it runs again."""
        if self._erasers:
            with self._platform.using(self.stream):
                self._erasers[number]()

    def forget(self) -> None:
        """Overwrite what a run that was launched step by step has left: memory that is handed out next holds none."""
        if self.timed and not self.timed[0].captured:
            self._player.forget()
            self._platform.synchronize()

    def expect(self, number: int, expected: Sequence[Any]) -> str:
        """Put the outputs without rounding into `expected`; says in which precision they were computed."""
        try:
            if self._precise is None:
                self._precise = Precise(self._program, self._platform.device)
                self._precise.setup(self._weights)
            found = self._precise.run(self.inputs[number])
            precision = "float64"
        except (ReplayError, RuntimeError) as error:
            if is_sticky(error):
                raise
            self._precise = None
            self._platform.let_go()  # doubles may not fit where the recorded types do
            found = self._player.run_on(self.inputs[number])
            precision = "as recorded"
        for target, value in zip(expected, found, strict=True):
            copy_into(target, value)
        self._platform.synchronize()
        self._player.settle()
        return precision

    def settle(self) -> None:
        """Let go of what runs that have ended were given."""
        self._player.settle()

    def close(self) -> None:
        for timed in self.timed:
            timed.close()
        self.timed, self._erasers = [], []


class Replayer:
    """The Programs of one reference or candidate, one per workload."""

    def __init__(self, platform: Any, lent: Lent) -> None:
        self._platform, self._lent = platform, lent
        self._performances: dict[int, Performance] = {}
        self._flush = torch.empty(platform.flush_bytes // 4, dtype=torch.int32, device=platform.device)
        self._stream = platform.stream()
        self._pool = platform.graph_pool()

    def obey(self, command: dict[str, Any]) -> dict[str, Any] | None:
        match command["do"]:
            case "program":
                self._load(command)
                return None
            case "close":
                self._close()
                return None
        performance = self._performances[command["workload"]]
        match command["do"]:
            case "check":
                performance.check(command["sets"])
                return None
            case "prepare":
                if command["captured"]:
                    return {"method": performance.prepare(self._flush, self._stream, self._pool)}
                return {"method": performance.prepare_eager(self._flush, self._pool)}
            case "run":
                self._draw(performance, command.get("before"))
                us = self._run(performance, command["set"], command.get("keep", True))
                performance.settle()
                self._draw(performance, command.get("after"))
                return {"us": us}
            case "draw":
                self._draw(performance, command["before"])
                return None
            case "batch":
                self._batch(performance, command["order"])
                performance.settle()
                return None
            case "expect":
                expected = self._lent.tensors("expected", command["expected"])
                return {"precision": performance.expect(command["set"], expected)}
        raise ValueError(f"unknown command {command['do']!r}")

    def _load(self, command: dict[str, Any]) -> None:
        torch.backends.cudnn.allow_tf32 = command["cudnn_tf32"]
        program = from_bytes(command["program"])
        performance = Performance(self._platform, program, command, self._lent, tuple(command["precision"]))
        self._performances[command["workload"]] = performance

    def _run(self, performance: Performance, number: int, keep: bool) -> float:
        """Only the reference's outputs need not be kept: a candidate must not see which runs are looked at."""
        timed = performance.timed[number]
        performance.erase(number)
        if keep:
            self._poison(performance, number)
        timed.start()
        self._platform.synchronize()
        if keep:
            timed.hand_over()
            self._platform.synchronize()
        performance.forget()
        return timed.elapsed_us()

    def _draw(self, performance: Performance, drawing: dict[str, Any] | None) -> None:
        """New data in every element of some sets, each with its seed (`Scene.seeded`)."""
        if not drawing:
            return
        for number, seed in drawing["draws"]:
            drawn = drawn_inputs(drawing["fills"], drawing["sizes"], seed, self._platform.device)
            for target, value in zip(performance.inputs[number], drawn, strict=True):
                copy_into(target, value)
        self._platform.synchronize()

    def _batch(self, performance: Performance, order: Sequence[int]) -> None:
        """Runs one right after the other; each puts its outputs where the judge looks."""
        for number in order:
            self._poison(performance, number)
            performance.timed[number].start()
            performance.timed[number].hand_over()
        self._platform.synchronize()
        performance.forget()

    def _poison(self, performance: Performance, number: int) -> None:
        """Overwrite where the outputs of a run go, on the stream that it runs on."""
        with self._platform.using(performance.stream):
            for ring in performance.rings[number]:
                poison(ring)

    def _close(self) -> None:
        for performance in self._performances.values():
            performance.close()
        self._performances.clear()
        gc.collect()
        self._platform.let_go()
