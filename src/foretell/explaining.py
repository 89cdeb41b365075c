"""Where the time of a kernel goes, told without a GPU: recording, dry run and roofline, beside the reference."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.cost.breakdown import Breakdown, Part
    from foretell.kernels.cost.work import Work
    from foretell.kernels.device import Device
    from foretell.kernels.forecast.recorded import Verdict
    from foretell.kernels.record.refusal import Recording
    from foretell.kernels.task import Task, Workload

MOST_STEPS = 5
_APART = 1.02  # times the whole, from which on the sum of the steps is worth telling
_POOR = 0.75  # coalescing or use of banks below this is worth a line
_FEW_WAVES = 1.0
_LOW_OCCUPANCY = 0.25
_IDLE = 0.5
_MANY_PASSES = 2.0  # times as long as its views take to be read and written once: a library call worth a line


@dataclass(frozen=True)
class Side:
    """One program: where its time goes, and what it writes that is no output."""

    breakdown: Breakdown
    intermediate_bytes: float

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.breakdown.parts

    @property
    def seconds(self) -> float:
        """The estimate of its time."""
        return self.breakdown.seconds

    @property
    def limit(self) -> str:
        """What limits most of its time."""
        by_limit: dict[str, float] = {}
        for part in self.parts:
            by_limit[part.limit] = by_limit.get(part.limit, 0.0) + part.seconds
        return max(by_limit, key=by_limit.__getitem__, default="nothing")

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimated_us": self.seconds * 1e6,
            "limit": self.limit,
            "launches": self.breakdown.steps,
            "moved_bytes": self.breakdown.moved_bytes,
            "intermediate_bytes": self.intermediate_bytes,
            "steps": [_plain(part) for part in self.parts],
        }


def _plain(part: Part) -> dict[str, Any]:
    told = asdict(part)
    told["estimated_us"] = told.pop("seconds") * 1e6
    return told


@dataclass(frozen=True)
class Account:
    """The reference and a candidate at one workload on one device, side by side.

    A side is None if it could not be recorded (`refusal` and `verdict` say why) or analysed (`trouble` does), or was
    not asked for. `floor_s` is the roofline, the larger of least bytes over bandwidth and FLOPs over the peak rate; it
    is None if the work is not known.
    """

    task: Task
    workload: Workload
    device: Device
    reference: Side | None
    candidate: Side | None
    verdict: Verdict | None
    refusal: str
    work: Work | None
    floor_s: float | None
    reference_us: float | None = None
    trouble: str = ""

    @property
    def runs(self) -> bool:
        """False if the candidate is known not to run."""
        from foretell.kernels.forecast.recorded import Finding

        return self.verdict is None or self.verdict.finding is not Finding.CANNOT_RUN

    @cached_property
    def findings(self) -> list[str]:
        """What is worth changing, most important first."""
        return _findings(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "task": self.task.name,
            "workload": self.workload.name,
            "device": self.device.name,
            "least_bytes": self.work.least_bytes if self.work else None,
            "flops": self.work.flops if self.work else None,
            "floor_us": None if self.floor_s is None else self.floor_s * 1e6,
            "reference_us": self.reference_us,
            "reference": self.reference.to_dict() if self.reference else None,
            "candidate": self.candidate.to_dict() if self.candidate else None,
            "verdict": None if self.verdict is None else {"finding": self.verdict.finding.value,
                                                          "sentence": self.verdict.sentence},
            "refusal": self.refusal,
            "trouble": self.trouble,
            "findings": self.findings,
        }  # fmt: skip

    def lines(self) -> list[str]:
        """The account in about twenty lines of text."""
        from foretell.report.numbers import rate, size

        found = [f"{self.task.name} ({self.workload.name}) on {self.device.name}, not run"]
        if self.work is not None and self.floor_s is not None:
            work, least = rate(self.work.flops, "FLOP"), size(self.work.least_bytes)
            found.append(f"needs {work} and moves at least {least}: {_us(self.floor_s)} by the roofline")
        if self.reference_us is not None:
            found.append(f"the reference is known to take {self.reference_us:.4g} us")
        for name, side in (("reference", self.reference), ("candidate", self.candidate)):
            if side is not None:
                found += self._side(name, side)
        if self.refusal:
            found.append(f"the reference cannot be recorded: {self.refusal}")
        if self.trouble:
            found.append(f"not analysed: {self.trouble}")
        if self.verdict is not None and self.verdict.sentence:
            found.append(f"candidate: {self.verdict.finding}: {self.verdict.sentence}")
        return found + [f"- {finding}" for finding in self.findings]

    def _side(self, name: str, side: Side) -> list[str]:
        from foretell.report.numbers import size

        least = self.work.least_bytes if self.work else 0.0
        times = f", {side.breakdown.moved_bytes / least:.3g} times the least" if least else ""
        parts = "1 step" if side.breakdown.steps == 1 else f"{side.breakdown.steps} steps"
        head = f"{name}: about {_us(side.seconds)} in {parts}; moves {size(side.breakdown.moved_bytes)}{times}; "
        alone = sum(step.seconds for step in side.parts)  # a step on its own takes longer than in a row of them
        aside = f" (its steps one by one: {_us(alone)})" if alone > _APART * side.seconds else ""
        found = [f"{head}limited by {side.limit}{aside}"]
        for step in side.parts[:MOST_STEPS]:
            many = f" x{step.count}" if step.count > 1 else ""
            share = step.seconds / alone if alone else 0.0
            found.append(f"  {share:4.0%}  {_us(step.seconds):>9}  {step.name[:40]}{many}  ({_detail(step)})")
        if len(side.parts) > MOST_STEPS:
            rest = sum(step.seconds for step in side.parts[MOST_STEPS:])
            found.append(
                f"  {rest / alone if alone else 0.0:4.0%}  {_us(rest):>9}  {len(side.parts) - MOST_STEPS} others"
            )
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def kind_to_explain(task: Task | str | Path, candidate: Candidate | str | Path | None) -> str:
    """The kind of device to explain a task for: a CPU for C++, and for what only a CPU has; else a GPU."""
    from foretell.api import task as load
    from foretell.kernels import library
    from foretell.measuring import kind_for

    if candidate is not None:
        return kind_for(task, [candidate])
    read = load(task)
    return "gpu" if read.kind == "library" and read.name in library.tasks("gpu") else read.device_kind


def account(
    task: Task, workload: Workload, candidate: Candidate | None, device: Device, reference_ms: float | None = None
) -> Account:
    """Record the reference and the candidate at a workload, in processes of their own, and cost their steps."""
    from foretell import extras
    from foretell.kernels.cost.recordings import recording_of
    from foretell.kernels.forecast.recorded import verdict

    extras.check("gpu", "torch")
    theirs = recording_of(task, workload, None, "torch", device)
    mine = found = None
    if candidate is not None:
        mine = recording_of(task, workload, candidate.source, candidate.language, device)
        found = verdict(theirs, mine)
    reference, work, trouble = _side(theirs, device)
    candidate_side, _, own_trouble = _side(mine, device)
    floor_s = None
    if work is not None:
        peak = device.peak_flops.get(work.dtype, max(device.peak_flops.values()))
        floor_s = max(work.least_bytes / device.bandwidth_bytes_per_s, work.flops / peak)
    return Account(
        task,
        workload,
        device,
        reference,
        candidate_side,
        found,
        "" if theirs.refusal is None else str(theirs.refusal),
        work,
        floor_s,
        None if reference_ms is None else reference_ms * 1e3,
        f"the reference: {trouble}" if trouble else f"the candidate: {own_trouble}" if own_trouble else "",
    )


def _side(recording: Recording | None, device: Device) -> tuple[Side | None, Work | None, str]:
    """Breakdown and work of a recording; both are None, with the reason, if its Program could not be analysed."""
    if recording is None or recording.program is None:
        return None, None, ""
    from foretell.kernels.cost.apart import NotAnalysed, breakdown_apart, work_apart

    try:
        work = work_apart(recording.program)
        return Side(breakdown_apart(recording.program, device), work.intermediate_bytes), work, ""
    except NotAnalysed as error:
        return None, None, str(error)


def _us(seconds: float) -> str:
    us = seconds * 1e6
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"


def _detail(step: Part) -> str:
    kernel = step.kernel
    if kernel is None:
        return f"{step.kind}, {step.limit}"
    told = [f"{kernel.blocks} x {kernel.threads} threads", f"{kernel.registers} registers"]
    if kernel.shared_bytes:
        told.append(f"{kernel.shared_bytes / 1024:.3g} KiB shared")
    told.append(f"occupancy {kernel.occupancy:.0%}")
    if kernel.load_coalescing is not None:
        told.append(f"coalescing {kernel.load_coalescing:.0%}")
    if kernel.bank_use is not None:
        told.append(f"banks {kernel.bank_use:.0%}")
    return f"{', '.join(told)}; {step.limit}"


def _findings(told: Account) -> list[str]:
    """Sentences on what stands out, of the candidate where there is one, else of the reference."""
    from foretell.kernels.cost.breakdown import LIBRARY_CALL
    from foretell.report.numbers import size

    side = told.candidate or told.reference
    if side is None:
        return []
    found = []
    least = told.work.least_bytes if told.work else 0.0
    if least and side.breakdown.moved_bytes > 1.5 * least:
        moved = f"{side.breakdown.moved_bytes / least:.2g} times the bytes that are needed"
        found.append(f"it moves {moved}, {size(side.intermediate_bytes)} of them intermediates: fuse steps")
    overhead = sum(step.seconds for step in side.parts if step.limit == "launch")
    if side.seconds and overhead > _IDLE * side.seconds:
        found.append(f"{overhead / side.seconds:.0%} of its time is launch overhead: fewer, larger steps")
    for step in side.parts[:MOST_STEPS]:
        kernel = step.kernel
        if step.seconds < 0.1 * side.seconds:
            continue
        once_s = step.moved_bytes / told.device.bandwidth_bytes_per_s
        if step.kind == LIBRARY_CALL and step.limit == "memory" and step.seconds > _MANY_PASSES * once_s > 0:
            times = f"{step.seconds / once_s:.2g} times as long as reading and writing its tensors once"
            found.append(f"{step.name} takes {times}: one kernel that passes over them once may be faster")
        if kernel is None:
            continue
        for kind, share in (("loads", kernel.load_coalescing), ("stores", kernel.store_coalescing)):
            if share is not None and share < _POOR:
                found.append(f"{kernel.entry}: {kind} use {share:.0%} of the sectors they touch: uncoalesced")
        if kernel.bank_use is not None and kernel.bank_use < _POOR:
            found.append(f"{kernel.entry}: bank conflicts, {1 / kernel.bank_use:.2g} passes where one would do")
        if kernel.spill_bytes:
            found.append(f"{kernel.entry}: {kernel.spill_bytes} bytes of registers are spilled per thread")
        if kernel.waves < _FEW_WAVES:
            found.append(f"{kernel.entry}: its grid fills {kernel.waves:.0%} of the device: more blocks")
        elif kernel.occupancy < _LOW_OCCUPANCY and not kernel.tensor_cores:
            found.append(f"{kernel.entry}: occupancy {kernel.occupancy:.0%}: fewer registers or less shared memory")
    return found
