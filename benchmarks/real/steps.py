"""Times of the steps of Programs on a GPU: each replayed step between two events, with a cold L2 before it.

Kernels and references are recorded in the sandbox and replayed here, on the problem's own inputs and weights where the
Program has the same ones. Filling a large buffer before each step empties the L2 and keeps the GPU busy while the host
issues the step, so that the host's time is not counted.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.acceptance.record import weights_of
from benchmarks.real.listing import problem_files
from foretell.kernels.corpus import labels, real
from foretell.kernels.device import Device
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.measurement import Status
from foretell.kernels.program import Allocate, Launch, LibraryCall, Program, Step
from foretell.kernels.record.apart import record_apart
from foretell.kernels.record.replay import Replay, ReplayError
from foretell.kernels.task import Task
from foretell.kernels.tasks import kernelbench
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves

REPEATS = 7
FLUSH_BYTES = 256 << 20


class TimedReplay(Replay):
    """A replay that keeps the microseconds of each step of its runs."""

    def __init__(self, program: Program) -> None:
        import torch

        super().__init__(program, "cuda")
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self._events: list[tuple[Step, Any, Any]] = []

    def _step(self, step: Step) -> None:
        import torch

        if isinstance(step, Allocate):
            super()._step(step)
            return
        self._flush.zero_()
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        super()._step(step)
        after.record()
        self._events.append((step, before, after))

    def times(self, inputs: list[Any]) -> list[tuple[str, float]]:
        """Name and microseconds of each step of a run, after a run to warm up."""
        self.run(inputs)
        runs: list[list[float]] = []
        for _ in range(REPEATS):
            self._events.clear()
            self.run(inputs)
            runs.append([1e3 * before.elapsed_time(after) for _, before, after in self._events])
        names = [_name(step) for step, _, _ in self._events]
        return [(name, statistics.median(each)) for name, each in zip(names, zip(*runs, strict=True), strict=True)]


def _name(step: Step) -> str:
    match step:
        case LibraryCall():
            return step.operator
        case Launch():
            return step.entry
    return type(step).__name__.lower()


def time_steps(task: Task, source: str | None, device: Device) -> list[tuple[str, float]]:
    """The steps of a kernel, or of the reference if there is no source. Raises ReplayError if there is no Program."""
    import torch

    recording = record_apart(task, task.workloads[0], source, language_of(source or ""), device)
    if recording.program is None:
        raise ReplayError(str(recording.refusal))
    runtime = runtime_of(task)
    known = weights_of(runtime.reference("cuda").model)  # type: ignore[attr-defined]
    player = TimedReplay(recording.program)
    player.setup({weight.name: _weight(weight, known) for weight in recording.program.weights})
    tensors = [leaf for leaf in leaves(runtime.inputs(task.workloads[0], 0, "cuda")) if isinstance(leaf, torch.Tensor)]
    return player.times(tensors)


def _weight(weight: Any, known: Mapping[str, Any]) -> Any:
    """The reference's weight of that name and form, else small numbers."""
    import torch

    view, dtype = weight.view, getattr(torch, weight.view.dtype)
    own = known.get(weight.name)
    if own is not None and tuple(own.shape) == tuple(view.shape) and own.dtype == dtype:
        return own
    return torch.full(view.shape, 0.01 if dtype.is_floating_point else 0, dtype=dtype, device="cuda")


def time_all(folder: Path, data: Path, seconds: float) -> None:
    """Append a line to steps.jsonl for each correct kernel and each reference that has none yet."""
    from benchmarks.real.measure import CATALOGUE, STEPS
    from foretell.kernels.bench.gpu.device import detect_gpu

    deadline, device = time.monotonic() + seconds, detect_gpu()
    about = {"device": device.name, "toolchain": device.toolchain}
    output = folder / STEPS
    done = {json.loads(line)["program"] for line in output.read_text().splitlines()} if output.exists() else set()
    done |= {step["program"] for step in labels.read_steps(data) if all(step[name] == about[name] for name in about)}
    fresh = labels.of_catalogue(folder / CATALOGUE) if (folder / CATALOGUE).exists() else ()
    correct = {label["id"] for label in (*labels.read(data), *fresh) if label["status"] == Status.OK}
    kernels: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for kernel in real.read(data):
        if kernel["id"] in correct:
            kernels[kernel["problem"]].append(kernel)
    for name, path in problem_files().items():
        task = kernelbench.from_text(path.read_text(encoding="utf-8"), name)
        programs: list[tuple[str, str | None]] = [(name, None)]
        programs += [(kernel["id"], kernel["source"]) for kernel in kernels[name]]
        for program, source in programs:
            if program in done or time.monotonic() > deadline:
                continue
            try:
                steps = time_steps(task, source, device)
            except (ReplayError, RuntimeError) as error:
                print(f"{program}: {str(error)[:200]}", flush=True)
                continue
            with output.open("a") as file:
                file.write(json.dumps({"program": program, **about, "steps": steps}) + "\n")
