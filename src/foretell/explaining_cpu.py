"""Where the time of a CPU kernel goes, told without timing it: the roofline, and what its machine code shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.languages.loops import LoopFacts
    from foretell.kernels.protocols import Bench, Build
    from foretell.kernels.task import Task, Workload

_MANY = 0.05  # share of an inner loop's instructions from which a kind of them is worth a line
_NAMED = 3  # functions that are named in a finding
_FAR = 1.5  # times the roofline from which there is time to be found
_SHOWN = (
    "inner_loops", "inner_instructions", "gathers", "outlined", "inner_load_share", "inner_store_share",
    "inner_fma_share", "inner_divide_share", "inner_scalar_float_share", "inner_vector128_share",
    "inner_vector256_share", "inner_vector512_share",
)  # fmt: skip


@dataclass(frozen=True)
class CpuSide:
    """One program: what the compiler made of it, and its time at the workload if it was measured here before.

    `loops` says what stands in the way of its inner loops; None if its machine code was not read.
    """

    build: Build
    measured_us: float | None = None
    loops: LoopFacts | None = None

    @property
    def features(self) -> Mapping[str, float]:
        return self.build.features

    @property
    def vector_bits(self) -> int:
        """The widest vectors that its inner loops work on; 0 if they work on single numbers."""
        widths = (512, 256, 128)
        return next((bits for bits in widths if self.features.get(f"inner_vector{bits}_share", 0.0) > 0.0), 0)

    @property
    def is_parallel(self) -> bool:
        return self.features.get("outlined", 0.0) > 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "builds": self.build.ok,
            "message": self.build.message,
            "measured_us": self.measured_us,
            "parallel": self.is_parallel if self.build.ok else None,
            "vector_bits": self.vector_bits if self.build.ok else None,
            "inner_calls": None if self.loops is None else list(self.loops.calls),
            "inner_stack_stores": None if self.loops is None else self.loops.stack_stores,
            "machine_code": {name: self.features[name] for name in _SHOWN if name in self.features},
        }


@dataclass(frozen=True)
class CpuAccount:
    """The reference and a candidate at one workload on this CPU, side by side.

    `floor_s` is the roofline: the larger of least bytes over bandwidth and FLOPs over the peak rate; `limit` says which
    of the two it is. Operations that are not of the library have no formula for their FLOPs (None).
    """

    task: Task
    workload: Workload
    device: Device
    reference: CpuSide
    candidate: CpuSide | None
    flops: float | None
    least_bytes: float
    floor_s: float
    estimated_us: float | None = None

    @property
    def runs(self) -> bool:
        """False if the candidate is known not to build."""
        return self.candidate is None or not self.candidate.build.status.is_failure

    @property
    def limit(self) -> str | None:
        """What the roofline is limited by; None if the FLOPs are not known."""
        if self.flops is None:
            return None
        memory_s = self.least_bytes / self.device.bandwidth_bytes_per_s
        return "memory" if self.floor_s <= memory_s else "arithmetic"

    @cached_property
    def findings(self) -> list[str]:
        """What is worth changing: of the candidate if there is one, else of the reference."""
        return _findings(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "task": self.task.name,
            "workload": self.workload.name,
            "device": self.device.name,
            "flops": self.flops,
            "least_bytes": self.least_bytes,
            "floor_us": self.floor_s * 1e6,
            "limit": self.limit,
            "estimated_reference_us": self.estimated_us,
            "reference": self.reference.to_dict(),
            "candidate": None if self.candidate is None else self.candidate.to_dict(),
            "findings": self.findings,
        }

    def lines(self) -> list[str]:
        """The account in a dozen lines of text."""
        from foretell.report.numbers import rate, seconds, size

        work = "" if self.flops is None else f"needs {rate(self.flops, 'FLOP')} and "
        limit = f"limited by {self.limit}" if self.flops is not None else "by bytes alone: its FLOPs are not known"
        bandwidth = f"{self.device.bandwidth_bytes_per_s / 1e9:.3g} GB/s"
        found = [
            f"{self.task.name} ({self.workload.name}) on {self.device.name}, not run",
            f"{work}moves at least {size(self.least_bytes)}: {seconds(self.floor_s)} by the roofline, "
            f"{limit} ({bandwidth}, {self.device.cores} cores)",
        ]
        for name, side in (("reference", self.reference), ("candidate", self.candidate)):
            if side is not None:
                found += self._side(name, side)
        return found + [f"- {finding}" for finding in self.findings]

    def _side(self, name: str, side: CpuSide) -> list[str]:
        from foretell.report.numbers import seconds

        if not side.build.ok:
            return [f"{name}: does not build: {side.build.message.strip().splitlines()[0]}"]
        if side.measured_us is not None:
            time_s = side.measured_us * 1e-6
            time = f"took {seconds(time_s)} when it was measured, {self._beside_roofline(time_s)}"
        elif name == "reference" and self.estimated_us is not None:
            time = f"about {seconds(self.estimated_us * 1e-6)} by operations and bytes; not measured yet"
        else:
            time = "not measured yet"
        told = side.features
        threads = "several threads" if side.is_parallel else "one thread"
        width = f"vectors of {side.vector_bits} bits" if side.vector_bits else "single numbers"
        mix = ", ".join(
            f"{told.get(f'inner_{kind}_share', 0.0):.0%} {word}"
            for kind, word in (("load", "loads"), ("store", "stores"), ("fma", "fused multiply-adds"),
                               ("divide", "divisions"))
        )  # fmt: skip
        loops = f"{told.get('inner_loops', 0):.0f} inner loops of {told.get('inner_instructions', 0):.0f} instructions"
        return [f"{name}: {time}", f"  {threads}, {width}; {loops}: {mix}"]

    def _beside_roofline(self, time_s: float) -> str:
        if time_s < self.floor_s:  # nothing is faster than memory: the probe of its bandwidth was too slow
            return "less than the roofline, whose bandwidth was probed while the machine was slower"
        room = time_s * self.device.bandwidth_bytes_per_s / self.least_bytes if self.least_bytes else 0.0
        return f"{time_s / self.floor_s:.3g} times the roofline; moves at most {room:.3g} times the least bytes"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def account_on_cpu(
    task: Task, workload: Workload, candidate: Candidate | None, bench: Bench, reference_ms: float | None = None
) -> CpuAccount:
    """Build the reference and the candidate; times are those that the user's catalogue has of this machine."""
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import roofline_s
    from foretell.kernels.forecast.roofline import estimated_reference_s, reference_times_s
    from foretell.parts import catalogue

    device, known = bench.device, catalogue()
    builds = bench.build(
        task, [Candidate(task.key, "cpp", task.references["cpp"]), *([candidate] if candidate else [])]
    )
    times_s = reference_times_s([measurement for _, measurement in known.lessons(task, device)])
    reference_s = times_s.get(workload.name) if reference_ms is None else reference_ms * 1e-3
    mine = None
    if candidate is not None:
        measured = known.get(task, candidate, device)
        samples = [t.candidate_us for t in measured.timings if t.workload == workload.name] if measured else []
        mine = CpuSide(builds[1], median(samples[0]) if samples else None, _loops(builds[1]))
    flops = task.flops_of(workload)
    return CpuAccount(
        task,
        workload,
        device,
        CpuSide(builds[0], None if reference_s is None else reference_s * 1e6, _loops(builds[0])),
        mine,
        flops or None,
        task.least_bytes_of(workload),
        roofline_s(task, workload, device),
        estimated_reference_s(task, workload, device) * 1e6 if flops else None,
    )


