"""A task laid out for trusted replay: its reference's process, fresh data with expected values, and comparisons."""

from __future__ import annotations

import os
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from foretell.kernels.bench.gpu.handle import WorkerFailed
from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.bench.gpu.session import poison
from foretell.kernels.bench.gpu.trusted.altered import altered, is_alterable
from foretell.kernels.bench.gpu.trusted.known import ALTERED, DRAWN, Known, all_true, same
from foretell.kernels.bench.gpu.trusted.player import precision_of
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.bench.gpu.trusted.source import Source
from foretell.kernels.bench.gpu.trusted.stage import Room, Side, Stage, dense, stage_bytes
from foretell.kernels.bench.gpu.trusted.variants import FINITE, STEPPED, TAILS, UNEVEN, applied, independent, names_for
from foretell.kernels.bench.gpu.trusted.verdict import is_near, is_tame, scale_of, tolerance_of
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.program import Program, Weight
from foretell.kernels.program_codec import to_bytes
from foretell.kernels.record.replay import copy_into
from foretell.kernels.task import Task, Tolerance
from foretell.kernels.tasks.trees import bits


@dataclass(frozen=True)
class LiveAlone:
    """A live reference while no candidate was there: microseconds per run, and seconds of an empty batch."""

    us: float
    null_s: float


