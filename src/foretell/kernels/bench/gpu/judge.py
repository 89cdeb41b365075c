"""The judge: owns inputs and expected values, asks the worker to run, and decides.

Its process runs no candidate; where the task is not the library's it runs that task's code, behind the sandbox's walls
(`judge_job`). Inputs and the buffers for outputs are its own device memory, lent to the worker; what the outputs must
be stays in memory that the worker cannot map.
"""

from __future__ import annotations

import base64
import os
import pickle
import secrets
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from foretell.kernels.bench.gpu.compare import mismatch, rounding_noise
from foretell.kernels.bench.gpu.exhibit import Arena, Exhibit
from foretell.kernels.bench.gpu.handle import DeviceLost, Worker, WorkerFailed
from foretell.kernels.bench.gpu.nvml import conditions
from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.bench.statistics import combine, surely_below, tight_enough, timing
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.languages.python_source import is_extension
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks.examine import blanked, check_size, draw, look
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import bits, is_tensor, leaves, rebuilt, tensor_bytes_of

MESSAGE_CHARACTERS = 2000  # of a task's own check
_METHODS = {
    "graph": "CUDA graphs",
    "eager": "launches one by one, of both, because the candidate cannot be captured into a graph,",
}


class Judge:
    """Judges candidates of one task on one GPU."""

    def __init__(
        self,
        task: Task,
        worker: Worker,
        device: Device,
        effort: GpuEffort,
        platform: Platform | None = None,
        arena: Arena | None = None,
    ) -> None:
        import torch

        from foretell.kernels.bench.gpu.platform import Cuda

        self._torch = torch
        self._task, self._worker, self._device, self._effort = task, worker, device, effort
        check_size(task, device)
        self._runtime = runtime_of(task)
        self._platform = platform or Cuda()
        self.spent_s: dict[str, float] = defaultdict(float)
        started = time.perf_counter()
        self._exhibits = [self._exhibit(workload, timed=True) for workload in task.workloads]
        self._exhibits += [self._exhibit(workload, timed=False) for workload in task.extra]
        self._arena = arena or Arena(self._platform)
        self._lend()
        self.spent_s["make"] += time.perf_counter() - started
        self._opened_at = -1
        self._dirty = False
        self._overhead_s: dict[int, float] = {}

    @property
    def alive(self) -> bool:
        """Whether it can judge: always, in the process of those who ask it."""
        return True

    def judge(self, candidate: Candidate, hopeless_below: float | None = None, traced: bool = True) -> Measurement:
        """Check and time one candidate. Failures are values; DeviceLost where no worker can be had.

        What was not `traced` in its build may still have to compile, and gets time for it.
        """
        started = time.perf_counter()
        self.ensure_open()
        try:
            outcome = self._trial(candidate, hopeless_below, traced)
        except WorkerFailed as failure:
            outcome = Measurement(failure.status, str(failure))
        if self._worker.alive:
            try:
                self._ask("unload", self._effort.run_timeout_s)
            except WorkerFailed:
                self._worker.stop()
        if outcome.status is Status.CHEAT:
            self._worker.stop()  # whatever it replaced or left running goes with the process
        self._dirty = not outcome.ok
        wall_s = time.perf_counter() - started
        return Measurement(
            outcome.status,
            outcome.message,
            outcome.speedup,
            outcome.low,
            outcome.high,
            outcome.timings,
            outcome.stopped_early,
            Cost(0.0, wall_s, wall_s),
            outcome.method,
            self._device.id,
            {**conditions(), **outcome.conditions},
        )

    def close(self) -> None:
        """Let the worker give back what it was lent."""
        started = time.perf_counter()
        if self._worker.alive:
            try:
                self._worker.ask(self._effort.open_timeout_s, do="close")
            except WorkerFailed:
                self._worker.stop()
        self._exhibits.clear()
        self._platform.let_go()
        self.spent_s["close"] += time.perf_counter() - started

    def _draw(self, workload: Workload, destinations: frozenset[int] = frozenset()) -> list[Any]:
        seed = int.from_bytes(os.urandom(7), "big")
        return blanked(draw(self._task, self._runtime, workload, seed, self._platform.device), destinations)

    def _expected(self, inputs: Sequence[Any], destinations: frozenset[int]) -> list[Any]:
        """The right outputs, computed without short cuts in precision; they may lie in a copy of a destination."""
        with self._torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            return self._runtime.expected(blanked(inputs, destinations), self._platform.device)

    def _exhibit(self, workload: Workload, timed: bool) -> Exhibit:
        """A workload's data: as many sets as the effort asks for, or a single one where they would fill the memory."""
        effort = self._effort
        first = self._draw(workload)
        seen = look(self._task, self._runtime, workload, first, self._platform.device)
        plain, first = seen.outputs, blanked(first, seen.destinations)
        size = tensor_bytes_of([first, plain])
        checks = effort.check_sets if timed else 1
        if size * (checks + effort.timed_sets) > effort.set_bytes:
            checked, timed_sets, redraws = [0], [0] if timed else [], checks - 1
        else:
            checked, redraws = list(range(checks)), 0
            timed_sets = [checks + k for k in range(effort.timed_sets)] if timed else []
        more = len({*checked, *timed_sets}) - 1
        kept = [first, *(self._draw(workload, seen.destinations) for _ in range(more))]
        wanted = [self._expected(inputs, seen.destinations) for inputs in kept]
        bounds = [self._bounds(each, plain) for each in wanted]
        rings = [plain] * len(kept)  # what they are to be like, until they are lent
        return Exhibit(workload, checked, timed_sets, redraws, kept, wanted, bounds, [], rings, seen.destinations)

    def _lend(self) -> None:
        """Put copies of the inputs, and room for outputs, where the worker can reach them; nothing else lies there."""
        likes = [t for e in self._exhibits for group in (e.kept, e.rings) for each in group for t in leaves(each)]
        placed = iter(self._arena.place(likes))
        for exhibit in self._exhibits:
            exhibit.inputs = [rebuilt(each, placed) for each in exhibit.kept]
            exhibit.rings = [rebuilt(each, placed) for each in exhibit.rings]
            self._restore(exhibit)

    def _bounds(self, wanted: Sequence[Any], plain: Sequence[Any]) -> list[tuple[Any, Any]]:
        """|got - want| <= absolute + relative * |want|, as two tensors that are quick to compare with."""
        tolerance, found = self._task.tolerance, []
        for want, like in zip(wanted, plain, strict=True):
            if not like.is_floating_point():
                exact = want.to(like.dtype)
                found.append((exact, exact))
                continue
            room = tolerance.absolute + tolerance.relative * want.abs()
            wide = self._torch.float32 if like.dtype.itemsize < 4 else like.dtype
            found.append(((want - room).to(wide), (want + room).to(wide)))
        return found

    @property
    def lent(self) -> tuple[list[list[list[Any]]], list[list[list[Any]]]]:
        """Inputs and output buffers by workload and set: what the worker may map."""
        return [e.inputs for e in self._exhibits], [e.rings for e in self._exhibits]

    def ensure_open(self) -> None:
        """A worker that knows the task; started or told anew where needed. Raises DeviceLost if there can be none."""
        self._worker.start()
        if self._opened_at == self._worker.starts:
            return
        started = time.perf_counter()
        self._platform.synchronize()
        memory = self._arena.descriptor()
        try:
            self._worker.ask(
                self._effort.open_timeout_s,
                do="task",
                spec=self._task.spec,
                memory=memory,
                size=self._arena.size,
                lent=base64.b64encode(pickle.dumps(self._arena.places(self.lent))).decode(),
                checked=[e.checked for e in self._exhibits],
                timed=[e.timed for e in self._exhibits],
                destinations=[sorted(e.destinations) for e in self._exhibits],
            )
        except WorkerFailed as failure:
            self._worker.stop()
            raise DeviceLost(f"a worker could not take in the task: {failure}") from failure
        finally:
            os.close(memory)
        self._opened_at = self._worker.starts
        self.spent_s["open"] += time.perf_counter() - started

    def _trial(self, candidate: Candidate, hopeless_below: float | None, traced: bool) -> Measurement:
        effort = self._effort
        limit_s = self._limit_s(candidate, traced)
        for exhibit in self._exhibits:
            if self._dirty or exhibit.destinations:
                self._restore(exhibit)
            self._poison(exhibit)
        self._platform.synchronize()
        loading_s = limit_s if self._task.kind == "library" else max(limit_s, effort.load_timeout_s)
        self._ask("load", loading_s, source=candidate.source, language=candidate.language)
        for index, exhibit in enumerate(self._exhibits):
            fault = self._inspect(exhibit, exhibit.checked)
            for _ in range(exhibit.redraws):
                if fault:
                    break
                self._renew(exhibit, exhibit.checked)
                self._ask("check", effort.run_timeout_s, workload=index)
                fault = self._inspect(exhibit, exhibit.checked)
            if fault:
                return fault
        timings: list[Timing] = []
        methods: set[str] = set()
        stopped = False
        for index, exhibit in enumerate(self._exhibits):
            if not exhibit.timed:
                continue
            method = str(self._ask("prepare", limit_s, workload=index)["method"])
            methods.add(method)
            result = self._pairs(index, exhibit, hopeless_below, stopped, method)
            if isinstance(result, Measurement):
                return result
            summary, stopped = result
            timings.append(summary)
        speedup, low, high = combine(timings, effort.between_processes)
        words = (
            f"{'/'.join(_METHODS[one] for one in sorted(methods))} timed by driver events; L2 flushed before "
            "every run; inputs rotated; reference and candidate interleaved; median of paired ratios"
        )
        timed = {"timed": "/".join(sorted(methods))}
        return Measurement(Status.OK, "", speedup, low, high, tuple(timings), stopped, method=words, conditions=timed)

    def _limit_s(self, candidate: Candidate, traced: bool) -> float:
        """How long a candidate may take to load or to get ready: compiling first is a reason to wait."""
        if traced:
            return self._effort.run_timeout_s
        if candidate.language != "torch":
            return self._effort.jit_timeout_s
        compiles = "torch.compile" in candidate.source or is_extension(candidate.source)
        return self._effort.compile_timeout_s if compiles else self._effort.run_timeout_s

    def _pairs(
        self, index: int, exhibit: Exhibit, hopeless_below: float | None, hurry: bool, method: str
    ) -> tuple[Timing, bool] | Measurement:
        """Pairs until the interval is narrow; what is looked at is the last output of each set, at a random moment."""
        effort = self._effort
        references: list[float] = []
        candidates: list[float] = []
        deadline = time.perf_counter() + effort.workload_cap_s
        while True:
            fault = self._timed_pairs(index, self._order(exhibit), references, candidates)
            if fault:
                return fault
            if hopeless_below is not None and surely_below(references, candidates, hopeless_below):
                hurry = True
            if hurry or len(candidates) >= effort.most_pairs or time.perf_counter() > deadline:
                break
            slow = sum(candidates) > effort.slow_ratio * sum(references)
            if slow and len(candidates) >= effort.fewest_pairs_when_slow:
                break
            if len(candidates) >= effort.fewest_pairs and tight_enough(references, candidates, effort.half_width):
                break
        fault = self._inspect(exhibit, exhibit.timed)
        fault = fault or self._fresh_round(index, exhibit, candidates, references, method)
        if fault:
            return fault
        return timing(exhibit.workload.name, references, candidates), hurry

    def _order(self, exhibit: Exhibit) -> list[int]:
        """Which timed sets to take for the next pairs: each about as often, in an order that cannot be foreseen."""
        count = self._effort.chunk_pairs + secrets.randbelow(3)
        sets = len(exhibit.timed)
        first = secrets.randbelow(sets)
        return [(first + k) % sets for k in range(max(count, sets))]

    def _timed_pairs(
        self, index: int, order: Sequence[int], references: list[float], candidates: list[float]
    ) -> Measurement | None:
        """Take pairs and add them to the samples; a fault where the worker's clock does not fit the judge's."""
        started = time.perf_counter()
        got = self._ask("pairs", self._effort.run_timeout_s, workload=index, order=order)
        wall_s = time.perf_counter() - started
        references += got["reference_us"]
        candidates += got["candidate_us"]
        return self._clock_fault(index, got, wall_s)

    def _renew(self, exhibit: Exhibit, numbers: Sequence[int]) -> None:
        """New data in these sets, with what is to be expected of it."""
        started = time.perf_counter()
        for number in numbers:
            fresh = self._draw(exhibit.workload, exhibit.destinations)
            exhibit.kept[number] = fresh
            exhibit.expected[number] = self._expected(fresh, exhibit.destinations)
            exhibit.bounds[number] = self._bounds(exhibit.expected[number], exhibit.rings[number])
            for lent, value in zip(leaves(exhibit.inputs[number]), leaves(fresh), strict=True):
                if is_tensor(value):
                    lent.copy_(value)
        self._poison(exhibit)
        self._platform.synchronize()
        self.spent_s["new data"] += time.perf_counter() - started

    def _fresh_round(
        self, index: int, exhibit: Exhibit, candidates: Sequence[float], references: Sequence[float], method: str
    ) -> Measurement | None:
        """New data in one timed set, picked at random: right again, and no slower than on data seen before.

        A single slow run may be the machine's; only three in a row, each on new data, are held against a candidate. A
        slow spell shows in the reference beside it; where launches are timed too, which vary by themselves, in the
        candidate's next run on data seen before.
        """
        effort, words = self._effort, ""
        for _ in range(3):
            turn = secrets.randbelow(len(exhibit.timed))
            number = exhibit.timed[turn]
            self._renew(exhibit, [number])
            others = [k for k in range(len(exhibit.timed)) if k != turn][: method == "eager"]
            got = self._ask("pairs", effort.run_timeout_s, workload=index, order=[turn, *others])
            fault = self._inspect(exhibit, [number])
            if fault:
                return fault
            candidate_us = got["candidate_us"][0]
            now, before = (got["candidate_us"], candidates) if others else (got["reference_us"], references)
            usual = statistics.median(candidates) * max(1.0, now[-1] / statistics.median(before))
            if candidate_us <= usual / effort.memory_ratio + effort.memory_slack_us:
                break
            words = f"{candidate_us:.0f} us on new inputs, {usual:.0f} us on inputs seen before"
        else:
            return Measurement(Status.CHEAT, f"results are remembered: {words}")
        floor_us = self._floor_us(exhibit)
        if statistics.median(candidates) < floor_us:
            words = f"{statistics.median(candidates):.1f} us is less than the {floor_us:.1f} us that physics allows"
            return Measurement(Status.CHEAT, words)
        return None

    def _floor_us(self, exhibit: Exhibit) -> float:
        """Time to read the inputs once from the fastest level they could lie in, with a margin for our figures.

        Of a task whose traffic nobody told, the largest tensor is counted: of the inputs, or of the outputs alone where
        whole numbers among the inputs may say which parts are read.
        """
        if self._task.kind == "library":
            least = self._task.certain_bytes(exhibit.workload.sizes)
        else:
            inputs = [t for t in leaves(exhibit.inputs[0]) if is_tensor(t)]
            picked = any(not t.is_floating_point() for t in inputs)
            sizes = [t.numel() * t.element_size() for t in (exhibit.rings[0] if picked else inputs)]
            least = float(max(sizes, default=0)) / 2
        return least / (self._effort.physics_margin * self._device.bandwidth_bytes_per_s) * 1e6

    def _clock_fault(self, index: int, got: dict[str, Any], wall_s: float) -> Measurement | None:
        """The worker's times must fit into the time the judge waited, and account for most of what varies in it."""
        claimed_s = (sum(got["reference_us"]) + sum(got["candidate_us"])) * 1e-6
        if claimed_s > wall_s * 1.1 + 1e-3:
            return Measurement(
                Status.CHEAT, f"its clock claims {claimed_s * 1e3:.1f} ms of {wall_s * 1e3:.1f} ms waited"
            )
        beyond_s = wall_s - claimed_s
        usual_s = self._overhead_s.get(index)
        self._overhead_s[index] = beyond_s if usual_s is None else min(usual_s, beyond_s)
        allowed_s = self._effort.clock_slack_s + (usual_s or beyond_s) * 3 + 4 * claimed_s
        if beyond_s > allowed_s:
            return Measurement(Status.CHEAT, f"{beyond_s * 1e3:.0f} ms passed that its clock does not account for")
        return None

    def _ask(self, do: str, timeout_s: float, **details: Any) -> dict[str, Any]:
        started = time.perf_counter()
        try:
            return self._worker.ask(timeout_s, do=do, **details)
        finally:
            self.spent_s[do] += time.perf_counter() - started

    def _restore(self, exhibit: Exhibit) -> None:
        """Undo whatever a failed candidate may have done to the inputs."""
        for lent, kept in zip(exhibit.inputs, exhibit.kept, strict=True):
            for ours, value in zip(leaves(lent), leaves(kept), strict=True):
                if is_tensor(value):
                    ours.copy_(value)

    def _poison(self, exhibit: Exhibit) -> None:
        for ring in exhibit.rings:
            for output in ring:
                output.fill_(float("nan") if output.is_floating_point() else -113)

    def _inspect(self, exhibit: Exhibit, numbers: Sequence[int]) -> Measurement | None:
        """None when the inputs are untouched and the outputs in the rings are right."""
        started = time.perf_counter()
        try:
            return self._compare(exhibit, numbers)
        finally:
            self.spent_s["compare"] += time.perf_counter() - started

    def _compare(self, exhibit: Exhibit, numbers: Sequence[int]) -> Measurement | None:
        """Everything is queued before the device is waited for once; only a failure is looked at closely."""
        torch = self._torch
        if self._runtime.own_check:
            return self._explain(exhibit, numbers)
        good = [
            (bits(lent) == bits(kept)).all()
            for number in numbers
            for position, (lent, kept) in self._leaves(exhibit, number)
            if is_tensor(kept) and position not in exhibit.destinations
        ]
        good += [
            ((got >= low) & (got <= high)).all()
            for number in numbers
            for got, (low, high) in zip(exhibit.rings[number], exhibit.bounds[number], strict=True)
        ]
        if bool(torch.stack(good).all()):
            return None
        return self._explain(exhibit, numbers)

    def _leaves(self, exhibit: Exhibit, number: int) -> Iterator[tuple[int, tuple[Any, Any]]]:
        """The lent and the kept leaves of one set of inputs, by their places."""
        return enumerate(zip(leaves(exhibit.inputs[number]), leaves(exhibit.kept[number]), strict=True))

    def _noise(self, exhibit: Exhibit, number: int) -> list[Any]:
        """What rounding alone may do to the outputs for one set of inputs; only asked for what looks wrong."""

        def reference(inputs: Sequence[Any]) -> list[Any]:
            return self._expected(inputs, exhibit.destinations)

        try:
            return rounding_noise(self._torch, reference, exhibit.kept[number], exhibit.expected[number])
        except self._torch.OutOfMemoryError:  # then the tolerance alone decides
            self._platform.let_go()
            return [0.0] * len(exhibit.expected[number])

    def _explain(self, exhibit: Exhibit, numbers: Sequence[int]) -> Measurement | None:
        torch = self._torch
        for number in numbers:
            for position, (lent, kept) in self._leaves(exhibit, number):
                if is_tensor(kept) and position not in exhibit.destinations and not torch.equal(bits(lent), bits(kept)):
                    return Measurement(Status.CHEAT, f"input {position} was changed at {exhibit.workload.name}")
            for position, (got, want) in enumerate(zip(exhibit.rings[number], exhibit.expected[number], strict=True)):
                if self._runtime.own_check:
                    wrong = "it is not a number (NaN)" if got.is_floating_point() and bool(got.isnan().any()) else ""
                else:
                    wrong = mismatch(torch, got, want, self._task.tolerance)
                    if wrong and got.is_floating_point():
                        wrong = mismatch(torch, got, want, self._task.tolerance, self._noise(exhibit, number)[position])
                if wrong:
                    return Measurement(Status.WRONG, f"output {position} at {exhibit.workload.name}: {wrong}")
            if self._runtime.own_check:
                inputs = blanked(exhibit.kept[number], exhibit.destinations)
                wrong = self._runtime.verdict(inputs, [got.clone() for got in exhibit.rings[number]])
                if wrong:
                    return Measurement(Status.WRONG, f"at {exhibit.workload.name}: {wrong[:MESSAGE_CHARACTERS]}")
        return None