def _loops(build: Build) -> LoopFacts | None:
    from foretell.kernels.languages.cpp import listing
    from foretell.kernels.languages.loops import loop_facts

    text = listing(build.artifact) if build.artifact is not None else ""
    return loop_facts(text) if text else None


def _findings(told: CpuAccount) -> list[str]:
    from foretell.report.numbers import count

    side = told.candidate or told.reference
    if not side.build.ok:
        return []
    share = side.features.get
    found = []
    if not side.is_parallel and told.device.cores > 1:
        found.append(f"it runs on one of {told.device.cores} cores: `#pragma omp parallel for`")
    widest = 8 * told.device.vector_bytes
    if share("inner_scalar_float_share", 0.0) > _MANY and not side.vector_bits:
        found.append(f"its inner loops work on single numbers, where vectors have {widest} bits: they do not vectorise")
    elif 0 < side.vector_bits < widest:
        found.append(f"its vectors have {side.vector_bits} bits of {widest}")
    if side.loops is not None and side.loops.calls:
        named = ", ".join(side.loops.calls[:_NAMED])
        found.append(f"an inner loop calls {named}, so that it cannot be vectorised: inline or approximate it")
    if share("inner_divide_share", 0.0) > _MANY:
        found.append("its inner loops divide: multiply by a reciprocal that was computed before the loop")
    if side.loops is not None and side.loops.stack_stores:
        stores = count(side.loops.stack_stores, "store")
        found.append(f"{stores} to the stack in inner loops, by spilt registers or small arrays: use smaller tiles")
    if share("gathers", 0.0) > 0:
        found.append("it gathers: memory is read with a stride, or by index")
    if side.measured_us is not None and side.measured_us * 1e-6 > _FAR * told.floor_s:
        room = side.measured_us * 1e-6 / told.floor_s
        found.append(f"at most {room:.3g}x can be gained on it before the roofline")
    return found
