"""What counts as right, and which times can be believed. Decisions over values; nothing here talks to a process."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from foretell.kernels.bench.gpu.watch import PLUMBING, too_much_computed
from foretell.kernels.program import Program
from foretell.kernels.task import Task, Tolerance
from foretell.kernels.tasks import kernelbench

KERNELBENCH_FLOAT32 = Tolerance(1e-4, 1e-4, "what KernelBench accepts of float32 programs")
_ELEMENTS_AT_A_TIME = 1 << 24
OWN_SHARE = 0.9  # of the tolerance: the rest is for the reference's own rounding
REFERENCE_ERRORS = 4.0  # root mean square errors of the reference's own precision that an output may be off by


def tolerance_of(task: Task, dtype: str) -> Tolerance:
    """The tolerance for an output of that type."""
    return KERNELBENCH_FLOAT32 if task.kind == kernelbench.KIND and dtype == "float32" else task.tolerance


def allowed_error(torch: Any, expected: Any, own: Any, tolerance: Tolerance, least_scale: float = 0.0) -> Any:
    """How far each value may be from the expected one, a tensor of doubles.

    The absolute part of a tolerance is for values of size 1; it is scaled down to the root mean square of the output,
    but not below `least_scale`, so that zeros are wrong where all values are small. `own` is what the reference returns
    in its own precision: what rounding does to it, by row, is allowed for besides.
    """
    return _room(torch, expected, own - expected, tolerance, max(least_scale, scale_of(torch, expected)))[0]


def scale_of(torch: Any, expected: Any) -> float:
    """Root mean square of the finite values, at most 1."""
    if not expected.numel():
        return 0.0
    norm = float(torch.linalg.vector_norm(expected))
    if not math.isfinite(norm):
        norm = float(torch.linalg.vector_norm(torch.where(torch.isfinite(expected), expected, 0.0)))
    return min(1.0, norm / math.sqrt(expected.numel()))


def _room(torch: Any, expected: Any, error: Any, tolerance: Tolerance, scale: float) -> tuple[Any, bool]:
    """How far each value may be off, by the reference's own errors, and whether all that is expected is finite."""
    if not error.numel():
        return error, True
    rms = _rms_by_row(torch, error)
    finite = bool(torch.isfinite(rms).all())
    if not finite:
        error, expected = (torch.where(torch.isfinite(each), each, 0.0) for each in (error, expected))
        rms = _rms_by_row(torch, error)
    return (expected.abs() * tolerance.relative).add_(tolerance.absolute * scale + REFERENCE_ERRORS * rms), finite


def _rms_by_row(torch: Any, values: Any) -> Any:
    if not values.dim():
        return values.abs()
    return torch.linalg.vector_norm(values, dim=-1, keepdim=True) / math.sqrt(values.shape[-1])


def is_tame(torch: Any, expected: Any, own: Any, tolerance: Tolerance, least_scale: float = 0.0) -> bool:
    """Whether the reference in its own precision is as right as candidates must be, and finite.

    Where it is not (a softmax over large scores in half precision, say), nothing can be concluded from its data.
    """
    if not own.is_floating_point():
        return True
    error = (own.double() - expected).abs()
    return bool((error <= allowed_error(torch, expected, own, tolerance, least_scale)).all())