class Scene:
    """The rooms of a task, and its reference at work in a process of its own.

    Args:
        task: The task, only for its workloads and tolerance: none of its code runs here.
        programs: The reference's Program of each workload, timed ones first.
        platform: The device.
        effort: How much is checked.
        reference: The process that carries the reference out; no candidate's image ever enters it.
    """

    def __init__(
        self, task: Task, programs: Sequence[Program], platform: Platform, effort: GpuEffort, reference: Process
    ) -> None:
        self._task, self._platform, self._effort, self.reference = task, platform, effort, reference
        self.inputs, self._expected = Room(platform), Room(platform)
        workloads = [*task.workloads, *task.extra]
        largest = max(stage_bytes(program) for program in programs)
        most = max(1, effort.set_bytes // max(1, largest * len(programs)))
        self.stages = []
        for number, (workload, program) in enumerate(zip(workloads, programs, strict=True)):
            timed = number < len(task.workloads)
            sets = min(effort.replay_sets, most) if timed else 1
            inputs = [[self.inputs.place(v, getattr(torch, v.dtype)) for v in program.inputs] for _ in range(sets)]
            expected = [self._expected.place(dense(v), wide(v.dtype)) for v in program.outputs]
            kept: list[list[Any]] = [[] for _ in range(sets)]
            self.stages.append(Stage(workload, timed, program, sets, inputs, expected, kept, [None] * sets))
        self.shared = self._side(())  # of candidates without weights: some are made ready ahead of their turn
        self.sides = [self._side(programs[0].weights), self.shared]  # the reference's, and that of who has their turn
        self.precision = precision_of(programs[0])
        self.cudnn_tf32 = task.kind != "library"
        self.known: list[list[Known]] = [[] for _ in self.stages]
        self._source: Source | None = None
        self.methods: dict[int, str] = {}
        self.batches: dict[int, tuple[list[float], list[float]]] = {}  # of the reference: whole ones and empty ones
        self.live_alone: dict[int, LiveAlone] = {}
        self.spent_s: dict[str, float] = defaultdict(float)

    def _side(self, weights: Sequence[Weight]) -> Side:
        """Room for the outputs of all sets, and for weights."""
        room = Room(self._platform)
        rings = []
        for stage in self.stages:
            places = [[room.place(dense(v), getattr(torch, v.dtype)) for v in stage.reference.outputs]
                      for _ in range(stage.sets)]  # fmt: skip
            rings.append(places)
        return Side(room, rings, [room.place(weight.view, getattr(torch, weight.view.dtype)) for weight in weights])

    def seat(self, weights: Sequence[Weight] = ()) -> None:
        """It is a candidate's turn: one with weights has a side of its own. All are poisoned before each run."""
        self.sides[1] = self._side(weights) if weights else self.shared
        for room in (self.inputs, self.sides[1].room):
            room.fill_between()

    def strayed(self) -> Measurement | None:
        """A fault if the candidate has written behind what it was lent: it could tell its runs apart by that."""
        for what, room in (("an input", self.inputs), ("an output", self.sides[1].room)):
            if room.is_written_between():
                return Measurement(Status.WRONG, f"memory behind {what} was written")
        return None

    def open(self, source: Source) -> None:
        """Draw the inputs that every candidate is checked on. Raises WorkerFailed, BadTask."""
        self._source = source
        self.open_reference()
        for index, stage in enumerate(self.stages):
            self.fill(index, 0)
            self.known[index] = [self.bounded(self.known_now(index, DRAWN))]
            drawn = [tensor.clone() for tensor in self.inputs.tensors(stage.inputs[0])]
            accepted: list[str] = []
            for name in self._variants(index):
                is_needed = name != UNEVEN or STEPPED not in accepted
                changes = partial(applied, torch, name, drawn)
                accepted += [name] if is_needed and self._try_known(index, name, changes) else []
            if constants := self._constants(index, drawn):
                others = partial(_altered, drawn, constants)
                self._try_known(index, ALTERED, others)

    @property
    def tf32(self) -> str:
        """Where float32 products may be computed in TF32, for reference and candidate alike."""
        flags = dict(self.precision)
        places = {
            "matrix products": flags.get("matmul_precision", "highest") != "highest",
            "cuDNN": bool(flags.get("cudnn_tf32", self.cudnn_tf32)),
        }
        return ", ".join(place for place, allowed in places.items() if allowed) or "nowhere"

    @property
    def precisions(self) -> str:
        """How expected values were computed."""
        return ", ".join(sorted({stage.precision for stage in self.stages} - {""}))

    def open_reference(self) -> None:
        """Have the reference's process carry out its Programs, on all sets."""
        self.reference.renew()
        self.methods.clear()
        self.batches.clear()
        limit_s = self._effort.open_timeout_s
        for name, room in (("inputs", self.inputs), ("outputs", self.sides[0].room), ("expected", self._expected)):
            self.reference.lend(name, room, limit_s)
        for index, stage in enumerate(self.stages):
            self.load(self.reference, self.sides[0], index, stage.reference)

    def load(self, process: Process, side: Side, index: int, program: Program) -> None:
        """Have a process take in the Program of a workload."""
        process.ask(
            "program", self._effort.load_timeout_s, workload=index, program=to_bytes(program),
            inputs=self.stages[index].inputs, outputs=side.rings[index], weights=side.weights,
            precision=self.precision, cudnn_tf32=self.cudnn_tf32,
            layouts=[view.strides for view in self.stages[index].reference.outputs],
        )  # fmt: skip

    def _variants(self, index: int) -> Sequence[str]:
        """The distributions that there is room for, all of them on the first workload: what a problem draws says which
        numbers it is for; the library's tasks are for all that outputs are finite for.
        """
        stage, is_library = self.stages[index], self._task.kind == "library"
        floats = [view.dtype for view in stage.reference.inputs if "float" in view.dtype]
        names = names_for(self._task.family, is_library, set(floats) == {"float32"})
        by_place = [STEPPED, UNEVEN]
        if self._effort.set_bytes < 8 * stage_bytes(stage.reference):
            return by_place
        return names if index == 0 else [*by_place, secrets.choice([name for name in names if name not in by_place])]

    def _constants(self, index: int, drawn: Sequence[Any]) -> list[int]:
        """Inputs that are the same in every draw, of those that may hold other values and are not changed otherwise."""
        if self._task.kind == "library":
            return []
        chosen = independent(torch, list(drawn))
        places = [n for n, t in enumerate(drawn) if not chosen[n] and is_alterable(torch, t)]
        if not places:
            return []
        self.fill(index, 0)
        again = self.inputs.tensors(self.stages[index].inputs[0])
        return [n for n in places if torch.equal(bits(again[n]), bits(drawn[n]))]

    def _try_known(self, index: int, name: str, change: Callable[[], list[Any] | None]) -> bool:
        """Add the check on other data, if the reference can deal with it and there is memory."""
        try:
            changed = change()
            if changed is None:
                return False
            self.put(index, 0, changed)
            known = self.known_now(index, name)
        except WorkerFailed:  # such as an assertion in a loss function: then the task is not for these numbers
            if not self.reference.alive:
                self.open_reference()
            return False
        except torch.OutOfMemoryError:
            self._platform.let_go()
            return False
        if name in FINITE:
            found = known.finite()
            self.known[index] += [found] if found else []
            return found is not None
        if name in TAILS:
            drawn_outputs = self.known[index][0].expected
            known = replace(known, scales=[scale_of(torch, e) if e.is_floating_point() else 0.0 for e in drawn_outputs])
        if not self.is_tame(known):
            return False
        self.known[index].append(self.bounded(known))
        return True

    def bounded(self, known: Known) -> Known:
        """The same with bounds by the task's tolerance."""
        return known.bounded(self._tolerance)

    def is_tame(self, known: Known) -> bool:
        outputs = zip(known.expected, known.own, known.scales, strict=True)
        return all(is_tame(torch, expected, own, self._tolerance(own), scale) for expected, own, scale in outputs)

    def known_now(self, index: int, distribution: str) -> Known:
        """What is to be expected of the data in set 0."""
        stage, limit_s = self.stages[index], self._effort.task_timeout_s
        self.reference.ask("check", limit_s, workload=index, sets=[0])
        own = [ring.clone() for ring in self.ring(0, index, 0)]
        return Known.of(distribution, stage.kept[0], self.expect(index, 0), own)

    def expect(self, index: int, number: int) -> list[Any]:
        """The right outputs for the data of a set; the judge's own copies."""
        stage = self.stages[index]
        answer = self.reference.ask(
            "expect", self._effort.task_timeout_s, workload=index, set=number, expected=stage.expected
        )
        stage.precision = str(answer.get("precision", ""))
        return [tensor.clone() for tensor in self._expected.tensors(stage.expected)]

    def ring(self, side: int, index: int, number: int) -> list[Any]:
        """The outputs of the reference (side 0) or a candidate (side 1) for one set."""
        return self.sides[side].room.tensors(self.sides[side].rings[index][number])

    def fill(self, index: int, number: int) -> None:
        """New data in every element of a set's inputs, by a seed of the operating system's; outputs are poisoned."""
        assert self._source is not None
        started = time.perf_counter()
        stage = self.stages[index]
        drawn = self._source.draw(index, stage, number, int.from_bytes(os.urandom(7), "big"))
        stage.kept[number] = drawn or [tensor.clone() for tensor in self.inputs.tensors(stage.inputs[number])]
        stage.seeds[number] = None
        self.poison(index, number)
        self.spent_s["fill"] += time.perf_counter() - started

    @property
    def draws_by_reference(self) -> bool:
        """Whether the reference's process can draw inputs: the library's tasks describe theirs by fills."""
        return self._source is not None and bool(self._source.fills)

    def seeded(self, index: int, numbers: Sequence[int]) -> dict[str, Any]:
        """What the reference's process is told so that it draws new data for these sets, with seeds of the operating
        system's; nothing if it cannot: then they are filled here and now.

        It runs our code alone and never has a candidate's image, and it is where the data is used next.
        """
        assert self._source is not None
        stage = self.stages[index]
        if not self.draws_by_reference:
            for number in numbers:
                self.fill(index, number)
            return {}
        for number in numbers:  # which nobody knows until it is done
            stage.kept[number], stage.seeds[number] = [], None
        draws = [(number, int.from_bytes(os.urandom(7), "big")) for number in numbers]
        return {"draws": draws, "fills": self._source.fills, "sizes": stage.workload.sizes}

    def drawn(self, index: int, drawing: dict[str, Any]) -> None:
        """The reference's process has done what `seeded` said."""
        for number, seed in drawing.get("draws", ()):
            self.stages[index].seeds[number] = seed

    def _values(self, index: int, number: int) -> list[Any]:
        """What a set holds, unless somebody changed it."""
        stage, source = self.stages[index], self._source
        seed = stage.seeds[number]
        return stage.kept[number] if seed is None or source is None else source.values(stage, seed)

    def put(self, index: int, number: int, inputs: Sequence[Any]) -> None:
        """Known data in a set; outputs are poisoned."""
        started = time.perf_counter()
        stage = self.stages[index]
        for target, value in zip(self.inputs.tensors(stage.inputs[number]), inputs, strict=True):
            copy_into(target, value)
        stage.kept[number], stage.seeds[number] = list(inputs), None
        self.poison(index, number)
        self.spent_s["put"] += time.perf_counter() - started

    def let_go(self) -> None:
        """Give memory back that the judge does not use."""
        self._platform.let_go()

    def settle(self) -> None:
        """Wait for the judge's own work."""
        self._platform.synchronize()

    def poison(self, index: int, number: int) -> None:
        """Overwrite the outputs of both sides for a set."""
        for side in range(len(self.sides)):
            for ring in self.ring(side, index, number):
                poison(ring)
        self._platform.synchronize()

    def check_known(self, process: Process, index: int) -> Measurement | None:
        """Run a candidate on everything that is known of a workload; a fault where it is not right."""
        known, sets = self.known[index], self.stages[index].sets
        for start in range(0, len(known), sets):
            fault = self.check(process, index, known[start : start + sets])
            if fault:
                return fault
        return None

    def check(self, process: Process, index: int, known: Sequence[Known]) -> Measurement | None:
        """Run a candidate on each of these, one per set; a fault where it is not right."""
        for number, each in enumerate(known):
            self.put(index, number, each.inputs)
        process.ask("check", self._effort.run_timeout_s, workload=index, sets=list(range(len(known))))
        started = time.perf_counter()
        got = [[ring.clone() for ring in self.ring(1, index, number)] for number in range(len(known))]
        found = [each.within(outputs) for each, outputs in zip(known, got, strict=True)]
        suffices = all(each is not None for each in found)
        for number, each in enumerate(known):
            found += same(self.inputs.tensors(self.stages[index].inputs[number]), each.inputs)
        is_right = suffices and all_true(found)
        self.spent_s["compare"] += time.perf_counter() - started
        if is_right:
            return None
        for number, (each, outputs) in enumerate(zip(known, got, strict=True)):
            fault = self._changed_input(index, number) or self._mismatch(index, outputs, each)
            if fault:
                return fault
        return None

    def verify(
        self, index: int, number: int, taken: list[Any] | None = None, like: Known | None = None
    ) -> Measurement | None:
        """Whether a candidate's outputs are right for the fresh data of a set, which must be untouched.

        They are those in its ring, unless they were `taken` before. The reference has run on this data too; values
        without rounding are computed if the candidate's are not next to the reference's own. Data of another
        distribution is `like` what is known of it.
        """
        got = [ring.clone() for ring in self.ring(1, index, number)] if taken is None else taken
        own = self.ring(0, index, number)
        if self._are_near(index, number, got, own):
            return None
        fault = self._changed_input(index, number)
        if fault:
            return fault
        known = Known.of("", [], self.expect(index, number), own)
        if like is not None:
            known = replace(known, distribution=like.distribution, scales=like.scales)
            if not self.is_tame(known):
                return None
        return self._mismatch(index, got, known)

    def _are_near(self, index: int, number: int, outputs: Sequence[Any], own: Sequence[Any]) -> bool:
        """Whether the inputs are untouched and the outputs next to the reference's; the device is waited for once."""
        started = time.perf_counter()
        lent = self.inputs.tensors(self.stages[index].inputs[number])
        found = [is_near(torch, *pair, self._tolerance(pair[0])) for pair in zip(outputs, own, strict=True)]
        near = all_true([*found, *same(lent, self._values(index, number))])
        self.spent_s["verify"] += time.perf_counter() - started
        return near

    def taken(self, side: int, index: int, number: int) -> list[Any]:
        """The outputs of a side, copied before anything else can be done to them."""
        started = time.perf_counter()
        outputs = [ring.clone() for ring in self.ring(side, index, number)]
        self._platform.synchronize()
        self.spent_s["take"] += time.perf_counter() - started
        return outputs

    def _mismatch(self, index: int, outputs: Sequence[Any], known: Known) -> Measurement | None:
        started = time.perf_counter()
        words = known.mismatch(outputs, self.stages[index].workload.name, self._tolerance)
        self.spent_s["compare"] += time.perf_counter() - started
        return Measurement(Status.WRONG, words) if words else None

    def _tolerance(self, output: Any) -> Tolerance:
        return tolerance_of(self._task, str(output.dtype).removeprefix("torch."))

    def changed_input(self) -> Measurement | None:
        """A fault if the inputs of any set are not what the judge put there."""
        for index, stage in enumerate(self.stages):
            for number, kept in enumerate(stage.kept):
                is_filled = bool(kept) or stage.seeds[number] is not None
                fault = self._changed_input(index, number) if is_filled else None
                if fault:
                    return fault
        return None

    def _changed_input(self, index: int, number: int) -> Measurement | None:
        stage = self.stages[index]
        lent = self.inputs.tensors(stage.inputs[number])
        for place, (now, kept) in enumerate(zip(lent, self._values(index, number), strict=True)):
            if not torch.equal(bits(now), bits(kept)):
                return Measurement(Status.CHEAT, f"input {place} was changed at {stage.workload.name}")
        return None

    def close(self) -> None:
        self.known.clear()
        if self._source is not None:
            self._source.close()
        self.reference.close()


def _altered(drawn: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [altered(torch, tensor) if place in places else tensor for place, tensor in enumerate(drawn)]


def wide(dtype: str) -> Any:
    """The type of expected values: double for floating-point outputs, else the output's own."""
    found = getattr(torch, dtype)
    return torch.float64 if found.is_floating_point else found