def mismatch(torch: Any, got: Any, expected: Any, own: Any, tolerance: Tolerance, least_scale: float = 0.0) -> str:
    """How an output differs from what was expected, in words; empty if it is right.

    Whole numbers, NaN and infinities must be what is expected, or what the reference returns in its own precision.
    """
    if got.is_floating_point():
        wrong = _floats_wrong(torch, got, expected, own, tolerance, least_scale)
    elif got.is_complex():
        wrong = ~((got - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs())
    else:
        wrong = (got != expected.to(got.dtype)) & (got != own)
    count = int(wrong.sum())
    if count == 0:
        return ""
    first = int(wrong.reshape(-1).to(torch.int8).argmax())
    have, need = got.reshape(-1)[first].item(), expected.reshape(-1)[first].item()
    return f"{count} of {got.numel()} values are wrong; the first, number {first}, is {have:.6g}, expected {need:.6g}"


def _floats_wrong(torch: Any, got: Any, expected: Any, own: Any, tolerance: Tolerance, least_scale: float) -> Any:
    """Where an output is too far off."""
    if not got.numel():
        return torch.zeros(0, dtype=torch.bool, device=got.device)
    scale = max(least_scale, scale_of(torch, expected))
    rows = zip(*(_rows(tensor) for tensor in (got, expected, own)), strict=True)
    return torch.cat([_rows_wrong(torch, g, e, o, tolerance, scale) for g, e, o in rows])


def _rows(tensor: Any) -> Any:
    """The rows of a tensor, a few at a time, because doubles of all of them may not fit into memory."""
    width = tensor.shape[-1] if tensor.dim() else 1
    return tensor.reshape(-1, width).split(max(1, _ELEMENTS_AT_A_TIME // width))


def bounds_of(torch: Any, expected: Any, own: Any, tolerance: Tolerance, least_scale: float = 0.0) -> Any:
    """The least and the largest value that each place of an output may have, as by `mismatch`, quick to compare with.

    They are of the output's type, or float32 if that is wider. None if the output does not hold finite floating-point
    numbers alone: then `mismatch` has to be asked.
    """
    if not own.is_floating_point() or not own.numel():
        return None
    scale = max(least_scale, scale_of(torch, expected))
    wide = own.dtype if own.dtype.itemsize >= 4 else torch.float32
    parts: tuple[list[Any], list[Any]] = ([], [])
    for some, near in zip(_rows(expected), _rows(own), strict=True):
        error = near - some
        room, finite = _room(torch, some, error, tolerance, scale)
        if not finite:
            return None
        torch.maximum(room, error.abs_(), out=room)
        parts[0].append((some - room).to(wide))
        parts[1].append((some + room).to(wide))
    return tuple(torch.cat(part).reshape(own.shape) for part in parts)


def is_near(torch: Any, got: Any, own: Any, tolerance: Tolerance) -> Any:
    """Whether an output is right because it is next to what the reference returns in its own precision: a truth value
    on the device.

    If it is not, values without rounding have to decide (`mismatch`).
    """
    if not got.is_floating_point() or not got.numel():
        return (got == own).all()
    if got.dtype.itemsize < 4:
        got, own = got.float(), own.float()
    size = torch.linalg.vector_norm(own) / math.sqrt(own.numel())
    room = own.abs().mul_(OWN_SHARE * tolerance.relative).add_(OWN_SHARE * tolerance.absolute * size.clamp(max=1.0))
    return ((got - own).abs_() <= room).all() & torch.isfinite(size)


def _rows_wrong(torch: Any, got: Any, expected: Any, own: Any, tolerance: Tolerance, scale: float) -> Any:
    error = own - expected  # doubles, as are those expected
    room, finite = _room(torch, expected, error, tolerance, scale)
    near = (got - expected).abs_() <= torch.maximum(room, error.abs_(), out=room)
    if finite:
        return ~near
    odd = ~(torch.isfinite(expected) & torch.isfinite(own))
    return ~torch.where(odd, _same(torch, got, expected) | _same(torch, got, own), near)


def _same(torch: Any, one: Any, other: Any) -> Any:
    return (one == other) | (torch.isnan(one) & torch.isnan(other))


def computing_fault(program: Program) -> str:
    """What is wrong with a Program where a task asks for kernels of one's own, in words; empty if nothing.

    Torch may allocate and copy, and compute on small things such as a vector of partial sums.
    """
    if not program.launches():
        return "it launches no kernel of its own"
    largest = max((view.count for view in program.inputs), default=0)
    computed = [
        (call.operator, max((view.count for view in call.tensors()), default=0))
        for call in program.library_calls()
        if call.name not in PLUMBING
    ]
    return too_much_computed(computed, largest)


def clock_fault(
    claimed_us: Sequence[float], batch_us: Sequence[float], runs: int, overhead_us: float, slack: float, slack_us: float
) -> str:
    """What is wrong with claimed times, in words; empty if the judge's own clock agrees with them.

    Args:
        claimed_us: Times of single runs by the replayer's events.
        batch_us: Times of batches of `runs` runs back to back by the judge's clock, an empty batch subtracted.
        runs: Runs in a batch, each on new data.
        overhead_us: What a run of the reference takes beyond its claimed time, such as flushing the cache.
        slack: Share of the time that may remain unexplained.
        slack_us: Time per batch that may remain unexplained: waking up, messages.
    """
    claim = statistics.median(claimed_us)
    most = runs * (claim + max(0.0, overhead_us)) * (1 + slack) + slack_us
    least = min(batch_us)  # interruptions only ever lengthen a batch
    if least <= most:
        return ""
    return (
        f"{runs} runs took {least:.0f} us by the judge's clock, and at most {most:.0f} us fit the {claim:.1f} us each "
        "that its events show"
    )


def unexplained_us(claimed_us: Sequence[float], batch_us: Sequence[float], runs: int, overhead_us: float) -> float:
    """Time of the shortest batch by the judge's clock that claimed times and the reference's overhead leave open."""
    return min(batch_us) - runs * (statistics.median(claimed_us) + max(0.0, overhead_us))


def least_batch_us(whole_s: Sequence[float], null_s: Sequence[float]) -> float:
    """The shortest batch less the shortest empty one: interruptions lengthen both, and each by itself."""
    return 1e6 * max(0.0, min(whole_s) - min(null_s))


def overhead_us(claimed_us: Sequence[float], batch_us: Sequence[float], runs: int) -> float:
    """What each run of the reference takes beyond its claimed time, by its shortest batch on the judge's clock."""
    return min(batch_us) / runs - statistics.median(claimed_us)


def seconds_each(batch_s: Sequence[float], null_s: Sequence[float], runs: int) -> list[float]:
    """Seconds per run of batches timed from outside, what an empty batch takes subtracted; at least a nanosecond."""
    null = statistics.median(null_s)
    return [max(1e-9, (whole - null) / runs) for whole in batch_s]


def at_most(us: Sequence[float], median_us: float) -> list[float]:
    """The times, scaled down so that their median is no more than this."""
    share = min(1.0, median_us / statistics.median(us))
    return [each * share for each in us]


def is_time(value: object) -> bool:
    """Whether a reply's figure is a time: a positive, finite number."""
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value) and value > 0
